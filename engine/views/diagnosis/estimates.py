"""Planned and estimated ends of what runs, and usual durations of preparation and release.

Planned ends are known; the ends of a job, its tasks and its preparation are estimated as if nothing went wrong, with
as many tasks at once as now, or as on average so far. Usual durations are those on the nodes where preparation or
release has succeeded.
"""

from __future__ import annotations

from itertools import compress
from operator import sub
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import InstanceState, JobState, NodeState, OnAllTasksComplete, TaskState
from engine.base.values import equals, percentile, places, values
from engine.rules.decisions.verdicts import ends_with_manager
from engine.rules.processes.execution import release_duration
from engine.rules.release import UNREACHABLE_WAIT_MS
from engine.run.agenda import job_limit, known_end_ms, task_end_ms
from engine.specs import draws
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.diagnosis.stuck import has_misfits
from engine.views.hook_status import HookStatus
from engine.views.log.reader import Kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.run.agenda import PlannedInput
    from engine.state.jobs import Job
    from engine.views.log.reader import FirstStarts
    from engine.views.resources.instances import InstancePage
    from engine.views.resources.tasks import TaskPage


MANY = 64  # running tasks, which are not looked at in each frame
_MUCH_MORE = 16  # the part of what was done, or of four times what is left, after which another estimate is made
_UNENDING = (JobState.DISABLING, JobState.DISABLED)  # no task starts, so the end is unknown


class Forecast(NamedTuple):
    """Estimated ends in ms since the start; None where there is nothing to estimate, or too little to do it from."""

    prepared_ms: int | None = None  # not estimated: the end of the last preparation, if no other is expected
    preparation_ms: int | None = None  # the last of those that run now; None if other nodes are likely to prepare later
    least_done: int = 0  # as many tasks must be completed before there is an estimate; 0 if there is another reason
    tasks_ms: int | None = None
    tasks_are_deleted: bool = False  # some of the last tasks are deleted before they are completed
    job_ms: int | None = None
    basis: Sequence[PlannedInput] = ()  # the commands and faults to come up to the end, which a simulated one rests on
    stays_active: bool = False  # neither the end of its tasks nor of its job manager ends the job (JOB-7, JM-4)
    is_simulated: bool = False  # exact, from a run that was played ahead

    @property
    def end_ms(self) -> int | None:
        """The end of the job, or of its tasks if it stays active then; None while only its preparation's is known."""
        return self.tasks_ms if self.job_ms is None else self.job_ms


