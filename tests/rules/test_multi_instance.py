"""Chapter 16: tasks on several nodes at once."""

from __future__ import annotations

import pytest

from engine.base.errors import STOPPED_EXIT_CODE
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    file,
    mpi_pool,
    node,
    node_row,
    node_state,
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

# -- where and when --------------------------------------------------------------------------------------------------


def test_mi_1_without_a_number_there_is_one_instance(start):
    task = together(coordination=9)
    del task["multiInstanceSettings"]["numberOfInstances"]
    sim = start(a_job(tasks=[task]), pool=mpi_pool(1))
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", to="completed") == [READY_S + 10 + 61]
    assert subtask_events(sim) == []


@pytest.mark.parametrize("pool", [a_pool(nodes=4), mpi_pool(taskSlotsPerNode=2)])
def test_mi_2_elsewhere_the_task_stays_active_for_ever_and_others_pass_it(start, pool):
    sim = start(a_job(tasks=[together(), a_task("plain"), a_task("more")]), pool=pool)
    run_to_end(sim)
    assert [task_state(sim, task) for task in ("mpi", "plain", "more")] == ["active", "completed", "completed"]
    (failed,) = events(sim, "TaskScheduleFail")
    assert (failed["taskId"], failed["code"], failed["rule"]) == ("mpi", "TaskSchedulingConstraintFailed", "MI-2")


def test_mi_2_a_pool_may_become_one_where_they_can_run(start):
    sim = start(a_job(tasks=[together()]), pool=a_pool(nodes=0, targetDedicatedNodes=0))
    run_to(sim, seconds=20)
    do(sim, "updatePool", poolId="p", enableInterNodeCommunication=True)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=3)
    run_to_end(sim)
    assert task_state(sim, "mpi") == "completed"


def test_mi_3_all_nodes_at_once_and_each_has_its_subtask(start):
    sim = start(a_job(tasks=[together()]), pool=mpi_pool(4))
    run_to(sim, seconds=READY_S + 1)
    assert events(sim, "TaskStateChanged", to="running")[0]["rule"] == "MI-3"
    assert subtask_events(sim) == [(READY_S, 1, "running", 1), (READY_S, 2, "running", 2)]
    assert [node_state(sim, index) for index in range(4)] == ["running", "running", "running", "idle"]


def test_mi_3_it_waits_until_enough_nodes_are_idle_together_and_reserves_none(start):
    plain = [a_task(f"t{number}", 10 * number) for number in range(1, 5)]
    sim = start(a_job(tasks=[*plain, together(instances=3), a_task("last", 5)]), pool=mpi_pool(3))
    run_to_end(sim)
    # t1 to t3 take the nodes; t4 and then the last one take those that come free, until three are.
    assert times(sim, "TaskStateChanged", taskId="t4", to="running") == [READY_S + 11]
    assert times(sim, "TaskStateChanged", taskId="last", to="running") == [READY_S + 21]
    assert times(sim, "TaskStateChanged", taskId="mpi", to="running") == [READY_S + 11 + 41]


def test_mi_3_the_master_is_the_first_in_the_order_of_placement(start):
    prepared = a_job(tasks=[a_task("first", 5, affinityInfo={"affinityId": "TVM:none"})], prep=a_line(1))
    sim = start(prepared, pool=mpi_pool(2, targetLowPriorityNodes=2))
    run_to(sim, minutes=2)
    (first,) = [index for index in range(4) if sim.world.instances.row(0, node_row(sim, index)) >= 0]
    do(sim, "addTasks", jobId="j", tasks=[together(instances=3)])
    run(sim, seconds=3)
    dedicated = [index for index in range(4) if node(sim, index).dedicated]
    others = [index for index in range(4) if not node(sim, index).dedicated]
    expected = [first, *(index for index in dedicated + others if index != first)]
    assert nodes_of(sim) == expected[:3]


