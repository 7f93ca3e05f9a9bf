"""Tasks that have failed for good, by job and cause."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from engine.base.failures import FailureInfo
from engine.base.terms import ErrorCategory, JobState, TaskResult
from engine.views.attention.concern import MOST_NAMED, Concern, Severity, apart, cause_of, listed, some
from engine.views.log.reader import LogReader, of_kind
from engine.views.pages.bulk import LazyRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.jobs import Job

# The cause of tasks that a user terminated, or that ended with their job, begins so: they did not fail by themselves.
_BY_USERS = ("TaskEnded", "JobBeingTerminated")
_STOPPED = "stopped: "
_WITH_JOB = "the job was ended"


class FailedTasks(LazyRows):
    """The tasks of some entries of the log, part by part; nothing is copied."""

    def __init__(self, rows: array[int], parts: Sequence[tuple[Sequence[int], int]]) -> None:
        """Use the first entries of each part, as many as its number says."""
        super().__init__(sum(length for _, length in parts))
        self._rows, self._parts = rows, parts

    def _at(self, at: int) -> int:
        for entries, length in self._parts:
            if at < length:
                return self._rows[entries[at]]
            at -= length
        raise IndexError(at)

    @property
    def entries(self) -> Sequence[int]:
        """The numbers of the entries, part by part."""
        return [entry for entries, length in self._parts for entry in entries[:length]]

    @property
    def newest_entry(self) -> int:
        """The number of the newest entry."""
        return max(entries[length - 1] for entries, length in self._parts)

    def with_all(self, others: Iterable[FailedTasks]) -> FailedTasks:
        """Return these tasks, then those of the others."""
        return FailedTasks(self._rows, [*self._parts, *(part for other in others for part in other._parts)])


class _Group(NamedTuple):
    job: Job
    tasks: FailedTasks


class TaskFailures:
    """Concerns about failed tasks. Each entry of the log is read once, even if time goes back."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._reader = LogReader(simulation, of_kind(_says_failure))
        self._read = 0  # how many of the reader's entries are in groups
        self._causes: list[str | None] = []  # by shape
        self._groups: dict[int, dict[str, array[int]]] = {}  # by job and cause: entries in ascending order
        self._lasting: tuple[object, dict[str, list[_Group]]] = (None, {})
        self._concerns: tuple[object, list[Concern]] = (None, [])

    def concerns(self, *, names_jobs: bool) -> list[Concern]:
        """Return the failures that last: not those of deleted jobs, nor of tasks that were reactivated."""
        lasting = self._by_cause()
        known = self._lasting[0], names_jobs
        if known != self._concerns[0]:
            found: list[Concern] = []
            for cause, each in lasting.items():
                found += (self._concern(cause, groups, names_jobs=names_jobs) for groups in apart(each))
            self._concerns = known, found
        return self._concerns[1]

    def entries(self) -> Iterator[tuple[str, Job, Sequence[int]]]:
        """Yield cause, job and log entries of the failures that last, without tasks that a user stopped."""
        for cause, groups in self._by_cause().items():
            for group in groups if not cause.startswith(_STOPPED) else ():
                yield cause, group.job, group.tasks.entries

    def newest_ms(self, job: Job) -> int:
        """Return when a task of the job has last failed for good, in ms since the start; 0 where none has."""
        self._update()
        log = self._simulation.log
        over = (entries[: bisect_left(entries, len(log))] for entries in self._groups.get(job.row, {}).values())
        return max((log.when[entries[-1]] for entries in over if entries), default=0)

    def _by_cause(self) -> dict[str, list[_Group]]:
        """Return the failures that last by cause, and for each cause by job.

        While time goes on, one ends only with its job, or as its task is reactivated or deleted: the job has one less
        then, unless the log has told another one.
        """
        self._update()
        simulation = self._simulation
        jobs = [simulation.world.jobs[row] for row in self._groups if row < len(simulation.world.jobs)]
        told = bisect_left(self._reader.found, len(simulation.log))
        known = simulation.jumps, told, [(job.row, job.state, job.failed) for job in jobs]
        if known != self._lasting[0]:
            found: dict[str, list[_Group]] = {}
            for job in jobs:
                if job.state is not None and job.failed:
                    for cause, tasks in self._of_job(job, self._groups[job.row]).items():
                        found.setdefault(cause, []).append(_Group(job, tasks))
            self._lasting = known, found
        return self._lasting[1]

    def _update(self) -> None:
        if self._reader.update():
            self._groups.clear()
            self._read = 0
        log, jobs = self._simulation.log, self._simulation.world.tasks.block_of
        for at in self._reader.found[self._read :]:
            cause, job = self._cause(log.shape_of[at]), jobs(log.row_a[at]).job
            self._groups.setdefault(job, {}).setdefault(cause, array("I")).append(at)
        self._read = len(self._reader.found)

    def _cause(self, shape: int) -> str:
        self._causes += [None] * (shape + 1 - len(self._causes))
        cause = self._causes[shape]
        if cause is None:
            cause = self._causes[shape] = _cause(self._simulation.log.shapes[shape])
        return cause

    def _of_job(self, job: Job, groups: dict[str, array[int]]) -> dict[str, FailedTasks]:
        """Return the failed tasks of a job by cause, as they are at the moment that is shown."""
        log = self._simulation.log
        now = {cause: bisect_left(entries, len(log)) for cause, entries in groups.items()}
        if sum(now.values()) != job.failed:  # some were reactivated or deleted
            groups = self._still_failed({cause: groups[cause][:length] for cause, length in now.items()})
            now = {cause: len(entries) for cause, entries in groups.items()}
        return {cause: FailedTasks(log.row_a, [(groups[cause], length)]) for cause, length in now.items() if length}

    def _still_failed(self, groups: dict[str, array[int]]) -> dict[str, array[int]]:
        """Keep the last failure of each task that is still completed and failed."""
        tasks, rows = self._simulation.world.tasks, self._simulation.log.row_a
        last: dict[int, tuple[int, str]] = {}
        for cause, entries in groups.items():
            for at in entries:
                last[rows[at]] = max(last.get(rows[at], (at, cause)), (at, cause))
        kept: dict[str, array[int]] = {}
        for at, cause in sorted(last.values()):
            if tasks.result(rows[at]) is TaskResult.FAILURE:
                kept.setdefault(cause, array("I")).append(at)
        return kept

    def _concern(self, cause: str, groups: Sequence[_Group], *, names_jobs: bool) -> Concern:
        tasks = groups[0].tasks.with_all(group.tasks for group in groups[1:])
        table = self._simulation.world.tasks
        named = [table.task_id(task) for task in tasks[:MOST_NAMED]]
        jobs = tuple(group.job.id for group in groups)
        where = f" of {jobs[0]}" if len(jobs) == 1 else f" of {some(len(jobs), 'job')}"
        who = f"task {named[0]}" if len(tasks) == 1 else some(len(tasks), "task")
        is_open = any(group.job.state is JobState.ACTIVE for group in groups)
        is_meant = cause.startswith(_STOPPED)
        return Concern(
            "task",
            Severity.NOTICE if is_meant else Severity.FAILURE,
            f"{who}{where if names_jobs else ''} {cause if is_meant else f'failed: {cause}'}",
            self._simulation.log.when[tasks.newest_entry],
            effect="" if len(jobs) == 1 else listed(jobs),
            remedy=f"reactivate to run {'it' if len(tasks) == 1 else 'them'} again" if is_open else "",
            names=tuple(named) if len(tasks) > 1 else (),
            tasks=tasks,
            jobs=jobs,
            cause=cause,
        )


def _says_failure(shape: Shape) -> bool:
    """Return whether an event says that a task is completed and has failed; subtasks end with their primary task."""
    return shape.event == "TaskStateChanged" and dict(shape.fields).get("result") is TaskResult.FAILURE


def _cause(shape: Shape) -> str:
    fields = dict(shape.fields)
    failure, exit_code = fields.get("failureInfo"), fields.get("exitCode")
    assert failure is None or isinstance(failure, FailureInfo)
    assert exit_code is None or isinstance(exit_code, int)
    if failure is not None and failure.code in _BY_USERS and failure.category == ErrorCategory.USER_ERROR:
        return _STOPPED + dict(failure.details).get("Message", _WITH_JOB)
    return cause_of(failure, exit_code)
