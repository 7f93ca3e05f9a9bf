"""Chapter 11, job preparation tasks: what becomes of them when their node reboots, is wiped, fails or leaves."""

from __future__ import annotations

import pytest

from engine.base.errors import FAILURE_EXIT_CODE, ErrorCategory, ended, failure
from engine.base.terms import InstanceState, TaskResult
from engine.rules.decisions.verdicts import is_final_failure
from engine.rules.preparation import voided_by_reboot
from engine.shell.protocol import TIME_LIMIT
from engine.specs.bodies import JobPreparationTask
from engine.state.instances import InstanceView, PrepFlag
from tests.builders import (
    BOOT_S,
    READY_S,
    REBOOTED_S,
    REIMAGED_S,
    REMOVAL_S,
    STOPPED,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    evict,
    node_state,
    prep,
    prep_events,
    run,
    run_to,
    run_to_end,
    task_extra,
    task_history,
    task_state,
    wait_for,
)
from tests.rules.nodes import ON_NODE, SPOT

RUNNING, COMPLETED = InstanceState.RUNNING, InstanceState.COMPLETED
PREP_S = 11


def a_prep(seconds=10, exit_code=0, **more):
    return a_line(seconds, exit_code, **more)


def prepared(start, prep_body=None, **scenario):
    """A job that has prepared a node and run its first task there."""
    sim = start(a_job(prep=prep_body or a_prep()), **scenario)
    wait_for(sim, lambda: task_state(sim) == "completed")
    return sim


def another_task(sim, task="t2"):
    do(sim, "addTasks", jobId="j", tasks=[a_task(task)])


# -- verdict ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "state", "rerun", "stays"),
    [
        (PrepFlag.VALID, COMPLETED, True, False),  # PREP-16
        (PrepFlag.VALID, COMPLETED, False, True),  # PREP-16
        (0, RUNNING, True, False),  # PREP-15
        (0, RUNNING, False, False),  # PREP-15
        (PrepFlag.INELIGIBLE, COMPLETED, True, True),  # PREP-17
        (PrepFlag.INELIGIBLE, COMPLETED, False, True),  # PREP-17
    ],
)
def test_prep_16_what_stays_valid_after_a_reboot(mark, state, rerun, stays):
    spec = JobPreparationTask(command_line="x", rerun_on_node_reboot_after_success=rerun)
    assert (voided_by_reboot(mark, state, spec, retries_failure=False) == 0) is stays
    everything = PrepFlag.VALID | PrepFlag.INELIGIBLE
    if state == COMPLETED:
        assert voided_by_reboot(mark, state, spec, retries_failure=True) == everything


@pytest.mark.parametrize(
    ("failure", "exit_code", "final"),
    [
        (FAILURE_EXIT_CODE, 1, True),
        (failure("BlobNotFound"), None, True),
        (TIME_LIMIT, None, True),
        (ended("the node was taken for another purpose"), STOPPED, False),
        (None, 0, False),
    ],
)
def test_prep_17_a_run_that_was_stopped_has_not_failed_for_good(failure, exit_code, final):
    view = InstanceView(COMPLETED, 0, 1, exit_code, failure, 0, 1)
    assert is_final_failure(view) is final
    assert not is_final_failure(None)


# -- reboot while it runs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rerun", [True, False])
@pytest.mark.parametrize("waits", [True, False])
def test_prep_15_a_reboot_while_it_runs_makes_it_run_again(start, rerun, waits):
    body = a_prep(100, rerunOnNodeRebootAfterSuccess=rerun, waitForSuccess=waits)
    sim = start(a_job(tasks=[a_task(seconds=300)], prep=body))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", **ON_NODE)
    record = prep(sim)
    assert (record.state, record.result, record.failure.code) == (COMPLETED, TaskResult.FAILURE, "TaskEnded")
    assert record.failure.category is ErrorCategory.USER_ERROR
    run_to_end(sim)
    back = READY_S + 10.001 + REBOOTED_S
    assert [event for event in prep_events(sim) if event[0] >= back] == [
        (back, "running", 2),
        (back + 101, "completed", 2),
    ]
    assert prep(sim).result is TaskResult.SUCCESS
    assert task_state(sim) == "completed"


