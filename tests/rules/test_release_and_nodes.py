"""Chapter 12, job release tasks on nodes that are not at hand when the job ends, or go while release runs (REL-13)."""

from __future__ import annotations

import pytest

from engine.base.errors import ErrorCategory
from engine.base.terms import InstanceState, TaskResult
from tests.builders import (
    READY_S,
    REBOOTED_S,
    REMOVAL_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    evict,
    job_state,
    node_state,
    prep,
    release,
    release_events,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_row,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE, SPOT

RUNNING, COMPLETED = InstanceState.RUNNING, InstanceState.COMPLETED
NOW_S = 300


def a_hooked_job(*args, release_seconds=60, **more):
    more = {"prep": a_line(5), "release": a_line(release_seconds)} | more
    return a_job(*args, **more)


def worked(start, job=None, **scenario):
    """A node that owes a release: the job's task has run, the job is active still. It is five minutes later."""
    sim = start(a_hooked_job() if job is None else job, **scenario)
    run_to(sim, seconds=NOW_S)
    assert (task_state(sim), job_state(sim), node_state(sim)) == ("completed", "active", "idle")
    return sim


def releasing(start, **scenario):
    """A node on which release has run for ten seconds."""
    sim = worked(start, **scenario)
    do(sim, "terminateJob", jobId="j")
    run_to(sim, seconds=NOW_S + 10)
    assert release(sim).state is RUNNING
    return sim


def ended_s(sim):
    """When the job was completed."""
    (when,) = times(sim, "JobStateChanged", to="completed")
    return when


# -- the node while release runs -------------------------------------------------------------------------------------


def test_rel_10_it_runs_again_after_a_reboot_and_the_job_waits(start):
    sim = releasing(start)
    do(sim, "rebootNode", **ON_NODE)
    assert job_state(sim) == "terminating"
    run_to_end(sim)
    again = NOW_S + 10.001 + REBOOTED_S
    assert release_events(sim)[-2:] == [(again, "running", 2), (again + 61, "completed", 2)]
    assert release(sim).result is TaskResult.SUCCESS
    assert ended_s(sim) == again + 61


def test_rel_13_a_reboot_whose_wait_for_retention_ends_in_the_same_instant_as_the_job_comes_first(start):
    kept = some_tasks(2, constraints={"retentionTime": "PT10M"})
    sim = worked(start, a_hooked_job(tasks=kept), pool=a_pool(nodes=2))
    do(sim, "rebootNode", poolId="p", node=1, nodeRebootOption="retaineddata")
    expiry_ms = sim.world.tasks.ended[task_row(sim, "t2")] + 600_000
    sim.run_until(expiry_ms - 1)
    do(sim, "terminateJob", jobId="j")
    here = [event["event"] for event in events(sim) if event["t"] == expiry_ms / 1000]
    assert here[-2:] == ["JobReleaseTaskStateChanged", "NodeStateChanged"]  # the other node's release is not held up
    assert node_state(sim, 1) == "rebooting"
    run_to_end(sim)
    assert [release(sim, node).runs for node in (0, 1)] == [1, 1]


def test_rel_10_after_each_of_two_reboots(start):
    sim = releasing(start)
    do(sim, "rebootNode", **ON_NODE)
    run(sim, seconds=REBOOTED_S + 10)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert (release(sim).runs, release(sim).result, job_state(sim)) == (3, TaskResult.SUCCESS, "completed")


def test_rel_10_before_the_start_task_has_ended_it_does_not_run(start):
    pool = a_pool(startTask=a_line(20))
    sim = releasing(start, pool=pool)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert release_events(sim)[-2][0] == NOW_S + 10.001 + REBOOTED_S + 21


def test_rel_10_of_a_forced_job_too(start):
    sim = worked(start)
    do(sim, "terminateJob", jobId="j", force=True)
    run(sim, seconds=10)
    assert (job_state(sim), release(sim).state) == ("completed", RUNNING)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert (release(sim).runs, release(sim).result) == (2, TaskResult.SUCCESS)


def test_rel_14_removing_the_node_ends_it(start):
    sim = releasing(start)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    record = release(sim)
    assert (record.state, record.result, record.failure.code) == (COMPLETED, TaskResult.FAILURE, "TaskEnded")
    assert record.failure.category is ErrorCategory.USER_ERROR
    run_to_end(sim)
    assert ended_s(sim) == NOW_S + 10.001


def test_rel_14_deleting_the_pool_ends_it(start):
    sim = releasing(start)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert (release(sim).failure.code, job_state(sim)) == ("TaskEnded", "completed")


@pytest.mark.parametrize("operation", ["reimageNode", "deallocateNode"])
def test_rel_4_a_new_disk_ends_it_for_good(start, operation):
    sim = releasing(start)
    do(sim, operation, **ON_NODE)
    assert job_state(sim) == "completed"
    run_to_end(sim)
    assert (release(sim).runs, release(sim).failure.code) == (1, "TaskEnded")


def test_rel_14_a_preemption_ends_it(start):
    sim = releasing(start, pool=SPOT)
    evict(sim)
    assert job_state(sim) == "completed"
    assert release(sim).failure.category is ErrorCategory.SERVER_ERROR


@pytest.mark.parametrize("option", ["requeue", "taskcompletion"])
def test_nop_14_disabling_scheduling_lets_it_finish(start, option):
    sim = releasing(start)
    do(sim, "disableNodeScheduling", **ON_NODE, nodeDisableSchedulingOption=option)
    assert (node_state(sim), release(sim).state) == ("offline", RUNNING)
    run_to_end(sim)
    assert (release(sim).runs, release(sim).result) == (1, TaskResult.SUCCESS)


def test_nop_14_taskcompletion_does_not_wait_for_it(start):
    sim = releasing(start)
    do(sim, "rebootNode", **ON_NODE, nodeRebootOption="taskcompletion")
    assert node_state(sim) == "rebooting"


def test_rel_10_it_runs_again_when_an_unusable_node_recovers(start):
    sim = releasing(start)
    do(sim, "failNode", **ON_NODE, **{"for": "PT5M"})
    assert release(sim).failure.category is ErrorCategory.SERVER_ERROR
    run_to_end(sim)
    assert (release(sim).runs, release(sim).result, job_state(sim)) == (2, TaskResult.SUCCESS, "completed")


def test_rel_13_given_up_when_the_node_stays_unusable(start):
    sim = releasing(start)
    do(sim, "failNode", **ON_NODE, code="DiskFull")
    run_to_end(sim)
    assert (release(sim).runs, release(sim).failure.code) == (1, "TaskEnded")
    assert ended_s(sim) == NOW_S + 10.001 + 900


def test_rel_13_it_goes_on_while_contact_is_lost_for_a_moment(start):
    sim = releasing(start)
    do(sim, "failNode", **ON_NODE, state="unknown", **{"for": "PT2M"})
    run_to_end(sim)
    assert (release(sim).runs, release(sim).result) == (1, TaskResult.SUCCESS)


# -- the node when the job ends --------------------------------------------------------------------------------------


def test_rel_13_runs_on_an_offline_node(start):
    sim = worked(start)
    do(sim, "disableNodeScheduling", **ON_NODE)
    assert node_state(sim) == "offline"
    do(sim, "terminateJob", jobId="j")
    assert release(sim).state is RUNNING


def test_rel_13_waits_for_a_rebooting_node(start):
    sim = worked(start)
    do(sim, "rebootNode", **ON_NODE)
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=30)
    assert (release(sim), job_state(sim)) == (None, "terminating")
    run_to_end(sim)
    begun = NOW_S + 0.001 + REBOOTED_S
    assert release_events(sim) == [(begun, "running", 1), (begun + 61, "completed", 1)]


