"""The sides of a comparison: the run, file of results or history that a name or path stands for, and its figures.

The figures of a history say what an account really did, as far as its objects tell it; those of a file come from what
``batchdeck run --output json`` has written. Both are collected from the objects of the service, one by one.
"""

from __future__ import annotations

import codecs
import math
import os
from array import array
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.errors import Problem, ScenarioError
from engine.base.values import HOUR_MS, SECOND_MS, USD, quoted, shortened, value_at
from engine.histories.history import HOOK_INFOS, History, check, epoch_ms, read_history
from engine.histories.reading import STATUS, objects_in
from engine.specs.catalogue import has_low_priority, os_of, vm_size
from engine.specs.prices import price_list
from engine.studies.measures import Figures, Times, figures, figures_of_run
from engine.views.diagnosis.model import plural, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from engine.histories.history import Body, Record
    from engine.histories.reading import Found, Source
    from engine.run.simulation import Simulation
    from engine.specs.prices import PriceFile, PriceList


class Collected:
    """The times of tasks, preparations, releases and jobs. A task takes the memory of two numbers."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self._waits_ms = array("q")
        self._runs_ms = array("q")
        self._hook_ms = dict.fromkeys(HOOK_INFOS, 0)
        self._job_ends: dict[str, int | None] = {}  # ms since 1970
        self.tasks = 0
        self.succeeded = 0
        self.failed = 0
        self.failed_hooks = dict.fromkeys(HOOK_INFOS, 0)
        self.has_retried_hooks = False
        self.first_task_ms: int | None = None  # its creation, since 1970
        self.last_task_ms: int | None = None  # the end of the last task, since 1970
        self.latest_ms: int | None = None  # the latest time of any object, since 1970
        self.nodes: dict[str, None] = {}  # ids, in lower case, on which something ran

    def take_task(self, body: Body) -> None:
        """Add a task."""
        info = body.get("executionInfo", {})
        created, started, ended = self._moments(body.get("creationTime"), info.get("startTime"), info.get("endTime"))
        self.tasks += 1
        if created is not None:
            self.first_task_ms = min(created, self.first_task_ms or created)
            if started is not None:
                self._waits_ms.append(started - created)
        if ended is not None:
            self.last_task_ms = max(ended, self.last_task_ms or ended)
            if started is not None:
                self._runs_ms.append(ended - started)
        if body.get("state") == "completed":
            has_failed = _has_failed(info)
            self.failed += has_failed
            self.succeeded += not has_failed
        self._note_node(body.get("nodeInfo", {}).get("nodeId"))

    def take_instance(self, body: Body) -> None:
        """Add an entry of the preparation and release status of a job."""
        for name in HOOK_INFOS:
            info = body.get(name, {})
            started, ended = self._moments(info.get("startTime"), info.get("endTime"))
            if started is not None and ended is not None:
                self._hook_ms[name] += ended - started
            self.failed_hooks[name] += _has_failed(info)
            self.has_retried_hooks |= bool(info.get("retryCount"))
        self._note_node(body.get("nodeId"))

    def take_job(self, body: Body) -> None:
        """Add a job."""
        ended, *_ = self._moments(
            body.get("executionInfo", {}).get("endTime"), body.get("creationTime"), body.get("stateTransitionTime")
        )
        self._job_ends[str(body["id"])] = ended

    def _note_node(self, node_id: object) -> None:
        if isinstance(node_id, str):
            self.nodes[node_id.casefold()] = None

    def _moments(self, *times: object) -> list[int | None]:
        moments = [epoch_ms(time) for time in times]
        self.latest_ms = max((ms for ms in (*moments, self.latest_ms) if ms is not None), default=None)
        return moments

    def figures(self, summary: Mapping[str, object], start_ms: int | None) -> Figures:
        """Return the figures of a run with this ``summary``, which began at a moment in ms since 1970."""
        job_ends = {
            job_id: None if end_ms is None or start_ms is None else (end_ms - start_ms) / SECOND_MS
            for job_id, end_ms in self._job_ends.items()
        }
        return figures(summary, Times(self._waits_ms, self._runs_ms, *self._hook_ms.values()), job_ends)


def _has_failed(info: Body) -> bool:
    """Return whether a process has failed; without a result, the exit code decides (RETRY-11)."""
    result = info.get("result")
    if isinstance(result, str):
        return result == "failure"
    return "failureInfo" in info or bool(info.get("exitCode"))


_DECIMALS = 6  # as in the summary of a run
_HOOKS = {
    "jobPreparationTask": ("failedPreparations", "preparationSeconds"),
    "jobReleaseTask": ("failedReleases", "releaseSeconds"),
}
_OF_TASKS = ("totalTasks", "succeededTasks", "failedTasks", "makespanSeconds")


class Observed(NamedTuple):
    """The figures of a history, and sentences about those that it does not tell or that had to be computed."""

    figures: Figures
    notes: tuple[str, ...]


def observed(history: History, prices: PriceFile | None = None) -> Observed:
    """Return the figures of a history. Times count from the creation of its first job."""
    collected = Collected()
    for record in history.jobs:
        collected.take_job(record.body)
    for record in chain.from_iterable(history.tasks.values()):
        collected.take_task(record.body)
    for record in chain.from_iterable(history.instances.values()):
        collected.take_instance(record.body)
    notes: list[str] = []
    created = (epoch_ms(record.body.get("creationTime")) for record in history.jobs)
    start_ms = min((ms for ms in created if ms is not None), default=collected.first_task_ms)
    if start_ms is None:
        notes.append("No job or task says when it was created: ends are not known.")
    hours, cost, currency = _use(history, collected, start_ms, notes, prices)
    failed_preparations, failed_releases = collected.failed_hooks.values()
    last_ms = collected.last_task_ms
    summary: dict[str, object] = {
        "makespanSeconds": None if last_ms is None or start_ms is None else max(0, last_ms - start_ms) / SECOND_MS,
        "endSeconds": None,
        "costUsd": cost if currency == USD else None,
        "cost": {"amount": cost, "currency": currency},
        "nodeHours": hours,
        "slotUtilization": None,
        "tasks": {"total": collected.tasks, "succeeded": collected.succeeded, "failed": collected.failed},
        "preparationTasks": {"failed": failed_preparations},
        "releaseTasks": {"failed": failed_releases},
    }
    found = collected.figures(summary, start_ms)
    unknown = set(_not_told(history, notes))
    if collected.has_retried_hooks:
        notes.append("Of preparations it has the last on each node only: the time of earlier ones is not known.")
    known = {name: None if name in unknown else value for name, value in found.measures.items()}
    return Observed(found._replace(measures=known), tuple(notes))


def _not_told(history: History, notes: list[str]) -> Iterator[str]:
    """Yield the measures that the history does not tell, with a note on each reason."""
    if not any(history.tasks.values()):
        notes.append("There are no tasks in it (`az batch task list`): nothing is known about them.")
        yield from _OF_TASKS
    if any(history.instances.values()):
        return
    for name, measures in _HOOKS.items():
        if any(name in record.body for record in history.jobs):
            yield from measures
            said = "There is no preparation and release status in it (`az batch job prep-release-status list`)."
            if said not in notes:
                notes.append(said)


# -- nodes -------------------------------------------------------------------------------------------------------------


def _use(
    history: History, collected: Collected, start_ms: int | None, notes: list[str], file: PriceFile | None
) -> tuple[float | None, float | None, str]:
    """Return the hours for which nodes were billed, their cost and its currency; None if that is not known.

    A node is billed from its allocation, at the earliest the start, to the latest known time.
    """
    nodes = list(chain.from_iterable(history.nodes.values()))
    if not nodes:
        notes.append("There are no nodes in it (`az batch node list`): node hours and cost are not known.")
        return None, None, USD
    known = {str(record.body.get("id")).casefold() for record in nodes}
    lost = [node_id for node_id in collected.nodes if node_id not in known]
    if lost:
        notes.append(
            f"Tasks ran on {some(len(lost), 'node')} that the list of nodes lacks: node hours and cost are not known."
        )
        return None, None, USD
    if start_ms is None or collected.latest_ms is None:
        return None, None, USD
    pools = {str(record.body["id"]): record.body for record in history.pools}
    hours = cost = 0.0
    prices = None if file is None else _prices_of(file, (body.get("vmSize") for body in pools.values()))
    has_price, currency = True, USD if prices is None else prices.currency
    for pool_id, records in history.nodes.items():
        for record in records:
            billed = _hours(record, start_ms, collected.latest_ms)
            if billed is None:
                notes.append("A node does not say when it was allocated: node hours and cost are not known.")
                return None, None, USD
            price = _price_usd(pools.get(pool_id, {}), record.body, start_ms, prices)
            has_price = has_price and price is not None
            hours, cost = hours + billed, cost + billed * (price or 0.0)
    notes.append(
        "Node hours and cost count each node from its allocation, but not before the start, to the latest time of a "
        f"job or task, at {'list prices' if file is None else 'the prices of ' + shortened(file.name)}."
    )
    if not has_price:
        notes.append("The size of a pool is not known: neither is the cost.")
    return round(hours, _DECIMALS), round(cost, _DECIMALS) if has_price else None, currency


def _prices_of(file: PriceFile, names: Iterable[object]) -> PriceList:
    """Return the prices of sizes in a file. Raises ScenarioError."""
    try:
        return price_list(file).settled(map(str, names))
    except ValueError as mistake:
        raise ScenarioError([Problem(str(mistake), file=file.name)]) from None


def _hours(record: Record, start_ms: int, latest_ms: int) -> float | None:
    allocated_ms = epoch_ms(record.body.get("allocationTime"))
    if allocated_ms is None:
        return None
    gone_ms = epoch_ms(record.body.get("stateTransitionTime")) if record.is_former else None
    return max(0, min(latest_ms, gone_ms or latest_ms) - max(start_ms, allocated_ms)) / HOUR_MS


def _price_usd(pool: Body, node: Body, start_ms: int, prices: PriceList | None) -> float | None:
    """Return the price of an hour of a node in a history that begins then, in ms since 1970 (VM-2)."""
    size = vm_size(str(node.get("vmSize") or pool.get("vmSize") or ""))
    if size is None:
        return None
    agent = value_at(pool, "virtualMachineConfiguration", "nodeAgentSKUId")
    os = os_of(node_agent_sku_id=str(agent or ""), cloud_service="cloudServiceConfiguration" in pool)
    low_priority = has_low_priority(datetime.fromtimestamp(start_ms / SECOND_MS, UTC).date())
    if prices is not None:
        size = prices.priced(size, low_priority=low_priority)
    elif low_priority:
        size = size.as_low_priority()
    return size.price_usd(os, dedicated=bool(node.get("isDedicated", True)))


_NUMBERS = (
    *(("makespanSeconds",), ("costUsd",), ("nodeHours",), ("slotUtilization",), ("cost", "amount")),
    *(("tasks", "total"), ("tasks", "succeeded"), ("tasks", "failed")),
    *(("preparationTasks", "failed"), ("releaseTasks", "failed")),
)
_ANSWER = "value"  # the list in an answer of the service, which is no state document


class StateDocument(NamedTuple):
    """The content of a JSON file: name and seed of a scenario, and the figures of a run if it has a summary."""

    scenario: str
    seed: int | None
    figures: Figures | None
    warnings: tuple[Problem, ...]


def read_state(path: Path) -> StateDocument | None:
    """Return the state document in a JSON file; None if it holds something else.

    Raises:
        ScenarioError: The file cannot be read, is not JSON, or its summary has mistakes.
    """
    collected, warnings = Collected(), list[Problem]()
    takers = {"tasks": collected.take_task, "jobs": collected.take_job, STATUS: collected.take_instance}
    for found in objects_in(path):
        if found.list_name == _ANSWER or (found.parent is None and found.source.path):
            return None  # a list of objects
        if found.parent is None:
            return _state(found, collected, warnings) if "scenario" in found.body else None
        take = takers.get(found.list_name)
        if take is not None and (found.list_name != "jobs" or "id" in found.body):
            check(found.body, found.source, warnings.append)
            take(found.body)
    return None


def _state(root: Found, collected: Collected, warnings: Iterable[Problem]) -> StateDocument:
    """Return the document around the objects that are collected."""
    body, seed = root.body, root.body.get("seed")
    found = None
    if body.get("summary") is not None:
        problems = list(_mistakes(body, root.source))
        if problems:
            raise ScenarioError(problems)
        start_ms, end_ms = epoch_ms(body["startTime"]), epoch_ms(body.get("endTime"))
        ends = None if start_ms is None or end_ms is None else (end_ms - start_ms) / SECOND_MS
        found = collected.figures({**body["summary"], "endSeconds": ends}, start_ms)
    seed = seed if isinstance(seed, int) else None
    return StateDocument(str(body["scenario"]), seed, found, tuple(warnings))


def _mistakes(body: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    """Yield what is wrong with the start and the summary of a run."""
    if epoch_ms(body.get("startTime")) is None:
        yield _mistake(source, body.get("startTime"), "a UTC time such as 2026-01-05T08:00:00Z", "startTime")
    summary = body["summary"]
    if not isinstance(summary, dict):
        yield _mistake(source, summary, "an object", "summary")
        return
    cost = summary.get("cost")
    if isinstance(cost, dict) and not isinstance(cost.get("currency"), str):
        yield _mistake(source, cost.get("currency"), "a currency such as EUR", "summary", "cost", "currency")
    has_other_cost = summary.get("costUsd", 0) is None  # prices are in another currency
    for path in _NUMBERS:
        value = value_at(summary, *path)
        if not (_is_number(value) or (path == ("costUsd",) and has_other_cost) or (path[0] == "cost" and cost is None)):
            yield _mistake(source, value, "a number", "summary", *path)


def _mistake(source: Source, value: object, wanted: str, *path: str) -> Problem:
    if value is None:
        return source.problem(f"is missing: must be {wanted}; write the file anew with `run --output json`", *path)
    return source.problem(f"must be {wanted}, not {quoted(str(value))}", *path)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_HEAD_BYTES = 4096
_LONGEST_NAME = 40
_PACKED = (b"\x1f\x8b", b"PK\x03\x04")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # what PowerShell makes of `az ... > file`


class Side(NamedTuple):
    """One side of a comparison. ``about`` says what it is; ``notes`` what its figures lack, in sentences.

    It ``is_observed`` if it really happened.
    """

    given: str
    about: str
    figures: Figures
    notes: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    is_observed: bool = False


def side_of_run(given: str, simulation: Simulation) -> Side:
    """Return the side of a scenario that has been played."""
    about = _run_words(given, simulation.scenario.name, simulation.seed)
    return Side(given, about, figures_of_run(simulation))


def read_side(given: str, prices: PriceFile | None = None) -> Side | None:
    """Return the side of a file of results, of a history or of a folder with one; None for a scenario.

    Nodes of a history cost the list prices of their sizes, or ``prices``.

    Raises:
        ScenarioError: A file cannot be read, or has mistakes.
    """
    found = recognized(given)
    return _history(given, found, prices) if isinstance(found, History) else found


def recognized(given: str) -> History | Side | None:
    """Return the history in a file or folder, or the side of a file of results; None for a scenario.

    What comes through a pipe, which can be read only once, is a scenario.

    Raises:
        ScenarioError: A file cannot be read, or has mistakes.
    """
    path = Path(given)
    if os.path.isdir(given):
        return read_history([path])
    if not os.path.isfile(given) or not _looks_like_json(path):
        return None
    try:
        state = read_state(path)
    except ScenarioError:
        if path.suffix.lower() == ".json":
            raise
        return None  # YAML may begin with a brace, too
    if state is None:
        return read_history([path])
    if state.figures is None:
        return None
    about = _run_words(given, state.scenario, state.seed)
    return Side(given, about, state.figures, warnings=state.warnings)


def _run_words(given: str, scenario: str, seed: int | None) -> str:
    of = "" if scenario == given else f" of {shortened(scenario, _LONGEST_NAME)}"
    return f"a run{of}" + ("" if seed is None else f" with seed {seed}")


def _history(given: str, history: History, prices: PriceFile | None) -> Side:
    found = observed(history, prices)
    jobs = len(history.jobs)
    return Side(
        given,
        f"a history of {jobs:,} {plural(jobs, 'job')}",
        found.figures,
        found.notes,
        history.warnings,
        is_observed=True,
    )


def _looks_like_json(path: Path) -> bool:
    """Return whether a file begins as JSON does, or can be no YAML at all."""
    if path.suffix.lower() == ".json":
        return True
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise ScenarioError([Problem(f"cannot be read: {error.strerror}", file=str(path))]) from None
    if head.startswith((*_PACKED, *_WIDE)):
        return True
    return head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")
