"""The agenda: entries of the calendar by the node, job or pool that they are about, without void ones."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from engine.events.calendar import DueKind
from engine.state.tasks import RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.state.jobs import Job
    from engine.world.world import World


_IN_TABLES = frozenset({DueKind.PREPARATION_ENDED, DueKind.RELEASE_ENDED, DueKind.START_TASK_ENDED})


class Agenda:
    """Moments of what will happen by itself, in ms since the scenario's start.

    The ends of tasks, preparation, release and start tasks are in their tables.
    """

    def __init__(self, world: World) -> None:
        """Read the calendar once, at the cost of its entries."""
        self.node_steps: dict[int, int] = {}  # node -> end of its state
        self.job_steps: dict[int, int] = {}  # job -> earliest end of its intermediate state (TIME-19)
        self.job_timeouts: dict[int, int] = {}  # job -> end of its wall clock time (JOB-9)
        self.resize_timeouts: dict[int, int] = {}  # pool -> timeout of its resize (RSZ-3)
        self.allocations: dict[int, dict[int, int]] = defaultdict(dict)  # pool -> arrival of each requested node
        self.answers: dict[int, dict[int, int]] = defaultdict(dict)  # pool -> answer to each failing request (RSZ-16)
        self.release_timeouts: dict[int, int] = {}  # instance -> end of the wait for its unreachable node
        self.tasks_seen: dict[int, int] = {}  # first task of a block -> when the scheduler sees it (TIME-9)
        nodes = world.nodes.records.rows
        for when_ms, kind, key, token in world.calendar.pending():
            if kind in _IN_TABLES:
                continue
            match kind:
                case DueKind.NODE_STEP if nodes[key].token == token:
                    self.node_steps[key] = when_ms
                case DueKind.JOB_STEP if world.jobs[key].token == token:
                    self.job_steps[key] = when_ms
                case DueKind.JOB_TIMEOUT if world.jobs[key].max_wall_clock_ms == token:
                    self.job_timeouts[key] = when_ms
                case DueKind.RESIZE_TIMEOUT if world.pools[key].token == token:
                    self.resize_timeouts[key] = when_ms
                case DueKind.NODE_ALLOCATED if token in world.pools[key].pending:
                    self.allocations[key][token] = when_ms
                case DueKind.NODE_ALLOCATED if token in world.pools[key].failing_requests:
                    self.answers[key][token] = when_ms
                case DueKind.RELEASE_TIMEOUT if nodes[world.instances.node[key]].lost_ms == token:
                    self.release_timeouts[key] = when_ms
                case DueKind.TASKS_READY:
                    self.tasks_seen[world.tasks.blocks[key].first] = when_ms


class Cut(NamedTuple):
    """The moment at which the processes of a job on a node are stopped, in ms since the start, and by which rule."""

    when_ms: int
    rule: str  # SPOT-3: the node is preempted; JOB-9: the job's time is over


def cut_short(world: World, job: Job, node: int) -> Cut | None:
    """Return what is already known to stop the tasks and the preparation of a job on a node; None if nothing is.

    Planned ends that lie later are not reached.
    """
    evicted_ms, limit_ms = world.nodes[node].evicted_ms, job.max_wall_clock_ms
    if evicted_ms is None and limit_ms is None:
        return None
    cuts = [Cut(evicted_ms, "SPOT-3")] if evicted_ms is not None else []
    if limit_ms is not None:
        cuts.append(Cut(job.created_ms + limit_ms, "JOB-9"))
    return min(cuts)


def known_end_ms(world: World, job: Job, node: int, planned_ms: int) -> int:
    """Return when a task or preparation of a job on a node ends: as planned, or when it is stopped before that."""
    cut = cut_short(world, job, node)
    return planned_ms if cut is None else min(planned_ms, cut.when_ms)


def task_end_ms(world: World, task: int) -> int:
    """Return when a running task leaves its node: at its planned end, or when it is stopped before that."""
    tasks = world.tasks
    return known_end_ms(world, world.jobs[tasks.block_of(task).job], tasks.node[task], tasks.ended[task])


def ends_in_order(world: World) -> Iterator[tuple[int, int]]:
    """Yield the end of each running task, and the task, the earliest first."""
    tasks = world.tasks
    for when_ms, task in world.calendar.task_ends():
        if tasks.state[task] == RUNNING and tasks.ended[task] == when_ms:
            yield when_ms, task


def acts_due(world: World, number: int) -> set[int]:
    """Return the numbers of the commands that this start of a process gives at a moment that is known (JM-11)."""
    return {due.token for due in world.calendar.pending() if due.kind is DueKind.ACT and due.key == number}
