"""The content of a scenario file, read and checked: everything the simulation needs to start.

Plain frozen data; equality ignores positions in the file. Times are whole milliseconds since ``Scenario.start``,
durations are milliseconds. The bodies inside (``PoolSpec``, ``JobSpec``, ...) are the service's, see ``engine.specs``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.base.terms import ReleaseAfter
from engine.scenario.study import StudySection
from engine.specs.base import Bool, Spec
from engine.specs.refusals.pool import PoolSetting
from engine.specs.simulate import SimulateService, SimulateSpot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.base.errors import Problem
    from engine.base.terms import Plain
    from engine.scenario.factory import TaskFactory
    from engine.scenario.files import ScenarioSource
    from engine.scenario.tree import Tree
    from engine.specs.account import Account
    from engine.specs.command import Command
    from engine.specs.conditions import Condition
    from engine.specs.job import JobSpec
    from engine.specs.pool import PoolSpec
    from engine.specs.schedule import JobScheduleSpec
    from engine.specs.simulate import Simulate, SimulateAutoScale, SimulateNodes
    from engine.specs.storage import SimulateStorage
    from engine.specs.subnets import SimulateNetwork
    from engine.specs.task import TaskSpec

DEFAULT_START = datetime(2026, 1, 5, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Expectation:
    """An entry of ``expect``: checked at the end of the run, or at ``at_ms``.

    With ``within_ms`` it must have become true by then.
    """

    index: int
    condition: Condition
    as_written: dict[str, Plain]
    at_ms: int | None = None
    within_ms: int | None = None
    line: int = field(default=0, compare=False)


class Options(Spec):
    """Switches for behaviour that the service has changed over the years, or that a scenario may want.

    The rules are APP-5, NODE-3, NOP-4, POOL-6, PREP-17, REL-3 and TASK-19.
    """

    classic_node_ids: Bool = False
    reimage_cloud_service_only: Bool = False
    classic_size_rules: Bool = False
    classic_packages: Bool = False
    strict_storage: Bool = False
    release_after: ReleaseAfter = ReleaseAfter.TASK
    reboot_retries_failed_preparation: Bool = False


@dataclass(frozen=True, slots=True)
class WorldSimulation:
    """The top-level ``simulate``: defaults for nodes, Spot and tasks, and what surrounds them.

    ``storage`` and ``network`` are (glob, settings) in the order of the file.
    """

    nodes: SimulateNodes
    tasks: Simulate
    auto_scale: SimulateAutoScale
    storage: tuple[tuple[str, SimulateStorage], ...] = ()
    network: tuple[tuple[str, SimulateNetwork], ...] = ()
    spot: SimulateSpot = field(default_factory=SimulateSpot)
    service: SimulateService = field(default_factory=SimulateService)

    @property
    def has_chance(self) -> bool:
        """True if nodes fail or are evicted at random (NODE-18, SPOT-10)."""
        return bool(self.nodes.failure_rate or self.spot.eviction_rate)


def pool_setting(options: Options, simulate: WorldSimulation) -> PoolSetting:
    """Return the part of a scenario that decides whether a pool is refused."""
    return PoolSetting(options.classic_size_rules, options.classic_packages, simulate.network)


@dataclass(frozen=True, slots=True)
class PoolEntry:
    """A pool of the scenario and the time of its creation."""

    spec: PoolSpec
    at_ms: int = 0
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class JobEntry:
    """A job of the scenario, the time at which it is added, and its tasks, listed ones first."""

    spec: JobSpec
    at_ms: int = 0
    tasks: tuple[TaskSpec, ...] = ()
    factory: TaskFactory | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class JobScheduleEntry:
    """A job schedule of the scenario and the time at which it is added."""

    spec: JobScheduleSpec
    at_ms: int = 0
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A command or fault at ``at_ms``, or ``after_ms`` after ``when`` first holds.

    Exactly one of ``at_ms`` and ``when`` is set. ``refused`` is the code with which the service is expected to refuse
    it. ``tasks`` and ``factory`` hold the tasks of ``addTasks`` or ``createJob``. For a command given later,
    ``sweep.factory_of`` reads its taskFactory.
    """

    index: int
    command: Command
    at_ms: int | None = None
    when: Condition | None = None
    after_ms: int = 0
    refused: str | None = None
    tasks: tuple[TaskSpec, ...] = ()
    factory: TaskFactory | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ChosenVariant:
    """The variant of a study that a scenario is.

    Args:
        number: Its number, from 1.
        values: Its values as they were written, by path.
        options: The factors that the scenario file does not have, each ``PATH=VALUES``.
        document: The document with these values, without ``study``.
    """

    number: int
    values: Mapping[str, Plain]
    options: tuple[str, ...]
    document: Tree = field(repr=False)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that can be run. Without ``until_ms`` it ends when nothing more can happen, at most after P7D."""

    name: str
    source: ScenarioSource = field(compare=False)
    account: Account
    simulate: WorldSimulation
    description: str = ""
    seed: int = 0
    start: datetime = DEFAULT_START
    until_ms: int | None = None
    options: Options = field(default_factory=Options)
    pools: tuple[PoolEntry, ...] = ()
    jobs: tuple[JobEntry, ...] = ()
    job_schedules: tuple[JobScheduleEntry, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    expect: tuple[Expectation, ...] = ()
    study: StudySection = field(default_factory=StudySection, compare=False)  # a run ignores it
    variant: ChosenVariant | None = field(default=None, compare=False)  # of ``source``, which has the text of the file
    warnings: tuple[Problem, ...] = field(default=(), compare=False)
    # What processes do: their commands, by the text of each `does`, and whether some of them wait for a condition.
    acts: Mapping[str, tuple[TimelineEntry, ...]] = field(default_factory=dict, compare=False, repr=False)
    acts_wait: bool = False

    @property
    def pool_setting(self) -> PoolSetting:
        """The options and subnets that decide whether a pool is refused."""
        return pool_setting(self.options, self.simulate)
