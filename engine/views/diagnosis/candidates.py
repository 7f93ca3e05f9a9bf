"""The nodes of a pool by the reason why a task cannot go there now, and the reasons why a task went where it did.

The cost is that of the nodes and of what runs on them. Beside them stand the jobs of the pool with a higher priority,
and the reasons why a task runs again.
"""

from __future__ import annotations

from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import COMING_UP, NODE_STATES, READY
from engine.base.terms import InstanceState, JobState, NodeState, OnTaskFailure, PoolState, SchedulingState, TaskState
from engine.base.values import called
from engine.rules.decisions import capacity
from engine.rules.faults import unusable_ms
from engine.run.agenda import Agenda, ends_in_order, job_limit, known_end_ms, task_end_ms
from engine.state.nodes import GONE
from engine.state.tables import NEVER_MS
from engine.state.tasks import RUNNING
from engine.views.diagnosis.model import (
    Condition,
    Next,
    answer,
    check,
    due,
    earliest,
    first_of,
    helps,
    moment,
    name_of,
    note,
    plural,
    reason,
    some,
    task_name,
    until_cut,
)
from engine.views.hook_status import eligible_again
from engine.views.log.reader import is_event, matching

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.views.diagnosis.model import Explanation, Finding
    from engine.world import World


_N = NodeState

_LEADING_AWAY = (_N.LEAVING_POOL, _N.DEALLOCATING)  # states after which a node is gone, or stopped

_Why = tuple[str, str]  # the reason and its rule
_CUT_OFF: _Why = ("cut off from Batch by closed ports in their subnet", "NET-4")
_SPOT: _Why = ("of Spot kind, but the task needs a dedicated node", "SPOT-6")
_PREPARES: _Why = ("preparing for this job", "PREP-6")


class Fit(NamedTuple):
    """The nodes of a pool that fit a task, and the reasons why others do not."""

    present: int
    fitting: int
    reasons: tuple[Finding, ...]
    next_change: Next | None


class Outlook:
    """The agenda and the nodes that fit a task, read once for several questions about the same moment."""

    def __init__(self, world: World) -> None:
        """Create an outlook that has read nothing."""
        self._world = world
        self._fits: dict[tuple[int, TaskProfile], Fit] = {}

    @cached_property
    def agenda(self) -> Agenda:
        """The agenda: everything that is due to happen by itself."""
        return Agenda(self._world)

    def fit(self, job: Job, profile: TaskProfile) -> Fit | None:
        """Return the nodes that fit a task of the job; None if the job has no pool."""
        if job.pool < 0:
            return None
        key = job.row, profile
        if key not in self._fits:
            pool = self._world.pools[job.pool]
            self._fits[key] = candidates(self._world, self.agenda, pool, job, profile)
        return self._fits[key]


def candidates(world: World, agenda: Agenda, pool: Pool, job: Job, profile: TaskProfile) -> Fit:
    """Group the pool's nodes by the reason why the task cannot go there, the largest group first."""
    slots = pool.slots if profile.exclusive else profile.required_slots
    nodes = world.nodes
    states, opens, frees = nodes.state, nodes.open, nodes.free
    profile_of = world.tasks.profile
    has_others = any(other.busy for other in world.jobs.present() if other is not job)
    own_profiles = {number for number, profile in enumerate(world.tasks.profiles) if profile.job == job.row}
    preparations = _preparations(world, job)
    ineligible: _Why = f"ineligible until {eligible_again(world.options).until_any}: preparation failed there", "PREP-9"
    closed: dict[_Why, list[tuple[int | None, int]]] = {}
    kept_out = ineligible_nodes(job, pool)
    full: list[int] = []
    foreign: list[int] = []
    fitting = 0
    for node in pool.nodes:
        if not opens[node]:
            if states[node] != GONE:
                why, when_ms = _closed(world, agenda, node)
                closed.setdefault(why, []).append((when_ms, node))
        elif node in kept_out:
            closed.setdefault(ineligible, []).append((None, node))
        elif profile.dedicated_only and not nodes[node].dedicated:
            closed.setdefault(_SPOT, []).append((None, node))
        elif frees[node] >= slots:
            fitting += 1
        elif node in preparations:
            closed.setdefault(_PREPARES, []).append((preparations[node], node))
        else:
            running = nodes.running[node]
            is_own = not own_profiles.isdisjoint(map(profile_of.__getitem__, running)) if has_others else bool(running)
            (full if is_own or slots > pool.slots else foreign).append(node)
    for short, by in ((full, ""), (foreign, ": other jobs use them")):
        if short:
            lacks = f"with fewer than {slots} free slots" if slots > 1 else "without a free slot"
            if slots == 1:
                first = _first_end(world, set(short))
            else:
                first = first_of((room_ms(world, node, slots), node) for node in short)
            closed[f"{lacks}{by}", "SCHED-10"] = [*zip(repeat(None), short[1:]), first or (None, short[0])]
    present = fitting + sum(map(len, closed.values()))
    ordered = sorted(closed.items(), key=lambda group: -len(group[1]))
    reasons = tuple(reason(world, Condition.NODES, found, "node", *why) for why, found in ordered)
    firsts = ((why, first_of(found)) for why, found in closed.items())
    changes = {why: _change(world, first, why) for why, first in firsts if first is not None}
    # The end of a preparation frees no slots, nor does an eviction; they count only if nothing else is to happen.
    preparing = changes.pop(_PREPARES, None)
    following = earliest([*changes.values(), _growth(world, agenda, pool)]) or preparing
    others = (
        event
        for node in [*full, *foreign]
        for event in (
            due(f"{name_of(world, node)} is preempted", nodes[node].evicted_ms, "SPOT-3"),
            _preparation_there(world, node),
        )
    )
    return Fit(present, fitting, reasons, following or earliest(others))


