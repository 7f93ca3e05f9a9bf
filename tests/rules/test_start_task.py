"""Chapter 8, start tasks: when they run, what waits for them, and how they fail; POOL-15 when they change."""

from __future__ import annotations

import pytest

from engine.base.terms import TaskResult
from engine.rules.decisions.verdicts import start_retry_verdict
from engine.specs.bodies import StartTask
from tests.builders import (
    READY_S,
    REBOOTED_S,
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
    run,
    run_to,
    run_to_end,
    start_task_events,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE

SECONDS = 21  # twenty, and one to start


def a_start(seconds=20, exit_code=0, **more):
    return a_line(seconds, exit_code, **more)


def with_start_task(start, body, *jobs, nodes=1, **scenario):
    return start(*jobs, pool=a_pool(nodes=nodes, startTask=body), **scenario)


# -- verdict ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "retries", "exit_code", "again"),
    [
        (0, 0, 1, False),
        (1, 0, 1, True),
        (1, 1, 1, False),
        (-1, 1000, 1, True),
        (5, 0, 0, False),
        (-1, 0, None, False),
    ],
)
def test_start_4_retry_verdict(limit, retries, exit_code, again):
    spec = StartTask(command_line="x", max_task_retry_count=limit)
    assert start_retry_verdict(spec, retries, exit_code) is again


# -- when it runs ----------------------------------------------------------------------------------------------------


def test_start_1_defaults():
    default = StartTask(command_line="x")
    assert (default.max_task_retry_count, default.wait_for_success) == (0, True)


def test_start_2_on_every_node_that_joins(start):
    sim = with_start_task(start, a_start(), nodes=2)
    run_to_end(sim)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=3)
    run_to_end(sim)
    ran = {event["nodeId"] for event in events(sim, "StartTaskStateChanged", to="completed")}
    assert ran == {node(sim, index).id for index in range(3)}


@pytest.mark.parametrize("operation", ["rebootNode", "reimageNode"])
def test_start_2_after_each_reboot_and_reimage(start, operation):
    sim = with_start_task(start, a_start())
    run_to_end(sim)
    for runs in (2, 3):
        do(sim, operation, **ON_NODE)
        run_to_end(sim)
        assert node(sim).start_runs == runs
        assert node_state(sim) == "idle"


def test_start_2_after_start_from_deallocated(start):
    sim = with_start_task(start, a_start())
    run_to_end(sim)
    do(sim, "deallocateNode", **ON_NODE)
    run_to_end(sim)
    assert node(sim).start_runs == 1
    do(sim, "startNode", **ON_NODE)
    run_to_end(sim)
    assert node(sim).start_runs == 2


def test_start_2_not_when_scheduling_is_enabled_again(start):
    sim = with_start_task(start, a_start())
    run_to_end(sim)
    do(sim, "disableNodeScheduling", **ON_NODE)
    do(sim, "enableNodeScheduling", **ON_NODE)
    run_to_end(sim)
    assert node(sim).start_runs == 1


def test_start_3_resource_files_are_fetched_before_the_command(start):
    body = a_start(resourceFiles=[{"httpUrl": "https://s/tool.zip", "filePath": "tool.zip"}])
    sim = with_start_task(start, body, simulate={"storage": {"https://s/*": {"size": "1 GB"}}})
    run_to_end(sim)
    (ended,) = times(sim, "StartTaskStateChanged", to="completed")
    assert ended == READY_S + SECONDS + 20  # a gigabyte at 50 MB/s


# -- waitForSuccess = true -------------------------------------------------------------------------------------------


def test_start_4_the_node_waits_for_exit_0(start):
    sim = with_start_task(start, a_start(), a_job())
    run_to(sim, seconds=READY_S + SECONDS - 1)
    assert (node_state(sim), task_state(sim)) == ("waitingforstarttask", "active")
    run(sim, seconds=1)
    assert (node_state(sim), task_state(sim)) == ("running", "running")


def test_start_4_retried_up_to_the_limit_then_failed(start):
    sim = with_start_task(start, a_start(exit_code=1, maxTaskRetryCount=2), a_job())
    run_to_end(sim)
    at = READY_S
    assert start_task_events(sim) == [
        (at, "running", 1),
        (at + SECONDS, "running", 2),
        (at + 2 * SECONDS, "running", 3),
        (at + 3 * SECONDS, "completed", 3),
    ]
    assert (node_state(sim), task_state(sim)) == ("starttaskfailed", "active")


