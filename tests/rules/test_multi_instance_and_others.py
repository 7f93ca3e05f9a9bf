"""Chapter 16: what is done to a task on several nodes, what befalls its nodes, and who is beside it."""

from __future__ import annotations

from engine.base.errors import STOPPED_EXIT_CODE
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_task,
    do,
    events,
    file,
    mpi_pool,
    node,
    node_row,
    node_state,
    refusal,
    release,
    run,
    run_to,
    run_to_end,
    task_extra,
    task_history,
    task_row,
    task_state,
    times,
    together,
)
from tests.rules.gangs import nodes_of, subtask_events

# -- operations ------------------------------------------------------------------------------------------------------


def test_task_13_and_mi_8_terminating_ends_the_primary_then_its_subtasks(start):
    sim = start(a_job(tasks=[together(coordination=100)]), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 50)
    do(sim, "terminateTask", jobId="j", taskId="mpi")
    ended = [event for event in events(sim) if event.get("taskId") == "mpi" and event.get("to") == "completed"]
    assert [event["event"] for event in ended] == ["TaskStateChanged", "SubtaskStateChanged", "SubtaskStateChanged"]
    assert {event["exitCode"] for event in ended} == {STOPPED_EXIT_CODE}
    assert [node_state(sim, index) for index in range(3)] == ["idle"] * 3


def test_mi_8_terminated_while_its_nodes_are_prepared_no_instance_has_run(start):
    sim = start(a_job(tasks=[together()], prep=a_line(100)), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 10)
    assert (task_state(sim, "mpi"), len(subtask_events(sim, to="preparing"))) == ("preparing", 2)
    do(sim, "terminateTask", jobId="j", taskId="mpi")
    ended = events(sim, "SubtaskStateChanged", to="completed")
    assert [event["rule"] for event in ended] == ["MI-8", "MI-8"]
    assert not any("exitCode" in event for event in ended)
    do(sim, "reactivateTask", jobId="j", taskId="mpi")
    run_to_end(sim)
    assert task_state(sim, "mpi") == "completed"
    assert task_extra(sim, "mpi").failure is None


def test_mi_8_deleting_removes_the_files_of_every_instance(start):
    sim = start(a_job(tasks=[together()]), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 20)
    assert file(sim, "workitems/j/job-1/mpi/1/stdout.txt", 1) is not None
    do(sim, "deleteTask", jobId="j", taskId="mpi")
    assert [sim.world.disks[node_row(sim, index)].exists("workitems/j/job-1/mpi") for index in range(3)] == [False] * 3
    assert [node_state(sim, index) for index in range(3)] == ["idle"] * 3


def test_mi_8_a_retention_time_changed_later_holds_only_for_the_primary(start):
    from engine.views.rest.nodes import files_of

    sim = start(a_job(tasks=[together(seconds=600, constraints={"retentionTime": "PT1H"})]), pool=mpi_pool(3))
    run_to(sim, minutes=5)
    do(sim, "updateTask", jobId="j", taskId="mpi", constraints={"retentionTime": "PT10H"})
    run_to(sim, minutes=120)
    there = [
        any(
            entry.path.startswith("workitems/j/job-1/mpi")
            for entry in files_of(sim.world, node_row(sim, index), sim.now_ms)
        )
        for index in range(3)
    ]
    assert there == [True, False, False]


def test_sched_7_a_task_on_several_nodes_counts_once_for_the_parallel_limit(start):
    tasks = [together("a", 2), together("b", 2), together("c", 2)]
    sim = start(a_job(tasks=tasks, maxParallelTasks=2), pool=mpi_pool(6))
    run_to(sim, seconds=READY_S + 1)
    assert [task_state(sim, task) for task in "abc"] == ["running", "running", "active"]


# -- its nodes -------------------------------------------------------------------------------------------------------


