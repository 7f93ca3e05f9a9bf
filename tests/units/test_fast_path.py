"""Large runs, in which the fast paths handle many entries together; random runs are too small for that."""

from __future__ import annotations

import json
from functools import partial
from unittest import mock

import pytest

from engine import Simulation, load_scenario
from engine.base.calendar import Due, DueKind
from engine.rules import fast_path
from engine.rules.scheduling import run_pass
from engine.state.instances import InstanceTable
from engine.state.nodes import NodeTable
from engine.world import World
from tests.bench.workloads import Workload
from tests.builders import play_one_by_one
from tests.invariants import check

WORKLOADS = [
    Workload("plain", 1_500, 15, 4),
    Workload("prepared", 1_500, 15, 4, prepared=True),
    Workload("retried", 1_500, 15, 4, prepared=True, retried=True),
    Workload("in turns", 1_500, 15, 4, jobs=5, prepared=True, retried=True),
    Workload("priorities", 1_500, 15, 4, jobs=30, priorities=True),
    Workload("prepared by priority", 1_500, 15, 4, jobs=10, prepared=True, priorities=True),
    Workload("managed", 1_500, 15, 4, managed=True),
    Workload("uploads", 1_000, 10, 4, uploads=True),
]
LATER = json.loads(Workload("later", 300, 30, 4).scenario())["jobs"][0]
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
        {"at": "PT15M", "createJob": LATER | {"id": "later"}},
        {"at": "PT30M", "updateJob": {"jobId": "job-0", "priority": -5}},
        {"at": "PT40M", "terminateJob": {"jobId": "job-0"}},
    ],
    "another pool": [
        {"createPool": {"id": "other", "vmSize": "standard_d1_v2", "targetDedicatedNodes": 10, "taskSlotsPerNode": 4}},
        {"createJob": LATER | {"id": "elsewhere", "poolInfo": {"poolId": "other"}}},
    ],
    "limits that change nothing": [
        {"updateTask": {"jobId": "job-0", "taskId": f"task-{number}", "constraints": {"maxWallClockTime": "P1D"}}}
        for number in range(1, 600, 3)
    ],
    "few at a time beside many": [
        {"createJob": LATER | {"id": "few", "maxParallelTasks": 5}},
        {"createJob": LATER | {"id": "waits"}},
        {"at": "PT20M", "disableJob": {"jobId": "waits", "disableTasks": "wait"}},
        {"at": "PT40M", "terminateJob": {"jobId": "few"}},
        {"at": "PT40M", "enableJob": {"jobId": "waits"}},
    ],
}
for name in ("another pool", "limits that change nothing", "few at a time beside many"):
    TIMELINES[name] = [{"at": "PT10M"} | entry for entry in TIMELINES[name]]


