"""The figures of a history agree with those of the run that it was exported from, as far as it tells them."""

from __future__ import annotations

import json
from functools import cache

import pytest

from engine import Simulation, load_scenario
from engine.histories.history import read_history
from engine.studies.measures import compared, figures_of_run
from engine.studies.outcome import agreement, notable, report_card
from engine.studies.sides import observed, read_side
from engine.views import results
from tests.histories.dialects import DIALECTS, written

# Scenarios that delete nothing, and whose first job is created at their start.
SCENARIOS = [
    "job-prep-release-sample",
    "mpi-on-four-nodes",
    "preparation-fails-on-one-node",
    "priorities-and-fairness",
    "retries-and-exit-conditions",
    "retries-of-flaky-tasks",
    "spot-or-dedicated",
]
EXACT = (
    *("makespanSeconds", "totalTasks", "succeededTasks", "failedTasks", "failedPreparations", "failedReleases"),
    *("waitSecondsMedian", "waitSecondsP95", "runSecondsMedian", "runSecondsP95"),
)
HOOKS = ("preparationSeconds", "releaseSeconds")


@cache
def played(name):
    sim = Simulation(load_scenario(name), can_go_back=False)
    sim.run_until(sim.end_ms)
    sim.finish()
    return sim


@cache
def state_of(name):
    return json.dumps(results.document(played(name)))


def ran_once(sim):
    table = sim.world.instances
    return max(*table.prep_runs, *table.release_runs) <= 1


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_history_of_a_run_has_its_figures(name, dialect, tmp_path):
    written(json.loads(state_of(name)), tmp_path, dialect)
    side = read_side(str(tmp_path))
    assert side.is_observed
    rows = {row.what: row for row in compared(figures_of_run(played(name)), side.figures)}
    for what, row in rows.items():
        if what in EXACT or row.job_id is not None:
            assert row.a == row.b, row
        if what in HOOKS:  # the service tells the last run on each node
            assert row.a >= row.b, row
            assert row.a == row.b or not ran_once(played(name)), row
    assert rows["slotUtilization"].b is None


@pytest.mark.parametrize("name", ["job-prep-release-sample", "priorities-and-fairness", "retries-of-flaky-tasks"])
def test_node_hours_and_cost_follow_from_the_nodes(name, tmp_path):
    written(json.loads(state_of(name)), tmp_path, "rest")
    found = read_side(str(tmp_path))
    rows = {row.what: row for row in compared(figures_of_run(played(name)), found.figures)}
    for what in ("nodeHours", "costUsd"):
        assert rows[what].b == pytest.approx(rows[what].a, rel=0.02)
    assert any("Node hours and cost count each node" in note for note in found.notes)


def without(tmp_path, *names):
    """Return the sample's history in one folder, without some of its lists."""
    state = json.loads(state_of("job-prep-release-sample"))
    for pool in state["pools"]:
        pool.update({"nodes": []} if "nodes" in names else {})
    for job in state["jobs"]:
        job.update({"tasks": []} if "tasks" in names else {})
        job.update({"jobPreparationAndReleaseTaskStatus": []} if "status" in names else {})
    written(state, tmp_path, "rest")
    return observed(read_history([tmp_path]))


def test_without_nodes_cost_is_not_known(tmp_path):
    found = without(tmp_path, "nodes")
    assert found.figures.measures["nodeHours"] is None
    assert found.figures.measures["costUsd"] is None
    assert found.notes == ("There are no nodes in it (`az batch node list`): node hours and cost are not known.",)


def test_without_tasks_nothing_is_known_of_them(tmp_path):
    found = without(tmp_path, "tasks")
    unknown = {name for name, value in found.figures.measures.items() if value is None}
    assert {"totalTasks", "failedTasks", "makespanSeconds", "waitSecondsMedian", "runSecondsP95"} <= unknown
    assert found.figures.measures["preparationSeconds"] > 0
    assert any("az batch task list" in note for note in found.notes)


def test_without_the_status_of_hooks_nothing_is_known_of_them(tmp_path):
    found = without(tmp_path, "status")
    hooks = ("failedPreparations", "failedReleases", "preparationSeconds", "releaseSeconds")
    assert [found.figures.measures[name] for name in hooks] == [None] * 4
    assert sum("prep-release-status" in note for note in found.notes) == 1


def test_a_node_that_has_left_makes_hours_unknown(tmp_path):
    state = json.loads(state_of("job-prep-release-sample"))
    state["pools"][0]["nodes"].pop()
    written(state, tmp_path, "rest")
    found = observed(read_history([tmp_path]))
    assert found.figures.measures["nodeHours"] is None
    assert any("Tasks ran on 1 node that the list of nodes lacks" in note for note in found.notes)


def test_times_count_from_the_creation_of_the_first_job(tmp_path):
    name = "nightly-schedule-overruns"
    written(json.loads(state_of(name)), tmp_path, "rest")
    run, history = figures_of_run(played(name)), read_side(str(tmp_path)).figures
    state = json.loads(state_of(name))
    created = min(job["creationTime"] for job in state["jobs"])
    assert created > state["startTime"]
    shifts = {run.job_ends[job] - end for job, end in history.job_ends.items() if end is not None}
    assert len(shifts) == 1
    assert shifts.pop() > 0


def test_the_largest_errors_of_a_prediction_are_named(tmp_path):
    written(json.loads(state_of("job-prep-release-sample")), tmp_path, "rest")
    seen = read_side(str(tmp_path))
    measures = dict(seen.figures.measures) | {"waitSecondsMedian": 2 * seen.figures.measures["waitSecondsMedian"]}
    measures["makespanSeconds"] = 0.75 * seen.figures.measures["makespanSeconds"]
    measures["failedTasks"] = 2
    guess = seen._replace(given="guess", is_observed=False, figures=seen.figures._replace(measures=measures))
    for sides in ((guess, seen), (seen, guess)):
        head, *said = report_card(*sides, compared(sides[0].figures, sides[1].figures))
        assert head == "Predicted against observed, the largest errors:"
        assert said[0] == "1. tasks failed: predicted 2, observed 0."
        assert said[1].startswith("2. waiting, median: predicted ")
        assert said[1].endswith(", 100.0 % too high.")
        assert said[2].endswith(", 25.0 % too low.")
    assert not list(report_card(seen, seen, compared(seen.figures, seen.figures)))
    (same,) = report_card(seen, guess, compared(seen.figures, seen.figures))
    assert "agrees with the history" in same


def test_differences_that_nobody_sees_are_not_named(tmp_path):
    written(json.loads(state_of("job-prep-release-sample")), tmp_path, "rest")
    seen = read_side(str(tmp_path))
    near = dict(seen.figures.measures) | {"waitSecondsP95": seen.figures.measures["waitSecondsP95"] * 1.0001}
    rows = compared(seen.figures, seen.figures._replace(measures=near))
    assert agreement(rows) == "No difference is larger than 0.05 %."
    assert not notable(rows)
    assert agreement(compared(seen.figures, seen.figures)) == "There is no difference."
    far = seen.figures._replace(measures=dict(near) | {"failedTasks": 1})
    assert agreement(compared(seen.figures, far)) == ""
