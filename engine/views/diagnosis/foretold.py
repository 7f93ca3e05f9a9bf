"""The future of a run, read once it has been played ahead: ends of jobs, and concerns to come.

Concerns to come are failures, failed resizes, missed occurrences, and jobs that never end. The end of the future is
read once; the moment that is shown only decides which concerns are still to come.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import InstanceState, JobState, TaskState
from engine.base.values import called, values
from engine.run.agenda import PlannedInputs, subjects_of_job
from engine.views.diagnosis.estimates import Forecast
from engine.views.diagnosis.failures import TaskFailures, ended_badly, hook_failures
from engine.views.diagnosis.model import Clause, Condition, Finding, Items, concern, ids_of, name_of, some, whose
from engine.views.diagnosis.waste import LeftOpen, OpenJob, left_open_concerns
from engine.views.hook_status import Hook
from engine.views.log.reader import Kept, KeptByKey, matching
from engine.views.resources.account import is_loss
from engine.views.resources.instances import last_task_ms
from engine.views.resources.jobs import row_of_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.run.agenda import PlannedInput
    from engine.run.ahead import Ahead
    from engine.state.jobs import Job


class JobEnds(NamedTuple):
    """The ends of a job and of its phases, in ms since the start; None for what never ends, or is not there."""

    preparation_ms: int | None = None  # the last preparation
    tasks_ms: int | None = None  # the last task
    deleted_ms: int | None = None  # the last deletion of a task that is not completed
    job_ms: int | None = None
    inputs: Sequence[PlannedInput] = ()  # commands and faults up to the end that concern the job

    def seen_at(self, now_ms: int) -> Forecast:
        """Return the ends that lie ahead at a moment."""
        is_prepared = self.preparation_ms is not None and self.preparation_ms <= now_ms
        are_deleted = self.tasks_ms is not None and (self.deleted_ms or 0) > max(now_ms, self.tasks_ms)
        tasks_ms = self.deleted_ms if are_deleted else self.tasks_ms
        last_ms = max((ms for ms in (self.preparation_ms, tasks_ms, self.job_ms) if ms is not None), default=0)
        return Forecast(
            prepared_ms=self.preparation_ms if is_prepared else None,
            preparation_ms=None if is_prepared else self.preparation_ms,
            tasks_ms=_later(tasks_ms, now_ms),
            tasks_are_deleted=are_deleted,
            job_ms=_later(self.job_ms, now_ms),
            basis=[one for one in self.inputs if one.when_ms is not None and now_ms < one.when_ms <= last_ms],
            stays_active=self.job_ms is None,
            is_simulated=True,
        )


class EndsAhead:
    """The ends of jobs, read from the future of a run once for each job."""

    def __init__(self, present: Simulation, ahead: Ahead) -> None:
        """Read from the run played ahead of ``present``, in which jobs have the same rows."""
        self._present = present
        self._ahead = ahead
        self._ends: KeptByKey[JobEnds] = KeptByKey()
        self._inputs: Kept[PlannedInputs] = Kept()

    def of(self, job_id: str) -> JobEnds | None:
        """Return the ends of a job that is there now; None while they are not known."""
        future, row = self._ahead.future, row_of_job(self._present, job_id)
        if future is None or row is None:
            return None
        inputs = self._inputs.get(self._ahead.generation, lambda: PlannedInputs(future))
        return self._ends.get(self._ahead.generation, row, lambda: _ends(future, inputs, future.world.jobs[row]))


def _ends(future: Simulation, inputs: PlannedInputs, job: Job) -> JobEnds:
    instances = future.world.instances
    rows = instances.rows_of_job(job.row)
    is_over = (state == InstanceState.COMPLETED for state in values(instances.prep_state, rows))
    prepared = [end for end, over in zip(values(instances.prep_end, rows), is_over, strict=True) if over]
    tasks_ms, deleted_ms = last_task_ms(future.world, job), _last_deletion_ms(future, job)
    last_ms = max((ms for ms in (tasks_ms, deleted_ms, job.end_ms) if ms is not None), default=0)
    concerning = inputs.between(subjects_of_job(future.world, job), 0, last_ms)
    return JobEnds(max(prepared, default=None), tasks_ms, deleted_ms, job.end_ms, concerning)


def _last_deletion_ms(future: Simulation, job: Job) -> int | None:
    """Return when a task of the job was last deleted that was not completed; None if none was."""
    log, tasks = future.log, future.world.tasks
    entries = matching(log, _deletes_open_task) if job.deleted.get(None) else ()
    return max((log.when[at] for at in entries if tasks.block_of(log.row_a[at]).job == job.row), default=None)


def _deletes_open_task(shape: Shape) -> bool:
    if shape.event != "TaskStateChanged":
        return False
    fields = dict(shape.fields)
    return fields["to"] is None and fields["from"] is not TaskState.COMPLETED


def _later(when_ms: int | None, now_ms: int) -> int | None:
    return when_ms if when_ms is not None and when_ms > now_ms else None


_NEVER_ENDS = (Condition.JOB_NEVER_ENDS, Condition.RELEASE_NEVER_RUNS)
_MOST_OF_A_KIND = 3  # causes of one kind that are told, those that strike next; the others are counted


class _Trouble(NamedTuple):
    """A cause of trouble in a job, job schedule or pool, with the moments of its occurrences in ascending order."""

    condition: Condition
    cause: str
    owner: str  # the id of the job, job schedule or pool
    when_ms: Sequence[int]
    item: str = ""  # the task or node of the last of them

    @property
    def noun(self) -> str:
        """The kind of its owner."""
        return self.condition.about if self.condition.about in ("job schedule", "pool") else "job"


_Coming = list[tuple[_Trouble, "Sequence[int]"]]  # troubles with the same cause, and the moments that lie ahead


class Foretold:
    """Concerns about the future of the run, once it has been played ahead to its end."""

    def __init__(self, simulation: Simulation, ahead: Ahead) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._ahead = ahead
        self._end: Kept[tuple[list[_Trouble], list[OpenJob]]] = Kept()  # causes in the order of their first moments
        self._coming: Kept[list[Finding]] = Kept()

    def concerns(self, told: Iterable[Finding] = ()) -> list[Finding]:
        """Return what will fail, end badly, be missed or never end; nothing while the future is not known.

        Jobs that never end are left out where they are among those ``told`` already.
        """
        future = self._ahead.future
        if future is None:
            return []
        generation, simulation = self._ahead.generation, self._simulation
        troubles, open_jobs = self._end.get(generation, lambda: _at_end(future))
        past = [self._past(trouble, simulation.now_ms) for trouble in troubles]
        coming = self._coming.get((generation, past), lambda: self._to_come(future, troubles, past))
        if simulation.finished:  # the jobs left open are known anyway
            return coming
        jobs = simulation.world.jobs.rows
        known = {job for one in told if one.condition in _NEVER_ENDS for job in one.items.jobs}
        open_now = [one for one in open_jobs if one.since_ms <= simulation.now_ms and one.row < len(jobs)]
        open_now = [one for one in open_now if jobs[one.row].id not in known]
        return [*coming, *left_open_concerns(simulation.world, open_now)]

    def _past(self, trouble: _Trouble, now_ms: int) -> int:
        """Return how many occurrences of a trouble are over. The end of a job is over once it is terminating."""
        is_end = trouble.condition is Condition.JOB_ENDED_EARLY
        job = self._simulation.world.jobs.find(trouble.owner) if is_end else None
        is_ending = job is not None and job.state in (JobState.TERMINATING, JobState.COMPLETED)
        return len(trouble.when_ms) if is_ending else bisect_right(trouble.when_ms, now_ms)

    def _to_come(self, future: Simulation, troubles: Sequence[_Trouble], past: Sequence[int]) -> list[Finding]:
        """Return concerns with a future occurrence."""
        names_jobs = sum(1 for _ in future.world.jobs.present()) > 1
        coming: dict[Condition, dict[str, _Coming]] = {}
        for trouble, at in zip(troubles, past, strict=True):
            if at < len(trouble.when_ms):
                of_cause = coming.setdefault(trouble.condition, {}).setdefault(trouble.cause, [])
                of_cause.append((trouble, trouble.when_ms[at:]))
        found = []
        for by_cause in coming.values():
            concerns = [self._concern(each, names_jobs=names_jobs) for each in by_cause.values()]
            *before, last = sorted(concerns, key=lambda one: one.since_ms)[:_MOST_OF_A_KIND]
            rest = len(concerns) - _MOST_OF_A_KIND
            more = [Clause(f"and {some(rest, 'other cause')} after it")] if rest > 0 else []
            found += [*before, last._replace(effects=(*last.effects, *more))]
        return found

    def _concern(self, each: _Coming, *, names_jobs: bool) -> Finding:
        world, first = self._simulation.world, each[0][0]
        owners = [trouble.owner for trouble, _ in each]
        find = {"job schedule": world.job_schedules.find, "pool": world.pools.find}.get(first.noun, world.jobs.find)
        items = Items.of_kind(first.noun, *(owner for owner in owners if find(owner) is not None))
        text, begin_ms = f"{_text(each, names_jobs=names_jobs)} (simulated)", min(moments[0] for _, moments in each)
        found = concern(first.condition, text, begin_ms, ids_of(owners), items=items)
        return found._replace(cause=first.cause, is_coming=True)


def _text(each: _Coming, *, names_jobs: bool) -> str:
    """Describe what will happen."""
    count, first = sum(len(moments) for _, moments in each), each[0][0]
    item = first.item if count == 1 else ""
    owner = whose([trouble.owner for trouble, _ in each], first.noun)
    owned = f"{first.noun} {owner}" if len(each) == 1 else owner
    of = f" of {owner}" if names_jobs or len(each) > 1 else ""
    match first.condition:
        case Condition.OCCURRENCE_MISSED:
            occurrences = "an occurrence" if count == 1 else f"{count:,} occurrences"
            return f"{owned} will miss {occurrences}: {_as_future(first.cause)}"
        case Condition.RESIZE_FAILED:
            return f"{'a resize' if count == 1 else some(count, 'resize')} of {owned} will fail: {first.cause}"
        case Condition.JOB_ENDED_EARLY:
            return f"{owned} will end: {first.cause}"
        case Condition.TASK_FAILED:
            return f"{called('task', item) if item else some(count, 'task')}{of} will fail: {first.cause}"
        case condition:
            return f"{condition.about} task{of} will fail on {item or some(count, 'node')}: {first.cause}"


def _as_future(reason: str) -> str:
    """Put the reason of a missed occurrence into the future tense."""
    return reason.replace(" was still ", " will still be ").replace(" was ", " will be ")


def _at_end(future: Simulation) -> tuple[list[_Trouble], list[OpenJob]]:
    """Return the troubles of a finished run in the order of their first moments, and the jobs that it has left open."""
    troubles = sorted(_troubles(future), key=lambda trouble: trouble.when_ms[0])
    return troubles, LeftOpen(future, PlannedInputs(future)).jobs()


def _troubles(future: Simulation) -> Iterator[_Trouble]:
    """Yield all troubles of a finished run."""
    log, world = future.log, future.world
    for cause, job, entries in TaskFailures(future).entries():
        last = world.tasks.task_id(log.row_a[entries[-1]])
        yield _Trouble(Condition.TASK_FAILED, cause, job.id, values(log.when, entries), last)
    yield from _of_hooks(future)
    for job, reason in ended_badly(future):
        moments = [job.since_ms if job.end_ms is None else job.end_ms]
        yield _Trouble(Condition.JOB_ENDED_EARLY, reason or "no task has run", job.id, moments)
    for (row, reason), moments in _by_owner(future, is_loss, "reason").items():
        yield _Trouble(Condition.OCCURRENCE_MISSED, reason, world.job_schedules[row].id, moments)
    for (row, code), moments in _by_owner(future, _fell_short, "resultCode").items():
        yield _Trouble(Condition.RESIZE_FAILED, code, world.pools[row].id, moments)


def _by_owner(future: Simulation, is_wanted: Callable[[Shape], bool], cause: str) -> dict[tuple[int, str], list[int]]:
    """Return the moments of some events by the row of their subject and by the cause that they state."""
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
        condition = Condition.PREPARATION_FAILED if hook is Hook.PREPARATION else Condition.RELEASE_FAILED
        found.sort()
        moments, node = [when_ms for when_ms, _ in found], name_of(future.world, found[-1][1])
        yield _Trouble(condition, cause, future.world.jobs[job].id, moments, node)