def test_rel_13_waits_for_a_start_task(start):
    sim = worked(start, pool=a_pool(startTask=a_line(50)))
    do(sim, "rebootNode", **ON_NODE)
    run(sim, seconds=REBOOTED_S + 10)
    assert node_state(sim) == "waitingforstarttask"
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert release_events(sim)[0][0] == NOW_S + 0.001 + REBOOTED_S + 51


def test_rel_13_a_start_task_that_then_fails_sets_the_job_free(start):
    start_task = a_line(50, simulate={"attempts": [{}, {"exitCode": 1}]})
    sim = worked(start, pool=a_pool(startTask=start_task))
    do(sim, "rebootNode", **ON_NODE)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert node_state(sim) == "starttaskfailed"
    assert (release(sim), job_state(sim)) == (None, "completed")
    assert ended_s(sim) == NOW_S + 0.001 + REBOOTED_S + 51


def test_rel_13_skips_a_node_whose_start_task_has_failed(start):
    start_task = a_line(5, simulate={"attempts": [{}, {"exitCode": 1}]})
    sim = worked(start, pool=a_pool(startTask=start_task))
    do(sim, "rebootNode", **ON_NODE)
    run(sim, minutes=5)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (release(sim), job_state(sim)) == (None, "completed")


@pytest.mark.parametrize("operation", ["reimageNode", "deallocateNode"])
def test_rel_4_a_new_disk_clears_what_is_owed(start, operation):
    sim = worked(start)
    do(sim, operation, **ON_NODE)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (release(sim), job_state(sim)) == (None, "completed")
    assert prep(sim).result is TaskResult.SUCCESS


