"""Verdicts about names, jobs and tasks: what is refused, what runs again, and which nodes a task gets.

A name that nothing has is refused (GEN-1). The state of a job decides which commands the service takes (chapter 9).
Tasks have retries, exit conditions, and reasons not to be queued (chapters 8, 10, 13, 14 and 15).

Placement finds the nodes that may take a task, the node it prefers, and the nodes it gets (SCHED); ``scheduling``
carries the decisions out. Nodes are bits by position in their pool (see ``Pool.buckets``). Preemption between jobs
finds running tasks that go so that a waiting task finds room (SCHED-16, JOB-24); it is asked only for pools on which a
job allows preemption.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from engine.base.errors import BatchError, raise_refusal
from engine.base.terms import (
    DependencyAction,
    JobAction,
    JobState,
    NodeFillType,
    PoolLifetimeOption,
    ReleaseAfter,
    State,
    TaskResult,
)
from engine.shell.protocol import TIME_LIMIT
from engine.specs.catalogue import SCHEDULING_LATENCY_MS
from engine.state.instances import PrepFlag

if TYPE_CHECKING:
    from engine.base.errors import FailureInfo
    from engine.specs.bodies import ExitConditions, ExitOptions, PoolInfo, StartTask
    from engine.state.instances import Ending, InstanceView
    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import Pool
    from engine.state.task_records import TaskExtra, TaskProfile
    from engine.world import World


FoundT = TypeVar("FoundT")
StateT = TypeVar("StateT", bound=State)


def existing(found: FoundT | None, code: str, **names: str) -> FoundT:
    """Return what was found under these names. Raises BatchError with this code if that is nothing."""
    if found is None:
        raise BatchError(code, **names)
    return found


def pool_named(world: World, pool_id: str) -> Pool:
    """Return the pool of this id. Raises BatchError: PoolNotFound."""
    return existing(world.pools.find(pool_id), "PoolNotFound", poolId=pool_id)


def node_named(world: World, pool: Pool, name: str | int) -> int:
    """Return the row of a node, named by id or by its index in the pool's history.

    Raises:
        BatchError: NodeNotFound if there is no such node now.
    """
    if isinstance(name, int):
        found = pool.nodes[name] if name < len(pool.nodes) else None
    else:
        wanted = name.lower()
        found = next((node for node in pool.nodes if world.nodes[node].id.lower() == wanted), None)
    if found is None or world.nodes.state_of(found) is None:
        raise BatchError("NodeNotFound", node=str(name))
    return found


def job_named(world: World, job_id: str) -> Job:
    """Return the job of this id. Raises BatchError: JobNotFound."""
    return existing(world.jobs.find(job_id), "JobNotFound", jobId=job_id)


def task_named(world: World, job: Job, task_id: str) -> int:
    """Return the row of a task. Raises BatchError: TaskNotFound."""
    return existing(world.tasks.find(job.row, task_id), "TaskNotFound", taskId=task_id)


def schedule_named(world: World, schedule_id: str) -> JobSchedule:
    """Return the job schedule of this id. Raises BatchError: JobScheduleNotFound."""
    return existing(world.job_schedules.find(schedule_id), "JobScheduleNotFound", jobScheduleId=schedule_id)


_J = JobState
_OF_JOB = PoolLifetimeOption.JOB

UNDER_WAY = (_J.ACTIVE, _J.DISABLING, _J.DISABLED, _J.ENABLING)

_ALLOWED = {
    "disable": (_J.ACTIVE, _J.DISABLING, _J.DISABLED),
    "enable": (_J.DISABLED,),
    "terminate": UNDER_WAY,
    "add": UNDER_WAY,
    "update": (*UNDER_WAY, _J.TERMINATING),
    "delete": tuple(state for state in _J if state is not _J.DELETING),
}

# JOB-19: the code for a job that is past what is asked of it.
_CODES = {_J.COMPLETED: "JobCompleted", _J.TERMINATING: "JobBeingTerminated", _J.DELETING: "JobBeingDeleted"}


def job_command_verdict(command: str, state: JobState) -> BatchError | None:
    """Return why the service refuses a command on a job in this state; None if it takes it.

    A job is disabled while active, disabling or disabled (JOB-11), and enabled only while disabled (JOB-12). Tasks are
    added and the job is terminated until it ends (JOB-19), while disabled too (JOB-13). It can always be deleted, once
    (JOB-16).
    """
    return state_verdict("job", state, _ALLOWED[command], _CODES)


def state_verdict(
    kind: str, state: StateT, allowed: Sequence[StateT], codes: Mapping[StateT, str]
) -> BatchError | None:
    """Return why the service refuses a command on a thing of this kind, with the code of its state; None if it may."""
    if state in allowed:
        return None
    return BatchError(codes.get(state, "OperationInvalidForCurrentState"), f"the {kind} is {state.wire}")


def check_job_command(command: str, job: Job) -> None:
    """Refuse a command that the job's state does not allow (JOB-19)."""
    assert job.state is not None
    raise_refusal(job_command_verdict(command, job.state))


