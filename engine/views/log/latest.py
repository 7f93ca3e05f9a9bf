"""The last changes of tasks and nodes, read in one pass of the log or brought up to date when they are asked for.

They are the last transitions of all tasks or of one, the time at which each node became ready, and the tasks that
changed last on each node (NODE-6).
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import READY
from engine.base.log import LogSubject
from engine.base.terms import TaskState
from engine.state.tasks import ACTIVE, COMPLETED, GONE, RUNNING
from engine.views.log.histories import RECENT_TASKS, TASK_EVENTS, NodeHistory, RecentTask, TaskHistory, recent_task
from engine.views.log.reader import Cuts, is_event, matching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.log import EventLog, Shape
    from engine.run.simulation import Simulation
    from engine.world import World


_OTHER, _ADDED, _ADDED_ONE = -3, -2, -1  # entries that are no transition of a task
_STATES = tuple(TaskState)


class Transitions(NamedTuple):
    """The last two transitions of a task: since when it has its state, and its state before, with the same."""

    since_ms: int
    previous: TaskState | None = None
    previous_since_ms: int = 0


class TaskTransitions:
    """The last transitions of all tasks, and the time for which they have run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._cuts = Cuts(world.log)
        self._forget()

    def _forget(self) -> None:
        self._now = bytearray()
        self._since = array("q")
        self._previous = array("b")
        self._previous_since = array("q")
        self._ran = array("q")
        self._length = 0  # entries of the log that were read

    def now(self) -> TaskTransitions:
        """Return the transitions so far; only what the log has got since the last call is read."""
        log = self._world.log
        if min(len(log), self._cuts.kept(self._length)) < self._length:
            self._forget()
        new = self._world.tasks.length - len(self._now)
        self._now += bytes(new)
        self._previous.frombytes(b"\xff" * new)
        for column in (self._since, self._previous_since, self._ran):
            column.frombytes(bytes(8 * new))
        self._read(log)
        self._length = len(log)
        return self

    def _read(self, log: EventLog) -> None:
        now, since, ran = self._now, self._since, self._ran
        previous, previous_since = self._previous, self._previous_since
        kinds = [_kind(shape) for shape in log.shapes]
        columns = (column[self._length : len(log)] for column in (log.when, log.shape_of, log.row_a, log.row_b))
        for when_ms, shape, task, count in zip(*columns, strict=True):
            new = kinds[shape]
            if new >= ACTIVE:
                old = now[task]
                if old == RUNNING:
                    ran[task] += when_ms - since[task]
                previous[task], previous_since[task] = old, since[task]
                now[task], since[task] = new, when_ms
            elif new == _ADDED:
                since[task : task + count] = array("q", [when_ms]) * count
            elif new == _ADDED_ONE:
                since[task] = when_ms

    def __getitem__(self, task: int) -> Transitions:
        old = self._previous[task]
        return Transitions(self._since[task], _STATES[old] if old >= 0 else None, self._previous_since[task])

    def ran_ms(self, tasks: Sequence[int], now_ms: int) -> int:
        """Return how long the tasks have run, all attempts together."""
        running = [task for task in tasks if self._now[task] == RUNNING]
        ended_ms = sum(map(self._ran.__getitem__, tasks))
        return ended_ms + now_ms * len(running) - sum(map(self._since.__getitem__, running))


def plain_transitions(world: World, task: int) -> Transitions | None:
    """Return the last transitions of a task that waits for its first start or has succeeded in it; else None.

    They stand in the columns of tasks, so that no log is read.
    """
    tasks = world.tasks
    state = tasks.state[task]
    if tasks.sparse_of(task) is not None:
        return None
    if state == ACTIVE and tasks.start_entry[task] < 0:
        return Transitions(tasks.block_of(task).created_ms)
    if state == COMPLETED:
        return Transitions(tasks.ended[task], TaskState.RUNNING, tasks.started[task])
    return None


def last_transitions(simulation: Simulation, task: int) -> Transitions:
    """Return the last transitions of one task; most tasks need no look into the log."""
    plain = plain_transitions(simulation.world, task)
    if plain is not None:
        return plain
    *before, last = TaskHistory(simulation, task).steps()
    return Transitions(last.when_ms, before[-1].state, before[-1].when_ms) if before else Transitions(last.when_ms)


def ready_ms(world: World, now_ms: int) -> dict[int, int]:
    """Return how long each node has been idle or running, in ms."""
    log = world.log
    since: dict[int, int] = {}
    total: dict[int, int] = {}
    for at in matching(log, is_event("NodeStateChanged")):
        node, when_ms = log.row_b[at], log.when[at]
        if dict(log.shapes[log.shape_of[at]].fields)["to"] in READY:
            since.setdefault(node, when_ms)
        elif node in since:
            total[node] = total.get(node, 0) + when_ms - since.pop(node)
    for node, begun_ms in since.items():
        total[node] = total.get(node, 0) + now_ms - begun_ms
    return total


def _kind(shape: Shape) -> int:
    """Return the state that a task is in after an entry of this shape, or what else the entry is."""
    if shape.event != "TaskStateChanged":
        return _OTHER
    if shape.subject is LogSubject.TASKS_ADDED:
        return _ADDED
    fields = dict(shape.fields)
    if fields["from"] is None:
        return _ADDED_ONE
    new = fields["to"]
    return int(new) if isinstance(new, TaskState) else GONE


class LatestTasks:
    """The last tasks on all nodes of a simulation at its present moment."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._cuts = Cuts(simulation.log)
        self._read = 0
        self._found: dict[int, dict[int, RecentTask]] = {}  # by node and task, the newest last

    def on(self, node: int) -> Sequence[RecentTask]:
        """Return the tasks that changed last on a node, newest first, at most ten; deleted ones are left out.

        Only what the log has got since the last call is read, unless one of the tasks has been deleted.
        """
        self._update()
        found = list(reversed(self._found.get(node, {}).values()))
        states = self._simulation.world.tasks.state
        if any(states[recent.task] == GONE for recent in found):
            found = NodeHistory(self._simulation, node).recent_tasks()
            self._found[node] = {recent.task: recent for recent in reversed(found)}
        return found

    def _update(self) -> None:
        log, world = self._simulation.log, self._simulation.world
        if min(len(log), self._cuts.kept(self._read)) < self._read:
            self._read, self._found = 0, {}
        for at in matching(log, is_event(*TASK_EVENTS), self._read, len(log)):
            recent = recent_task(world, at)
            if recent is None:
                continue
            latest = self._found.setdefault(log.row_b[at], {})
            latest.pop(recent.task, None)
            latest[recent.task] = recent
            if len(latest) > RECENT_TASKS:
                del latest[next(iter(latest))]
        self._read = len(log)
