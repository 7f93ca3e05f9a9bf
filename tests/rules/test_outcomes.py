"""Chapter 14: how a task ends, whether it runs again, and what its end does to its job."""

from __future__ import annotations

import pytest

from engine.rules.outcomes import exit_options, retry_verdict
from engine.specs.task import ExitConditions
from engine.state.failures import FAILURE_EXIT_CODE, ended, failure
from engine.state.tasks import TaskExtra, TaskProfile
from engine.terms import DependencyAction, JobAction
from tests.builders import (
    READY_S,
    STOPPED,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    file,
    job_state,
    node_row,
    refusal,
    run,
    run_to,
    run_to_end,
    simulation,
    task_extra,
    task_history,
    task_row,
    task_state,
    times,
)

NONE, DISABLE, TERMINATE = JobAction.NONE, JobAction.DISABLE, JobAction.TERMINATE
SATISFY, BLOCK = DependencyAction.SATISFY, DependencyAction.BLOCK
PROFILE = TaskProfile(job=0, required_slots=1, max_retries=None, wall_clock_ms=None, retention_ms=None, process=None)


def attempts(sim, task="t1"):
    return [event["attempt"] for event in events(sim, "TaskStateChanged", taskId=task, to="running")]


def after(start, task, **job):
    """A run of one task, to its end."""
    sim = start(a_job(tasks=[task], **job))
    run_to_end(sim)
    return sim


# -- retries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "of_job", "retries", "code", "again"),
    [
        (None, 0, 0, 1, False),
        (None, 2, 1, 1, True),
        (None, 2, 2, 1, False),
        (0, 5, 0, 1, False),
        (3, 0, 2, -7, True),
        (3, 0, 3, 1, False),
        (-1, 0, 10_000, 1, True),
        (None, -1, 10_000, 1, True),
        (-1, 0, 0, 0, False),
        (5, 5, 0, None, False),
    ],
)
def test_retry_3_the_tasks_limit_wins_over_the_jobs(own, of_job, retries, code, again):
    sim = simulation(a_job(tasks=0, constraints={"maxTaskRetryCount": of_job}))
    run(sim, seconds=0)
    job = sim.world.jobs.find("j")
    assert retry_verdict(PROFILE._replace(max_retries=own), job, TaskExtra(retry_count=retries), code) is again


@pytest.mark.parametrize(("limit", "runs"), [(0, 1), (1, 2), (4, 5)])
def test_retry_3_n_retries_are_one_attempt_more(start, limit, runs):
    sim = after(start, a_task(exit_code=1, constraints={"maxTaskRetryCount": limit}))
    assert attempts(sim) == list(range(1, runs + 1))
    assert (task_state(sim), task_extra(sim).retry_count) == ("completed", limit)


def test_retry_3_minus_one_is_without_end(start):
    sim = start(a_job(tasks=[a_task(seconds=1, exit_code=1, constraints={"maxTaskRetryCount": -1})]))
    run_to(sim, minutes=60)
    assert task_extra(sim).retry_count > 1000
    assert task_state(sim) == "running"


def test_retry_3_the_jobs_limit_can_change_while_the_task_runs(start):
    sim = start(a_job(tasks=[a_task(exit_code=1)]))
    run_to(sim, seconds=READY_S + 1)
    do(sim, "updateJob", jobId="j", constraints={"maxTaskRetryCount": 2})
    run_to_end(sim)
    assert task_extra(sim).retry_count == 2


def test_retry_2_the_exit_code_is_the_processs_own(start):
    sim = after(start, {"id": "t1"} | a_shell("exit 42"))
    assert task_extra(sim).exit_code == 42
    assert task_extra(sim).failure.code == "FailureExitCode"


@pytest.mark.parametrize(
    ("body", "code", "category"),
    [
        ({"simulate": {"found": False}}, "CommandProgramNotFound", "UserError"),
        ({"resourceFiles": [{"httpUrl": "https://gone/x", "filePath": "x"}]}, "BlobNotFound", "UserError"),
        ({"resourceFiles": [{"storageContainerUrl": "https://gone/c"}]}, "ResourceContainerNotFound", "UserError"),
    ],
)
def test_retry_4_what_fails_before_the_process_is_final(start, body, code, category):
    task = a_task(constraints={"maxTaskRetryCount": 3}, **body)
    sim = start(a_job(tasks=[task]), simulate={"storage": {"https://gone/*": {"missing": True}}})
    run_to_end(sim)
    extra = task_extra(sim)
    assert (extra.failure.code, extra.failure.category, extra.exit_code, extra.attempts) == (code, category, None, 1)
    event = events(sim, "TaskStateChanged", to="completed")[0]
    assert (event["rule"], "exitCode" in event) == ("RETRY-4", False)


