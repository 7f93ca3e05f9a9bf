"""Conditions on the state of a run: properties of a subject, expectations about them, and the end of the work.

``expect`` and ``when`` of a scenario compare the same properties.

Nodes may fail or be evicted by chance at any time, and a job schedule behind a job that never ends loses one
occurrence after the other (NODE-18, SPOT-10, JS-15). If that kept a run alive, every such run would last, and cost, as
long as a run can. So a run without ``until`` is over when nothing is left but what is endless, and its consequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.calendar import DueKind
from engine.base.errors import BatchError
from engine.base.terms import AllocationState, InstanceState, NodeState, TaskResult
from engine.base.values import HOUR_MS, SECOND_MS
from engine.rules.decisions.verdicts import node_named
from engine.rules.processes.node_disk import read_file
from engine.specs.conditions import ConditionSubject, SubjectKind, matches
from engine.state.tables import Kept, Values
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engine.base.calendar import Pending
    from engine.base.terms import Plain
    from engine.scenario.model import Expectation
    from engine.specs.command import Command
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world import World


_ABSENT: dict[str, object] = {"state": None}


def observe(world: World, subject: ConditionSubject, wanted: Mapping[str, object], now_ms: int) -> dict[str, object]:
    """Return the wanted properties of the subject; ``state`` is None if it does not exist (any more)."""
    match subject.kind:
        case SubjectKind.RUN:
            facts = _run(world, wanted, now_ms)
        case SubjectKind.POOL:
            pool = world.pools.latest(subject.pool_id or "")
            facts = _pool(world, pool, wanted, now_ms) if pool is not None else _ABSENT
        case SubjectKind.JOB:
            job = world.jobs.latest(subject.job_id or "")
            facts = _job(world, job, wanted) if job is not None else _ABSENT
        case SubjectKind.JOB_SCHEDULE:
            facts = _job_schedule(world, subject.job_schedule_id)
        case SubjectKind.TASK:
            facts = _task(world, subject)
        case SubjectKind.NODE:
            facts = _node(world, subject, wanted, now_ms)
    return {name: facts.get(name) for name in wanted}


def cost_of_nodes(pools: Iterable[Pool], now_ms: int) -> float:
    """Return the cost of the nodes of these pools up to a moment, in the currency of the prices (ACC-10, VM-2)."""
    return sum(price_of(pool, *pool.billed_ms_at(now_ms)) for pool in pools)


def price_of(pool: Pool, dedicated_ms: int, spot_ms: int) -> float:
    """Return the price of so many milliseconds of the pool's dedicated and Spot nodes."""
    price = pool.size.price_usd(pool.os, dedicated=True) or 0.0
    spot_price = pool.size.price_usd(pool.os, dedicated=False) or 0.0
    return dedicated_ms / HOUR_MS * price + spot_ms / HOUR_MS * spot_price


def makespan_ms(world: World) -> int:
    """Return the end of the last completed task, deleted or not, in ms since the start, or 0 without one."""
    tasks = world.tasks
    planned = set(tasks.rows_in(RUNNING))  # their end is still to come
    ends = (end for task, end in enumerate(tasks.ended) if task not in planned) if planned else tasks.ended
    return max(0, max(ends, default=0))


def _run(world: World, wanted: Mapping[str, object], now_ms: int) -> dict[str, object]:
    facts: dict[str, object] = {}
    if "events" in wanted:
        asked = wanted["events"]
        tally = world.log.tally()
        facts["events"] = {name: tally.get(name, 0) for name in (asked if isinstance(asked, dict) else tally)}
    if "makespan" in wanted:
        facts["makespan"] = makespan_ms(world) / SECOND_MS
    if "cost" in wanted:
        facts["cost"] = round(cost_of_nodes(world.pools.rows, now_ms), 6)
    return facts


def node_counts(world: World, pool: Pool) -> dict[str, object]:
    """Return the number of the pool's nodes by state and kind (NODE-16)."""
    counts = dict.fromkeys(("total", "dedicated", "lowPriority", *(state.wire for state in NodeState)), 0)
    for node in pool.nodes:
        state = world.nodes.state_of(node)
        if state is not None:
            counts["total"] += 1
            counts["dedicated" if world.nodes[node].dedicated else "lowPriority"] += 1
            counts[state.wire] += 1
    return dict(counts)


def _pool(world: World, pool: Pool, wanted: Mapping[str, object], now_ms: int) -> dict[str, object]:
    facts: dict[str, object] = {
        "state": pool.state.wire if pool.state is not None else None,
        "allocationState": pool.allocation.wire if pool.allocation is not None and pool.state is not None else None,
        "resizeErrors": [error.code for error in pool.resize_errors],
    }
    if "nodes" in wanted:
        facts["nodes"] = node_counts(world, pool)
    if "cost" in wanted:
        facts["cost"] = round(cost_of_nodes([pool], now_ms), 6)
    return facts