def job_pool_verdict(job: Job, info: PoolInfo) -> BatchError | None:
    """Return why the service refuses this change of the job's ``poolInfo``; None if it accepts it (JOB-14)."""
    own, wanted = job.spec.pool_info.auto_pool_specification, info.auto_pool_specification
    reason = ""
    if job.state is not _J.DISABLED:
        reason = "poolInfo can change only while the job is disabled"
    elif own is None and wanted is not None:
        reason = "the job has a pool by poolId: another one can be named"
    elif own is not None and (wanted is None or {own.pool_lifetime_option, wanted.pool_lifetime_option} != {_OF_JOB}):
        reason = "of an auto pool only keepAlive can change, with poolLifetimeOption job"
    return BatchError("OperationInvalidForCurrentState", reason, PropertyName="poolInfo") if reason else None


def ends_with_manager(job: Job) -> bool:
    """Return whether the end of its job manager task terminates the job (JM-4)."""
    manager = job.spec.job_manager_task
    return manager is not None and manager.kill_job_on_completion


# ERR-T: the prefix of the codes of failed uploads; exit conditions call them fileUploadError (EXIT-2).
_CODES_OF_UPLOADS = "FileUpload"


def may_retry(most: int, retries: int) -> bool:
    """Return whether a process that was retried ``retries`` times may be retried again; -1 is no limit (RETRY-3)."""
    return most < 0 or retries < most


def is_final_failure(ran: Ending | InstanceView | None) -> bool:
    """Return whether the last run failed by itself, and was not stopped with its node or job."""
    if ran is None or not (ran.failure or ran.exit_code):
        return False
    return ran.failure is None or ran.failure.code != "TaskEnded" or ran.failure == TIME_LIMIT


def start_retry_verdict(spec: StartTask, retries: int, exit_code: int | None) -> bool:
    """Return whether a start task that has just ended runs again: only after a nonzero exit code (START-4)."""
    return bool(exit_code) and may_retry(spec.max_task_retry_count, retries)


def retry_verdict(profile: TaskProfile, job: Job, extra: TaskExtra, exit_code: int | None) -> bool:
    """Return whether a task that has just ended runs again.

    n retries are 1 + n attempts, -1 is no limit, and the task's value wins over the job's (RETRY-3). Only a nonzero
    exit code of the process itself is retried (RETRY-4).
    """
    if not exit_code:
        return False
    limit = profile.max_retries if profile.max_retries is not None else job.max_retries
    return may_retry(limit, extra.retry_count)


def exit_options(
    conditions: ExitConditions | None, exit_code: int | None, failure: FailureInfo | None
) -> tuple[JobAction, DependencyAction]:
    """Return what the end of a task does to its job and to its dependents (EXIT-2, EXIT-3).

    A user who terminates a task before it has started was recorded to leave its job active.
    """
    well = exit_code == 0 and failure is None
    never_ran = exit_code is None and failure is not None and failure.code == "TaskEnded"
    chosen = _chosen(conditions, exit_code, failure) if conditions is not None else None
    job_action = chosen.job_action if chosen is not None else None
    dependency_action = chosen.dependency_action if chosen is not None else None
    return (
        job_action or (JobAction.NONE if well or never_ran else JobAction.TERMINATE),
        dependency_action or (DependencyAction.SATISFY if well else DependencyAction.BLOCK),
    )