def test_prep_15_it_is_no_retry_and_no_final_failure(start):
    sim = start(a_job(prep=a_prep(100)))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert prep(sim).retry_count == 0
    assert task_history(sim) == ["active", "preparing", "active", "preparing", "running", "completed"]
    assert events(sim, "TaskScheduleFail") == []


def test_prep_15_retries_begin_anew_after_the_reboot(start):
    body = a_prep(10, simulate={"attempts": [{"exitCode": 1}] * 3}, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(prep=body))
    run_to(sim, seconds=READY_S + PREP_S + 1)
    assert prep(sim).retry_count == 1
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    # The third attempt fails, its retry succeeds.
    assert (prep(sim).retry_count, prep(sim).result) == (1, TaskResult.SUCCESS)


def test_prep_15_at_the_next_assignment_not_at_boot(start):
    sim = start(a_job(prep=a_prep(100)), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    # The task has gone to the other node.
    assert prep(sim).runs == 1
    assert prep(sim).failure.code == "TaskEnded"
    assert prep(sim, 1).result is TaskResult.SUCCESS


# -- reboot after it has ended ---------------------------------------------------------------------------------------


def test_prep_16_runs_again_before_the_next_task_not_at_boot(start):
    sim = prepared(start)
    do(sim, "rebootNode", **ON_NODE)
    run(sim, minutes=10)
    assert (node_state(sim), prep(sim).runs) == ("idle", 1)
    another_task(sim)
    run(sim, seconds=2)
    assert (prep(sim).runs, task_state(sim, "t2")) == (2, "preparing")
    run_to_end(sim)
    assert task_history(sim, "t2") == ["active", "preparing", "running", "completed"]


def test_prep_16_without_rerun_the_success_stays_valid(start):
    sim = prepared(start, a_prep(rerunOnNodeRebootAfterSuccess=False))
    do(sim, "rebootNode", **ON_NODE)
    another_task(sim)
    run_to_end(sim)
    assert prep(sim).runs == 1
    assert task_history(sim, "t2") == ["active", "running", "completed"]


def test_prep_16_without_wait_for_success_the_task_runs_beside_the_rerun(start):
    sim = prepared(start, a_prep(waitForSuccess=False))
    do(sim, "rebootNode", **ON_NODE)
    another_task(sim)
    run_to_end(sim)
    assert prep(sim).runs == 2
    assert task_history(sim, "t2") == ["active", "running", "completed"]


def test_prep_16_a_rerun_that_fails_for_good_bars_the_node(start):
    sim = prepared(start, a_prep(simulate={"attempts": [{}, {"exitCode": 1}]}))
    do(sim, "rebootNode", **ON_NODE)
    another_task(sim)
    run_to_end(sim)
    assert prep(sim).result is TaskResult.FAILURE
    assert task_state(sim, "t2") == "active"
    assert len(events(sim, "TaskScheduleFail", taskId="t2")) == 1


def test_prep_16_a_task_requeued_by_the_reboot_prepares_again(start):
    sim = start(a_job(tasks=[a_task(seconds=600)], prep=a_prep()))
    run_to(sim, minutes=2)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert task_history(sim) == ["active", "preparing", "running", "active", "preparing", "running", "completed"]
    assert prep(sim).runs == 2


@pytest.mark.parametrize("rerun", [True, False])
def test_prep_17_a_final_failure_outlasts_a_reboot(start, rerun):
    sim = start(a_job(prep=a_prep(exit_code=1, rerunOnNodeRebootAfterSuccess=rerun)))
    run_to(sim, minutes=2)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert (node_state(sim), prep(sim).runs, task_state(sim)) == ("idle", 1, "active")


def rules_of_starts(sim):
    return [event["rule"] for event in events(sim, "JobPreparationTaskStateChanged", to="running")]


RETRIES = {"options": {"rebootRetriesFailedPreparation": True}}
FAILS_FIRST = {"attempts": [{"exitCode": 1}]}


@pytest.mark.parametrize("rerun", [True, False])
def test_prep_17_with_the_option_a_reboot_lets_a_failed_preparation_run_again(start, rerun):
    body = a_prep(simulate=FAILS_FIRST, rerunOnNodeRebootAfterSuccess=rerun)
    sim = start(a_job(prep=body), **RETRIES)
    run_to(sim, minutes=2)
    assert (task_state(sim), node_state(sim)) == ("active", "idle")
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert [event["rule"] for event in events(sim, "JobPreparationTaskStateChanged", to="running")] == [
        "PREP-3",
        "PREP-17",
    ]
    assert (prep(sim).runs, prep(sim).result, task_state(sim)) == (2, TaskResult.SUCCESS, "completed")


def test_prep_17_with_the_option_a_second_failure_bars_the_node_again(start):
    sim = start(a_job(prep=a_prep(exit_code=1)), **RETRIES)
    run_to(sim, minutes=2)
    for runs in (1, 2, 3):
        assert (node_state(sim), prep(sim).runs, task_state(sim)) == ("idle", runs, "active")
        do(sim, "rebootNode", **ON_NODE)
        run(sim, minutes=5)


def test_prep_17_with_the_option_the_recovery_of_an_unusable_node_is_a_reboot(start):
    sim = start(a_job(prep=a_prep(simulate=FAILS_FIRST)), **RETRIES)
    run_to(sim, minutes=2)
    do(sim, "failNode", **ON_NODE, state="unusable", **{"for": "PT1M"})
    run_to_end(sim)
    assert (prep(sim).runs, task_state(sim)) == (2, "completed")


@pytest.mark.parametrize(("retries", "runs"), [(True, 2), (False, 1)])
def test_prep_17_with_the_option_a_failure_that_nobody_waits_for_runs_again_too(start, retries, runs):
    """It did not complete successfully, so `rerunOnNodeRebootAfterSuccess` does not say anything about it."""
    body = a_prep(exit_code=1, waitForSuccess=False, rerunOnNodeRebootAfterSuccess=False)
    sim = start(a_job(prep=body), options={"rebootRetriesFailedPreparation": retries})
    run_to(sim, minutes=4)
    do(sim, "rebootNode", **ON_NODE)
    run(sim, minutes=5)
    another_task(sim)
    run_to_end(sim)
    assert prep(sim).runs == runs


def test_prep_17_with_the_option_a_run_that_was_interrupted_runs_again_by_its_own_rule(start):
    sim = start(a_job(prep=a_prep(100)), **RETRIES)
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert [event["rule"] for event in events(sim, "JobPreparationTaskStateChanged", to="running")] == [
        "PREP-3",
        "PREP-15",
    ]


# -- a new disk ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rerun", [True, False])
def test_prep_18_a_reimage_always_makes_it_run_again(start, rerun):
    sim = prepared(start, a_prep(rerunOnNodeRebootAfterSuccess=rerun))
    do(sim, "reimageNode", **ON_NODE)
    run(sim, minutes=10)
    assert prep(sim).runs == 1
    another_task(sim)
    run_to_end(sim)
    assert prep(sim).runs == 2
    assert task_history(sim, "t2") == ["active", "preparing", "running", "completed"]


FAILS_ONCE = {"attempts": [{"exitCode": 1}]}


def test_prep_9_a_reimage_clears_the_mark(start):
    sim = start(a_job(prep=a_prep(simulate=FAILS_ONCE)))
    run_to(sim, minutes=2)
    do(sim, "reimageNode", **ON_NODE)
    assert prep(sim).result is TaskResult.FAILURE
    run_to_end(sim)
    assert (task_state(sim), prep(sim).result) == ("completed", TaskResult.SUCCESS)


def test_prep_9_deallocate_and_start_clears_the_mark(start):
    sim = start(a_job(prep=a_prep(simulate=FAILS_ONCE)))
    run_to(sim, minutes=2)
    do(sim, "deallocateNode", **ON_NODE)
    run(sim, minutes=5)
    assert task_state(sim) == "active"
    do(sim, "startNode", **ON_NODE)
    run_to_end(sim)
    assert (task_state(sim), prep(sim).result) == ("completed", TaskResult.SUCCESS)


def test_prep_18_reimage_makes_a_running_one_end_and_start_anew(start):
    sim = start(a_job(prep=a_prep(100)))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "reimageNode", **ON_NODE)
    assert prep(sim).failure.code == "TaskEnded"
    run_to_end(sim)
    begun = READY_S + 10.001 + REIMAGED_S
    assert prep_events(sim)[2:] == [(begun, "running", 2), (begun + 101, "completed", 2)]


