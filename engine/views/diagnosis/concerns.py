"""Concerns of the whole run, grouped by cause, and what is known of its end once it has been played ahead.

Concerns of the moment are failures, shortages and delays. The run played to its end gives the ends of jobs, its cost,
and concerns to come: failures, failed resizes, missed occurrences, and jobs that never end. Its end is read once; the
moment that is shown then only decides which concerns are still to come.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import READY
from engine.base.terms import CertificateState, InstanceState, JobState, TaskState
from engine.base.values import values
from engine.run.agenda import PlannedInputs, subjects_of_job
from engine.run.conditions import cost_usd, pool_cost_usd
from engine.views.diagnosis.delays import PreparationRetries, ScheduleConcerns, TaskRetries, stalled_concerns
from engine.views.diagnosis.estimates import Forecast
from engine.views.diagnosis.expectations import broken_expectations
from engine.views.diagnosis.failures import (
    OpenJob,
    TaskFailures,
    ended_badly,
    ended_concerns,
    hook_concerns,
    hook_failures,
    idle_pool_concerns,
    left_open,
    left_open_concerns,
)
from engine.views.diagnosis.model import Concern, ConcernKind, Severity, joined, listed, shared, some, whose
from engine.views.diagnosis.pools import Evictions, node_concerns, pool_concerns
from engine.views.hook_status import Hook
from engine.views.log.reader import Kept, KeptByKey, LogReader, matching, of_kind
from engine.views.resources.account import is_loss
from engine.views.resources.instances import last_task_ms
from engine.views.resources.jobs import row_of_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.run.agenda import PlannedInput
    from engine.run.ahead import Ahead
    from engine.state.account import CertificateRecord
    from engine.state.jobs import Job
    from engine.world import World


_HOOKS = ("JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged", "JobStateChanged")


class Attention:
    """The concerns of all jobs, pools and job schedules, kept for the moment that is shown.

    Between two moments the cost is that of what has changed, and of the jobs, pools and failed nodes; it does not grow
    with the number of tasks, nor with that of nodes that are in order.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._planned = PlannedInputs(simulation)
        self._tasks = TaskFailures(simulation)
        self._retries = PreparationRetries(simulation)
        self._task_retries = TaskRetries(simulation)
        self._evictions = Evictions(simulation)
        self._schedules = ScheduleConcerns(simulation)
        self._changes = LogReader(simulation, of_kind(_changes_nodes))
        self._of_nodes: Kept[list[Concern]] = Kept()
        self._concerns: Kept[Sequence[Concern]] = Kept()
        self._of_jobs: Kept[dict[str, list[Severity]]] = Kept()  # in the order of the concerns

    def concerns(self) -> Sequence[Concern]:
        """Return all concerns, the worst first, among equals the newest."""
        return self._concerns.get(self._sources, lambda: sorted(self._all(), key=lambda concern: concern.order))

    @property
    def _sources(self) -> object:
        return *self._simulation.moment, self._simulation.finished

    def problems(self, job_id: str) -> int:
        """Return the number of concerns about a job."""
        return len(self._severities(job_id))

    def worst(self, job_id: str) -> int:
        """Return the severity of the worst concern about a job, as a number that orders jobs, the worst first."""
        return next(iter(self._severities(job_id)), len(Severity))

    def _severities(self, job_id: str) -> Sequence[Severity]:
        """Return the severities of the concerns about a job, the worst first."""

        def of_jobs() -> dict[str, list[Severity]]:
            found: dict[str, list[Severity]] = {}
            for concern in self.concerns():
                for concerned in concern.jobs:
                    found.setdefault(concerned, []).append(concern.severity)
            return found

        return self._of_jobs.get(self._sources, of_jobs).get(job_id, ())

    def _all(self) -> list[Concern]:
        simulation, world = self._simulation, self._simulation.world
        stalled = stalled_concerns(simulation, self._tasks, self._planned)
        names_jobs = sum(1 for _ in world.jobs.present()) > 1
        names_pools = sum(1 for _ in world.pools.present()) > 1
        return [
            *ended_concerns(simulation),
            *(left_open_concerns(world, left_open(simulation)) if simulation.finished else ()),
            *(idle_pool_concerns(simulation) if simulation.finished else ()),
            *_merged(stalled, self._nodes(names_jobs=names_jobs, names_pools=names_pools)),
            *self._tasks.concerns(names_jobs=names_jobs),
            *self._task_retries.concerns(names_jobs=names_jobs),
            *pool_concerns(simulation),
            *self._evictions.concerns(),
            *self._schedules.concerns(),
            *broken_expectations(simulation),
            *_rejected(simulation),
            *_certificates(world),
        ]

    def _nodes(self, *, names_jobs: bool, names_pools: bool) -> list[Concern]:
        """Return the concerns of nodes and of what runs once on each; only log entries about those change them."""
        simulation = self._simulation
        sources = simulation.jumps, len(self._changes.entries()), len(simulation.log.cuts), names_jobs, names_pools
        return self._of_nodes.get(
            sources,
            lambda: [
                *hook_concerns(simulation, names_jobs=names_jobs),
                *self._retries.concerns(names_jobs=names_jobs),
                *node_concerns(simulation, names_pools=names_pools),
            ],
        )