class Forecaster:
    """Estimates for one job."""

    def __init__(
        self,
        simulation: Simulation,
        tasks: TaskPage,
        preparation: InstancePage,
        release: InstancePage,
        starts: FirstStarts,
    ) -> None:
        """Estimate for the job of these pages; ``starts`` is shared with those of other jobs."""
        self._simulation = simulation
        self._tasks = tasks
        self._preparation, self._release = preparation, release
        self._starts = starts
        self._large: tuple[object, int, int | None] = (None, 0, None)  # the estimate, and what it was made from

    def is_of(self, tasks: TaskPage, preparation: InstancePage, release: InstancePage) -> bool:
        """Return whether it estimates for the job of these pages."""
        return (self._tasks, self._preparation, self._release) == (tasks, preparation, release)

    def estimate(self, *, has_stuck: bool = False) -> Forecast:
        """Return the estimates as of now; none for a job that is completed, deleted or not there yet.

        With ``has_stuck`` some of its tasks never run, so that they do not end the job, nor do those that fit no node.
        """
        job = self._simulation.world.jobs.find(self._tasks.job_id)
        if job is None or job.state in (None, JobState.COMPLETED):
            return Forecast()
        if job.state in (JobState.TERMINATING, JobState.DELETING):
            return Forecast(job_ms=self._released_ms())
        has_stuck = has_stuck or has_misfits(self._simulation.world, job)
        tasks_ms = None if has_stuck else self._tasks_ms(job)
        ends_itself = not has_stuck and job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
        job_ms = None if tasks_ms is None or not ends_itself else self._end_after_ms(job, tasks_ms)
        limit = job_limit(self._simulation.world, job)
        if limit is not None and (job_ms is not None or not ends_itself):
            job_ms = limit.when_ms if job_ms is None else min(job_ms, limit.when_ms)
            tasks_ms = tasks_ms if tasks_ms is None or tasks_ms <= limit.when_ms else None  # it ends with tasks undone
        preparation_ms = self._known(_latest_ms(self._preparation, (HookStatus.RUNNING, HookStatus.RETRYING)))
        is_known = not self._more_preparations(job)
        return Forecast(
            prepared_ms=self._last_prepared_ms() if is_known and preparation_ms is None else None,
            preparation_ms=preparation_ms if is_known else None,
            least_done=self._least_done(job),
            tasks_ms=tasks_ms,
            job_ms=job_ms,
            stays_active=not ends_itself and limit is None and not ends_with_manager(job),
        )

    # -- preparation and release ---------------------------------------------------------------------------------

    def _last_prepared_ms(self) -> int | None:
        if not self._preparation.counts().get(HookStatus.SUCCEEDED):
            return None
        last_ms = self._preparation.last_end_ms()
        return last_ms if last_ms <= self._simulation.now_ms else None

    def _more_preparations(self, job: Job) -> bool:
        """Return whether tasks wait while some nodes have not prepared, or must prepare again."""
        if not job.has_prep or not job.counts[ACTIVE]:
            return False
        superseded = self._preparation.counts().get(HookStatus.SUPERSEDED, 0)
        return bool(superseded or self._preparation.nodes_without_record())

    def _released_ms(self) -> int | None:
        """Return the last planned end of the release tasks that run; None while others have not started."""
        if self._release.counts().get(HookStatus.WILL_RUN):
            return None
        return self._known(_latest_ms(self._release, (HookStatus.RUNNING,)))

    def _known(self, when_ms: int | None) -> int | None:
        """Return a planned end; None for the end of a process that waits for something (JM-12)."""
        return when_ms if when_ms is not None and self._simulation.world.is_known(when_ms) else None

    def _end_after_ms(self, job: Job, tasks_ms: int) -> int:
        """Return the end of a job after its tasks: with the slowest release task, drawn as the scenario says.

        The job waits for a node that is out of reach until it recovers, but not for ever (REL-13).
        """
        nodes, world = self._release.counts().get(HookStatus.WILL_RUN, 0), self._simulation.world
        duration = release_duration(world, job)
        if not nodes or duration is None:
            return tasks_ms
        lost = places(world.nodes.state, NodeState.UNUSABLE)
        owing = zip(lost, self._release.statuses_of(lost), strict=True)
        back_ms = [world.nodes[node].recover_ms for node, status in owing if status is HookStatus.WILL_RUN]
        given_up_ms = tasks_ms + UNREACHABLE_WAIT_MS
        waits_ms = max((min(given_up_ms, given_up_ms if each is None else each) for each in back_ms), default=0)
        return max(waits_ms, tasks_ms + draws.draw_ms(duration, nodes / (nodes + 1)))

    # -- tasks ---------------------------------------------------------------------------------------------------

    def _least_done(self, job: Job) -> int:
        """Return the number of completed tasks without which nothing is estimated; 0 if there are as many."""
        running = job.counts[RUNNING]
        least = max(1, min(running // 2, job.total // 10))
        return least if running and job.counts[COMPLETED] < least else 0

    def _tasks_ms(self, job: Job) -> int | None:
        done, running = job.counts[COMPLETED], job.counts[RUNNING]
        waiting = job.counts[ACTIVE] + job.counts[PREPARING]
        if not running:
            return None
        if waiting and (job.state in _UNENDING or self._least_done(job)):
            return None
        if running <= MANY:
            return self._last_end_ms(job)
        # An estimate of a large job stands, and costs nothing, until a little of what was done or is left has happened.
        known, count = (self._simulation.jumps, job.row, job.total), 2 * done + running
        if self._large[0] != known or abs(count - self._large[1]) > min(count, 4 * (waiting + running)) // _MUCH_MORE:
            self._large = known, count, self._last_end_ms(job)
        return self._large[2]

    def _last_end_ms(self, job: Job) -> int | None:
        """Return when the last of the job's tasks ends, if as many run at once as now, or as on average so far.

        None if no end of a task that runs is known. Those that wait take as long as those that run, on average. Slots
        that become free at different moments have nothing to do for half of that time, until the last task ends.
        """
        world, tasks, now_ms = self._simulation.world, self._simulation.world.tasks, self._simulation.now_ms
        spans = [(tasks.started[task], tasks.ended[task]) for task in self._tasks.running()]
        known = [(start_ms, end_ms) for start_ms, end_ms in spans if world.is_known(end_ms)]
        began_ms, waiting = self._starts.began_ms(job), job.counts[ACTIVE] + job.counts[PREPARING]
        if began_ms is None or not known or not waiting:
            return max((end_ms for _, end_ms in known), default=None)
        starts_ms, ends_ms = [start_ms for start_ms, _ in known], [end_ms for _, end_ms in known]
        last_ms = max(ends_ms)
        mean_ms = (sum(ends_ms) - sum(starts_ms)) / len(known)
        worked_ms = mean_ms * job.counts[COMPLETED] + now_ms * len(known) - sum(starts_ms)
        at_once = max(len(spans), min(len(spans) + waiting, worked_ms / max(1, now_ms - began_ms)))
        left_ms = mean_ms * waiting + (sum(ends_ms) / len(known) - now_ms) * len(spans)
        return max(last_ms, round(now_ms + left_ms / at_once + (last_ms - min(ends_ms)) / 2))


def _latest_ms(page: InstancePage, running: tuple[HookStatus, ...]) -> int | None:
    """Return the last of the planned ends of running instances."""
    if page.counts().keys().isdisjoint(running):
        return None
    codes, found = page.codes(), values(page.columns()[2], page.rows())
    latest_ms = max(found)
    if HookStatus(codes[found.index(latest_ms)]) in running:
        return latest_ms
    return max(found[at] for status in running for at in places(codes, status.value))


# -- planned ends ----------------------------------------------------------------------------------------------------


def planned_task_end_ms(simulation: Simulation, task: int) -> int | None:
    """Return the planned end of a running task, in ms since the start; None while it does not run, or is not known."""
    world = simulation.world
    if world.tasks.state_of(task) is not TaskState.RUNNING:
        return None
    end_ms = task_end_ms(world, task)
    return end_ms if world.is_known(end_ms) else None


def planned_end_ms(simulation: Simulation, node: int) -> int | None:
    """Return the last planned end of what runs on a node, in ms since the start; None where nothing runs.

    A process that is retried, or stopped by what is not known yet, ends at another moment.
    """
    world = simulation.world
    ends = [task_end_ms(world, task) for task in world.nodes.running[node]]
    instances = world.instances
    for row in instances.rows_on(node):
        if instances.prep_state[row] == InstanceState.RUNNING:
            ends.append(known_end_ms(world, world.jobs[instances.job[row]], node, instances.prep_end[row]))
        if instances.release_state[row] == InstanceState.RUNNING:
            ends.append(instances.release_end[row])
    return max(filter(world.is_known, ends), default=None)


_SUCCEEDED = equals(HookStatus.SUCCEEDED.value)


class Spread(NamedTuple):
    """The spread of some durations, in ms."""

    median_ms: int
    p95_ms: int
    slowest_ms: int


class Durations:
    """The durations of the successful runs of a page, in order; kept until one more has ended, or another began."""

    def __init__(self, simulation: Simulation) -> None:
        """Create without a page."""
        self._simulation = simulation
        self._sorted_ms: Kept[list[int]] = Kept()

    def spread(self, page: InstancePage) -> Spread | None:
        """Return the spread of the successful runs so far; None where there are none."""
        rows, (_, all_starts, ends), codes = page.rows(), page.columns(), page.codes()
        starts, done = values(all_starts, rows), codes.translate(_SUCCEEDED)
        sources = self._simulation.jumps, page, done, starts
        found = self._sorted_ms.get(
            sources, lambda: sorted(map(sub, compress(values(ends, rows), done), compress(starts, done)))
        )
        if not found:
            return None
        median_ms, p95_ms = (round(percentile(found, share) or 0) for share in (0.5, 0.95))
        return Spread(median_ms, p95_ms, found[-1])
