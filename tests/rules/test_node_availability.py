"""Chapter 6, node operations: scheduling disabled and enabled, nodes deallocated and started, users of nodes."""

from __future__ import annotations

import pytest

from tests.builders import (
    READY_S,
    REBOOT_S,
    REBOOTED_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    evict,
    file,
    node,
    node_state,
    node_states,
    refusal,
    run,
    run_to,
    run_to_end,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE, SPOT, busy, idle

WHEN_DONE = {"nodeDisableSchedulingOption": "taskcompletion"}


def operate(sim, operation, **more):
    do(sim, operation, **ON_NODE, **more)


def scheduling_state(sim):
    return node(sim).scheduling.wire


# -- disable and enable scheduling -----------------------------------------------------------------------------------


def test_nop_6_an_idle_node_is_offline_at_once_and_idle_again(start):
    sim = idle(start)
    operate(sim, "disableNodeScheduling")
    assert (node_state(sim), scheduling_state(sim)) == ("offline", "disabled")
    do(sim, "enableNodeScheduling", **ON_NODE)
    assert (node_state(sim), scheduling_state(sim)) == ("idle", "enabled")


def test_nop_6_disabled_at_once_offline_when_the_last_task_has_ended(start):
    sim = busy(start, a_job("other"), seconds=100)
    operate(sim, "disableNodeScheduling", **WHEN_DONE)
    assert (node_state(sim), scheduling_state(sim)) == ("running", "disabled")
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="offline") == [READY_S + 101]
    assert (task_state(sim), task_state(sim, job="other")) == ("completed", "active")


def test_nop_6_enabled_again_before_the_task_has_ended(start):
    sim = busy(start, seconds=100)
    operate(sim, "disableNodeScheduling", **WHEN_DONE)
    do(sim, "enableNodeScheduling", **ON_NODE)
    assert node_state(sim) == "running"
    run_to_end(sim)
    assert node_states(sim)[-2:] == ["running", "idle"]


def test_nop_6_a_requeued_task_waits_for_another_node_or_for_enabling(start):
    sim = busy(start)
    operate(sim, "disableNodeScheduling")
    run(sim, minutes=5)
    assert (node_state(sim), task_state(sim)) == ("offline", "active")
    do(sim, "enableNodeScheduling", **ON_NODE)
    run_to_end(sim)
    assert task_state(sim) == "completed"


def test_nop_6_refused_in_the_target_state(start):
    sim = idle(start)
    assert refusal(sim, "enableNodeScheduling", **ON_NODE) == "NodeAlreadyInTargetSchedulingState"
    operate(sim, "disableNodeScheduling")
    assert refusal(sim, "disableNodeScheduling", **ON_NODE) == "NodeAlreadyInTargetSchedulingState"


def test_nop_6_a_disabled_node_keeps_its_files_and_is_billed(start):
    sim = start(a_job(tasks=[a_task("t1") | a_shell("echo x > $AZ_BATCH_NODE_SHARED_DIR/x")]))
    run_to(sim, minutes=3)
    operate(sim, "disableNodeScheduling")
    run(sim, minutes=57)
    assert file(sim, "shared/x") == "x\n"
    assert sum(sim.world.pools[0].billed_ms_at(sim.now_ms)) == sim.now_ms - 10_000


def test_nop_6_while_the_node_is_on_its_way_it_ends_offline(start):
    sim = start(a_job(), pool=a_pool(startTask=a_line(30)))
    run_to(sim, seconds=READY_S + 10)
    operate(sim, "disableNodeScheduling")
    assert node_state(sim) == "waitingforstarttask"
    run_to_end(sim)
    assert (node_state(sim), task_state(sim)) == ("offline", "active")


@pytest.mark.parametrize("operation", ["rebootNode", "reimageNode"])
def test_nop_7_disabled_scheduling_survives(start, operation):
    sim = idle(start, a_job("later", at="PT3M"))
    operate(sim, "disableNodeScheduling")
    operate(sim, operation)
    run_to_end(sim)
    assert (node_state(sim), scheduling_state(sim)) == ("offline", "disabled")
    assert task_state(sim, job="later") == "active"


def test_nop_7_a_preempted_node_starts_enabled(start):
    sim = idle(start, pool=SPOT)
    operate(sim, "disableNodeScheduling")
    evict(sim)
    assert (node_state(sim), scheduling_state(sim)) == ("preempted", "enabled")
    assert events(sim, "NodeSchedulingStateChanged", to="enabled")[0]["rule"] == "NOP-7"


def test_nop_7_a_recovered_node_stays_disabled(start):
    sim = idle(start)
    operate(sim, "disableNodeScheduling")
    do(sim, "failNode", **ON_NODE, **{"for": "PT5M"})
    run_to_end(sim)
    assert (node_state(sim), scheduling_state(sim)) == ("offline", "disabled")


# -- deallocate and start --------------------------------------------------------------------------------------------