def _merged(stalled: list[Concern], of_nodes: list[Concern]) -> list[Concern]:
    """Add to a job whose preparation failed on every node the cause, in place of the concern about the preparation."""
    everywhere = {concern.jobs: concern for concern in stalled if concern.nodes}
    found = [concern for concern in stalled if not concern.nodes]
    for one in of_nodes:
        stall = everywhere.pop(one.jobs, None) if one.kind == "preparation" else None
        if stall is None:
            found.append(one)
        else:
            found.append(stall._replace(text=f"{stall.text}: {one.cause}", since_ms=one.since_ms, cause=one.cause))
    return [*found, *everywhere.values()]


def _changes_nodes(shape: Shape) -> bool:
    """Return whether an event can change the concerns about nodes, preparations and releases."""
    if shape.event in _HOOKS:
        return True
    fields = dict(shape.fields)
    return shape.event == "NodeStateChanged" and not (fields.get("from") in READY and fields.get("to") in READY)


def _rejected(simulation: Simulation) -> list[Concern]:
    """Return the commands of the scenario whose refusal, or acceptance, it does not expect."""
    by_hand = {id(one.command) for one in simulation.journal.by_hand()}
    found = []
    for refusal, (_, _, seen) in zip(simulation.refusals, simulation.command_outcomes, strict=True):
        if refusal.announced or id(refusal.command) in by_hand:
            continue
        name = refusal.command.NAME
        text = f"{name} was {seen}" if seen in ("accepted", "never given") else f"{name} was rejected: {seen}"
        effect = refusal.error.message.rstrip(".")
        found.append(Concern("command", Severity.SHORTAGE, text, refusal.when_ms, effect))
    return found


def _users(certificate: CertificateRecord) -> list[str]:
    pools, nodes = certificate.use or ((), ())
    return [*(f"pool {pool_id}" for pool_id in pools), *([some(len(nodes), "node")] if nodes else [])]


def _certificates(world: World) -> list[Concern]:
    return [
        Concern(
            "certificate",
            Severity.SHORTAGE,
            f"certificate {certificate.spec.thumbprint} could not be deleted",
            certificate.since_ms,
            effect=f"in use by {listed(_users(certificate))}",
            remedy="take it out of the pools, then delete it again",
        )
        for certificate in world.certificates.rows
        if certificate.state is CertificateState.DELETE_FAILED
    ]


