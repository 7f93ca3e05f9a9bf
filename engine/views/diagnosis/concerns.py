"""Concerns of the whole run at the moment that is shown, grouped by cause, and the list of what needs attention.

The list is made of the concerns: each with its severity, a kind that stays the same between versions, its subject,
and the rules that it rests on. The command line prints it, ``--output json`` has it, and the dashboard draws the
concerns.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple

from engine.base.lifecycles import READY
from engine.base.terms import CertificateState
from engine.base.values import SECOND_MS, called, read_table
from engine.run.agenda import PlannedInputs
from engine.views.diagnosis.delays import ScheduleConcerns, TaskRetries, preparation_retries, stalled_concerns
from engine.views.diagnosis.expectations import broken_expectations
from engine.views.diagnosis.failures import TaskFailures, ended_concerns, hook_concerns
from engine.views.diagnosis.model import Condition, Finding, Items, Severity, concern, helps, listed, some
from engine.views.diagnosis.pools import Evictions, node_concerns, pool_concerns
from engine.views.diagnosis.remedies import IN_VAIN, advised
from engine.views.diagnosis.stuck import FailingNodes, HangingTasks, Interruptions, NeverRun, hanging_preparations
from engine.views.diagnosis.waste import LeftOpen, hanging_start_tasks, idle_pool_concerns, parked_nodes, unused_slots
from engine.views.log.reader import Kept, LogReader, of_kind
from engine.views.resources.jobs import failures_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.specs.command import Command
    from engine.views.diagnosis.model import Explanation
    from engine.world import World


CALM = "Nothing needs attention."


class Kind(Enum):
    """The kinds of entries in the attention list: a stable name, and when there is such an entry."""

    JOB_NEVER_ENDS = "A job has tasks that can never run, or stays active although all its tasks have ended."
    JOB_DISABLED = "A job is disabled although tasks of it wait."
    JOB_WITHOUT_POOL = "Tasks wait for a pool that does not exist, or that is being deleted."
    POOL_WITHOUT_NODES = "Tasks wait for a pool that has no nodes and gets none."
    NO_NODE_TAKES_TASKS = "Tasks wait, and no node of their pool takes tasks."
    TOO_FEW_NODES = "Tasks need more nodes or slots at once than their pool has, and nothing frees them."
    NODES_CUT_OFF = "Closed ports in the subnet of a pool cut its nodes off from Batch."
    JOB_ENDED_EARLY = "A job was ended before its work was done."
    JOB_RAN_NOTHING = "A job has ended without running a task."
    RELEASE_NEVER_RUNS = "A job stays active, so that its release task never runs."
    SCHEDULE_WITHOUT_JOB_MANAGER = "A recurring job schedule makes jobs without a job manager task."
    OCCURRENCE_MISSED = "Occurrences of a job schedule made no job."
    PREPARATION_FAILED = "Preparation tasks have failed on nodes for good."
    PREPARATION_RETRIED = "Preparation tasks have failed and run again."
    RELEASE_FAILED = "Release tasks have failed."
    TASK_FAILED = "Tasks have failed for good."
    TASK_STOPPED = "Tasks were stopped by a user, or by the end of their job."
    TASK_RETRIED = "Tasks have failed and are retried."
    RETRIED_IN_VAIN = "A task has failed many times in the same way, and is retried again."
    TAKES_LONG = "A task, preparation or start task runs far longer than others of its kind did, or than an hour."
    INTERRUPTED_AGAIN = "Tasks were interrupted three times or more, and start over each time."
    NODE_OUT_OF_ORDER = "Nodes are unusable, lost contact, or their start task has failed."
    NODE_OUT_OF_SERVICE = "Nodes are offline or deallocated, as a user has asked for."
    NODE_FAILS_TASKS = "Every task fails on a node, while tasks succeed on others of its pool."
    EVICTION_NOTICE = "Spot nodes are about to be preempted."
    NODE_PREEMPTED = "Spot nodes are preempted."
    SPOT_NODES_MISSING = "There is no capacity for the Spot nodes of a pool."
    RESIZE_FAILED = "A resize has failed: the pool has fewer nodes than its targets."
    RESIZE_STOPPED = "A resize was stopped by a user."
    NODES_KEPT = "A pool keeps more nodes than its targets: their tasks did not end in time."
    FORMULA_FAILED = "The autoscale formula of a pool has failed."
    IDLE_POOL = "Nodes of a pool cost money although nothing uses them."
    SLOTS_UNUSED = "Few of the task slots of a pool were used in the whole run."
    COMMAND_REFUSED = "A command was refused, or accepted, otherwise than the scenario expects."
    CERTIFICATE_IN_USE = "A certificate could not be deleted."
    EXPECTATION_BROKEN = "An expectation of the scenario is broken."
    EXPECTATION_FAILING = "An expectation of the scenario will be broken."

    @property
    def word(self) -> str:
        """The name as it is written: ``job-never-ends``."""
        return self.name.lower().replace("_", "-")


# By condition: the kind of concerns about it, and the rule of those that cite none.
_KINDS = {Condition[name]: (Kind[kind], rule) for name, kind, rule in read_table("concerns.csv", __file__)}


def kind_of(found: Finding) -> Kind:
    """Return the kind of a concern."""
    return _KINDS[found.condition][0]


Level = Literal["error", "warning", "info"]
_LEVELS: dict[Severity, Level] = {
    Severity.STANDSTILL: "error",
    Severity.FAILURE: "error",
    Severity.SHORTAGE: "warning",
    Severity.NOTICE: "info",
}


class AttentionItem(NamedTuple):
    """A concern as an item of the list."""

    severity: Level
    kind: str
    subject: dict[str, object]  # ids of what it is about: one of a kind as ``jobId``, several as ``jobIds``
    since: float  # seconds from the start
    text: str
    effect: str
    remedy: str
    rules: tuple[str, ...]


def attention_item(world: World, found: Finding, *, with_subject: bool = True) -> AttentionItem:
    """Return a concern as an item: with all ids, or without its subject for a table, with a few names in the text."""
    kind, rule = _KINDS[found.condition]
    owners = found.items.jobs or found.items.schedules or found.items.pools
    whole = {listed(owners): ", ".join(owners)} if with_subject else {}
    return AttentionItem(
        _LEVELS[found.severity],
        kind.word,
        subject_of(world, found.items) if with_subject else {},
        found.since_ms / SECOND_MS,
        found.text if with_subject else found.full_text,
        "; ".join(whole.get(each.text, each.text) for each in found.effects),
        found.remedy,
        found.rules or ((rule,) if rule else ()),
    )


def subject_of(world: World, items: Items) -> dict[str, object]:
    """Return the ids of items by the names of the REST bodies."""
    nodes, tasks = world.nodes, world.tasks
    names: dict[str, Sequence[object]] = {
        "poolId": items.pools or list(dict.fromkeys(world.pool_of(node).id for node in items.nodes)),
        "nodeId": [nodes[node].id for node in items.nodes],
        "node": [nodes[node].position for node in items.nodes],
        "jobId": items.jobs,
        "taskId": tasks.task_ids(items.tasks[:]),
        "scheduleId": items.schedules,
        "expectation": items.expectations,
    }
    single = dict(items.named) | {name: ids[0] for name, ids in names.items() if len(ids) == 1}
    return single | {f"{name}s": list(ids) for name, ids in names.items() if len(ids) > 1}


def about_item(concerns: Sequence[Finding], kind: str, key: int | str) -> list[Finding]:
    """Return the concerns with a remedy for an item: a task or node by its row, anything else by its id."""

    def keys(one: Finding) -> Collection[object]:
        jobs, pools, items = one.about == "job", one.about in ("pool", "job"), one.items
        by_kind = {"node": items.nodes, "job": items.jobs if jobs else (), "pool": items.pools if pools else ()}
        return {**by_kind, "task": items.tasks if one.about == "task" else ()}.get(kind, items.schedules)

    return [one for one in concerns if one.remedy and key in keys(one)]


def with_advice(simulation: Simulation, answers: Sequence[Explanation], about: Sequence[Finding]) -> list[Explanation]:
    """Add to the answers about an item what the first concern about it advises."""
    found = list(answers)
    for one in about[:1] if found else ():
        vain = next((each.text for each in one.effects if each.text.endswith(IN_VAIN)), "")
        said = f"{f'{vain}; what' if vain else 'what'} helps: {one.remedy}."
        advice = helps(said[0].upper() + said[1:], next(iter(attention_item(simulation.world, one).rules), ""))
        found[0] = replace(found[0], findings=(*found[0].findings, advice))
    return found


_HOOKS = ("JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged", "JobStateChanged")


class Attention:
    """The concerns of all jobs, pools and job schedules, kept for the moment that is shown.

    Between two moments the cost is that of what has changed, and of the jobs, pools and failed nodes; it does not grow
    with the number of tasks, nor with that of nodes that are in order.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._planned = PlannedInputs(simulation)
        self._tasks = TaskFailures(simulation)
        self._task_retries = TaskRetries(simulation)
        self._evictions = Evictions(simulation)
        self._left_open = LeftOpen(simulation, self._planned)
        self._never = NeverRun(simulation, self._tasks)
        self._interruptions = Interruptions(simulation)
        self._failing = FailingNodes(simulation)
        self._hanging = HangingTasks(simulation)
        self._schedules = ScheduleConcerns(simulation)
        self._changes = LogReader(simulation, of_kind(_changes_nodes))
        self._of_nodes: Kept[list[Finding]] = Kept()
        self._concerns: Kept[Sequence[Finding]] = Kept()
        self._of_jobs: Kept[dict[str, list[Finding]]] = Kept()  # in the order of the concerns

    def concerns(self) -> Sequence[Finding]:
        """Return all concerns, the worst first, among equals the newest."""
        return self._concerns.get(self._sources, lambda: sorted(self._all(), key=lambda one: one.order))

    def items(self, *, with_subjects: bool = True) -> list[AttentionItem]:
        """Return all concerns as items of the list, in the same order."""
        world = self._simulation.world
        return [attention_item(world, one, with_subject=with_subjects) for one in self.concerns()]

    @property
    def _sources(self) -> object:
        return *self._simulation.moment, self._simulation.finished

    def problems(self, job_id: str) -> int:
        """Return the number of problems of a job: its failures, or without any the concerns about it."""
        return self._failures(job_id) or len(self.about(job_id))

    def has_failed(self, job_id: str) -> bool:
        """Return whether a job has failures, or a concern about it tells one."""
        fails = any(one.severity is Severity.FAILURE for one in self.about(job_id))
        return fails or self._failures(job_id) > 0

    def _failures(self, job_id: str) -> int:
        job = self._simulation.world.jobs.find(job_id)
        return 0 if job is None else failures_of(self._simulation.world, job)

    def worst(self, job_id: str) -> int:
        """Return the severity of the worst concern about a job, as a number that orders jobs, the worst first."""
        return next((one.severity for one in self.about(job_id)), len(Severity))

    def about(self, job_id: str) -> Sequence[Finding]:
        """Return the concerns about a job, the worst first."""

        def of_jobs() -> dict[str, list[Finding]]:
            found: dict[str, list[Finding]] = {}
            for one in self.concerns():
                for concerned in one.items.jobs:
                    found.setdefault(concerned, []).append(one)
            return found

        return self._of_jobs.get(self._sources, of_jobs).get(job_id, ())

    def _all(self) -> list[Finding]:
        simulation, world = self._simulation, self._simulation.world
        stalled = stalled_concerns(simulation, self._planned, self._never)
        failing = self._failing.nodes()
        idle = idle_pool_concerns(simulation, self._planned)
        names_jobs = sum(1 for _ in world.jobs.present()) > 1
        names_pools = sum(1 for _ in world.pools.present()) > 1
        found = [
            *ended_concerns(simulation),
            *self._left_open.concerns(),
            *idle,
            *parked_nodes(simulation),
            *(unused_slots(simulation, idle) if simulation.finished else ()),
            *_merged(stalled, self._nodes(names_jobs=names_jobs, names_pools=names_pools)),
            *self._failing.concerns(failing),
            *self._tasks.concerns(names_jobs=names_jobs, without=failing),
            *self._interruptions.concerns(),
            *hanging_preparations(simulation, names_jobs=names_jobs),
            *hanging_start_tasks(simulation),
            *self._hanging.concerns(),
            *self._task_retries.concerns(names_jobs=names_jobs),
            *pool_concerns(simulation),
            *self._evictions.concerns(),
            *self._schedules.concerns(),
            *broken_expectations(simulation),
            *_rejected(simulation),
            *_certificates(world),
        ]
        return [advised(world, one) for one in found]

    def _nodes(self, *, names_jobs: bool, names_pools: bool) -> list[Finding]:
        """Return the concerns of nodes, preparations and releases. Only log entries about these change them."""
        simulation = self._simulation
        sources = simulation.jumps, len(self._changes.entries()), len(simulation.log.cuts), names_jobs, names_pools
        return self._of_nodes.get(
            sources,
            lambda: [
                *hook_concerns(simulation, names_jobs=names_jobs),
                *preparation_retries(simulation, names_jobs=names_jobs),
                *node_concerns(simulation, names_pools=names_pools),
            ],
        )


