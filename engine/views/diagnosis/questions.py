"""The answers to every question that a task, node, job, job schedule or pool raises.

Beside the whole answers: the next thing that a job or task waits for, in one phrase; the reasons why a completed task
did not start earlier, read from the log; and the change for which something waits, found by playing on for a while and
taking that back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import READY
from engine.base.log import plain
from engine.base.terms import AllocationState, JobState, OnAllTasksComplete, TaskResult, TaskState
from engine.base.values import called, format_span
from engine.run.agenda import PlannedInputs, subjects_of
from engine.state.tables import NEVER_MS
from engine.state.tasks import COMPLETED
from engine.views.diagnosis.candidates import Outlook, why_again, why_there
from engine.views.diagnosis.jobs import why_counts, why_job, why_schedule
from engine.views.diagnosis.model import (
    Condition,
    Finding,
    Next,
    answer,
    check,
    listed,
    moment,
    name_of,
    note,
    plural,
    some,
    task_name,
)
from engine.views.diagnosis.nodes import why_node, why_preparation, why_release
from engine.views.diagnosis.pools import why_pool, why_targets
from engine.views.diagnosis.tasks import why_task
from engine.views.diagnosis.waste import restarts
from engine.views.hook_status import OVER, HookStatus
from engine.views.log.histories import JobHistory, TaskHistory
from engine.views.log.reader import count_by_job, is_event, matching, where
from engine.views.resources.instances import oldest_waiting
from engine.views.resources.jobs import bad_end, nodes_of_failed_releases
from engine.views.resources.statistics import critical_path, deciding_task

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.state.jobs import Job
    from engine.views.diagnosis.model import Explanation, Finding
    from engine.views.log.histories import Attempt
    from engine.views.resources.jobs import JobRow, PoolRow
    from engine.world import World


_WITHOUT_USE = Condition.INELIGIBLE, Condition.NODES, Condition.NETWORK, Condition.ROOM  # all nodes are, for a job


def job_waits_for(job: JobRow, pool: PoolRow | None, concerns: Sequence[Finding]) -> str:
    """Return what has to come before the job's next state, by the concerns about it; empty for nothing."""
    tasks, release = job.phases.tasks, job.phases.release
    busy, releasing = tasks.running + tasks.preparing, release[HookStatus.RUNNING] + release[HookStatus.WILL_RUN]
    said = ""
    match job.state:
        case JobState.ACTIVE if busy:
            said = f"{some(busy, 'task')} to end"
        case JobState.ACTIVE if tasks.active and (pool is None or pool.state is None):
            said = called("pool", job.record.pool_id)
        case JobState.ACTIVE if tasks.active and any(one.condition in _WITHOUT_USE for one in concerns):
            said = "a node that can run its tasks"
        case JobState.ACTIVE if tasks.active:
            said = "free slots for its tasks" if pool is not None and pool.nodes else "nodes"
        case JobState.ACTIVE if not tasks.total:
            said = "its first task"
        case JobState.ACTIVE if job.record.on_all_tasks_complete is not OnAllTasksComplete.TERMINATE_JOB:
            said = "more tasks, or its termination"
        case JobState.TERMINATING | JobState.DELETING if releasing:
            said = f"release on {some(releasing, 'node')}"
        case JobState.TERMINATING | JobState.DELETING:
            said = f"{some(busy, 'task')} to stop" if busy else ""
        case JobState.DISABLING:
            said = f"{some(busy, 'task')} to stop"
        case JobState.DISABLED:
            said = "a user to enable it"
    return said


def task_waits_for(simulation: Simulation, task: int) -> str:
    """Return what keeps a task from running; empty where nothing does."""
    world = simulation.world
    tasks = world.tasks
    state = tasks.state_of(task)
    if state is TaskState.PREPARING:
        return f"preparation on {name_of(world, tasks.node[task])}"
    if state is not TaskState.ACTIVE:
        return ""
    profile = tasks.profile_of(task)
    job = world.jobs[profile.job]
    if job.state is not JobState.ACTIVE:
        return f"job {job.state.wire}" if job.state is not None else ""
    if job.pool < 0:
        return called("pool", job.pool_id)
    book = world.dependencies.get(job.row)
    if book is not None and book.is_waiting(task):
        wanted = tasks.spec(task).depends_on
        assert wanted is not None
        ids, numbers = book.unmet(wanted)
        more = len(ids) - 1 + numbers if ids else 0
        return (f"{ids[0]} and {more:,} more" if more else ids[0]) if ids else some(numbers, "task")
    if 0 <= job.max_parallel <= job.busy:
        return f"its job's limit of {job.max_parallel:,}"
    if profile.instances:
        return f"{profile.instances} nodes at once"
    return f"{some(profile.required_slots, 'free slot')}"