class JobEnds(NamedTuple):
    """The ends of a job and of its phases, in ms since the start; None for what never ends, or is not there."""

    preparation_ms: int | None = None  # the last preparation
    tasks_ms: int | None = None  # the last task
    deleted_ms: int | None = None  # the last deletion of a task that is not completed
    job_ms: int | None = None
    inputs: Sequence[PlannedInput] = ()  # commands and faults up to the end that concern the job

    def seen_at(self, now_ms: int) -> Forecast:
        """Return the ends that lie ahead at a moment."""
        is_prepared = self.preparation_ms is not None and self.preparation_ms <= now_ms
        are_deleted = self.tasks_ms is not None and (self.deleted_ms or 0) > max(now_ms, self.tasks_ms)
        return Forecast(
            prepared_ms=self.preparation_ms if is_prepared else None,
            preparation_ms=None if is_prepared else self.preparation_ms,
            tasks_ms=_later(self.deleted_ms if are_deleted else self.tasks_ms, now_ms),
            tasks_are_deleted=are_deleted,
            job_ms=_later(self.job_ms, now_ms),
            basis=[one for one in self.inputs if one.when_ms is not None and one.when_ms > now_ms],
            stays_active=self.job_ms is None,
            is_simulated=True,
        )


class EndsAhead:
    """The ends of jobs, read from the future of a run once for each job."""

    def __init__(self, present: Simulation, ahead: Ahead) -> None:
        """Read from what has been played ahead of a simulation: both number their jobs alike."""
        self._present = present
        self._ahead = ahead
        self._ends: KeptByKey[JobEnds] = KeptByKey()
        self._inputs: Kept[PlannedInputs] = Kept()

    def of(self, job_id: str) -> JobEnds | None:
        """Return the ends of a job that is there now; None while they are not known."""
        future, row = self._ahead.future, row_of_job(self._present, job_id)
        if future is None or row is None:
            return None
        inputs = self._inputs.get(self._ahead.generation, lambda: PlannedInputs(future))
        return self._ends.get(self._ahead.generation, row, lambda: _ends(future, inputs, future.world.jobs[row]))


class CostsAhead:
    """The cost of the run and of its pools at the end, in US dollars, read from the future once for each pool."""

    def __init__(self, present: Simulation, ahead: Ahead) -> None:
        """Read from what has been played ahead of a simulation: both number their pools alike."""
        self._present = present
        self._ahead = ahead
        self._costs: KeptByKey[float] = KeptByKey()

    def of_run(self) -> float | None:
        """Return the cost of all pools; None while it is not known."""
        return self._of(None, cost_usd)

    def of_pool(self, pool_id: str) -> float | None:
        """Return the cost of a pool that is there now, or was; None while it is not known."""
        pool = self._present.world.pools.latest(pool_id)
        if pool is None:
            return None
        return self._of(pool.row, lambda world, end_ms: pool_cost_usd(world, world.pools[pool.row], end_ms))

    def _of(self, row: int | None, cost: Callable[[World, int], float]) -> float | None:
        future = self._ahead.future
        if future is None:
            return None
        return self._costs.get(self._ahead.generation, row, lambda: cost(future.world, future.now_ms))


def _ends(future: Simulation, inputs: PlannedInputs, job: Job) -> JobEnds:
    instances = future.world.instances
    rows = instances.rows_of_job(job.row)
    is_over = (state == InstanceState.COMPLETED for state in values(instances.prep_state, rows))
    prepared = [end for end, over in zip(values(instances.prep_end, rows), is_over, strict=True) if over]
    tasks_ms, deleted_ms = last_task_ms(future.world, job), _last_deletion_ms(future, job)
    last_ms = max((ms for ms in (tasks_ms, deleted_ms, job.end_ms) if ms is not None), default=0)
    concerning = inputs.between(subjects_of_job(future.world, job), 0, last_ms)
    return JobEnds(max(prepared, default=None), tasks_ms, deleted_ms, job.end_ms, concerning)


def _last_deletion_ms(future: Simulation, job: Job) -> int | None:
    """Return when a task of the job was last deleted that was not completed; None if none was."""
    log, tasks = future.log, future.world.tasks
    entries = matching(log, _deletes_open_task) if job.deleted.get(None) else ()
    return max((log.when[at] for at in entries if tasks.block_of(log.row_a[at]).job == job.row), default=None)


def _deletes_open_task(shape: Shape) -> bool:
    if shape.event != "TaskStateChanged":
        return False
    fields = dict(shape.fields)
    return fields["to"] is None and fields["from"] is not TaskState.COMPLETED