def test_mi_3_affinity_names_the_master(start):
    sim = start(a_job(tasks=[]), pool=mpi_pool(3))
    run_to(sim, seconds=60)
    wanted = {"affinityId": f"TVM:{node(sim, 2).id}"}
    do(sim, "addTasks", jobId="j", tasks=[together(instances=2, affinityInfo=wanted)])
    run(sim, seconds=2)
    assert nodes_of(sim) == [2, 0]


def test_mi_3_barred_nodes_are_none_of_them(start):
    prep = a_line(5, simulate={"onNode": {1: {"exitCode": 1}}})
    sim = start(a_job(tasks=[together(instances=3)], prep=prep), pool=mpi_pool(4))
    run_to_end(sim)
    assert task_state(sim, "mpi") == "completed"
    assert nodes_of(sim) == [0, 2, 3]


# -- how it runs -----------------------------------------------------------------------------------------------------


def test_mi_4_the_application_begins_when_every_coordination_command_has_returned(start):
    coordinate = a_line(10, command="mpd", simulate={"onNode": {2: {"duration": 30}}})
    sim = start(a_job(tasks=[together(coordinate=coordinate, seconds=100)]), pool=mpi_pool(3))
    run_to(sim, seconds=READY_S + 31)
    gang = sim.world.gangs[task_row(sim, "mpi")]
    assert gang.application_ms == (READY_S + 31) * 1000
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", taskId="mpi", to="completed") == [READY_S + 31 + 101]


def test_mi_4_the_files_of_the_primary_are_downloaded_before_it_coordinates(start):
    files = [{"httpUrl": "https://s/big", "filePath": "big.bin"}]
    storage = {"https://s/big": {"size": "500 MB"}}
    sim = start(
        a_job(tasks=[together(instances=2, resourceFiles=files)]), pool=mpi_pool(2), simulate={"storage": storage}
    )
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", taskId="mpi", to="completed") == [READY_S + 10 + 10 + 61]
    directory = "workitems/j/job-1/mpi"
    assert [sim.world.disks[node_row(sim, index)].exists(f"{directory}/wd/big.bin") for index in (0, 1)] == [
        True,
        False,
    ]


def test_file_6_common_files_lie_above_wd_on_every_node(start):
    common = [{"httpUrl": "https://s/hosts", "filePath": "etc/hosts.txt"}]
    sim = start(a_job(tasks=[together(settings={"commonResourceFiles": common})]), pool=mpi_pool(3))
    run_to_end(sim)
    path = "workitems/j/job-1/mpi/etc/hosts.txt"
    assert [file(sim, path, index) is not None for index in range(3)] == [True, True, True]


def test_mi_4_a_common_file_that_is_missing_fails_the_task_at_once(start):
    common = [{"httpUrl": "https://s/hosts", "filePath": "hosts.txt"}]
    task = together(settings={"commonResourceFiles": common}, constraints={"maxTaskRetryCount": 2})
    sim = start(a_job(tasks=[task]), pool=mpi_pool(3), simulate={"storage": {"https://s/hosts": {"missing": True}}})
    run_to_end(sim)
    extra = task_extra(sim, "mpi")
    assert (extra.exit_code, extra.failure.code, extra.retry_count) == (None, "BlobNotFound", 0)


def test_mi_5_a_coordination_command_that_does_not_return_blocks_the_application(start):
    coordinate = a_line(5, command="mpd", simulate={"onNode": {1: {"duration": "P1D"}}})
    sim = start(a_job(tasks=[together(coordinate=coordinate)]), pool=mpi_pool(3))
    run_to(sim, minutes=600)
    assert task_state(sim, "mpi") == "running"
    assert sim.world.gangs[task_row(sim, "mpi")].application_ms < 0
    do(sim, "updateTask", jobId="j", taskId="mpi", constraints={"maxWallClockTime": "PT10H"})
    run(sim, minutes=10)
    assert (task_state(sim, "mpi"), task_extra(sim, "mpi").failure.code) == ("completed", "TaskEnded")
    assert times(sim, "TaskStateChanged", taskId="mpi", to="completed") == [READY_S + 36_000]