def _preparation_there(world: World, node: int) -> Next | None:
    """Return the end of the first preparation on a node for which tasks wait in its slots; None if there is none."""
    instances = world.instances
    rows = instances.rows_on(node) if node in world.nodes.preparing else ()
    running = [row for row in rows if instances.prep_state[row] == InstanceState.RUNNING]
    row = min(running, key=instances.prep_end.__getitem__, default=-1)
    if row < 0:
        return None
    job = world.jobs[instances.job[row]]
    text = f"preparation of {called('job', job.id)} ends on {name_of(world, node)}"
    return until_cut(world, job, node, Next(text, instances.prep_end[row], "PREP-7"))


def ineligible_nodes(job: Job, pool: Pool) -> set[int]:
    """Return the nodes that the pool has or had on which preparation failed for good (PREP-9)."""
    positions = f"{job.ineligible:b}"[::-1] if job.ineligible else ""
    return {node for node, bit in zip(pool.nodes, positions, strict=False) if bit == "1"}


def too_large_tasks(job: Job, pool: Pool) -> int:
    """Return how many of the job's tasks need more slots than a node of the pool has (SCHED-10)."""
    return sum(queue.size for slots, queue in job.ready.items() if slots > pool.slots)


def _preparations(world: World, job: Job) -> dict[int, int]:
    """Return the nodes where tasks wait for the job's preparation, and its end there."""
    instances, preparing = world.instances, world.nodes.preparing
    return {
        instances.node[row]: instances.prep_end[row]
        for row in (instances.rows_of_job(job.row) if preparing else ())
        if instances.prep_state[row] == InstanceState.RUNNING and instances.node[row] in preparing
    }


def _first_end(world: World, nodes: set[int]) -> tuple[int, int] | None:
    """Return when the first task on these nodes ends, and its node: the lowest one if several end at once."""
    first: tuple[int, int] | None = None
    for when_ms, task in ends_in_order(world):
        if first is not None and when_ms > first[0]:
            break
        node = world.tasks.node[task]
        if node in nodes and (first is None or node < first[1]) and not _is_evicted_by(world, node, when_ms):
            first = when_ms, node
    gangs, tasks = world.gangs, world.tasks  # their ends are none of those in order
    together = (
        (tasks.ended[task], node)
        for task in gangs.tasks()
        if tasks.state[task] == RUNNING
        for node in gangs[task].nodes
        if node in nodes and not _is_evicted_by(world, node, tasks.ended[task])
    )
    return min([*([first] if first is not None else []), *together, *_limits(world, nodes)], default=None)


def _is_evicted_by(world: World, node: int, when_ms: int) -> bool:
    """Return whether the eviction of a node is announced for this moment or an earlier one (SPOT-7)."""
    evicted_ms = world.nodes[node].evicted_ms
    return evicted_ms is not None and evicted_ms <= when_ms


