"""The known future of a run, by what it is about: entries of the calendar, and commands and faults of the timeline.

Entries of the calendar are listed by node, job or pool, without void ones; commands and faults by job, job schedule or
pool, and in words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from engine.base.calendar import DueKind
from engine.rules.faults import unusable_ms
from engine.specs import commands as c
from engine.specs.command import OnJob, OnJobSchedule, OnPool
from engine.state.jobs import NO_SCHEDULE
from engine.state.tasks import RUNNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engine.run.simulation import Simulation
    from engine.specs.command import Command
    from engine.state.jobs import Job
    from engine.world import World


_IN_TABLES = frozenset({DueKind.PREPARATION_ENDED, DueKind.RELEASE_ENDED, DueKind.START_TASK_ENDED})


class Agenda:
    """Moments of what will happen by itself, in ms since the scenario's start.

    The ends of tasks, preparation, release and start tasks are in their tables.
    """

    def __init__(self, world: World) -> None:
        """Read the calendar once, at the cost of its entries."""
        self.node_steps: dict[int, int] = {}  # node -> end of its state
        self.job_steps: dict[int, int] = {}  # job -> earliest end of its intermediate state (TIME-19)
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
    rule: str  # of the loss of the node: SPOT-3, NODE-13; JOB-9: the job's time is over; else the timeline ends it


def planned_ends(world: World, job: Job) -> list[Cut]:
    """Return when the timeline ends a job or its job schedule after now; last what waits for a condition."""
    planned = [*world.terminations.get(job.id.lower(), ())]
    if job.schedule != NO_SCHEDULE:
        planned += world.terminations.get(f"{world.job_schedules[job.schedule].id.lower()}:", ())
    return sorted(Cut(*each) for each in planned if each[0] > world.now_ms)


def job_limit(world: World, job: Job) -> Cut | None:
    """Return when a job ends at the latest: its time is over, or the timeline ends it; None if that is not known."""
    cuts = [each for each in planned_ends(world, job) if world.is_known(each.when_ms)]
    if job.max_wall_clock_ms is not None:
        cuts.append(Cut(job.created_ms + job.max_wall_clock_ms, "JOB-9"))
    return min(cuts, default=None)


def cut_short(world: World, job: Job, node: int) -> Cut | None:
    """Return what is already known to stop the tasks and the preparation of a job on a node; None if nothing is.

    Planned ends that lie later are not reached.
    """
    losses = (world.nodes[node].evicted_ms, "SPOT-3"), (unusable_ms(world, node), "NODE-13")
    cuts = [Cut(when_ms, rule) for when_ms, rule in losses if when_ms is not None]
    limit = job_limit(world, job)
    return min(cuts if limit is None else [*cuts, limit], default=None)


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


Subject = tuple[str, str]  # a kind, "job", "job schedule" or "pool", and an id in lower case

_EVERYTHING: Subject = ("", "")  # the subject of what concerns the region or the account
_FAR_MS = 1 << 62

# Commands on a pool or job that change nothing that anything waits for.
_WITHOUT_EFFECT = (
    c.EvaluatePoolAutoScale,
    c.CreateNodeUser,
    c.UpdateNodeUser,
    c.DeleteNodeUser,
    c.UploadNodeLogs,
    c.DeleteNodeFile,
    c.DeleteTaskFile,
)


class PlannedInput(NamedTuple):
    """A command or fault by its name, and when it takes effect, in ms since the start.

    The moment is None where the timeline gives the command as soon as a condition holds.
    """

    when_ms: int | None
    name: str


class PlannedInputs:
    """The inputs of a run by what they are about, read again only if the journal has others."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty index."""
        self._simulation = simulation
        self._known: tuple[int, int, int] | None = None
        self._by_subject: dict[Subject, list[tuple[int, str]]] = {}

    def between(self, subjects: Iterable[Subject], after_ms: int, until_ms: int = _FAR_MS) -> list[PlannedInput]:
        """Return the inputs about any of these subjects, or about everything, after one moment up to another."""
        self._update()
        found: list[tuple[int, str]] = []
        for subject in (*subjects, _EVERYTHING):
            of_it = self._by_subject.get(subject, [])
            first = bisect_right(of_it, after_ms, key=lambda each: each[0])
            found += of_it[first : bisect_right(of_it, until_ms, key=lambda each: each[0])]
        return [PlannedInput(when_ms, name) for when_ms, name in sorted(found)]

    def to_come(self, subjects: Sequence[Subject]) -> list[PlannedInput]:
        """Return what the run has for these subjects after now; last what waits for a condition."""
        simulation = self._simulation
        awaited = [each.command for each in simulation.awaited_entries if each.refused is None]
        wanted = (*subjects, _EVERYTHING)
        conditional = [PlannedInput(None, each.NAME) for each in awaited if _subject_of(each) in wanted]
        return [*self.between(subjects, simulation.now_ms), *conditional]

    @property
    def has_more(self) -> bool:
        """True if the run has inputs after now, or some that wait for a condition."""
        return self._simulation.journal.upcoming is not None or bool(self._simulation.awaited_entries)

    def _update(self) -> None:
        journal = self._simulation.journal
        known = self._simulation.jumps, journal.changes, len(journal.inputs)
        if known == self._known:
            return
        self._known = known
        self._by_subject = {}
        for one in journal.inputs:
            subject = _subject_of(one.command) if one.refused is None else None
            if subject is not None:
                self._by_subject.setdefault(subject, []).append((one.when_ms, one.command.NAME))


