"""The figures of a history: what an account really did, as far as its objects tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.units import HOUR_MS, SECOND_MS
from engine.comparison.collected import Collected
from engine.comparison.figures import Figures, figures
from engine.histories.checks import epoch_ms
from engine.specs.catalogue import os_of, vm_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.histories.history import History, Record
    from engine.histories.objects import Body

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


class _Use(NamedTuple):
    """The hours for which nodes were billed, and their cost in US dollars; None if that is not known."""

    hours: float | None = None
    usd: float | None = None


def observed(history: History) -> Observed:
    """Return the figures of a history. Times count from the creation of its first job."""
    collected = Collected()
    for record in history.jobs:
        collected.take_job(record.body)
    for record in _all(history.tasks.values()):
        collected.take_task(record.body)
    for record in _all(history.instances.values()):
        collected.take_instance(record.body)
    notes: list[str] = []
    start_ms = _start_ms(history, collected)
    if start_ms is None:
        notes.append("No job or task says when it was created: ends are not known.")
    use = _use(history, collected, start_ms, notes)
    summary: dict[str, object] = {
        "makespanSeconds": _since(collected.last_task_ms, start_ms),
        "costUsd": use.usd,
        "nodeHours": use.hours,
        "slotUtilization": None,
        "tasks": {"total": collected.tasks, "succeeded": collected.succeeded, "failed": collected.failed},
        "preparationTasks": {"failed": collected.failed_preparations},
        "releaseTasks": {"failed": collected.failed_releases},
    }
    found = figures(summary, collected.times(), collected.job_ends(start_ms))
    unknown = set(_not_told(history, notes))
    known = {name: None if name in unknown else value for name, value in found.measures.items()}
    return Observed(Figures(known, found.job_ends), tuple(notes))


def _all(lists: Iterable[tuple[Record, ...]]) -> Iterator[Record]:
    return (record for records in lists for record in records)


def _start_ms(history: History, collected: Collected) -> int | None:
    """Return the creation of the first job, or of the first task if no job says it, in ms since 1970."""
    created = (epoch_ms(record.body.get("creationTime")) for record in history.jobs)
    return min((ms for ms in created if ms is not None), default=collected.first_task_ms)


def _since(moment_ms: int | None, start_ms: int | None) -> float | None:
    return None if moment_ms is None or start_ms is None else max(0, moment_ms - start_ms) / SECOND_MS


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


def _use(history: History, collected: Collected, start_ms: int | None, notes: list[str]) -> _Use:
    """Return what the nodes were used: from their allocation, at the earliest the start, to the latest known time."""
    nodes = list(_all(history.nodes.values()))
    if not nodes:
        notes.append("There are no nodes in it (`az batch node list`): node hours and cost are not known.")
        return _Use()
    known = {str(record.body.get("id")).casefold() for record in nodes}
    lost = [node_id for node_id in collected.nodes if node_id not in known]
    if lost:
        count = f"{len(lost):,} nodes" if len(lost) > 1 else "1 node"
        notes.append(f"Tasks ran on {count} that the list of nodes lacks: node hours and cost are not known.")
        return _Use()
    if start_ms is None or collected.latest_ms is None:
        return _Use()
    pools = {str(record.body["id"]): record.body for record in history.pools}
    hours = usd = 0.0
    has_price = True
    for pool_id, records in history.nodes.items():
        for record in records:
            billed = _hours(record, start_ms, collected.latest_ms)
            if billed is None:
                notes.append("A node does not say when it was allocated: node hours and cost are not known.")
                return _Use()
            price = _price_usd(pools.get(pool_id, {}), record.body)
            has_price = has_price and price is not None
            hours, usd = hours + billed, usd + billed * (price or 0.0)
    notes.append(
        "Node hours and cost count each node from its allocation, but not before the start, to the latest time of a "
        "job or task, at list prices."
    )
    if not has_price:
        notes.append("The size of a pool is not known: neither is the cost.")
    return _Use(round(hours, _DECIMALS), round(usd, _DECIMALS) if has_price else None)


def _hours(record: Record, start_ms: int, latest_ms: int) -> float | None:
    allocated_ms = epoch_ms(record.body.get("allocationTime"))
    if allocated_ms is None:
        return None
    gone_ms = epoch_ms(record.body.get("stateTransitionTime")) if record.is_former else None
    return max(0, min(latest_ms, gone_ms or latest_ms) - max(start_ms, allocated_ms)) / HOUR_MS


def _price_usd(pool: Body, node: Body) -> float | None:
    """Return the price of an hour of a node (VM-2)."""
    size = vm_size(str(node.get("vmSize") or pool.get("vmSize") or ""))
    if size is None:
        return None
    machine = pool.get("virtualMachineConfiguration")
    agent = machine.get("nodeAgentSKUId") if isinstance(machine, dict) else None
    os = os_of(node_agent_sku_id=str(agent or ""), cloud_service="cloudServiceConfiguration" in pool)
    return size.price_usd(os, dedicated=bool(node.get("isDedicated", True)))