def _limits(world: World, nodes: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the limit of each job with tasks on these nodes that has one, and its first node (JOB-9, JOB-15)."""
    limits = [
        (job.row, limit.when_ms)
        for job in world.jobs.present()
        if job.busy and (limit := job_limit(world, job)) is not None
    ]
    tasks, running = world.tasks, world.nodes.running
    jobs_on = {
        node: {tasks.profiles[tasks.profile[task]].job for task in running[node]} for node in (nodes if limits else ())
    }
    for job_row, limit_ms in limits:
        theirs = (node for node in nodes if job_row in jobs_on[node] and not _is_evicted_by(world, node, limit_ms))
        first = min(theirs, default=None)
        if first is not None:
            yield limit_ms, first


def room_ms(world: World, node: int, slots: int) -> int | None:
    """Return when enough of the running tasks have ended.

    None if preparing tasks take up the room, or the node's VM is taken back before that.
    """
    running, free = world.nodes.running[node], world.nodes.free[node]
    ends = sorted((task_end_ms(world, task), task) for task in running)
    for when_ms, task in ends:
        free += world.tasks.profile_of(task).required_slots
        if free >= slots or len(running) == 1:
            return None if _is_evicted_by(world, node, when_ms) else when_ms
    return None


def _closed(world: World, agenda: Agenda, node: int) -> tuple[_Why, int | None]:
    """Return why no task may come to the node, in the order of ``Scheduler.is_eligible`` (SCHED-8)."""
    state = world.nodes.state[node]
    meaning = NODE_STATES[NodeState(state)]
    why = None if state in READY else (meaning.text, meaning.rule)
    if is_cut_off(world, node):
        return _CUT_OFF, None  # however often it boots
    if why is not None and state in _LEADING_AWAY:
        return why, None
    if why is not None:
        when_ms = state_passes_ms(world, agenda, node)
        if state in (_N.UNUSABLE, _N.UNKNOWN) and when_ms is None:
            why = f"{why[0]}: no recovery is expected", why[1]
        return why, when_ms
    record = world.nodes[node]
    if record.scheduling is SchedulingState.DISABLED:
        offline = NODE_STATES[_N.OFFLINE]
        return (offline.text, offline.rule), None
    if record.operation is not None:
        return (
            f"taking no new tasks: {record.operation.name} follows when its tasks have ended",
            record.operation.rule,
        ), None
    return ("used by one exclusive task", "JM-5"), room_ms(world, node, 1)


def is_cut_off(world: World, node: int) -> bool:
    """Return whether closed ports keep a node from ever being ready, now or after its next boot (NET-4)."""
    can_boot = world.nodes.state[node] in (*COMING_UP, _N.UNUSABLE)
    return can_boot and bool(capacity.blocked_ports(world, world.pool_of(node)))


def state_passes_ms(world: World, agenda: Agenda, node: int) -> int | None:
    """Return when the node's present state passes by itself; None if a user has to act."""
    state = world.nodes.state[node]
    if state == _N.WAITING_FOR_START_TASK:
        task = world.nodes[node].start_task
        return None if task is None else task.end_ms
    if state == _N.UNKNOWN:
        return world.nodes[node].recover_ms
    return agenda.node_steps.get(node)


def passing_words(world: World, node: int) -> str:
    """Say that a node's state has passed. Contact that is lost for long makes it unusable before that (NODE-13)."""
    state, becomes = world.nodes.state_of(node), "" if unusable_ms(world, node) is None else " or unusable"
    return f"{name_of(world, node)} is no longer {'here' if state is None else state.wire}{becomes}"


def _change(world: World, first: tuple[int, int], why: _Why) -> Next:
    when_ms, node = first
    state = world.nodes.state_of(node)
    where = name_of(world, node)
    if state is not None and state not in READY:
        return Next(passing_words(world, node), when_ms, why[1])
    if why == _PREPARES:
        return Next(f"preparation ends on {where}", when_ms, "PREP-7")
    task = min(task for task in world.nodes.running[node] if task_end_ms(world, task) == when_ms)  # of room_ms
    ends = Next(f"{task_name(world, task)} ends on {where}", world.tasks.ended[task], "SCHED-15")
    return until_cut(world, world.jobs[world.tasks.block_of(task).job], node, ends)


def _growth(world: World, agenda: Agenda, pool: Pool) -> Next | None:
    if capacity.blocked_ports(world, pool):
        return None  # new nodes do not get ready either
    arrivals = agenda.allocations.get(pool.row, {}).values()
    joins = due(f"a new node joins {called('pool', pool.id)}", min(arrivals, default=None), "RSZ-2")
    answers = agenda.answers.get(pool.row, {}).values()
    return earliest(
        (joins, due("Azure answers a request for nodes", min(answers, default=None), "RSZ-16"), next_refill(pool))
    )


def next_refill(pool: Pool) -> Next | None:
    """Return when Batch next tries to get the Spot nodes that the pool lacks (SPOT-5)."""
    return due("Batch tries to allocate Spot nodes", pool.refill_at_ms, "SPOT-5")


def next_evaluation(pool: Pool | None) -> Next | None:
    """Return when the pool's targets can change by themselves (AS-84, AS-89)."""
    if pool is None or pool.scaling is None or pool.state is not PoolState.ACTIVE:
        return None
    return Next("the pool's formula is evaluated", pool.scaling.next_ms, "AS-84")


def first_end(world: World, nodes: Iterable[int], job: Job) -> Next | None:
    """Return the end of the running task of the job that leaves its node first; None if none runs."""
    tasks = world.tasks
    ends = (
        (known_end_ms(world, job, node, tasks.ended[task]), task, node)
        for node in nodes
        for task in world.nodes.running[node]
        if tasks.profiles[tasks.profile[task]].job == job.row
    )
    _, task, node = min(ends, default=(0, -1, -1))
    if task < 0:
        return None
    ends_there = Next(f"{task_name(world, task)} ends on {name_of(world, node)}", tasks.ended[task], "TASK-7")
    return until_cut(world, job, node, ends_there)


def occupancy(world: World, node: int) -> str:
    """Describe what is on the node."""
    running, preparing = len(world.nodes.running[node]), len(world.nodes.preparing.get(node, ()))
    words = [some(running, "task") + " running"] if running or not preparing else []
    return ", ".join([*words, *([some(preparing, "task") + " preparing"] if preparing else [])])


_FILLS = {
    "spread": "Spread prefers most free slots, then prepared, dedicated and earlier nodes.",
    "pack": "Pack prefers fewest free slots, then prepared, dedicated and earlier nodes.",
}


def why_there(world: World, task: int, following: Next | None) -> Explanation | None:
    """Explain the choice of a task's node; return None where it has none, or several at once."""
    tasks = world.tasks
    state, profile, node = tasks.state_of(task), tasks.profile_of(task), tasks.node[task]
    began = state is TaskState.PREPARING or tasks.started[task] != NEVER_MS
    if state in (None, TaskState.ACTIVE) or not began or profile.instances:
        return None
    pool = world.pool_of(node)
    asked = "all" if profile.exclusive else f"{profile.required_slots} of"
    findings = (
        check("slots", True, f"it takes {asked} {pool.slots}", "SCHED-10"),
        *_wishes(world, task, profile, node),
        _preparation(world, world.jobs[profile.job], task, node),
        check("dedicated", True, "it asks for a dedicated node", "SPOT-6") if profile.dedicated_only else None,
        note(_FILLS[pool.fill.value], "SCHED-9"),
    )
    return answer(world, f"Why did {task_name(world, task)} go to {name_of(world, node)}?", findings, following)


def _wishes(world: World, task: int, profile: TaskProfile, node: int) -> Iterator[Finding]:
    """Yield the preferences of the task for a node."""
    extra = world.tasks.extra(task)
    if extra.node_retries:
        yield check("service retry", True, "retried on the same node first", "RETRY-7")
    elif extra.retry_count:
        yield check("retried", True, "a retry prefers the node of the last attempt", "RETRY-5")
    if profile.affinity is not None:
        is_there = world.nodes[node].id == profile.affinity.removeprefix("TVM:")
        yield check("affinity", is_there, "this node" if is_there else "another node, which had no room", "SCHED-13")


def _preparation(world: World, job: Job, task: int, node: int) -> Finding | None:
    """Return the check that the job was prepared there already."""
    row = world.instances.row(job.row, node) if job.has_prep else -1
    if row < 0:
        return None
    tasks, ended_ms = world.tasks, world.instances.prep_end[row]
    if tasks.state_of(task) is TaskState.PREPARING:
        return check("prepared", None, "not yet: the task waits there", "PREP-6")
    if tasks.started[task] == ended_ms:
        return check("prepared", None, "the task waited there until it was", "PREP-7")
    is_earlier = 0 <= ended_ms < tasks.started[task]
    return check("prepared", True, f"since {moment(world, ended_ms)}", "SCHED-9") if is_earlier else None


def why_again(world: World, task: int, following: Next | None) -> Explanation | None:
    """Explain why the task runs once more; return None for a first attempt."""
    tasks, extra = world.tasks, world.tasks.extra(task)
    most = max_retries(world, task)
    used = f"of {'no limit' if most < 0 else f'{most:,}'} used after failures"
    counts = (
        ("retries", extra.retry_count, used, extra.last_retry_ms, "RETRY-3"),
        ("requeues", extra.requeue_count, "by commands on its node, pool or job", extra.last_requeue_ms, "RETRY-6"),
        ("service retries", extra.system_retries, "by the service after it lost a node or VM", None, "RETRY-7"),
    )
    checks = [
        check(
            label, True, f"{count:,} {by}{'' if last_ms is None else f', the last at {moment(world, last_ms)}'}", rule
        )
        for label, count, by, last_ms, rule in counts
        if count
    ]
    if tasks.state_of(task) is None or not checks:
        return None
    verb, run = ("did" if tasks.state_of(task) is TaskState.COMPLETED else "does"), "run"
    if verb == "did" and extra.attempts <= 1:
        verb, run = "was", "to run"  # it was ended before
    starts = note(f"It has been started {some(extra.attempts, 'time')} so far.", "TASK-7") if extra.attempts else None
    return answer(world, f"Why {verb} {task_name(world, task)} {run} again?", (*checks, starts), following)


def max_retries(world: World, task: int) -> int:
    """Return how often a task may be retried, -1 without a limit: as it says itself, or its job (RETRY-3)."""
    profile = world.tasks.profile_of(task)
    return world.jobs[profile.job].max_retries if profile.max_retries is None else profile.max_retries


def priority_check(world: World, job: Job, fit: Fit | None) -> Finding | None:
    """Check that no job of higher priority takes the room that the job waits for; None if priority does not matter.

    The cost is that of the pool's jobs.
    """
    if fit is None or fit.fitting or not job.in_turn:
        return None
    pool = world.pools[job.pool]
    higher = [one for one in world.jobs_of(pool) if one.priority > job.priority]
    barred = ineligible_nodes(job, pool) if higher else ()
    possible = [node for node in pool.nodes if node not in barred and world.nodes.state[node] != GONE]
    if fit.present and not possible:
        return None  # no job takes what this one could use
    is_full = any(map(world.nodes.open.__getitem__, possible))
    first = [one for one in higher if one.in_turn] or [one for one in higher if one.busy and is_full]
    if not first:
        return None
    best = max(first, key=lambda one: one.priority)
    others = f" and {some(len(first) - 1, 'other job')}" if len(first) > 1 else ""
    goes = ("go" if others else "goes") if best.in_turn else "went"
    value = f"{job.priority} of this job; {called('job', best.id)} ({best.priority}){others} {goes} first"
    return check(Condition.PRIORITY, False, value, "SCHED-2")


def network_checks(world: World, pool: Pool) -> Iterator[Finding]:
    """Yield the check of the ports that the pool's subnet closes to its nodes (NET-4, NET-5, NET-7)."""
    closed = capacity.blocked_ports(world, pool)
    if closed:
        ports, mode = " and ".join(map(str, closed)), capacity.communication_mode(pool.spec).value
        value = f"{mode} communication needs {plural(len(closed), 'port')} {ports}, closed in its subnet"
        yield check(Condition.NETWORK, False, value, "NET-4")


def network_remedy(world: World, pool: Pool) -> str:
    """Return what connects nodes to Batch whose subnet closes ports. A reboot does not."""
    if capacity.is_open_if_simplified(world, pool):
        return "empty the pool, then give it simplified communication"
    return "open the ports, or use another subnet"


def network_notes(world: World, pool: Pool) -> Iterator[Finding]:
    """Yield what connects the pool's nodes to Batch, if its subnet closes ports (NET-7)."""
    if capacity.blocked_ports(world, pool):
        yield note("Booting its nodes again does not help.", "NODE-14")
        yield helps(f"{network_remedy(world, pool).capitalize()}.", "NET-7")


def disabled_by(world: World, job: Job) -> str:
    """Return who has disabled a job, with words before it: the exit of a task (EXIT-5), or a user; else nothing."""
    if job.state not in (JobState.DISABLING, JobState.DISABLED):
        return ""
    log, is_disabled = world.log, is_event("JobStateChanged", to=JobState.DISABLING)
    last = max((at for at in matching(log, is_disabled) if log.row_a[at] == job.row), default=-1)
    if last >= 0 and job.spec.on_task_failure is OnTaskFailure.PERFORM_EXIT_OPTIONS_JOB_ACTION:
        is_end = is_event("TaskStateChanged", to=TaskState.COMPLETED)
        ended = matching(log, is_end, log.index_at(log.when[last] - 1), last)
        tasks = [log.row_a[at] for at in ended if world.tasks.block_of(log.row_a[at]).job == job.row]
        if tasks:
            return f" by the exit of {called('task', world.tasks.task_id(tasks[-1]))}"
    return f" by a user at {moment(world, log.when[last])}" if last >= 0 else " by a user"