def test_nop_8_deallocated_it_stays_in_the_pool_and_costs_nothing(start):
    sim = idle(start)
    operate(sim, "deallocateNode")
    run(sim, minutes=5)
    assert node_states(sim)[-2:] == ["deallocating", "deallocated"]
    billed = sum(sim.world.pools[0].billed_ms_at(sim.now_ms))
    run(sim, minutes=60)
    assert node_state(sim) == "deallocated"
    assert sum(sim.world.pools[0].billed_ms_at(sim.now_ms)) == billed


def test_nop_8_started_it_boots_with_its_start_task(start):
    sim = start(a_job("later", at="PT10M"), pool=a_pool(startTask=a_line(5)))
    run_to(sim, minutes=5)
    operate(sim, "deallocateNode")
    run_to(sim, minutes=15)
    assert task_state(sim, job="later") == "active"
    do(sim, "startNode", **ON_NODE)
    run_to_end(sim)
    assert node_states(sim)[-5:] == ["starting", "waitingforstarttask", "idle", "running", "idle"]
    assert task_state(sim, job="later") == "completed"


@pytest.mark.parametrize("option", ["requeue", "taskcompletion"])
def test_nop_8_deallocate_is_refused_unless_idle_or_running(start, option):
    sim = idle(start)
    operate(sim, "disableNodeScheduling")
    body = ON_NODE | {"nodeDeallocateOption": option}
    assert refusal(sim, "deallocateNode", **body) == "OperationNotValidOnNode"
    do(sim, "enableNodeScheduling", **ON_NODE)
    operate(sim, "rebootNode")
    assert refusal(sim, "deallocateNode", **body) == "OperationNotValidOnNode"


def test_nop_8_start_is_refused_unless_deallocated(start):
    sim = idle(start)
    assert refusal(sim, "startNode", **ON_NODE) == "OperationNotValidOnNode"
    operate(sim, "deallocateNode")
    assert (node_state(sim), refusal(sim, "startNode", **ON_NODE)) == ("deallocating", "OperationNotValidOnNode")
    run(sim, minutes=5)
    assert refusal(sim, "startNode", **ON_NODE) is None


def test_nop_8_a_deallocated_node_can_be_removed(start):
    sim = idle(start)
    operate(sim, "deallocateNode")
    run(sim, minutes=5)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to_end(sim)
    assert node_state(sim) is None


# -- users -----------------------------------------------------------------------------------------------------------

USER = ON_NODE | {"name": "ops"}


def test_nop_9_add_and_delete_a_user(start):
    sim = idle(start)
    do(sim, "createNodeUser", **USER, isAdmin=True, sshPublicKey="ssh-rsa AAAA")
    assert refusal(sim, "createNodeUser", **USER, sshPublicKey="ssh-rsa AAAA") == "NodeUserExists"
    is_admin, expiry_ms = node(sim).users["ops"]
    assert is_admin
    assert expiry_ms == READY_S * 1000 + 1 + 24 * 3600 * 1000
    do(sim, "deleteNodeUser", **USER)
    assert refusal(sim, "deleteNodeUser", **USER) == "NodeUserNotFound"


def test_nop_9_and_gen_1_names_of_users_differ_in_more_than_case(start):
    sim = idle(start)
    do(sim, "createNodeUser", **USER, password="secret")
    shouted = ON_NODE | {"name": "OPS"}
    assert refusal(sim, "createNodeUser", **shouted, password="secret") == "NodeUserExists"
    do(sim, "deleteNodeUser", **shouted)
    assert node(sim).users == {}


def test_nop_9_allowed_while_running_refused_otherwise(start):
    sim = busy(start)
    assert refusal(sim, "createNodeUser", **USER, password="secret") is None
    operate(sim, "rebootNode")
    assert refusal(sim, "createNodeUser", **USER, password="secret") == "NodeBeingRebooted"
    assert refusal(sim, "deleteNodeUser", **USER) == "NodeBeingRebooted"
    run(sim, seconds=REBOOT_S + 1)
    assert refusal(sim, "deleteNodeUser", **USER) == "NodeBeingStarted"


def test_nop_9_refused_on_an_offline_node(start):
    sim = idle(start)
    operate(sim, "disableNodeScheduling")
    assert refusal(sim, "createNodeUser", **USER, password="secret") == "OperationNotValidOnNode"


def test_nop_9_windows_needs_a_password_and_takes_no_key(start):
    windows = {
        "imageReference": {
            "publisher": "MicrosoftWindowsServer",
            "offer": "WindowsServer",
            "sku": "2022-datacenter",
        },
        "nodeAgentSKUId": "batch.node.windows amd64",
    }
    sim = idle(start, pool=a_pool(virtualMachineConfiguration=windows))
    assert refusal(sim, "createNodeUser", **USER) in ("InvalidPropertyValue", "MissingRequiredProperty")
    assert refusal(sim, "createNodeUser", **USER, password="x", sshPublicKey="ssh-rsa A") == "InvalidPropertyValue"


def test_nop_9_users_live_on_the_disk_of_the_node(start):
    sim = idle(start)
    do(sim, "createNodeUser", **USER, password="secret")
    operate(sim, "rebootNode")
    run(sim, seconds=REBOOTED_S)
    assert "ops" in node(sim).users
    operate(sim, "reimageNode")
    assert node(sim).users == {}
