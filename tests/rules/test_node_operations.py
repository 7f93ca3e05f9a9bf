"""Chapter 6, node operations: what is taken in which state, what waits, what it does to tasks, disk and node."""

from __future__ import annotations

import pytest

from engine.base.terms import NodeState
from engine.rules.node_operations import operation_verdict
from engine.state.nodes import Operation, PendingOperation
from tests.builders import (
    READY_S,
    REBOOT_S,
    REBOOTED_S,
    REIMAGED_S,
    STOPPED,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    file,
    node,
    node_state,
    node_states,
    refusal,
    run,
    run_to,
    run_to_end,
    some_tasks,
    start_task_events,
    task_extra,
    task_history,
    task_state,
    times,
    wait_for,
)
from tests.rules.nodes import ON_NODE, busy, idle

OPTIONS = {
    "rebootNode": "nodeRebootOption",
    "reimageNode": "nodeReimageOption",
    "deallocateNode": "nodeDeallocateOption",
    "disableNodeScheduling": "nodeDisableSchedulingOption",
}
GOING = {"rebootNode": "rebooting", "reimageNode": "reimaging", "deallocateNode": "deallocating"}


def operate(sim, operation, option=None):
    do(sim, operation, **ON_NODE, **({OPTIONS[operation]: option} if option else {}))


def scheduling_state(sim):
    return node(sim).scheduling.wire


# -- verdicts --------------------------------------------------------------------------------------------------------

CODES = {
    NodeState.IDLE: None,
    NodeState.RUNNING: None,
    NodeState.OFFLINE: None,
    NodeState.START_TASK_FAILED: None,
    NodeState.UNUSABLE: None,
    NodeState.CREATING: "NodeBeingCreated",
    NodeState.STARTING: "NodeBeingStarted",
    NodeState.WAITING_FOR_START_TASK: "NodeBeingStarted",
    NodeState.REBOOTING: "NodeBeingRebooted",
    NodeState.REIMAGING: "NodeBeingReimaged",
    NodeState.UPGRADING_OS: "OperationNotValidOnNode",
    NodeState.UNKNOWN: "OperationNotValidOnNode",
    NodeState.LEAVING_POOL: "OperationNotValidOnNode",
    NodeState.PREEMPTED: "OperationNotValidOnNode",
    NodeState.DEALLOCATING: "OperationNotValidOnNode",
    NodeState.DEALLOCATED: "OperationNotValidOnNode",
}


@pytest.mark.parametrize("state", NodeState)
def test_nop_3_reboot_and_nop_4_reimage_by_state(state):
    for name in (Operation.REBOOT, Operation.REIMAGE):
        found = operation_verdict(name, state, None)
        assert (found and found.code) == CODES[state]
        assert found is None or found.status == 409


@pytest.mark.parametrize("state", NodeState)
def test_nop_8_deallocate_by_state(state):
    found = operation_verdict(Operation.DEALLOCATE, state, None)
    allowed = state in (NodeState.IDLE, NodeState.RUNNING)
    assert (found and found.code) == (None if allowed else "OperationNotValidOnNode")


@pytest.mark.parametrize("name", [Operation.REBOOT, Operation.REIMAGE, Operation.DEALLOCATE])
def test_nop_2_verdict_while_another_operation_waits(name):
    found = operation_verdict(name, NodeState.RUNNING, PendingOperation(Operation.REBOOT, False, "NOP-3"))
    assert found.code == "OperationInvalidForCurrentState"


# -- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPTIONS)
def test_nop_1_requeue_is_the_default_and_counts(start, operation):
    sim = busy(start)
    operate(sim, operation)
    assert task_state(sim) == "active"
    assert (task_extra(sim).requeue_count, task_extra(sim).retry_count) == (1, 0)
    assert node_state(sim) == GOING.get(operation, "offline")


@pytest.mark.parametrize("operation", OPTIONS)
def test_nop_1_terminate_completes_the_running_tasks(start, operation):
    sim = busy(start)
    operate(sim, operation, "terminate")
    (ended,) = events(sim, "TaskStateChanged", to="completed")
    assert (ended["exitCode"], ended["result"]) == (STOPPED, "failure")
    assert (ended["failureInfo"]["code"], ended["failureInfo"]["category"]) == ("TaskEnded", "UserError")
    run_to_end(sim)
    assert task_history(sim) == ["active", "running", "completed"]


@pytest.mark.parametrize("operation", GOING)
def test_nop_1_taskcompletion_waits_for_the_running_tasks(start, operation):
    sim = busy(start)
    operate(sim, operation, "taskcompletion")
    run_to(sim, seconds=READY_S + 600)
    assert (node_state(sim), task_state(sim)) == ("running", "running")
    run_to(sim, seconds=READY_S + 601)
    assert (node_state(sim), task_state(sim)) == (GOING[operation], "completed")


