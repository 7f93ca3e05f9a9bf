"""Preparation tasks and tasks that have failed and are being retried, until they are completed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING, cast

from engine.base.terms import InstanceState, TaskState
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED
from engine.state.tasks import GONE as DELETED
from engine.views.attention.concern import MOST_NAMED, Concern, Severity, apart, listed, some
from engine.views.log.reader import LogReader, of_kind
from engine.views.log.tally import is_retry
from engine.views.pages.bulk import picked, values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.jobs import Job

_IS_OVER = bytes(state in (COMPLETED, DELETED) for state in range(256))
_IS_OPEN = bytes(not is_over for is_over in _IS_OVER)


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
        self._shapes: Counter[int] = Counter()  # of these entries
        self._tasks: list[int] = []  # these tasks, sorted
        self._retries: dict[int, bool] = {}  # by shape
        self._by_job: dict[int, list[int]] = {}  # the same tasks by job
        # About several tasks: by whether it names jobs, and these jobs.
        self._of_many: dict[tuple[bool, tuple[int, ...]], Concern] = {}
        self._jumps = simulation.jumps

    def concerns(self, *, names_jobs: bool) -> list[Concern]:
        """Return a concern for each job with such tasks; one for all if there are many jobs."""
        self._update()
        jobs = map(self._simulation.world.jobs.__getitem__, self._by_job)
        present = [job for job in jobs if job.state is not None]
        return [self._of_jobs(group, names_jobs=names_jobs) for group in apart(present)]

    def _of_jobs(self, jobs: Sequence[Job], *, names_jobs: bool) -> Concern:
        """Return the concern of these jobs, the same while it is about the same failures of several tasks.

        That of a single task says also which attempt runs, or is waited for.
        """
        by_job, key = self._by_job, (names_jobs, tuple(job.row for job in jobs))
        known = self._of_many.get(key)
        if known is None:
            tasks = [task for job in jobs for task in by_job[job.row]]
            known = self._concern(jobs, tasks, names_jobs=names_jobs)
            if len(tasks) > 1:
                self._of_many[key] = known
        return known

    def _update(self) -> None:
        """Bring the tasks up to date, by job too."""
        if not self._read_on():
            return
        tasks, table, at = self._tasks, self._simulation.world.tasks, 0
        self._by_job, self._of_many = {}, {}
        while at < len(tasks):  # a block of tasks at a time
            block = table.block_of(tasks[at])
            stop = bisect_left(tasks, block.rows.stop, at)
            self._by_job.setdefault(block.job, []).extend(tasks[at:stop])
            at = stop

    def _read_on(self) -> bool:
        """Add the failures since the last call, and forget tasks that are completed; after a jump begin again.

        Return whether there may be other failures than before.
        """
        simulation, failed = self._simulation, self._failed
        log = simulation.log
        is_back, entries = self._reader.news()
        begins = is_back or self._jumps != simulation.jumps
        if begins:
            self._jumps, entries = simulation.jumps, self._reader.entries()
            failed.clear()
            self._shapes.clear()
            self._tasks = []
        if entries:
            latest = dict(zip(picked(log.row_a, entries), entries, strict=True))
            shapes = picked(log.shape_of, list(latest.values()))
            again = failed.keys() & latest.keys()
            self._forget(again)
            failed.update(latest)
            self._shapes.update(shapes)
            if all(map(self._is_retry, set(shapes))):
                self._tasks = sorted(self._tasks + sorted(latest.keys() - again))  # two runs are merged
            else:
                self._forget([task for task, at in latest.items() if not self._is_retry(log.shape_of[at])])
                self._tasks = sorted(failed)
        states = bytes(values(simulation.world.tasks.state, self._tasks))  # thousands, in each frame
        is_done = states.translate(_IS_OVER)
        has_done = 1 in is_done
        if has_done:
            self._forget(compress(self._tasks, is_done))
            self._tasks = list(compress(self._tasks, states.translate(_IS_OPEN)))
        return begins or bool(entries) or has_done

    def _forget(self, tasks: Iterable[int]) -> None:
        """Forget the failures of these tasks, which have failed."""
        gone = list(map(self._failed.pop, tasks))
        self._shapes.subtract(Counter(picked(self._simulation.log.shape_of, gone)))

    def _is_retry(self, number: int) -> bool:
        """Return whether entries of this shape tell that a task is retried; few shapes have thousands of entries."""
        if number not in self._retries:
            self._retries[number] = _is_retry(self._simulation.log.shapes[number])
        return self._retries[number]

    def _concern(self, jobs: Sequence[Job], tasks: Sequence[int], *, names_jobs: bool) -> Concern:
        log, table = self._simulation.log, self._simulation.world.tasks
        named = [table.task_id(task) for task in tasks[:MOST_NAMED]]
        if len(tasks) == len(self._failed):  # most often, and of thousands
            latest, shapes = max(self._failed.values()), {shape for shape, count in self._shapes.items() if count}
        else:
            entries = list(map(self._failed.__getitem__, tasks))
            latest, shapes = max(entries), set(map(log.shape_of.__getitem__, entries))
        ended = [dict(log.shapes[number].fields) for number in shapes]
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
            log.when[latest],
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
    return _is_retry(shape) or (
        shape.event == "TaskStateChanged" and dict(shape.fields).get("from") is TaskState.COMPLETED
    )


def _is_retry(shape: Shape) -> bool:
    return shape.event == "TaskStateChanged" and is_retry(dict(shape.fields))


def _is_new_attempt(shape: Shape) -> bool:
    """Return whether an event says that a preparation runs on a node where it has run before."""
    fields = dict(shape.fields)
    attempt = fields.get("attempt")
    is_start = shape.event == "JobPreparationTaskStateChanged" and fields.get("to") is InstanceState.RUNNING
    return is_start and isinstance(attempt, int) and attempt > 1
