"""The work of each node over time: from when on a node had room for a task that was retried there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from engine.base.units import SECOND_MS
from engine.histories.checks import epoch_ms
from engine.histories.history import History, Record
from engine.histories.nodes import NodeLife
from engine.histories.processes import ENDED, retries
from engine.histories.reading import Source

_AT_ONCE_MS = SECOND_MS


class _Change(NamedTuple):
    """A change of the slots that are in use on a node, by the last attempt of a task that starts or ends."""

    at_ms: int
    slots: int
    source: Source


class Occupancy:
    """The tasks that ran on each node, with their last attempts."""

    def __init__(self, history: History, pools: Mapping[str, Iterable[NodeLife]], slots: Mapping[str, int]) -> None:
        """Read the history; ``slots`` are the task slots of a node by pool, and all pools have ids in lower case."""
        self._ready = {life.node_id: life.ready_ms for nodes in pools.values() for life in nodes}
        self._room = {life.node_id: slots.get(pool_id, 1) for pool_id, nodes in pools.items() for life in nodes}
        self._changes: dict[str, list[_Change]] = {}
        self._prepared: dict[tuple[str, str], tuple[int, int]] = {}
        for job_id, instances in history.instances.items():
            for record in instances:
                info = record.body.get("jobPreparationTaskExecutionInfo", {})
                start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
                if start is not None and end is not None:
                    self._prepared[job_id, record.body["nodeId"]] = start - retries(info) * (end - start), end
        if not any(retries(one.body.get("executionInfo", {})) for tasks in history.tasks.values() for one in tasks):
            return
        for tasks in history.tasks.values():
            for record in tasks:
                self._add(record)
        for changes in self._changes.values():
            changes.sort(key=itemgetter(0, 1), reverse=True)

    def assigned(self, job_id: str, record: Record, start_ms: int) -> int:
        """Return when a task that started at ``start_ms`` got its node: before a preparation for which it waited."""
        prepared = self._prepared.get((job_id, _node_of(record) or ""))
        waited = prepared is not None and abs(prepared[1] - start_ms) <= _AT_ONCE_MS
        return min(start_ms, prepared[0]) if waited and prepared is not None else start_ms

    def _add(self, record: Record) -> None:
        node_id, info = _node_of(record), record.body.get("executionInfo", {})
        start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
        if node_id is not None and start is not None:
            slots = _slots(record)
            changes = self._changes.setdefault(node_id, [])
            changes.append(_Change(start, slots, record.source))
            changes.append(_Change(end if end is not None else start, -slots, record.source))

    def out_of_turn(self, instances: Iterable[Record]) -> int | None:
        """Return how many tasks of a job may have lost their node to a failed preparation; None if one was retried.

        When a preparation that was retried has begun is not told, and so neither is when tasks began to wait for it.
        """
        slots = 0
        for record in instances:
            info = record.body.get("jobPreparationTaskExecutionInfo", {})
            if retries(info):
                return None
            failure = info.get("failureInfo")
            was_ended = isinstance(failure, dict) and failure.get("code") == ENDED
            if info.get("result") == "failure" and not was_ended:
                slots += self._room.get(record.body["nodeId"], 1)
        return slots

    def free_from(self, job_id: str, record: Record) -> int | None:
        """Return the moment from which on the node of a task had room for it until its last attempt."""
        node_id = _node_of(record)
        start = epoch_ms(record.body.get("executionInfo", {}).get("startTime"))
        if node_id is None or start is None:
            return None
        prepared = self._prepared.get((job_id, node_id), (None, None))[1]
        known = [moment for moment in (self._ready.get(node_id), prepared) if moment]
        free_ms = max((moment for moment in known if moment <= start), default=None)
        used, room = 0, self._room.get(node_id, 1) - _slots(record)
        for change in self._changes.get(node_id, ()):  # the latest first
            if change.source == record.source:
                continue
            used -= change.slots
            if change.at_ms <= start and used > room:
                return change.at_ms if free_ms is None else max(free_ms, change.at_ms)
        return free_ms


def _slots(record: Record) -> int:
    slots = record.body.get("requiredSlots", 1)
    return slots if isinstance(slots, int) else 1


def _node_of(record: Record) -> str | None:
    where: Mapping[str, Any] = record.body.get("nodeInfo", {})
    node_id = where.get("nodeId")
    return node_id if isinstance(node_id, str) else None
