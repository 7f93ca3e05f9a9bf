"""Planned ends of what runs, and estimated ends of a job, its tasks and its preparation if nothing goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.byte_columns import equals, may_exceed
from engine.base.terms import InstanceState, JobState, OnAllTasksComplete, TaskState
from engine.rules.decisions.jobs import ends_with_manager
from engine.rules.processes.hooks import release_duration
from engine.specs import draws
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.estimates.attempts import Slot, attempts_seen, last_end_ms, slots_of
from engine.views.pages.bulk import places, values
from engine.views.pages.hook_status import HookStatus
from engine.world.agenda import known_end_ms, task_end_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.run.planned import PlannedInput
    from engine.state.jobs import Job
    from engine.views.log.first_starts import FirstStarts
    from engine.views.pages.instances import InstancePage
    from engine.views.pages.tasks import TaskPage
    from engine.world.world import World

_RUNS = equals(RUNNING)
_SPARSE = 16  # rows for each running task: then looking at all takes longer than a list of those that run
MANY = 64  # running tasks, which are not looked at in each frame
_MUCH_MORE = 16  # the part of what was done, or of four times what is left, after which another estimate is made
_UNENDING = (JobState.DISABLING, JobState.DISABLED)  # no task starts, so the end is unknown


class Forecast(NamedTuple):
    """Estimated ends in ms since the start; None where there is nothing to estimate, or too little to do it from."""

    prepared_ms: int | None = None  # not estimated: the end of the last preparation, if no other is expected
    preparation_ms: int | None = None  # the last of those that run now
    more_preparations: bool = False  # other nodes are likely to prepare later
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

    def estimate(self) -> Forecast:
        """Return the estimates as of now; none for a job that is completed, deleted or not there yet."""
        job = self._simulation.world.jobs.find(self._tasks.job_id)
        if job is None or job.state in (None, JobState.COMPLETED):
            return Forecast()
        if job.state in (JobState.TERMINATING, JobState.DELETING):
            return Forecast(job_ms=self._released_ms())
        tasks_ms = self._tasks_ms(job)
        ends_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
        job_ms = None if tasks_ms is None or not ends_itself else tasks_ms + self._release_ms(job)
        if job.max_wall_clock_ms is not None and (job_ms is not None or not ends_itself):
            limit_ms = job.created_ms + job.max_wall_clock_ms
            job_ms = limit_ms if job_ms is None else min(job_ms, limit_ms)
            tasks_ms = tasks_ms if tasks_ms is None or tasks_ms <= limit_ms else None  # it ends with tasks undone
        preparation_ms = self._known(_latest_ms(self._preparation, (HookStatus.RUNNING, HookStatus.RETRYING)))
        more_preparations = self._more_preparations(job)
        return Forecast(
            prepared_ms=None if preparation_ms is not None or more_preparations else self._last_prepared_ms(),
            preparation_ms=preparation_ms,
            more_preparations=more_preparations,
            tasks_ms=tasks_ms,
            job_ms=job_ms,
            stays_active=not ends_itself and job.max_wall_clock_ms is None and not ends_with_manager(job),
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

    def _release_ms(self, job: Job) -> int:
        """Return the expected duration of the slowest release task to come, drawn as the scenario says."""
        nodes = self._release.counts().get(HookStatus.WILL_RUN, 0)
        duration = release_duration(self._simulation.world, job)
        return draws.draw_ms(duration, nodes / (nodes + 1)) if nodes and duration is not None else 0

    # -- tasks ---------------------------------------------------------------------------------------------------

    def _tasks_ms(self, job: Job) -> int | None:
        done, running = job.counts[COMPLETED], job.counts[RUNNING]
        waiting = job.counts[ACTIVE] + job.counts[PREPARING]
        if not running:
            return None
        if job.state in _UNENDING or done < max(1, min(running // 2, job.total // 10)):
            return None if waiting else _last_planned_ms(self._simulation.world, self._tasks.running())
        if running <= MANY:
            return self._last_end_ms(job)
        # An estimate of a large job stands, and costs nothing, until a little of what was done or is left has happened.
        known, count = (self._simulation.jumps, job.row, job.total), 2 * done + running
        if self._large[0] != known or abs(count - self._large[1]) > min(count, 4 * (waiting + running)) // _MUCH_MORE:
            self._large = known, count, self._last_end_ms(job)
        return self._large[2]

    def _last_end_ms(self, job: Job) -> int | None:
        """Return when the last of the job's tasks ends, from what was seen so far; None if that is too little."""
        world, ranges = self._simulation.world, self._tasks.ranges()
        running, waiting = job.counts[RUNNING], job.counts[ACTIVE] + job.counts[PREPARING]
        began_ms = self._starts.began_ms(job)
        seen, slots = attempts_seen(world, ranges), slots_of(world, ranges, running)
        if began_ms is None or not slots or not seen.durations_ms:
            return None
        # As many as on average so far run at once: some wait for others, or for nodes that have been lost.
        worked_ms = seen.worked_ms * (job.counts[COMPLETED] + running)
        idle = max(0, min(waiting, round(worked_ms / max(1, world.now_ms - began_ms)) - running))
        slots += [Slot(world.now_ms, 0)] * round(idle * len(slots) / running)
        last_ms = last_end_ms(seen, slots, running + idle, waiting)
        if not _may_end_later(world, ranges, running, last_ms):
            return last_ms
        # The longest of those that run may not be among these slots.
        return max(last_ms, _last_planned_ms(world, self._tasks.running()) or 0)


def _may_end_later(world: World, ranges: Sequence[range], running: int, when_ms: int) -> bool:
    """Return False if none of many tasks that run in these rows is planned to end after a moment, else mostly True."""
    state, start, stop = world.tasks.state, ranges[0].start, ranges[-1].stop
    start, stop = state.find(RUNNING, start, stop), state.rfind(RUNNING, start, stop) + 1
    if stop - start > _SPARSE * running:  # those of other jobs lie among them
        return True
    return may_exceed(world.tasks.ended[start:stop], state[start:stop].translate(_RUNS), when_ms)


def _last_planned_ms(world: World, running: Sequence[int]) -> int | None:
    """Return the last planned end of these tasks; None where none is known."""
    ends = list(map(world.tasks.ended.__getitem__, running))
    last_ms = max(ends, default=None)
    if last_ms is None or world.is_known(last_ms):
        return last_ms
    return max(filter(world.is_known, ends), default=None)


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
