"""Warnings about what a run has too little of: cores in a quota, time with access or without a limit, disks, slots.

The cores of pools are followed while they are created, resized and deleted, with the quotas that keep pools small. Only
what is certain counts: what happens at an unknown time may happen at any time, and a pool that something other than a
quota may keep small takes no cores from others. The targets of an autoscale formula are not known, so that they count
as 0, and Spot nodes that come by themselves later are not looked at.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import groupby
from math import inf
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import OsFamily
from engine.base.values import DAY_MS, HOUR_MS, format_duration, format_utc, parse_duration, text_at, value_at
from engine.scenario.bodies import WITH_FILES, urls_of
from engine.scenario.document import PROBLEM_LIMIT, DocumentPlace
from engine.scenario.names import NodeOwner, PoolNodes
from engine.shell.simulated import span_ms
from engine.shell.small_shell import facts_of
from engine.specs.account import NamedStorage, series_key
from engine.specs.bodies import JobManagerTask, JobPreparationTask, Schedule, StartTask, TaskSpec
from engine.specs.catalogue import node_step, vm_size
from engine.specs.common import CommandLine
from engine.specs.draws import draw_ms

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Sequence
    from datetime import datetime

    from engine.base.terms import Plain
    from engine.scenario.model import WorldSimulation
    from engine.scenario.names import DeclaredIds
    from engine.specs.account import Quotas
    from engine.specs.catalogue import VmSize


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
            last = {change.pool: change for change in changed}
            for change in sorted(changed, key=lambda change: (self._grows(last[change.pool]), change.pool.key)):
                self._take(change)
            for pool in last:
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

    def _grows(self, change: Change) -> bool:
        """Return whether a pool asks for more nodes: of one instant such pools come last, by their ids (ACC-8)."""
        return (change.nodes or 0) > self._nodes.get(change.pool, 0)

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
        if tightest is not None and change.place is not None and len(self.shortages) < PROBLEM_LIMIT:
            shares = ((each, its * each.size.cores) for each, its in self._nodes.items() if its)
            others = {each.name: its for each, its in shares if self._limits[tightest].counts(each)}
            self.shortages.append(Shortage(change, tightest, nodes, most, others))
        self._set(pool, int(min(most, pool.certain)))

    def _set(self, pool: PoolCores, nodes: int) -> None:
        more = (nodes - self._nodes.get(pool, 0)) * pool.size.cores
        self._nodes[pool] = nodes
        for at, limit in enumerate(self._limits):
            self._used[at] += more if limit.counts(pool) else 0


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
        certain = _MAX_COMMUNICATING if place.plain.get("enableInterNodeCommunication") else inf
        network = place.plain.get("networkConfiguration")
        has_few_addresses = isinstance(network, dict) and (
            self._has_subnets or network.get("publicIPAddressConfiguration") is not None
        )
        certain = 0 if has_few_addresses or size.name in self._scarce else certain
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
        f" {limit.what} is {limit.cores:,}: {some} (ACC-6). Write account: {{quotas: {{{limit.remedy % peak}}}}}",
        "core-quota",
    )


class Process(NamedTuple):
    """A process of the document, which can run from ``at_ms`` on: its body, and its command line as it runs first.

    The jobs of a ``schedule`` come again and again. A task factory makes a ``number`` of tasks.
    """

    place: DocumentPlace
    model: type[CommandLine]
    line: str
    owner: NodeOwner
    at_ms: int = 0
    number: int = 1
    schedule: Plain = None


class _Writer(NamedTuple):
    """A process with the time in ms of the last start that is known, and how long it takes."""

    process: Process
    spec: CommandLine
    last: float
    last_of: str
    least: float
    most: float  # but for what is very rare
    size: int  # in bytes, of what it leaves on its disk as far as the scenario says
    stays: float | None  # how long what a task leaves does, in ms; None if it is no task


_STARTS = ("rebootNode", "reimageNode", "startNode", "evictNode", "upgradePoolOS", "resizePool", "enablePoolAutoScale")
_DENIED: dict[str | int, str] = {
    "containerUrl": "FileUploadAccessDenied",
    "storageContainerUrl": "ResourceContainerAccessDenied",
}
_LATEST_MS = 100 * 365 * DAY_MS  # of which a date is told
_LIMIT = "constraints", "maxWallClockTime"
_OWN = frozenset({"id", "displayName", "commandLine", "environmentSettings"})  # which no limit follows from


class ProcessLimits:
    """The processes of one document, with what may end before they do: access, time, and room on a disk."""

    def __init__(self, start: datetime, simulate: WorldSimulation, names: DeclaredIds) -> None:
        """Create it for a run that begins at ``start``."""
        self._start = start
        self._simulate = simulate
        self._names = names
        self._storage = NamedStorage(simulate.storage, start)
        self._processes: list[Process] = []
        self._created: dict[str, int] = {}  # when pools are created
        self.of_jobs: dict[str | None, str] = {}  # the time limits of jobs
        self._starts: defaultdict[str, list[int | None]] = defaultdict(list)  # of nodes, by pool; None is any time

    def take(self, process: Process) -> None:
        """Take a process, if anything may limit it."""
        body = process.place.plain
        files = [body[name] for name in WITH_FILES & body.keys()] if isinstance(body, dict) else []
        has_ends = any(files) and (bool(self._simulate.storage) or "se=" in str(files))
        is_limited = value_at(body, *_LIMIT) is not None or process.owner.job_id in self.of_jobs
        if has_ends or is_limited or process.model is JobPreparationTask or value_at(body, "simulate", "writes"):
            self._processes.append(process)

    def command(self, name: str, body: Plain, at_ms: int | None) -> None:
        """Take a command that creates a pool or a job, or starts nodes of a pool."""
        pool_id = (text_at(body, "id" if name == "createPool" else "poolId") or "").casefold()
        if name == "createPool":
            self._created.setdefault(pool_id, at_ms or 0)
        elif name in ("createJob", "createJobSchedule"):
            limit = text_at(value_at(body, "jobSpecification") or body, *_LIMIT)
            if limit is not None:
                self.of_jobs[text_at(body, "id")] = limit
        elif name in ("updateJob", "updateJobSchedule"):
            self.of_jobs.pop(text_at(body, "jobId") or text_at(body, "jobScheduleId"), None)
        elif name in _STARTS:
            self._starts[pool_id].append(None if name == "enablePoolAutoScale" else at_ms)

    def finish(self, until_ms: int | None) -> None:
        """Report the processes that something limits, in a run until then."""
        end_ms = inf if until_ms is None else until_ms
        on_disk: defaultdict[NodeOwner, list[_Writer]] = defaultdict(list)
        known: dict[Hashable, _Writer] = {}  # long lists have many of a kind
        for process in self._processes:
            try:
                kind = self._kind(process)
                found = None if process.place.document.problems else known.get(kind)
                known[kind] = found or self._writer(process, end_ms)
                writer = known[kind]._replace(process=process)
                of_job = self.of_jobs.get(process.owner.job_id)
                of_job_ms = None if of_job is None else parse_duration(of_job)
            except ValueError:
                continue  # which has been reported
            self._check_access(writer)
            _check_time(writer, of_job_ms)
            if isinstance(writer.spec, JobPreparationTask) and writer.spec.execute is not False:
                _check_limit(process, writer.spec, writer.most, until_ms)
            if writer.size > 0:
                owner = self._names.resolved(process.owner)
                on_disk[NodeOwner(owner.pool_id) if owner.pool_id else owner].append(writer)
        for owner, writers in on_disk.items():
            _check_disk(self._names.all_nodes_of(owner), writers, end_ms)

    def _kind(self, process: Process) -> Hashable:
        """Return what the limits of a process follow from: all but what tells it from others of its kind."""
        body = process.place.plain
        given = {name: value for name, value in body.items() if name not in _OWN} if isinstance(body, dict) else {}
        usual = self._simulate.tasks.duration if process.model is TaskSpec else None
        is_timed = usual is not None or value_at(body, "simulate", "duration") is not None
        line = "" if is_timed else process.line
        return process.model, process.owner, repr((line, process.at_ms, process.number, process.schedule, given))

    def _writer(self, process: Process, end_ms: float) -> _Writer:
        spec = process.model.from_wire(process.place.plain)
        forms = self._names.all_nodes_of(process.owner)
        nodes = forms[0] if forms else PoolNodes(OsFamily.LINUX)
        pool_id = (self._names.resolved(process.owner).pool_id or "").casefold()
        defaults = self._simulate.tasks if isinstance(spec, TaskSpec | JobManagerTask) else None
        least, most = span_ms(partial(facts_of, process.line, nodes.os), spec.simulate, defaults)
        given, steps = self._simulate.nodes, ("allocation", "starting", "ready")
        boot_ms = sum(draw_ms(getattr(given, one) or node_step(given.profile, one, nodes.os, 2), 0.0) for one in steps)
        first: float = max(process.at_ms, self._created.get(pool_id, 0) + boot_ms)  # in the least time
        last, last_of = first, ""
        room = max((form.most * form.slots for form in forms), default=inf)
        if isinstance(spec, StartTask):
            chance = self._simulate.nodes.failure_rate or (nodes.spot and self._simulate.spot.eviction_rate)
            starts = self._starts[pool_id] + [None] * bool(any(form.most == inf for form in forms) or chance)
            known = (end_ms if at_ms is None else at_ms for at_ms in starts)
            last, last_of = max(first, *(one for one in known if one < inf), 0), "of a node that starts again or later "
        elif process.number > 1 and 0 < room < inf:
            last, last_of = first + (process.number - 1) // room * least, f"of the last of {process.number:,} tasks "
        elif process.schedule is not None:
            schedule = Schedule.from_wire(process.schedule)
            first = self._ms(schedule.do_not_run_until, 0)
            end_ms = min(end_ms, self._ms(schedule.do_not_run_after, inf))
            every = schedule.recurrence_interval
            last, last_of = (first if every is None or end_ms == inf else max(first, end_ms - every)), "of a later job "
        blobs = (self._storage.blob(file.http_url) for file in spec.resource_files if file.http_url is not None)
        written = spec.simulate.writes.values() if spec.simulate is not None else ()
        size = sum(written) + sum(blob.size for blob in blobs if blob is not None)
        stays = spec.constraints.retention_time if isinstance(spec, TaskSpec | JobManagerTask) else None
        return _Writer(process, spec, last, last_of if last > first else "", least, most, size, stays)

    def _ms(self, moment: datetime | None, otherwise: float) -> float:
        return otherwise if moment is None else (moment - self._start) / timedelta(milliseconds=1)

    def _check_access(self, writer: _Writer) -> None:
        """Warn of access that ends before the process needs it (TASK-20)."""
        for url, is_upload in urls_of(writer.process.place):
            end_ms = self._storage.until_ms(url.plain) if isinstance(url.plain, str) else None
            needed = min(writer.last + (writer.least if is_upload else 0), _LATEST_MS)
            if end_ms is not None and end_ms <= needed:
                what, code = "upload" if is_upload else "download", _DENIED.get(url.path[-1], "BlobAccessDenied")
                ends, then = format_utc(self._start, end_ms), format_utc(self._start, int(needed))
                url.warn(
                    f"access ends at {ends}, and the {what} {writer.last_of}begins at {then} or later: it fails with"
                    f" {code} (TASK-20)",
                    "signature-expires",
                )


def _check_disk(forms: Sequence[PoolNodes], writers: Sequence[_Writer], end_ms: float) -> None:
    """Warn of files that a node keeps until their retention time is over, and that do not fit on its disk (VM-4).

    Tasks are taken as equal to their mean, and as spread over all nodes that the pool may ever have.
    """
    disks = [disk.task_disk_gib for form in forms if (disk := vm_size(form.size)) is not None]
    nodes, slots = max((1, *(form.most for form in forms))), max((form.slots for form in forms), default=1)
    tasks = [writer for writer in writers if writer.stays is not None]
    number, kept = sum(one.process.number for one in tasks), float(max((one.size for one in tasks), default=0))
    if number:
        mean = sum(one.size * one.process.number for one in tasks) / number
        stays = sum(min(one.stays or 0, end_ms) * one.process.number for one in tasks) / number
        lasts = sum(one.least * one.process.number for one in tasks) / number
        kept = max(kept, mean * min(number / nodes, slots * (1 + stays / max(lasts, 1))))
    room, kept = max(disks, default=inf) * 2**30, kept + sum(one.size for one in writers if one.stays is None)
    if kept > room:
        body = max(writers, key=attrgetter("size")).process.place
        (body.at("constraints", "retentionTime") or body.at("simulate", "writes") or body).warn(
            f"a node keeps {kept / 1e9:,.0f} GB until the retentionTime is over, and its disk has"
            f" {room / 1e9:,.0f} GB: it fills up, and the node is unusable (VM-4). Write a shorter retentionTime,"
            " or a size with more disk",
            "disk-too-small",
        )


def _check_time(writer: _Writer, of_job: int | None) -> None:
    """Warn of a task that its time limit, or that ``of_job``, always stops before the end that it is given."""
    spec, place = writer.spec, writer.process.place
    simulate = None if spec.execute is False else spec.simulate  # what was stopped in a recording lasts for ever
    if not isinstance(spec, TaskSpec | JobManagerTask) or simulate is None or simulate.duration is None:
        return
    stops, ends = "it is stopped after %s and fails (RETRY-8)", "its job ends %s after its creation (JOB-9)"
    for limit, at, what in ((spec.constraints.max_wall_clock_time, _LIMIT, stops), (of_job, (), ends)):
        if limit is not None and writer.least > limit:
            told = place.at(*at) or place  # which takes longer to find than all else here
            lasts = format_duration(int(min(writer.least, _LATEST_MS)))
            told.warn(f"the task takes {lasts} or more: {what % format_duration(limit)}", "limit-too-short")


def _check_limit(process: Process, spec: JobPreparationTask, most: float, until_ms: int | None) -> None:
    """Warn of a preparation that may outlast the run and an hour, or a day, and that nothing ends (PREP-6)."""
    hangs_ms = DAY_MS if until_ms is None else max(HOUR_MS, until_ms - process.at_ms)
    if spec.constraints.max_wall_clock_time is None and spec.wait_for_success and most >= hangs_ms:
        lasts = "for ever" if most == inf else format_duration(int(most))
        (process.place.get("simulate") or process.place).warn(
            f"the preparation can take {lasts}, and the tasks on its node wait meanwhile (PREP-6): give it"
            " constraints: {maxWallClockTime: PT1H}",
            "preparation-without-limit",
        )
