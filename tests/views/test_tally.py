"""Tallies of a log agree with the report, and of what nodes cost at any moment."""

from __future__ import annotations

import json

import pytest

from engine import Simulation, load_scenario
from engine.views import results
from engine.views.log.tally import (
    LogColumns,
    Measure,
    all_job_ids,
    node_use,
    tally,
)
from engine.views.results import summary


def finished(name="preparation-fails-on-one-node", *commands):
    simulation = Simulation(load_scenario(name))
    for command in commands:
        simulation.run_until(200_000)
        simulation.submit(command)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    return simulation


def columns(simulation):
    log = simulation.log
    return LogColumns(log.when, log.shape_of, log.row_a, log.row_b)


def test_what_a_whole_log_comes_to():
    simulation = finished()
    counts, completed_ms = tally(simulation, columns(simulation))
    assert {measure.value: number for measure, number in counts.items() if number} == {
        "tasks succeeded": 7,
        "task starts": 7,
        "preparation runs": 3,
        "preparations failed": 1,
        "release runs": 1,
        "nodes added": 2,
        "jobs created": 2,
        "pools created": 1,
    }
    assert completed_ms == {"quality-control": 244_000, "align": 490_000}


def _is(event, **fields):
    return lambda line: line["event"] == event and all(line.get(name) == value for name, value in fields.items())


_goes_back = _is("TaskStateChanged", **{"from": "running", "to": "active"})
EVENTS = {
    Measure.RETRIED: lambda line: _goes_back(line) and "exitCode" in line,
    Measure.REQUEUED: lambda line: _goes_back(line) and "exitCode" not in line,
    Measure.STARTED: _is("TaskStateChanged", to="running"),
    Measure.SUCCEEDED: _is("TaskStateChanged", to="completed", result="success"),
    Measure.TERMINATED: lambda line: line["event"] == "TaskStateChanged" and _code(line) == "TaskEnded",
    Measure.RELEASES: _is("JobReleaseTaskStateChanged", to="running"),
    Measure.START_TASKS: _is("StartTaskStateChanged", to="running"),
    Measure.NODES_LOST: lambda line: (
        line["event"] == "NodeStateChanged" and line["to"] in ("unusable", "unknown", "preempted")
    ),
    Measure.REBOOTS: _is("NodeStateChanged", to="rebooting"),
    Measure.REIMAGES: _is("NodeStateChanged", to="reimaging"),
    Measure.NODES_REMOVED: _is("NodeStateChanged", to=None),
}


def _code(line):
    return line.get("failureInfo", {}).get("code")


@pytest.mark.parametrize(
    "name",
    ["spot-evictions", "every-way-to-end-a-job", "reboot-after-preparation", "release-fails", "retries-of-flaky-tasks"],
)
def test_each_measure_counts_the_events_that_it_names(name):
    simulation = finished(name)
    lines = [json.loads(line) for line in simulation.json_lines()]
    counts = tally(simulation, columns(simulation)).counts
    for measure, is_one in EVENTS.items():
        assert counts[measure] == sum(map(is_one, lines)), measure


@pytest.mark.parametrize(
    "name", ["preparation-retries", "reboot-during-preparation", "reboot-during-release", "reimage-clears-the-bar"]
)
def test_preparations_and_releases_have_failed_as_the_report_counts_them(name):
    """One that a reboot has interrupted, or that has succeeded after a reimage, has failed only until it runs again."""
    whole = finished(name)
    then = Simulation(load_scenario(name))
    for until_ms in range(0, whole.now_ms + 10_000, 10_000):
        then.run_until(until_ms)
        report = results.run_totals(then)
        counts = tally(then, columns(then)).counts
        assert counts[Measure.PREPARATIONS_FAILED] == report["preparationTasks"]["failed"]
        assert counts[Measure.RELEASES_FAILED] == report["releaseTasks"]["failed"]


def test_parts_of_a_log_add_up():
    simulation = finished()
    whole, half = columns(simulation), len(simulation.log) // 2
    first, second = tally(simulation, whole, 0, half), tally(simulation, whole, half)
    for measure, number in tally(simulation, whole).counts.items():
        assert number == first.counts[measure] + second.counts[measure]


@pytest.mark.parametrize("name", ["preparation-fails-on-one-node", "spot-evictions", "a-day-of-autoscaling"])
@pytest.mark.parametrize("share", [0.2, 0.6, 1])
def test_the_use_of_nodes_is_that_of_the_report_at_every_moment(name, share):
    whole = finished(name)
    until_ms = round(whole.now_ms * share)
    use = node_use(whole)
    then = Simulation(load_scenario(name))
    then.run_until(until_ms)
    report = summary(then)
    assert use.cost(until_ms) == pytest.approx(report.cost)
    assert use.hours(until_ms) == pytest.approx(sum(pool.node_hours for pool in report.pools))


def test_a_log_names_the_jobs_of_the_run_that_wrote_it():
    whole = finished("shared-pool-two-jobs")
    assert all_job_ids(whole) == ("rates", "credit")
    named = tally(whole, columns(whole), jobs=("first", "second")).completed_ms
    assert set(named) <= {"first", "second"}
