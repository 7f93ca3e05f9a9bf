"""Moments at which nodes were ready for work: seen in a history, or concluded from what other nodes took.

The service does not tell when a node that has worked, or has left its pool, was ready. The first process is the latest
possible moment, which is the right one only if a task was waiting for a node until then.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING

from engine.histories.checks import epoch_ms
from engine.histories.nodes import pool_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.histories.history import History, Record
    from engine.histories.nodes import NodeLife

_SOON_MS = 2_000  # a task that starts so soon has not waited for a slot


def find_readiness(history: History, pools: Mapping[str, Sequence[NodeLife]]) -> None:
    """Find out when nodes without a start task were ready; ``pools`` have ids in lower case."""
    waits = {pool_id: _Waits(spans) for pool_id, spans in _spans(history).items()}
    nothing = _Waits([])
    for pool_id, nodes in pools.items():
        waited = waits.get(pool_id, nothing)
        for life in nodes:
            if not life.is_ready_seen and life.work and life.ready_ms == life.work[0][0]:
                life.is_ready_seen = waited.latest_end(life.ready_ms) >= life.ready_ms
    seen_anywhere = [ms for nodes in pools.values() for ms in _seen(nodes)]
    for pool_id, nodes in pools.items():
        known = _seen(nodes) or seen_anywhere
        usual_ms = round(median(known)) if known else min(_bounds(nodes), default=None)
        if usual_ms is not None:
            for life in nodes:
                _conclude(life, usual_ms, waits.get(pool_id, nothing))


class _Waits:
    """The times during which tasks waited for a node of one pool."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._begins = [begin for begin, _ in ordered]
        self._ends = list(accumulate((end for _, end in ordered), max))

    def latest_end(self, before_ms: int) -> int:
        """Return the latest end of those that had begun well before a moment, 0 if there is none."""
        count = bisect_right(self._begins, before_ms - _SOON_MS)
        return self._ends[count - 1] if count else 0


def _seen(nodes: Sequence[NodeLife]) -> list[int]:
    """Return how long nodes took from their boot until they were ready, where that is known."""
    return [
        life.ready_ms - life.booted_ms
        for life in nodes
        if life.is_ready_seen and life.start_info is None and life.ready_ms and life.booted_ms
    ]


def _bounds(nodes: Sequence[NodeLife]) -> list[int]:
    """Return how long nodes took at most from their boot until they were ready."""
    return [life.ready_ms - life.booted_ms for life in nodes if life.ready_ms and life.booted_ms]


def _conclude(life: NodeLife, usual_ms: int, waits: _Waits) -> None:
    """Let a node be ready as soon as others, unless a task waited then, which it would have taken."""
    if life.is_ready_seen or life.start_info is not None or life.booted_ms is None:
        return
    soon_ms = life.booted_ms + usual_ms
    if life.ready_ms is not None and life.work:
        if soon_ms < life.ready_ms and waits.latest_end(life.ready_ms) <= soon_ms + _SOON_MS:
            life.ready_ms, life.is_ready_concluded = soon_ms, True
    elif life.left_ms is not None:
        waited_ms = waits.latest_end(life.left_ms)
        life.ready_ms = soon_ms if waited_ms <= soon_ms + _SOON_MS else waited_ms + _SOON_MS
        life.is_ready_concluded = True


def _spans(history: History) -> dict[str, list[tuple[int, int]]]:
    """Return when tasks waited for a node, each from its creation on, by the pool of their job in lower case.

    A task that depends on others may have waited for them, and the first start of one that was retried is not known.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for job in history.jobs:
        job_id = str(job.body["id"])
        spans = found.setdefault(str(pool_of(job.body)).casefold(), [])
        prepared = _preparations(history.instances.get(job_id, ()))
        for record in history.tasks.get(job_id, ()):
            info = record.body.get("executionInfo", {})
            added, start = epoch_ms(record.body.get("creationTime")), epoch_ms(info.get("startTime"))
            is_plain = not info.get("retryCount") and not info.get("requeueCount") and "dependsOn" not in record.body
            if not is_plain or added is None or start is None:
                continue
            began, ended = prepared.get(record.body.get("nodeInfo", {}).get("nodeId"), (start, start))
            if added <= began <= ended <= start <= ended + _SOON_MS:
                start = began  # from then on it waited for the preparation
            if start - added > _SOON_MS:
                spans.append((added, start))
    return found


def _preparations(instances: Sequence[Record]) -> dict[object, tuple[int, int]]:
    """Return the starts and ends of preparations by node."""
    found: dict[object, tuple[int, int]] = {}
    for record in instances:
        info = record.body.get("jobPreparationTaskExecutionInfo", {})
        start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
        if start is not None and end is not None:
            found[record.body["nodeId"]] = start, end
    return found