def test_retry_1_an_outage_is_a_failure_of_the_service(start):
    task = a_task(resourceFiles=[{"httpUrl": "https://a/x", "filePath": "x"}])
    sim = start(a_job(tasks=[task]), timeline=[{"at": 40, "storageOutage": {"for": "PT1M"}}])
    run_to_end(sim)
    assert (task_extra(sim).failure.code, task_extra(sim).failure.category) == ("BlobDownloadTimedOut", "ServerError")


def test_retry_5_a_retry_is_active_in_between_and_counts_from_its_start(start):
    sim = start(a_job(tasks=[a_task(exit_code=1, constraints={"maxTaskRetryCount": 1})]))
    run_to(sim, seconds=READY_S + 62)
    assert task_history(sim) == ["active", "running", "active", "running"]
    extra = task_extra(sim)
    assert (extra.retry_count, extra.last_retry_ms) == (1, (READY_S + 61) * 1000)
    assert [event["rule"] for event in events(sim, "TaskStateChanged")[2:]] == ["RETRY-5", "RETRY-5"]


def test_retry_5_the_time_of_a_retry_is_that_of_its_start_not_of_the_failure(start):
    sim = start(a_job(tasks=[a_task(exit_code=1, constraints={"maxTaskRetryCount": 1})]))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run(sim, minutes=5)
    assert (task_extra(sim).retry_count, task_extra(sim).last_retry_ms) == (1, None)
    do(sim, "enableJob", jobId="j")
    run(sim, seconds=3)
    assert task_extra(sim).last_retry_ms == sim.world.tasks.started[task_row(sim)]


def test_retry_5_it_prefers_its_node_and_needs_no_new_preparation(start):
    failing = a_task("t1", 30, 1, constraints={"maxTaskRetryCount": 3})
    sim = start(a_job(tasks=[failing], prep=a_line(1)), pool=a_pool(nodes=4))
    run_to_end(sim)
    assert len({event["nodeId"] for event in events(sim, "TaskStateChanged", to="running")}) == 1
    assert len(events(sim, "JobPreparationTaskStateChanged", to="running")) == 1


def test_retry_5_when_its_node_is_gone_another_will_do(start):
    failing = a_task("t1", 30, 1, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(tasks=[failing]), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 1)
    do(sim, "disableNodeScheduling", poolId="p", node=0, nodeDisableSchedulingOption="taskcompletion")
    run_to_end(sim)
    assert [event["nodeId"] for event in events(sim, "TaskStateChanged", to="running")] == [
        sim.world.nodes[node_row(sim, index)].id for index in (0, 1)
    ]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("rebootNode", {"poolId": "p", "node": 0}),
        ("reimageNode", {"poolId": "p", "node": 0}),
        ("deallocateNode", {"poolId": "p", "node": 0}),
        ("disableNodeScheduling", {"poolId": "p", "node": 0}),
        ("removeNodes", {"poolId": "p", "nodeList": [0]}),
        ("resizePool", {"poolId": "p", "targetDedicatedNodes": 0}),
        ("deletePool", {"poolId": "p"}),
        ("disableJob", {"jobId": "j", "disableTasks": "requeue"}),
    ],
)
def test_retry_6_only_requeues_by_users_count_as_requeues(start, name, body):
    sim = start(a_job())
    run_to(sim, seconds=READY_S + 5)
    do(sim, name, **body)
    extra = task_extra(sim)
    assert (task_state(sim), extra.requeue_count, extra.last_requeue_ms) == ("active", 1, sim.now_ms)
    assert (extra.retry_count, extra.system_retries) == (0, 0)


def test_retry_6_neither_counter_limits_the_other(start):
    sim = start(a_job(tasks=[a_task(exit_code=1, constraints={"maxTaskRetryCount": 1})]))
    run_to(sim, seconds=READY_S + 5)
    for _ in range(3):
        do(sim, "disableJob", jobId="j", disableTasks="requeue")
        run(sim, seconds=3)
        do(sim, "enableJob", jobId="j")
        run(sim, seconds=5)
    run_to_end(sim)
    extra = task_extra(sim)
    assert (extra.requeue_count, extra.retry_count, extra.attempts) == (3, 1, 5)


