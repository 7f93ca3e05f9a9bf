"""Chapters 13 and 14: files that a task uploads when it is done (TASK-8), and what fails with them (RETRY-10)."""

from __future__ import annotations

import pytest

from tests.builders import (
    READY_S,
    a_job,
    a_pool,
    a_shell,
    a_task,
    events,
    file,
    refusal,
    run_to_end,
    task_extra,
    task_state,
)


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