# -- the node is lost ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["requeue", "terminate", "taskcompletion", "retaineddata"])
def test_prep_19_removal_gives_preparing_tasks_back_whatever_the_option(start, option):
    sim = start(a_job(prep=a_prep(100)), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "removeNodes", poolId="p", nodeList=[0], nodeDeallocationOption=option)
    assert (prep(sim).failure.code, prep(sim).failure.category) == ("TaskEnded", ErrorCategory.USER_ERROR)
    run(sim, seconds=1)
    assert task_state(sim) == "preparing"
    run_to_end(sim)
    assert task_history(sim) == ["active", "preparing", "active", "preparing", "running", "completed"]
    extra = task_extra(sim)
    assert (extra.retry_count, extra.requeue_count, extra.system_retries, extra.attempts) == (0, 0, 0, 1)
    assert prep(sim).state is COMPLETED


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("deallocateNode", ON_NODE),
        ("rebootNode", ON_NODE | {"nodeRebootOption": "terminate"}),
        ("reimageNode", ON_NODE | {"nodeReimageOption": "terminate"}),
        ("resizePool", {"poolId": "p", "targetDedicatedNodes": 0, "nodeDeallocationOption": "terminate"}),
        ("deletePool", {"poolId": "p"}),
    ],
)
def test_prep_19_no_operation_completes_a_preparing_task(start, operation, body):
    sim = start(a_job(prep=a_prep(100)))
    run_to(sim, seconds=READY_S + 10)
    do(sim, operation, **body)
    assert task_state(sim) == "active"
    assert prep(sim).failure.code == "TaskEnded"