def test_nop_1_taskcompletion_waits_for_the_last_of_several(start):
    sim = start(a_job(tasks=[a_task("t1", 100), a_task("t2", 200)]), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 10)
    operate(sim, "rebootNode", "taskcompletion")
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="rebooting") == [READY_S + 201]
    assert (task_state(sim, "t1"), task_state(sim, "t2")) == ("completed", "completed")


def test_nop_1_retaineddata_waits_for_the_retention_of_every_task(start):
    sim = start(a_job(tasks=[a_task("t1", 10, constraints={"retentionTime": "PT1H"}), a_task("t2", 100)]))
    run_to(sim, seconds=READY_S + 20)
    do(sim, "updateTask", jobId="j", taskId="t2", constraints={"retentionTime": "PT10M"})
    operate(sim, "reimageNode", "retaineddata")
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="reimaging") == [READY_S + 11 + 3600]


def test_nop_1_retaineddata_on_an_offline_node_waits_too(start):
    sim = start(a_job(tasks=[a_task("t1", 10, constraints={"retentionTime": "PT1H"})]))
    run_to(sim, minutes=5)
    operate(sim, "disableNodeScheduling")
    operate(sim, "rebootNode", "retaineddata")
    assert node_state(sim) == "offline"
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="rebooting") == [READY_S + 11 + 3600]


@pytest.mark.parametrize("option", ["taskcompletion", "retaineddata"])
def test_nop_1_an_idle_node_goes_at_once(start, option):
    sim = idle(start)
    operate(sim, "rebootNode", option)
    assert node_state(sim) == "rebooting"


def test_nop_1_disabling_takes_no_retaineddata(start):
    sim = idle(start)
    with pytest.raises(ValueError, match="requeue, terminate or taskcompletion"):
        operate(sim, "disableNodeScheduling", "retaineddata")


# -- waiting ---------------------------------------------------------------------------------------------------------


def test_nop_2_while_it_waits_no_new_task_comes_and_scheduling_state_is_unchanged(start):
    sim = busy(start, a_job("other"), seconds=100, pool=a_pool(taskSlotsPerNode=1))
    do(sim, "addTasks", jobId="j", tasks=[a_task("t2")])
    operate(sim, "rebootNode", "taskcompletion")
    run(sim, seconds=50)
    assert (node_state(sim), scheduling_state(sim)) == ("running", "enabled")
    run_to(sim, seconds=READY_S + 101)
    assert node_state(sim) == "rebooting"
    assert task_state(sim, "t1", "other") == "active"
    run_to_end(sim)
    assert task_state(sim, "t2") == "completed"


@pytest.mark.parametrize("second", ["rebootNode", "reimageNode", "deallocateNode", "disableNodeScheduling"])
def test_nop_2_a_second_operation_meanwhile_is_refused(start, second):
    sim = busy(start)
    operate(sim, "rebootNode", "taskcompletion")
    assert refusal(sim, second, **ON_NODE) == "OperationInvalidForCurrentState"
    assert (node_state(sim), task_state(sim), scheduling_state(sim)) == ("running", "running", "enabled")


def test_nop_2_the_node_serves_again_when_it_is_back(start):
    sim = busy(start, seconds=100)
    operate(sim, "rebootNode", "taskcompletion")
    run_to_end(sim)
    operate(sim, "reimageNode", "taskcompletion")
    assert node_state(sim) == "reimaging"


def test_nop_2_ending_the_task_lets_the_operation_begin(start):
    sim = busy(start)
    operate(sim, "rebootNode", "taskcompletion")
    do(sim, "terminateTask", jobId="j", taskId="t1")
    assert node_state(sim) == "rebooting"


def test_nop_2_deleting_the_job_lets_the_operation_begin(start):
    sim = busy(start)
    operate(sim, "rebootNode", "taskcompletion")
    do(sim, "deleteJob", jobId="j")
    assert node_state(sim) == "rebooting"


def test_nop_2_a_retry_does_not_keep_the_node(start):
    task = a_task(seconds=100, exit_code=1, constraints={"maxTaskRetryCount": 5})
    sim = start(a_job(tasks=[task]))
    run_to(sim, seconds=READY_S + 10)
    operate(sim, "rebootNode", "taskcompletion")
    run_to(sim, seconds=READY_S + 101)
    assert (node_state(sim), task_state(sim)) == ("rebooting", "active")


# -- reboot and reimage ----------------------------------------------------------------------------------------------


def test_nop_3_rebooting_starting_idle(start):
    sim = idle(start)
    operate(sim, "rebootNode")
    assert times(sim, "NodeStateChanged", to="rebooting") == [READY_S + 0.001]
    run_to_end(sim)
    assert node_states(sim)[-3:] == ["rebooting", "starting", "idle"]
    assert times(sim, "NodeStateChanged", to="starting")[-1] == READY_S + 0.001 + REBOOT_S
    assert times(sim, "NodeStateChanged", to="idle")[-1] == READY_S + 0.001 + REBOOTED_S