class OpenJob(NamedTuple):
    """A job that has not ended: what it waits for, and the next event that can change that, in words."""

    job_id: str
    waits_for: str
    following: str


def open_jobs(simulation: Simulation) -> Iterator[OpenJob]:
    """Yield the jobs that have not ended, with what keeps the task of each that has waited longest, or else the job."""
    world, now_ms = simulation.world, simulation.now_ms
    outlook = Outlook(world)
    for job in world.jobs.present():
        if job.state is JobState.COMPLETED:
            continue
        waiting = oldest_waiting(world, job) if job.state is JobState.ACTIVE else None
        found = why_job(world, job, outlook) if waiting is None else why_task(world, waiting, now_ms, outlook)
        found = _with_plans(simulation, "job", job.id, found)
        unmet = [f"{one.label}: {one.text}" for one in found.checks if one.ok is False]
        reasons = [f"{one.size:,} {one.said(found.clock)}" for one in found.findings if one.size]
        task = "" if waiting is None else f"{called('task', world.tasks.task_id(waiting))}: "
        following = found.following(found.clock)
        yield OpenJob(job.id, task + "; ".join(unmet + reasons), "" if following is None else following.text)


_ON_NODE = (TaskState.PREPARING, TaskState.RUNNING)
_MOST_JOBS = 8  # that are named at most
_LONG_RELEASE_MS = 60_000


def why_last_waited(simulation: Simulation, job: Job) -> Explanation | None:
    """Explain what a completed job waited for: long releases, or else what its last task did; None without a task."""
    task = deciding_task(simulation, job.id)
    if job.state is not JobState.COMPLETED or task is None:
        return None
    return _why_released_late(simulation, job) or why_waited(simulation, task, ", the last one,")


def _why_released_late(simulation: Simulation, job: Job) -> Explanation | None:
    """Explain for which release tasks a job that has ended waited; None unless that took a while (REL-6)."""
    world, instances = simulation.world, simulation.world.instances
    span = next((one for one in JobHistory(simulation, job.row).states() if one.state is JobState.TERMINATING), None)
    if span is None or not job.has_release or span.end_ms - span.begin_ms < _LONG_RELEASE_MS:
        return None
    began, end = (moment(world, ms) for ms in (span.begin_ms, span.end_ms))
    rows = instances.rows_of_job(job.row)
    ended = [instances.node[row] for row in rows if instances.release_end[row] == span.end_ms]
    names = listed([name_of(world, node) for node in ended or nodes_of_failed_releases(world, job)])
    how, rule = ("ended", "REL-6") if ended else ("given up", "REL-13")
    text = f"{how} on {names or 'nodes out of reach'} at {end}, {format_span(span.end_ms - span.begin_ms)} later"
    findings = check("tasks", True, f"over at {began}", "JOB-15"), check(Condition.RELEASE, False, text, rule)
    return answer(world, f"What did {called('job', job.id)} wait for after its tasks?", findings)


