"""Invariants of a world between two instants. A violation is a mistake of the engine.

Everything is counted again from the rows, which is slow; tests do it after every step.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from engine.autoscale.values import NODE_METRICS
from engine.base.calendar import DueKind
from engine.base.lifecycles import UNBILLED
from engine.base.paths import APPLICATIONS
from engine.base.terms import (
    InstanceState,
    JobScheduleState,
    JobState,
    NodeState,
    PoolState,
    ReleaseAfter,
    SubtaskState,
    TaskResult,
)
from engine.rules import job_schedules, pools
from engine.rules.decisions import capacity, verdicts
from engine.specs.account import UrlParts, parts_of
from engine.state.acting import ProcessKind
from engine.state.instances import PrepFlag
from engine.state.pools import ROW_MASK
from engine.state.tables import BrokenInvariant
from engine.state.tasks import ACTIVE, COMPLETED, GONE, PREPARING, RUNNING
from engine.views.log.reader import matching

if TYPE_CHECKING:
    from engine.base.log import Shape
    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import Pool
    from engine.world import World


# The state of subtasks by the state of their task; for any other state they are completed.
_SUBTASKS = {PREPARING: SubtaskState.PREPARING, RUNNING: SubtaskState.RUNNING}


def check(world: World) -> None:
    """Raise BrokenInvariant, which names the rule, the time and the subject, if anything is wrong."""
    for job in world.jobs.present():
        _counters(world, job)
        _gangs(world, job)
        _instances(world, job)
    _copied(world)
    _records(world)
    _blobs(world)
    _acts(world)
    _applications(world)
    for schedule in world.job_schedules.present():
        _active_job(world, schedule)
        _lost_occurrences(world, schedule)
    if world.scenario.simulate.has_chance:
        _chance(world)
    for pool in world.pools.present():
        _bound_jobs(world, pool)
        _turns(world, pool)
        _slots(world, pool)
        _buckets(world, pool)
        _addresses(world, pool)
        _disks(world, pool)
        _samples(world, pool)
        if not pool.pass_due:
            _no_task_waits_beside_room(world, pool)


def _records(world: World) -> None:
    """Check that a checkpoint has all records as they are now, and containers of its own."""
    for table in (world.pools, world.jobs, world.job_schedules, world.certificates, world.nodes.records):
        for record, saved in zip(table.rows, table.copy(), strict=True):
            present = [getattr(record, name) for name in record.__slots__]
            containers = [
                each for each in zip(present, saved, strict=True) if isinstance(each[0], list | dict | set | deque)
            ]
            if record.freeze() != saved or any(one is kept for one, kept in containers):
                raise BrokenInvariant(f"no checkpoint has {record} as it is")


def _samples(world: World, pool: Pool) -> None:
    """Check the newest sample of a pool, and that nothing else is remembered of what its nodes move (AS-41)."""
    for node in pool.nodes:
        if world.traffic[node] and (world.nodes.state_of(node) is None or not pool.auto_scale):
            raise _broken(world, "AS-41", f"transfers of node {world.nodes[node].id} that nobody samples")
    if not pool.samples:
        return
    cpu, count, _, memory, *others = pool.samples[-1][-len(NODE_METRICS) :]
    most = pool.size.memory_gib * (1 << 30)
    if not (0 <= cpu <= 100 and 0 <= count <= len(pool.nodes) and 0 <= memory <= most and min(others) >= 0):
        raise _broken(world, "AS-41", f"a sample of pool {pool.id}: {pool.samples[-1]}")


def _applications(world: World) -> None:
    """Check that default versions and sizes are those of packages that there are, and no id is there twice (APP-1)."""
    applications = world.account.applications
    if len({application.id.lower() for application in applications}) != len(applications):
        raise _broken(world, "APP-1", "an application is there twice")
    for one in applications:
        versions = set(one.versions)
        if len(versions) != len(one.versions) or not {one.default_version} - {None} | set(one.sizes or ()) <= versions:
            raise _broken(world, "APP-1", f"application {one.id}: {one.wire()}")


def _broken(world: World, rule: str, what: str) -> BrokenInvariant:
    return BrokenInvariant(f"{rule} at {world.now_ms} ms: {what}")


def _rows(world: World, job: Job) -> list[int]:
    return [row for row in world.tasks.rows_of(job.row) if world.tasks.state[row] != GONE]


def _counters(world: World, job: Job) -> None:
    """Check that counters equal a recount, and that exactly the ready tasks are queued."""
    tasks = world.tasks
    rows = _rows(world, job)
    states = Counter(tasks.state[row] for row in rows)
    if job.counts != [states[state] for state in (ACTIVE, PREPARING, RUNNING, COMPLETED)] or job.total != len(rows):
        raise _broken(world, "TASK-16", f"counts of job {job.id}: {job.counts} of {job.total}, really {states}")
    failed = sum(tasks.result(row) is TaskResult.FAILURE for row in rows)
    if job.failed != failed:
        raise _broken(world, "TASK-16", f"job {job.id} counts {job.failed} failed tasks, really {failed}")
    queued = [row for queue in job.ready.values() for row in queue.tasks()]
    if len(queued) != len(set(queued)) or job.ready_count != len(queued):
        raise _broken(world, "SCHED-6", f"job {job.id} counts {job.ready_count} ready tasks, queued are {queued}")
    for queue in job.ready.values():
        alike = {tasks.briefs[number] for number in tasks.profile[queue.next : queue.end]}
        if len(alike) > 1:
            raise _broken(world, "SCHED-6", f"tasks {queue.next} to {queue.end} of job {job.id} are not alike: {alike}")
    wrong = [row for row in queued if tasks.state[row] != ACTIVE]
    if wrong:
        raise _broken(world, "SCHED-7", f"tasks {wrong} of job {job.id} are queued and not active")
    for row in rows:
        node = tasks.node[row]
        if (tasks.state[row] == RUNNING) != (node >= 0 and row in world.nodes.running[node]):
            raise _broken(world, "TASK-7", f"task {tasks.task_id(row)} and node {node} differ on whether it runs there")
        if (tasks.state[row] == PREPARING) != (node >= 0 and row in world.nodes.preparing.get(node, ())):
            raise _broken(world, "PREP-6", f"task {tasks.task_id(row)} and node {node} differ on whether it prepares")


def _gangs(world: World, job: Job) -> None:
    """Check that a multi-instance task is on all its nodes or on none, and its subtasks with it (MI-3, MI-6)."""
    tasks, nodes = world.tasks, world.nodes
    for row in _rows(world, job):
        gang = world.gangs.find(row)
        if gang is None:
            if tasks.profile_of(row).instances and tasks.state[row] in (PREPARING, RUNNING):
                raise _broken(world, "MI-3", f"task {tasks.task_id(row)} has started without its nodes")
            continue
        on_nodes = {PREPARING: nodes.preparing, RUNNING: dict(enumerate(nodes.running))}.get(tasks.state[row], {})
        held = {node for node, here in on_nodes.items() if row in here}
        if on_nodes and (held != set(gang.nodes) or len(held) != tasks.profile_of(row).instances):
            raise _broken(world, "MI-3", f"task {tasks.task_id(row)} is on nodes {held}, should be on {gang.nodes}")
        expected = _SUBTASKS.get(tasks.state[row], SubtaskState.COMPLETED)
        wrong = [number for number, subtask in enumerate(gang.subtasks, start=1) if subtask.state is not expected]
        if wrong:
            raise _broken(world, "MI-6", f"subtasks {wrong} of task {tasks.task_id(row)} are not {expected.wire}")
        if tasks.state[row] == RUNNING and gang.due_ms < world.now_ms:
            raise _broken(world, "MI-4", f"nothing more is due of task {tasks.task_id(row)}")


def _copied(world: World) -> None:
    """Check that every page that a checkpoint shares with the one before it is as the table has it."""
    tasks = world.tasks
    copy, columns = tasks.copy(), [[], []]
    for declared, values in zip(tasks.DECLARED.values(), tasks.columns, strict=True):
        columns[declared.group].append(values)
    for pages, group in zip(copy.groups, columns, strict=True):
        for values, kept in zip(group, zip(*pages, strict=True), strict=False):  # there may be no pages
            if b"".join(map(bytes, kept)) != bytes(values):
                raise _broken(world, "TASK-7", "a checkpoint does not have the tasks as they are")
    if [page for page in tasks.sparse if page] != [page for page in copy.sparse if page]:
        raise _broken(world, "TASK-7", "a checkpoint does not have what is particular about tasks")


def _instances(world: World, job: Job) -> None:
    """Check that tasks wait only for a running preparation, and run only after a valid one (PREP-6, PREP-7)."""
    instances, tasks, nodes = world.instances, world.tasks, world.nodes
    prep = job.spec.job_preparation_task
    if prep is None:
        return
    for row in instances.rows_of_job(job.row):
        node = instances.node[row]
        flags = instances.flags[row]
        here = [task for task in nodes.preparing.get(node, ()) if tasks.profile_of(task).job == job.row]
        running = instances.prep_state[row] == InstanceState.RUNNING
        waits_here = not flags & PrepFlag.VALID or not all(tasks.profile_of(task).instances for task in here)
        if here and not running and waits_here:
            raise _broken(world, "PREP-6", f"tasks {here} wait on node {node} for a preparation that does not run")
        if flags & PrepFlag.VALID and flags & PrepFlag.INELIGIBLE:
            raise _broken(world, "PREP-9", f"job {job.id} is both prepared and barred on node {node}")
        if prep.wait_for_success and not flags & PrepFlag.VALID:
            unprepared = [task for task in nodes.running[node] if tasks.profile_of(task).job == job.row]
            if unprepared:
                raise _broken(world, "PREP-7", f"tasks {unprepared} run on node {node} without a valid preparation")
        gone = nodes.state_of(node) in (None, NodeState.LEAVING_POOL, NodeState.PREEMPTED, NodeState.DEALLOCATED)
        releasing = instances.release_state[row] == InstanceState.RUNNING
        if gone and (running or releasing):
            raise _broken(world, "PREP-19", f"something of job {job.id} runs on node {node}, which is not there")
        ended = job.state in (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING)
        if instances.release_runs[row] and not ended:
            raise _broken(world, "REL-6", f"release of job {job.id} ran before the job's end")
        begun = flags & PrepFlag.PREPARED_ONCE or (running and world.options.release_after is ReleaseAfter.TASK)
        if (running or flags & PrepFlag.RAN) and not begun and not gone:
            raise _broken(world, "REL-3", f"job {job.id} does not know that it was prepared on node {node}")
        bit = 1 << nodes[node].position
        if job.pool == nodes[node].pool and bool(job.ineligible & bit) != bool(flags & PrepFlag.INELIGIBLE):
            raise _broken(world, "PREP-9", f"job {job.id} and node {node} differ on whether it is barred")
        is_prepared = bool(flags & PrepFlag.VALID)
        if job.pool == nodes[node].pool and prep.wait_for_success and bool(job.prepared & bit) != is_prepared:
            raise _broken(world, "PREP-7", f"job {job.id} and node {node} differ on whether it is prepared")


def _blobs(world: World) -> None:
    """Check that storage has the last upload of each URL that the log tells of, and that jobs count its bytes."""
    blobs, log = world.blobs, world.log
    told = [at for at, shape in enumerate(log.shape_of) if log.shapes[shape].event == "BlobUploaded"]
    if [log.row_a[at] for at in told] != list(range(len(blobs))):
        raise _broken(world, "TASK-18", f"the log tells of uploads {[log.row_a[at] for at in told]} of {len(blobs)}")
    latest: dict[UrlParts, int] = {}
    uploaded: Counter[int] = Counter()
    for row in range(len(blobs)):
        upload = blobs[row]
        if upload.entry != told[row] or parts_of(upload.url.replace("%", "%25")) != blobs.place(row):
            raise _broken(world, "TASK-18", f"upload {row} is {upload}, entry {told[row]} tells of it")
        latest[blobs.place(row)] = row
        if upload.task >= 0:
            uploaded[world.tasks.block_of(upload.task).job] += upload.content.size
    kept = {place: blobs.find(place.url.replace("%", "%25")) for place in latest}
    if blobs.latest() != sorted(latest.values()) or kept != {
        place: blobs[row].content for place, row in latest.items()
    }:
        raise _broken(world, "TASK-18", f"uploads {blobs.latest()} are in storage, should be {sorted(latest.values())}")
    fetched: Counter[int] = Counter()
    for task, size in list(zip(blobs.fetcher, blobs.fetched, strict=True))[: blobs.downloads]:
        fetched[world.tasks.block_of(task).job] += size
    for job in world.jobs:
        hooks = job.has_prep or job.has_release
        if job.uploaded_bytes != uploaded[job.row]:
            raise _broken(world, "TASK-21", f"job {job.id} counts {job.uploaded_bytes}, uploaded {uploaded[job.row]}")
        if job.downloaded_bytes < fetched[job.row] or (not hooks and job.downloaded_bytes != fetched[job.row]):
            raise _broken(world, "TASK-21", f"job {job.id} counts {job.downloaded_bytes}, tasks {fetched[job.row]}")


def _active_job(world: World, schedule: JobSchedule) -> None:
    """Check that at most the last job of a schedule is active, and none when it is over (JS-3, JS-8)."""
    active = [job.row for job in world.jobs_under(schedule) if job.end_ms is None]
    if schedule.state is not JobScheduleState.DELETING and active not in ([], [schedule.recent_job]):
        raise _broken(world, "JS-3", f"jobs {active} of schedule {schedule.id} are active")
    if active and schedule.state is JobScheduleState.COMPLETED:
        raise _broken(world, "JS-8", f"schedule {schedule.id} is completed, its jobs {active} are not")


def _lost_occurrences(world: World, schedule: JobSchedule) -> None:
    """Check that every occurrence has made its job, is still to come, or was logged as lost (JS-15)."""
    log = world.log
    lost = [at for at in matching(log, _is_loss) if log.row_a[at] == schedule.row]
    if schedule.missed != len(lost):
        raise _broken(world, "JS-15", f"schedule {schedule.id} has lost {schedule.missed}, but logged {len(lost)}")
    if schedule.state not in (JobScheduleState.ACTIVE, JobScheduleState.DISABLED):
        return
    timing, turn = job_schedules.timing_of(world, schedule), schedule.turn
    is_over = timing.last_ms is not None and timing.due_ms(turn) > timing.last_ms
    entered = {(due.key, due.token) for due in world.calendar.pending() if due.kind is DueKind.OCCURRENCE_LOST}
    if timing.interval_ms is not None and not is_over and (schedule.row, turn) not in entered:
        raise _broken(world, "JS-15", f"schedule {schedule.id} would lose occurrence {turn} without an event")


def _is_loss(shape: Shape) -> bool:
    return shape.event == "JobScheduleOccurrenceMissed"


def _bound_jobs(world: World, pool: Pool) -> None:
    """Check that the table knows the jobs bound to the pool (JOB-26)."""
    known = [job.row for job in world.jobs_of(pool)]
    bound = [job.row for job in world.jobs.present() if job.pool == pool.row]
    if known != bound:
        raise _broken(world, "JOB-26", f"jobs {known} are known to be bound to pool {pool.id}, really {bound}")


def _turns(world: World, pool: Pool) -> None:
    """Check that only active jobs take turns, each once, and only in an active pool (SCHED-7)."""
    jobs = [world.jobs.rows[key & ROW_MASK] for key in pool.turns]
    expected = [job for job in world.jobs_of(pool) if job.in_turn]
    if sorted(job.row for job in jobs) != [job.row for job in expected]:
        raise _broken(world, "SCHED-4", f"jobs {[job.id for job in jobs]} of pool {pool.id} take turns")
    idle = [job.id for job in jobs if job.state is not JobState.ACTIVE or pool.state is not PoolState.ACTIVE]
    if idle:
        raise _broken(world, "SCHED-7", f"jobs {idle} of pool {pool.id} take turns and may not")


def _slots(world: World, pool: Pool) -> None:
    """Check that slots and the bill add up, and that the right nodes have tasks (SCHED-10, ACC-10, NODE-9)."""
    nodes, tasks = world.nodes, world.tasks
    for node in pool.nodes:
        state = nodes.state_of(node)
        on_it = nodes.tasks_on(node)
        used = sum(tasks.profile_of(task).required_slots for task in on_it)
        if state is not None and (nodes.free[node] != pool.slots - used or nodes.free[node] < 0):
            raise _broken(world, "SCHED-10", f"node {node} has {nodes.free[node]} free slots, its tasks take {used}")
        if on_it and state not in (NodeState.RUNNING, NodeState.UNKNOWN):
            raise _broken(world, "NODE-9", f"node {node} is {state!r} and has tasks {on_it}")
        if not on_it and state is NodeState.RUNNING and not pool.pass_due and not nodes[node].operation:
            raise _broken(world, "NODE-9", f"node {node} is running without a task")
    running = sum(tasks.profile_of(task).required_slots for node in pool.nodes for task in nodes.running[node])
    if pool.busy_slots != running:
        raise _broken(world, "SCHED-10", f"pool {pool.id} counts {pool.busy_slots} slots that run, really {running}")
    kinds = [nodes[node].dedicated for node in pool.nodes if nodes.state_of(node) not in (None, *UNBILLED)]
    if pool.billed_vms != [kinds.count(False), kinds.count(True)]:
        raise _broken(world, "ACC-10", f"pool {pool.id} counts {pool.billed_vms} billed VMs, not {len(kinds)}")


def _disks(world: World, pool: Pool) -> None:
    """Check that used bytes add up, and that packages said to be on a node are there (VM-4, APP-2)."""
    for node in pool.nodes:
        files, record = world.disks[node], world.nodes[node]
        used_bytes = sum(map(files.size, files.all_files()))
        if files.used_bytes != used_bytes:
            raise _broken(world, "VM-4", f"node {node} counts {files.used_bytes} bytes, it has {used_bytes}")
        if world.nodes.state_of(node) is not None:
            lost = [name for name in record.arrivals if name.startswith(APPLICATIONS) and not files.is_dir(name)]
            if lost:
                raise _broken(world, "APP-2", f"node {node} is to have {lost}, which are not on its disk")


def _buckets(world: World, pool: Pool) -> None:
    """Check that exactly the eligible nodes are in the buckets, each by its free slots (SCHED-8, SCHED-9)."""
    nodes = world.nodes
    expected = [0] * (pool.slots + 1)
    for node in pool.nodes:
        if bool(nodes.open[node]) != world.scheduler.is_eligible(node):
            raise _broken(world, "SCHED-8", f"node {node} is open {nodes.open[node]} against its eligibility")
        if nodes.open[node]:
            expected[nodes.free[node]] |= 1 << nodes[node].position
    if pool.buckets != expected:
        raise _broken(world, "SCHED-9", f"buckets of pool {pool.id} are {pool.buckets}, should be {expected}")


def _addresses(world: World, pool: Pool) -> None:
    """Check that a subnet has enough addresses (NET-3), and that an upgrade waits for a node (POOL-22)."""
    free = capacity.free_addresses(world, pool)
    if free is not None and free < 0:
        raise _broken(world, "NET-3", f"the subnet of pool {pool.id} has {free} addresses left")
    if pool.upgrade and not any(pools.is_being_upgraded(world, node) for node in pool.upgrade[0]):
        raise _broken(world, "POOL-22", f"the upgrade of pool {pool.id} waits for no node: {pool.upgrade}")


def _chance(world: World) -> None:
    """Check that every node that is there has its next failure and eviction ahead of it (NODE-18, SPOT-10)."""
    simulate, nodes = world.scenario.simulate, world.nodes
    pending = world.calendar.pending()
    failures = Counter(due.key for due in pending if due.kind is DueKind.FAILURE)
    evictions = {due.key for due in pending if due.kind is DueKind.EVICTION_NOTICE}
    evicted = {(due.key, due.when_ms) for due in pending if due.kind is DueKind.EVICTION}
    for pool in world.pools.present():
        for node in pool.nodes:
            record = nodes[node]
            if nodes.state_of(node) is None:
                continue
            if failures[node] != bool(simulate.nodes.failure_rate):
                raise _broken(world, "NODE-18", f"{failures[node]} failures are due on node {node}")
            if simulate.spot.eviction_rate and not record.dedicated and node not in evictions:
                raise _broken(world, "SPOT-10", f"no eviction of node {node} is due any more")
            if record.evicted_ms is not None and (node, record.evicted_ms) not in evicted:
                raise _broken(world, "SPOT-7", f"the eviction of node {node} was announced and does not come")


def _no_task_waits_beside_room(world: World, pool: Pool) -> None:
    """Check that after a pass no ready task waits while an eligible node has room for it (SCHED-7, SCHED-8)."""
    for job in world.jobs_of(pool):
        if not pool.may_take_turns(job):
            continue
        if not job.in_turn:
            raise _broken(world, "SCHED-4", f"job {job.id} has ready tasks and takes no turns")
        for _, queue in job.queues_in_order():
            task = queue.head()
            nodes = verdicts.choose_nodes(world, pool, job, task, world.tasks.profile_of(task))
            if nodes:
                raise _broken(world, "SCHED-7", f"task {world.tasks.task_id(task)} waits while {nodes} have room")


def _acts(world: World) -> None:
    """Check that exactly processes that run may act (JM-11), and that jobs report what is waited for (JM-12)."""
    tasks, instances, gangs = world.tasks, world.instances, world.gangs
    waiting: set[int] = set()
    for number, acting in world.acting:
        kind, row, part = acting.process
        match kind:
            case ProcessKind.TASK:
                runs = tasks.state[row] == RUNNING and tasks.started[row] <= acting.started_ms
            case ProcessKind.COORDINATION:
                runs = tasks.state[row] == RUNNING and not gangs[row].has_returned(part)
            case ProcessKind.PREPARATION:
                runs = instances.prep_state[row] == InstanceState.RUNNING
                runs = runs and instances.prep_start[row] == acting.started_ms
            case ProcessKind.RELEASE:
                runs = instances.release_state[row] == InstanceState.RUNNING
                runs = runs and instances.release_start[row] == acting.started_ms
            case ProcessKind.START_TASK:
                task = world.nodes[row].start_task
                runs = task is not None and task.running and task.start_ms == acting.started_ms
        if not runs or world.acting.number_of(acting.process) != number:
            raise _broken(world, "JM-11", f"{acting.process} still acts and does not run")
        if acting.acts.until_others:
            waiting.add(acting.job)
            job = world.jobs.rows[acting.job]
            others = job.total - (kind in (ProcessKind.TASK, ProcessKind.COORDINATION))
            is_over = others > 0 and job.counts[COMPLETED] == others and not acting.tasks_to_come
            if acting.waits and is_over:
                raise _broken(world, "JM-12", f"{acting.process} waits for other tasks, which are completed")
    for job in world.jobs.rows:
        if job.reports_from != job.total - (job.row in waiting):
            raise _broken(world, "JM-12", f"job {job.id} reports from {job.reports_from} of {job.total} tasks")