def test_retry_7_a_lost_node_is_no_retry_and_no_requeue(start):
    sim = start(a_job(), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "failNode", poolId="p", node=0)
    run_to_end(sim)
    extra = task_extra(sim)
    assert (task_state(sim), extra.failure) == ("completed", None)
    assert (extra.retry_count, extra.requeue_count, extra.system_retries, extra.attempts) == (0, 0, 1, 2)


def flapping(start, losses, nodes=1, **more):
    """A node that fails for a minute so many times while a task runs on it."""
    sim = start(a_job(tasks=[a_task(seconds=900)], **more), pool=a_pool(nodes=nodes))
    run_to(sim, seconds=READY_S + 5)
    for _ in range(losses):
        index = sim.world.nodes[sim.world.tasks.node[task_row(sim)]].position
        do(sim, "failNode", poolId="p", node=index, **{"for": "PT1M"})
        run(sim, minutes=2)
    return sim


def test_retry_7_after_ten_service_retries_the_task_fails(start):
    sim = flapping(start, 10)
    assert (task_state(sim), task_extra(sim).system_retries) == ("running", 10)
    sim = flapping(start, 11)
    extra = task_extra(sim)
    assert (task_state(sim), extra.failure.code) == ("completed", "MaxInternalRetryCountReached")
    assert extra.failure.category == "UserError"


def test_retry_7_the_limit_is_no_matter_of_maxtaskretrycount(start):
    sim = flapping(start, 5, constraints={"maxTaskRetryCount": 0})
    assert (task_state(sim), task_extra(sim).retry_count) == ("running", 0)


@pytest.mark.parametrize("body", [{}, {"prep": a_line(1)}], ids=["plain", "prepared"])
def test_retry_7_the_service_prefers_the_same_node_but_not_for_ever(start, body):
    """Whenever the task is lost both nodes are free when it may run again; node 0 is the first in the list."""
    sim = start(a_job(tasks=[a_task(seconds=900)], **body), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "disableNodeScheduling", poolId="p", node=0)
    run(sim, seconds=10)
    do(sim, "enableNodeScheduling", poolId="p", node=0)
    tried = []
    for _ in range(4):
        tried.append(sim.world.nodes[sim.world.tasks.node[task_row(sim)]].position)
        do(sim, "disableJob", jobId="j", disableTasks="wait")
        do(sim, "failNode", poolId="p", node=tried[-1], **{"for": "PT10S"})
        run(sim, minutes=1)
        do(sim, "enableJob", jobId="j")
        run(sim, seconds=10)
        assert task_state(sim) == "running"
    assert tried == [1, 1, 1, 0]
    assert task_extra(sim).node_retries == 1


# -- failures --------------------------------------------------------------------------------------------------------


def test_retry_8_a_time_limit_stops_the_process_and_is_not_retried(start):
    sim = after(start, a_task(constraints={"maxWallClockTime": "PT20S", "maxTaskRetryCount": 5}))
    extra = task_extra(sim)
    assert (extra.exit_code, extra.failure.code, extra.failure.category) == (STOPPED, "TaskEnded", "ServerError")
    assert extra.failure.details == (("Message", "maximum execution time exceeded"),)
    assert (extra.attempts, times(sim, "TaskStateChanged", to="completed")) == (1, [READY_S + 20])
    assert events(sim, "TaskStateChanged", to="completed")[0]["failureInfo"]["category"] == "ServerError"


def test_retry_8_the_limit_is_for_each_attempt(start):
    task = a_task(seconds=30, exit_code=1, constraints={"maxWallClockTime": "PT40S", "maxTaskRetryCount": 3})
    sim = after(start, task)
    assert (task_extra(sim).retry_count, task_extra(sim).failure.code) == (3, "FailureExitCode")


def test_retry_8_a_later_attempt_may_run_into_it(start):
    slow = {"attempts": [{"exitCode": 1, "duration": 5}, {"duration": 100}]}
    task = a_task(simulate=slow, constraints={"maxWallClockTime": "PT40S", "maxTaskRetryCount": 3})
    sim = after(start, task)
    assert (task_extra(sim).retry_count, task_extra(sim).exit_code) == (1, STOPPED)