def _later(when_ms: int | None, now_ms: int) -> int | None:
    return when_ms if when_ms is not None and when_ms > now_ms else None


_MOST_OF_A_KIND = 3  # causes of one kind that are told, those that strike next; the others are counted


class _Trouble(NamedTuple):
    """One cause of trouble in a job, job schedule or pool, with the moments at which it strikes, in ascending order."""

    kind: ConcernKind
    cause: str
    owner: str  # the id of the job, job schedule or pool
    when_ms: Sequence[int]
    item: str = ""  # the task or node of the last of them


class Foretold:
    """The concerns that follow from what is still to come, if the run has been played ahead to its end."""

    def __init__(self, simulation: Simulation, ahead: Ahead) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._ahead = ahead
        self._end: Kept[_End] = Kept()
        self._coming: Kept[list[Concern]] = Kept()

    def concerns(self) -> list[Concern]:
        """Return what will fail, end badly, be missed, or stay as it is; nothing as long as that is not known."""
        future = self._ahead.future
        if future is None:
            return []
        generation, simulation = self._ahead.generation, self._simulation
        end = self._end.get(generation, lambda: _read_end(future))
        past = [self._past(trouble, simulation.now_ms) for trouble in end.troubles]
        coming = self._coming.get((generation, past), lambda: self._to_come(end, past))
        if simulation.finished:  # the jobs left open are known anyway
            return coming
        open_now = [one for one in end.left_open if one.since_ms <= simulation.now_ms]
        return [*coming, *left_open_concerns(simulation.world, open_now)]

    def _past(self, trouble: _Trouble, now_ms: int) -> int:
        """Return how many moments of a trouble are over. That of a job is over as soon as it is terminating."""
        job = self._simulation.world.jobs.find(trouble.owner) if trouble.kind == "job" else None
        is_ending = job is not None and job.state in (JobState.TERMINATING, JobState.COMPLETED)
        return len(trouble.when_ms) if is_ending else bisect_right(trouble.when_ms, now_ms)

    def _to_come(self, end: _End, past: Sequence[int]) -> list[Concern]:
        """Return concerns with a future occurrence."""
        coming: dict[tuple[ConcernKind, str], list[tuple[_Trouble, Sequence[int]]]] = {}
        for trouble, at in zip(end.troubles, past, strict=True):
            if at < len(trouble.when_ms):
                coming.setdefault((trouble.kind, trouble.cause), []).append((trouble, trouble.when_ms[at:]))
        by_kind: dict[ConcernKind, list[Concern]] = {}
        for (kind, cause), each in coming.items():
            by_kind.setdefault(kind, []).append(self._concern(kind, cause, each, names_jobs=end.names_jobs))
        found = []
        for concerns in by_kind.values():
            *before, last = sorted(concerns, key=lambda concern: concern.since_ms)[:_MOST_OF_A_KIND]
            rest = len(concerns) - _MOST_OF_A_KIND
            more = f"and {some(rest, 'other cause')} after it" if rest > 0 else ""
            found += [*before, last._replace(effect=joined(last.effect, more))]
        return found

    def _concern(
        self, kind: ConcernKind, cause: str, each: Sequence[tuple[_Trouble, Sequence[int]]], *, names_jobs: bool
    ) -> Concern:
        world = self._simulation.world
        owners = [trouble.owner for trouble, _ in each]
        finders: dict[ConcernKind, Callable[[str], object]] = {
            "job schedule": world.job_schedules.find,
            "pool": world.pools.find,
        }
        find = finders.get(kind, world.jobs.find)
        present = tuple(owner for owner in owners if find(owner) is not None)
        return Concern(
            kind,
            Severity.SHORTAGE,
            f"{_text(kind, cause, each, names_jobs=names_jobs)} (simulated)",
            min(moments[0] for _, moments in each),
            effect=shared(owners),
            jobs=present if kind not in finders else (),
            pools=present if kind == "pool" else (),
            schedules=present if kind == "job schedule" else (),
            cause=cause,
            is_coming=True,
        )


