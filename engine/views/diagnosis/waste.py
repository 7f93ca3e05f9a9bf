"""Concerns about what costs money without need: jobs left open, pools, nodes and slots that nothing uses.

Beside them stands the work that was lost when tasks began again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import exit_text
from engine.base.lifecycles import UNBILLED
from engine.base.terms import AllocationState, JobScheduleState, JobState, NodeState, OnAllTasksComplete, TaskState
from engine.base.values import HOUR_MS, called, format_span, picked
from engine.run.agenda import may_act, subjects_of_job
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED
from engine.views.diagnosis.model import Clause, Condition, Items, concern, first_names, ids_of, named, some
from engine.views.log.histories import TaskHistory
from engine.views.log.latest import ready_ms
from engine.views.log.reader import Kept, matching
from engine.views.resources.instances import last_task_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.run.agenda import PlannedInputs
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.views.diagnosis.model import Finding
    from engine.world import World


# -- left open -------------------------------------------------------------------------------------------------------


class OpenJob(NamedTuple):
    """An active job whose tasks have all ended, or that has none."""

    row: int
    since_ms: int  # the end of its last task, or its creation


class LeftOpen:
    """The jobs that stay active although their tasks have ended, from when nothing to come ends them (JOB-7).

    In a run that is over these are all that are active.
    """

    def __init__(self, simulation: Simulation, planned: PlannedInputs) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._planned = planned
        self._ends: dict[int, Kept[int | None]] = {}  # of the last tasks, by job

    def concerns(self) -> list[Finding]:
        """Return the concerns about these jobs."""
        return left_open_concerns(self._simulation.world, self.jobs())

    def jobs(self) -> list[OpenJob]:
        """Return these jobs. The cost is that of the jobs, not of their tasks."""
        simulation, world = self._simulation, self._simulation.world
        quiet = [job for job in world.jobs.present() if job.state is JobState.ACTIVE and not job.counts[ACTIVE]]
        quiet = [job for job in quiet if not job.busy]
        if not simulation.finished and quiet:
            quiet = [] if may_act(world) else [job for job in quiet if not self._may_end(job)]
        return [OpenJob(job.row, self._since_ms(job)) for job in quiet]

    def _may_end(self, job: Job) -> bool:
        """Return whether something in the run ends the job or adds tasks: itself, its limit, or the timeline."""
        ends_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB and job.total
        is_limited = ends_itself or job.max_wall_clock_ms is not None
        return bool(is_limited or self._planned.to_come(subjects_of_job(self._simulation.world, job)))

    def _since_ms(self, job: Job) -> int:
        simulation = self._simulation
        sources = simulation.jumps, job.total, job.failed, sum(job.deleted.values()), job.counts[COMPLETED]
        ended = self._ends.setdefault(job.row, Kept())
        end_ms = ended.get(sources, lambda: last_task_ms(simulation.world, job))
        return job.created_ms if end_ms is None else end_ms


def left_open_concerns(world: World, found: Iterable[OpenJob]) -> list[Finding]:
    """Return the concerns about jobs that nothing in the run ends any more: those with a release task, and others."""
    kinds: dict[tuple[bool, bool], list[OpenJob]] = {}
    for each in found:
        job = world.jobs[each.row]
        kinds.setdefault((job.has_release and bool(job.total), bool(job.total)), []).append(each)
    return [
        _left_open(world, each, has_release=has_release, has_tasks=has_tasks)
        for (has_release, has_tasks), each in kinds.items()
    ]


def _left_open(world: World, found: Sequence[OpenJob], *, has_release: bool, has_tasks: bool) -> Finding:
    """Return the concern about jobs of one kind; it is more than advice if their release tasks never run."""
    jobs = [world.jobs[each.row] for each in found]
    ids = tuple(job.id for job in jobs)
    stay, its, it = ("stays", "its", "it") if len(jobs) == 1 else ("stay", "their", "them")
    are = f"{its} tasks have ended" if has_tasks else f"{'it has' if len(jobs) == 1 else 'they have'} no tasks"
    why = f"{its} release task never runs" if has_release else f"{are}, nothing in this run ends {it}"
    return concern(
        Condition.RELEASE_NEVER_RUNS if has_release else Condition.JOB_NEVER_ENDS,
        f"{named('job', ids, len(ids))[0]} {stay} active: {why}",
        min(each.since_ms for each in found),
        ids_of(ids),
        _cost_of_open(world, jobs),
        remedy=f"terminate {it}, or set onAllTasksComplete to terminatejob",
        items=Items(jobs=ids, pools=tuple(dict.fromkeys(job.pool_id for job in jobs if job.pool_id))),
    )


def _cost_of_open(world: World, jobs: Sequence[Job]) -> str:
    """Return what goes on costing money: an auto pool lives as long as its job, other pools until a user acts."""
    pools = [world.pools[row] for row in dict.fromkeys(job.pool for job in jobs if job.pool >= 0)]
    pools = [pool for pool in pools if not pool.busy_slots]  # others pay for those that work
    if len(pools) != 1:
        return _cost(world, pools, f" of {some(len(pools), 'pool')}", "these shrink or are deleted")
    until = "the job ends" if pools[0].auto_job >= 0 else "it shrinks or is deleted"
    return _cost(world, pools, f" of {called('pool', pools[0].id)}", until)


def _cost(world: World, pools: Iterable[Pool], of: str, until: str) -> str:
    """Return how many nodes of some pools are billed, and until when; empty for none."""
    billed = sum(world.nodes.state[node] not in (GONE, *UNBILLED) for pool in pools for node in pool.nodes)
    return f"{some(billed, 'node')}{of} cost{'s' if billed == 1 else ''} money until {until}" if billed else ""


def idle_pool_concerns(simulation: Simulation, planned: PlannedInputs) -> list[Finding]:
    """Return the pools that cost money although no job uses them, nor will: nothing in the run is to come.

    Those of jobs left open are told with their jobs. An active job schedule may use any pool again. A formula may
    shrink its pool before the end of the run.
    """
    world = simulation.world
    if any(one.state is JobScheduleState.ACTIVE for one in world.job_schedules):
        return []
    used = {job.pool for job in world.jobs.present()}
    idle = [pool for pool in world.pools.present() if pool.row not in used]
    if not simulation.finished and idle:
        is_over = not simulation.awaits_commands and not planned.has_more
        idle = [pool for pool in idle if is_over and pool.scaling is None and _is_at_rest(pool)]
    return [
        concern(
            Condition.IDLE_POOL,
            f"no job uses {called('pool', pool.id)}",
            _idle_since_ms(world, pool),
            cost,
            remedy="resize it to 0 nodes, or delete it" if pool.scaling is None else "delete it, or change its formula",
            items=Items(pools=(pool.id,)),
        )
        for pool in idle
        if (cost := _cost(world, [pool], "", "it shrinks or is deleted"))
    ]


def _is_at_rest(pool: Pool) -> bool:
    return pool.allocation is AllocationState.STEADY and not pool.busy_slots


def _idle_since_ms(world: World, pool: Pool) -> int:
    """Return since when no job has used the pool: the end of its last job, or its creation."""
    ends = (job.end_ms or job.since_ms for job in world.jobs.rows if job.pool_id.lower() == pool.id.lower())
    return max(pool.created_ms, max(ends, default=0))


_PARKED = {
    NodeState.OFFLINE: ("offline", "billed, but no tasks run there", "NOP-6", "enable scheduling, or remove"),
    NodeState.DEALLOCATED: ("deallocated", "no tasks run there until it is started", "NOP-8", "start or remove"),
}


def parked_nodes(simulation: Simulation) -> Iterator[Finding]:
    """Yield the nodes that users have taken out of service, by pool and state."""
    world = simulation.world
    states = world.nodes.state
    found = [state for state in _PARKED if states.find(state) >= 0]
    for pool in world.pools.present() if found else ():
        for state in found:
            nodes = [node for node in pool.nodes if states[node] == state]
            if nodes:
                name, effect, rule, remedy = _PARKED[state]
                who, names = named("node", first_names(world, nodes), len(nodes))
                yield concern(
                    Condition.NODES_PARKED,
                    f"{who} of {called('pool', pool.id)}: {name}",
                    min(map(world.nodes.since.__getitem__, nodes)),
                    Clause(effect, rule),
                    remedy=remedy,
                    items=Items(nodes=nodes, pools=(pool.id,)),
                    names=names,
                )._replace(state=state)


_LONG_MS = HOUR_MS  # of a start task


def hanging_start_tasks(simulation: Simulation) -> Iterator[Finding]:
    """Yield the nodes of each pool whose start task has run for more than an hour; it has no time limit (START-4)."""
    world, now_ms = simulation.world, simulation.now_ms
    states, since = world.nodes.state, world.nodes.since
    if states.find(NodeState.WAITING_FOR_START_TASK) < 0:
        return
    for pool in world.pools.present():
        spec = pool.spec.start_task
        waiting = [node for node in pool.nodes if states[node] == NodeState.WAITING_FOR_START_TASK]
        late = [node for node in waiting if now_ms - since[node] >= _LONG_MS]
        if late and spec is not None:
            begun_ms = min(since[node] for node in late)
            who, names = named("node", first_names(world, late), len(late))
            yield concern(
                Condition.START_TASK_HANGS,
                f"start task of {called('pool', pool.id)} has run on {who} for {format_span(now_ms - begun_ms)}",
                begun_ms + _LONG_MS,
                Clause("no tasks run there until it has ended; nothing limits it", "START-4"),
                items=Items(nodes=late, pools=(pool.id,)),
                names=names,
            )


_FEW = 0.1  # of the slots
_LEAST_HOURS = 1  # of nodes


def unused_slots(simulation: Simulation, idle: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the pools whose slots were hardly used, but for ``idle`` ones that ran nothing (ACC-10)."""
    world, now_ms = simulation.world, simulation.now_ms
    told = {pool_id for each in idle for pool_id in each.items.pools}
    ready = ready_ms(world, now_ms)
    for pool in world.pools.rows:
        nodes_ms = sum(ready.get(node, 0) for node in pool.nodes)
        used = pool.busy_slot_ms_at(now_ms) / (nodes_ms * pool.slots) if nodes_ms else 1
        if nodes_ms >= _LEAST_HOURS * HOUR_MS and used < _FEW and (used or pool.id not in told):
            yield concern(
                Condition.SLOTS_UNUSED,
                f"{used:.0%} of the task slots of {called('pool', pool.id)} were used"
                if used
                else f"{called('pool', pool.id)} ran no task",
                now_ms,
                f"its nodes were ready for {nodes_ms / HOUR_MS:,.1f} hours in all",
                items=Items(pools=(pool.id,)),
            )


