"""Tasks as the service returns them: GEN-6, TASK-10, TASK-11, TASK-12."""

import json

import pytest

from engine.views.log.latest import TaskTransitions, last_transitions
from engine.views.rest.tasks import task_bodies_after, task_body
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    from_yaml,
    node,
    run_to,
    run_to_end,
    simulation,
    task_row,
)


def body(sim, task="t1"):
    row = task_row(sim, task)
    return task_body(sim.world, row, last_transitions(sim, row))


def bodies(sim, job="j"):
    found = sim.world.jobs.find(job)
    return [each for _, each in task_bodies_after(sim.world, found, TaskTransitions(sim.world).now(), -1)]


def test_gen_6_a_new_task_has_no_previous_state():
    sim = simulation(a_job())
    run_to(sim, seconds=10)
    new = body(sim)
    assert new["url"] == "https://batchdeck.westeurope.batch.azure.com/jobs/j/tasks/t1"
    assert new["creationTime"] == new["lastModified"] == new["stateTransitionTime"] == "2026-01-05T08:00:00Z"
    assert new["state"] == "active"
    assert new["executionInfo"] == {"retryCount": 0, "requeueCount": 0}
    assert not {"previousState", "previousStateTransitionTime", "nodeInfo"} & set(new)


def test_gen_6_task_10_task_11_a_task_that_succeeded():
    sim = simulation(a_job(tasks=[a_task(seconds=30)]))
    run_to_end(sim)
    done = body(sim)
    node_url = f"https://batchdeck.westeurope.batch.azure.com/pools/p/nodes/{node(sim).id}"
    assert (done["state"], done["stateTransitionTime"]) == ("completed", "2026-01-05T08:01:21Z")
    assert (done["previousState"], done["previousStateTransitionTime"]) == ("running", "2026-01-05T08:00:50Z")
    assert done["executionInfo"] == {
        "startTime": "2026-01-05T08:00:50Z",
        "endTime": "2026-01-05T08:01:21Z",
        "exitCode": 0,
        "retryCount": 0,
        "requeueCount": 0,
        "result": "success",
    }
    assert done["nodeInfo"] == {
        "affinityId": f"TVM:{node(sim).id}",
        "nodeUrl": node_url,
        "poolId": "p",
        "nodeId": node(sim).id,
        "taskRootDirectory": "workitems/j/job-1/t1",
        "taskRootDirectoryUrl": f"{node_url}/files/workitems/j/job-1/t1",
    }


def test_task_10_retries_and_failure():
    sim = simulation(a_job(tasks=[a_task(seconds=9, exit_code=2, constraints={"maxTaskRetryCount": 1})]))
    run_to_end(sim)
    info = body(sim)["executionInfo"]
    assert (info["exitCode"], info["result"], info["retryCount"]) == (2, "failure", 1)
    assert info["lastRetryTime"] == info["startTime"]
    assert info["failureInfo"] == {
        "category": "UserError",
        "code": "FailureExitCode",
        "message": "The task exited with an exit code representing a failure",
        "details": [
            {"name": "Message", "value": "The task process exited with an unexpected exit code"},
            {"name": "AdditionalErrorCode", "value": "FailureExitCode"},
        ],
    }


def test_retry_9_the_log_leaves_out_the_details_of_an_exit_code():
    sim = simulation(a_job(tasks=[a_task(seconds=9, exit_code=2)]))
    run_to_end(sim)
    (ended,) = (event for event in map(json.loads, sim.json_lines()) if event.get("exitCode") == 2)
    assert ended["failureInfo"].keys() == {"category", "code", "message"}


def test_task_10_a_requeued_task_has_neither_end_nor_exit_code():
    sim = simulation(a_job(tasks=[a_task(seconds=600)]))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", poolId="p", node=0, nodeRebootOption="requeue")
    again = body(sim)
    assert (again["state"], again["previousState"]) == ("active", "running")
    assert again["executionInfo"]["requeueCount"] == 1
    assert again["executionInfo"]["lastRequeueTime"] == again["stateTransitionTime"]
    assert not {"startTime", "endTime", "exitCode", "result"} & set(again["executionInfo"])