def _text(kind: ConcernKind, cause: str, each: Sequence[tuple[_Trouble, Sequence[int]]], *, names_jobs: bool) -> str:
    """Return what will happen."""
    count = sum(len(moments) for _, moments in each)
    item = each[0][0].item if count == 1 else ""
    noun = kind if kind in ("job schedule", "pool") else "job"
    owner = whose([trouble.owner for trouble, _ in each], noun)
    owned = f"{noun} {owner}" if len(each) == 1 else owner
    of = f" of {owner}" if names_jobs or len(each) > 1 else ""
    match kind:
        case "job schedule":
            occurrences = "an occurrence" if count == 1 else f"{count:,} occurrences"
            return f"{owned} will miss {occurrences}: {_as_future(cause)}"
        case "pool":
            return f"{'a resize' if count == 1 else some(count, 'resize')} of {owned} will fail: {cause}"
        case "job":
            return f"{owned} will end: {cause}"
        case "task":
            return f"{f'task {item}' if item else some(count, 'task')}{of} will fail: {cause}"
        case _:
            return f"{kind} task{of} will fail on {item or some(count, 'node')}: {cause}"


def _as_future(reason: str) -> str:
    """Return the reason of a missed occurrence as one that lies ahead."""
    return reason.replace(" was still ", " will still be ").replace(" was ", " will be ")


class _End(NamedTuple):
    """What is known of the end of a run that concerns are made from."""

    troubles: list[_Trouble]  # in the order of their first moments
    left_open: list[OpenJob]
    names_jobs: bool


def _read_end(future: Simulation) -> _End:
    troubles = sorted(_troubles(future), key=lambda trouble: trouble.when_ms[0])
    return _End(troubles, left_open(future), sum(1 for _ in future.world.jobs.present()) > 1)


def _troubles(future: Simulation) -> Iterator[_Trouble]:
    """Yield all troubles of the run that is over."""
    log, world = future.log, future.world
    for cause, job, entries in TaskFailures(future).entries():
        last = world.tasks.task_id(log.row_a[entries[-1]])
        yield _Trouble("task", cause, job.id, values(log.when, entries), last)
    yield from _of_hooks(future)
    for job, reason in ended_badly(future):
        yield _Trouble("job", reason, job.id, [job.since_ms if job.end_ms is None else job.end_ms])
    for (row, reason), moments in _by_owner(future, is_loss, "reason").items():
        yield _Trouble("job schedule", reason, world.job_schedules[row].id, moments)
    for (row, code), moments in _by_owner(future, _fell_short, "resultCode").items():
        yield _Trouble("pool", code, world.pools[row].id, moments)


def _by_owner(future: Simulation, is_wanted: Callable[[Shape], bool], cause: str) -> dict[tuple[int, str], list[int]]:
    """Return the moments of some events by the row of what they are about and the cause that they state."""
    log = future.log
    found: dict[tuple[int, str], list[int]] = {}
    for at in matching(log, is_wanted):
        stated = str(dict(log.shapes[log.shape_of[at]].fields)[cause])
        found.setdefault((log.row_a[at], stated), []).append(log.when[at])
    return found


def _fell_short(shape: Shape) -> bool:
    """Return whether a resize ended before the pool had reached its target, but not because a user stopped it."""
    return shape.event == "PoolResizeComplete" and dict(shape.fields)["resultCode"] not in ("Success", "ResizeStopped")


def _of_hooks(future: Simulation) -> Iterator[_Trouble]:
    """Yield the preparations and releases that fail for good."""
    failures: dict[tuple[Hook, str, int], list[tuple[int, int]]] = {}
    for hook, cause, job, row, _ in hook_failures(future):
        instances = future.world.instances
        ends = instances.prep_end if hook is Hook.PREPARATION else instances.release_end
        failures.setdefault((hook, cause, job), []).append((ends[row], instances.node[row]))
    for (hook, cause, job), found in failures.items():
        kind: ConcernKind = "preparation" if hook is Hook.PREPARATION else "release"
        found.sort()
        node = f"n{future.world.nodes[found[-1][1]].position}"
        yield _Trouble(kind, cause, future.world.jobs[job].id, [when_ms for when_ms, _ in found], node)