def test_retry_8_the_time_limit_counts_from_the_start_of_the_coordination(start):
    sim = start(a_job(tasks=[together(constraints={"maxWallClockTime": "PT40S"})]), pool=mpi_pool(3))
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", taskId="mpi", to="completed") == [READY_S + 40]
    assert task_extra(sim, "mpi").exit_code == STOPPED_EXIT_CODE


def test_task_12_a_limit_that_is_over_already_ends_it_at_once(start):
    sim = start(a_job(tasks=[together(seconds=600)]), pool=mpi_pool(3))
    run_to(sim, minutes=5)
    do(sim, "updateTask", jobId="j", taskId="mpi", constraints={"maxWallClockTime": "PT1M"})
    assert task_state(sim, "mpi") == "completed"
    run_to_end(sim)
    assert [event["to"] for event in events(sim, "SubtaskStateChanged")].count("completed") == 2


# -- how it ends -----------------------------------------------------------------------------------------------------


def test_mi_6_when_the_primary_exits_its_subtasks_are_ended(start):
    sim = start(a_job(tasks=[together(exit_code=3)]), pool=mpi_pool(3))
    run_to_end(sim)
    end_s = READY_S + 10 + 61
    completed = [(end_s, 1, "completed", 1), (end_s, 2, "completed", 2)]
    assert subtask_events(sim, to="completed", exitCode=0, result="success") == completed
    assert (task_extra(sim, "mpi").exit_code, task_extra(sim, "mpi").failure.code) == (3, "FailureExitCode")
    order = [event["event"] for event in events(sim) if event["t"] == end_s and event.get("taskId") == "mpi"]
    assert order == ["TaskStateChanged", "SubtaskStateChanged", "SubtaskStateChanged"]


def test_mi_6_a_subtask_that_fails_fails_the_task_which_is_retried_up_to_its_limit(start):
    coordinate = a_line(5, command="mpd", simulate={"onNode": {1: {"exitCode": 7}, 2: {"duration": 8}}})
    sim = start(a_job(tasks=[together(coordinate=coordinate, constraints={"maxTaskRetryCount": 1})]), pool=mpi_pool(3))
    run_to_end(sim)
    assert task_history(sim, "mpi") == ["active", "running", "active", "running", "completed"]
    extra = task_extra(sim, "mpi")
    assert (extra.exit_code, extra.retry_count, extra.failure.code) == (STOPPED_EXIT_CODE, 1, "FailureExitCode")
    assert extra.failure.details == (("Message", "subtask 1 exited with code 7"),)
    assert events(sim, "TaskStateChanged", taskId="mpi", to="completed")[0]["rule"] == "MI-6"
    assert [event[:3] for event in subtask_events(sim, exitCode=7)] == [
        (READY_S + 6, 1, "completed"),
        (READY_S + 12, 1, "completed"),
    ]
    stopped = events(sim, "SubtaskStateChanged", subtaskId=2, to="completed")
    assert {event["exitCode"] for event in stopped} == {STOPPED_EXIT_CODE}
    assert {event["failureInfo"]["code"] for event in stopped} == {"TaskEnded"}


def test_mi_6_the_exit_code_of_the_primarys_coordination_command_is_the_tasks(start):
    coordinate = a_line(5, command="mpd", simulate={"onNode": {0: {"exitCode": 9}}})
    sim = start(a_job(tasks=[together(coordinate=coordinate)]), pool=mpi_pool(3))
    run_to_end(sim)
    assert (task_extra(sim, "mpi").exit_code, task_extra(sim, "mpi").attempts) == (9, 1)


