"""What only the log knows: each by one pass over it, for all tasks or nodes at once."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import NodeState, TaskState
from engine.events.log import LogSubject
from engine.state.tasks import ACTIVE, COMPLETED, GONE, RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.events.log import EventLog, Shape
    from engine.world.world import World

# NODE-6: so many tasks a node remembers.
RECENT_TASKS = 10

_OTHER, _ADDED, _ADDED_ONE = -3, -2, -1  # what an entry is that is no move of a task to a state
_READY = (NodeState.IDLE, NodeState.RUNNING)
_STATES = tuple(TaskState)


class Moves(NamedTuple):
    """The last moves of a task: in its state since when, and from which state, which it had entered when."""

    since_ms: int
    previous: TaskState | None = None
    previous_since_ms: int = 0


class TaskHistory:
    """The last moves of all tasks, and how long they have run."""

    def __init__(self, world: World) -> None:
        """Read the log once."""
        count = world.tasks.length
        self._now = bytearray(count)
        self._since = array("q", bytes(8 * count))
        self._previous = array("b", b"\xff" * count)
        self._previous_since = array("q", bytes(8 * count))
        self._ran = array("q", bytes(8 * count))
        self._read(world.log)

    def _read(self, log: EventLog) -> None:
        now, since, ran = self._now, self._since, self._ran
        previous, previous_since = self._previous, self._previous_since
        kinds = [_kind(shape) for shape in log.shapes]
        for when_ms, shape, task, count in zip(log.when, log.shape_of, log.row_a, log.row_b, strict=True):
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

    def __getitem__(self, task: int) -> Moves:
        old = self._previous[task]
        return Moves(self._since[task], _STATES[old] if old >= 0 else None, self._previous_since[task])

    def ran_ms(self, task: int, now_ms: int) -> int:
        """How long the task has run, all attempts together."""
        return self._ran[task] + (now_ms - self._since[task] if self._now[task] == RUNNING else 0)


def last_moves(world: World, task: int) -> Moves:
    """The last moves of one task, read backwards from the last one."""
    log, tasks = world.log, world.tasks
    kinds = [_kind(shape) for shape in log.shapes]
    created_ms = tasks.block_of(task).created_ms
    end = len(log)
    if tasks.state[task] == COMPLETED:
        end = log.index_at(tasks.ended[task])
    elif tasks.state[task] == RUNNING:
        end = log.index_at(tasks.started[task])
    last: Moves | None = None
    for index in range(end - 1, -1, -1):
        if log.row_a[index] != task or kinds[log.shape_of[index]] < ACTIVE:
            if log.when[index] < created_ms:
                break
            continue
        if last is not None:
            return last._replace(previous_since_ms=log.when[index])
        old = dict(log.shapes[log.shape_of[index]].fields)["from"]
        assert isinstance(old, TaskState)
        last = Moves(log.when[index], old, created_ms)
    return last or Moves(created_ms)


class RecentTask(NamedTuple):
    """A task that was on a node; ``subtask`` says as which instance if it is a multi-instance task (MI-8)."""

    task: int
    subtask: int | None


def recent_tasks(world: World, nodes: Iterable[int]) -> dict[int, list[RecentTask]]:
    """The tasks that changed last on each of these nodes, newest first, at most ten (NODE-6). Deleted ones are gone."""
    log, table = world.log, world.nodes
    found: dict[int, dict[int, RecentTask]] = {node: {} for node in nodes}
    open_nodes = {node for node in found if table.ran[node] or table.busy(node)}
    kinds = [_kind(shape) for shape in log.shapes]
    subtasks = [_subtask(shape) for shape in log.shapes]
    for index in range(len(log) - 1, -1, -1):
        if not open_nodes:
            break
        node, shape = log.row_b[index], log.shape_of[index]
        if node in open_nodes and (kinds[shape] >= ACTIVE or subtasks[shape]):
            task = log.row_a[index]
            if world.tasks.state[task] != GONE:
                several = world.tasks.profile_of(task).instances
                found[node].setdefault(task, RecentTask(task, subtasks[shape] if several else None))
                if len(found[node]) == RECENT_TASKS:
                    open_nodes.discard(node)
    return {node: list(tasks.values()) for node, tasks in found.items()}


def ready_ms(world: World, now_ms: int) -> dict[int, int]:
    """How long each node has been idle or running, in ms."""
    log = world.log
    ready = [_is_ready(shape) for shape in log.shapes]
    since: dict[int, int] = {}
    total: dict[int, int] = {}
    for when_ms, shape, node in zip(log.when, log.shape_of, log.row_b, strict=True):
        if ready[shape] is None:
            continue
        if ready[shape]:
            since.setdefault(node, when_ms)
        elif node in since:
            total[node] = total.get(node, 0) + when_ms - since.pop(node)
    for node, begun_ms in since.items():
        total[node] = total.get(node, 0) + now_ms - begun_ms
    return total


def _is_ready(shape: Shape) -> bool | None:
    """Whether a node's new state lets it run tasks; None for any other event."""
    return dict(shape.fields)["to"] in _READY if shape.event == "NodeStateChanged" else None


def _subtask(shape: Shape) -> int:
    """Which subtask an entry is about; 0 where it is about a primary, or nothing of the kind."""
    number = dict(shape.fields).get("subtaskId", 0)
    assert isinstance(number, int)
    return number


def _kind(shape: Shape) -> int:
    """The state that a task is in after an entry, or what else the entry is."""
    if shape.event != "TaskStateChanged":
        return _OTHER
    if shape.subject is LogSubject.TASKS_ADDED:
        return _ADDED
    fields = dict(shape.fields)
    if fields["from"] is None:
        return _ADDED_ONE
    new = fields["to"]
    return int(new) if isinstance(new, TaskState) else GONE