def test_prep_6_and_7_it_runs_when_the_last_of_its_nodes_is_prepared(start):
    prep = a_line(10, simulate={"onNode": {1: {"duration": 40}}})
    sim = start(a_job(tasks=[together()], prep=prep, release=a_line(1)), pool=mpi_pool(4))
    run_to(sim, seconds=READY_S + 20)
    assert (task_state(sim, "mpi"), node_state(sim, 0)) == ("preparing", "running")
    run_to(sim, seconds=READY_S + 41)
    assert events(sim, "TaskStateChanged", taskId="mpi", to="running")[0]["rule"] == "PREP-7"
    assert [event["rule"] for event in events(sim, "SubtaskStateChanged", to="running")] == ["PREP-7", "PREP-7"]
    assert len(events(sim, "JobPreparationTaskStateChanged", to="running")) == 3  # PREP-3: not on the fourth
    run_to(sim, minutes=5)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert [release(sim, index) is not None for index in range(4)] == [True, True, True, False]  # REL-3


def test_prep_8_a_preparation_that_fails_on_one_node_frees_them_all(start):
    prep = a_line(10, simulate={"onNode": {1: {"exitCode": 1}}})
    sim = start(a_job(tasks=[together()], prep=prep), pool=mpi_pool(3))
    run_to_end(sim)
    assert task_history(sim, "mpi") == ["active", "preparing", "active"]
    assert [event[2:] for event in subtask_events(sim)] == [("preparing", 1), ("preparing", 2), (None, 1), (None, 2)]
    assert sim.world.gangs.find(task_row(sim, "mpi")) is None
    assert [node_state(sim, index) for index in range(3)] == ["idle"] * 3
    assert task_extra(sim, "mpi").retry_count == 0


def test_prep_13_without_waiting_it_runs_at_once(start):
    sim = start(a_job(tasks=[together()], prep=a_line(100) | {"waitForSuccess": False}), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S)
    assert task_state(sim, "mpi") == "running"


def test_spot_9_a_node_that_is_evicted_ends_the_attempt_and_the_task_is_requeued(start):
    sim = start(a_job(tasks=[together(seconds=3000)]), pool=mpi_pool(2, targetLowPriorityNodes=2))
    run_to(sim, minutes=5)
    lost = next(index for index in nodes_of(sim) if not node(sim, index).dedicated)
    do(sim, "evictNode", poolId="p", nodeId=node(sim, lost).id)
    run(sim, minutes=1)
    back = events(sim, "TaskStateChanged", taskId="mpi", to="active", from_="running")
    assert [event["rule"] for event in back] == ["SPOT-9"]
    extra = task_extra(sim, "mpi")
    assert (extra.retry_count, extra.requeue_count, extra.system_retries, extra.attempts) == (0, 0, 1, 2)
    assert lost not in nodes_of(sim)


def test_node_13_a_node_that_fails_ends_the_attempt(start):
    sim = start(a_job(tasks=[together(seconds=3000)]), pool=mpi_pool(4))
    run_to(sim, minutes=5)
    do(sim, "failNode", poolId="p", nodeId=node(sim, 2).id, state="unusable")
    run(sim, seconds=1)
    assert events(sim, "TaskStateChanged", taskId="mpi", to="active", rule="NODE-13") != []
    assert nodes_of(sim) == [0, 1, 3]


def test_nop_3_rebooting_a_subtasks_node_requeues_the_whole_task(start):
    sim = start(a_job(tasks=[together(seconds=3000)]), pool=mpi_pool(4))
    run_to(sim, minutes=5)
    do(sim, "rebootNode", poolId="p", nodeId=node(sim, 1).id)
    run(sim, seconds=1)
    assert (nodes_of(sim), task_extra(sim, "mpi").requeue_count) == ([0, 2, 3], 1)


def test_rsz_5_a_node_is_not_drained_before_the_task_on_it_has_ended(start):
    sim = start(a_job(tasks=[together(seconds=600)]), pool=mpi_pool(3))
    run_to(sim, minutes=5)
    do(sim, "removeNodes", poolId="p", nodeList=[node(sim, 2).id], nodeDeallocationOption="taskcompletion")
    run(sim, minutes=1)
    assert (node_state(sim, 2), task_state(sim, "mpi")) == ("running", "running")
    run_to_end(sim)
    assert (node_state(sim, 2), task_state(sim, "mpi"), task_extra(sim, "mpi").attempts) == (None, "completed", 1)