def test_start_4_a_retry_may_succeed(start):
    body = a_start(maxTaskRetryCount=1, simulate={"attempts": [{"exitCode": 1}]})
    sim = with_start_task(start, body)
    run_to_end(sim)
    record = node(sim).start_task
    assert (node_state(sim), record.retry_count, record.exit_code, record.failure) == ("idle", 1, 0, None)


def test_start_4_unlimited_retries(start):
    body = a_start(maxTaskRetryCount=-1, simulate={"attempts": [{"exitCode": 1}] * 20})
    sim = with_start_task(start, body)
    run_to_end(sim)
    assert (node_state(sim), node(sim).start_runs) == ("idle", 21)


def test_start_4_a_download_error_fails_at_once(start):
    body = a_start(maxTaskRetryCount=5, resourceFiles=[{"httpUrl": "https://s/x", "filePath": "x"}])
    sim = with_start_task(start, body, simulate={"storage": {"https://s/*": {"missing": True}}})
    run_to_end(sim)
    record = node(sim).start_task
    assert (node_state(sim), node(sim).start_runs) == ("starttaskfailed", 1)
    assert (record.failure.code, record.exit_code, record.result) == ("BlobNotFound", None, TaskResult.FAILURE)


def test_start_4_a_program_that_is_not_there_fails_at_once(start):
    sim = with_start_task(start, a_start(maxTaskRetryCount=5, simulate={"found": False}))
    run_to_end(sim)
    assert node(sim).start_task.failure.code == "CommandProgramNotFound"
    assert node(sim).start_runs == 1


def test_start_4_a_storage_outage_fails_only_the_nodes_that_start_meanwhile(start):
    body = a_start(resourceFiles=[{"httpUrl": "https://s/x", "filePath": "x"}])
    sim = with_start_task(start, body, timeline=[{"at": "PT0S", "storageOutage": {"for": "PT2M"}}])
    run_to_end(sim)
    assert node(sim).start_task.failure.code == "BlobDownloadTimedOut"
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert node_state(sim) == "idle"


# -- waitForSuccess = false ------------------------------------------------------------------------------------------


def test_start_5_tasks_run_beside_it(start):
    sim = with_start_task(start, a_start(300, waitForSuccess=False), a_job())
    run_to(sim, seconds=READY_S + 10)
    assert (node_state(sim), task_state(sim)) == ("running", "running")
    assert node(sim).start_task.running


def test_start_5_its_failure_changes_nothing(start):
    sim = with_start_task(start, a_start(exit_code=1, waitForSuccess=False), a_job(tasks=2))
    run_to_end(sim)
    assert node(sim).start_task.result is TaskResult.FAILURE
    assert [task_state(sim, f"t{n}") for n in (1, 2)] == ["completed", "completed"]
    assert node_states(sim) == ["creating", "starting", "idle", "running", "idle"]


def test_start_5_it_is_retried_all_the_same(start):
    sim = with_start_task(start, a_start(exit_code=1, waitForSuccess=False, maxTaskRetryCount=2))
    run_to_end(sim)
    assert node(sim).start_task.retry_count == 2


def test_start_5_a_reboot_ends_it_and_runs_it_anew(start):
    sim = with_start_task(start, a_start(300, waitForSuccess=False))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    begun = READY_S + 10.001 + REBOOTED_S
    assert start_task_events(sim) == [
        (READY_S, "running", 1),
        (begun, "running", 2),
        (begun + 301, "completed", 2),
    ]


# -- failed ----------------------------------------------------------------------------------------------------------


def test_start_6_a_failed_node_gets_no_tasks_is_billed_and_stays(start):
    sim = with_start_task(start, a_start(exit_code=1), a_job())
    run_to(sim, minutes=60)
    assert (node_state(sim), task_state(sim)) == ("starttaskfailed", "active")
    assert sum(sim.world.pools[0].billed_ms_at(sim.now_ms)) == sim.now_ms - 10_000


@pytest.mark.parametrize("operation", ["rebootNode", "reimageNode"])
def test_start_6_until_reboot_or_reimage(start, operation):
    sim = with_start_task(start, a_start(simulate={"attempts": [{"exitCode": 1}]}), a_job())
    run_to(sim, minutes=5)
    do(sim, operation, **ON_NODE)
    run_to_end(sim)
    assert task_state(sim) == "completed"


