"""Concerns about work that has failed for good, by job and cause.

They are preparation and release tasks that have failed on nodes, tasks that have failed for good, and jobs that have
ended badly.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import ErrorCategory, FailureInfo
from engine.base.terms import JobState, TaskResult
from engine.base.values import LazyRows, picked
from engine.rules.jobs import ALL_TASKS_COMPLETED, MAX_WALL_CLOCK_TIME_EXPIRY, TASK_FAILED
from engine.state.instances import PrepFlag
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE
from engine.views.diagnosis.model import (
    DENIED,
    MOST_NAMED,
    Clause,
    Condition,
    Items,
    apart,
    cause_of,
    concern,
    first_names,
    ids_of,
    named,
    some,
    whose,
)
from engine.views.hook_status import OVER, Hook, HookStatus, eligible_again, ended_as, row_status, tables_of
from engine.views.log.reader import Kept, LogReader, is_event, of_kind
from engine.views.resources.jobs import bad_end

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.state.jobs import Job
    from engine.views.diagnosis.model import Finding


class HookFailure(NamedTuple):
    """A run of a job's preparation or release that has failed on a node for good."""

    hook: Hook
    cause: str
    job: int
    row: int  # of the instance
    is_ineligible: bool  # no task of the job may come to the node


_Failures = tuple["Job", list[HookFailure]]  # of one hook of a job, for one reason


def hook_concerns(simulation: Simulation, *, names_jobs: bool) -> list[Finding]:
    """Return the failures of preparation and release that last. The cost is that of the failures, not of the nodes.

    A failure lasts no longer than its job if its node has left.
    """
    world, instances = simulation.world, simulation.world.instances
    groups: dict[tuple[Hook, str], dict[int, list[HookFailure]]] = {}
    for one in hook_failures(simulation):
        is_gone = world.nodes.state[instances.node[one.row]] == GONE
        if not is_gone or world.jobs[one.job].state is not JobState.COMPLETED:
            groups.setdefault((one.hook, one.cause), {}).setdefault(one.job, []).append(one)
    return [
        _concern(simulation, hook, cause, group, names_jobs=names_jobs)
        for (hook, cause), by_job in groups.items()
        for group in apart([(world.jobs[job], failures) for job, failures in by_job.items()])
    ]


def hook_failures(simulation: Simulation) -> Iterator[HookFailure]:
    """Yield the runs whose failure still counts. Successes keep no record of their end."""
    world, instances, jobs = simulation.world, simulation.world.instances, simulation.world.jobs
    for page in instances.sparse:
        for key, ending in page.items():
            row, hook = key >> 1, Hook.RELEASE if key & 1 else Hook.PREPARATION
            job = jobs[instances.job[row]]
            if job.state is None or ended_as(ending, hook) is not HookStatus.FAILED:
                continue
            if row_status(world, row, hook, tables_of(world, job, hook)) is HookStatus.FAILED:
                is_ineligible = bool(instances.flags[row] & PrepFlag.INELIGIBLE)
                yield HookFailure(hook, cause_of(ending.failure, ending.exit_code), job.row, row, is_ineligible)


def _concern(
    simulation: Simulation, hook: Hook, cause: str, groups: Sequence[_Failures], *, names_jobs: bool
) -> Finding:
    instances = simulation.world.instances
    ends = instances.prep_end if hook is Hook.PREPARATION else instances.release_end
    rows = [one.row for _, failures in groups for one in failures]
    nodes = sorted({instances.node[row] for row in rows})
    names = first_names(simulation.world, nodes)
    on = names[0] if len(nodes) == 1 else some(len(nodes), "node")
    jobs = tuple(job.id for job, _ in groups)
    of = f" of {whose(jobs)}" if names_jobs else ""
    condition, effect, remedy = _consequence(simulation, hook, groups)
    return concern(
        condition,
        f"{hook.value.lower()} task{of} failed on {on}: {cause}",
        min(map(ends.__getitem__, rows)),
        ids_of(jobs),
        effect,
        remedy=remedy,
        items=Items(nodes=nodes, jobs=jobs),
        names=names if len(nodes) > 1 else (),
    )._replace(cause=cause)