def test_node_5_every_node_counts_its_instance(start):
    sim = start(a_job(tasks=[together()]), pool=mpi_pool(3))
    run_to_end(sim)
    nodes = sim.world.nodes
    assert [nodes.ran[node_row(sim, index)] for index in range(3)] == [1, 1, 1]


# -- beside others ---------------------------------------------------------------------------------------------------


def urgent_and_yielding(start, nodes=3, **task):
    """A job that may be displaced holds all nodes; an urgent one comes."""
    sim = start(
        a_job("low", tasks=[a_task(f"t{number}", 600) for number in range(nodes)], allowTaskPreemption=True),
        pool=mpi_pool(nodes),
    )
    run_to(sim, minutes=2)
    do(sim, "createJob", id="high", priority=100, poolInfo={"poolId": "p"})
    do(sim, "addTasks", jobId="high", tasks=[together(**task)])
    run(sim, seconds=2)
    return sim


def test_sched_16_as_many_tasks_give_way_as_it_needs_nodes(start):
    sim = urgent_and_yielding(start, nodes=4, instances=3)
    assert task_state(sim, "mpi", "high") == "running"
    assert len(events(sim, "TaskStateChanged", rule="SCHED-16")) == 3


def test_sched_16_nobody_gives_way_if_that_is_not_enough(start):
    sim = urgent_and_yielding(start, nodes=3, instances=4)
    assert task_state(sim, "mpi", "high") == "active"
    assert events(sim, "TaskStateChanged", rule="SCHED-16") == []


def test_sched_16_a_task_on_several_nodes_gives_way_as_a_whole(start):
    sim = start(a_job("low", tasks=[together(seconds=600)], allowTaskPreemption=True), pool=mpi_pool(3))
    run_to(sim, minutes=2)
    do(sim, "createJob", id="high", priority=100, poolInfo={"poolId": "p"})
    do(sim, "addTasks", jobId="high", tasks=[a_task("urgent", 30)])
    run(sim, seconds=2)
    assert (task_state(sim, "urgent", "high"), task_state(sim, "mpi", "low")) == ("running", "active")
    run_to_end(sim)
    assert task_state(sim, "mpi", "low") == "completed"


def test_dep_4_one_that_depends_on_another_waits_for_it(start):
    tasks = [
        a_task("first", 10),
        together(dependsOn={"taskIds": ["first"]}),
        a_task("last", dependsOn={"taskIds": ["mpi"]}),
    ]
    sim = start(a_job(tasks=tasks, usesTaskDependencies=True), pool=mpi_pool(3))
    run_to_end(sim)
    begun = [times(sim, "TaskStateChanged", taskId=task, to="running")[0] for task in ("first", "mpi", "last")]
    assert begun == [READY_S, READY_S + 11, READY_S + 11 + 71]


def test_as_41_it_counts_once_for_each_instance(start):
    pool = mpi_pool(0)
    del pool["targetDedicatedNodes"]
    formula = "$TargetDedicatedNodes = max(3, min(9, max(0, $PendingTasks.GetSample(1))));"
    pool |= {"enableAutoScale": True, "autoScaleFormula": formula, "autoScaleEvaluationInterval": "PT5M"}
    sim = start(a_job(tasks=[together("a", 3, 3000), together("b", 4, 3000)]), pool=pool, until="PT21M")
    run_to(sim, minutes=20)
    record = sim.world.pools[0]
    assert record.target_dedicated == 7
    assert [task_state(sim, task) for task in "ab"] == ["running", "running"]


def test_mi_2_needs_one_required_slot(start):
    sim = start(a_job(tasks=[]), pool=mpi_pool(3))
    run_to(sim, seconds=1)
    assert refusal(sim, "addTasks", jobId="j", tasks=[together(requiredSlots=2)]) == "InvalidPropertyValue"
