"""Concerns of the whole run: failures, shortages and delays, grouped by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.node_states import READY
from engine.base.terms import CertificateState
from engine.run.planned import PlannedInputs
from engine.views.attention.concern import Concern, Severity, listed, some
from engine.views.attention.expectations import broken_expectations
from engine.views.attention.hooks import hook_concerns
from engine.views.attention.jobs import (
    ended_concerns,
    idle_pool_concerns,
    left_open,
    left_open_concerns,
)
from engine.views.attention.pools import Evictions, node_concerns, pool_concerns
from engine.views.attention.retries import PreparationRetries, TaskRetries
from engine.views.attention.schedules import ScheduleConcerns
from engine.views.attention.stalls import stalled_concerns
from engine.views.attention.tasks import TaskFailures
from engine.views.log.reader import LogReader, of_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.certificates import CertificateRecord
    from engine.world.world import World

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
        self._of_nodes: tuple[object, list[Concern]] = (None, [])
        self._moment: object = None
        self._concerns: Sequence[Concern] = ()
        self._of_jobs: dict[str, tuple[Severity, int]] = {}  # the worst, and how many

    def concerns(self) -> Sequence[Concern]:
        """Return all concerns, the worst first, among equals the newest."""
        simulation = self._simulation
        moment = simulation.jumps, len(simulation.log), simulation.now_ms, simulation.finished
        if moment != self._moment:
            self._moment = moment
            self._concerns = sorted(self._all(), key=lambda concern: concern.order)
            self._of_jobs = {}
            for concern in self._concerns:
                for job_id in concern.jobs:
                    worst, count = self._of_jobs.get(job_id, (concern.severity, 0))
                    self._of_jobs[job_id] = worst, count + 1
        return self._concerns

    def problems(self, job_id: str) -> int:
        """Return the number of concerns about a job."""
        self.concerns()
        return self._of_jobs[job_id][1] if job_id in self._of_jobs else 0

    def worst(self, job_id: str) -> int:
        """Return the severity of the worst concern about a job, as a number that orders jobs, the worst first."""
        self.concerns()
        return self._of_jobs[job_id][0] if job_id in self._of_jobs else len(Severity)

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
        known = simulation.jumps, len(self._changes.entries()), len(simulation.log.cuts), names_jobs, names_pools
        if known != self._of_nodes[0]:
            found = [
                *hook_concerns(simulation, names_jobs=names_jobs),
                *self._retries.concerns(names_jobs=names_jobs),
                *node_concerns(simulation, names_pools=names_pools),
            ]
            self._of_nodes = known, found
        return self._of_nodes[1]


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


def _in_use(certificate: CertificateRecord) -> str:
    pools, nodes = certificate.use or ((), ())
    users = [*(f"pool {pool_id}" for pool_id in pools), *([some(len(nodes), "node")] if nodes else [])]
    return f"in use by {listed(users)}"


def _certificates(world: World) -> list[Concern]:
    return [
        Concern(
            "certificate",
            Severity.SHORTAGE,
            f"certificate {certificate.spec.thumbprint} could not be deleted",
            certificate.since_ms,
            effect=_in_use(certificate),
            remedy="take it out of the pools, then delete it again",
        )
        for certificate in world.certificates.rows
        if certificate.state is CertificateState.DELETE_FAILED
    ]
