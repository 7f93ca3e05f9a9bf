"""Strategies for commands and faults, sensible or not, and for what is tried out before them."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from engine.specs.command import Command
from engine.specs.commands import COMMANDS
from tests.properties import needs
from tests.properties.needs import Body, chance
from tests.properties.scenarios import (
    FORMULAS,
    MOST_JOBS,
    MOST_POOLS,
    MOST_TASKS,
    UNTIL_MS,
    machines,
    schedules,
    specifications,
    subnets,
    timings,
)

_DRAINS = ["requeue", "terminate", "taskcompletion"]
_WAITS_MS = st.sampled_from([1_000, 5_000, 30_000, 60_000, 200_000]) | st.integers(1, 600_000)
_FORESEEN_MS = st.sampled_from([0, 60_000, 3_600_000])
_KEPT = {"autoPoolSpecification": {"poolLifetimeOption": "job", "keepAlive": True}}

pool_ids = st.fixed_dictionaries({"poolId": st.integers(0, MOST_POOLS - 1).map("p{}".format)})
job_ids = st.fixed_dictionaries(
    {"jobId": st.sampled_from([*(f"j{number}" for number in range(MOST_JOBS)), "s0:job-1", "s0:job-2"])}
)
schedule_ids = st.fixed_dictionaries({"jobScheduleId": st.sampled_from(["s0", "s1"])})
node_indexes = st.integers(0, 7)
options = st.sampled_from([*_DRAINS, "retaineddata"])


def _with(known: st.SearchStrategy[Body], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Body]:
    """Draw the ids in ``known`` and the other fields of a body."""
    return st.tuples(known, st.fixed_dictionaries(fields)).map(lambda parts: parts[0] | parts[1])


nodes = _with(pool_ids, node=node_indexes)
_tasks = _with(job_ids, taskId=st.integers(0, MOST_TASKS - 1).map(str))
_users = _with(nodes, name=st.sampled_from(["ann", "eve"]))
_just = st.just
_forces = chance(0.2)

# The bodies of each operation; one that occurs twice is drawn twice as often.
_PATHS = st.sampled_from(["stdout.txt", "wd", "shared", "workitems", "startup/wd", "../x", ""])

BODIES: list[tuple[str, st.SearchStrategy[Body]]] = [
    ("rebootNode", _with(nodes, nodeRebootOption=options)),
    ("reimageNode", _with(nodes, nodeReimageOption=options)),
    ("deallocateNode", _with(nodes, nodeDeallocateOption=options)),
    ("startNode", nodes),
    ("disableNodeScheduling", _with(nodes, nodeDisableSchedulingOption=st.sampled_from(_DRAINS))),
    ("enableNodeScheduling", nodes),
    ("failNode", _with(nodes, **{"state": st.sampled_from(["unusable", "unknown"]), "for": _just("PT9M")})),
    ("failNode", _with(nodes, state=_just("unusable"))),
    ("evictNode", nodes),
    ("resizePool", _with(pool_ids, targetDedicatedNodes=st.integers(0, 6), nodeDeallocationOption=options)),
    ("resizePool", _with(pool_ids, targetDedicatedNodes=_just(3), targetLowPriorityNodes=st.integers(0, 2))),
    ("stopPoolResize", pool_ids),
    ("enablePoolAutoScale", _with(pool_ids, autoScaleFormula=FORMULAS)),
    ("evaluatePoolAutoScale", _with(pool_ids, autoScaleFormula=FORMULAS)),
    ("disablePoolAutoScale", pool_ids),
    ("removeNodes", _with(pool_ids, nodeList=node_indexes.map(lambda node: [node]), nodeDeallocationOption=options)),
    ("guestOSRelease", st.fixed_dictionaries({"osVersion": st.sampled_from(["5.20", "5.21", "6.4"])})),
    ("upgradePoolOS", _with(pool_ids, osVersion=st.sampled_from(["*", "5.20", "5.21"]))),
    ("updatePool", _with(pool_ids, networkConfiguration=st.fixed_dictionaries({"subnetId": subnets}))),
    ("updatePool", _with(pool_ids, applicationPackageReferences=needs.references.map(lambda one: [one]))),
    ("updatePool", _with(pool_ids, certificateReferences=st.lists(needs.certificates, max_size=1))),
    (
        "replacePoolProperties",
        _with(pool_ids, startTask=_just({"commandLine": "start", "simulate": {"duration": 30}})),
    ),
    ("capacity", st.fixed_dictionaries({"vmSize": _just("standard_d2s_v3"), "nodes": st.integers(0, 3)})),
    ("deletePool", pool_ids),
    (
        "createPool",
        pool_ids.map(lambda known: {"id": known["poolId"], "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 2}),
    ),
    (
        "createPool",
        _with(
            pool_ids.map(lambda known: {"id": known["poolId"]}),
            vmSize=st.sampled_from(["medium", "standard_d2s_v3"]),
            targetDedicatedNodes=st.integers(0, 2),
            virtualMachineConfiguration=machines,
            networkConfiguration=st.fixed_dictionaries({"subnetId": st.just("corp") | subnets}),
        ),
    ),
    ("createJob", st.tuples(job_ids, specifications()).map(lambda parts: {"id": parts[0]["jobId"]} | parts[1])),
    ("disableJob", _with(job_ids, disableTasks=st.sampled_from(["requeue", "terminate", "wait"]))),
    ("enableJob", job_ids),
    ("terminateJob", _with(job_ids, force=_forces)),
    ("deleteJob", _with(job_ids, force=_forces)),
    ("updateJob", _with(job_ids, maxParallelTasks=st.sampled_from([-1, 1, 5]))),
    ("updateJob", _with(job_ids, priority=st.integers(-5, 4))),
    ("updateJob", _with(job_ids, poolInfo=pool_ids | st.just(_KEPT))),
    (
        "addTasks",
        _with(
            job_ids,
            tasks=st.lists(st.sampled_from(["0", "20", "21", "22"]), min_size=1, max_size=3, unique=True).map(
                lambda ids: [{"id": task_id, "commandLine": "work"} for task_id in ids]
            ),
        ),
    ),
    (
        "updateTask",
        _with(_tasks, constraints=st.fixed_dictionaries({"maxTaskRetryCount": st.integers(0, 2)})),
    ),
    ("terminateTask", _tasks),
    ("reactivateTask", _tasks),
    ("deleteTask", _tasks),
    ("storageOutage", st.integers(1, 19).map(lambda minutes: {"for": f"PT{minutes}M"})),
    ("quota", needs.quotas),
    ("createApplicationPackage", needs.uploads),
    ("deleteApplicationPackage", needs.packages),
    ("updateApplication", needs.application_updates),
    ("addCertificate", needs.certificates),
    ("deleteCertificate", needs.certificates),
    ("cancelCertificateDeletion", needs.certificates),
    ("createNodeUser", _with(_users, password=_just("s"))),
    ("updateNodeUser", _with(_users, password=_just("s"))),
    ("deleteNodeUser", _users),
    ("uploadNodeLogs", _with(nodes, containerUrl=_just("https://a/logs"), startTime=_just("2026-01-05T08:00:00Z"))),
    ("deleteNodeFile", _with(nodes, filePath=_PATHS, recursive=_forces)),
    ("deleteTaskFile", _with(_tasks, filePath=_PATHS, recursive=_forces)),
    (
        "createJobSchedule",
        st.tuples(schedule_ids, schedules()).map(lambda parts: {"id": parts[0]["jobScheduleId"]} | parts[1]),
    ),
    ("updateJobSchedule", _with(schedule_ids, schedule=timings())),
    ("disableJobSchedule", schedule_ids),
    ("enableJobSchedule", schedule_ids),
    ("terminateJobSchedule", _with(schedule_ids, force=_forces)),
    ("deleteJobSchedule", _with(schedule_ids, force=_forces)),
]
assert {name for name, _ in BODIES} == set(COMMANDS), "a command that random runs do not give"


class Given(NamedTuple):
    """A command given by hand, so long after the one before."""

    after_ms: int
    name: str
    body: Body

    @property
    def command(self) -> Command:
        """The command as the simulation takes it."""
        return COMMANDS[self.name].from_wire(self.body)


class Trial(NamedTuple):
    """Commands tried out and taken back before a command is given, and a look back in time."""

    commands: tuple[Given, ...]
    ahead_ms: int
    back_ms: int | None  # where to look back to; None for not at all


_commands = st.one_of([st.tuples(st.just(name), bodies) for name, bodies in BODIES])
_given = st.builds(lambda after_ms, command: Given(after_ms, *command), _WAITS_MS, _commands)


@st.composite
def given_commands(draw: st.DrawFn, most: int) -> tuple[Given, ...]:
    """Draw nearly ``most`` commands; each of them can shrink to none by itself."""
    return tuple(draw(_given) for _ in range(most) if draw(chance(0.9)))


trials = st.builds(
    Trial, st.lists(_given, max_size=2).map(tuple), _FORESEEN_MS, st.none() | st.integers(0, UNTIL_MS - 1)
)
