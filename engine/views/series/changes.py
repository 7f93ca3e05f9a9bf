"""The changes of tasks and nodes in a part of the log, counted for each job and pool at once."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from enum import IntEnum
from itertools import compress
from typing import TYPE_CHECKING

from engine.base.node_states import COMING_UP
from engine.base.terms import NodeState, TaskResult, TaskState
from engine.events.log import LogSubject
from engine.views.log.reader import kinds_of, tally, where
from engine.views.log.tasks_by_job import block_of_all

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from engine import Simulation
    from engine.events.log import Shape


class Measure(IntEnum):
    """A number that changes over time. The first ones belong to a job, those from ``NODES_RUNNING`` on to a pool."""

    WAITING = 0  # tasks in state active
    PREPARING = 1  # tasks
    RUNNING = 2  # tasks
    SLOTS = 3  # that the running tasks take
    SUCCEEDED = 4  # tasks so far
    FAILED = 5  # tasks so far
    NODES_RUNNING = 6
    NODES_IDLE = 7
    NODES_STARTING = 8
    NODES_DOWN = 9  # in any other state: offline, failed, preempted, deallocated, leaving


_FEW_PROFILES = 32
ALL = -1  # as a row: all jobs, or all pools

# By measure and row of the job or pool, and by measure and ``ALL``.
Changes = dict[tuple[Measure, int], int]
_Effect = tuple[tuple[Measure, int], ...]

_NODE_MEASURES = {NodeState.RUNNING: Measure.NODES_RUNNING, NodeState.IDLE: Measure.NODES_IDLE} | dict.fromkeys(
    COMING_UP, Measure.NODES_STARTING
)
_TASK_MEASURES = {
    TaskState.ACTIVE: (Measure.WAITING,),
    TaskState.PREPARING: (Measure.PREPARING,),
    TaskState.RUNNING: (Measure.RUNNING, Measure.SLOTS),
    TaskState.COMPLETED: (),
}


def kind_of_node(state: NodeState) -> Measure:
    """Return the measure that counts nodes in this state."""
    return _NODE_MEASURES.get(state, Measure.NODES_DOWN)


class ChangeCounter:
    """Counts the changes in parts of the log of one run."""

    def __init__(self, simulation: Simulation) -> None:
        """Know no shape and no node yet."""
        self._simulation = simulation
        self._effects: list[_Effect] = []  # by shape
        self._is_task: list[bool] = []
        self._is_node: list[bool] = []
        self._added: set[int] = set()  # shapes of blocks of new tasks
        self._pools = array("i")  # by node
        self.pool_of_job: dict[int, int] = {}  # the pool in which its first counted task started, by job

    def forget_rows(self) -> None:
        """Forget which pools nodes and jobs belong to: after a branch others may have their rows."""
        del self._pools[:]
        self.pool_of_job.clear()

    def count(self, start: int, stop: int) -> Changes:
        """Return the changes in the entries from number ``start`` to before ``stop``, without those that cancel out."""
        log, world = self._simulation.log, self._simulation.world
        self._learn(log.shapes)
        found: defaultdict[tuple[Measure, int], int] = defaultdict(int)
        shapes = log.shape_of[start:stop]
        counts = tally(shapes, len(self._effects))
        if tasks := {shape: times for shape, times in counts.items() if self._is_task[shape]}:
            for (shape, number), times in self._by_profile(tasks, shapes, log.row_a[start:stop]).items():
                profile = world.tasks.profiles[number]
                _add(found, self._effects[shape], profile.job, times, profile.required_slots)
            self._learn_pools(found, start, stop)
        if nodes := {shape: times for shape, times in counts.items() if self._is_node[shape]}:
            for (shape, pool), times in self._by_pool(nodes, shapes, log.row_b[start:stop]).items():
                _add(found, self._effects[shape], pool, times)
        if not self._added.isdisjoint(counts):
            for at in (at for at, shape in enumerate(shapes, start) if shape in self._added):
                found[Measure.WAITING, world.tasks.block_of(log.row_a[at]).job] += log.row_b[at]
        for (measure, _), change in tuple(found.items()):
            found[measure, ALL] += change
        return {key: change for key, change in found.items() if change}

    def _by_profile(
        self, counts: Mapping[int, int], shapes: array[int], rows: array[int]
    ) -> Mapping[tuple[int, int], int]:
        """Return how often each of the tasks' shapes, which have these ``counts``, occurs with each profile."""
        tasks = self._simulation.world.tasks
        if len(tasks.profiles) == 1:
            return _all_with(0, counts)
        flags = kinds_of(self._is_task, shapes)
        only = self._only_profile(rows, flags)
        if only is not None:  # nearly always; counting pairs takes ten times as long
            return _all_with(only, counts)
        profiles = map(tasks.profile.__getitem__, compress(rows, flags))
        return Counter(zip(compress(shapes, flags), profiles, strict=True))

    def _only_profile(self, rows: array[int], flags: bytes) -> int | None:
        """Return the only profile that the flagged ones of these tasks can have; None if they may have several.

        Tasks that were added together belong to one job, which most often has one profile.
        """
        tasks = self._simulation.world.tasks
        if len(tasks.profiles) > _FEW_PROFILES:
            return None
        block = block_of_all(tasks, rows, flags)
        if block is None:
            changed = list(compress(rows, flags))
            block = tasks.block_of(min(changed))
            if max(changed) >= block.rows.stop:
                return None
        found = [number for number, profile in enumerate(tasks.profiles) if profile.job == block.job]
        return found[0] if len(found) == 1 else None

    def _learn_pools(self, found: Changes, start: int, stop: int) -> None:
        """Note the pools of jobs whose tasks started for the first time in this part of the log."""
        log, world = self._simulation.log, self._simulation.world
        new = {job for measure, job in found if measure is Measure.RUNNING and job not in self.pool_of_job}
        for at in where([_starts(effect) for effect in self._effects], log.shape_of[start:stop], start) if new else ():
            job, node = world.tasks.profile_of(log.row_a[at]).job, log.row_b[at]
            if job in new and node >= 0:
                self.pool_of_job[job] = world.nodes[node].pool
                new.discard(job)
            if not new:
                break

    def _by_pool(
        self, counts: Mapping[int, int], shapes: array[int], rows: Sequence[int]
    ) -> Mapping[tuple[int, int], int]:
        """Return how often each of the nodes' shapes, which have these ``counts``, occurs with nodes of each pool."""
        nodes = self._simulation.world.nodes
        if len(self._simulation.world.pools) == 1:
            return _all_with(0, counts)
        flags = kinds_of(self._is_node, shapes)
        self._pools.extend(nodes[node].pool for node in range(len(self._pools), len(nodes.state)))
        pools = map(self._pools.__getitem__, compress(rows, flags))
        return Counter(zip(compress(shapes, flags), pools, strict=True))

    def _learn(self, shapes: Sequence[Shape]) -> None:
        for shape in shapes[len(self._effects) :]:
            is_task = shape.subject is LogSubject.TASK and shape.event == "TaskStateChanged"
            self._is_task.append(is_task)
            self._is_node.append(shape.event == "NodeStateChanged")
            if shape.subject is LogSubject.TASKS_ADDED:
                self._added.add(len(self._effects))
            self._effects.append(_effect(shape, is_task=is_task))