def why_waited(simulation: Simulation, task: int, which: str = "") -> Explanation | None:
    """Explain what a completed task waited for, in order; None if it has not run. ``which`` follows its name."""
    world = simulation.world
    if world.tasks.state[task] != COMPLETED or world.tasks.started[task] == NEVER_MS:
        return None
    job = world.jobs[world.tasks.block_of(task).job]
    attempts = TaskHistory(simulation, task).attempts()
    *before, link = critical_path(simulation, task)
    if not attempts or link.ready_ms is None:
        return None
    ready_ms, placed_ms = link.ready_ms, attempts[0].placed_ms
    created, last = (moment(world, ms) for ms in (world.tasks.block_of(task).created_ms, attempts[-1].placed_ms))
    parent = world.tasks.task_id(before[-1].task) if before else ""
    findings = (
        check("added", True, f"at {created}", "TASK-7"),
        check(Condition.DEPENDENCIES, True, f"met at {moment(world, ready_ms)}, by {parent}", "DEP-4")
        if before
        else None,
        _disabled(simulation, job, ready_ms, placed_ms),
        _without_nodes(simulation, job, ready_ms, placed_ms),
        check(Condition.PARALLEL_LIMIT, None, f"{some(job.max_parallel, 'task')} at once", "JOB-2")
        if job.max_parallel >= 0
        else None,
        *_start(world, attempts[0]),
        *(_users_of_slots(simulation, job, ready_ms, placed_ms) if placed_ms > ready_ms else ()),
        note("It went to a node at once.", "SCHED-15") if placed_ms <= ready_ms else None,
        note(f"It had {some(len(attempts), 'attempt')}, the last one from {last}.", "RETRY-1")
        if len(attempts) > 1
        else None,
    )
    return answer(world, f"What did {task_name(world, task)}{which} wait for?", findings)


def _disabled(simulation: Simulation, job: Job, from_ms: int, until_ms: int) -> Finding | None:
    """Check that the job was active while the task waited."""
    spans = [
        span
        for span in JobHistory(simulation, job.row).states()
        if span.state in (JobState.DISABLING, JobState.DISABLED, JobState.ENABLING)
        and span.begin_ms < until_ms
        and span.end_ms > from_ms
    ]
    if not spans:
        return None
    first, last = (moment(simulation.world, ms) for ms in (spans[0].begin_ms, spans[-1].end_ms))
    return check(Condition.JOB_STATE, False, f"not active between {first} and {last}", "JOB-12")


def _without_nodes(simulation: Simulation, job: Job, from_ms: int, until_ms: int) -> Finding | None:
    """Check that the pool had a ready node while the task waited."""
    world, log = simulation.world, simulation.log
    pools = {pool.row for pool in world.pools.rows if _is_pool_of(job, pool.id)}
    changes = [_change_of_ready(shape) for shape in log.shapes]
    shapes = log.shape_of[: log.index_at(until_ms - 1)]

    def of_pool(kinds: list[bool]) -> Iterator[int]:
        return (at for at in where(kinds, shapes, 0) if world.nodes[log.row_b[at]].pool in pools)

    first = next(of_pool([change > 0 for change in changes]), None)
    last_ms = 0 if first is None else log.when[first]  # when there was none for the last time
    ready = int(first is not None)  # nodes
    if any(True for _ in of_pool([change < 0 for change in changes])):  # else some have been ready since the first one
        ready = 0
        for at in of_pool(list(map(bool, changes))):
            if not ready:
                last_ms = log.when[at]
            ready += changes[log.shape_of[at]]
    if not ready:
        last_ms = until_ms
    if last_ms <= from_ms:
        return None
    return check(Condition.NO_NODES, False, f"none ready until {moment(world, last_ms)}", "SCHED-8")


def _start(world: World, first: Attempt) -> Iterator[Finding]:
    """Yield the checks of its way to a node: when it went there, and the end of the preparation that it waited for."""
    value = f"{name_of(world, first.node)} at {moment(world, first.placed_ms)}"
    yield check(Condition.ROOM, True, value, "SCHED-9", "a node with free slots")
    if first.start_ms is not None and first.start_ms > first.placed_ms:
        yield check(Condition.PREPARATION, True, f"ended at {moment(world, first.start_ms)}", "PREP-6")


def _users_of_slots(simulation: Simulation, job: Job, from_ms: int, until_ms: int) -> list[Finding]:
    """Return how often tasks of each job of the pool had slots while the task waited, the most first.

    Attempts are counted: a task that is retried takes slots each time.
    """
    log, jobs = simulation.log, simulation.world.jobs
    first, stop = log.index_at(from_ms - 1), log.index_at(until_ms - 1)
    tasks = count_by_job(simulation, lambda shape: _on_node(shape) == (False, True), 0, stop)
    tasks.subtract(count_by_job(simulation, lambda shape: _on_node(shape) == (True, False), 0, first))
    found = [
        _reason(job, jobs[row], count)
        for row, count in sorted(tasks.items(), key=lambda each: (-each[1], each[0]))
        if count > 0 and _is_pool_of(job, jobs[row].pool_id)
    ]
    more = sum(each.size for each in found[_MOST_JOBS:])
    text = f"{plural(more, 'start')} of tasks of other jobs took slots"
    return found[:_MOST_JOBS] + ([Finding(Condition.ROOM, text, "SCHED-10", size=more)] if more else [])


