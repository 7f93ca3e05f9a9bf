"""Large runs, in which the fast path handles many ends of tasks together; random runs are too small for that."""

from __future__ import annotations

import json
from functools import partial

import pytest

from engine import Simulation, load_scenario
from engine.rules.tasks import attempts
from tests.bench.workloads import Workload
from tests.invariants import check

WORKLOADS = [
    Workload("plain", 3_000, 30, 4),
    Workload("prepared", 3_000, 30, 4, prepared=True),
    Workload("retried", 3_000, 30, 4, prepared=True, retried=True),
    Workload("in turns", 3_000, 30, 4, jobs=5, prepared=True, retried=True),
    Workload("priorities", 3_000, 30, 4, jobs=30, priorities=True),
    Workload("prepared by priority", 3_000, 30, 4, jobs=10, prepared=True, priorities=True),
    Workload("managed", 3_000, 30, 4, managed=True),
    Workload("uploads", 1_000, 10, 4, uploads=True),
]
LATER = Workload("later", 300, 30, 4)
TIMELINES = {
    "nothing": [],
    "reboot": [{"at": "PT20M", "rebootNode": {"poolId": "bench", "node": 3}}],
    "closed node": [
        {
            "at": "PT20M",
            "disableNodeScheduling": {"poolId": "bench", "node": 3, "nodeDisableSchedulingOption": "taskcompletion"},
        },
        {"at": "PT50M", "enableNodeScheduling": {"poolId": "bench", "node": 3}},
    ],
    "another job": [
        {"at": "PT15M", "createJob": json.loads(LATER.scenario())["jobs"][0] | {"id": "later"}},
        {"at": "PT30M", "updateJob": {"jobId": "job-0", "priority": -5}},
        {"at": "PT40M", "terminateJob": {"jobId": "job-0"}},
    ],
}


def played(workload: Workload, timeline: list[object], entries: int, *, fast: bool) -> Simulation:
    document = json.loads(workload.scenario()) | {"timeline": timeline}
    simulation = Simulation(load_scenario(workload.name, text=json.dumps(document)))
    world = simulation.world
    if not fast:
        world.calendar.on_task_ends(lambda: attempts.task_ended(world, world.calendar.take()))
    while simulation.advance(simulation.end_ms, entries):
        if world.calendar.instant_is_over():
            check(world)
    return simulation


@pytest.mark.parametrize("timeline", TIMELINES)
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_large_run_has_the_same_log_however_ends_of_tasks_are_handled(workload, timeline):
    play = partial(played, workload, TIMELINES[timeline])
    ordinary = list(play(700, fast=False).json_lines())
    for entries in (97, 5_000):
        assert list(play(entries, fast=True).json_lines()) == ordinary


def test_a_large_run_goes_on_in_the_same_way_from_the_middle_of_it():
    workload = Workload("retried", 20_000, 50, 4, prepared=True, retried=True)
    simulation = played(workload, [], 5_000, fast=True)
    recorded = list(simulation.json_lines())
    for share in (7, 3, 5):
        simulation.seek(simulation.log.last_ms * share // 10)
        check(simulation.world)
        simulation.branch()
        simulation.run_until(simulation.end_ms)
        assert list(simulation.json_lines()) == recorded
