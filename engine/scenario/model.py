"""The content of a scenario file, read and checked: everything the simulation needs to start.

Plain frozen data; equality ignores positions in the file. Times are whole milliseconds since ``Scenario.start``,
durations are milliseconds. The bodies inside (``PoolSpec``, ``JobSpec``, ...) are the service's, see ``engine.specs``.

The section ``study`` is read here too: the factors of a study, its seeds, and what its table shows beside the usual.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from engine.base.terms import AutoScaleRetries, ReleaseAfter
from engine.base.values import USD, lazy_regex, quoted, words
from engine.scenario.document import DocumentPlace, check_keys
from engine.scenario.locations import (
    VALUE_LIMIT,
    Factor,
    FactorMistake,
    Varied,
    locate,
    parse_path,
    parse_range,
    repeats,
)
from engine.scenario.text import does_not_exist, shown
from engine.scenario.tree import Tree
from engine.specs.account import SimulateStorage
from engine.specs.base import Bool, Spec
from engine.specs.bodies import JobSpec
from engine.specs.common import Simulate, SimulateAutoScale, SimulateNodes, SimulateService, SimulateSpot
from engine.specs.machine import SimulateNetwork
from engine.specs.pool_refusals import PoolSetting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.base.errors import Problem
    from engine.base.terms import Plain
    from engine.scenario.factory import TaskFactory
    from engine.scenario.text import ScenarioSource
    from engine.specs.account import Account
    from engine.specs.bodies import JobScheduleSpec, PoolSpec, TaskSpec
    from engine.specs.command import Command
    from engine.specs.conditions import Condition
    from engine.specs.prices import PriceList


SpecT = TypeVar("SpecT", bound=Spec)
STUDY_KEYS = ("seeds", "vary", "measure")
MEASURES = words(
    "makespanSeconds costUsd nodeHours slotUtilization failedTasks failedPreparations failedReleases"
    " waitSecondsMedian waitSecondsP95 preparationSeconds"
)
"""The measures of each run of a study."""
SHORT_NAMES = {"makespan": "makespanSeconds", "cost": "costUsd"}
"""Measures by the names that expectations use."""

_SEEDS = lazy_regex(r"(-?\d{1,18})\.\.(-?\d{1,18})", re.ASCII)
_COUNT = lazy_regex(r"\d{1,18}", re.ASCII)


class JobEnd(NamedTuple):
    """The end of a job, as something that the table of a study shows."""

    job_id: str


class StudySection(NamedTuple):
    """The ``study`` of a scenario. Without ``seeds`` the command decides; ``shown`` are more columns of its table."""

    factors: tuple[Factor, ...] = ()
    seeds: tuple[int, ...] | None = None
    shown: tuple[str | JobEnd, ...] = ()


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of ``N``, which is 1 to N, or of ``A..B``.

    Raises:
        FactorMistake: It is neither, or too many.
    """
    found = _SEEDS.fullmatch(text.strip())
    if found is not None:
        first, last = int(found[1]), int(found[2])
        if last < first:
            raise FactorMistake(f"{quoted(text)} runs backwards: write {last}..{first}")
    elif _COUNT.fullmatch(text.strip()):
        first, last = 1, int(text)
        if not last:
            raise FactorMistake("at least one seed is needed")
    else:
        raise FactorMistake(f"{quoted(text)} must be a number of seeds such as 20, or a range such as 1..20")
    if last - first >= VALUE_LIMIT:
        raise FactorMistake(f"more than {VALUE_LIMIT:,} seeds")
    return tuple(range(first, last + 1))


def read_study(root: DocumentPlace) -> StudySection:
    """Return the ``study`` of a scenario; report mistakes in it. An empty one if there is none."""
    place = root.get("study")
    if place is None or not check_keys(place, STUDY_KEYS):
        return StudySection()
    seeds, vary, measure = map(place.get, STUDY_KEYS)
    return StudySection(
        _read_factors(root, vary) if vary is not None else (),
        _read_seeds(seeds) if seeds is not None else None,
        _read_shown(measure) if measure is not None else (),
    )


def _read_seeds(place: DocumentPlace) -> tuple[int, ...] | None:
    value = place.plain
    if isinstance(value, list):
        whole = [seed for seed in value if isinstance(seed, int) and not isinstance(seed, bool)]
        if len(whole) < len(value) or not whole:
            place.report("must be a list of whole numbers, such as [1, 2, 3]")
            return None
        if len(set(whole)) < len(whole):
            place.report("lists a seed twice")
        return tuple(whole)
    if isinstance(value, bool) or not isinstance(value, int | str):
        place.report(f"must be a number of seeds, a range such as 1..20, or a list, not {shown(value)}")
        return None
    try:
        return parse_seeds(str(value))
    except FactorMistake as mistake:
        place.report(str(mistake))
        return None


def _read_factors(root: DocumentPlace, vary: DocumentPlace) -> tuple[Factor, ...]:
    vary.is_a(dict, "must be a mapping from paths to lists of values, such as {pools.p.vmSize: [a, b]}")
    found = []
    for path, place in vary.items():
        trees = _read_values(place)
        try:
            steps = parse_path(path)
            locate(root.tree, steps)
        except FactorMistake as mistake:
            place.report(str(mistake), key=True)
            continue
        if trees:
            values = tuple(Varied(tree, tree) for tree in trees)
            found.append(Factor(path, steps, values, place.key_position or place.tree.position))
    return tuple(found)


