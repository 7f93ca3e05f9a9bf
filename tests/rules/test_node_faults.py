"""Chapter 5, nodes: unusable, out of contact, taken back, and what of their work is lost (NODE-11 to NODE-15)."""

from __future__ import annotations

import pytest

from engine.base.terms import TaskResult
from tests.builders import (
    READY_S,
    REMOVAL_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    evict,
    node,
    node_state,
    node_states,
    refusal,
    release,
    run,
    run_to,
    run_to_end,
    task_extra,
    task_history,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE, SPOT, busy, idle


def fail(sim, lasts=None, **fault):
    do(sim, "failNode", **ON_NODE, **fault, **({"for": lasts} if lasts else {}))


# -- unusable --------------------------------------------------------------------------------------------------------


def test_node_13_tasks_of_an_unusable_node_run_elsewhere_uncounted(start):
    sim = busy(start, pool=a_pool(nodes=2))
    fail(sim)
    run(sim, seconds=1)
    assert task_state(sim) == "running"
    extra = task_extra(sim)
    assert (extra.retry_count, extra.requeue_count, extra.system_retries) == (0, 0, 1)
    run_to_end(sim)
    assert task_history(sim) == ["active", "running", "active", "running", "completed"]


def test_node_13_it_is_no_retry_even_where_none_is_allowed(start):
    sim = busy(start)
    fail(sim, "PT1M")
    run_to_end(sim)
    assert task_state(sim) == "completed"
    assert task_extra(sim).attempts == 2


def test_node_12_without_a_known_cause_there_are_no_errors(start):
    sim = idle(start)
    fail(sim)
    assert (node_state(sim), node(sim).errors) == ("unusable", ())


def test_node_12_a_known_cause_is_told(start):
    sim = idle(start)
    fail(sim, code="DiskFull")
    (error,) = node(sim).errors
    assert error.code == "DiskFull"
    assert error.message


def test_node_14_recovers_by_itself_as_if_rebooted(start):
    sim = start(pool=a_pool(startTask=a_line(5)))
    run_to(sim, minutes=5)
    fail(sim)
    run_to_end(sim)
    assert node_states(sim)[-4:] == ["unusable", "starting", "waitingforstarttask", "idle"]
    assert 600 < times(sim, "NodeStateChanged", to="starting")[-1] - 300 < 3600
    assert node(sim).errors == ()


def test_node_14_not_where_the_cause_is_known(start):
    sim = idle(start)
    fail(sim, code="ApplicationPackageError")
    run_to_end(sim)
    assert node_state(sim) == "unusable"


def test_node_15_a_reboot_brings_a_node_with_a_full_disk_back(start):
    sim = idle(start)
    fail(sim, code="DiskFull")
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert (node_state(sim), node(sim).errors) == ("idle", ())


@pytest.mark.parametrize(("second", "state"), [(12, "creating"), (25, "starting"), (60, "waitingforstarttask")])
def test_node_11_a_node_on_its_way_can_fail(start, second, state):
    sim = start(pool=a_pool(startTask=a_line(30)))
    run_to(sim, seconds=second)
    assert node_state(sim) == state
    fail(sim, "PT5M", code="NodePreparationError")
    run(sim, minutes=1)
    assert node_state(sim) == "unusable"
    run_to_end(sim)
    assert node_state(sim) == "idle"


def test_node_11_what_is_not_there_cannot_fail(start):
    sim = idle(start)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    assert refusal(sim, "failNode", **ON_NODE) == "OperationNotValidOnNode"
    run(sim, seconds=REMOVAL_S)
    assert refusal(sim, "failNode", **ON_NODE) == "NodeNotFound"


def test_rsz_5_a_node_that_waits_to_leave_leaves_when_it_fails(start):
    sim = busy(start)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=0, nodeDeallocationOption="taskcompletion")
    fail(sim)
    run(sim, seconds=REMOVAL_S + 1)
    assert (node_state(sim), task_state(sim)) == (None, "active")
    assert sim.world.pools[0].allocation.wire == "steady"