def _reason(own: Job, job: Job, count: int) -> Finding:
    whose, rule = called("job", job.id), "SCHED-10"
    if job.row == own.row:
        whose, rule = "its own job", "SCHED-6"
    elif job.priority >= own.priority:
        rule = "SCHED-2" if job.priority > own.priority else "SCHED-4"
    text = f"{plural(count, 'start')} of tasks of {whose} (priority {job.priority}) took slots"
    return Finding(Condition.ROOM, text, rule, size=count)


def _is_pool_of(job: Job, pool_id: str) -> bool:
    return job.pool_id.lower() == pool_id.lower()


def _on_node(shape: Shape) -> tuple[bool, bool]:
    """Return whether a task is on a node before and after an event of this shape."""
    fields = dict(shape.fields)
    is_task = shape.event == "TaskStateChanged"
    return is_task and fields["from"] in _ON_NODE, is_task and fields["to"] in _ON_NODE


def _change_of_ready(shape: Shape) -> int:
    """Return 1 for an event that makes a node ready, -1 for one that ends that, and 0 for others."""
    fields = dict(shape.fields)
    return (fields["to"] in READY) - (fields["from"] in READY) if shape.event == "NodeStateChanged" else 0


def explain(simulation: Simulation, kind: str, key: int | str, job_id: str = "") -> list[Explanation]:
    """Answer the questions about one item at this moment; return nothing if there is none of this id.

    ``kind`` is "task", "node", "job", "job schedule" or "pool"; ``key`` the row of a task or node, else the id.
    Preparation and release of the job ``job_id`` are explained beside the state of a node.
    """
    world, now_ms = simulation.world, simulation.now_ms
    found: tuple[Explanation | None, ...] = ()
    match kind:
        case "task":
            state = why_task(world, int(key), now_ms)
            next_change = state.next_change
            there, again = (why(world, int(key), next_change) for why in (why_there, why_again))
            waited = why_waited(simulation, int(key))
            if world.tasks.result(int(key)) is TaskResult.FAILURE:
                waited = _aside(waited)
            found = state, there, again and _with_cost(simulation, int(key), again), waited
        case "node":
            job = world.jobs.find(job_id)
            preparation = None if job is None or not job.has_prep else why_preparation(world, job, int(key))
            is_due = job is not None and job.has_release and job.state in OVER
            release = why_release(world, job, int(key)) if job is not None and is_due else None
            found = why_node(world, int(key), job), preparation, release
        case "job" if (job := world.jobs.latest(str(key))) is not None:
            outlook = Outlook(world)  # the task mostly waits for the nodes that the job does
            state = why_job(world, job, outlook)
            waited = _why_job_waits(simulation, job, outlook)
            found = state, _aside(waited) if bad_end(job) else waited, why_counts(world, job, state.next_change)
        case "job schedule" if (schedule := world.job_schedules.latest(str(key))) is not None:
            found = (why_schedule(world, schedule, now_ms),)
        case "pool" if (pool := world.pools.latest(str(key))) is not None:
            found = why_pool(world, pool), None if pool.state is None else why_targets(world, pool)
    return [_with_plans(simulation, kind, key, explanation) for explanation in found if explanation is not None]


def _aside(explanation: Explanation | None) -> Explanation | None:
    """Return an explanation whose conditions have not caused what is asked: a failure comes from elsewhere."""
    if explanation is None:
        return None
    return replace(explanation, findings=tuple(one._replace(ok=one.ok or None) for one in explanation.findings))


def _with_cost(simulation: Simulation, task: int, again: Explanation) -> Explanation:
    """Add how often a task began again, why and what it cost, to the explanation of why it runs again."""
    found = ((each, "began again" if each.has_begun else "interrupted") for each in restarts(simulation, task))
    causes = (check(name, False, each.words, each.rule) for each, name in found)
    return replace(again, findings=(*again.findings, *causes))