def test_retry_8_a_process_that_ends_exactly_in_time_is_well(start):
    sim = after(start, a_task(seconds=39, constraints={"maxWallClockTime": "PT40S"}))
    assert task_extra(sim).failure is None


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("terminateTask", {"jobId": "j", "taskId": "t1"}),
        ("terminateJob", {"jobId": "j"}),
        ("disableJob", {"jobId": "j", "disableTasks": "terminate"}),
        ("rebootNode", {"poolId": "p", "node": 0, "nodeRebootOption": "terminate"}),
        ("removeNodes", {"poolId": "p", "nodeList": [0], "nodeDeallocationOption": "terminate"}),
        ("disableNodeScheduling", {"poolId": "p", "node": 0, "nodeDisableSchedulingOption": "terminate"}),
    ],
)
def test_retry_8_ended_by_a_user_the_category_is_usererror(start, name, body):
    sim = start(a_job(tasks=[a_task(constraints={"maxTaskRetryCount": 5})]))
    run_to(sim, seconds=READY_S + 5)
    do(sim, name, **body)
    extra = task_extra(sim)
    assert (extra.exit_code, extra.failure.code, extra.failure.category) == (STOPPED, "TaskEnded", "UserError")
    assert task_state(sim) == "completed"


def test_retry_9_a_nonzero_exit_that_is_final(start):
    sim = after(start, a_task(exit_code=3))
    event = events(sim, "TaskStateChanged", to="completed")[0]
    assert (event["exitCode"], event["result"], event["failureInfo"]["code"]) == (3, "failure", "FailureExitCode")
    assert event["failureInfo"]["category"] == "UserError"


def test_retry_11_a_failed_task_is_completed_its_result_says_the_rest(start):
    sim = after(start, a_task(exit_code=3))
    assert task_state(sim) == "completed"
    assert sim.world.tasks.result(task_row(sim)) == "failure"


def test_retry_12_output_begins_anew_and_the_working_directory_stays(start):
    line = a_shell("echo run; echo more >> kept; exit 1")
    sim = after(start, {"id": "t1", "constraints": {"maxTaskRetryCount": 2}} | line)
    assert task_extra(sim).attempts == 3
    assert file(sim, "workitems/j/job-1/t1/stdout.txt") == "run\n"
    assert file(sim, "workitems/j/job-1/t1/wd/kept") == "more\nmore\nmore\n"


# -- output files ----------------------------------------------------------------------------------------------------


def output(container="https://acc/out", **options):
    """One entry of a task's outputFiles."""
    destination = {"container": {"containerUrl": container, "path": "results"}}
    return {"filePattern": "*.txt", "destination": destination} | ({"uploadOptions": options} if options else {})


def uploading(start, *files, exit_code=0, missing="https://gone/*", timeline=(), **task):
    body = a_task(exit_code=exit_code, outputFiles=list(files), **task)
    storage = {"storage": {missing: {"missing": True}}}
    sim = start(a_job(tasks=[body]), simulate=storage, timeline=list(timeline))
    run_to_end(sim)
    return sim


OUT, ERR = "workitems/j/job-1/t1/fileuploadout.txt", "workitems/j/job-1/t1/fileuploaderr.txt"


@pytest.mark.parametrize(
    ("condition", "exit_code", "uploaded"),
    [
        (None, 0, True),
        (None, 1, True),
        ("tasksuccess", 0, True),
        ("tasksuccess", 1, False),
        ("taskfailure", 0, False),
        ("taskfailure", 1, True),
        ("taskcompletion", 1, True),
    ],
)
def test_task_8_files_are_uploaded_by_the_exit_code(start, condition, exit_code, uploaded):
    options = {} if condition is None else {"uploadCondition": condition}
    sim = uploading(start, output(**options), exit_code=exit_code)
    assert (file(sim, OUT) is not None) is (file(sim, ERR) is not None) is uploaded
    if uploaded:
        assert file(sim, OUT) == "*.txt: there is no such file\n"
        assert file(sim, ERR) == ""


MADE = (
    "echo a > a.txt; echo bc > b.log; mkdir -p sub/.hidden; echo d > sub/d.txt; echo e > .e.txt; echo f > sub/.hidden/f"
)