def test_prep_19_a_fault_is_the_services_error(start):
    sim = start(a_job(prep=a_prep(100)), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "failNode", **ON_NODE, state="unusable")
    assert (prep(sim).failure.code, prep(sim).failure.category) == ("TaskEnded", ErrorCategory.SERVER_ERROR)
    run(sim, minutes=5)
    assert task_state(sim) == "completed"
    assert task_extra(sim).system_retries == 0


def test_prep_19_a_preemption_is_the_services_error(start):
    sim = start(a_job(prep=a_prep(100)), pool=SPOT)
    run_to(sim, seconds=READY_S + 10)
    evict(sim)
    assert (prep(sim).failure.code, prep(sim).failure.category) == ("TaskEnded", ErrorCategory.SERVER_ERROR)
    assert task_state(sim) == "active"


def test_prep_19_it_goes_on_while_contact_is_lost_for_a_moment(start):
    sim = start(a_job(prep=a_prep(100)))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "failNode", **ON_NODE, state="unknown", **{"for": "PT1M"})
    assert (task_state(sim), prep(sim).state) == ("preparing", RUNNING)
    run_to_end(sim)
    assert prep_events(sim) == [(READY_S, "running", 1), (READY_S + 101, "completed", 1)]
    assert task_state(sim) == "completed"


