"""Concerns about work that is held up: retries, jobs whose tasks will not run, and missed occurrences.

Preparation tasks and tasks that have failed are listed while they are being retried, until they are completed. A job is
stalled if its tasks will not run unless something changes. Job schedules are listed with occurrences that made no job,
and jobs to which no tasks are added.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from functools import cache, partial
from itertools import compress
from typing import TYPE_CHECKING, cast

from engine.base.errors import exit_text
from engine.base.lifecycles import COMING_UP, NODE_STATES
from engine.base.terms import (
    AllocationState,
    InstanceState,
    JobScheduleState,
    JobState,
    NodeState,
    PoolState,
    TaskState,
)
from engine.base.values import called, picked, places, values
from engine.rules.decisions import capacity
from engine.rules.job_schedules import missed
from engine.run.agenda import may_act, next_words, subjects_of_job
from engine.state.acting import ProcessKind
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED, RUNNING
from engine.state.tasks import GONE as DELETED
from engine.views.diagnosis.candidates import disabled_by, network_remedy
from engine.views.diagnosis.model import (
    MOST_NAMED,
    Clause,
    Condition,
    Items,
    apart,
    concern,
    first_names,
    listed,
    moment,
    named,
    some,
    whose,
)
from engine.views.diagnosis.pools import resize_remedy
from engine.views.hook_status import eligible_again
from engine.views.log.reader import LogReader, of_kind
from engine.views.log.tally import is_retry
from engine.views.resources.account import is_loss
from engine.views.resources.instances import oldest_waiting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.run.agenda import PlannedInputs
    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import Pool
    from engine.views.diagnosis.model import Finding
    from engine.views.diagnosis.stuck import NeverRun
    from engine.world import World


_SEEN = 2  # evaluations of a formula since a job has come: the first may go by samples from before
_IN_VAIN = 5  # failed attempts with the same exit code
_IS_OVER = bytes(state in (COMPLETED, DELETED) for state in range(256))


def preparation_retries(simulation: Simulation, *, names_jobs: bool) -> list[Finding]:
    """Return a concern for each job with preparations that run again after a failure; one for all if there are many."""
    world = simulation.world
    instances, by_job = world.instances, dict[int, list[int]]()
    for row in places(bytes(instances.prep_state[: instances.length]), InstanceState.RUNNING):
        if instances.prep_retries[row] and world.nodes.state[instances.node[row]] != GONE:
            by_job.setdefault(instances.job[row], []).append(row)
    return [
        _retried(world, jobs, [row for job in jobs for row in by_job[job.row]], names_jobs=names_jobs)
        for jobs in apart([world.jobs[job] for job in by_job])
    ]


def _retried(world: World, jobs: Sequence[Job], rows: Sequence[int], *, names_jobs: bool) -> Finding:
    instances = world.instances
    nodes = [instances.node[row] for row in rows]
    on, among = named("node", first_names(world, nodes), len(nodes))
    names = tuple(job.id for job in jobs)
    return concern(
        Condition.PREPARATION_RETRIED,
        f"preparation task{f' of {whose(names)}' if names_jobs else ''} failed on {on} and is retried",
        min(instances.prep_start[row] for row in rows),
        *(_attempt(world, jobs[0], rows) if len(jobs) == 1 else (listed(names),)),
        items=Items(nodes=nodes, jobs=names),
        names=among,
    )


def _attempt(world: World, job: Job, rows: Sequence[int]) -> tuple[Clause, Clause]:
    """Return the number of the attempt of a preparation that runs, and what waits for it."""
    prep = job.spec.job_preparation_task
    assert prep is not None
    most = prep.constraints.max_task_retry_count
    attempt = max(world.instances.prep_retries[row] for row in rows) + 1
    waits = "tasks there wait for it" if prep.wait_for_success else ""
    return Clause(f"attempt {attempt:,}{'' if most < 0 else f' of {most + 1:,}'}"), Clause(waits, "PREP-6")


class TaskRetries:
    """Concerns about tasks that have failed and wait for another attempt, or run again. Each entry is read once."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._reader = LogReader(simulation, of_kind(_begins_again))
        self._failed: dict[int, int] = {}  # by task that is not completed: the entry of its last failure
        self._tasks: list[int] = []  # these tasks, sorted
        # Whether entries of a shape say that a task is retried. Thousands of entries share few shapes.
        self._is_retry = cache(lambda shape: _is_retry(simulation.log.shapes[shape]))
        self._by_job: dict[int, list[int]] = {}  # the same tasks by job
        # About several tasks: by whether it names jobs, and these jobs.
        self._of_many: dict[tuple[bool, tuple[int, ...]], Finding] = {}
        self._jumps = simulation.jumps

    def concerns(self, *, names_jobs: bool) -> list[Finding]:
        """Return a concern for each job with such tasks; one for all if there are many jobs."""
        self._update()
        jobs = map(self._simulation.world.jobs.__getitem__, self._by_job)
        present = [job for job in jobs if job.state is not None]
        return [self._of_jobs(group, names_jobs=names_jobs) for group in apart(present)]

    def _of_jobs(self, jobs: Sequence[Job], *, names_jobs: bool) -> Finding:
        """Return the concern of these jobs; the same object while it is about the same failures of several tasks.

        That of a single task also says which attempt runs or is awaited.
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
        """Update the tasks, and group them by job."""
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
        """Add the failures since the last call, and drop tasks that are completed. After a jump start again.

        Return whether there may be other failures than before.
        """
        simulation, failed = self._simulation, self._failed
        log = simulation.log
        is_back, entries = self._reader.news()
        begins = is_back or self._jumps != simulation.jumps
        if begins:
            self._jumps, entries = simulation.jumps, self._reader.entries()
            failed.clear()
            self._tasks = []
        if entries:
            failed.update(zip(picked(log.row_a, entries), entries, strict=True))
            if not all(map(self._is_retry, set(picked(log.shape_of, entries)))):
                for task in [task for task, at in failed.items() if not self._is_retry(log.shape_of[at])]:
                    del failed[task]
            self._tasks = sorted(failed)
        is_done = bytes(values(simulation.world.tasks.state, self._tasks)).translate(_IS_OVER)  # thousands, each frame
        has_done = 1 in is_done
        if has_done:
            for task in compress(self._tasks, is_done):
                del failed[task]
            self._tasks = sorted(failed)
        return begins or bool(entries) or has_done

    def _concern(self, jobs: Sequence[Job], tasks: Sequence[int], *, names_jobs: bool) -> Finding:
        log, table = self._simulation.log, self._simulation.world.tasks
        entries = list(map(self._failed.__getitem__, tasks))
        first, shapes = min(entries), set(map(log.shape_of.__getitem__, entries))
        ended = [dict(log.shapes[number].fields) for number in shapes]
        codes = {cast("int | None", fields["exitCode"]) for fields in ended}
        is_vain = len(codes) == 1 and max(cast("int", fields["attempt"]) for fields in ended) >= _IN_VAIN
        cause = f": exit code {exit_text(codes.pop())}" if len(codes) == 1 else ""
        who, among = named("task", [table.task_id(task) for task in tasks[:MOST_NAMED]], len(tasks))
        names = tuple(job.id for job in jobs)
        of, are = f" of {whose(names)}" if names_jobs else "", "are" if among else "is"
        return concern(
            Condition.TASK_RETRIED_IN_VAIN if is_vain else Condition.TASK_RETRIED,
            f"{who}{of} failed and {are} retried{cause}",
            log.when[first],
            self._attempt(tasks, ended) if len(jobs) == 1 else listed(names),
            items=Items(tasks=tasks, jobs=names),
            names=among,
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


def stalled_concerns(simulation: Simulation, planned: PlannedInputs, never: NeverRun) -> list[Finding]:
    """Return the tasks that can never run, and the jobs none of whose tasks run although some wait.

    Not told are jobs that wait for the turn of others. The effect ends with what the timeline has planned for the job.
    """
    world = simulation.world
    is_final = not may_act(world)
    held = _holding(world) if is_final else Counter[int]()
    busy: dict[int, int] = {}  # tasks on the nodes of each pool that can end before others do
    waiting = []
    for job in world.jobs.present():
        busy[job.pool] = busy.get(job.pool, 0) + job.busy - held[job.row]
        if job.counts[ACTIVE]:
            waiting.append(job)
    found = []
    for job in waiting:
        plans = planned.to_come(subjects_of_job(world, job))
        permanent = list(never.of_job(job, is_final=is_final and not plans)) if job.state is JobState.ACTIVE else []
        stalls = [stall for _, stall in permanent]
        left = job.counts[ACTIVE] - sum(count for count, _ in permanent)
        stall = None
        if not job.busy or job.ready_count:
            stall = _stall(world, job, left, is_busy=job.busy > held[job.row], is_pool_busy=busy[job.pool] > 0)
        for one in [*stalls, *([stall] if stall is not None else [])]:
            oldest = oldest_waiting(world, job)
            begun_ms = 0 if oldest is None else world.tasks.block_of(oldest).created_ms
            items = one.items._replace(jobs=(job.id,), pools=(job.pool_id,) if job.pool_id else ())
            words = [Clause(next_words(plans, partial(moment, world)))] if plans else []
            effects, since_ms = (*one.effects, *words), max(one.since_ms, job.since_ms, begun_ms)
            condition = Condition.JOB_STATE if one.condition is Condition.JOB_DISABLED and plans else one.condition
            found.append(one._replace(condition=condition, since_ms=since_ms, effects=effects, items=items))
    return found


def _holding(world: World) -> Counter[int]:
    """Return how many tasks of each job run until all its other tasks are completed, and give no commands (JM-12)."""
    tasks = world.tasks
    waiting = (one for _, one in world.acting if one.process.kind is ProcessKind.TASK and one.waits)
    return Counter(one.job for one in waiting if one.acts.until_others and tasks.state[one.process.row] == RUNNING)


def _stall(world: World, job: Job, left: int, *, is_busy: bool, is_pool_busy: bool) -> Finding | None:
    """Return what keeps the tasks of a job from running; None if nothing does, or if it is the turn of other jobs.

    ``left`` tasks are not told as never running already.
    """
    pool = world.pools[job.pool] if job.pool >= 0 else None
    steady_ms = 0 if pool is None else pool.allocation_since_ms
    count = job.counts[ACTIVE]
    tasks, wait = some(count, "task"), "wait" if count > 1 else "waits"
    waiting = f"{tasks} of {job.id} {wait}"
    if job.state is JobState.DISABLED:
        by = disabled_by(world, job)
        effects = f"{tasks} {wait}", Clause("the exit condition of the task says so", "EXIT-5") if "exit" in by else ""
        text = f"{called('job', job.id)} is disabled{by}"
        return concern(Condition.JOB_DISABLED, text, job.since_ms, *effects)
    if job.state is not JobState.ACTIVE:
        return None
    if pool is None or pool.state is not PoolState.ACTIVE:
        effect, remedy = f"there is no {called('pool', job.pool_id)}", "create it"
        gone = world.pools.latest(job.pool_id)
        steady_ms = gone.since_ms if gone is not None else 0
        if pool is not None and pool.state is PoolState.DELETING:
            effect, remedy = f"{called('pool', pool.id)} is being deleted", "create it again"
        return concern(Condition.JOB_POOL, f"{waiting} for a pool", steady_ms, effect, remedy=remedy)
    if not left:
        return None
    is_emptied = pool.scaling is None and not pool.target_dedicated + pool.target_spot
    if is_busy:
        return None
    if pool.pending or (pool.allocation is AllocationState.RESIZING and not is_emptied):
        is_cut_off = capacity.blocked_ports(world, pool) and not any(values(world.nodes.open, pool.nodes))
        return _cut_off(world, pool, f"{waiting}: no node takes tasks") if is_cut_off else None
    if is_pool_busy and not job.ineligible:
        return None  # others have their turn
    return _without_nodes(world, job, pool, waiting, is_pool_busy=is_pool_busy)


def _without_nodes(world: World, job: Job, pool: Pool, waiting: str, *, is_pool_busy: bool) -> Finding | None:
    """Return why none of the nodes of a steady pool takes the job's tasks."""
    states, steady_ms = bytes(values(world.nodes.state, pool.nodes)), pool.allocation_since_ms
    is_cut_off = bool(capacity.blocked_ports(world, pool))
    if not is_cut_off and (any(map(states.count, COMING_UP)) or _comes_back(world, pool, states)):
        return None
    if states.count(GONE) == len(states):
        return _empty(world, job, pool, waiting)
    if job.ineligible:
        present = [node for node, state in zip(pool.nodes, states, strict=True) if state != GONE]
        if all(job.ineligible >> world.nodes[node].position & 1 for node in present):
            text, effect = f"preparation of {job.id} failed on every node", f"{waiting}, and none can run"
            remedy, items = f"{eligible_again(world.options).remedy} a node, or add a node", Items(nodes=tuple(present))
            failed_ms = max(world.instances.prep_end[world.instances.row(job.row, node)] for node in present)
            return concern(Condition.INELIGIBLE, text, failed_ms, Clause(effect, "PREP-11"), remedy=remedy, items=items)
    if is_pool_busy:
        return None
    if not job.ready_count:
        return None  # the scheduler is about to see them, or they are retried
    if any(values(world.nodes.open, pool.nodes)):
        return _gang(world, job, pool, waiting)
    text = f"{waiting}: no node takes tasks"
    if is_cut_off and any(states.count(state) for state in (*COMING_UP, NodeState.UNUSABLE)):
        return _cut_off(world, pool, text)
    by_state = {state: node for node, state in zip(pool.nodes, states, strict=True) if state != GONE}
    closed_ms = max(steady_ms, *values(world.nodes.since, pool.nodes))
    counts = ((some(states.count(state), "node"), NODE_STATES[state].text) for state in NodeState if state in states)
    closed = ", ".join(f"{nodes} {why or 'with scheduling disabled'}" for nodes, why in counts)
    return concern(Condition.NODES, text, closed_ms, closed, items=Items(nodes=tuple(by_state.values())))