def _chosen(conditions: ExitConditions, exit_code: int | None, failure: FailureInfo | None) -> ExitOptions | None:
    if exit_code is None:
        stopped = failure is not None and failure.code == "TaskEnded"
        return conditions.default if stopped else conditions.pre_processing_error or conditions.default
    for mapping in conditions.exit_codes:
        if mapping.code == exit_code:
            return mapping.exit_options
    for span in conditions.exit_code_ranges:
        if span.start <= exit_code <= span.end:
            return span.exit_options
    if exit_code != 0:
        return conditions.default
    if failure is not None and failure.code.startswith(_CODES_OF_UPLOADS):
        return conditions.file_upload_error or conditions.default
    return None


def is_blocked(world: World, job: Job, task: int) -> bool:
    """Return whether the task waits for another one (DEP-4)."""
    book = world.dependencies.get(job.row)
    return book is not None and book.is_waiting(task)


MOST_PARENTS = 1_000  # numbers of ranges, or tasks on the way, that are looked at


def unmet_parents(world: World, job: Job, task: int) -> list[tuple[str, int | None]]:
    """Return the ids that a task still waits for, each with its row; None where no such task exists."""
    book, wanted = world.dependencies.get(job.row), world.tasks.spec(task).depends_on
    if book is None or wanted is None or not book.is_waiting(task):
        return []
    spans = dict.fromkeys((part.start, part.end) for part in wanted.task_id_ranges)
    ids = [*book.unmet(wanted)[0], *map(str, book.unmet_numbers(spans, MOST_PARENTS))]
    return [(task_id, world.tasks.find(job.row, task_id)) for task_id in ids]


def circular(world: World, job: Job, tasks: Iterable[int]) -> set[int]:
    """Return those of some waiting tasks that wait for themselves, or for others that do."""
    parents = {task: {row for _, row in unmet_parents(world, job, task)} for task in tasks}
    while free := [task for task, rows in parents.items() if parents.keys().isdisjoint(rows)]:
        for task in free:
            del parents[task]
    return set(parents)


def never_met(world: World, job: Job, task: int) -> tuple[str, str] | None:
    """Return what a task waits for that can never be met, however far away: an id, and its state."""
    seen, todo = {task: ""}, [task]
    for each in todo:
        for task_id, row in unmet_parents(world, job, each):
            if row is None:
                return task_id, "does not exist"
            if world.tasks.result(row) is TaskResult.FAILURE:
                return task_id, "failed"
            if row not in seen and len(seen) < MOST_PARENTS:
                seen[row] = task_id
                todo.append(row)
    book = world.dependencies.get(job.row)
    waiting = [row for row in seen if book is not None and book.is_waiting(row)]
    if task not in circular(world, job, waiting):
        return None
    return world.tasks.task_id(task), "waits for itself, in a circle"


def is_seen(world: World, task: int) -> bool:
    """Return whether the scheduler knows of the task by now (TIME-9); until then only its block may queue it."""
    return world.now_ms > world.tasks.block_of(task).created_ms + SCHEDULING_LATENCY_MS


def owes_release(flags: int, after: ReleaseAfter) -> bool:
    """Return whether a node's flags ask for a release of the job (REL-3).

    A task of the job has run here since the last image, and its preparation has completed. With ``releaseAfter:
    preparation`` it is enough that the preparation was started.
    """
    needed = PrepFlag.PREPARED_ONCE if after is ReleaseAfter.PREPARATION else PrepFlag.PREPARED_ONCE | PrepFlag.RAN
    return flags & needed == needed


# RETRY-7: after so many service retries on one node, any other is as good.
MAX_RETRIES_ON_NODE = 3


# -- nodes that may take a task --------------------------------------------------------------------------------------


