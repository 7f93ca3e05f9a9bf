"""Troubles that only the rest of the run shows: failures, failed resizes, missed occurrences, and jobs that never end.

The run at its end is read once; the moment that is shown then only decides which of them are still to come.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import JobState
from engine.views.attention.concern import Concern, ConcernKind, Severity, listed, some
from engine.views.attention.hooks import hook_failures
from engine.views.attention.jobs import OpenJob, ended_badly, left_open, left_open_concerns
from engine.views.attention.tasks import TaskFailures
from engine.views.log.reader import matching
from engine.views.pages.bulk import values
from engine.views.pages.hook_status import Hook
from engine.views.pages.job_schedules import is_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine import Simulation
    from engine.events.log import Shape
    from engine.run.ahead import Ahead

_MOST_OF_A_KIND = 3  # causes of one kind that are told, those that strike next; the others are counted


class _Trouble(NamedTuple):
    """One cause of trouble in a job, job schedule or pool, with the moments at which it strikes, in ascending order."""

    kind: ConcernKind
    cause: str
    owner: str  # the id of the job, job schedule or pool
    when_ms: Sequence[int]
    item: str = ""  # the task or node of the last of them


class Foretold:
    """The concerns that follow from what is still to come, if the run has been played ahead to its end."""

    def __init__(self, simulation: Simulation, ahead: Ahead) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._ahead = ahead
        self._read_at = -1  # the generation of what was read
        self._troubles: list[_Trouble] = []
        self._left_open: list[OpenJob] = []  # at the end
        self._names_jobs = False
        self._known: tuple[object, list[Concern]] = (None, [])

    def concerns(self) -> list[Concern]:
        """Return what will fail, end badly, be missed, or stay as it is; nothing as long as that is not known."""
        future = self._ahead.future
        if future is None:
            return []
        if self._read_at != self._ahead.generation:
            self._read_at = self._ahead.generation
            self._troubles = sorted(_troubles(future), key=lambda trouble: trouble.when_ms[0])
            self._names_jobs = sum(1 for _ in future.world.jobs.present()) > 1
            self._left_open = left_open(future)
        now_ms = self._simulation.now_ms
        key = self._read_at, [self._past(trouble, now_ms) for trouble in self._troubles]
        if self._known[0] != key:
            self._known = key, self._coming(key[1])
        return [*self._known[1], *self._open_now()]

    def _open_now(self) -> list[Concern]:
        """Return the jobs left open whose tasks have ended by now; once the run is over they are known anyway."""
        simulation = self._simulation
        if simulation.finished:
            return []
        return left_open_concerns(
            simulation.world, [one for one in self._left_open if one.since_ms <= simulation.now_ms]
        )

    def _past(self, trouble: _Trouble, now_ms: int) -> int:
        """Return how many moments of a trouble are over. That of a job is over as soon as it is terminating."""
        job = self._simulation.world.jobs.find(trouble.owner) if trouble.kind == "job" else None
        is_ending = job is not None and job.state in (JobState.TERMINATING, JobState.COMPLETED)
        return len(trouble.when_ms) if is_ending else bisect_right(trouble.when_ms, now_ms)

    def _coming(self, past: Sequence[int]) -> list[Concern]:
        """Return the troubles of which not all moments are over."""
        coming: dict[tuple[ConcernKind, str], list[tuple[_Trouble, Sequence[int]]]] = {}
        for trouble, at in zip(self._troubles, past, strict=True):
            if at < len(trouble.when_ms):
                coming.setdefault((trouble.kind, trouble.cause), []).append((trouble, trouble.when_ms[at:]))
        by_kind: dict[ConcernKind, list[Concern]] = {}
        for (kind, cause), each in coming.items():
            by_kind.setdefault(kind, []).append(self._concern(kind, cause, each))
        found = []
        for concerns in by_kind.values():
            *before, last = sorted(concerns, key=lambda concern: concern.since_ms)[:_MOST_OF_A_KIND]
            rest = len(concerns) - _MOST_OF_A_KIND
            more = [last.effect, f"and {some(rest, 'other cause')} after it"] if rest > 0 else [last.effect]
            found += [*before, last._replace(effect="; ".join(filter(None, more)))]
        return found

    def _concern(self, kind: ConcernKind, cause: str, each: Sequence[tuple[_Trouble, Sequence[int]]]) -> Concern:
        world = self._simulation.world
        owners = [trouble.owner for trouble, _ in each]
        finders: dict[ConcernKind, Callable[[str], object]] = {
            "job schedule": world.job_schedules.find,
            "pool": world.pools.find,
        }
        find = finders.get(kind, world.jobs.find)
        present = tuple(owner for owner in owners if find(owner) is not None)
        effects = [listed(owners)] if len(owners) > 1 else []
        return Concern(
            kind,
            Severity.SHORTAGE,
            f"{self._text(kind, cause, each)} (simulated)",
            min(moments[0] for _, moments in each),
            effect="; ".join(effects),
            jobs=present if kind not in finders else (),
            pools=present if kind == "pool" else (),
            schedules=present if kind == "job schedule" else (),
            cause=cause,
            is_coming=True,
        )

    def _text(self, kind: ConcernKind, cause: str, each: Sequence[tuple[_Trouble, Sequence[int]]]) -> str:
        """Return what will happen."""
        count = sum(len(moments) for _, moments in each)
        item = each[0][0].item if count == 1 else ""
        noun = kind if kind in ("job schedule", "pool") else "job"
        owner = each[0][0].owner if len(each) == 1 else some(len(each), noun)
        of = f" of {owner}" if self._names_jobs or len(each) > 1 else ""
        match kind:
            case "job schedule":
                occurrences = "an occurrence" if count == 1 else f"{count:,} occurrences"
                return f"{'job schedule ' if len(each) == 1 else ''}{owner} will miss {occurrences}: {_to_come(cause)}"
            case "pool":
                resizes = "a resize" if count == 1 else some(count, "resize")
                return f"{resizes} of {f'pool {owner}' if len(each) == 1 else owner} will fail: {cause}"
            case "job":
                return f"{'job ' if len(each) == 1 else ''}{owner} will end: {cause}"
            case "task":
                return f"{f'task {item}' if item else some(count, 'task')}{of} will fail: {cause}"
            case _:
                return f"{kind} task{of} will fail on {item or some(count, 'node')}: {cause}"


def _to_come(reason: str) -> str:
    """Return the reason of a missed occurrence as one that lies ahead."""
    return reason.replace(" was still ", " will still be ").replace(" was ", " will be ")


def _troubles(future: Simulation) -> Iterator[_Trouble]:
    """Yield all troubles of the run that is over."""
    log, world = future.log, future.world
    for cause, job, entries in TaskFailures(future).entries():
        last = world.tasks.task_id(log.row_a[entries[-1]])
        yield _Trouble("task", cause, job.id, values(log.when, entries), last)
    yield from _of_hooks(future)
    for job, reason in ended_badly(future):
        yield _Trouble("job", reason, job.id, [job.since_ms if job.end_ms is None else job.end_ms])
    for (row, reason), moments in _by_owner(future, is_loss, "reason").items():
        yield _Trouble("job schedule", reason, world.job_schedules[row].id, moments)
    for (row, code), moments in _by_owner(future, _fell_short, "resultCode").items():
        yield _Trouble("pool", code, world.pools[row].id, moments)


def _by_owner(future: Simulation, is_wanted: Callable[[Shape], bool], cause: str) -> dict[tuple[int, str], list[int]]:
    """Return the moments of some events by the row of what they are about and the cause that they state."""
    log = future.log
    found: dict[tuple[int, str], list[int]] = {}
    for at in matching(log, is_wanted):
        stated = str(dict(log.shapes[log.shape_of[at]].fields)[cause])
        found.setdefault((log.row_a[at], stated), []).append(log.when[at])
    return found


def _fell_short(shape: Shape) -> bool:
    """Return whether a resize ended before the pool had reached its target, but not because a user stopped it."""
    return shape.event == "PoolResizeComplete" and dict(shape.fields)["resultCode"] not in ("Success", "ResizeStopped")


def _of_hooks(future: Simulation) -> Iterator[_Trouble]:
    """Yield the preparations and releases that fail for good."""
    failures: dict[tuple[Hook, str, int], list[tuple[int, int]]] = {}
    for hook, cause, job, row, _ in hook_failures(future):
        instances = future.world.instances
        ends = instances.prep_end if hook is Hook.PREPARATION else instances.release_end
        failures.setdefault((hook, cause, job), []).append((ends[row], instances.node[row]))
    for (hook, cause, job), found in failures.items():
        kind: ConcernKind = "preparation" if hook is Hook.PREPARATION else "release"
        found.sort()
        node = f"n{future.world.nodes[found[-1][1]].position}"
        yield _Trouble(kind, cause, future.world.jobs[job].id, [when_ms for when_ms, _ in found], node)