def _read_values(place: DocumentPlace) -> list[Tree]:
    """Return the values of a factor; none if they have a mistake, which is reported."""
    value = place.tree.value
    try:
        numbers = parse_range(value) if isinstance(value, str) else None
    except FactorMistake as mistake:
        place.report(str(mistake))
        return []
    if numbers is not None:
        return [Tree(place.tree.position, number) for number in numbers]
    if not isinstance(value, list) or not value:
        place.report("must be a list of values such as [10, 20, 40], or a range such as 10..80:10")
        return []
    entries, twice = list(place.entries()), list(repeats(value))
    for at in twice:
        entries[at].report(f"{shown(entries[at].plain)} is listed twice")
    return [] if twice else value


def _read_shown(place: DocumentPlace) -> tuple[str | JobEnd, ...]:
    place.is_a(list, "must be a list of measures such as [nodeHours, {jobId: risk, end}]")
    found: list[str | JobEnd] = []
    for entry in place.entries():
        value = entry.plain
        if isinstance(value, str):
            name = SHORT_NAMES.get(value, value)
            if name in MEASURES:
                found.append(name)
            else:
                entry.report(does_not_exist(value, (*MEASURES, *SHORT_NAMES)))
        elif isinstance(value, dict):
            job = entry.get("jobId")
            if not check_keys(entry, ("jobId", "end")) or job is None or not isinstance(job.plain, str):
                entry.report("must name a job: {jobId: risk, end}")
            else:
                found.append(JobEnd(job.plain))
        else:
            entry.report(f"must be a measure or {{jobId: ID, end}}, not {shown(value)}")
    return tuple(found)


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
    column: int = field(default=0, compare=False)


class Options(Spec):
    """Switches for behaviour that the service has changed over the years, or that a scenario may want.

    The rules are APP-5, AS-80, NODE-3, NOP-4, POOL-6, PREP-17, REL-3 and TASK-19.
    """

    classic_node_ids: Bool = False
    reimage_cloud_service_only: Bool = False
    classic_size_rules: Bool = False
    classic_packages: Bool = False
    strict_storage: Bool = False
    release_after: ReleaseAfter = ReleaseAfter.TASK
    reboot_retries_failed_preparation: Bool = False
    auto_scale_retries: AutoScaleRetries = AutoScaleRetries.PASSING


SIMULATE: dict[str, type[Spec]] = {
    "nodes": SimulateNodes,
    "spot": SimulateSpot,
    "tasks": Simulate,
    "storage": SimulateStorage,
    "network": SimulateNetwork,
    "autoScale": SimulateAutoScale,
    "service": SimulateService,
}
"""The parts of the top-level ``simulate``."""
BY_PATTERN = ("storage", "network")
"""The parts that have settings for each pattern of names."""


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
class Entry(Generic[SpecT]):
    """A pool, a job or a job schedule of the scenario, and the time at which it is added."""

    spec: SpecT
    at_ms: int = 0
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class JobEntry(Entry[JobSpec]):
    """A job of the scenario with its tasks, listed ones first."""

    tasks: tuple[TaskSpec, ...] = ()
    factory: TaskFactory | None = None


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A command or fault at ``at_ms``, or ``after_ms`` after ``when`` first holds.

    Exactly one of ``at_ms`` and ``when`` is set. ``refused`` is the code with which the service is expected to refuse
    it. ``tasks`` and ``factory`` hold the tasks of ``addTasks`` or ``createJob``. For a command given later,
    ``timeline.factory_of`` reads its taskFactory.
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


# Warnings about what the small shell makes of a line, which a real one reads.
_OF_SIMULATED_LINES = ("not-executed", "shell-unreadable", "system-file")


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
    pools: tuple[Entry[PoolSpec], ...] = ()
    jobs: tuple[JobEntry, ...] = ()
    job_schedules: tuple[Entry[JobScheduleSpec], ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    expect: tuple[Expectation, ...] = ()
    study: StudySection = field(default_factory=StudySection, compare=False)  # a run ignores it
    variant: ChosenVariant | None = field(default=None, compare=False)  # of ``source``, which has the text of the file
    warnings: tuple[Problem, ...] = field(default=(), compare=False)
    # What processes do: their commands, by the text of each `does`, and whether some of them wait for a condition.
    acts: Mapping[str, tuple[TimelineEntry, ...]] = field(default_factory=dict, compare=False, repr=False)
    acts_wait: bool = False
    prices: PriceList | None = field(default=None, repr=False)  # in place of those of the table
    executes: bool = field(default=False, compare=False)  # command lines without ``simulate`` end by inputs

    def executing(self) -> Scenario:
        """Return the scenario as it runs where programs really run."""
        warnings = tuple(problem for problem in self.warnings if problem.code not in _OF_SIMULATED_LINES)
        return replace(self, executes=True, warnings=warnings)

    @property
    def currency(self) -> str:
        """The currency of all costs of a run."""
        return USD if self.prices is None else self.prices.currency

    @property
    def pool_setting(self) -> PoolSetting:
        """The options and subnets that decide whether a pool is refused."""
        return pool_setting(self.options, self.simulate)
