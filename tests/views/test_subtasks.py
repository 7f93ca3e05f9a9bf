"""Multi-instance tasks in bodies, pages and explanations."""

import json

import pytest
from azure.batch import models

from engine.views.log.lanes import Lanes
from engine.views.log.node_lane import Activity
from engine.views.resources.tasks import TaskPage
from engine.views.rest.tasks import subtask_bodies
from engine.views.results import document, json_text
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    mpi_pool,
    node,
    node_row,
    run,
    run_to,
    run_to_end,
    simulation,
    task_row,
    together,
)
from tests.views.explaining import why_node_says, why_task_says


def subtasks(sim, task="mpi"):
    return subtask_bodies(sim.world, task_row(sim, task))


# -- as the service answers ------------------------------------------------------------------------------------------


def test_mi_7_what_is_told_of_a_running_subtask():
    sim = simulation(a_job(tasks=[together()], prep=a_line(9)), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 20)
    first, second = subtasks(sim)
    assert (first["id"], second["id"]) == (1, 2)
    assert (first["state"], first["previousState"]) == ("running", "preparing")
    assert first["startTime"] == first["stateTransitionTime"] == "2026-01-05T08:01:00Z"
    assert first["previousStateTransitionTime"] == "2026-01-05T08:00:50Z"
    assert not {"endTime", "exitCode", "result", "failureInfo"} & set(first)
    place = first["nodeInfo"]
    assert (place["poolId"], place["nodeId"]) == ("p", node(sim, 1).id)
    assert place["taskRootDirectory"] == "workitems/j/job-1/mpi/1"
    assert place["taskRootDirectoryUrl"].endswith("/files/workitems/j/job-1/mpi/1")


def test_mi_7_one_that_waits_for_preparation_has_not_started():
    sim = simulation(a_job(tasks=[together()], prep=a_line(9)), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 5)
    first = subtasks(sim)[0]
    assert first["state"] == "preparing"
    assert not {"startTime", "previousState"} & set(first)


def test_mi_7_the_client_library_reads_the_end_of_a_subtask():
    coordinate = a_line(5, command="mpd", simulate={"onNode": {1: {"exitCode": 7}}})
    sim = simulation(a_job(tasks=[together(coordinate=coordinate)]), pool=mpi_pool(3))
    run_to_end(sim)
    failed, other = (models.BatchSubtask(body) for body in subtasks(sim))
    assert (failed.state, failed.exit_code) == (models.BatchSubtaskState.COMPLETED, 7)
    assert (failed.result, failed.failure_info.code) == (models.BatchTaskExecutionResult.FAILURE, "FailureExitCode")
    assert failed.end_time == failed.state_transition_time > failed.start_time
    assert failed.node_info.node_id == node(sim, 1).id
    assert (other.result, other.failure_info.code) == (models.BatchTaskExecutionResult.FAILURE, "TaskEnded")


def test_mi_7_a_task_on_one_node_has_none_and_the_state_lists_only_those_of_others():
    sim = simulation(a_job(tasks=[together(), a_task()]), pool=mpi_pool(4))
    run_to_end(sim)
    assert subtasks(sim, "t1") == []
    several, plain = document(sim)["jobs"][0]["tasks"]
    assert [one["id"] for one in several["subtasks"]] == [1, 2]
    assert "subtasks" not in plain
    assert json.loads("".join(json_text(sim))) == document(sim)


def test_mi_8_a_node_remembers_as_which_subtask_it_ran():
    sim = simulation(a_job(tasks=[together(), a_task("plain")]), pool=mpi_pool(3))
    run_to_end(sim)
    nodes = document(sim)["pools"][0]["nodes"]
    found = [
        {task["taskId"]: task.get("subtaskId", "none") for task in one["recentTasks"] if task["taskId"] == "mpi"}
        for one in nodes
    ]
    assert found == [{"mpi": 0}, {"mpi": 1}, {"mpi": 2}]
    assert [
        task for one in nodes for task in one["recentTasks"] if task["taskId"] == "plain" and "subtaskId" in task
    ] == []


def test_every_node_of_a_task_works_while_it_runs():
    sim = simulation(a_job(tasks=[together()]), pool=mpi_pool(4))
    run_to_end(sim)
    lanes = Lanes(sim)
    lanes.update()
    moment_ms = (READY_S + 30) * 1000
    doing = [lanes.lane(node_row(sim, index)).at(moment_ms).activity for index in range(4)]
    assert doing == [Activity.WORKING] * 3 + [Activity.IDLE]
    running = [lanes.tracks(node_row(sim, index)).running_at(moment_ms) for index in (1, 2)]
    assert [[each.task for each in spans] for spans in running] == [[task_row(sim, "mpi")]] * 2