def test_rel_4_a_task_after_the_reimage_makes_it_owed_again(start):
    sim = worked(start)
    do(sim, "reimageNode", **ON_NODE)
    do(sim, "addTasks", jobId="j", tasks=[a_task("t2")])
    run(sim, minutes=10)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert release(sim).result is TaskResult.SUCCESS


def test_rel_3_a_reboot_does_not_clear_what_is_owed(start):
    sim = worked(start)
    do(sim, "rebootNode", **ON_NODE)
    run(sim, minutes=5)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert release(sim).result is TaskResult.SUCCESS


def test_rel_3_not_held_against_it_that_a_preparation_was_stopped_by_a_reboot(start):
    # DECISION: a completed record is all that REL-3 (b) asks for, and PREP-15 completes it.
    job = a_hooked_job(tasks=[a_task(seconds=600)], prep=a_line(300, waitForSuccess=False))
    sim = start(job)
    run_to(sim, seconds=READY_S + 10)
    do(sim, "disableNodeScheduling", **ON_NODE)
    do(sim, "rebootNode", **ON_NODE)
    run(sim, minutes=5)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert prep(sim).failure.code == "TaskEnded"
    assert release(sim).result is TaskResult.SUCCESS


def test_rel_13_skips_a_leaving_node(start):
    sim = worked(start)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=3)
    assert job_state(sim) == "completed"
    run_to_end(sim)
    assert release(sim) is None


def test_rel_13_skips_a_node_that_has_gone(start):
    sim = worked(start)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run(sim, seconds=REMOVAL_S + 1)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (node_state(sim), release(sim), job_state(sim)) == (None, None, "completed")


def test_rel_13_skips_a_preempted_node(start):
    sim = worked(start, pool=SPOT)
    evict(sim)
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=3)
    assert (release(sim), job_state(sim)) == (None, "completed")


def test_rel_14_removal_sets_a_job_free_that_waits_for_the_node(start):
    sim = worked(start)
    do(sim, "rebootNode", **ON_NODE)
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=10)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    assert job_state(sim) == "completed"
    run_to_end(sim)
    assert release(sim) is None


# -- out of reach ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [{"state": "unusable"}, {"state": "unusable", "code": "DiskFull"}])
def test_rel_13_waits_fifteen_minutes_for_an_unusable_node(start, fault):
    sim = worked(start)
    do(sim, "failNode", **ON_NODE, **fault)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert release(sim) is None
    assert ended_s(sim) == NOW_S + 0.002 + 900


def test_rel_13_runs_when_the_node_is_back_in_time(start):
    sim = worked(start)
    do(sim, "failNode", **ON_NODE, **{"for": "PT10M"})
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (release(sim).result, job_state(sim)) == (TaskResult.SUCCESS, "completed")
    assert release(sim).runs == 1


