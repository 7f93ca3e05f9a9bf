"""Tallies of a log agree with the report, and find where two runs differ."""

from __future__ import annotations

import json
from array import array

import pytest

from engine import Simulation, load_scenario
from engine.specs.commands import RebootNode
from engine.views.log.tally import LogColumns, Measure, first_difference, tally


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
    }
    assert completed_ms == {"quality-control": 244_000, "align": 490_000}


def _is(event, **fields):
    return lambda line: line["event"] == event and all(line.get(name) == value for name, value in fields.items())


EVENTS = {
    Measure.REQUEUED: _is("TaskStateChanged", **{"from": "running", "to": "active"}),
    Measure.STARTED: _is("TaskStateChanged", to="running"),
    Measure.SUCCEEDED: _is("TaskStateChanged", to="completed", result="success"),
    Measure.TERMINATED: lambda line: line["event"] == "TaskStateChanged" and _code(line) == "TaskEnded",
    Measure.PREPARATIONS_FAILED: _is("JobPreparationTaskStateChanged", to="completed", result="failure"),
    Measure.RELEASES: _is("JobReleaseTaskStateChanged", to="running"),
    Measure.RELEASES_FAILED: _is("JobReleaseTaskStateChanged", to="completed", result="failure"),
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
    "name", ["spot-evictions", "every-way-to-end-a-job", "reboot-after-preparation", "release-fails"]
)
def test_each_measure_counts_the_events_that_it_names(name):
    simulation = finished(name)
    lines = [json.loads(line) for line in simulation.json_lines()]
    counts = tally(simulation, columns(simulation)).counts
    for measure, is_one in EVENTS.items():
        assert counts[measure] == sum(map(is_one, lines)), measure


def test_parts_of_a_log_add_up():
    simulation = finished()
    whole, half = columns(simulation), len(simulation.log) // 2
    first, second = tally(simulation, whole, 0, half), tally(simulation, whole, half)
    for measure, number in tally(simulation, whole).counts.items():
        assert number == first.counts[measure] + second.counts[measure]


def test_two_runs_part_at_the_first_entry_that_differs():
    one, other = finished(), finished("preparation-fails-on-one-node", RebootNode(pool_id="genomics", node=0))
    at = first_difference(columns(one), columns(other))
    assert at is not None
    assert list(one.json_lines())[:at] == list(other.json_lines())[:at]
    assert other.log.when[at] == 200_001
    assert first_difference(columns(one), columns(finished())) is None


@pytest.mark.parametrize("at", range(9))
def test_where_logs_part_is_found_wherever_it_is(at):
    one = LogColumns(*(array("i", range(9)) for _ in range(4)))
    changed = array("i", range(9))
    changed[at] = -1
    assert first_difference(one, one._replace(row_b=changed)) == at