def test_task_13_a_task_ended_in_the_queue_has_neither_start_nor_node():
    sim = simulation(a_job())
    run_to(sim, seconds=10)
    do(sim, "terminateTask", jobId="j", taskId="t1")
    ended = body(sim)
    assert (ended["state"], ended["previousState"]) == ("completed", "active")
    assert ended["executionInfo"]["failureInfo"]["code"] == "TaskEnded"
    assert not {"startTime", "exitCode"} & set(ended["executionInfo"])
    assert "nodeInfo" not in ended


def test_task_11_a_task_that_prepares_has_its_node():
    sim = simulation(a_job(prep=a_line(30)))
    run_to(sim, seconds=READY_S + 10)
    preparing = body(sim)
    assert (preparing["state"], preparing["previousState"]) == ("preparing", "active")
    assert preparing["nodeInfo"]["nodeId"] == node(sim).id
    assert "startTime" not in preparing["executionInfo"]


def test_task_12_the_constraints_in_force_with_the_jobs_retries_where_the_task_has_none():
    sim = simulation(a_job(tasks=2, constraints={"maxTaskRetryCount": 4}))
    run_to(sim, seconds=10)
    do(sim, "updateTask", jobId="j", taskId="t2", constraints={"maxWallClockTime": "PT1H", "maxTaskRetryCount": 1})
    unlimited = "P10675199DT2H48M5.4775807S"
    assert body(sim, "t1")["constraints"] == {
        "maxWallClockTime": unlimited,
        "retentionTime": "P7D",
        "maxTaskRetryCount": 4,
    }
    assert body(sim, "t2")["constraints"] == {
        "maxWallClockTime": "PT1H",
        "retentionTime": "P7D",
        "maxTaskRetryCount": 1,
    }


def test_task_14_deleted_tasks_are_not_listed():
    sim = simulation(a_job(tasks=3))
    run_to(sim, seconds=10)
    do(sim, "deleteTask", jobId="j", taskId="t2")
    assert [one["id"] for one in bodies(sim)] == ["t1", "t3"]


SWEEP = {
    "type": "parametricSweep",
    "parameterSets": [{"start": 1, "end": 3}, {"start": 7, "end": 8}],
}


@pytest.mark.parametrize(
    "fixed", [{}, {"displayName": "deal {0}"}, {"environmentSettings": [{"name": "N", "value": "{1}"}]}]
)
def test_task_2_a_sweeps_bodies_are_those_of_its_tasks_one_by_one(fixed):
    factory = SWEEP | {"repeatTask": {"id": "d{0}-{1}", "commandLine": "price {0} {1}", "requiredSlots": 2} | fixed}
    job = a_job(tasks=[]) | {"taskFactory": factory}
    sim = from_yaml(json.dumps({"scenario": "t", "pools": [a_pool(taskSlotsPerNode=2)], "jobs": [job]}))
    run_to_end(sim)
    made = bodies(sim)
    assert [one["commandLine"] for one in made] == [f"price {a} {b}" for a in (1, 2, 3) for b in (7, 8)]
    block = sim.world.tasks.blocks[0]
    for ordinal, one in enumerate(made):
        settings = block.source.spec(ordinal).wire()
        del settings["constraints"]
        assert settings.items() <= one.items()
        assert one == task_body(sim.world, ordinal, last_transitions(sim, ordinal))


def test_gen_6_last_moves_of_one_task_are_those_of_the_whole_history():
    flaky = [a_task(f"f{k}", seconds=20 + k, exit_code=1, constraints={"maxTaskRetryCount": 2}) for k in range(5)]
    sim = simulation(a_job(tasks=flaky, prep=a_line(10)), pool=a_pool(nodes=2, taskSlotsPerNode=2))
    for seconds in (10, READY_S + 5, READY_S + 20, 100, 150, 400):
        run_to(sim, seconds=seconds)
        history = TaskTransitions(sim.world).now()
        for row in range(sim.world.tasks.length):
            assert history[row] == last_transitions(sim, row)