@pytest.mark.parametrize("operation", ["rebootNode", "reimageNode"])
def test_nop_3_a_node_with_a_failed_start_task_may_be_rebooted(start, operation):
    start_task = a_line(5, simulate={"attempts": [{"exitCode": 1}]})
    sim = start(pool=a_pool(startTask=start_task))
    wait_for(sim, lambda: node_state(sim) == "starttaskfailed")
    operate(sim, operation)
    run_to_end(sim)
    assert node_state(sim) == "idle"


@pytest.mark.parametrize("operation", ["rebootNode", "reimageNode"])
def test_nop_3_an_unusable_node_may_be_rebooted(start, operation):
    sim = idle(start)
    do(sim, "failNode", **ON_NODE, code="DiskFull")
    operate(sim, operation)
    run_to_end(sim)
    assert node_state(sim) == "idle"
    assert node(sim).errors == ()


@pytest.mark.parametrize("operation", ["rebootNode", "reimageNode"])
def test_nop_3_refused_while_the_node_is_on_its_way(start, operation):
    sim = start(pool=a_pool(startTask=a_line(30)))
    codes = {}
    for second in (12, 25, 60):
        run_to(sim, seconds=second)
        codes[node_state(sim)] = refusal(sim, operation, **ON_NODE)
    assert codes == {
        "creating": "NodeBeingCreated",
        "starting": "NodeBeingStarted",
        "waitingforstarttask": "NodeBeingStarted",
    }


def test_nop_3_refused_while_rebooting_reimaging_or_leaving(start):
    sim = idle(start, pool=a_pool(nodes=3))
    do(sim, "rebootNode", poolId="p", node=0)
    do(sim, "reimageNode", poolId="p", node=1)
    do(sim, "removeNodes", poolId="p", nodeList=[2])
    codes = [refusal(sim, "rebootNode", poolId="p", node=index) for index in range(3)]
    assert codes == ["NodeBeingRebooted", "NodeBeingReimaged", "OperationNotValidOnNode"]


def test_nop_3_an_unknown_node_is_not_found(start):
    sim = idle(start)
    assert refusal(sim, "rebootNode", poolId="p", node=7) == "NodeNotFound"
    assert refusal(sim, "rebootNode", poolId="p", nodeId="tvm-1") == "NodeNotFound"
    assert refusal(sim, "rebootNode", poolId="q", node=0) == "PoolNotFound"


def test_nop_4_reimage_takes_its_time_and_a_full_boot(start):
    sim = idle(start)
    operate(sim, "reimageNode")
    run_to_end(sim)
    assert node_states(sim)[-3:] == ["reimaging", "starting", "idle"]
    assert times(sim, "NodeStateChanged", to="idle")[-1] == READY_S + 0.001 + REIMAGED_S


def test_nop_4_refused_on_vm_pools_if_the_scenario_says_so(start):
    sim = idle(start, options={"reimageCloudServiceOnly": True})
    assert refusal(sim, "reimageNode", **ON_NODE) == "OperationNotValidOnPool"
    assert refusal(sim, "rebootNode", **ON_NODE) is None


def test_nop_4_taken_on_cloud_service_pools_always(start):
    pool = a_pool(vmSize="small", cloudServiceConfiguration={"osFamily": "5"})
    sim = idle(start, pool=pool, options={"reimageCloudServiceOnly": True})
    assert refusal(sim, "reimageNode", **ON_NODE) is None


@pytest.mark.parametrize(
    ("operation", "kept"), [("rebootNode", True), ("reimageNode", False), ("deallocateNode", False)]
)
def test_nop_12_files_on_the_node(start, operation, kept):
    sim = start(a_job(tasks=[a_task("t1") | a_shell("echo x > $AZ_BATCH_NODE_SHARED_DIR/x")]))
    run_to(sim, minutes=3)
    assert file(sim, "shared/x") == "x\n"
    operate(sim, operation)
    run(sim, minutes=5)
    assert (file(sim, "shared/x") == "x\n") is kept
    assert (file(sim, "workitems/j/job-1/t1/stdout.txt") is not None) is kept


@pytest.mark.parametrize("operation", ["rebootNode", "reimageNode"])
def test_nop_12_the_start_task_runs_again_and_id_and_address_stay(start, operation):
    sim = start(pool=a_pool(startTask=a_line(5)))
    run_to(sim, minutes=2)
    before = (node(sim).id, node(sim).ip)
    operate(sim, operation)
    run_to_end(sim)
    assert [attempt for _, to, attempt in start_task_events(sim) if to == "completed"] == [1, 2]
    assert (node(sim).id, node(sim).ip) == before


def test_nop_13_a_completed_task_names_its_node(start):
    sim = start(a_job(tasks=some_tasks(1, exit_code=1)))
    run_to_end(sim)
    (ended,) = events(sim, "TaskStateChanged", to="completed")
    assert ended["nodeId"] == node(sim).id