@pytest.mark.parametrize(
    ("pattern", "path", "uploaded"),
    [
        ("a.txt", "result", ["wd/a.txt -> result, 2 bytes"]),
        ("a.txt", None, ["wd/a.txt -> a.txt, 2 bytes"]),
        ("*.txt", "out", ["wd/a.txt -> out/a.txt, 2 bytes"]),
        ("?.[lt]*", None, ["wd/a.txt -> a.txt, 2 bytes", "wd/b.log -> b.log, 3 bytes"]),
        ("[!a].*", None, ["wd/b.log -> b.log, 3 bytes"]),
        ("[", None, []),
        ("**/*.txt", "out", ["wd/a.txt -> out/a.txt, 2 bytes", "wd/sub/d.txt -> out/sub/d.txt, 2 bytes"]),
        ("sub/**", "out/", ["wd/sub/d.txt -> out/d.txt, 2 bytes"]),
        ("sub/.hidden/*", None, ["wd/sub/.hidden/f -> f, 2 bytes"]),
        (".*.txt", None, ["wd/.e.txt -> .e.txt, 2 bytes"]),
        (
            "../std*.txt",
            "$WHERE",
            ["stderr.txt -> $WHERE/stderr.txt, 0 bytes", "stdout.txt -> $WHERE/stdout.txt, 0 bytes"],
        ),
        ("$AZ_BATCH_TASK_WORKING_DIR/a.txt", None, ["wd/a.txt -> a.txt, 2 bytes"]),
        ("${PLACE}/d.txt", "d", ["wd/sub/d.txt -> d, 2 bytes"]),
        ("none.txt", "x", []),
        ("/mnt/batch/tasks/shared/*", None, []),
    ],
)
def test_task_8_a_pattern_means_files_by_their_paths(start, pattern, path, uploaded):
    destination = {"container": {"containerUrl": "https://acc/out"} | ({"path": path} if path else {})}
    entry = {"filePattern": pattern, "destination": destination}
    setting = {"name": "PLACE", "value": "sub"}
    body = a_task(outputFiles=[entry], environmentSettings=[setting]) | a_shell(MADE)
    sim = start(a_job(tasks=[body]))
    run_to_end(sim)
    there = "workitems/j/job-1/t1/"
    lines = file(sim, OUT).replace(there, "").replace("https://acc/out/", "").splitlines()
    assert lines == (uploaded or [f"{pattern}: there is no such file"])


def test_task_8_patterns_on_windows_have_either_separator_and_any_case(start):
    body = a_task(outputFiles=[output()]) | {"commandLine": "cmd /c echo x > A.TXT"}
    body["outputFiles"][0] |= {"filePattern": "%AZ_BATCH_TASK_WORKING_DIR%\\*.txt"}
    machine = {
        "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
        "nodeAgentSKUId": "batch.node.windows amd64",
    }
    sim = start(a_job(tasks=[body]), pool=a_pool(virtualMachineConfiguration=machine))
    run_to_end(sim)
    assert "wd/A.TXT -> https://acc/out/results/A.TXT" in file(sim, OUT)


def test_task_8_without_an_attempt_there_is_no_record_of_one(start):
    sim = uploading(start)
    assert (file(sim, OUT), file(sim, ERR)) == (None, None)


def test_retry_10_a_failed_upload_fails_a_task_that_exited_0(start):
    sim = uploading(start, output(), output("https://gone/out"), constraints={"maxTaskRetryCount": 3})
    extra = task_extra(sim)
    assert (extra.exit_code, extra.failure.code, extra.attempts) == (0, "FileUploadContainerNotFound", 1)
    event = events(sim, "TaskStateChanged", to="completed")[0]
    assert (event["exitCode"], event["result"], event["rule"]) == (0, "failure", "RETRY-10")
    assert file(sim, ERR).startswith("FileUploadContainerNotFound")
    assert sim.world.jobs.find("j").failed == 1


def test_retry_10_after_a_nonzero_exit_the_failure_stays_what_it_was(start):
    sim = uploading(start, output("https://gone/out"), exit_code=4)
    assert (task_extra(sim).exit_code, task_extra(sim).failure.code) == (4, "FailureExitCode")


def test_retry_10_an_outage_fails_uploads_too(start):
    outage = {"at": READY_S + 10, "storageOutage": {"for": "PT5M"}}
    sim = uploading(start, output(), timeline=[outage])
    assert (task_extra(sim).failure.code, task_extra(sim).failure.category) == ("FileUploadTimedOut", "ServerError")