def _with_plans(simulation: Simulation, kind: str, key: int | str, explanation: Explanation) -> Explanation:
    """Add what the timeline has planned to an explanation that says that a user has to act."""
    if not explanation.nothing:
        return explanation
    return replace(explanation, planned=PlannedInputs(simulation).to_come(subjects_of(simulation.world, kind, key)))


def explain_oldest_wait(simulation: Simulation, job_id: str) -> list[Explanation]:
    """Explain the oldest wait of a job, what holds one that ends, or what a completed one waited for, if anything."""
    job = simulation.world.jobs.find(job_id)
    is_ending = job is not None and job.state in (JobState.TERMINATING, JobState.DELETING)
    found = None if job is None else (why_job(simulation.world, job) if is_ending else _why_job_waits(simulation, job))
    return [] if found is None else [_with_plans(simulation, "job", job_id, found)]


def _why_job_waits(simulation: Simulation, job: Job, outlook: Outlook | None = None) -> Explanation | None:
    waiting = oldest_waiting(simulation.world, job)
    if waiting is None:
        return why_last_waited(simulation, job)
    return why_task(simulation.world, waiting, simulation.now_ms, outlook)


# The most entries of the log that are played.
MOST_ENTRIES = 5_000
_SLICE = 256
_TASK_WORDS: dict[Hashable, str] = {
    TaskState.RUNNING: "it starts on {}",
    TaskState.COMPLETED: "it is completed without running",
    None: "it is deleted",
}
# The event that a thing of each kind waits for, and words for the new states that end the waiting.
_WAITS: dict[str, tuple[str, dict[Hashable, str]]] = {
    "task": ("TaskStateChanged", _TASK_WORDS),
    "node": ("NodeStateChanged", {None: "it has left the pool", **{each: f"it is {plain(each)}" for each in READY}}),
    "job": ("JobStateChanged", {None: "it is deleted", **{each: f"it is {plain(each)}" for each in JobState}}),
    "pool": ("PoolAllocationStateChanged", {AllocationState.STEADY: "it is steady"}),
}


def expected(simulation: Simulation, kind: str, key: int | str) -> Next | None:
    """Find out what a task, node, pool or job waits for.

    Return None where it waits for nothing, or while the past is shown. Tasks and nodes are named by row number, the
    others by id.
    """
    row = _row_waiting(simulation.world, kind, key)
    if row is None or simulation.is_past:
        return None
    now_ms, subjects = simulation.now_ms, subjects_of(simulation.world, kind, key)
    with simulation.trial():
        log = simulation.log
        at, last, has_more = len(log), len(log) + MOST_ENTRIES, True
        while has_more and at < last:
            has_more = simulation.advance(simulation.end_ms, _SLICE)
            found = _first(simulation, kind, row, at)
            if found is not None:
                basis = PlannedInputs(simulation).between(subjects, now_ms, found.when_ms)
                return found._replace(basis=basis)
            at = len(log)
        if has_more:
            return Next(f"no change in the next {MOST_ENTRIES:,} events", log.last_ms)
        return Next("no change until the end of the run", max(now_ms, simulation.last_ms))


def _first(simulation: Simulation, kind: str, row: int, start: int) -> Next | None:
    """Return the first entry, from this number on, that ends the wait."""
    log, (event, words) = simulation.log, _WAITS[kind]
    rows = log.row_b if kind == "node" else log.row_a
    for at in matching(log, is_event(event), start):
        fields = dict(log.shapes[log.shape_of[at]].fields)
        text = words.get(fields.get("to")) if rows[at] == row else None
        if text is not None:
            said = text.format(name_of(simulation.world, log.row_b[at])) if "{" in text else text
            return Next(said, log.when[at], str(fields.get("rule", "SCHED-15")))
    return None


def _row_waiting(world: World, kind: str, key: int | str) -> int | None:
    """Return the row of an item that waits for another state; None if it waits for none."""
    match kind:
        case "task" if world.tasks.state_of(int(key)) in (TaskState.ACTIVE, TaskState.PREPARING):
            return int(key)
        case "node" if world.nodes.state_of(int(key)) not in (None, *READY):
            return int(key)
        case "job" if (job := world.jobs.find(str(key))) is not None and job.end_ms is None:
            return job.row
        case "pool" if (pool := world.pools.find(str(key))) is not None:
            return None if pool.allocation is AllocationState.STEADY else pool.row
    return None