def test_nop_2_a_reboot_that_waits_is_void_when_the_node_fails(start):
    sim = busy(start)
    do(sim, "rebootNode", **ON_NODE, nodeRebootOption="taskcompletion")
    fail(sim, "PT1M")
    run_to_end(sim)
    assert "rebooting" not in node_states(sim)
    assert task_state(sim) == "completed"


# -- out of contact --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lasts", ["PT1M", "PT5M"])
def test_node_9_contact_that_returns_in_time_changes_nothing(start, lasts):
    sim = busy(start)
    fail(sim, lasts, state="unknown")
    assert (node_state(sim), task_state(sim)) == ("unknown", "running")
    run_to_end(sim)
    assert task_history(sim) == ["active", "running", "completed"]
    assert times(sim, "TaskStateChanged", to="completed") == [READY_S + 601]
    assert node_states(sim)[2:] == ["idle", "running", "unknown", "running", "idle"]


def test_node_9_a_task_may_end_meanwhile(start):
    sim = busy(start, seconds=60)
    fail(sim, "PT2M", state="unknown")
    run_to_end(sim)
    assert node_states(sim)[2:] == ["idle", "running", "unknown", "idle"]
    assert task_state(sim) == "completed"


def test_node_8_no_new_task_on_an_unknown_node(start):
    sim = idle(start)
    fail(sim, "PT4M", state="unknown")
    do(sim, "createJob", **a_job())
    run(sim, minutes=3)
    assert (node_state(sim), task_state(sim)) == ("unknown", "active")
    run_to_end(sim)
    assert task_state(sim) == "completed"


def test_node_9_unusable_after_five_minutes_without_contact(start):
    sim = busy(start)
    fail(sim, state="unknown")
    run(sim, minutes=5)
    assert (node_state(sim), task_state(sim), node(sim).errors) == ("unusable", "active", ())
    assert task_extra(sim).system_retries == 1


@pytest.mark.parametrize("lasts", ["PT8M", None])
def test_node_14_recovery_counts_from_the_fault(start, lasts):
    sim = idle(start)
    fail(sim, lasts, state="unknown")
    recovered_s = 480 if lasts else (node(sim).recover_ms - sim.now_ms) / 1000
    assert 450 < recovered_s < 3600
    run_to_end(sim)
    assert node_states(sim)[3:] == ["unknown", "unusable", "starting", "idle"]
    assert times(sim, "NodeStateChanged", to="starting")[-1] == READY_S + 0.001 + recovered_s


def test_node_9_an_offline_node_comes_back_offline(start):
    sim = idle(start)
    do(sim, "disableNodeScheduling", **ON_NODE)
    fail(sim, "PT1M", state="unknown")
    run_to_end(sim)
    assert node_state(sim) == "offline"


def test_node_9_disabled_while_out_of_contact_it_comes_back_offline(start):
    sim = idle(start)
    fail(sim, "PT1M", state="unknown")
    do(sim, "disableNodeScheduling", **ON_NODE)
    assert node_state(sim) == "unknown"
    run_to_end(sim)
    assert node_state(sim) == "offline"


@pytest.mark.parametrize(("exit_code", "state"), [(0, "idle"), (1, "starttaskfailed")])
def test_node_9_a_start_task_may_end_while_contact_is_lost(start, exit_code, state):
    sim = start(pool=a_pool(startTask=a_line(60, exit_code)))
    run_to(sim, seconds=READY_S + 10)
    fail(sim, "PT2M", state="unknown")
    run_to_end(sim)
    assert node_states(sim)[2:] == ["waitingforstarttask", "unknown", state]