def test_prep_16_the_recovery_of_an_unusable_node_is_as_a_reboot(start):
    sim = prepared(start)
    do(sim, "failNode", **ON_NODE, state="unusable", **{"for": "PT1M"})
    run(sim, minutes=5)
    another_task(sim)
    run_to_end(sim)
    assert prep(sim).runs == 2


def test_prep_17_the_recovery_of_an_unusable_node_keeps_the_mark(start):
    sim = start(a_job(prep=a_prep(exit_code=1)))
    run_to(sim, minutes=2)
    do(sim, "failNode", **ON_NODE, state="unusable", **{"for": "PT1M"})
    run_to_end(sim)
    assert (node_state(sim), prep(sim).runs, task_state(sim)) == ("idle", 1, "active")


# -- operations that let it finish -----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["requeue", "terminate", "taskcompletion"])
def test_nop_14_disabling_scheduling_lets_it_finish(start, option):
    sim = start(a_job(prep=a_prep(100)))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "disableNodeScheduling", **ON_NODE, nodeDisableSchedulingOption=option)
    assert (task_state(sim), prep(sim).state, node_state(sim)) == ("active", RUNNING, "offline")
    run_to_end(sim)
    assert prep(sim).result is TaskResult.SUCCESS
    do(sim, "enableNodeScheduling", **ON_NODE)
    run_to_end(sim)
    assert task_history(sim) == ["active", "preparing", "active", "running", "completed"]
    assert prep(sim).runs == 1


@pytest.mark.parametrize("option", ["taskcompletion", "retaineddata"])
def test_nop_14_taskcompletion_waits_for_running_tasks_only(start, option):
    sim = start(a_job(tasks=2, prep=a_prep(100)), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", **ON_NODE, nodeRebootOption=option)
    assert node_state(sim) == "rebooting"
    assert [task_state(sim, f"t{n}") for n in (1, 2)] == ["active", "active"]
    assert prep(sim).failure.code == "TaskEnded"
    # All tasks are queued again before the node goes down.
    rebooting = events(sim, "NodeStateChanged", to="rebooting")[0]["seq"]
    assert all(event["seq"] < rebooting for event in events(sim, "TaskStateChanged", from_="preparing"))


def test_nop_14_taskcompletion_beside_a_running_task_of_another_job(start):
    sim = start(a_job("other", tasks=[a_task(seconds=200)]), a_job(prep=a_prep(100)), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", **ON_NODE, nodeRebootOption="taskcompletion")
    assert (node_state(sim), task_state(sim), prep(sim).state) == ("running", "active", RUNNING)
    run_to(sim, seconds=READY_S + 201)
    assert (node_state(sim), task_state(sim, job="other")) == ("rebooting", "completed")
    run_to_end(sim)
    assert prep(sim).runs == 2
    assert task_state(sim) == "completed"


def test_prep_25_the_record_stays_when_the_node_has_gone(start):
    sim = prepared(start)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run(sim, seconds=REMOVAL_S + 1)
    assert node_state(sim) is None
    assert (prep(sim).state, prep(sim).result) == (COMPLETED, TaskResult.SUCCESS)


def test_prep_25_a_rerun_overwrites_the_record(start):
    body = a_prep(simulate={"attempts": [{"exitCode": 1}]}, constraints={"maxTaskRetryCount": 1})
    sim = prepared(start, body)
    assert prep(sim).retry_count == 1
    do(sim, "rebootNode", **ON_NODE)
    run(sim, seconds=REBOOTED_S + BOOT_S)
    another_task(sim)
    run(sim, seconds=2)
    record = prep(sim)
    assert (record.state, record.retry_count, record.exit_code, record.runs) == (RUNNING, 0, None, 3)
