"""Reasons why a task is waiting, preparing, running or completed.

Multi-instance tasks have reasons of their own: where they can run, and what they wait for on their nodes.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from engine.base.paths import task_directory
from engine.base.terms import InstanceState, JobState, PoolState, TaskResult, TaskState
from engine.rules.decisions import verdicts
from engine.rules.decisions.verdicts import is_blocked
from engine.rules.processes.setup import setup_of
from engine.run.agenda import acts_due
from engine.state.acting import Process, ProcessKind
from engine.state.instances import PrepFlag
from engine.state.tables import NEVER_MS
from engine.state.tasks import COMPLETED
from engine.views.diagnosis.candidates import Fit, Outlook, first_end, priority_check
from engine.views.diagnosis.model import (
    Check,
    Condition,
    Next,
    Note,
    answer,
    cause_notes,
    due,
    earliest,
    moment,
    name_of,
    some,
    task_name,
    until_cut,
)
from engine.views.diagnosis.pools import network_notes, next_evaluation
from engine.views.resources.processes import act_words, end_words, ready_ms

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.state.task_tables import Gang
    from engine.views.diagnosis.model import Explanation
    from engine.world import World


def pool_check(pool: Pool) -> Check:
    """Check that multi-instance tasks can run in the pool (MI-2)."""
    if not pool.spec.enable_inter_node_communication:
        value = f"{pool.id} has no inter-node communication: it never runs there"
    elif pool.slots > 1:
        value = f"{pool.id} has {pool.slots} task slots per node instead of 1: it never runs there"
    else:
        value = f"{pool.id} has inter-node communication, and 1 task slot per node"
    return Check(Condition.MULTI_INSTANCE, pool.hosts_gangs, value, "MI-2")


def why_preparing(world: World, task: int, gang: Gang) -> Explanation:
    """Explain why a task with all of its nodes does not run: it waits for the last preparation (PREP-6)."""
    instances, job = world.instances, world.tasks.profile_of(task).job
    rows = [instances.row(job, node) for node in gang.nodes]
    prepared = [row for row in rows if instances.flags[row] & PrepFlag.VALID]
    running = [row for row in rows if instances.prep_state[row] == InstanceState.RUNNING]
    last = max(running, key=lambda row: (instances.prep_end[row], row))
    checks = (
        Check("nodes", True, f"assigned to {_names(world, gang.nodes)}", "MI-3"),
        Check("preparation on all nodes", False, f"done on {len(prepared)} of {len(rows)}", "PREP-6"),
    )
    ending = f"preparation ends on {name_of(world, instances.node[last])}, the last of them"
    following = Next(ending, instances.prep_end[last], "PREP-7")
    return answer(world, f"Why is {task_name(world, task)} preparing?", checks, next_change=following)


def running_checks(world: World, task: int, gang: Gang) -> tuple[Check, ...]:
    """Return the progress of a running multi-instance task (MI-4)."""
    since = moment(world, world.tasks.started[task])
    returned = sum(gang.has_returned(subtask) for subtask in range(len(gang.nodes)))
    begun = gang.application_ms != NEVER_MS
    application = f"on the primary since {moment(world, gang.application_ms)}" if begun else "not started"
    return (
        Check("nodes", True, f"{_names(world, gang.nodes)} since {since}, the first is the primary", "MI-3"),
        Check("coordination command", begun, f"returned on {returned} of {len(gang.nodes)} nodes", "MI-5"),
        Check("application command", begun, application, "MI-4"),
    )


def next_step(world: World, gang: Gang) -> Next:
    """Return the next event of a running multi-instance task."""
    if gang.application_ms != NEVER_MS or gang.due_ms not in gang.returns_ms:
        return Next("it ends", gang.due_ms, "TASK-7")
    where = name_of(world, gang.nodes[gang.returns_ms.index(gang.due_ms)])
    return Next(f"the coordination command returns on {where}", gang.due_ms, "MI-4")


def _names(world: World, nodes: tuple[int, ...]) -> str:
    return ", ".join(name_of(world, node) for node in nodes)


# Failures before the process starts, with the rule of each.
_RULES = {
    "ApplicationPackageError": "APP-4",
    "CommandLaunchFailed": "USER-2",
    "ContainerInvalidImage": "CONT-2",
    "ContainerInvalidRegistry": "CONT-2",
    "ContainerInvalidSettings": "CONT-1",
    "DiskFull": "VM-4",
}

_MOST_ACTS = 5  # commands that a process is still to give, named at most
_MOST_IDS = 3  # tasks that a task waits for, named at most


def why_task(world: World, task: int, now_ms: int, outlook: Outlook | None = None) -> Explanation:
    """Explain the state of the task in this row at ``now_ms``; the outlook is that of this moment."""
    match world.tasks.state_of(task):
        case TaskState.ACTIVE:
            return _Waiting(world, task, outlook or Outlook(world)).explanation()
        case TaskState.PREPARING:
            return _preparing(world, task, now_ms)
        case TaskState.RUNNING:
            return _running(world, task, now_ms)
        case TaskState.COMPLETED:
            return _completed(world, task)
        case None:
            question = f"Where is task {world.tasks.task_id(task)}?"
            return answer(world, question, notes=(Note("It has been deleted.", "TASK-14"),))


# -- waiting ---------------------------------------------------------------------------------------------------------


class _Waiting:
    """The conditions of SCHED-7 for one active task, in the order in which the scheduler checks them."""

    def __init__(self, world: World, task: int, outlook: Outlook) -> None:
        self.world, self.task = world, task
        self.outlook = outlook
        self.profile: TaskProfile = world.tasks.profile_of(task)
        self.job: Job = world.jobs[self.profile.job]
        self.pool: Pool | None = world.pools[self.job.pool] if self.job.pool >= 0 else None

    def explanation(self) -> Explanation:
        world, fit = self.world, self.outlook.fit(self.job, self.profile)
        checks = [self._job_state(), self._pool(), self._seen(), self._dependencies(), self._limit(), self._size()]
        checks += [self._turn(), self._room(fit), priority_check(world, self.job, fit)]
        deciding = next((check for check in checks if check is not None and not check.ok), None)
        following = self._next(deciding, fit)
        question = f"Why is {task_name(world, self.task)} waiting?"
        reasons, nothing = () if fit is None else fit.reasons, "" if following is not None else self._nothing(deciding)
        return answer(world, question, checks, reasons, following, self._notes(deciding), nothing)

    def _nothing(self, deciding: Check | None) -> str:
        """Return the rule by which it waits until a user acts; empty where that is not certain."""
        if deciding is None or any(acting.waits for _, acting in self.world.acting):
            return ""  # the end of a process may change anything (JM-12)
        match deciding.label:
            case Condition.JOB_STATE:
                return "JOB-12" if self.job.state is JobState.DISABLED else ""
            case Condition.PARALLEL_LIMIT:
                return ""
            case Condition.DEPENDENCIES if deciding.rule != "DEP-5":
                return ""
        return deciding.rule

    def _job_state(self) -> Check:
        state = self.job.state
        value = "deleted" if state is None else state.wire
        return Check(Condition.JOB_STATE, state is JobState.ACTIVE, value, "SCHED-7")

    def _pool(self) -> Check:
        pool = self.pool
        if pool is None:
            ended = self.job.state is JobState.COMPLETED
            value = "none since the job ended" if ended else f"{self.job.pool_id} does not exist"
            return Check(Condition.JOB_POOL, False, value, "JOB-15" if ended else "POOL-18")
        allocation = "" if pool.allocation is None else f", allocation state {pool.allocation.wire}"
        if pool.state is not PoolState.ACTIVE:
            return Check(Condition.JOB_POOL, False, f"{pool.id} is being deleted", "POOL-19")
        return Check(Condition.JOB_POOL, True, f"{pool.id}{allocation}", "SCHED-7")

    def _seen(self) -> Check | None:
        when_ms = self.outlook.agenda.tasks_seen.get(self.world.tasks.block_of(self.task).first)
        if when_ms is None:
            return None
        return Check(Condition.KNOWN, False, f"at {moment(self.world, when_ms)}", "TIME-9")

    def _dependencies(self) -> Check:
        wanted = self.world.tasks.spec(self.task).depends_on if self.job.spec.uses_task_dependencies else None
        book = self.world.dependencies.get(self.job.row)
        if wanted is None or book is None:
            return Check(Condition.DEPENDENCIES, True, "none", "DEP-4")
        if not book.is_waiting(self.task):
            return Check(Condition.DEPENDENCIES, True, "satisfied", "DEP-4")
        ids, numbers = book.unmet(wanted)
        parents = [(task_id, *self._parent(task_id)) for task_id in ids[:_MOST_IDS]]
        named = [f"{task_id} ({state})" for task_id, state, _ in parents]
        more = [f"{len(ids) - _MOST_IDS} more"] if len(ids) > _MOST_IDS else []
        ranged = [f"{some(numbers, 'id')} in its ranges"] if numbers else []
        value = "waits for " + ", ".join([*named, *more, *ranged])
        is_open = all(can_succeed for _, _, can_succeed in parents)
        return Check(Condition.DEPENDENCIES, False, value, "DEP-4" if is_open else "DEP-5")

    def _parent(self, task_id: str) -> tuple[str, bool]:
        """Return the state of a task that this one depends on, and whether it can still succeed by itself."""
        tasks = self.world.tasks
        row = tasks.find(self.job.row, task_id)
        if row is None:
            return "does not exist", False
        return (
            ("failed", False) if tasks.result(row) is TaskResult.FAILURE else (TaskState(tasks.state[row]).wire, True)
        )

    def _limit(self) -> Check:
        job = self.job
        if job.max_parallel < 0:
            return Check(Condition.PARALLEL_LIMIT, True, "not set", "SCHED-7")
        value = f"{job.busy:,} of {job.max_parallel:,} preparing or running"
        return Check(Condition.PARALLEL_LIMIT, job.busy < job.max_parallel, value, "SCHED-7")

    def _size(self) -> Check | None:
        needed = self.profile.required_slots
        if self.pool is not None and self.profile.instances:
            return pool_check(self.pool)
        if self.pool is None or needed <= self.pool.slots:
            return None
        return Check(
            Condition.SIZE, False, f"needs {needed} slots, a node has {self.pool.slots}: it never runs", "SCHED-10"
        )

    def _turn(self) -> Check | None:
        """Check its turn: of the tasks that need as many slots, or nodes, only the first is considered."""
        queue = self.job.ready.get(self.profile.queue_key)
        if queue is None or not queue.size or is_blocked(self.world, self.job, self.task):
            return None
        head = queue.head()
        if head == self.task:
            return Check("turn in the job", True, f"first of {queue.size:,}", "SCHED-6")
        value = f"{self.world.tasks.task_id(head)} is first of {queue.size:,}"
        return Check("turn in the job", False, value, "SCHED-6")

    def _room(self, fit: Fit | None) -> Check | None:
        if fit is None:
            return None
        value = f"{fit.fitting:,} of {fit.present:,} eligible"
        instances = self.profile.instances
        if instances:
            return Check(f"{some(instances, 'free node')} at once", fit.fitting >= instances, value, "MI-3")
        slots = self.profile.required_slots
        label = "an empty node" if self.profile.exclusive else f"a node with {some(slots, 'free slot')}"
        return Check(label, fit.fitting > 0, value, "SCHED-8")

    def _next(self, deciding: Check | None, fit: Fit | None) -> Next | None:
        """Return what can change the first condition that is not met."""
        job, agenda = self.job, self.outlook.agenda
        match deciding and deciding.label:
            case Condition.JOB_STATE:
                when_ms = agenda.job_steps.get(job.row) if job.state is JobState.ENABLING else None
                return due(f"job {job.id} is active again", when_ms, "TIME-19")
            case Condition.KNOWN:
                when_ms = agenda.tasks_seen[self.world.tasks.block_of(self.task).first]
                return Next("the scheduler sees the task", when_ms, "TIME-9")
            case Condition.DEPENDENCIES | Condition.PARALLEL_LIMIT if self.pool is not None:
                return first_end(self.world, self.pool.nodes, job)
            case None | Condition.JOB_POOL | Condition.SIZE | Condition.MULTI_INSTANCE:
                return None
        return fit and earliest((fit.next_change, next_evaluation(self.pool)))

    def _notes(self, deciding: Check | None) -> list[Note]:
        world, extra = self.world, self.world.tasks.extra(self.task)
        notes = []
        if not extra.attempts:
            added = moment(world, world.tasks.block_of(self.task).created_ms)
            notes.append(Note(f"It has been active since {added}.", "TASK-7"))
        if deciding is None:
            notes.append(Note("It starts at the end of this instant.", "SCHED-15"))
        if self.job.state in (JobState.TERMINATING, JobState.COMPLETED):
            notes.append(Note("Tasks that are active when their job ends stay active.", "JOB-15"))
        if self.job.state is JobState.DISABLED:
            notes.append(Note("Enable the job to run its tasks.", "JOB-12"))
        if self.profile.instances > 1 and self.pool is not None and self.pool.hosts_gangs:
            notes.append(Note("Batch reserves no node for it: other tasks may come first.", "MI-3"))
        if self.pool is not None:
            notes += network_notes(world, self.pool)
        node = verdicts.preferred_node(world, self.task, self.profile) if self.pool is not None else -1
        if node >= 0:
            rule = "RETRY-5" if extra.awaits_retry else "RETRY-7" if extra.node_retries else "SCHED-13"
            notes.append(Note(f"It prefers {name_of(world, node)} if that has free slots.", rule))
        return notes


# -- on a node -------------------------------------------------------------------------------------------------------


def _preparing(world: World, task: int, now_ms: int) -> Explanation:
    gang = world.gangs.find(task)
    if gang is not None:
        return why_preparing(world, task, gang)
    tasks, instances = world.tasks, world.instances
    job, node = world.jobs[tasks.profile_of(task).job], tasks.node[task]
    row = instances.row(job.row, node)
    where, prep = name_of(world, node), job.spec.job_preparation_task
    assert prep is not None
    checks = (
        Check("node", True, f"assigned to {where}", "SCHED-9"),
        Check("preparation on the node", False, f"running, attempt {instances.prep_runs[row]}", "PREP-6"),
        _set_up(world, node, task_directory(job.id, prep.id), instances.prep_start[row], now_ms),
    )
    ends = Next(f"preparation ends on {where}", instances.prep_end[row], "PREP-7")
    following = until_cut(world, job, node, ends)
    return answer(world, f"Why is {task_name(world, task)} preparing?", checks, next_change=following)


def _running(world: World, task: int, now_ms: int) -> Explanation:
    tasks = world.tasks
    question = f"Why is {task_name(world, task)} running?"
    job, node, started_ms = world.jobs[tasks.profile_of(task).job], tasks.node[task], tasks.started[task]
    gang = world.gangs.find(task)
    if gang is not None:
        checks = running_checks(world, task, gang)
        following = until_cut(world, job, node, next_step(world, gang))
        return answer(world, question, (*checks, _wait(world, task)), (), following, _acts(world, task))
    directory = task_directory(job.id, tasks.task_id(task))
    when_ms = ready_ms(world, node, directory, started_ms)
    following = until_cut(world, job, node, Next("it ends", tasks.ended[task], "TASK-7"))
    if now_ms < when_ms <= following.when_ms:
        following = Next("its command starts", when_ms, "TASK-7")
    on_node = Check("node", True, f"{name_of(world, node)} since {moment(world, started_ms)}", "SCHED-9")
    delivery = _set_up(world, node, directory, started_ms, now_ms)
    return answer(world, question, (on_node, delivery, _wait(world, task)), (), following, _acts(world, task))


def _wait(world: World, task: int) -> Check | None:
    """Check what a running process waits for before it ends (JM-12)."""
    acting = world.acting.find(Process(ProcessKind.TASK, task))
    if acting is None or not acting.acts.is_open:
        return None
    value = f"waits until {end_words(acting.acts)}"
    if acting.acts.until_others:
        job = world.jobs[acting.job]
        value += f": {job.counts[COMPLETED]:,} of {job.total - 1:,}"
    return Check("end", not acting.waits, value, "JM-12")


def _acts(world: World, task: int) -> list[Note]:
    """Note the commands that a running process is still to give (JM-11)."""
    acting = world.acting.find(Process(ProcessKind.TASK, task))
    if acting is None:
        return []
    number = world.acting.number_of(acting.process)
    assert number is not None
    to_come = {*acts_due(world, number), *acting.waiting}
    acts = (act for at, act in enumerate(acting.acts.commands) if at in to_come)
    return [Note(f"{act_words(act)}.", "JM-11") for act in islice(acts, _MOST_ACTS)]


def _set_up(world: World, node: int, directory: str, started_ms: int, now_ms: int) -> Check | None:
    """Check what is downloaded to the node before the process in this directory, if it waits for that."""
    setup, until_ms = setup_of(world, node, directory), ready_ms(world, node, directory, started_ms)
    if setup.failure is not None:
        rule = _RULES.get(setup.failure.code, "TASK-6")
        return Check("what it needs", False, f"not available: {setup.failure.code}", rule)
    if until_ms <= now_ms:
        return None
    return Check("what it needs", False, f"downloading until {moment(world, until_ms)}", "TASK-7")


def _completed(world: World, task: int) -> Explanation:
    tasks = world.tasks
    profile, extra = tasks.profile_of(task), tasks.extra(task)
    failed = tasks.result(task) is TaskResult.FAILURE
    started = tasks.started[task] != NEVER_MS
    code = extra.exit_code if failed else 0
    checks = [Check("started", started, name_of(world, tasks.node[task]) if started else "never", "TASK-7")]
    if started and code is not None:
        checks.append(Check("exit code", code == 0, str(code), "RETRY-2"))
    notes = []
    if failed and extra.failure is not None:
        rule = _RULES.get(extra.failure.code, "RETRY-1")
        notes.append(Note(f"{extra.failure.code}: {extra.failure.message}", rule))
        notes += cause_notes(world, extra.failure, tasks.spec(task))
        if extra.failure.code == "FailureExitCode":
            most = world.jobs[profile.job].max_retries if profile.max_retries is None else profile.max_retries
            checks.append(Check("retries left", False, f"{extra.retry_count:,} of {most:,} used", "RETRY-3"))
        else:
            notes.append(Note("A failure of this kind is not retried.", "RETRY-4"))
    return answer(world, f"Why did {task_name(world, task)} {'fail' if failed else 'succeed'}?", checks, notes=notes)