def subjects_of_job(world: World, job: Job) -> list[Subject]:
    """Return the job, its pool and its job schedule."""
    schedules = [] if job.schedule == NO_SCHEDULE else [("job schedule", world.job_schedules[job.schedule].id.lower())]
    return [("job", job.id.lower()), ("pool", job.pool_id.lower()), *schedules]


def subjects_of(world: World, kind: str, key: int | str) -> list[Subject]:
    """Return what a task or node (by row number), a job, job schedule or pool (by id) depends on."""
    match kind:
        case "task":
            return subjects_of_job(world, world.jobs[world.tasks.block_of(int(key)).job])
        case "node":
            return [("pool", world.pool_of(int(key)).id.lower())]
        case "job" if (job := world.jobs.find(str(key))) is not None:
            return subjects_of_job(world, job)
    return [(kind, str(key).lower())]


def next_words(found: Sequence[PlannedInput], clock: Callable[[int], str]) -> str:
    """Return the first input and how many follow, as what the timeline has; empty where it has none."""
    if not found:
        return ""
    when_ms, name = found[0]
    at = "when its condition holds" if when_ms is None else f"at {clock(when_ms)}"
    more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    return f"the timeline has {name} {at}{more}"


def basis_words(found: Sequence[PlannedInput], clock: Callable[[int], str]) -> str:
    """Return the last input, and how many there are, as what an end that is foretold comes after; empty for none."""
    if not found or found[-1].when_ms is None:
        return ""
    last = f"{found[-1].name} at {clock(found[-1].when_ms)}"
    return f"after {last}" if len(found) == 1 else f"after {len(found):,} more commands, of which the last is {last}"


def _subject_of(command: Command) -> Subject | None:
    """Return what a command or fault is about; None if no job or pool feels its effect."""
    match command:
        case c.CreatePool():
            return "pool", command.id.lower()
        case c.Capacity() | c.Quota() | c.StorageOutage():
            return _EVERYTHING
        case OnPool() if not isinstance(command, _WITHOUT_EFFECT):
            return "pool", command.pool_id.lower()
        case OnJob() if not isinstance(command, _WITHOUT_EFFECT):
            return "job", command.job_id.lower()
        case OnJobSchedule():
            return "job schedule", command.job_schedule_id.lower()
    return None


def may_act(world: World) -> bool:
    """Return whether a running process may still give commands, or ends when a condition comes true (JM-11, JM-12)."""
    running = [(number, acting) for number, acting in world.acting if acting.acts.commands or acting.waits]
    if any(one.waiting or one.tasks_to_come or (one.waits and not one.acts.until_others) for _, one in running):
        return True
    numbers = {number for number, one in running if one.acts.commands}
    return bool(numbers) and any(due.kind is DueKind.ACT and due.key in numbers for due in world.calendar.pending())