def test_node_9_a_start_task_goes_on_after_contact_was_lost(start):
    sim = start(pool=a_pool(startTask=a_line(60)))
    run_to(sim, seconds=READY_S + 10)
    fail(sim, "PT10S", state="unknown")
    run_to_end(sim)
    assert node_states(sim)[2:] == ["waitingforstarttask", "unknown", "waitingforstarttask", "idle"]
    assert times(sim, "NodeStateChanged", to="idle") == [READY_S + 61]


def test_nop_2_an_operation_that_waits_begins_when_contact_is_back(start):
    sim = busy(start, seconds=60)
    do(sim, "rebootNode", **ON_NODE, nodeRebootOption="taskcompletion")
    fail(sim, "PT2M", state="unknown")
    run(sim, seconds=100)
    assert (node_state(sim), task_state(sim)) == ("unknown", "completed")
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="rebooting") == [READY_S + 10.002 + 120]


@pytest.mark.parametrize("disabled", [False, True])
def test_nop_2_retention_that_ends_while_contact_is_lost(start, disabled):
    sim = start(a_job(tasks=[a_task(seconds=10, constraints={"retentionTime": "PT10M"})]))
    run_to(sim, minutes=5)
    if disabled:
        do(sim, "disableNodeScheduling", **ON_NODE)
    do(sim, "rebootNode", **ON_NODE, nodeRebootOption="retaineddata")
    run_to(sim, minutes=10)
    fail(sim, "PT4M", state="unknown")
    run_to_end(sim)
    assert node_states(sim)[-5:-2] == ["unknown", "offline" if disabled else "idle", "rebooting"]
    assert times(sim, "NodeStateChanged", to="rebooting") == [600.001 + 240]


def test_nop_2_the_end_of_the_job_while_contact_is_lost(start):
    job = a_job(tasks=[a_task(seconds=60)], prep=a_line(5), release=a_line(5), onAllTasksComplete="terminatejob")
    sim = start(job)
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", **ON_NODE, nodeRebootOption="taskcompletion")
    fail(sim, "PT2M", state="unknown")
    run_to_end(sim)
    # Contact is back: the reboot that has waited comes first.
    assert "rebooting" in node_states(sim)
    assert (release(sim).runs, release(sim).result) == (1, TaskResult.SUCCESS)


@pytest.mark.parametrize("option", ["requeue", "terminate", "taskcompletion"])
def test_rsz_4_removing_an_unknown_node_deals_with_its_tasks(start, option):
    sim = busy(start)
    fail(sim, "PT4M", state="unknown")
    do(sim, "removeNodes", poolId="p", nodeList=[0], nodeDeallocationOption=option)
    assert node_state(sim) == "leavingpool"
    assert task_state(sim) == ("completed" if option == "terminate" else "active")


def test_node_9_what_is_rebooting_cannot_lose_contact(start):
    sim = idle(start)
    do(sim, "rebootNode", **ON_NODE)
    assert refusal(sim, "failNode", **ON_NODE, state="unknown") == "OperationNotValidOnNode"


# -- preemption ------------------------------------------------------------------------------------------------------


def test_spot_3_an_evicted_node_is_listed_and_its_tasks_are_requeued(start):
    sim = busy(start, pool=SPOT)
    evict(sim)
    assert (node_state(sim), task_state(sim)) == ("preempted", "active")
    extra = task_extra(sim)
    assert (extra.retry_count, extra.requeue_count, extra.system_retries) == (0, 0, 1)  # SPOT-4


def test_spot_3_a_dedicated_node_is_not_evicted(start):
    sim = idle(start)
    assert refusal(sim, "evictNode", **ON_NODE) == "OperationNotValidOnNode"


def test_rsz_5_a_node_that_waits_to_leave_leaves_when_it_is_evicted(start):
    sim = busy(start, pool=SPOT)
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=0, nodeDeallocationOption="taskcompletion")
    evict(sim)
    run(sim, seconds=REMOVAL_S + 1)
    assert node_state(sim) is None