def test_retry_10_such_a_task_is_not_reactivated(start):
    sim = uploading(start, output("https://gone/out"))
    assert refusal(sim, "reactivateTask", jobId="j", taskId="t1") == "TaskSucceeded"


def test_exit_2_an_upload_error_has_its_own_condition(start):
    conditions = {"fileUploadError": {"dependencyAction": "satisfy"}, "default": {"dependencyAction": "block"}}
    parent = a_task("p", outputFiles=[output("https://gone/out")], exitConditions=conditions)
    child = a_task("c", dependsOn={"taskIds": ["p"]})
    job = a_job(tasks=[parent, child], usesTaskDependencies=True)
    sim = start(job, simulate={"storage": {"https://gone/*": {"missing": True}}})
    run_to_end(sim)
    assert task_extra(sim, "p").failure.code == "FileUploadContainerNotFound"
    assert task_state(sim, "c") == "completed"


# -- exit conditions -------------------------------------------------------------------------------------------------


CONDITIONS = {
    "exitCodes": [
        {"code": 2, "exitOptions": {"jobAction": "disable", "dependencyAction": "satisfy"}},
        {"code": 5, "exitOptions": {"jobAction": "none"}},
        {"code": STOPPED, "exitOptions": {"jobAction": "disable"}},
    ],
    "exitCodeRanges": [{"start": 4, "end": 6, "exitOptions": {"jobAction": "disable"}}],
    "preProcessingError": {"jobAction": "none"},
    "fileUploadError": {"dependencyAction": "satisfy"},
    "default": {"jobAction": "terminate", "dependencyAction": "satisfy"},
}
UPLOAD = failure("FileUploadMiscError")


@pytest.mark.parametrize(
    ("code", "why", "expected"),
    [
        (0, None, (NONE, SATISFY)),
        (2, FAILURE_EXIT_CODE, (DISABLE, SATISFY)),
        (4, FAILURE_EXIT_CODE, (DISABLE, BLOCK)),
        (5, FAILURE_EXIT_CODE, (NONE, BLOCK)),
        (6, FAILURE_EXIT_CODE, (DISABLE, BLOCK)),
        (7, FAILURE_EXIT_CODE, (TERMINATE, SATISFY)),
        (-1, FAILURE_EXIT_CODE, (TERMINATE, SATISFY)),
        (None, failure("BlobNotFound"), (NONE, BLOCK)),
        (None, ended("by a user"), (TERMINATE, SATISFY)),
        (STOPPED, ended("by a user"), (DISABLE, BLOCK)),
        (0, UPLOAD, (TERMINATE, SATISFY)),
        (2, UPLOAD, (DISABLE, SATISFY)),
        (9, UPLOAD, (TERMINATE, SATISFY)),
    ],
)
def test_exit_2_codes_then_ranges_then_default(code, why, expected):
    assert exit_options(ExitConditions.from_wire(CONDITIONS), code, why) == expected


@pytest.mark.parametrize(
    ("code", "why"), [(None, failure("BlobNotFound")), (0, UPLOAD), (STOPPED, ended("x")), (1, FAILURE_EXIT_CODE)]
)
def test_exit_2_default_stands_for_what_is_not_given(code, why):
    only_default = ExitConditions.from_wire({"default": {"jobAction": "disable", "dependencyAction": "satisfy"}})
    assert exit_options(only_default, code, why) == (DISABLE, SATISFY)


@pytest.mark.parametrize("conditions", [None, ExitConditions()])
@pytest.mark.parametrize(
    ("code", "why", "expected"),
    [
        (0, None, (NONE, SATISFY)),
        (1, FAILURE_EXIT_CODE, (TERMINATE, BLOCK)),
        (None, failure("BlobNotFound"), (TERMINATE, BLOCK)),
        (0, UPLOAD, (TERMINATE, BLOCK)),
        (STOPPED, ended("x"), (TERMINATE, BLOCK)),
    ],
)
def test_exit_3_what_is_not_said_is_none_and_satisfy_for_success_only(conditions, code, why, expected):
    assert exit_options(conditions, code, why) == expected


def test_exit_2_exit_code_zero_can_be_listed():
    listed = ExitConditions.from_wire({"exitCodes": [{"code": 0, "exitOptions": {"dependencyAction": "block"}}]})
    assert exit_options(listed, 0, None) == (NONE, BLOCK)


