"""Remedies for concerns: commands that were given in a trial before they are offered.

A remedy is offered only if the service accepts it, and if the concern is over when the run has been played on with it,
which it is not without. Everything is undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import TaskResult
from engine.base.values import called
from engine.specs.commands import COMMANDS, ReactivateTask
from engine.state.tasks import COMPLETED
from engine.views.diagnosis.concerns import Kind, kind_of
from engine.views.diagnosis.model import Condition, moment, name_of, some

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine import Simulation
    from engine.specs.command import Command
    from engine.state.jobs import Job
    from engine.views.diagnosis.concerns import Attention
    from engine.views.diagnosis.model import Finding, Items
    from engine.world import World


MOST_ENTRIES = 5_000  # of the log, that are played
_SLICE = 256
_MOST_TRIED = 3  # for one concern


class Remedy(NamedTuple):
    """A command that ends a concern, as an entry of a timeline, and what it has done in the trial."""

    command: dict[str, object]
    says: str
    helps: bool | None


class _Course(NamedTuple):
    """The end of a run that was played on."""

    until_ms: int
    concerns: Sequence[Finding]
    succeeded: int  # tasks
    has_run: bool  # a task that was reactivated has succeeded


class Remedies:
    """The remedies for the concerns of one moment; what happens without them is played once."""

    def __init__(self, simulation: Simulation, attention: Attention) -> None:
        """Start at the present moment."""
        self._simulation = simulation
        self._attention = attention
        self._without: _Course | None = None

    def of(self, concern: Finding, items: Items) -> list[Remedy] | None:
        """Return the remedies for a concern about some of its items; None if nothing could be tried.

        Nothing can be tried where no time is left in the run, or while the past is shown.
        """
        simulation = self._simulation
        if simulation.is_past or simulation.now_ms >= simulation.end_ms:
            return None
        candidates = list(_candidates(simulation.world, concern, items))[:_MOST_TRIED]
        if not candidates:
            return None
        if self._without is None:
            self._without = self._course(None)
        without = self._without
        if without is None or not _is_there(without.concerns, concern, items):
            return []  # it passes by itself
        found = []
        for words, name, body in candidates:
            course = self._course(COMMANDS[name].from_wire(body))
            if course is not None and course.has_run and not _is_there(course.concerns, concern, items):
                more = course.succeeded - without.succeeded
                gain = f", and {some(more, 'more task')} succeed{'s' if more == 1 else ''}" if more > 0 else ""
                says = f"{words}: simulated until {moment(simulation.world, course.until_ms)}, it is over{gain}"
                found.append(Remedy({name: body}, says, helps=True))
        return found

    def _course(self, command: Command | None) -> _Course | None:
        """Play on, with a command or without; return None if the service refuses it. Everything is undone."""
        simulation = self._simulation
        with simulation.trial():
            if command is not None and any(simulation.submit_all([command])):
                return None
            last = len(simulation.log) + MOST_ENTRIES
            while len(simulation.log) < last and simulation.advance(simulation.end_ms, _SLICE):
                pass
            jobs = simulation.world.jobs.rows
            succeeded = sum(job.counts[COMPLETED] - job.failed + job.deleted.get(TaskResult.SUCCESS, 0) for job in jobs)
            concerns = [_settled(one) for one in self._attention.concerns()]
            has_run = not isinstance(command, ReactivateTask) or _has_succeeded(simulation.world, command)
            return _Course(min(simulation.now_ms, simulation.log.last_ms), concerns, succeeded, has_run)


def _has_succeeded(world: World, command: ReactivateTask) -> bool:
    job = world.jobs.find(command.job_id)
    task = None if job is None else world.tasks.find(job.row, command.task_id)
    return task is not None and world.tasks.result(task) is TaskResult.SUCCESS


def _settled(concern: Finding) -> Finding:
    """Return a concern whose tasks are known after the trial, too: they are read from the log."""
    return concern._replace(items=concern.items._replace(tasks=tuple(concern.items.tasks[:])))


def _is_there(concerns: Sequence[Finding], concern: Finding, items: Items) -> bool:
    """Return whether a concern of the same kind is about any of the items."""
    kind = kind_of(concern)
    same = (one.items for one in concerns if kind_of(one) is kind)
    if items.tasks:
        return any(items.tasks[0] in one.tasks for one in same)
    if items.nodes:
        return any(items.nodes[0] in one.nodes for one in same)
    if items.jobs:
        return any(items.jobs[0] in one.jobs for one in same)
    return any(items.pools[0] in one.pools for one in same) if items.pools else True


_Candidate = tuple[str, str, dict[str, object]]  # words, the name of the command, its body


def _candidates(world: World, concern: Finding, items: Items) -> Iterator[_Candidate]:
    """Yield commands that may end a concern, the mildest first."""
    kind = kind_of(concern)
    job = world.jobs.find(items.jobs[0]) if items.jobs else None
    if items.tasks and kind in _OF_TASK:
        yield _of_task(world, _OF_TASK[kind], items.tasks[0])
    elif kind in _OF_NODE:
        nodes = items.nodes or concern.items.nodes or _out_of_order(world, concern)
        yield from _of_node(world, nodes[0], _OF_NODE[kind]) if nodes else ()
    elif job is not None and kind in _OF_JOB:
        yield from _of_job(world, concern, job)
    elif concern.items.pools:
        yield from _of_pool(world, concern, concern.items.pools[0])


_OF_TASK = {
    Kind.TASK_FAILED: "reactivate",
    Kind.TASK_STOPPED: "reactivate",
    Kind.TAKES_LONG: "terminate",
    Kind.RETRIED_IN_VAIN: "terminate",
}
_REPAIRS = ("reboot", "reimage", "enable scheduling on")
_OF_NODE = {
    Kind.NODE_FAILS_TASKS: ("reimage", "disable scheduling on"),
    Kind.NODE_OUT_OF_SERVICE: ("enable scheduling on", "start"),
    Kind.NODE_OUT_OF_ORDER: _REPAIRS,
    Kind.NO_NODE_TAKES_TASKS: _REPAIRS,
    Kind.PREPARATION_FAILED: _REPAIRS,
    Kind.TAKES_LONG: _REPAIRS,
}
_OF_JOB = (Kind.JOB_DISABLED, Kind.JOB_WITHOUT_POOL, Kind.JOB_NEVER_ENDS, Kind.RELEASE_NEVER_RUNS)


def _of_job(world: World, concern: Finding, job: Job) -> Iterator[_Candidate]:
    match concern.condition:
        case Condition.JOB_DISABLED | Condition.JOB_STATE:
            yield f"enable {called('job', job.id)}", "enableJob", {"jobId": job.id}
        case Condition.JOB_POOL:
            gone = world.pools.latest(job.pool_id)
            if gone is not None and gone.state is None:
                yield f"create {called('pool', gone.id)} again", "createPool", gone.spec.written()
        case _:
            if concern.condition is Condition.DEPENDENCIES:
                yield from _parents(world, job.row)
            yield f"terminate {called('job', job.id)}", "terminateJob", {"jobId": job.id}


def _of_pool(world: World, concern: Finding, pool_id: str) -> Iterator[_Candidate]:
    match kind_of(concern):
        case Kind.POOL_WITHOUT_NODES | Kind.TOO_FEW_NODES | Kind.RESIZE_FAILED | Kind.SPOT_NODES_MISSING:
            yield from _resizes(world, concern)
        case Kind.FORMULA_FAILED:
            yield f"switch autoscale of {called('pool', pool_id)} off", "disablePoolAutoScale", {"poolId": pool_id}
        case Kind.IDLE_POOL:
            none: dict[str, object] = {"poolId": pool_id, "targetDedicatedNodes": 0, "targetLowPriorityNodes": 0}
            yield f"resize {called('pool', pool_id)} to 0 nodes", "resizePool", none
            yield f"delete {called('pool', pool_id)}", "deletePool", {"poolId": pool_id}


_OPERATIONS = {
    "reboot": "rebootNode",
    "reimage": "reimageNode",
    "start": "startNode",
    "enable scheduling on": "enableNodeScheduling",
    "disable scheduling on": "disableNodeScheduling",
}


def _of_node(world: World, node: int, operations: Sequence[str]) -> Iterator[_Candidate]:
    pool_id, position = world.pool_of(node).id, world.nodes[node].position
    for words in operations:
        yield (
            f"{words} {name_of(world, node)} of {called('pool', pool_id)}",
            _OPERATIONS[words],
            {"poolId": pool_id, "node": position},
        )


def _of_task(world: World, words: str, task: int) -> _Candidate:
    job_id, task_id = world.jobs[world.tasks.block_of(task).job].id, world.tasks.task_id(task)
    return (
        f"{words} {called('task', task_id)} of {called('job', job_id)}",
        f"{words}Task",
        {"jobId": job_id, "taskId": task_id},
    )


def _out_of_order(world: World, concern: Finding) -> list[int]:
    """Return the nodes of the pools of a concern that take no tasks."""
    pools = (world.pools.find(pool_id) for pool_id in concern.items.pools)
    nodes = (node for pool in pools if pool is not None for node in pool.nodes)
    return [node for node in nodes if world.nodes.state_of(node) is not None and not world.nodes.open[node]]


def _parents(world: World, job: int) -> Iterator[_Candidate]:
    """Yield the reactivation of the failed task for which the first waiting task waits."""
    book = world.dependencies.get(job)
    for task in book.waiting() if book is not None else ():
        wanted = world.tasks.spec(task).depends_on
        ids = book.unmet(wanted)[0] if book is not None and wanted is not None else []
        for row in (world.tasks.find(job, task_id) for task_id in ids):
            if row is not None and world.tasks.result(row) is TaskResult.FAILURE:
                yield _of_task(world, "reactivate", row)
                return


def _resizes(world: World, concern: Finding) -> Iterator[_Candidate]:
    """Yield resizes of the pool: to its target again, or to as many nodes as its tasks need."""
    pool = world.pools.find(concern.items.pools[0]) if concern.items.pools else None
    if pool is None or pool.scaling is not None:
        return
    job = world.jobs.find(concern.items.jobs[0]) if concern.items.jobs else None
    queues = job.queues_in_order() if job is not None else []
    needed = world.tasks.profile_of(queues[0][1].head()).instances if queues else 0
    nodes = max(pool.target_dedicated, needed, 0 if pool.target_spot else 1)
    body: dict[str, object] = {"poolId": pool.id, "targetDedicatedNodes": nodes}
    body |= {"targetLowPriorityNodes": pool.target_spot} if pool.target_spot else {}
    yield f"resize {called('pool', pool.id)} to {some(nodes + pool.target_spot, 'node')}", "resizePool", body