def _consequence(simulation: Simulation, hook: Hook, groups: Sequence[_Failures]) -> tuple[Condition, Clause, str]:
    """Return the condition, its effect, and its remedy."""
    if hook is Hook.RELEASE:
        effect = "the job still completes; what it should clean up may be left", "REL-7"
        return Condition.RELEASE_FAILED, Clause(*effect), ""
    if all(job.state in OVER for job, _ in groups):
        return Condition.PREPARATION_UNHEEDED, Clause(""), ""
    if not any(one.is_ineligible for _, failures in groups for one in failures):
        effect = "no effect on scheduling: waitForSuccess is false", "PREP-13"
        return Condition.PREPARATION_UNHEEDED, Clause(*effect), ""
    helps = eligible_again(simulation.world.options)
    who = "job" if len(groups) == 1 else "jobs"
    effect = f"no task of the {who} runs there", helps.rule
    return Condition.PREPARATION_FAILED, Clause(*effect), f"{helps.remedy} to try preparation again"


_BY_USERS = ("TaskEnded", "JobBeingTerminated")


class FailedTasks(LazyRows[int]):
    """The tasks of some log entries, part by part, without a copy."""

    def __init__(self, rows: array[int], parts: Sequence[tuple[Sequence[int], int]]) -> None:
        """Use the first entries of each part, as many as its length says."""
        super().__init__(sum(length for _, length in parts))
        self._rows, self._parts = rows, parts

    def _several(self, places: range) -> Sequence[int]:
        if len(places) < len(self):
            return super()._several(places)
        return picked(self._rows, self.entries)

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
    def first_entry(self) -> int:
        """The number of the oldest entry."""
        return min(entries[0] for entries, _ in self._parts)

    def with_all(self, others: Iterable[FailedTasks]) -> FailedTasks:
        """Return these tasks, then those of the others."""
        return FailedTasks(self._rows, [*self._parts, *(part for other in others for part in other._parts)])


_Cause = tuple[Condition, str]  # stopped, which is meant, or failed; and why
_TasksOfCause = tuple["Job", FailedTasks]  # those of one job that failed for the same reason


