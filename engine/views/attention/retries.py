"""Preparation tasks and tasks that have failed and are being retried, until they are completed."""

from __future__ import annotations

from bisect import bisect_left
from itertools import compress
from typing import TYPE_CHECKING, cast

from engine.base.terms import InstanceState, TaskState
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED
from engine.state.tasks import GONE as DELETED
from engine.views.attention.concern import MOST_NAMED, Concern, Severity, apart, listed, some
from engine.views.log.reader import LogReader, of_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.jobs import Job

_OVER = (COMPLETED, DELETED)


class PreparationRetries:
    """Concerns about preparations that run again after a failure. Each entry of the log is read once."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._starts = LogReader(simulation, of_kind(_is_new_attempt))

    def concerns(self, *, names_jobs: bool) -> list[Concern]:
        """Return a concern for each job with such preparations; one for all if there are many jobs."""
        rows = self._rows()
        if not rows:
            return []
        world = self._simulation.world
        by_job: dict[int, list[int]] = {}
        for row in rows:
            by_job.setdefault(world.instances.job[row], []).append(row)
        return [
            self._concern(jobs, [row for job in jobs for row in by_job[job.row]], names_jobs=names_jobs)
            for jobs in apart([world.jobs[job] for job in by_job])
        ]

    def _rows(self) -> list[int]:
        """Return the instances that run again now."""
        log, world = self._simulation.log, self._simulation.world
        instances = world.instances
        started = {instances.row(log.row_a[at], log.row_b[at]) for at in self._starts.entries()}
        return sorted(
            row
            for row in started
            if row >= 0
            and instances.prep_state[row] == InstanceState.RUNNING
            and instances.prep_retries[row]
            and world.nodes.state[instances.node[row]] != GONE
        )

    def _concern(self, jobs: Sequence[Job], rows: Sequence[int], *, names_jobs: bool) -> Concern:
        world = self._simulation.world
        instances = world.instances
        nodes = [instances.node[row] for row in rows]
        named = tuple(f"n{world.nodes[node].position}" for node in nodes[:MOST_NAMED])
        on = f"node {named[0]}" if len(nodes) == 1 else some(len(nodes), "node")
        of = f" of {jobs[0].id}" if len(jobs) == 1 else f" of {some(len(jobs), 'job')}"
        names = tuple(job.id for job in jobs)
        return Concern(
            "preparation",
            Severity.SHORTAGE,
            f"preparation task{of if names_jobs else ''} failed on {on} and is retried",
            max(instances.prep_start[row] for row in rows),
            effect=self._attempt(jobs[0], rows) if len(jobs) == 1 else listed(names),
            names=named if len(nodes) > 1 else (),
            nodes=nodes,
            jobs=names,
        )

    def _attempt(self, job: Job, rows: Sequence[int]) -> str:
        """Return the number of the attempt that runs, and what waits for it."""
        prep = job.spec.job_preparation_task
        assert prep is not None
        most = prep.constraints.max_task_retry_count
        attempt = max(self._simulation.world.instances.prep_retries[row] for row in rows) + 1
        of_all = "" if most < 0 else f" of {most + 1:,}"
        waits = "; tasks there wait for it (PREP-6)" if prep.wait_for_success else ""
        return f"attempt {attempt:,}{of_all}{waits}"


class TaskRetries:
    """Concerns about tasks that have failed and wait for another attempt, or run again. Each entry is read once."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._reader = LogReader(simulation, of_kind(_begins_again))
        self._failed: dict[int, int] = {}  # by task that is not completed: the entry of its last failure
        self._jumps = simulation.jumps

    def concerns(self, *, names_jobs: bool) -> list[Concern]:
        """Return a concern for each job with such tasks; one for all if there are many jobs."""
        self._update()
        if not self._failed:
            return []
        world = self._simulation.world
        by_job: dict[int, list[int]] = {}
        tasks, at = sorted(self._failed), 0
        while at < len(tasks):  # a block of tasks at a time
            block = world.tasks.block_of(tasks[at])
            stop = bisect_left(tasks, block.first + block.source.count, at)
            by_job.setdefault(block.job, []).extend(tasks[at:stop])
            at = stop
        jobs = [world.jobs[job] for job in by_job if world.jobs[job].state is not None]
        return [
            self._concern(group, [task for job in group for task in by_job[job.row]], names_jobs=names_jobs)
            for group in apart(jobs)
        ]

    def _update(self) -> None:
        """Add the failures since the last call, and forget tasks that are completed; after a jump begin again."""
        simulation = self._simulation
        log, states = simulation.log, simulation.world.tasks.state
        is_over, entries = self._reader.news()
        if is_over or self._jumps != simulation.jumps:
            self._jumps, entries = simulation.jumps, self._reader.entries()
            self._failed.clear()
        for at in entries:
            if _is_retry(log.shapes[log.shape_of[at]]):
                self._failed[log.row_a[at]] = at
            else:
                self._failed.pop(log.row_a[at], None)
        failed = list(self._failed)  # thousands, in each frame: looked at in bulk
        for task in compress(failed, map(_OVER.__contains__, map(states.__getitem__, failed))):
            del self._failed[task]

    def _concern(self, jobs: Sequence[Job], tasks: Sequence[int], *, names_jobs: bool) -> Concern:
        log, table = self._simulation.log, self._simulation.world.tasks
        named = [table.task_id(task) for task in tasks[:MOST_NAMED]]
        entries = list(map(self._failed.__getitem__, tasks))
        ended = [dict(log.shapes[number].fields) for number in set(map(log.shape_of.__getitem__, entries))]
        codes = {fields["exitCode"] for fields in ended}
        cause = f": exit code {codes.pop()}" if len(codes) == 1 else ""
        who = f"task {named[0]}" if len(tasks) == 1 else some(len(tasks), "task")
        of = f" of {jobs[0].id}" if len(jobs) == 1 else f" of {some(len(jobs), 'job')}"
        are = "is" if len(tasks) == 1 else "are"
        names = tuple(job.id for job in jobs)
        return Concern(
            "task",
            Severity.NOTICE,
            f"{who}{of if names_jobs else ''} failed and {are} retried{cause}",
            log.when[max(entries)],
            effect=self._attempt(tasks, ended) if len(jobs) == 1 else listed(names),
            names=tuple(named) if len(tasks) > 1 else (),
            tasks=tasks,
            jobs=names,
        )

    def _attempt(self, tasks: Sequence[int], ended: Sequence[dict[str, object]]) -> str:
        """Return the number of a task's attempt that waits or runs, or of many tasks' last one that has failed."""
        if len(tasks) > 1:
            return f"latest failed attempt: {max(cast('int', fields['attempt']) for fields in ended):,}"
        table = self._simulation.world.tasks
        return f"attempt {table.extra(tasks[0]).attempts + (table.state[tasks[0]] == ACTIVE):,}"


def _begins_again(shape: Shape) -> bool:
    """Return whether an event says that a task runs again: a failed one is retried, or a completed one reactivated."""
    fields = dict(shape.fields)
    return _is_retry(shape) or (shape.event == "TaskStateChanged" and fields.get("from") is TaskState.COMPLETED)


def _is_retry(shape: Shape) -> bool:
    """Return whether an event says that a task goes back to the queue because its process has failed."""
    fields = dict(shape.fields)
    return shape.event == "TaskStateChanged" and fields.get("to") is TaskState.ACTIVE and "exitCode" in fields


def _is_new_attempt(shape: Shape) -> bool:
    """Return whether an event says that a preparation runs on a node where it has run before."""
    fields = dict(shape.fields)
    attempt = fields.get("attempt")
    is_start = shape.event == "JobPreparationTaskStateChanged" and fields.get("to") is InstanceState.RUNNING
    return is_start and isinstance(attempt, int) and attempt > 1
