"""The cores of pools while they are created, resized and deleted, and the quotas that keep pools small (ACC-6).

Only what is certain counts: what happens at an unknown time may happen at any time, and a pool that something else than
a quota may keep small takes no cores from others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from engine.specs.account import series_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.scenario.document import DocumentPlace
    from engine.specs.catalogue import VmSize

SHORTAGE_LIMIT = 1_000
"""The most shortages that are looked for: no more warnings are shown."""


class Limit(NamedTuple):
    """A quota of cores, of one series or of all; ``remedy`` sets it to the number that follows."""

    what: str
    cores: float
    remedy: str
    series: str | None = None

    def counts(self, pool: Pool) -> bool:
        """Return whether the nodes of a pool count against the quota."""
        return self.series in (None, series_key(pool.size.series))


@dataclass(slots=True, eq=False)
class Pool:
    """A pool by its id in lower case. As far as ``certain`` nodes, only quotas keep it small."""

    key: str
    name: str
    size: VmSize
    certain: float


class Change(NamedTuple):
    """A change of a pool's nodes of one kind, at an unknown time if ``at_ms`` is None.

    To so many ``nodes``, asked for at ``place``; with None to as many as were asked for before, less ``fewer_by`` of
    those that are there.
    """

    pool: Pool
    at_ms: int | None
    nodes: int | None = 0
    fewer_by: int = 0
    place: DocumentPlace | None = None


class Shortage(NamedTuple):
    """Nodes that were ``asked`` for, of which only ``most`` come; ``others`` are the cores of other pools."""

    change: Change
    limit: int
    asked: int
    most: int
    others: dict[str, int]


class CoreUse:
    """The cores of all pools while changes happen: ``peaks`` are the most of each limit that anybody asked for."""

    def __init__(self, limits: Sequence[Limit]) -> None:
        self._limits = limits
        self._nodes: dict[Pool, int] = {}
        self._asked: dict[Pool, int] = {}
        self._used = [0] * len(limits)
        self.peaks = [0] * len(limits)
        self.shortages: list[Shortage] = []

    def play(self, changes: Sequence[Change]) -> None:
        """Let the changes happen whose time is known, then each of the others while all pools are smallest."""
        at_least: dict[str, float] = {}
        for change in changes:
            if change.at_ms is None and (change.nodes is not None or change.fewer_by):
                at_least[change.pool.key] = min(at_least.get(change.pool.key, inf), change.nodes or 0)
        always: dict[Pool, int] = {}
        dated = sorted((change.at_ms, at) for at, change in enumerate(changes) if change.at_ms is not None)
        for at_ms, instant in groupby(dated, key=itemgetter(0)):
            changed = [changes[at] for _, at in instant]
            for change in changed:
                self._take(change)
            for pool in {change.pool: None for change in changed}:
                self._set(pool, int(min(self._nodes[pool], at_least.get(pool.key, inf))))
                if at_ms == 0 or pool in always:
                    always[pool] = min(always.get(pool, self._nodes[pool]), self._nodes[pool])
        for pool in self._nodes:
            self._set(pool, always.get(pool, 0))
        for change in changes:
            if change.at_ms is None:
                before = self._nodes.get(change.pool, 0)
                self._take(change)
                self._set(change.pool, before)

    def _take(self, change: Change) -> None:
        """Give a pool the nodes that it asks for, as far as the limits allow."""
        pool, cores = change.pool, change.pool.size.cores
        nodes = self._asked.get(pool, 0) if change.nodes is None else change.nodes
        if change.fewer_by:
            nodes = max(0, self._nodes.get(pool, 0) - change.fewer_by)
        self._asked[pool] = nodes
        self._set(pool, 0)
        most, tightest = nodes, None
        for at, limit in enumerate(self._limits):
            if not limit.counts(pool):
                continue
            asked = self._used[at] + nodes * cores
            self.peaks[at] = max(self.peaks[at], asked)
            room = int((limit.cores - self._used[at]) // cores) if asked > limit.cores else nodes
            if room < most:
                most, tightest = room, at
        if tightest is not None and change.place is not None and len(self.shortages) < SHORTAGE_LIMIT:
            self.shortages.append(Shortage(change, tightest, nodes, most, self._others(self._limits[tightest])))
        self._set(pool, int(min(most, pool.certain)))

    def _set(self, pool: Pool, nodes: int) -> None:
        more = (nodes - self._nodes.get(pool, 0)) * pool.size.cores
        self._nodes[pool] = nodes
        for at, limit in enumerate(self._limits):
            self._used[at] += more if limit.counts(pool) else 0

    def _others(self, limit: Limit) -> dict[str, int]:
        return {
            pool.name: nodes * pool.size.cores for pool, nodes in self._nodes.items() if nodes and limit.counts(pool)
        }
