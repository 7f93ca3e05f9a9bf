"""The status of preparation and release tasks: PREP-24 to PREP-26, REL-15."""

import pytest

from engine import BatchError, Simulation, load_scenario
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.model import Condition
from engine.views.hook_status import Hook, HookStatus
from engine.views.resources.instances import InstancePage
from engine.views.resources.jobs import JobsProgress, NodeCounts
from engine.views.rest.tasks import instance_on, prep_release_status
from engine.views.results import summary
from tests.builders import (
    READY_S,
    REBOOTED_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    do,
    job_state,
    node,
    node_row,
    run_to,
    run_to_end,
    simulation,
    some_tasks,
    wait_for,
)


def status(sim, job="j"):
    return list(prep_release_status(sim.world, sim.world.jobs.find(job)))


def preparations(sim):
    return [entry["jobPreparationTaskExecutionInfo"] for entry in status(sim)]


def prepared_job(tasks=1, prep=None, **more):
    return a_job(tasks=tasks, prep=prep or a_line(10), release=a_line(5), onAllTasksComplete="terminatejob", **more)


def test_prep_24_a_success():
    sim = simulation(prepared_job())
    run_to_end(sim)
    [info] = preparations(sim)
    node_url = f"https://batchdeck.westeurope.batch.azure.com/pools/p/nodes/{node(sim).id}"
    assert info == {
        "startTime": "2026-01-05T08:00:50Z",
        "endTime": "2026-01-05T08:01:01Z",
        "state": "completed",
        "taskRootDirectory": "workitems/j/job-1/jobpreparation",
        "taskRootDirectoryUrl": f"{node_url}/files/workitems/j/job-1/jobpreparation",
        "exitCode": 0,
        "result": "success",
        "retryCount": 0,
    }


def test_prep_24_while_it_runs_nothing_is_said_of_its_end():
    sim = simulation(prepared_job())
    run_to(sim, seconds=READY_S + 5)
    [info] = preparations(sim)
    assert info["state"] == "running"
    assert not {"endTime", "exitCode", "result", "failureInfo", "lastRetryTime"} & set(info)


def test_prep_24_retries_and_the_failure_for_good():
    prep = a_line(10, exit_code=3) | {"constraints": {"maxTaskRetryCount": 2}}
    sim = simulation(prepared_job(prep=prep))
    run_to(sim, minutes=5)
    [info] = preparations(sim)
    assert (info["exitCode"], info["result"], info["retryCount"]) == (3, "failure", 2)
    assert info["failureInfo"]["code"] == "FailureExitCode"
    assert info["startTime"] == info["lastRetryTime"] == "2026-01-05T08:01:12Z"


def test_prep_24_no_exit_code_where_the_process_never_ran():
    prep = a_line(10, command="nothing-of-that-name", simulate={"found": False})
    sim = simulation(prepared_job(prep=prep))
    run_to(sim, minutes=5)
    [info] = preparations(sim)
    assert "exitCode" not in info
    assert info["failureInfo"]["code"] == "CommandProgramNotFound"


def test_prep_24_backslashes_on_windows_slashes_in_addresses():
    sku = {
        "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"}
    }
    windows = a_pool(virtualMachineConfiguration=sku | {"nodeAgentSKUId": "batch.node.windows amd64"})
    sim = simulation(prepared_job(), pool=windows)
    run_to_end(sim)
    [info] = preparations(sim)
    assert info["taskRootDirectory"] == r"workitems\j\job-1\jobpreparation"
    assert info["taskRootDirectoryUrl"].endswith("/files/workitems/j/job-1/jobpreparation")


def test_prep_25_one_entry_for_each_node_that_ran_it_nodes_that_are_gone_included():
    sim = simulation(prepared_job(tasks=some_tasks(3, seconds=600)), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S + 30)
    do(sim, "removeNodes", poolId="p", nodeList=[0], nodeDeallocationOption="requeue")
    run_to(sim, minutes=3)
    assert sim.world.nodes.state_of(node_row(sim, 0)) is None
    entries = status(sim)
    assert {entry["nodeId"] for entry in entries} == {node(sim, index).id for index in (0, 1, 2)}
    assert all(entry["nodeUrl"].endswith(entry["nodeId"]) for entry in entries)
    assert all("jobReleaseTaskExecutionInfo" not in entry for entry in entries)


