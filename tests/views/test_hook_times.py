"""Times of preparations and releases read from recorded columns are those of the events, at every moment."""

from __future__ import annotations

import json

import pytest

from engine import Simulation, load_scenario
from engine.views.log.tally import hook_times, recorded_columns

SCENARIOS = [
    "delete-without-terminate",
    "every-way-to-end-a-job",
    "how-long-files-are-kept",
    "job-manager-is-restarted",
    "mpi-in-trouble",
    "pool-deleted-with-everything-in-it",
    "preparation-retries",
    "reboot-during-preparation",
    "reboot-during-release",
    "release-times-out",
    "repairing-nodes",
    "retries-and-exit-conditions",
    "spot-evictions",
    "terminate-then-delete",
]


def spent_ms(simulation, event):
    """The time of all runs that have ended, as the events tell it."""
    begun, spent = {}, 0
    for line in map(json.loads, simulation.json_lines()):
        if line["event"] == event:
            key, now_s = (line["jobId"], line["nodeId"]), line["t"]
            spent += now_s - begun.pop(key, now_s)
            if line["to"] == "running":
                begun[key] = now_s
    return round(spent * 1000)


@pytest.mark.parametrize("name", SCENARIOS)
def test_times_of_the_log_are_those_of_the_events(name):
    simulation = Simulation(load_scenario(name))
    simulation.run_until(simulation.end_ms)
    columns = recorded_columns(simulation)
    moments = sorted(set(columns.when))
    for when_ms in moments[:: -(-len(moments) // 40)] + moments[-1:]:
        simulation.seek(when_ms)
        found = hook_times(simulation.log, columns, len(simulation.log))
        assert found.preparation == spent_ms(simulation, "JobPreparationTaskStateChanged"), when_ms
        assert found.release == spent_ms(simulation, "JobReleaseTaskStateChanged"), when_ms
