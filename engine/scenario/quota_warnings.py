"""Pools that together want more cores than the account has, when they are created or resized (ACC-6).

The cores of pools are followed while they are created, resized and deleted, with the quotas that keep pools small. Only
what is certain counts: what happens at an unknown time may happen at any time, and a pool that something other than a
quota may keep small takes no cores from others. The targets of an autoscale formula are not known, so that they count
as 0, and Spot nodes that come by themselves later are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import text_at
from engine.specs.account import series_key
from engine.specs.catalogue import vm_size

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from engine.base.terms import Plain
    from engine.scenario.conditions import Asked
    from engine.scenario.document import DocumentPlace
    from engine.specs.account import Quotas
    from engine.specs.catalogue import VmSize


SHORTAGE_LIMIT = 1_000
"""The most shortages that are looked for: no more warnings are shown."""


class Limit(NamedTuple):
    """A quota of cores, of one series or of all; ``remedy`` sets it to the number that follows."""

    what: str
    cores: float
    remedy: str
    series: str | None = None

    def counts(self, pool: PoolCores) -> bool:
        """Return whether the nodes of a pool count against the quota."""
        return self.series in (None, series_key(pool.size.series))


@dataclass(slots=True, eq=False)
class PoolCores:
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

    pool: PoolCores
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
        self._nodes: dict[PoolCores, int] = {}
        self._asked: dict[PoolCores, int] = {}
        self._used = [0] * len(limits)
        self.peaks = [0] * len(limits)
        self.shortages: list[Shortage] = []

    def play(self, changes: Sequence[Change]) -> None:
        """Let the changes happen whose time is known, then each of the others while all pools are smallest."""
        at_least: dict[str, float] = {}
        for change in changes:
            if change.at_ms is None and (change.nodes is not None or change.fewer_by):
                at_least[change.pool.key] = min(at_least.get(change.pool.key, inf), change.nodes or 0)
        always: dict[PoolCores, int] = {}
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

    def _set(self, pool: PoolCores, nodes: int) -> None:
        more = (nodes - self._nodes.get(pool, 0)) * pool.size.cores
        self._nodes[pool] = nodes
        for at, limit in enumerate(self._limits):
            self._used[at] += more if limit.counts(pool) else 0

    def _others(self, limit: Limit) -> dict[str, int]:
        return {
            pool.name: nodes * pool.size.cores for pool, nodes in self._nodes.items() if nodes and limit.counts(pool)
        }


_REACHED = "CoreQuotaReached"  # ends the code of every such resize error (ERR-R)
_SERIES = "dedicatedCoresPerVMSeries"
_MAX_COMMUNICATING = 80  # nodes that every pool with inter-node communication may have (ACC-5)
# What may leave a pool without nodes, and what takes single ones from it, at least for a time.
_EMPTYING = ("deletePool", "stopPoolResize", "enablePoolAutoScale", "disablePoolAutoScale")
_TAKING = ("removeNodes", "deallocateNode", "evictNode")


class _Kind(NamedTuple):
    """A kind of nodes: its word, the names of a pool's target, and of the account's quota."""

    word: str
    targets: tuple[str, ...]
    quota: str


_KINDS = (
    _Kind("dedicated", ("targetDedicatedNodes", "targetDedicated"), "dedicatedCores"),
    _Kind("Spot", ("targetLowPriorityNodes",), "lowPriorityCores"),
)


class CoreQuotas:
    """The pools of one document, and the core quotas that they share."""

    def __init__(self, quotas: Quotas, *, has_subnets: bool) -> None:
        """Create it; with ``has_subnets`` a subnet may have too few addresses for a pool."""
        self._has_subnets = has_subnets
        self._quotas: list[Plain] = [quotas.wire()]
        self._created: list[tuple[DocumentPlace, str]] = []
        self._commands: list[tuple[str, DocumentPlace, int | None]] = []
        self._scarce: set[str] = set()  # sizes of which the region may have too few

    def create(self, place: DocumentPlace, at_ms: int | None, owner_id: str = "") -> None:
        """Take a pool that is created, or the auto pool of a job or job schedule; ``at_ms`` is None if unknown."""
        self._created.append((place, owner_id))
        self._commands.append(("createPool", place, at_ms))

    def command(self, name: str, place: DocumentPlace, at_ms: int | None) -> None:
        """Take a command that may change the nodes of a pool, or what there is for pools."""
        if name == "quota":
            self._quotas.append(place.plain)
        elif name == "capacity":
            self._scarce.add((text_at(place.plain, "vmSize") or "").lower())
        elif name == "resizePool" or name in _EMPTYING or name in _TAKING:
            self._commands.append((name, place, at_ms))

    def finish(self, expected: Collection[str], varied: Collection[str]) -> None:
        """Report the pools that stay small, unless their ids, in lower case, are ``expected``.

        The quotas that are ``varied`` by the study of the scenario do not count.
        """
        for kind in _KINDS:
            limits = tuple(self._limits(kind, varied))
            changes = list(self._changes(kind))
            unlimited = CoreUse([limit._replace(cores=inf) for limit in limits])
            unlimited.play(changes)
            limited = CoreUse(limits)
            limited.play(changes)
            for shortage in limited.shortages:
                if shortage.change.pool.key not in expected:
                    _warn(shortage, limits[shortage.limit], unlimited.peaks[shortage.limit])

    def _limits(self, kind: _Kind, varied: Collection[str]) -> Iterator[Limit]:
        """Yield the quotas; if the scenario changes one, it means to reach it until then, so the largest counts."""
        settings = [setting for setting in self._quotas if isinstance(setting, dict)]
        if kind.quota not in varied:
            cores = max(value for each in settings if isinstance(value := each.get(kind.quota), int))
            yield Limit(f"{kind.word} cores", cores, f"{kind.quota}: %d")
        if kind is not _KINDS[0] or _SERIES in varied:
            return
        by_series = [value for each in settings if isinstance(value := each.get(_SERIES), dict)]
        for series in by_series[0] if _SERIES in settings[0] else ():
            found = [value for each in by_series if isinstance(value := each.get(series), int)]
            if len(found) == len(by_series):  # else there is a time without this quota
                remedy = f"{_SERIES}: {{{series}: %d}}"
                yield Limit(f"dedicated cores of {series}", max(found), remedy, series_key(series))

    def _changes(self, kind: _Kind) -> Iterator[Change]:
        """Yield the changes of the nodes of one kind, in the order of the file."""
        pools: dict[str, PoolCores] = {}
        by_body = {id(place.tree): pool for place, owner_id in self._created if (pool := self._pool(place, owner_id))}
        for pool in by_body.values():
            pools.setdefault(pool.key, pool)
        for name, place, at_ms in self._commands:
            created = by_body.get(id(place.tree))
            pool = pools.get((text_at(place.plain, "poolId") or "").casefold()) if created is None else created
            if pool is None:
                continue
            written = next((found for target in kind.targets if (found := place.get(target)) is not None), None)
            nodes = written.plain if written is not None and isinstance(written.plain, int) else None
            if name in _TAKING:
                listed = place.get("nodeList")
                yield Change(pool, at_ms, None, fewer_by=1 if listed is None else sum(1 for _ in listed.entries()))
            elif name == "resizePool":
                yield Change(pool, at_ms, nodes, place=written)
            else:
                yield Change(pool, at_ms, nodes or 0, place=written)
            if created is not None:
                pools[pool.key] = pool
                if not text_at(place.plain, "id"):  # an auto pool goes with its job
                    yield Change(pool, None)

    def _pool(self, place: DocumentPlace, owner_id: str) -> PoolCores | None:
        pool_id, size = text_at(place.plain, "id"), vm_size(text_at(place.plain, "vmSize") or "")
        if size is None or not isinstance(place.plain, dict):
            return None
        certain = inf
        if place.plain.get("enableInterNodeCommunication"):
            certain = _MAX_COMMUNICATING
        network = place.plain.get("networkConfiguration")
        has_few_addresses = isinstance(network, dict) and (
            self._has_subnets or network.get("publicIPAddressConfiguration") is not None
        )
        if has_few_addresses or size.name in self._scarce:
            certain = 0
        if pool_id is None:
            return PoolCores(f"auto pool {place.path}", f"the auto pool of {owner_id}", size, certain)
        return PoolCores(pool_id.casefold(), f"pool {pool_id}", size, certain)


def _warn(shortage: Shortage, limit: Limit, peak: int) -> None:
    """Warn where the nodes are asked for, with the quota that would be enough at every time."""
    change, others = shortage.change, shortage.others
    assert change.place is not None
    beside = " and ".join(f"{cores:,} of {name}" for name, cores in others.items())
    if len(others) > 2:
        beside = f"{sum(others.values()):,} of {len(others):,} other pools"
    beside = f" beside {beside}" if others else ""
    some = f"no more than {shortage.most:,} of them come" if shortage.most else "none of them comes"
    change.place.warn(
        f"these nodes have {shortage.asked * change.pool.size.cores:,} cores{beside}, but the account's quota of"
        f" {limit.what} is {limit.cores:,}: {some} (ACC-6). Write account: {{quotas: {{{limit.remedy % peak}}}}}"
    )


def pools_at_quota(asked: Asked) -> set[str]:
    """Return the ids, in lower case, of the pools of which a condition asks whether a core quota keeps them small."""
    found = set()
    for place, subject in asked:
        codes = place.plain.get("resizeErrors") if isinstance(place.plain, dict) else None
        listed = codes if isinstance(codes, list) else [codes]
        if subject.pool_id is not None and any(isinstance(code, str) and code.endswith(_REACHED) for code in listed):
            found.add(subject.pool_id.casefold())
    return found