def _job(world: World, job: Job, wanted: Mapping[str, object]) -> dict[str, object]:
    facts: dict[str, object] = {
        "state": job.state.wire if job.state is not None else None,
        "terminateReason": job.terminate_reason,
    }
    instances, rows = world.instances, world.instances.rows_of_job(job.row)
    if "tasks" in wanted:
        facts["tasks"] = _task_counts(job)
    for name, view_of in (("preparationTasks", instances.prep), ("releaseTasks", instances.release)):
        if name in wanted:
            facts[name] = _instance_counts([view for row in rows if (view := view_of(row))])
    return facts


def _task_counts(job: Job) -> dict[str, int]:
    # Tasks are deleted with their job (JOB-16); a deleted job keeps the results of its tasks.
    deleted = job.deleted if job.state is None else {}
    succeeded = job.counts[COMPLETED] - job.failed + deleted.get(TaskResult.SUCCESS, 0)
    failed = job.failed + deleted.get(TaskResult.FAILURE, 0)
    return {
        "active": job.counts[ACTIVE] + deleted.get(None, 0),
        "preparing": job.counts[PREPARING],
        "running": job.counts[RUNNING],
        "completed": succeeded + failed,
        "succeeded": succeeded,
        "failed": failed,
        "total": job.total + sum(deleted.values()),
    }


def _job_schedule(world: World, schedule_id: str | None) -> dict[str, object]:
    """Return the job schedule with this id, or the last one that had it."""
    schedule = world.job_schedules.latest(schedule_id or "")
    if schedule is None:
        return _ABSENT
    return {"state": schedule.state.wire if schedule.state is not None else None, "jobs": schedule.jobs_made}


def _instance_counts(views: list[InstanceView]) -> dict[str, int]:
    results = [view.result for view in views]
    running = sum(view.state is InstanceState.RUNNING for view in views)
    return {
        "count": len(views),
        "running": running,
        "completed": len(views) - running,
        "succeeded": results.count(TaskResult.SUCCESS),
        "failed": results.count(TaskResult.FAILURE),
    }


def _task(world: World, subject: ConditionSubject) -> dict[str, object]:
    job = world.jobs.find(subject.job_id or "")
    task = world.tasks.find(job.row, subject.task_id or "") if job is not None else None
    if task is None:
        return _ABSENT
    tasks = world.tasks
    extra = tasks.extra(task)
    result = tasks.result(task)
    state, node = tasks.state_of(task), tasks.node[task]
    return {
        "state": state.wire if state is not None else None,
        "result": result.value if result is not None else None,
        "exitCode": 0 if result is TaskResult.SUCCESS else extra.exit_code,
        "retryCount": extra.retry_count,
        "node": world.nodes[node].position if node >= 0 else None,
    }


def _node(world: World, subject: ConditionSubject, wanted: Mapping[str, object], now_ms: int) -> dict[str, object]:
    pool = world.pools.latest(subject.pool_id or "")
    name = subject.node_id if subject.node_id is not None else subject.node_index
    if pool is None or name is None:
        return _ABSENT
    try:
        node = node_named(world, pool, name)
    except BatchError:
        return _ABSENT
    state = world.nodes.state_of(node)
    facts: dict[str, object] = {"state": state.wire if state is not None else None}
    asked = wanted.get("file")
    if isinstance(asked, dict):
        facts["file"] = {path: read_file(world, node, path, now_ms) for path in asked}
    return facts


class Outcome(NamedTuple):
    """One expectation: as written, whether it is met, and the actual value."""

    written: dict[str, Plain]
    met: bool
    seen: object
    is_reached: bool = True  # False: ``until`` has ended the run before the moment for which it is expected

    @property
    def asked_for(self) -> object:
        """The counts and properties in ``seen`` that the expectation names."""
        return _named_in(self.written, self.seen)


def _named_in(wanted: object, seen: object) -> object:
    if isinstance(wanted, dict) and isinstance(seen, dict):
        return {name: _named_in(wanted[name], value) for name, value in seen.items() if name in wanted}
    return seen


class Judgement(NamedTuple):
    """An expectation at a moment: its outcome, and since when that is final, in ms since the start, or None.

    One whose moment is not reached stays undecided when the run is over, and is not met.
    """

    expected: Expectation
    outcome: Outcome
    decided_ms: int | None


class _Settled(NamedTuple):
    outcome: Outcome
    when_ms: int


class RefusedCommand(NamedTuple):
    """A command that the service refused, or should have refused."""

    when_ms: int
    command: Command
    error: BatchError
    seen: str  # the code of the refusal, ``accepted`` or ``never given``
    announced: bool  # the entry has `refused: CODE` with this code

    @property
    def subject(self) -> str:
        """The ids that the command names, from the outermost: ``shared/1``, ``risk/deal-7``."""
        body = self.command.wire()
        names = ("poolId", "nodeId", "node", "jobScheduleId", "jobId", "taskId", "id", "name")
        return "/".join(str(body[name]) for name in names if name in body)


