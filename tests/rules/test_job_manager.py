"""Job manager tasks (chapter 10) and auto pools (chapter 19)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from engine import Simulation, load_scenario
from engine.views.results import document

GUID = "[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}"
_READY = {"nodes": {"allocation": "PT10S", "starting": "PT10S", "ready": "PT10S"}}


def _run(
    job: dict[str, Any],
    *more: dict[str, Any],
    nodes: int = 2,
    slots: int = 1,
    timeline: list[dict[str, Any]] | None = None,
    **pool: Any,
) -> Simulation:
    body = {
        "scenario": "manager",
        "simulate": _READY,
        "pools": [
            {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": nodes, "taskSlotsPerNode": slots, **pool}
        ],
        "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, **job}, *more],
        "timeline": timeline or [],
    }
    simulation = Simulation(load_scenario("manager.yaml", text=json.dumps(body)))
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    return simulation


def _events(simulation: Simulation, event: str, **fields: Any) -> list[dict[str, Any]]:
    lines = map(json.loads, simulation.json_lines())
    return [line for line in lines if line["event"] == event and fields.items() <= line.items()]


def _manager(**more: Any) -> dict[str, Any]:
    return {"id": "boss", "commandLine": "manage", "simulate": {"duration": "PT1M"}, **more}


def _tasks(count: int, seconds: int = 30) -> list[dict[str, Any]]:
    return [{"id": f"t{n}", "commandLine": "work", "simulate": {"duration": f"PT{seconds}S"}} for n in range(count)]


def test_jm_2_it_is_listed_with_the_tasks_and_starts_before_them() -> None:
    simulation = _run({"jobManagerTask": _manager(killJobOnCompletion=False), "tasks": _tasks(3)}, nodes=1)
    started = [line["taskId"] for line in _events(simulation, "TaskStateChanged", to="running")]
    assert started == ["boss", "t0", "t1", "t2"]
    assert document(simulation)["jobs"][0]["tasks"][0]["id"] == "boss"


def test_jm_4_the_job_ends_with_it_and_running_tasks_are_killed() -> None:
    simulation = _run({"jobManagerTask": _manager(), "tasks": _tasks(2, seconds=600)})
    (end,) = _events(simulation, "JobStateChanged", to="completed")
    assert end["reason"] == "JMComplete"
    (killed,) = _events(simulation, "TaskStateChanged", taskId="t0", to="completed")
    assert killed["failureInfo"]["code"] == "TaskEnded"


def test_jm_4_a_final_failure_ends_the_job_too() -> None:
    simulation = _run({"jobManagerTask": _manager(simulate={"duration": "PT5S", "exitCode": 3})})
    assert _events(simulation, "JobStateChanged", to="completed")[0]["reason"] == "JMComplete"


@pytest.mark.parametrize("option", ["wait", "terminate"])
def test_jm_4_also_while_the_job_is_being_disabled(option: str) -> None:
    disable = {"at": 60, "disableJob": {"jobId": "j", "disableTasks": option}}
    simulation = _run({"jobManagerTask": _manager()}, timeline=[disable])
    (end,) = _events(simulation, "JobStateChanged", to="completed")
    assert end["reason"] == "JMComplete"


def test_jm_4_a_job_that_waits_to_be_enabled_ends_when_its_manager_is_terminated() -> None:
    timeline = [
        {"at": 60, "disableJob": {"jobId": "j", "disableTasks": "requeue"}},
        {"at": 90, "terminateTask": {"jobId": "j", "taskId": "boss"}},
    ]
    simulation = _run({"jobManagerTask": _manager()}, timeline=timeline)
    (end,) = _events(simulation, "JobStateChanged", to="completed")
    assert end["reason"] == "JMComplete"


def test_jm_5_exclusive_by_default_it_shares_its_node_with_nobody() -> None:
    shared = _run({"jobManagerTask": _manager(runExclusive=False), "tasks": _tasks(1)}, nodes=1, slots=2)
    alone = _run({"jobManagerTask": _manager(killJobOnCompletion=False), "tasks": _tasks(1)}, nodes=1, slots=2)
    ends = [
        (
            _events(simulation, "TaskStateChanged", taskId="boss", to="completed")[0]["t"],
            _events(simulation, "TaskStateChanged", taskId="t0", to="running")[0]["t"],
        )
        for simulation in (shared, alone)
    ]
    assert ends[0][1] < ends[0][0]
    assert ends[1][1] >= ends[1][0]


def test_jm_5_it_is_alone_on_its_node_while_it_prepares_too() -> None:
    job = {
        "jobPreparationTask": {"commandLine": "prep", "simulate": {"duration": "PT5M"}},
        "jobManagerTask": _manager(killJobOnCompletion=False),
    }
    other = {"id": "k", "at": 120, "poolInfo": {"poolId": "p"}, "tasks": _tasks(1)}
    simulation = _run(job, other, nodes=1, slots=2)
    (managed,) = _events(simulation, "TaskStateChanged", taskId="boss", to="completed")
    (started,) = _events(simulation, "TaskStateChanged", taskId="t0", to="running")
    assert started["t"] == managed["t"]


def test_jm_5_when_it_could_not_start_its_node_is_open_to_others_again() -> None:
    job = {
        "jobPreparationTask": {"commandLine": "prep", "simulate": {"duration": "PT5M", "exitCode": 1}},
        "jobManagerTask": _manager(killJobOnCompletion=False),
    }
    other = {"id": "k", "at": 120, "poolInfo": {"poolId": "p"}, "tasks": _tasks(1)}
    simulation = _run(job, other, nodes=1, slots=2)
    (failed,) = _events(simulation, "JobPreparationTaskStateChanged", to="completed")
    (started,) = _events(simulation, "TaskStateChanged", taskId="t0", to="running")
    assert started["t"] == failed["t"]


def test_jm_5_once_it_has_its_node_those_behind_it_take_the_room_that_was_too_small_for_it() -> None:
    busy = [
        {"id": f"b{n}", "commandLine": "work", "simulate": {"duration": seconds}}
        for n, seconds in enumerate((60, 99, 600, 99))
    ]
    other = {"id": "k", "poolInfo": {"poolId": "p"}, "tasks": busy}
    job = {"at": 60, "jobManagerTask": _manager(killJobOnCompletion=False), "tasks": _tasks(1)}
    simulation = _run(job, other, nodes=2, slots=2)
    (managed,) = _events(simulation, "TaskStateChanged", taskId="boss", to="running")
    (started,) = _events(simulation, "TaskStateChanged", taskId="t0", to="running")
    assert started["t"] == managed["t"]
    assert started["nodeId"] != managed["nodeId"]


def test_jm_6_restarted_without_an_idle_node_it_stops_another_task_of_its_job() -> None:
    manager = _manager(
        killJobOnCompletion=False,
        constraints={"maxTaskRetryCount": 1},
        simulate={"duration": "PT20S", "attempts": [{"exitCode": 1}]},
    )
    # The timeline takes the manager's own node away while the other one is busy.
    body = {
        "scenario": "manager",
        "simulate": _READY,
        "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 2}],
        "jobs": [
            {"id": "j", "poolInfo": {"poolId": "p"}, "jobManagerTask": manager, "tasks": _tasks(4, seconds=300)},
        ],
        "timeline": [{"at": "PT40S", "failNode": {"poolId": "p", "node": 0, "code": "DiskFull"}}],
    }
    simulation = Simulation(load_scenario("manager.yaml", text=json.dumps(body)))
    simulation.run_until(simulation.end_ms)
    displaced = _events(simulation, "TaskStateChanged", to="active", rule="JM-7")
    assert [line["taskId"] for line in displaced] == ["t0"]
    (task,) = [task for task in document(simulation)["jobs"][0]["tasks"] if task["id"] == "t0"]
    assert task["executionInfo"]["requeueCount"] == 0
    assert task["executionInfo"]["retryCount"] == 0


def test_jm_7_it_never_displaces_a_task_of_a_job_of_higher_priority() -> None:
    manager = _manager(
        constraints={"maxTaskRetryCount": 1}, simulate={"duration": "PT20S", "attempts": [{"exitCode": 1}]}
    )
    other = {
        "id": "above",
        "at": 45,
        "priority": 10,
        "poolInfo": {"poolId": "p"},
        "tasks": _tasks(2, seconds=120),
    }
    simulation = _run({"jobManagerTask": manager}, other, nodes=1)
    assert not _events(simulation, "TaskStateChanged", to="active", rule="JM-7")
    assert _events(simulation, "TaskStateChanged", taskId="boss", to="running")[1]["t"] > 250


def test_jm_9_preparation_runs_on_its_node_first() -> None:
    prep = {"commandLine": "prep", "simulate": {"duration": "PT7S"}}
    simulation = _run({"jobManagerTask": _manager(), "jobPreparationTask": prep}, nodes=1)
    (prepared,) = _events(simulation, "JobPreparationTaskStateChanged", to="completed")
    (started,) = _events(simulation, "TaskStateChanged", taskId="boss", to="running")
    assert started["t"] == prepared["t"]
    assert started["seq"] > prepared["seq"]


def test_jm_8_its_node_goes_last_when_the_pool_shrinks() -> None:
    resize = {"at": "PT45S", "resizePool": {"poolId": "p", "targetDedicatedNodes": 1}}
    body = {
        "scenario": "manager",
        "simulate": _READY,
        "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 3}],
        "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "jobManagerTask": _manager(), "tasks": _tasks(2, 300)}],
        "timeline": [resize],
    }
    simulation = Simulation(load_scenario("manager.yaml", text=json.dumps(body)))
    simulation.run_until(simulation.end_ms)
    (begun,) = _events(simulation, "TaskStateChanged", taskId="boss", to="running")
    (ended,) = _events(simulation, "TaskStateChanged", taskId="boss", to="completed")
    assert ended["nodeId"] == begun["nodeId"]
    left = {line["nodeId"] for line in _events(simulation, "NodeStateChanged", to="leavingpool")}
    assert len(left) == 2
    assert begun["nodeId"] not in left


def test_jm_10_it_counts_among_the_jobs_tasks_and_on_its_node() -> None:
    simulation = _run({"jobManagerTask": _manager(killJobOnCompletion=False), "tasks": _tasks(1)}, nodes=1)
    job = simulation.world.jobs[0]
    assert (job.total, job.counts) == (2, [0, 0, 0, 2])
    assert list(simulation.world.nodes.ran) == [2]


def test_spot_6_it_may_insist_on_a_dedicated_node() -> None:
    # Spot nodes are first in the list, for the dedicated one comes later.
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 0, "targetLowPriorityNodes": 1}
    body = {
        "scenario": "manager",
        "simulate": _READY,
        "pools": [pool],
        "jobs": [
            {"id": "j", "poolInfo": {"poolId": "p"}, "jobManagerTask": _manager(allowLowPriorityNode=False)},
            {"id": "k", "poolInfo": {"poolId": "p"}, "jobManagerTask": _manager()},
        ],
        "timeline": [{"at": "PT5M", "resizePool": {"poolId": "p", "targetDedicatedNodes": 1}}],
    }
    simulation = Simulation(load_scenario("manager.yaml", text=json.dumps(body)))
    simulation.run_until(simulation.end_ms)
    started = _events(simulation, "TaskStateChanged", taskId="boss", to="running")
    assert [(line["jobId"], line["t"] > 300) for line in started] == [("k", False), ("j", True)]
    assert [line["nodeId"][-2:] for line in started] == ["_p", "_d"]


def _auto(**more: Any) -> dict[str, Any]:
    pool = {"vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    auto = {"autoPoolIdPrefix": "night", "poolLifetimeOption": "job", "pool": pool, **more}
    return {"id": "a", "poolInfo": {"autoPoolSpecification": auto}, "onAllTasksComplete": "terminatejob"}


def test_auto_3_the_pool_comes_with_the_job_and_goes_after_its_end() -> None:
    simulation = _run({}, _auto() | {"tasks": _tasks(1)})
    (completed,) = _events(simulation, "JobStateChanged", jobId="a", to="completed")
    made, _, gone = [line for line in _events(simulation, "PoolStateChanged") if line["poolId"] != "p"]
    assert made["poolId"].startswith("night_")
    assert gone["to"] is None
    assert gone["t"] > completed["t"]


def test_auto_3_keep_alive_keeps_the_pool() -> None:
    simulation = _run({}, _auto(keepAlive=True) | {"tasks": _tasks(1)})
    assert len(document(simulation)["pools"]) == 2


def test_auto_4_without_quota_for_the_pool_the_job_is_over_at_once() -> None:
    body = {
        "scenario": "quota",
        "account": {"quotas": {"pools": 1}},
        "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 0}],
        "jobs": [_auto()],
    }
    simulation = Simulation(load_scenario("quota.yaml", text=json.dumps(body)))
    simulation.run_until(simulation.end_ms)
    (job,) = document(simulation)["jobs"]
    assert job["state"] == "completed"
    assert job["executionInfo"]["schedulingError"] == {
        "category": "UserError",
        "code": "AutoPoolCreationFailedWithQuotaReached",
        "message": "The auto pool could not be created: a quota has been reached.",
    }


def test_auto_4_a_pool_without_targets_is_taken_and_stays_empty() -> None:
    job = _auto(pool={"vmSize": "standard_d2_v2", "cloudServiceConfiguration": {"osFamily": "5"}})
    simulation = _run({}, job | {"tasks": _tasks(1)})
    pools = {pool["id"]: pool for pool in document(simulation)["pools"]}
    (auto,) = (pool for pool_id, pool in pools.items() if pool_id != "p")
    assert auto["targetDedicatedNodes"] == 0
    assert document(simulation)["jobs"][1]["state"] == "active"


def test_auto_5_the_job_says_which_pool_it_has() -> None:
    simulation = _run({}, _auto(keepAlive=True) | {"tasks": _tasks(1)})
    jobs = {job["id"]: job for job in document(simulation)["jobs"]}
    assert re.fullmatch(rf"night_{GUID}", jobs["a"]["executionInfo"]["poolId"])


def test_auto_5_without_a_prefix_the_id_is_the_guid_alone() -> None:
    simulation = _run({}, _auto(keepAlive=True, autoPoolIdPrefix=None) | {"tasks": _tasks(1)})
    (auto,) = (pool["id"] for pool in document(simulation)["pools"] if pool["id"] != "p")
    assert re.fullmatch(GUID, auto)