def test_mi_6_what_a_shell_makes_of_the_coordination_command_counts_too(start):
    script = '/bin/sh -c "test $AZ_BATCH_IS_CURRENT_NODE_MASTER = true || exit 5"'
    sim = start(a_job(tasks=[together(coordinate={"commandLine": script})]), pool=mpi_pool(3))
    run_to_end(sim)
    assert task_extra(sim, "mpi").failure.details == (("Message", "subtask 1 exited with code 5"),)


def test_mi_6_a_coordination_program_that_is_not_there_is_not_retried(start):
    coordinate = a_line(5, command="mpd", simulate={"onNode": {1: {"found": False}}})
    task = together(coordinate=coordinate, constraints={"maxTaskRetryCount": 3})
    sim = start(a_job(tasks=[task]), pool=mpi_pool(3))
    run_to_end(sim)
    extra = task_extra(sim, "mpi")
    assert (extra.exit_code, extra.failure.code, extra.attempts) == (None, "CommandProgramNotFound", 1)


def test_retry_5_a_retry_prefers_the_master_it_had(start):
    sim = start(
        a_job(tasks=[together(instances=2, exit_code=1, constraints={"maxTaskRetryCount": 1})]), pool=mpi_pool(3)
    )
    run_to(sim, seconds=READY_S + 1)
    do(sim, "disableNodeScheduling", poolId="p", nodeId=node(sim, 1).id, nodeDisableSchedulingOption="taskcompletion")
    run_to(sim, seconds=READY_S + 80)
    assert nodes_of(sim) == [0, 2]


def test_mi_7_only_the_primary_uploads(start):
    output = {
        "filePattern": "../std*.txt",
        "destination": {"container": {"containerUrl": "https://s/out"}},
        "uploadOptions": {"uploadCondition": "taskcompletion"},
    }
    sim = start(a_job(tasks=[together(outputFiles=[output])]), pool=mpi_pool(3))
    run_to_end(sim)
    directory = "workitems/j/job-1/mpi"
    assert file(sim, f"{directory}/fileuploadout.txt", 0)
    assert file(sim, f"{directory}/fileuploadout.txt", 1) is None
    assert file(sim, f"{directory}/1/fileuploadout.txt", 1) is None


# -- what its processes see ------------------------------------------------------------------------------------------


def test_mi_9_each_instance_knows_the_nodes_and_whether_it_is_the_master(start):
    script = '/bin/sh -c "echo $AZ_BATCH_IS_CURRENT_NODE_MASTER $AZ_BATCH_TASK_SHARED_DIR $AZ_BATCH_TASK_DIR"'
    line = '/bin/sh -c "echo $CCP_NODES; echo $AZ_BATCH_HOST_LIST $AZ_BATCH_NODE_LIST $AZ_BATCH_MASTER_NODE"'
    task = together(instances=2, coordinate={"commandLine": script}) | {"commandLine": line, "simulate": {}}
    sim = start(a_job(tasks=[task]), pool=mpi_pool(2))
    run_to_end(sim)
    shared = "/mnt/batch/tasks/workitems/j/job-1/mpi"
    first, second = (node(sim, index).ip_address for index in (0, 1))
    assert file(sim, "workitems/j/job-1/mpi/1/stdout.txt", 1) == f"false {shared} {shared}/1\n"
    assert file(sim, "workitems/j/job-1/mpi/stdout.txt", 0) == (
        f"true {shared} {shared}\n2 {first} 2 {second} 2\n{first},{second} {first};{second} {first}:6000\n"
    )


def test_going_back_into_any_phase_leads_to_the_same_log(start):
    coordinate = a_line(20, command="mpd", simulate={"attempts": [{"exitCode": 1}]})
    task = together(coordinate=coordinate, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(tasks=[task, together("more", 2)], prep=a_line(20)), pool=mpi_pool(3))
    run_to_end(sim)
    recorded = list(sim.json_lines())
    end_ms = sim.now_ms
    for seconds in (55, 75, 85, 100, 130):
        sim.seek(seconds * 1000)
        sim.branch()
        sim.run_until(end_ms)
        assert list(sim.json_lines()) == recorded
