"""Reasons why a task is waiting, preparing, running or completed.

Multi-instance tasks have reasons of their own: where they can run, and what they wait for on their nodes.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from engine.base.errors import exit_text
from engine.base.paths import task_directory
from engine.base.terms import InstanceState, JobState, PoolState, TaskResult, TaskState
from engine.base.values import called
from engine.rules.decisions import verdicts
from engine.rules.decisions.verdicts import is_blocked, never_met, unmet_parents
from engine.rules.preparation import STOPPED_BY_JOB
from engine.rules.processes.setup import setup_of
from engine.run.agenda import acts_due, may_act
from engine.state.acting import Process, ProcessKind
from engine.state.instances import PrepFlag
from engine.state.tables import NEVER_MS
from engine.state.tasks import COMPLETED
from engine.views.diagnosis.candidates import (
    Outlook,
    disabled_by,
    first_end,
    max_retries,
    network_checks,
    network_notes,
    next_evaluation,
    priority_check,
)
from engine.views.diagnosis.model import (
    Condition,
    Next,
    answer,
    cause_notes,
    check,
    due,
    earliest,
    going_on,
    moment,
    name_of,
    note,
    some,
    task_name,
    until_cut,
)
from engine.views.diagnosis.pools import supply_checks
from engine.views.resources.processes import act_words, end_words, ready_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.state.task_tables import Gang
    from engine.views.diagnosis.candidates import Fit
    from engine.views.diagnosis.model import Explanation, Finding
    from engine.world import World


# -- multi-instance tasks --------------------------------------------------------------------------------------------


def _pool_check(pool: Pool) -> Finding:
    """Check that multi-instance tasks can run in the pool (MI-2)."""
    if not pool.spec.enable_inter_node_communication:
        value = f"{pool.id} has no inter-node communication: it never runs there"
    elif pool.slots > 1:
        value = f"{pool.id} has {pool.slots} task slots per node instead of 1: it never runs there"
    else:
        value = f"{pool.id} has inter-node communication, and 1 task slot per node"
    return check(Condition.MULTI_INSTANCE, pool.hosts_gangs, value, "MI-2")


def _gang_preparing(world: World, task: int, gang: Gang) -> tuple[tuple[Finding, ...], Next]:
    """Return why a task with all of its nodes does not run: it waits for the last preparation (PREP-6)."""
    instances, job = world.instances, world.tasks.profile_of(task).job
    rows = [instances.row(job, node) for node in gang.nodes]
    prepared = [row for row in rows if instances.flags[row] & PrepFlag.VALID]
    running = [row for row in rows if instances.prep_state[row] == InstanceState.RUNNING]
    last = max(running, key=lambda row: (instances.prep_end[row], row))
    checks = (
        check("nodes", True, f"assigned to {_names(world, gang.nodes)}", "MI-3"),
        check("preparation on all nodes", None, f"done on {len(prepared)} of {len(rows)}", "PREP-6"),
    )
    ending = f"preparation ends on {name_of(world, instances.node[last])}, the last of them"
    return checks, Next(ending, instances.prep_end[last], "PREP-7")


def _gang_running(world: World, task: int, gang: Gang) -> tuple[tuple[Finding, ...], Next]:
    """Return the progress of a running multi-instance task (MI-4), and its next event."""
    since = moment(world, world.tasks.started[task])
    returned = sum(gang.has_returned(subtask) for subtask in range(len(gang.nodes)))
    begun = gang.application_ms != NEVER_MS
    application = f"on the primary since {moment(world, gang.application_ms)}" if begun else "not started"
    checks = (
        check("nodes", True, f"{_names(world, gang.nodes)} since {since}, the first is the primary", "MI-3"),
        check("coordination command", begun or None, f"returned on {returned} of {len(gang.nodes)} nodes", "MI-5"),
        check("application command", begun or None, application, "MI-4"),
    )
    if begun or gang.due_ms not in gang.returns_ms:
        return checks, Next("it ends", gang.due_ms, "TASK-7")
    where = name_of(world, gang.nodes[gang.returns_ms.index(gang.due_ms)])
    return checks, Next(f"the coordination command returns on {where}", gang.due_ms, "MI-4")


def _names(world: World, nodes: tuple[int, ...]) -> str:
    return ", ".join(name_of(world, node) for node in nodes)


# -- in every state --------------------------------------------------------------------------------------------------

# Failures before the process starts, with the rule of each.
_RULES = {
    "ApplicationPackageError": "APP-4",
    "CommandLaunchFailed": "USER-2",
    "ContainerInvalidImage": "CONT-2",
    "ContainerInvalidRegistry": "CONT-2",
    "ContainerInvalidSettings": "CONT-1",
    "DiskFull": "VM-4",
}

_OF_NODES = (Condition.NETWORK, Condition.TURN, Condition.ROOM)  # conditions that its nodes decide on
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
            deleted = note("It has been deleted.", "TASK-14")
            return answer(world, f"Where is {called('task', world.tasks.task_id(task))}?", (deleted,))


# -- waiting ---------------------------------------------------------------------------------------------------------


class _Waiting:
    """The conditions of SCHED-7 for one active task, in the order in which the scheduler checks them."""

    def __init__(self, world: World, task: int, outlook: Outlook) -> None:
        self.world, self.task = world, task
        self.outlook = outlook
        self.profile: TaskProfile = world.tasks.profile_of(task)
        self.job: Job = world.jobs[self.profile.job]
        self.pool: Pool | None = world.pools[self.job.pool] if self.job.pool >= 0 else None
        self.seen_ms = outlook.agenda.tasks_seen.get(world.tasks.block_of(task).first)

    def explanation(self) -> Explanation:
        world, fit = self.world, self.outlook.fit(self.job, self.profile)
        checks = (*self._of_job(), *self._of_nodes(fit), priority_check(world, self.job, fit))
        deciding = next((one for one in checks if one is not None and not one.ok), None)
        following = self._next(deciding, fit)
        nothing = "" if following is not None else self._nothing(deciding)
        supply = supply_checks(world, self.pool) if self.pool is not None and not (fit and fit.fitting) else ()
        findings = [*checks, *supply, *(() if fit is None else fit.reasons)]
        if deciding is not None and deciding.condition not in _OF_NODES:  # then nodes do not matter
            at = findings.index(deciding) + 1
            findings = [*findings[:at], *(one and one._replace(ok=one.ok or None) for one in findings[at:])]
        findings += self._notes(deciding)
        return answer(world, f"Why is {task_name(world, self.task)} waiting?", findings, following, nothing)

    def _nothing(self, deciding: Finding | None) -> str:
        """Return the rule by which it waits until a user acts; empty where that is not certain."""
        if deciding is None or may_act(self.world):
            return ""
        match deciding.condition:
            case Condition.JOB_STATE:
                return "JOB-12" if self.job.state is JobState.DISABLED else ""
            case Condition.PARALLEL_LIMIT:
                return ""
            case Condition.DEPENDENCIES if deciding.rule != "DEP-5":
                return ""
        return deciding.rule

    def _of_job(self) -> Iterator[Finding]:
        """Yield the checks that look at the job and its pool alone."""
        world, job, pool = self.world, self.job, self.pool
        yield check(
            Condition.JOB_STATE,
            job.state is JobState.ACTIVE,
            ("deleted" if job.state is None else job.state.wire) + disabled_by(world, job),
            "SCHED-7",
        )
        if pool is None:
            ended = job.state is JobState.COMPLETED
            value = "none since the job ended" if ended else f"{job.pool_id} does not exist"
            yield check(Condition.JOB_POOL, False, value, "JOB-15" if ended else "POOL-18")
        elif pool.state is not PoolState.ACTIVE:
            yield check(Condition.JOB_POOL, False, f"{pool.id} is being deleted", "POOL-19")
        else:
            allocation = "" if pool.allocation is None else f", allocation state {pool.allocation.wire}"
            yield check(Condition.JOB_POOL, True, f"{pool.id}{allocation}", "SCHED-7")
        if self.seen_ms is not None:
            yield check(Condition.KNOWN, False, f"at {moment(world, self.seen_ms)}", "TIME-9")
        yield from network_checks(world, pool) if pool is not None else ()
        yield self._dependencies()
        value = "not set" if job.max_parallel < 0 else f"{job.busy:,} of {job.max_parallel:,} preparing or running"
        is_below = job.max_parallel < 0 or job.busy < job.max_parallel
        yield check(Condition.PARALLEL_LIMIT, is_below, value, "SCHED-7")
        needed = self.profile.required_slots
        if pool is not None and self.profile.instances:
            yield _pool_check(pool)
        elif pool is not None and needed > pool.slots:
            value = f"needs {needed} slots, a node has {pool.slots}: it never runs"
            yield check(Condition.SIZE, False, value, "SCHED-10")

    def _dependencies(self) -> Finding:
        wanted = self.world.tasks.spec(self.task).depends_on if self.job.spec.uses_task_dependencies else None
        book = self.world.dependencies.get(self.job.row)
        if wanted is None or book is None:
            return check(Condition.DEPENDENCIES, True, "none", "DEP-4")
        if not book.is_waiting(self.task):
            return check(Condition.DEPENDENCIES, True, "satisfied", "DEP-4")
        parents = unmet_parents(self.world, self.job, self.task)
        named = [(task_id, self._state(row)) for task_id, row in parents]
        never = never_met(self.world, self.job, self.task)
        if never in named[_MOST_IDS:]:
            named.insert(0, never)
        parts = [f"{task_id} ({state})" for task_id, state in named[:_MOST_IDS]]
        ids, numbers = book.unmet(wanted)
        more = len(ids) + numbers - len(parts)
        parts += [f"{more - numbers:,} more"] if more > numbers else []
        parts += [f"{some(min(more, numbers), 'id')} in its ranges"] if more and numbers else []
        value = f"waits for {', '.join(parts)}"
        if never is not None and never not in named:
            value += f"; it never runs: {never[0]} {never[1]}"
        return check(Condition.DEPENDENCIES, False, value, "DEP-4" if never is None else "DEP-5")

    def _state(self, row: int | None) -> str:
        """Return the state of a task that this one depends on."""
        if row is None:
            return "does not exist"
        tasks = self.world.tasks
        return "failed" if tasks.result(row) is TaskResult.FAILURE else TaskState(tasks.state[row]).wire

    def _of_nodes(self, fit: Fit | None) -> Iterator[Finding]:
        """Yield the check of its turn and that of its room.

        Of the tasks that need as many slots, or nodes, only the first is considered.
        """
        queue = self.job.ready.get(self.profile.queue_key)
        if queue is not None and queue.size and not is_blocked(self.world, self.job, self.task):
            head = queue.head()
            first = "" if head == self.task else f"{self.world.tasks.task_id(head)} is "
            yield check(Condition.TURN, not first, f"{first}first of {queue.size:,}", "SCHED-6")
        if fit is not None:
            instances, slots = self.profile.instances, self.profile.required_slots
            label = "an empty node" if self.profile.exclusive else f"a node with {some(slots, 'free slot')}"
            rule = "MI-3" if instances else "SCHED-8"
            label = f"{some(instances, 'free node')} at once" if instances else label
            value = f"{fit.fitting:,} of {fit.present:,} eligible"
            yield check(Condition.ROOM, fit.fitting >= max(1, instances), value, rule, label)

    def _next(self, deciding: Finding | None, fit: Fit | None) -> Next | None:
        """Return what can change the first condition that is not met."""
        job = self.job
        match deciding and deciding.condition:
            case Condition.JOB_STATE:
                when_ms = self.outlook.agenda.job_steps.get(job.row) if job.state is JobState.ENABLING else None
                return due(f"{called('job', job.id)} is active again", when_ms, "TIME-19")
            case Condition.KNOWN:
                return due("the scheduler sees the task", self.seen_ms, "TIME-9")
            case Condition.DEPENDENCIES | Condition.PARALLEL_LIMIT if self.pool is not None:
                return first_end(self.world, self.pool.nodes, job)
            case None | Condition.JOB_POOL | Condition.SIZE | Condition.MULTI_INSTANCE:
                return None
        return fit and earliest((fit.next_change, next_evaluation(self.pool)))

    def _notes(self, deciding: Finding | None) -> Iterator[Finding]:
        world, pool, extra = self.world, self.pool, self.world.tasks.extra(self.task)
        if not extra.attempts:
            yield note(
                f"It has been active since {moment(world, world.tasks.block_of(self.task).created_ms)}.", "TASK-7"
            )
        if deciding is None:
            yield note("It starts at the end of this instant.", "SCHED-15")
        if self.job.state in (JobState.TERMINATING, JobState.COMPLETED):
            yield note("Tasks that are active when their job ends stay active.", "JOB-15")
        if self.job.state is JobState.DISABLED:
            yield note("Enable the job to run its tasks.", "JOB-12")
        if pool is None:
            return
        if self.profile.instances > 1 and pool.hosts_gangs:
            yield note("Batch reserves no node for it: other tasks may come first.", "MI-3")
        yield from network_notes(world, pool)
        node = verdicts.preferred_node(world, self.task, self.profile)
        if node >= 0:
            rule = "RETRY-5" if extra.awaits_retry else "RETRY-7" if extra.node_retries else "SCHED-13"
            yield note(f"It prefers {name_of(world, node)} if that has free slots.", rule)


# -- on a node -------------------------------------------------------------------------------------------------------


def _preparing(world: World, task: int, now_ms: int) -> Explanation:
    question, gang = f"Why is {task_name(world, task)} preparing?", world.gangs.find(task)
    if gang is not None:
        return answer(world, question, *_gang_preparing(world, task, gang))
    tasks, instances = world.tasks, world.instances
    job, node = world.jobs[tasks.profile_of(task).job], tasks.node[task]
    row = instances.row(job.row, node)
    where, prep = name_of(world, node), job.spec.job_preparation_task
    attempt = f"running, attempt {instances.prep_runs[row]}"
    assert prep is not None
    findings = (
        check("node", True, f"assigned to {where}", "SCHED-9"),
        check(Condition.PREPARATION, going_on(instances.prep_start[row], instances.prep_end[row]), attempt, "PREP-6"),
        _set_up(world, node, task_directory(job.id, prep.id), instances.prep_start[row], now_ms),
    )
    ends = Next(f"preparation ends on {where}", instances.prep_end[row], "PREP-7")
    return answer(world, question, findings, until_cut(world, job, node, ends))


def _running(world: World, task: int, now_ms: int) -> Explanation:
    tasks, gang = world.tasks, world.gangs.find(task)
    job, node, started_ms = world.jobs[tasks.profile_of(task).job], tasks.node[task], tasks.started[task]
    checks: tuple[Finding | None, ...]
    if gang is not None:
        checks, step = _gang_running(world, task, gang)
        following = until_cut(world, job, node, step)
    else:
        directory = task_directory(job.id, tasks.task_id(task))
        when_ms = ready_ms(world, node, directory, started_ms)
        following = until_cut(world, job, node, Next("it ends", tasks.ended[task], "TASK-7"))
        if now_ms < when_ms <= following.when_ms:
            following = Next("its command starts", when_ms, "TASK-7")
        on_node = check("node", True, f"{name_of(world, node)} since {moment(world, started_ms)}", "SCHED-9")
        checks = on_node, _set_up(world, node, directory, started_ms, now_ms)
    return answer(world, f"Why is {task_name(world, task)} running?", (*checks, *_acting(world, task)), following)


def _acting(world: World, task: int) -> Iterator[Finding]:
    """Yield what a running process waits for before it ends (JM-12), and the commands that it will give (JM-11)."""
    acting = world.acting.find(Process(ProcessKind.TASK, task))
    if acting is None:
        return
    if acting.acts.is_open:
        value = f"waits until {end_words(acting.acts)}"
        if acting.acts.until_others:
            job = world.jobs[acting.job]
            value += f": {job.counts[COMPLETED]:,} of {job.total - 1:,}"
        yield check("end", not acting.waits, value, "JM-12")
    number = world.acting.number_of(acting.process)
    assert number is not None
    to_come = {*acts_due(world, number), *acting.waiting}
    acts = (act for at, act in enumerate(acting.acts.commands) if at in to_come)
    yield from (note(f"{act_words(act)}.", "JM-11") for act in islice(acts, _MOST_ACTS))


def _set_up(world: World, node: int, directory: str, started_ms: int, now_ms: int) -> Finding | None:
    """Check what is downloaded to the node before the process in this directory, if it waits for that."""
    setup, until_ms = setup_of(world, node, directory), ready_ms(world, node, directory, started_ms)
    if setup.failure is not None:
        rule = _RULES.get(setup.failure.code, "TASK-6")
        return check(Condition.SUPPLIES, False, f"not available: {setup.failure.code}", rule)
    if until_ms <= now_ms:
        return None
    return check(Condition.SUPPLIES, None, f"downloading until {moment(world, until_ms)}", "TASK-7")


def _completed(world: World, task: int) -> Explanation:
    tasks, extra = world.tasks, world.tasks.extra(task)
    failed, started = tasks.result(task) is TaskResult.FAILURE, tasks.started[task] != NEVER_MS
    code, failure = extra.exit_code if failed else 0, extra.failure if failed else None
    findings = [check("started", started, name_of(world, tasks.node[task]) if started else "never", "TASK-7")]
    if started and code is not None:
        findings.append(check("exit code", code == 0, exit_text(code), "RETRY-2"))
    if failure is not None:
        is_retried = failure.code == "FailureExitCode"
        if is_retried:
            used = f"{extra.retry_count:,} of {max_retries(world, task):,} used"
            findings.append(check("retries left", False, used, "RETRY-3"))
        said, rule = f"{failure.code}: {failure.message}", _RULES.get(failure.code, "RETRY-1")
        findings.append(note(said, rule) if is_retried else check("failure", False, said, rule))
        findings += cause_notes(world, failure, tasks.spec(task))
        job = world.jobs[tasks.block_of(task).job]
        if failure == STOPPED_BY_JOB and job.terminate_reason:
            findings.append(check("job ended", False, f"{job.id}: {job.terminate_reason}", "JOB-10"))
        if not is_retried:
            findings.append(note("A failure of this kind is not retried.", "RETRY-4"))
    return answer(world, f"Why did {task_name(world, task)} {'fail' if failed else 'succeed'}?", findings)