def may_come(world: World, pool: Pool, job: Job, profile: TaskProfile, node: int) -> bool:
    """Return whether the node would take a task of the job if it had room (SCHED-8, PREP-9)."""
    record = world.nodes[node]
    return (
        record.pool == pool.row
        and bool(world.nodes.open[node])
        and not (job.ineligible >> record.position) & 1
        and (record.dedicated or not profile.dedicated_only)
    )


def has_room(world: World, pool: Pool, job: Job, profile: TaskProfile, node: int) -> bool:
    """Return whether the task could start on the node now."""
    needed = pool.slots if profile.exclusive else profile.required_slots
    return world.nodes.free[node] >= needed and may_come(world, pool, job, profile, node)


def starves(pool: Pool, job: Job, profile: TaskProfile) -> bool:
    """Return whether a task that finds no node would find one if the free slots were together (SCHED-11)."""
    eligible = ~job.ineligible & (pool.dedicated_bits if profile.dedicated_only else -1)
    free = sum(count * (nodes & eligible).bit_count() for count, nodes in enumerate(pool.buckets) if nodes)
    return free >= profile.required_slots


# -- nodes that it gets ----------------------------------------------------------------------------------------------


def preferred_node(world: World, task: int, profile: TaskProfile) -> int:
    """Return the node that a task prefers; -1 if it has no preference.

    A retry prefers its node (RETRY-5), a retry by the service does so for a few times (RETRY-7). Other tasks prefer
    the node of their affinity (SCHED-13).
    """
    extra = world.tasks.extra(task)
    if extra.awaits_retry or 0 < extra.node_retries < MAX_RETRIES_ON_NODE:
        return world.tasks.node[task]
    if profile.affinity is not None:
        wanted = profile.affinity.removeprefix("TVM:")
        pool = world.pools[world.jobs[profile.job].pool]
        return next((node for node in pool.nodes if world.nodes[node].id == wanted), -1)
    return -1


def choose_nodes(world: World, pool: Pool, job: Job, task: int, profile: TaskProfile) -> Sequence[int]:
    """Return the nodes on which a task can start now, one unless it is multi-instance; none if there is no room."""
    preferred = preferred_node(world, task, profile) if world.tasks.is_particular(task, profile) else -1
    if profile.instances:
        return choose_several(world, pool, job, profile, preferred)
    node = choose_node(world, pool, job, profile, preferred)
    return (node,) if node >= 0 else ()


def choose_node(world: World, pool: Pool, job: Job, profile: TaskProfile, preferred: int = -1) -> int:
    """Return the node for a task: the preferred one (SCHED-13), else by fill type (SCHED-9); -1 if none has room.

    Nodes that are ineligible for the job are left out (PREP-9). The node with most or fewest free slots comes first,
    then one prepared for the job, then a dedicated one, then the first of the node list.
    """
    slots = profile.required_slots
    if preferred >= 0 and has_room(world, pool, job, profile, preferred):
        return preferred
    buckets = pool.buckets
    if profile.exclusive:
        sizes = range(pool.slots, pool.slots + 1)
    elif pool.fill is NodeFillType.SPREAD:
        sizes = range(pool.slots, slots - 1, -1)
    else:
        sizes = range(slots, pool.slots + 1)
    for free in sizes:
        fitting = buckets[free]
        if not fitting:
            continue
        if job.ineligible:
            fitting &= ~job.ineligible
        if profile.dedicated_only:
            fitting &= pool.dedicated_bits
        if fitting:
            fitting = (fitting & job.prepared) or fitting
            fitting = (fitting & pool.dedicated_bits) or fitting
            return pool.nodes[(fitting & -fitting).bit_length() - 1]
    return -1