def _comes_back(world: World, pool: Pool, states: bytes) -> bool:
    """Return whether a node is out of order only for a time: it recovers, or Batch tries to replace its VM."""
    is_refilled = pool.refill_at_ms is not None and NodeState.PREEMPTED in states
    return is_refilled or any(world.nodes[node].recover_ms is not None for node in pool.nodes)


def _cut_off(world: World, pool: Pool, text: str) -> Finding:
    effect = Clause(f"closed ports in the subnet of {called('pool', pool.id)} cut its nodes off from Batch", "NET-4")
    return concern(Condition.NETWORK, text, pool.allocation_since_ms, effect, remedy=network_remedy(world, pool))


def _empty(world: World, job: Job, pool: Pool, waiting: str) -> Finding | None:
    effect, remedy = "its formula leaves its target at 0", "change its formula"
    if pool.resize_errors and (pool.target_dedicated or pool.target_spot):
        effect = f"its resize failed: {pool.resize_errors[0].code}"
        remedy = "resize it or add another pool" if pool.scaling is None else resize_remedy(world, pool)
    elif pool.scaling is None:
        effect, remedy = "its target is 0", "resize it or switch on autoscale"
    elif len(pool.scaling.runs) < _SEEN or pool.scaling.runs[-_SEEN].when_ms <= job.created_ms:
        return None  # the formula has hardly seen the job yet
    text = f"{waiting}: {called('pool', pool.id)} has no nodes"
    return concern(Condition.NO_NODES, text, pool.allocation_since_ms, effect, remedy=remedy)


