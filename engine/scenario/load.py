"""Loading a scenario: all mistakes are reported at once with their positions in the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from engine.base import runtime
from engine.base.errors import WARNINGS, Position, Problem, ScenarioError, Severity
from engine.base.values import USD, lazy_regex, parse_utc, shortened, text_at
from engine.scenario.bodies import read_body, report_refusals
from engine.scenario.commands import UNKNOWN_OWNER, Given
from engine.scenario.conditions import Asked, read_condition, read_time
from engine.scenario.document import Document, DocumentPlace, check_keys, ignored_codes, stranger
from engine.scenario.locations import VARIED
from engine.scenario.model import (
    DEFAULT_START,
    SIMULATE,
    Entry,
    Expectation,
    JobEntry,
    Options,
    Scenario,
    TimelineEntry,
    WorldSimulation,
    pool_setting,
    read_study,
)
from engine.scenario.names import DeclaredIds, Ids, changed_applications
from engine.scenario.pasted import as_created, is_there, report_template_parts
from engine.scenario.text import ScenarioSource, did_you_mean, read_source, shown
from engine.scenario.timeline import read_job_tasks, read_timeline
from engine.scenario.tree import ReadingStopped, Tree, parse
from engine.scenario.warnings import WarningCollector
from engine.specs.account import Account, SimulateStorage
from engine.specs.base import Spec
from engine.specs.bodies import JobScheduleSpec, JobSpec, PoolSpec
from engine.specs.catalogue import PRICES_REGION, vm_size
from engine.specs.common import Simulate, SimulateAutoScale, SimulateNodes, SimulateService, SimulateSpot
from engine.specs.job_refusals import job_refusals, schedule_refusals
from engine.specs.machine import SimulateNetwork
from engine.specs.pool_refusals import account_refusals, pool_refusals
from engine.specs.refusals import Refusal

if TYPE_CHECKING:
    from engine.specs.prices import PriceFile, PriceList

Model = TypeVar("Model", bound=Spec)

KEYS = ("scenario", "description", "seed", *VARIED, "study")
_ENTRY_KEYS = ("at",)
_JOB_KEYS = ("at", "tasks", "taskFactory")
_EXPECT_KEYS = ("at", "within")
_NO_PACKAGE = "InvalidApplicationPackageReferences"
_ACTS = lazy_regex(r"\b(?:does|until)\b")  # without these words no process acts
_YEARS = range(1970, 9000)


def load(
    path_or_name: str, *, text: str | None = None, strict: bool = False, prices: PriceFile | None = None
) -> Scenario:
    """Load the scenario in a file, the bundled one of this name, or the one in ``text``.

    With ``strict`` its warnings are mistakes. ``prices`` win over those that the scenario names.

    Raises:
        ScenarioError: The scenario has mistakes; all of them are listed in the order of the file.
    """
    source = read_source(path_or_name) if text is None else ScenarioSource(path_or_name, text)
    return _loaded(replace(source, prices=prices), _read, strict=strict)


def load_tree(source: ScenarioSource, tree: Tree, words: str) -> Scenario:
    """Return the scenario in a tree that was made from ``source`` with other values.

    Args:
        source: Where the scenario comes from.
        tree: The document.
        words: A text with every key and every text of the document, in any order, and perhaps others.

    Raises:
        ScenarioError: The scenario has mistakes; all of them are listed in the order of the file.
    """
    return _loaded(source, lambda document, _: _read_root(DocumentPlace(document, tree), source, words))


def _loaded(
    source: ScenarioSource, read: Callable[[Document, ScenarioSource], Scenario | None], *, strict: bool = False
) -> Scenario:
    document = Document(source.path)
    scenario = None
    with suppress(ReadingStopped), runtime.gc_paused():
        scenario = read(document, source)
    problems, warnings = document.problems, _in_order(_not_ignored(document, source.text))
    if strict:
        problems += [warning._replace(severity=Severity.ERROR) for warning in warnings]
        warnings = []
    if problems:
        raise ScenarioError(_in_order(problems), warnings)
    assert scenario is not None
    return replace(scenario, warnings=tuple(warnings))


def _not_ignored(document: Document, text: str) -> list[Problem]:
    """Return the warnings without those that a comment at the end of their line silences by their code."""
    ignored = ignored_codes(text) if "ignore[" in text else {}
    for (line, code), column in ignored.items():
        if code not in WARNINGS:
            message = f"no warning has the code {shown(code)}" + did_you_mean(code, WARNINGS)
            document.warn(message, Position(line, column), (), "unknown-code")
    return [warning for warning in document.warnings if (warning.line, warning.code) not in ignored]


def _in_order(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.line, problem.column))


def _read(document: Document, source: ScenarioSource) -> Scenario | None:
    tree = parse(source.text, document.report)
    strange = stranger(tree, source.text, KEYS)
    if strange is not None:
        document.problems.clear()
        document.report(strange, Position(1, 1) if tree is None else tree.position)
        return None
    if tree is None:
        if not document.problems:
            document.report("the file is empty: a scenario begins with 'scenario: NAME'", Position(1, 1))
        return None
    root = DocumentPlace(document, tree)
    if tree.value is None:
        root.report("the file is empty: a scenario begins with 'scenario: NAME'")
        return None
    return _read_root(root, source, source.text)


def _read_root(root: DocumentPlace, source: ScenarioSource, words: str) -> Scenario | None:
    report_template_parts(root, words)
    return _ScenarioReader(root, source, words).read() if check_keys(root, KEYS) else None


class _ScenarioReader:
    """A reader of one document from top to bottom, which checks references between its parts at the end."""

    def __init__(self, root: DocumentPlace, source: ScenarioSource, words: str) -> None:
        self._root = root
        self._source = source
        self._start = self._read_start()
        self._pool_ids = Ids()
        self._job_ids = Ids()
        self._asked: Asked = []
        self._counts: Counter[str] = Counter()  # of pools, and of jobs and schedules, that exist from the start
        self._account = Account.model_construct()
        has_words = "does" in words or "until" in words  # the expression alone takes ten times as long
        has_acts = has_words and len(_ACTS.findall(words)) > (root.get("until") is not None)
        self._given = Given(DeclaredIds(), self._asked, has_acts=has_acts)

    def read(self) -> Scenario | None:
        """Return the scenario; it must not be used if problems were reported."""
        name = self._text("scenario", required=True)
        root = self._root
        account = self._account = self._body(root, "account", Account)
        if (place := root.get("account")) is not None:
            report_refusals(place, Account, account_refusals(account))
        options = self._body(root, "options", Options)
        simulate = self._simulate()
        prices = self._prices(account)
        collector = self._given.collector = WarningCollector(self._given.names, self._start, account, simulate)
        pools = tuple(self._pools(account, options, simulate))
        jobs = tuple(self._jobs())
        schedules = tuple(self._schedules())
        timeline = tuple(self._timeline(collector))
        if self._given.has_acts and (tasks := root.at("simulate", "tasks")) is not None:
            self._given.read_block(tasks, UNKNOWN_OWNER)
        expect = tuple(self._expect())
        scenario = Scenario(
            name=name,
            source=self._source,
            account=account,
            simulate=simulate,
            description=self._text("description"),
            seed=self._seed(),
            start=self._start,
            until_ms=self._time(root, "until"),
            options=options,
            pools=pools,
            jobs=jobs,
            job_schedules=schedules,
            timeline=timeline,
            expect=expect,
            study=read_study(root),
            acts=self._given.acts,
            acts_wait=self._given.waits,
        )
        self._check_asked()
        collector.finish(self._asked, scenario.study.factors, scenario.until_ms, prices)
        return scenario if prices is None else replace(scenario, prices=self._settled(prices, collector.sizes))

    # --- prices

    def _prices(self, account: Account) -> PriceList | None:
        """Return the prices that count in place of those of the table: those given beside the file win (VM-7)."""
        given = self._source.prices
        if given is None and account.prices is None:
            return None
        from engine.specs.prices import price_list, read_prices

        try:
            given = given or read_prices(Path(self._source.path).parent / (account.prices or ""))
            return price_list(given, account.location)
        except ScenarioError as error:
            if self._source.prices is None:
                for problem in error.problems:
                    (self._root.at("account", "prices") or self._root).report(str(problem))
            else:
                self._root.document.problems += error.problems
            return None

    def _settled(self, prices: PriceList, sizes: Sequence[DocumentPlace]) -> PriceList:
        """Return the prices in the currency of the sizes in use, and report sizes that have none."""
        try:
            settled = prices.settled(str(place.plain) for place in sizes)
        except ValueError as mistake:
            (self._root.at("account", "prices") or self._root).report(str(mistake))
            return prices
        for place in sizes:
            lacks = f"{shortened(prices.file.name)} has no price of {shown(place.plain)} in {prices.region}"
            if settled.has(str(place.plain)) or vm_size(str(place.plain)) is None:
                continue
            if settled.currency == USD:
                place.warn(f"{lacks}: the list price of {PRICES_REGION} counts", "price-missing")
            else:
                place.report(f"{lacks}, and list prices are in USD, not {settled.currency}")
        return settled

    # --- the run as a whole

    def _read_start(self) -> datetime:
        place = self._root.get("startTime")
        if place is None:
            return DEFAULT_START
        try:
            start = parse_utc(place.plain) if isinstance(place.plain, str) else None
        except (ValueError, OverflowError):
            start = None
        if start is None or start.year not in _YEARS:
            place.report(f"must be a UTC time such as 2026-01-05T08:00:00Z, not {shown(place.plain)}")
            return DEFAULT_START
        return start

    def _text(self, key: str, *, required: bool = False) -> str:
        place = self._root.require(key) if required else self._root.get(key)
        if place is None:
            return ""
        if not isinstance(place.plain, str) or (required and not place.plain.strip()):
            place.report(f"must be text, not {shown(place.plain)}")
            return ""
        return place.plain

    def _seed(self) -> int:
        place = self._root.get("seed")
        value = 0 if place is None else place.plain
        if isinstance(value, bool) or not isinstance(value, int):
            if place is not None:
                place.report(f"must be a whole number, not {shown(value)}")
            return 0
        return value

    def _time(self, place: DocumentPlace, key: str) -> int | None:
        inner = place.get(key)
        return None if inner is None else read_time(inner, self._start)

    def _simulate(self) -> WorldSimulation:
        place = self._root.get("simulate")
        if place is None or not check_keys(place, tuple(SIMULATE)):
            return WorldSimulation(SimulateNodes(), Simulate(), SimulateAutoScale())
        return WorldSimulation(
            self._body(place, "nodes", SimulateNodes),
            self._body(place, "tasks", Simulate),
            self._body(place, "autoScale", SimulateAutoScale),
            tuple(self._globs(place, "storage", SimulateStorage)),
            tuple(self._globs(place, "network", SimulateNetwork)),
            self._body(place, "spot", SimulateSpot),
            self._body(place, "service", SimulateService),
        )

    def _body(self, place: DocumentPlace, key: str, model: type[Model]) -> Model:
        inner = place.get(key)
        given = read_body(as_created(inner, model), model) if inner is not None else None
        return cast("Model", model.model_construct()) if given is None else given  # for mypy's plugin it is a Spec

    def _globs(self, place: DocumentPlace, key: str, model: type[Model]) -> Iterator[tuple[str, Model]]:
        inner = place.get(key)
        if inner is not None:
            inner.is_a(dict, "must be a mapping from a pattern such as 'https://*/market/*' to its settings")
        for glob, settings in inner.items() if inner is not None else ():
            body = read_body(settings, model)
            if body is not None:
                yield glob, body

    # --- what is there, and when

    def _entries(
        self, key: str, model: type[Model], others: tuple[str, ...], ids: Ids
    ) -> Iterator[tuple[DocumentPlace, Model | None, int]]:
        """Yield the entries of a section with their times; the body is None if it is malformed."""
        for written in self._root.listed(key, f"must be a list: put '- ' before each of the {key}"):
            if not is_there(written):
                own = text_at(written.plain, "id") or text_at(written.plain, "name") or ""
                self._given.names.absent.add(own.rpartition("/")[2].casefold())
                continue
            place = as_created(written, model, others)
            entry_id = text_at(place.plain, "id")
            if entry_id is not None:
                ids.take(entry_id, f"one of the {key}, line {place.line}", place)
            yield place, read_body(place, model, without=others), self._time(place, "at") or 0

    def _pools(self, account: Account, options: Options, simulate: WorldSimulation) -> Iterator[Entry[PoolSpec]]:
        for place, spec, at_ms in self._entries("pools", PoolSpec, _ENTRY_KEYS, self._pool_ids):
            self._given.take("createPool", place, at_ms=at_ms)
            if spec is not None:
                refusals = pool_refusals(spec, account, pool_setting(options, simulate))
                report_refusals(place, PoolSpec, (one for one in refusals if not self._may_pass(spec, one, at_ms)))
                self._count(place, at_ms, "pools", account.quotas.pools, "PoolQuotaReached")
                yield Entry(spec, at_ms, place.line)

    def _may_pass(self, spec: PoolSpec, refusal: Refusal, at_ms: int) -> bool:
        """Return whether a command may provide the package that a later pool misses (APP-8)."""
        if refusal.code != _NO_PACKAGE or at_ms == 0 or len(refusal.path) < 2:
            return False
        changed = {name.lower() for name in changed_applications(self._root.plain)}
        reference = spec.application_package_references[int(refusal.path[1])]
        return reference.application_id.lower() in changed

    def _jobs(self) -> Iterator[JobEntry]:
        for place, spec, at_ms in self._entries("jobs", JobSpec, _JOB_KEYS, self._job_ids):
            tasks, factory = read_job_tasks(place, spec)
            self._given.take("createJob", place, factory, at_ms)
            if spec is not None:
                report_refusals(place, JobSpec, job_refusals(spec))
                self._count_job(place, at_ms)
                yield JobEntry(spec, at_ms, place.line, tasks, factory)

    def _schedules(self) -> Iterator[Entry[JobScheduleSpec]]:
        for place, spec, at_ms in self._entries("jobSchedules", JobScheduleSpec, _ENTRY_KEYS, self._job_ids):
            self._given.take("createJobSchedule", place)
            if spec is not None:
                report_refusals(place, JobScheduleSpec, schedule_refusals(spec))
                self._count_job(place, at_ms)
                yield Entry(spec, at_ms, place.line)

    # --- what is done, and what is expected

    def _timeline(self, collector: WarningCollector) -> Iterator[TimelineEntry]:
        section = self._root.get("timeline")
        for place, entry, added in read_timeline(section, self._start, self._asked) if section is not None else ():
            if added is not None and entry is not None:
                self._given.names.add_tasks(str(added["jobId"]), added, None, come=True)
                collector.add_line(added, place)
                yield entry
                continue
            factory, at_ms = (entry.factory, entry.at_ms) if entry is not None else (None, None)
            for name, body in place.items():
                self._given.take(name, body, factory, at_ms, is_refused=place.get("refused") is not None)
            if entry is not None:
                yield entry

    def _expect(self) -> Iterator[Expectation]:
        aliases = {} if (section := self._root.get("expect")) is None else section.tree.keys
        for index, place in enumerate(self._root.listed("expect", "must be a list: put '- ' before each expectation")):
            condition = read_condition(place, self._asked, also=_EXPECT_KEYS)
            at_ms, within_ms = self._time(place, "at"), self._time(place, "within")
            if condition is not None and isinstance(place.plain, dict):
                position = aliases.get(str(index), place.tree.position)
                yield Expectation(index, condition, place.plain, at_ms, within_ms, *position)

    def _count(self, place: DocumentPlace, at_ms: int, what: str, limit: int, code: str) -> None:
        """Check the quota of what exists from the start (ACC-4); later entries are checked during the run."""
        self._counts[what] += at_ms == 0
        if at_ms == 0 and self._counts[what] > limit:
            place.report(f"the account's quota allows {limit} {what} ({code})", key=True)

    def _count_job(self, place: DocumentPlace, at_ms: int) -> None:
        limit = self._account.quotas.active_jobs_and_schedules
        self._count(place, at_ms, "jobs and schedules", limit, "ActiveJobAndScheduleQuotaReached")

    def _check_asked(self) -> None:
        """Report conditions on what nothing in the scenario creates, unless it is a pool whose condition is false."""
        names = self._given.names
        for place, subject in self._asked:
            missing = names.missing(subject)
            if missing is not None and (subject.pool_id or "").casefold() not in names.absent:
                key, reason = missing
                (place.get(key) or place).report(reason)