class TaskFailures:
    """Concerns about failed tasks. Each entry of the log is read once, even if time goes back."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._reader = LogReader(simulation, of_kind(is_event("TaskStateChanged", result=TaskResult.FAILURE)))
        self._read = 0  # how many of the reader's entries are in groups
        self._cause = cache(lambda shape: _task_cause(simulation.log.shapes[shape]))
        self._groups: dict[int, dict[_Cause, array[int]]] = {}  # by job and cause: entries in ascending order
        self._lasting: Kept[dict[_Cause, list[_TasksOfCause]]] = Kept()
        self._concerns: Kept[list[Finding]] = Kept()

    def concerns(self, *, names_jobs: bool, without: Collection[int] = ()) -> list[Finding]:
        """Return the failures that last: not those of deleted jobs, nor of tasks that were reactivated.

        Those on the nodes in ``without`` are told with the nodes.
        """
        sources = self._sources()
        return self._concerns.get(
            (sources, names_jobs, tuple(without)),
            lambda: [
                self._concern(cause, groups, names_jobs=names_jobs)
                for cause, each in self._by_cause(sources).items()
                for groups in apart(self._elsewhere(each, without))
            ],
        )

    def _elsewhere(self, groups: list[_TasksOfCause], without: Collection[int]) -> list[_TasksOfCause]:
        """Return the tasks that did not fail on these nodes."""
        if not without:
            return groups
        log = self._simulation.log
        found = []
        for job, tasks in groups:
            left = array("I", [at for at in tasks.entries if log.row_b[at] not in without])
            found += [(job, FailedTasks(log.row_a, [(left, len(left))]))] if left else []
        return found

    def rows_of(self, job: Job) -> list[int]:
        """Return the tasks of a job that have failed, or were stopped."""
        self._update()
        groups = self._of_job(job, self._groups.get(job.row, {})) if job.failed else {}
        return [task for tasks in groups.values() for task in tasks]

    def entries(self) -> Iterator[tuple[str, Job, Sequence[int]]]:
        """Yield cause, job and log entries of the failures that last, without tasks that a user stopped."""
        for cause, groups in self._by_cause(self._sources()).items():
            for job, tasks in groups if cause[0] is Condition.TASK_FAILED else ():
                yield cause[1], job, tasks.entries

    def newest_ms(self, job: Job) -> int:
        """Return when a task of the job has last failed for good, in ms since the start; 0 where none has."""
        self._update()
        log = self._simulation.log
        over = (entries[: bisect_left(entries, len(log))] for entries in self._groups.get(job.row, {}).values())
        return max((log.when[entries[-1]] for entries in over if entries), default=0)

    def _sources(self) -> object:
        """Return what decides on the failures that last.

        While time goes on, one ends only with its job, or as its task is reactivated or deleted: the job has one less
        then, unless the log has told another one.
        """
        self._update()
        told = bisect_left(self._reader.found, len(self._simulation.log))
        return self._simulation.jumps, told, [(job.row, job.state, job.failed) for job in self._jobs()]

    def _jobs(self) -> Iterator[Job]:
        jobs = self._simulation.world.jobs
        return (jobs[row] for row in self._groups if row < len(jobs))

    def _by_cause(self, sources: object) -> dict[_Cause, list[_TasksOfCause]]:
        """Return the failures that last by cause, and for each cause by job."""

        def by_cause() -> dict[_Cause, list[_TasksOfCause]]:
            found: dict[_Cause, list[_TasksOfCause]] = {}
            for job in self._jobs():
                if job.state is not None and job.failed:
                    for cause, tasks in self._of_job(job, self._groups[job.row]).items():
                        found.setdefault(cause, []).append((job, tasks))
            return found

        return self._lasting.get(sources, by_cause)

    def _update(self) -> None:
        if self._reader.update():
            self._groups.clear()
            self._read = 0
        log, block_of = self._simulation.log, self._simulation.world.tasks.block_of
        news, self._read = self._reader.found[self._read :], len(self._reader.found)
        of_block = range(0)  # the tasks of the last block, which come together
        groups: dict[_Cause, array[int]] = {}
        by_shape: dict[int, array[int]] = {}  # of the last block
        for at, shape, task in zip(news, picked(log.shape_of, news), picked(log.row_a, news), strict=True):
            if task not in of_block:
                block = block_of(task)
                of_block, by_shape = block.rows, {}
                groups = self._groups.setdefault(block.job, {})
            if shape not in by_shape:
                by_shape[shape] = groups.setdefault(self._cause(shape), array("I"))
            by_shape[shape].append(at)

    def _of_job(self, job: Job, groups: dict[_Cause, array[int]]) -> dict[_Cause, FailedTasks]:
        """Return the failed tasks of a job by cause, as they are at the moment that is shown."""
        log = self._simulation.log
        now = {cause: bisect_left(entries, len(log)) for cause, entries in groups.items()}
        if sum(now.values()) != job.failed:  # some were reactivated or deleted
            groups = self._still_failed({cause: groups[cause][:length] for cause, length in now.items()})
            now = {cause: len(entries) for cause, entries in groups.items()}
        return {cause: FailedTasks(log.row_a, [(groups[cause], length)]) for cause, length in now.items() if length}

    def _still_failed(self, groups: dict[_Cause, array[int]]) -> dict[_Cause, array[int]]:
        """Keep the last failure of each task that is still completed and failed."""
        tasks, rows = self._simulation.world.tasks, self._simulation.log.row_a
        last: dict[int, tuple[int, _Cause]] = {}
        for cause, entries in groups.items():
            for at in entries:
                last[rows[at]] = max(last.get(rows[at], (at, cause)), (at, cause))
        kept: dict[_Cause, array[int]] = {}
        for at, cause in sorted(last.values()):
            if tasks.result(rows[at]) is TaskResult.FAILURE:
                kept.setdefault(cause, array("I")).append(at)
        return kept

    def _concern(self, cause: _Cause, groups: Sequence[_TasksOfCause], *, names_jobs: bool) -> Finding:
        condition, text = cause
        tasks = groups[0][1].with_all(tasks for _, tasks in groups[1:])
        jobs, table = tuple(job.id for job, _ in groups), self._simulation.world.tasks
        who, names = named("task", [table.task_id(task) for task in tasks[:MOST_NAMED]], len(tasks))
        where = f" of {whose(jobs)}" if names_jobs else ""
        is_open = all(job.state is JobState.ACTIVE for job, _ in groups)
        is_over = table.extra(tasks[0]).exit_code == 0  # it only could not leave its files: it is not run again
        return concern(
            condition,
            f"{who}{where} {'failed: ' if condition is Condition.TASK_FAILED else ''}{text}",
            self._simulation.log.when[tasks.first_entry],
            ids_of(jobs),
            remedy=_remedy_of(text, "it" if len(tasks) == 1 else "them", is_over=is_over) if is_open else "",
            items=Items(tasks=tasks, jobs=jobs),
            names=names,
        )._replace(cause=text)


def _remedy_of(cause: str, them: str, *, is_over: bool) -> str:
    """Return what helps tasks that failed for a reason. Their bodies cannot change, so an expired signature stays.

    Those that ended with exit code 0 cannot be reactivated (TASK-15).
    """
    if cause.partition(" ")[0] in DENIED:
        return f"add {them} again with a signature that is valid long enough"
    return f"add {them} again" if is_over else f"reactivate to run {them} again"


def _task_cause(shape: Shape) -> _Cause:
    fields = dict(shape.fields)
    failure, exit_code = fields.get("failureInfo"), fields.get("exitCode")
    assert failure is None or isinstance(failure, FailureInfo)
    assert exit_code is None or isinstance(exit_code, int)
    if failure is not None and failure.code in _BY_USERS and failure.category == ErrorCategory.USER_ERROR:
        return Condition.TASK_STOPPED, f"stopped: {dict(failure.details).get('Message', 'the job was ended')}"
    return Condition.TASK_FAILED, cause_of(failure, exit_code)


# Terminate reasons of jobs whose work was not done, with the effect; the empty one is that of a job without tasks.
_EFFECTS = {
    TASK_FAILED: Clause("a failed task ended the job", "EXIT-2"),
    MAX_WALL_CLOCK_TIME_EXPIRY: Clause("its maxWallClockTime was over", "JOB-9"),
    "": Clause("onAllTasksComplete was terminatejob before it had tasks", "JOB-7"),
}


# -- ended -----------------------------------------------------------------------------------------------------------


def ended_concerns(simulation: Simulation) -> list[Finding]:
    """Return the jobs that ended before their work was done, by reason."""
    groups: dict[tuple[str, bool], list[Job]] = {}
    for job, reason in ended_badly(simulation):
        groups.setdefault((reason, _has_run_nothing(job)), []).append(job)
    return [
        _ended(reason, each, has_run_nothing=has_run_nothing)
        for (reason, has_run_nothing), jobs in groups.items()
        for each in apart(jobs)
    ]


def ended_badly(simulation: Simulation) -> Iterator[tuple[Job, str]]:
    """Yield the jobs that ended before their work was done, with the reason that the service states, if any."""
    for job in simulation.world.jobs.present():
        if job.state in (JobState.TERMINATING, JobState.COMPLETED):
            reason = bad_end(job)
            if reason or _has_run_nothing(job):
                yield job, reason


def _has_run_nothing(job: Job) -> bool:
    """Return whether the job ended by itself without a task, as with onAllTasksComplete set too early (JOB-7)."""
    is_by_itself = job.scheduling_error is not None or job.terminate_reason == ALL_TASKS_COMPLETED
    return is_by_itself and not job.total and not job.deleted


def _ended(reason: str, jobs: Sequence[Job], *, has_run_nothing: bool) -> Finding:
    ids = tuple(job.id for job in jobs)
    who, _ = named("job", ids, len(ids))
    without = " without running a task" if has_run_nothing else ""
    error, left = jobs[0].scheduling_error, sum(job.counts[ACTIVE] for job in jobs)
    return concern(
        Condition.JOB_ENDED_EARLY if reason else Condition.JOB_RAN_NOTHING,
        f"{who} ended{without}{f': {reason}' if reason else ''}",
        min(job.since_ms for job in jobs),
        ids_of(ids),
        _EFFECTS[reason] if error is None else error.message.rstrip("."),
        f"{some(left, 'task')} never completed" if left else "",
        remedy="raise the quota" if "Quota" in reason else "",
        items=Items(jobs=ids),
    )