# -- work that starts over ---------------------------------------------------------------------------------------------

# Why a task was interrupted, after "because", by the chapter of the rule.
CAUSES = {
    "RSZ": "its nodes are removed",
    "SPOT": "Spot nodes are preempted",
    "NOP": "of operations on nodes",
    "NODE": "nodes are lost",
    "JOB": "the job is disabled",
    "POOL": "of changes of the pool",
    "SCHED": "another task comes first",
}


class Restart(NamedTuple):
    """The times that a task was to run again for one reason, and how long the attempts before had run in all."""

    cause: str  # after "because"
    rule: str
    times: int
    lost_ms: int
    is_interruption: bool  # it had not failed
    has_begun: bool  # False: it waits for its next start, or was ended before

    @property
    def words(self) -> str:
        """The reason, number and cost: ``4 times because of operations on nodes; 00:03:35 of work lost``."""
        lost = f"; {format_span(self.lost_ms)} of work lost" if self.lost_ms else ""
        return f"{some(self.times, 'time')} because {self.cause}{lost}"


def restarts(simulation: Simulation, task: int) -> list[Restart]:
    """Return why a task was to run again, the most costly reason first."""
    found: dict[tuple[str, str, bool, bool], list[int]] = {}
    attempts = TaskHistory(simulation, task).attempts()
    last_ms = max((one.start_ms for one in attempts if one.start_ms is not None), default=0)
    for one in attempts:
        if one.ended_as is TaskState.ACTIVE and one.end_ms is not None:
            is_interruption = one.exit_code is None
            why = CAUSES.get(one.rule.partition("-")[0], "it was interrupted")
            cause = why if is_interruption else f"it failed with exit code {exit_text(one.exit_code)}"
            lost_ms = 0 if one.start_ms is None else one.end_ms - one.start_ms
            why_and_how = cause, one.rule or "RETRY-3", is_interruption, one.end_ms <= last_ms
            found.setdefault(why_and_how, []).append(lost_ms)
    every = [Restart(cause, rule, len(lost), sum(lost), *how) for (cause, rule, *how), lost in found.items()]
    return sorted(every, key=lambda each: -each.lost_ms)


def started_over(simulation: Simulation, most: int) -> list[tuple[str, str, list[Restart]]]:
    """Return job and id of the tasks that began again most often, each with the reasons."""
    log, tasks = simulation.log, simulation.world.tasks
    counts = Counter(picked(log.row_a, list(matching(log, _begins_again))))
    began = ((task, restarts(simulation, task)) for task, _ in counts.most_common(most))
    found = ((task, [one for one in each if one.has_begun]) for task, each in began)
    jobs = simulation.world.jobs
    return [(jobs[tasks.block_of(task).job].id, tasks.task_id(task), each) for task, each in found if each]


def _begins_again(shape: Shape) -> bool:
    fields = dict(shape.fields)
    return shape.event == "TaskStateChanged" and fields.get("to") is TaskState.RUNNING and fields.get("attempt") != 1