def _gang(world: World, job: Job, pool: Pool, waiting: str) -> Finding | None:
    """Return the multi-instance task for which the pool has too few nodes, or those whose slots others hold."""
    queues = job.queues_in_order()
    profile = world.tasks.profile_of(queues[0][1].head()) if queues else None
    nodes = sum(values(world.nodes.open, pool.nodes))
    if profile is not None and job.busy and max(values(world.nodes.free, pool.nodes)) < profile.required_slots:
        held = Clause("a task that runs until they have ended holds the slots", "JM-12")
        remedy = "give the pool more nodes, or its nodes more slots"
        return concern(Condition.ROOM, f"{waiting}, none can run", job.since_ms, held, remedy=remedy)
    if profile is None or profile.instances <= nodes:
        return None
    there = f"{nodes:,} of {called('pool', pool.id)} take tasks"
    effect = f"the first one needs {profile.instances:,} nodes at once; {there}"
    return concern(Condition.ROOM, f"{waiting}, none runs", pool.allocation_since_ms, effect)


class ScheduleConcerns:
    """Concerns about all job schedules, completed ones too. Each entry of the log is read once."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._losses = LogReader(simulation, of_kind(is_loss))

    def concerns(self) -> list[Finding]:
        """Return the occurrences that made no job, of deleted schedules too, and schedules whose jobs get no tasks."""
        return [found for each in self._simulation.world.job_schedules.rows for found in self._of(each)]

    def _of(self, schedule: JobSchedule) -> Iterator[Finding]:
        spec, name, items = schedule.spec, called("job schedule", schedule.id), Items(schedules=(schedule.id,))
        is_active = schedule.state is JobScheduleState.ACTIVE
        if is_active and spec.job_specification.job_manager_task is None and spec.schedule.recurrence_interval:
            text, effect = f"{name}: its jobs have no job manager task", "others must add their tasks and end them"
            yield concern(Condition.NO_JOB_MANAGER, text, schedule.created_ms, Clause(effect, "JM-3"), items=items)
        if schedule.missed_ms is not None:
            count = missed(self._simulation.world, schedule, self._simulation.now_ms)  # with the reason of the last one
            last, for_them = (", the last one", " for them") if count > 1 else ("", "")
            text = f"{name}: {some(count, 'occurrence')} missed{last}: {self._last_reason(schedule.row)}"
            effect = f"no job was created{for_them}"
            yield concern(Condition.OCCURRENCE_MISSED, text, schedule.missed_ms, effect, items=items)

    def _last_reason(self, row: int) -> str:
        log = self._simulation.log
        at = next(at for at in reversed(self._losses.entries()) if log.row_a[at] == row)
        return str(dict(log.shapes[log.shape_of[at]].fields)["reason"])