PREPARATION = {"commandLine": "fetch", "simulate": {"duration": 20}}
RELEASE = {"commandLine": "clean", "simulate": {"duration": 5}}
OF_ANY_LENGTH = {"simulate": {"duration": {"uniform": ["PT10S", "PT2M"]}}}
NO_RETRIES = {"constraints": {"maxTaskRetryCount": 0}}
FAILS = {"simulate": {"duration": 20, "exitCode": {0: 0.8, 1: 0.2}}}
JOBS = {
    "preparations of any length": {"jobPreparationTask": PREPARATION | OF_ANY_LENGTH},
    "preparations that fail once": {"jobPreparationTask": PREPARATION | FAILS},
    "preparations that fail for good": {"jobPreparationTask": PREPARATION | FAILS | NO_RETRIES},
    "preparations that all fail": {"jobPreparationTask": PREPARATION | {"simulate": {"exitCode": 1}} | NO_RETRIES},
    "preparations that take too long": {
        "jobPreparationTask": PREPARATION | {"constraints": {"maxWallClockTime": "PT5S"}}
    },
    "preparations that nobody waits for": {"jobPreparationTask": PREPARATION | {"waitForSuccess": False}},
    "no preparations": {"jobPreparationTask": None, "jobReleaseTask": None},
    "no releases": {"jobReleaseTask": None},
    "releases of any length": {"jobReleaseTask": RELEASE | OF_ANY_LENGTH},
    "releases that fail": {"jobReleaseTask": RELEASE | FAILS},
    "releases as short as the states of a job": {"jobReleaseTask": RELEASE | {"simulate": {"duration": 1}}},
    "releases that all fail": {"jobReleaseTask": RELEASE | {"simulate": {"duration": 5, "exitCode": 3}}},
    "few at a time": {"maxParallelTasks": 7},
}
DISTURBANCES = [
    {"at": "PT100S", "rebootNode": {"poolId": "bench", "node": 3}},
    {"at": "PT102S", "reimageNode": {"poolId": "bench", "node": 4}},
    {"at": "PT5M", "disableJob": {"jobId": "job-1", "disableTasks": "requeue"}},
    {"at": "PT7M", "rebootNode": {"poolId": "bench", "node": 5, "nodeRebootOption": "taskcompletion"}},
    {"at": "PT8M", "enableJob": {"jobId": "job-1"}},
    {"at": "PT9M", "deleteJob": {"jobId": "job-2"}},
    {"at": "PT12M", "terminateJob": {"jobId": "job-3"}},
    {"at": "PT12M", "terminateJob": {"jobId": "job-4"}},
    {"at": "PT12M3S", "rebootNode": {"poolId": "bench", "node": 6}},
    {"at": "PT13M", "terminateJob": {"jobId": "job-0", "force": True}},
]


def played(
    workload: Workload,
    timeline: list[object],
    entries: int,
    *,
    fast: bool,
    job: dict[str, object] | None = None,
    options: dict[str, object] | None = None,
) -> Simulation:
    document = json.loads(workload.scenario()) | {"timeline": timeline, "options": options or {}}
    document["account"]["quotas"]["dedicatedCores"] *= 2  # there may be another pool
    for one in document["jobs"]:
        changed = one | (job or {})
        one.clear()
        one.update({name: value for name, value in changed.items() if value is not None})
    simulation = Simulation(load_scenario(workload.name, text=json.dumps(document)))
    world = simulation.world
    if not fast:
        play_one_by_one(world)
    while simulation.advance(simulation.end_ms, entries):
        if fast and world.calendar.instant_is_over():
            check(world)
            check_copies(world)
    return simulation


def check_copies(world: World) -> None:
    """Check that a copy, for which only changed pages are copied, has what the columns have."""
    time_code = world.log.when.typecode.lower()
    empty = NodeTable(world.log, lambda *_: None, time_code), InstanceTable(world.log, time_code)
    for table, fresh in zip((world.nodes, world.instances), empty, strict=True):
        fresh.restore(table.copy())
        assert fresh.columns == [column[: table.length] for column in table.columns]


@pytest.mark.parametrize("timeline", TIMELINES)
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_large_run_has_the_same_log_however_ends_of_tasks_are_handled(workload, timeline):
    play = partial(played, workload, TIMELINES[timeline])
    ordinary = list(play(700, fast=False).json_lines())
    for entries in (97, 5_000):
        assert list(play(entries, fast=True).json_lines()) == ordinary


@pytest.mark.parametrize("slots", [3, 4])
def test_tasks_that_leave_a_slot_of_their_nodes_free_are_reported_however_they_are_handled(slots):
    workload = Workload("large", 1_000, 20, slots)
    factory = json.loads(workload.scenario())["jobs"][0]["taskFactory"]
    factory["repeatTask"]["requiredSlots"] = 2
    small = json.loads(Workload("small", 41, 20, slots).scenario())["jobs"][0] | {"id": "small", "priority": 100}
    play = partial(played, workload, [{"at": "PT10M", "createJob": small}], job={"taskFactory": factory})
    ordinary = list(play(700, fast=False).json_lines())
    assert any("TaskScheduleFail" in line for line in ordinary)
    for entries in (97, 5_000):
        assert list(play(entries, fast=True).json_lines()) == ordinary