PERFORM = {"onTaskFailure": "performexitoptionsjobaction"}


def with_default(**options):
    return {"exitConditions": {"default": options}}


def test_exit_4_a_job_action_needs_a_job_that_performs_it(start):
    task = a_task("new", **with_default(jobAction="none"))
    sim = start(a_job("no"), a_job("yes", **PERFORM))
    run(sim, seconds=1)
    assert refusal(sim, "addTasks", jobId="no", tasks=[task]) == "InvalidPropertyValue"
    assert refusal(sim, "addTasks", jobId="yes", tasks=[task]) is None
    other = a_task("new", **with_default(dependencyAction="satisfy"))
    assert refusal(sim, "addTasks", jobId="no", tasks=[other]) is None


def test_exit_5_disable_is_with_requeue(start):
    bad = a_task("bad", 10, 1, **with_default(jobAction="disable"))
    sim = start(a_job(tasks=[bad, a_task("other", 100)], **PERFORM), pool=a_pool(nodes=2))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "other")) == ("disabled", "active")
    assert task_extra(sim, "other").requeue_count == 1


def test_exit_5_terminate_gives_the_reason_taskfailed(start):
    sim = start(a_job(tasks=[a_task("bad", 10, 1), a_task("other", 100)], **PERFORM), pool=a_pool(nodes=2))
    run_to_end(sim)
    assert (job_state(sim), sim.world.jobs.find("j").terminate_reason) == ("completed", "TaskFailed")
    assert task_extra(sim, "other").failure.code == "TaskEnded"


def test_exit_5_none_lets_the_job_go_on(start):
    sim = start(a_job(tasks=[a_task("bad", 10, 1, **with_default(jobAction="none")), a_task("other")], **PERFORM))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "other")) == ("active", "completed")


def test_exit_5_only_after_the_last_retry(start):
    sim = start(a_job(tasks=[a_task("bad", 10, 1, constraints={"maxTaskRetryCount": 2})], **PERFORM))
    run_to(sim, seconds=READY_S + 30)
    assert job_state(sim) == "active"
    run_to_end(sim)
    assert (job_state(sim), task_extra(sim, "bad").retry_count) == ("completed", 2)


def test_exit_5_a_failure_before_the_process_terminates_too(start):
    sim = start(a_job(tasks=[a_task(simulate={"found": False})], **PERFORM))
    run_to_end(sim)
    assert sim.world.jobs.find("j").terminate_reason == "TaskFailed"


def test_exit_5_a_task_ended_by_the_user_counts_as_failed(start):
    sim = start(a_job(tasks=[a_task(), a_task("t2")], **PERFORM))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "terminateTask", jobId="j", taskId="t2")
    assert job_state(sim) == "terminating"


def test_exit_5_in_a_disabled_job_terminate_still_terminates(start):
    sim = start(a_job(tasks=[a_task(exit_code=1)], **PERFORM))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run_to_end(sim)
    assert (job_state(sim), sim.world.jobs.find("j").terminate_reason) == ("completed", "TaskFailed")


@pytest.mark.parametrize("more", [{}, {"usesTaskDependencies": True}])
def test_exit_2_an_action_for_exit_code_zero_is_performed(start, more):
    conditions = {"exitCodes": [{"code": 0, "exitOptions": {"jobAction": "terminate"}}]}
    sim = start(a_job(tasks=[a_task(exitConditions=conditions), a_task("t2")], **PERFORM, **more))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "t2")) == ("completed", "active")


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("disableJob", {"jobId": "j", "disableTasks": "terminate"}),
        ("disableNodeScheduling", {"poolId": "p", "node": 0, "nodeDisableSchedulingOption": "terminate"}),
        ("rebootNode", {"poolId": "p", "node": 0, "nodeRebootOption": "terminate"}),
    ],
)
def test_exit_5_the_end_of_one_task_may_end_the_others_of_the_same_command(start, command, fields):
    sim = start(a_job(tasks=3, **PERFORM), pool=a_pool(taskSlotsPerNode=3))
    run_to(sim, seconds=READY_S + 5)
    do(sim, command, **fields)
    assert [task_state(sim, f"t{number}") for number in (1, 2, 3)] == ["completed"] * 3
    run_to_end(sim)
    assert (job_state(sim), sim.world.jobs.find("j").terminate_reason) == ("completed", "TaskFailed")