class Expectations(Kept):
    """The expectations of one run. Those with ``at`` or ``within`` are checked while it runs, others at its end."""

    KEPT = ("_settled",)

    def __init__(self, expected: tuple[Expectation, ...], until_ms: int | None) -> None:
        """Create expectations without results, of a run that ends at ``until_ms``, or by itself."""
        self._expected, self._until_ms = expected, until_ms
        self._settled: dict[int, _Settled] = {}
        self.outcomes: list[Outcome] = []

    def is_watching(self, now_ms: int) -> bool:
        """Return whether an expectation may be decided, or decided otherwise, before the end."""
        return any(
            self._decided(one, now_ms) is None and (one.at_ms is not None or one.within_ms is not None)
            for one in self._expected
        )

    def _decided(self, one: Expectation, now_ms: int) -> _Settled | None:
        """Return the result of an expectation, if it is final.

        One with ``at`` is compared early if nothing is due before; a command given by hand can still change it.
        """
        settled = self._settled.get(one.index)
        return settled if settled is not None and settled.when_ms <= now_ms else None

    def check(self, world: World, *, has_changed: bool) -> None:
        """Decide what can be decided after an instant; ``has_changed`` if anything was logged in it."""
        now_ms = world.now_ms
        upcoming = world.calendar.peek_ms()
        for one in self._expected:
            if self._decided(one, now_ms) is not None:
                continue
            if has_changed and one.within_ms is not None and now_ms <= one.within_ms:
                outcome = _compare(world, one, now_ms)
                if outcome.met:
                    self._settled[one.index] = _Settled(outcome, now_ms)
            elif one.at_ms is not None and now_ms <= one.at_ms and (upcoming is None or upcoming > one.at_ms):
                self._settled[one.index] = _Settled(_compare(world, one, one.at_ms), one.at_ms)

    def settle(self, world: World, now_ms: int) -> None:
        """Decide the remaining expectations at the end of the run."""
        self.outcomes = [judged.outcome for judged in self.judge(world, now_ms, is_over=True)]

    def judge(self, world: World, now_ms: int, *, is_over: bool, with_open: bool = True) -> list[Judgement]:
        """Return what is known of each expectation now, in the order of the file.

        Args:
            world: The world at this moment.
            now_ms: The moment.
            is_over: The run has ended, which decides the expectations about its end.
            with_open: Observe the world for expectations that are not decided; without, leave those out.
        """
        found = []
        for one in self._expected:
            ends_by_itself = is_over and self._until_ms is None
            settled = self._settled.get(one.index) if ends_by_itself else self._decided(one, now_ms)
            too_late = one.within_ms is not None and now_ms > one.within_ms
            if settled is not None:
                found.append(Judgement(one, settled.outcome, settled.when_ms))
            elif is_over or too_late:
                outcome, is_cut_off = _compare(world, one, now_ms), self._is_cut_off(world, one)
                is_met = outcome.met and not too_late and (one.at_ms is None or not is_cut_off)
                is_reached = is_met or not is_cut_off
                decided_ms = (one.within_ms if too_late else now_ms) if is_reached else None
                found.append(Judgement(one, outcome._replace(met=is_met, is_reached=is_reached), decided_ms))
            elif with_open:
                found.append(Judgement(one, _compare(world, one, now_ms), None))
        return found

    def _is_cut_off(self, world: World, one: Expectation) -> bool:
        """True if the run ends before the moment of an expectation although more could happen until then."""
        limit_ms = one.within_ms if one.at_ms is None else one.at_ms
        if limit_ms is None or self._until_ms is None:
            return False
        return limit_ms > self._until_ms and world.calendar.peek_ms() is not None

    def restore(self, copy: Values) -> None:
        """Restore the results to those of ``copy``."""
        super().restore(copy)
        self.outcomes = []


def _compare(world: World, one: Expectation, now_ms: int) -> Outcome:
    seen = observe(world, one.condition.subject, one.condition.wanted, now_ms)
    return Outcome(one.as_written, matches(one.condition.wanted, seen), seen)


def has_work(world: World) -> bool:
    """Return whether something else is due, or a task or a release waits for a node that chance has broken."""
    return (
        any(_waits(world, pool) for pool in world.pools.present())
        or any(job.releases_open for job in world.jobs.present())
        or any(_is_work(world, entry) for entry in world.calendar.unordered())
    )


def _waits(world: World, pool: Pool) -> bool:
    """Return whether tasks wait in a pool of which a node is down by chance and will be back."""
    return bool(pool.turns) and any(world.nodes[node].down_by_chance for node in pool.nodes)


def _is_work(world: World, entry: Pending) -> bool:
    """Return whether an entry of the calendar keeps a run alive."""
    match entry.kind:
        case DueKind.NODE_STEP if world.nodes[entry.key].token != entry.token:
            return False
        case DueKind.NODE_STEP | DueKind.START_TASK_ENDED:
            return not world.nodes[entry.key].down_by_chance
        case DueKind.EVICTION:
            return not world.nodes[entry.key].evicted_by_chance
        case DueKind.RESIZE_TIMEOUT:
            pool = world.pools[entry.key]
            return pool.token == entry.token and pool.allocation is not AllocationState.STEADY
    return entry.kind not in world.calendar.endless_kinds