@pytest.mark.parametrize("after", ["task", "preparation"])
@pytest.mark.parametrize("timeline", [[], DISTURBANCES], ids=["nothing", "disturbances"])
@pytest.mark.parametrize("job", JOBS)
def test_preparations_and_releases_leave_the_same_log_however_they_are_handled(job, timeline, after):
    workload = Workload("hooks", 1_000, 20, 4, jobs=5, prepared=True, retried=True)
    play = partial(played, workload, timeline, job=JOBS[job], options={"releaseAfter": after})
    ordinary = play(700, fast=False)
    lines = list(ordinary.json_lines())
    for entries in (13, 5_000):
        fast = play(entries, fast=True)
        assert list(fast.json_lines()) == lines
        assert fast.world.tasks.columns == ordinary.world.tasks.columns


def line_of_log(number: int, **properties: object) -> dict[str, object]:
    """Return a line of a timeline as of a cluster's log, which adds a task after so many seconds."""
    simulated = {"duration": 60 + number * 37 % 900, "exitCode": int(number % 13 == 5)}
    task = {"id": f"line-{number}", "commandLine": "job", "simulate": simulated, **properties}
    return {"at": number, "addTasks": {"jobId": "job-0", "tasks": [task]}}


@pytest.mark.parametrize("last_slots", [1, 2])
def test_tasks_that_are_added_one_by_one_leave_the_same_log_however_they_are_handled(last_slots):
    lines = [line_of_log(number, requiredSlots=last_slots if number % 50 > 40 else 1) for number in range(600)]
    limit = {"jobId": "job-0", "taskId": "line-300", "constraints": {"maxWallClockTime": "PT2M"}}
    end = {"jobId": "job-0", "taskId": "line-301"}
    timeline = [*lines, {"at": 601, "updateTask": limit}, {"at": 601, "terminateTask": end}]
    play = partial(played, Workload("a log", 400, 10, 4, prepared=True), timeline)
    ordinary = play(700, fast=False)
    for entries in (97, 5_000):
        fast = play(entries, fast=True)
        assert list(fast.json_lines()) == list(ordinary.json_lines())
        assert fast.world.tasks.columns == ordinary.world.tasks.columns


def test_tasks_that_are_added_one_by_one_wait_as_one_range_and_need_no_pass_while_no_node_has_room():
    document = json.loads(Workload("a log", 4, 1, 4).scenario())
    document["timeline"] = [line_of_log(number) for number in range(400, 500)]
    document["jobs"][0]["taskFactory"]["repeatTask"]["simulate"] = {"duration": "PT1H"}
    simulation = Simulation(load_scenario("log", text=json.dumps(document)))
    simulation.run_until(399_000)
    world, passes = simulation.world, []

    def count_pass(due: Due) -> None:
        passes.append(world.now_ms)
        run_pass(world, due)

    world.calendar.on(DueKind.PASS, count_pass)
    simulation.run_until(510_000)
    queue = world.jobs[0].ready[1]
    assert (queue.size, queue.end - queue.next, passes) == (100, 100, [])


def test_one_loop_follows_a_job_whose_tasks_fail_and_begin_again(monkeypatch):
    workload = Workload("retried", 2_000, 5, 4, prepared=True, retried=True)
    ordinary = played(workload, [], 700, fast=False)
    with monkeypatch.context() as patched:
        asked = mock.Mock(wraps=fast_path.next_queue)
        patched.setattr(fast_path, "next_queue", asked)
        fast = played(workload, [], 5_000, fast=True)
    assert list(fast.json_lines()) == list(ordinary.json_lines())
    assert fast.world.tasks.columns == ordinary.world.tasks.columns
    assert fast.world.nodes.columns == ordinary.world.nodes.columns
    assert asked.call_count < 60  # a hundred attempts fail


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