# -- why -------------------------------------------------------------------------------------------------------------


def test_mi_3_it_waits_for_enough_free_nodes_at_once():
    sim = simulation(a_job(tasks=[a_task("t1", 100), a_task("t2", 200), together()]), pool=mpi_pool(4))
    run_to(sim, seconds=READY_S + 1)
    assert why_task_says(sim, "mpi")[4:] == [
        "✓ job parallel limit    not set [SCHED-7]",
        "✓ multi-instance        p has inter-node communication, and 1 task slot per node [MI-2]",
        "✓ turn in the job       first of 1 [SCHED-6]",
        "✗ 3 free nodes at once  2 of 4 eligible [MI-3]",
        "     2 nodes without a free slot; soonest n0 at 08:02:31 [SCHED-10]",
        "It has been active since 08:00:00. [TASK-7]",
        "Batch reserves no node for it: other tasks may come first. [MI-3]",
        "Next: task t1 of job j ends on n0 at 08:02:31 [SCHED-15]",
    ]


@pytest.mark.parametrize(
    ("pool", "value"),
    [
        (a_pool(nodes=4), "p has no inter-node communication: it never runs there"),
        (mpi_pool(taskSlotsPerNode=2), "p has 2 task slots per node instead of 1: it never runs there"),
    ],
)
def test_mi_2_it_waits_in_vain(pool, value):
    sim = simulation(a_job(tasks=[together()]), pool=pool)
    run_to(sim, seconds=READY_S + 1)
    said = why_task_says(sim, "mpi")
    assert f"✗ multi-instance        {value} [MI-2]" in said
    assert said[-1] == "Next: nothing by itself, a user has to act [MI-2]"


def test_prep_6_it_waits_for_the_last_of_its_nodes():
    prep = a_line(10, simulate={"onNode": {1: {"duration": 40}}})
    sim = simulation(a_job(tasks=[together()], prep=prep), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 20)
    assert why_task_says(sim, "mpi") == [
        "Why is task mpi of job j preparing?",
        "✓ nodes                     assigned to n0, n1, n2 [MI-3]",
        "· preparation on all nodes  done on 2 of 3 [PREP-6]",
        "Next: preparation ends on n1, the last of them at 08:01:31 [PREP-7]",
    ]


def test_mi_4_and_mi_5_how_far_it_has_come():
    coordinate = a_line(10, command="mpd", simulate={"onNode": {2: {"duration": 30}}})
    sim = simulation(a_job(tasks=[together(coordinate=coordinate)]), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 15)
    assert why_task_says(sim, "mpi")[1:] == [
        "✓ nodes                 n0, n1, n2 since 08:00:50, the first is the primary [MI-3]",
        "· coordination command  returned on 2 of 3 nodes [MI-5]",
        "· application command   not started [MI-4]",
        "Next: the coordination command returns on n2 at 08:01:21 [MI-4]",
    ]
    run(sim, seconds=20)
    assert why_task_says(sim, "mpi")[2:4] == [
        "✓ coordination command  returned on 3 of 3 nodes [MI-5]",
        "✓ application command   on the primary since 08:01:21 [MI-4]",
    ]
    assert why_task_says(sim, "mpi")[-1] == "Next: it ends at 08:02:22 [TASK-7]"


def test_its_time_limit_is_what_comes_next():
    task = together(coordination=600, constraints={"maxWallClockTime": "PT1M"})
    sim = simulation(a_job(tasks=[task]), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 15)
    assert why_task_says(sim, "mpi")[-1] == "Next: it ends at 08:01:50 [TASK-7]"
    do(sim, "terminateTask", jobId="j", taskId="mpi")
    assert "✗ failure    TaskEnded: task ended [RETRY-1]" in why_task_says(sim, "mpi")


def test_a_node_says_that_a_task_runs_on_it():
    sim = simulation(a_job(tasks=[together()]), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 15)
    said = why_node_says(sim, 2)
    assert said[0].startswith("Why is n2")
    assert said[-1] == "Next: a task ends on n2 at 08:02:01 [TASK-7]"


def test_mi_9_what_the_primary_sees_can_be_read_back():
    sim = simulation(a_job(tasks=[together(), a_task("plain")]), pool=mpi_pool(3))
    run_to(sim, minutes=5)
    seen = TaskPage(sim, "j").environment(task_row(sim, "mpi"))
    assert seen["AZ_BATCH_HOST_LIST"] == ",".join(node(sim, index).ip_address for index in range(3))
    assert seen["AZ_BATCH_IS_CURRENT_NODE_MASTER"] == "true"
    assert "AZ_BATCH_HOST_LIST" not in TaskPage(sim, "j").environment(task_row(sim, "plain"))