def test_rel_13_fifteen_minutes_from_the_jobs_end_not_from_the_fault(start):
    sim = worked(start)
    do(sim, "failNode", **ON_NODE, code="DiskFull")
    run(sim, minutes=12)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    (terminating,) = times(sim, "JobStateChanged", to="terminating")
    assert ended_s(sim) == round(terminating + 900, 3)


def test_rel_13_a_node_that_is_starting_again_is_waited_for_longer(start):
    # Recovery begins after fourteen minutes and takes a start task of five.
    sim = start(a_hooked_job(), pool=a_pool(startTask=a_line(300)))
    run_to(sim, minutes=10)
    do(sim, "failNode", **ON_NODE, **{"for": "PT14M"})
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert release(sim).result is TaskResult.SUCCESS


def test_rel_13_a_second_fault_begins_the_wait_anew(start):
    sim = worked(start)
    do(sim, "failNode", **ON_NODE, **{"for": "PT10M"})
    do(sim, "terminateJob", jobId="j")
    run(sim, minutes=10, seconds=15)
    assert release(sim).state is RUNNING
    do(sim, "failNode", **ON_NODE, **{"for": "PT10M"})
    run_to_end(sim)
    assert (release(sim).runs, release(sim).result) == (2, TaskResult.SUCCESS)


def test_rel_13_a_reboot_during_release_is_not_cut_short_by_an_older_wait(start):
    sim = worked(start)
    do(sim, "failNode", **ON_NODE, **{"for": "PT14M"})
    do(sim, "terminateJob", jobId="j")
    run(sim, minutes=14, seconds=30)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert (release(sim).runs, release(sim).result) == (2, TaskResult.SUCCESS)


@pytest.mark.parametrize(("lasts", "ran"), [("PT2M", True), ("PT10M", True), ("PT16M", False), (None, False)])
def test_rel_13_waits_fifteen_minutes_for_contact(start, lasts, ran):
    sim = worked(start)
    do(sim, "failNode", **ON_NODE, state="unknown", **({"for": lasts} if lasts else {}))
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (release(sim) is not None) is ran
    assert job_state(sim) == "completed"
    if not ran:
        assert ended_s(sim) == NOW_S + 0.002 + 900


def test_rel_13_waits_for_contact_with_a_node_that_was_waiting_for_its_start_task(start):
    sim = start(a_hooked_job(), pool=a_pool(startTask=a_line(100)))
    run_to(sim, seconds=NOW_S)
    do(sim, "rebootNode", **ON_NODE)
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=REBOOTED_S + 10)
    do(sim, "failNode", **ON_NODE, state="unknown")
    run_to_end(sim)
    (lost,) = times(sim, "NodeStateChanged", to="unknown")
    assert release(sim) is None
    assert ended_s(sim) == round(lost + 900, 3)


# -- the node's last task and the job's end in one -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "body", "runs"),
    [
        ("rebootNode", {"node": 0, "nodeRebootOption": "terminate"}, 1),
        ("reimageNode", {"node": 0, "nodeReimageOption": "terminate"}, 0),
        ("deallocateNode", {"node": 0, "nodeDeallocateOption": "terminate"}, 0),
        ("removeNodes", {"nodeList": [0], "nodeDeallocationOption": "terminate"}, 0),
        ("removeNodes", {"nodeList": [0], "nodeDeallocationOption": "taskcompletion"}, 0),
        ("disableNodeScheduling", {"node": 0, "nodeDisableSchedulingOption": "terminate"}, 1),
    ],
)
def test_rel_13_an_operation_that_ends_the_last_task_ends_the_job_on_a_node_that_is_going(start, operation, body, runs):
    sim = start(a_hooked_job(tasks=[a_task(seconds=600)], onAllTasksComplete="terminatejob"))
    run_to(sim, minutes=5)
    do(sim, operation, poolId="p", **body)
    run_to_end(sim)
    assert job_state(sim) == "completed"
    assert len(events(sim, "JobReleaseTaskStateChanged", to="running")) == runs
