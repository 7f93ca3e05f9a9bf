"""Commands and faults that are still to come, by the job, job schedule or pool that they are about, and in words."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.specs import commands as c
from engine.specs.command import OnJob, OnJobSchedule, OnPool
from engine.state.jobs import NO_SCHEDULE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from engine.run.simulation import Simulation
    from engine.specs.command import Command
    from engine.state.jobs import Job
    from engine.world.world import World

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
        """Begin with nothing read."""
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
    return f"after {last}" if len(found) == 1 else f"after {len(found):,} commands, the last {last}"


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