def test_prep_25_sorted_by_first_start_then_by_node_even_when_a_reboot_makes_it_run_again():
    sim = simulation(prepared_job(tasks=some_tasks(40, seconds=100)), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S + 30)
    before = [entry["nodeId"] for entry in status(sim)]
    assert before == sorted(before)
    first = next(index for index in range(3) if node(sim, index).id == before[0])
    do(sim, "rebootNode", poolId="p", node=first)
    run_to(sim, seconds=READY_S + 30 + REBOOTED_S + 30)
    starts = [info["startTime"] for info in preparations(sim)]
    assert starts[0] > starts[1] == starts[2]
    assert [entry["nodeId"] for entry in status(sim)] == before


def test_prep_25_empty_before_the_first_task_and_refused_without_preparation():
    sim = simulation(prepared_job(), a_job("plain"))
    run_to(sim, seconds=READY_S - 1)
    assert status(sim) == []
    with pytest.raises(BatchError, match="JobPreparationTaskNotSpecified"):
        status(sim, "plain")


def test_rel_15_the_release_has_no_retry_count():
    sim = simulation(prepared_job())
    run_to_end(sim)
    [entry] = status(sim)
    info = entry["jobReleaseTaskExecutionInfo"]
    assert info["taskRootDirectory"] == "workitems/j/job-1/jobrelease"
    assert (info["state"], info["exitCode"], info["result"]) == ("completed", 0, "success")
    assert "retryCount" not in info


def test_rel_15_only_where_it_ran():
    sim = simulation(a_job(prep=a_shell("true"), release=a_line(5)))
    run_to(sim, minutes=5)
    [entry] = status(sim)
    assert "jobReleaseTaskExecutionInfo" not in entry


def test_prep_26_errors_of_direct_look_ups():
    sim = simulation(prepared_job(), a_job("plain"), pool=a_pool(nodes=2))
    wait_for(sim, lambda: job_state(sim) == "completed")
    world = sim.world
    job, plain = world.jobs.find("j"), world.jobs.find("plain")
    ran = next(index for index in (0, 1) if world.instances.row(job.row, node_row(sim, index)) >= 0)
    assert instance_on(world, job, node_row(sim, ran), is_release=False)["exitCode"] == 0
    assert instance_on(world, job, node_row(sim, ran), is_release=True)["exitCode"] == 0
    for is_release, of, index, code in (
        (False, job, 1 - ran, "JobPreparationTaskNotRunOnNode"),
        (True, job, 1 - ran, "JobReleaseTaskNotRunOnNode"),
        (False, plain, ran, "JobPreparationTaskNotSpecified"),
        (True, plain, ran, "JobReleaseTaskNotSpecified"),
    ):
        with pytest.raises(BatchError) as caught:
            instance_on(world, of, node_row(sim, index), is_release=is_release)
        assert caught.value.code == code


def test_a_preparation_that_was_stopped_with_its_job_counts_as_failed_nowhere():
    """It is none of the job's failures: the list, the strip and what needs attention agree (PREP-9, PREP-23)."""
    sim = Simulation(load_scenario("job-ends-while-preparing"))
    run_to_end(sim)
    counts = InstancePage(sim, "what-if", Hook.PREPARATION).counts()
    assert counts == {HookStatus.SUCCEEDED: 1, HookStatus.STOPPED: 1}
    progress = JobsProgress(sim).of("what-if")
    assert progress.preparation == NodeCounts(done=1, running=0, failed=0, total=1, stopped=1)
    assert not any(concern.condition is Condition.PREPARATION_FAILED for concern in Attention(sim).concerns())
    totals = summary(sim).jobs[0].preparations
    assert (totals.failed, totals.stopped) == (1, 1)  # the service calls it a failure