def _merged(stalled: list[Finding], of_nodes: list[Finding]) -> list[Finding]:
    """Merge the concern about a preparation that failed on every node into that of its job."""
    everywhere = {one.items.jobs: one for one in stalled if one.condition is Condition.INELIGIBLE}
    found = [one for one in stalled if one.condition is not Condition.INELIGIBLE]
    for one in of_nodes:
        stall = everywhere.pop(one.items.jobs, None) if one.about == "preparation" else None
        if stall is None:
            found.append(one)
        else:
            found.append(stall._replace(text=f"{stall.text}: {one.cause}", cause=one.cause))
    return [*found, *everywhere.values()]


def _changes_nodes(shape: Shape) -> bool:
    """Return whether an event can change the concerns about nodes, preparations and releases."""
    if shape.event in _HOOKS:
        return True
    fields = dict(shape.fields)
    return shape.event == "NodeStateChanged" and not (fields.get("from") in READY and fields.get("to") in READY)


def _rejected(simulation: Simulation) -> list[Finding]:
    """Return the commands of the scenario that were rejected or accepted although it expects otherwise."""
    by_hand = {id(one.command) for one in simulation.journal.by_hand()}
    found = []
    for refusal in simulation.refusals:
        if refusal.announced or id(refusal.command) in by_hand:
            continue
        name, seen = refusal.command.NAME, refusal.seen
        text = f"{name} was {seen}" if seen in ("accepted", "never given") else f"{name} was rejected: {seen}"
        why, items = refusal.error.message.rstrip("."), Items(named=tuple(_ids_in(refusal.command)))
        found.append(concern(Condition.COMMAND_REFUSED, text, refusal.when_ms, why, items=items))
    return found


_CREATED = {"createPool": "poolId", "createJob": "jobId", "createJobSchedule": "scheduleId"}
_NAMES = {"jobScheduleId": "scheduleId"} | {each: each for each in ("poolId", "nodeId", "node", "jobId", "taskId")}


def _ids_in(command: Command) -> Iterator[tuple[str, object]]:
    """Yield the ids in the body of a command, by the names that subjects of the list have."""
    names = _NAMES | {"id": _CREATED[command.NAME]} if command.NAME in _CREATED else _NAMES
    return ((names[name], value) for name, value in command.wire().items() if name in names)


def _certificates(world: World) -> Iterator[Finding]:
    for certificate in world.certificates.rows:
        if certificate.state is CertificateState.DELETE_FAILED:
            pools, nodes = certificate.use or ((), ())
            users = [called("pool", pool_id) for pool_id in pools] + ([some(len(nodes), "node")] if nodes else [])
            text = f"certificate {certificate.spec.thumbprint} could not be deleted"
            yield concern(Condition.CERTIFICATE_USED, text, certificate.since_ms, f"in use by {listed(users)}")