def choose_several(world: World, pool: Pool, job: Job, profile: TaskProfile, preferred: int = -1) -> tuple[int, ...]:
    """Return the nodes for a multi-instance task, the primary's first; none unless there are enough at this moment.

    The pool needs inter-node communication and one slot per node (MI-2). Nothing is reserved (MI-3). Nodes that are
    ineligible for the job are left out (PREP-9). The preferred node comes first, then prepared ones, then dedicated
    ones, then the node list (SCHED-9).
    """
    idle = pool.buckets[1] & ~job.ineligible if pool.hosts_gangs else 0
    if idle.bit_count() < profile.instances:
        return ()
    record = world.nodes[preferred] if preferred >= 0 else None
    wanted = 1 << record.position if record is not None and record.pool == pool.row else 0
    chosen: list[int] = []
    for rank in (wanted, job.prepared & pool.dedicated_bits, job.prepared, pool.dedicated_bits, -1):
        fitting = idle & rank
        while fitting and len(chosen) < profile.instances:
            lowest = fitting & -fitting
            chosen.append(pool.nodes[lowest.bit_length() - 1])
            fitting ^= lowest
            idle ^= lowest
    return tuple(chosen)


def preemption_victims(
    world: World, pool: Pool, job: Job, profile: TaskProfile, candidates: Sequence[int]
) -> list[int]:
    """Return the running tasks that must stop so that a task of the job has room on a node; none if no node would.

    ``candidates`` may stop, in this order (``candidates_for``); none stops without need. A running multi-instance task
    leaves all its nodes; one that waits needs several nodes.
    """
    if profile.instances:
        return _victims_on_several(world, pool, job, profile, candidates) if pool.hosts_gangs else []
    needed = pool.slots if profile.exclusive else profile.required_slots
    by_node: dict[int, list[int]] = {}
    for task in candidates:
        for node in world.nodes_of(task):
            if not may_come(world, pool, job, profile, node):
                continue
            victims = by_node.setdefault(node, [])
            victims.append(task)
            if _room_without(world, node, victims) >= needed:
                return _fewest(world, node, victims, needed)
    return []


def _victims_on_several(
    world: World, pool: Pool, job: Job, profile: TaskProfile, candidates: Sequence[int]
) -> list[int]:
    """Return the tasks that must stop so that enough nodes are free at once (MI-3)."""
    free = (pool.buckets[1] & ~job.ineligible).bit_count()
    won = {task: sum(may_come(world, pool, job, profile, node) for node in world.nodes_of(task)) for task in candidates}
    victims: list[int] = []
    for task in candidates:
        if won[task]:
            victims.append(task)
        if free + sum(won[victim] for victim in victims) >= profile.instances:
            break
    else:
        return []
    for victim in reversed(victims[:-1]):
        if free + sum(won[other] for other in victims if other != victim) >= profile.instances:
            victims.remove(victim)
    return victims


def candidates_for(world: World, pool: Pool, job: Job, waiting: int) -> list[int]:
    """Return the running tasks that may be displaced for a task of the job, in the order in which they stop.

    Only jobs that allow it and have a lower priority give way (JOB-24), the lowest priority first, then the latest
    start (SCHED-16). For a job manager task that runs again all jobs of lower priority do, then its own (JM-6, JM-7).
    """
    tasks = world.tasks
    restarted = tasks.profile_of(waiting).manager and tasks.extra(waiting).attempts > 0
    yielding = {
        other.row: other.priority
        for other in world.jobs_of(pool)
        if other.busy and other.priority < job.priority and (other.preemptible or restarted)
    }
    if restarted:
        yielding[job.row] = job.priority
    if not yielding:
        return []
    running = {task for node in pool.nodes for task in world.nodes.running[node]}
    found = (task for task in running if tasks.profile_of(task).job in yielding)
    return sorted(found, key=lambda task: (yielding[tasks.profile_of(task).job], -tasks.started[task], -task))


def _room_without(world: World, node: int, tasks: Iterable[int]) -> int:
    """Return the free slots that the node would have without these tasks."""
    return world.nodes.free[node] + sum(world.tasks.profile_of(task).required_slots for task in tasks)


def _fewest(world: World, node: int, victims: list[int], needed: int) -> list[int]:
    """Return the victims that are needed: the last one is, earlier ones may not be."""
    kept = victims
    for task in reversed(victims[:-1]):
        others = [one for one in kept if one != task]
        if _room_without(world, node, others) >= needed:
            kept = others
    return kept