def test_start_6_until_removal(start):
    sim = with_start_task(start, a_start(exit_code=1))
    run_to(sim, minutes=5)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to_end(sim)
    assert node_state(sim) is None


def test_start_12_the_failure_code_of_a_nonzero_exit(start):
    sim = with_start_task(start, a_start(exit_code=3))
    run_to_end(sim)
    (ended,) = events(sim, "StartTaskStateChanged", to="completed")
    assert (ended["exitCode"], ended["result"]) == (3, "failure")
    assert ended["failureInfo"]["code"] == "FailureExitCode"


# -- the record ------------------------------------------------------------------------------------------------------


def test_start_7_start_is_that_of_the_latest_attempt(start):
    body = a_start(maxTaskRetryCount=1, simulate={"attempts": [{"exitCode": 1}]})
    sim = with_start_task(start, body)
    run_to(sim, seconds=READY_S + SECONDS + 1)
    record = node(sim).start_task
    assert (record.running, record.exit_code, record.result) == (True, None, None)
    assert record.start_ms == record.last_retry_ms == (READY_S + SECONDS) * 1000


def test_start_8_each_boot_begins_a_new_record(start):
    body = a_start(maxTaskRetryCount=1, simulate={"attempts": [{"exitCode": 1}]})
    sim = with_start_task(start, body)
    run_to_end(sim)
    assert node(sim).start_task.retry_count == 1
    do(sim, "rebootNode", **ON_NODE)
    assert node(sim).start_task.result is TaskResult.SUCCESS
    run_to_end(sim)
    record = node(sim).start_task
    assert (record.retry_count, record.last_retry_ms, record.result) == (0, None, TaskResult.SUCCESS)


def test_start_9_a_rerun_makes_its_working_directory_anew(start):
    sim = with_start_task(start, a_shell("echo once >> log.txt && echo all >> $AZ_BATCH_NODE_SHARED_DIR/log.txt"))
    run_to_end(sim)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert file(sim, "startup/wd/log.txt") == "once\n"
    assert file(sim, "shared/log.txt") == "all\nall\n"  # FILE-8, FILE-9


def test_start_11_counts_for_nothing(start):
    sim = with_start_task(start, a_start(300, waitForSuccess=False))
    run_to(sim, seconds=READY_S + 10)
    assert node_state(sim) == "idle"
    assert sim.world.nodes.free[0] == 1
    run_to_end(sim)
    assert sim.world.nodes.ran[0] == 0


# -- changing it -----------------------------------------------------------------------------------------------------


def test_pool_15_nodes_that_are_there_keep_theirs_until_they_boot(start):
    sim = with_start_task(start, a_shell("echo old"), nodes=2)
    run_to(sim, minutes=2)
    do(sim, "updatePool", poolId="p", startTask=a_shell("echo new"))
    run(sim, minutes=2)
    assert file(sim, "startup/stdout.txt") == "old\n"
    assert node(sim).start_spec.command_line.endswith("'echo old'")
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert [file(sim, "startup/stdout.txt", index) for index in (0, 1)] == ["new\n", "old\n"]


def test_pool_15_nodes_that_join_have_the_new_one(start):
    sim = start(pool=a_pool())
    run_to(sim, minutes=2)
    do(sim, "updatePool", poolId="p", startTask=a_shell("echo new"))
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    run_to_end(sim)
    assert [file(sim, "startup/stdout.txt", index) for index in (0, 1)] == [None, "new\n"]


def test_pool_15_a_change_while_it_runs_waits_for_the_next_boot(start):
    sim = with_start_task(start, a_start(exit_code=1, maxTaskRetryCount=1))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "updatePool", poolId="p", startTask=a_start(5))
    run_to_end(sim)
    assert (node_state(sim), node(sim).start_runs) == ("starttaskfailed", 2)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert node_state(sim) == "idle"


def test_start_10_it_prepares_the_node_for_all_jobs(start):
    install = a_shell("echo 1.2 > $AZ_BATCH_NODE_SHARED_DIR/version")
    task = a_task() | a_shell("cat $AZ_BATCH_NODE_SHARED_DIR/version")
    sim = with_start_task(start, install, a_job(tasks=[task]), a_job("k", tasks=[task]))
    run_to_end(sim)
    assert [file(sim, f"workitems/{job}/job-1/t1/stdout.txt") for job in "jk"] == ["1.2\n", "1.2\n"]
