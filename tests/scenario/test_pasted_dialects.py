"""Tests of bodies that the service has returned, as the clients print them: az of today and before, and Python."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.base.errors import ScenarioError
from engine.scenario.load import load
from tests.histories.dialects import DIALECTS, older_az, python, state_of

NAMES = (
    "shared-pool-two-jobs",
    "preparation-retries",
    "mpi-on-four-nodes",
    "retries-of-flaky-tasks",
    "pool-from-an-arm-template",
)
ACCOUNT = {"applications": [{"id": "pricer", "versions": ["1.2"], "defaultVersion": "1.2"}]}
POOL = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}


def scenario(**parts: Any) -> Any:
    return load("pasted.yaml", text=json.dumps({"scenario": "pasted", "account": ACCOUNT, **parts}, indent=1))


def own(body: dict[str, Any], *lists: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in lists}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
def test_gen_21_returned_bodies_mean_the_same_in_every_dialect(name, dialect):
    state, change = state_of(load(name)), DIALECTS[dialect]
    pools = [own(pool, "nodes", "formerNodes") for pool in state["pools"]]
    jobs = [own(job, "tasks", "jobPreparationAndReleaseTaskStatus") for job in state["jobs"]]
    plain = scenario(pools=pools, jobs=jobs)
    tasks = [{"at": 60, "addTasks": {"jobId": job["id"], "value": change(job["tasks"])}} for job in state["jobs"]]
    again = scenario(pools=change(pools), jobs=change(jobs), timeline=tasks)
    assert [entry.spec for entry in again.pools] == [entry.spec for entry in plain.pools]
    assert [entry.spec for entry in again.jobs] == [entry.spec for entry in plain.jobs]
    assert [[task.id for task in entry.command.tasks] for entry in again.timeline] == [
        [task["id"] for task in job["tasks"]] for job in state["jobs"]
    ]
    returned = [warning for warning in again.warnings if "only the service writes" in warning.message]
    assert len(returned) == len(pools) + len(jobs) + sum(len(job["tasks"]) for job in state["jobs"])


@pytest.mark.parametrize("change", [python, older_az])
def test_gen_21_a_body_that_was_never_sent_may_be_written_as_a_client_prints_it(change):
    body = {
        "id": "j",
        "poolInfo": {"poolId": "p"},
        "jobPreparationTask": {"commandLine": "fetch", "constraints": {"maxWallClockTime": "PT1H"}},
        "commonEnvironmentSettings": [{"name": "some_name", "value": "a_b"}],
    }
    loaded = scenario(pools=[POOL], jobs=[change(body)])
    assert loaded.jobs[0].spec.wire() == scenario(pools=[POOL], jobs=[body]).jobs[0].spec.wire()
    assert not loaded.warnings


def test_gen_21_a_mistake_in_snake_case_stands_where_it_was_made():
    job = {"id": "j", "pool_info": {"pool_id": "p"}, "max_paralel_tasks": 3, "priority": "high"}
    with pytest.raises(ScenarioError) as caught:
        scenario(pools=[POOL], jobs=[job])
    assert [(problem.path, problem.line) for problem in caught.value.problems] == [
        ("jobs[0].max_paralel_tasks", 27),
        ("jobs[0].priority", 28),
    ]


def test_gen_21_a_name_in_both_spellings_is_a_mistake():
    with pytest.raises(ScenarioError, match="'pool_info' is another name of a property that is already given here"):
        scenario(pools=[POOL], jobs=[{"id": "j", "poolInfo": {"poolId": "p"}, "pool_info": {"pool_id": "p"}}])
