"""A resource that is looked up alone has the body that it has in the document."""

from __future__ import annotations

import json

import pytest

from engine import Simulation, load_scenario
from engine.views.rest import lookup
from engine.views.results import document
from tests.builders import READY_S, a_job, do, run_to, simulation

SCENARIOS = ["release-fails", "mpi-in-trouble", "spot-evictions", "job-schedules-by-hand", "pipeline-with-dependencies"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_thing_reads_as_in_the_document(name):
    sim = Simulation(load_scenario(name))
    sim.run_until(400_000)
    whole = json.loads(json.dumps(document(sim)))
    found = 0

    def compare(one, other):
        nonlocal found
        found += 1
        left_out = ("stats", "nodes", "formerNodes", "tasks", "jobPreparationAndReleaseTaskStatus")
        assert json.loads(json.dumps(one)) == {key: value for key, value in other.items() if key not in left_out}

    for pool in whole["pools"]:
        compare(lookup.wire(sim, "pool", pool["id"]), pool)
        rows = sim.world.pools.find(pool["id"]).nodes
        rows = sorted(rows, key=lambda row: sim.world.nodes.state_of(row) is None)
        for row, node in zip(rows, [*pool["nodes"], *pool["formerNodes"]], strict=True):
            compare(lookup.wire(sim, "node", row), node)
    for job in whole["jobs"]:
        compare(lookup.wire(sim, "job", job["id"]), job)
        number = sim.world.jobs.find(job["id"]).row
        for task in job["tasks"]:
            row = sim.world.tasks.find(number, task["id"])
            compare(lookup.wire(sim, "task", row), task)
            assert lookup.task_settings(sim, row)["constraints"] == task["constraints"]
        nodes = {sim.world.nodes[row].id: row for row in range(sim.world.nodes.length)}
        for entry in job.get("jobPreparationAndReleaseTaskStatus", ()):
            compare(lookup.hook_wire(sim, job["id"], nodes[entry["nodeId"]]), entry)
    for schedule in whole["jobSchedules"]:
        compare(lookup.wire(sim, "job schedule", schedule["id"]), schedule)
    assert found > 3


def test_an_entry_of_the_log_reads_as_its_line():
    sim = simulation(a_job(tasks=3))
    run_to(sim, seconds=READY_S + 5)
    lines = [json.loads(each) for each in sim.json_lines()]
    for index in range(len(sim.log)):
        assert lookup.event_wire(sim, index) == lines[sim.log.seq_of(index) - 1]


def test_what_is_not_there_is_none():
    sim = simulation(a_job())
    run_to(sim, seconds=READY_S + 5)
    do(sim, "deleteTask", jobId="j", taskId="t1")
    assert lookup.wire(sim, "task", 0) is None
    assert lookup.hook_wire(sim, "j", 0) is None
    assert [lookup.wire(sim, kind, "nothing") for kind in ("pool", "job", "job schedule")] == [None] * 3