def _all_with(number: int, counts: Mapping[int, int]) -> dict[tuple[int, int], int]:
    """Return how often each shape occurs with a profile or pool, if it never does with another one."""
    return {(shape, number): times for shape, times in counts.items()}


def _starts(effect: _Effect) -> bool:
    return (Measure.RUNNING, 1) in effect


def _add(found: Changes, effect: _Effect, row: int, times: int, slots: int = 1) -> None:
    for measure, change in effect:
        found[measure, row] += change * times * (slots if measure is Measure.SLOTS else 1)


def _effect(shape: Shape, *, is_task: bool) -> _Effect:
    """Return the change of each measure that an entry of this shape stands for; blocks of tasks are counted apart."""
    fields: Mapping[str, Hashable] = dict(shape.fields)
    old, new = fields.get("from"), fields.get("to")
    if shape.event == "NodeStateChanged":
        left: Iterable[Measure] = (kind_of_node(old),) if isinstance(old, NodeState) else ()
        entered: Iterable[Measure] = (kind_of_node(new),) if isinstance(new, NodeState) else ()
    elif is_task:
        left = _TASK_MEASURES[old] if isinstance(old, TaskState) else ()
        entered = _TASK_MEASURES[new] if isinstance(new, TaskState) else ()
    else:
        return ()
    change = Counter(entered)
    change.subtract(left)
    if is_task and new is TaskState.COMPLETED:
        change[Measure.FAILED if fields.get("result") is TaskResult.FAILURE else Measure.SUCCEEDED] += 1
    return tuple((measure, by) for measure, by in change.items() if by)
