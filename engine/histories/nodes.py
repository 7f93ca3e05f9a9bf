"""The lives of nodes and the outcomes of processes on them, as a history tells them.

A node came, was ready for work, was rebooted, and left. A process ran for some time and ended, as ``simulate`` says
it.

The service does not tell when a node that has worked, or has left its pool, was ready: that is seen in the history, or
concluded from what other nodes took. The first process is the latest possible moment, which is the right one only if a
task was waiting for a node until then.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, chain, repeat
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.values import format_duration
from engine.histories.files import SLOT_LIMIT
from engine.histories.history import HOOK_INFOS, epoch_ms, span_of
from engine.specs.catalogue import PREP_RELEASE_DURATION_MS, PROCESS_START_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.histories.history import Body, History, Record


ENDED = "TaskEnded"
"""The code of a process that the service has ended: for a time limit, a user, or the end of its job."""


UNKNOWN = {"duration": format_duration(PREP_RELEASE_DURATION_MS), "exitCode": 0}
"""The ``simulate`` of a process of which the history tells nothing."""


class Outcome(NamedTuple):
    """The outcome of a process.

    ``run_ms`` is the time from its start to its end; of the failed attempts before it nothing is known but their
    number. A process that was not ``found`` has never run.
    """

    run_ms: int
    exit_code: int = 0
    found: bool = True
    failed_attempts: int = 0

    def longer(self, ms: int) -> Outcome:
        """Return the outcome that a process would have had which was ended so long before its own end."""
        return Outcome(self.run_ms + ms, failed_attempts=self.failed_attempts)


class Untold:
    """The things that a history does not tell and an import assumes, each with the first subject and their number."""

    def __init__(self) -> None:
        self._noted: dict[str, tuple[str, int]] = {}

    def note(self, what: str, subject: str) -> None:
        """Keep that ``what`` is assumed of a subject."""
        first, count = self._noted.get(what, (subject, 0))
        self._noted[what] = first, count + 1

    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each thing that is assumed."""
        for what, (first, count) in self._noted.items():
            yield f"Assumed: {what}: {first}" + (f", and {count - 1:,} more." if count > 1 else ".")


def outcome(info: Mapping[str, Any], begin_ms: int | None = None) -> Outcome | None:
    """Return the outcome in an execution info, None if the process has not ended.

    A process that began before ``begin_ms`` counts from then on.
    """
    span = span_of(info)
    if span is None:
        return None
    start, end = span
    run_ms = end - start if begin_ms is None else max(0, end - max(start, begin_ms))
    failed = info.get("result") == "failure" or "failureInfo" in info
    code = info.get("exitCode")
    return Outcome(run_ms, code if code is not None else int(failed), not (failed and code is None), retries(info))


def code_of(info: Mapping[str, Any]) -> object:
    """Return the code of the failure of a process, None if it has none."""
    failure = info.get("failureInfo")
    return failure.get("code") if isinstance(failure, dict) else None


def retries(info: Mapping[str, Any]) -> int:
    """Return the number of failed attempts before the last one."""
    count = info.get("retryCount", 0)
    assert isinstance(count, int)
    return count


def process_time(run_ms: int) -> str:
    """Return the duration of a process that is in state running for ``run_ms``, without its start."""
    return format_duration(max(0, run_ms - PROCESS_START_MS))


def simulated(one: Outcome, attempt_ms: int | None = None) -> dict[str, Any]:
    """Return the ``simulate`` of a process.

    Its failed attempts run for ``attempt_ms``, by default as long as the last one.
    """
    block: dict[str, Any] = {"duration": process_time(one.run_ms), "exitCode": one.exit_code}
    if not one.found:
        block = {"duration": process_time(one.run_ms), "found": False}
    if one.failed_attempts:
        failed: dict[str, Any] = {"exitCode": 1}
        if attempt_ms is not None and attempt_ms != one.run_ms:
            failed["duration"] = process_time(attempt_ms)
        if not one.found:
            failed["found"] = True
        block["attempts"] = [dict(failed) for _ in range(one.failed_attempts)]
    return block


def on_nodes(outcomes: Mapping[int, Outcome]) -> dict[str, Any]:
    """Return the ``simulate`` of a process that ran on several nodes: the usual outcome, and those that differ.

    Nodes on which it has not run take the median time and exit code 0.
    """
    if not outcomes:
        return {}
    times = Counter(one.run_ms for one in outcomes.values())
    most, count = times.most_common(1)[0]
    usual = Outcome(most if count > len(outcomes) // 2 else round(median(one.run_ms for one in outcomes.values())))
    block = simulated(usual)
    others = {index: simulated(one) for index, one in sorted(outcomes.items()) if one != usual}
    if others:
        block["onNode"] = others
    return block


_ALLOCATED_IN_ID = re.compile(r"-(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)z$", re.ASCII)
_AT_WORK = frozenset({"idle", "running"})


@dataclass(slots=True)
class NodeLife:
    """The life of a node, in milliseconds since 1970; None is what the history does not tell.

    ``is_listed`` is true if there is a body of the node, ``left_ms`` the moment at which it began to leave its pool,
    ``reboot_asked_ms`` that of the command for the reboot whose boot was at ``rebooted_ms``.
    ``is_ready_seen`` is true if the history tells ``ready_ms``, which else is the latest possible moment,
    or ``is_ready_concluded`` from what other nodes took.
    ``state`` is its last one, since ``changed_ms``. ``work`` are the times of its processes, in order,
    once for each slot; ``place`` is that of the first one among all that the history lists.
    """

    node_id: str
    dedicated: bool
    is_listed: bool = False
    state: str = ""
    changed_ms: int | None = None
    reboot_asked_ms: int | None = None
    allocated_ms: int | None = None
    booted_ms: int | None = None
    ready_ms: int | None = None
    is_ready_seen: bool = False
    is_ready_concluded: bool = False
    rebooted_ms: int | None = None
    usable_again_ms: int | None = None
    left_ms: int | None = None
    start_info: Body | None = None
    place: int = sys.maxsize
    work: list[tuple[int, int]] = field(default_factory=list)

    @property
    def came_ms(self) -> int:
        """The first moment at which the node is known to be there."""
        known = (self.allocated_ms, self.booted_ms, self.ready_ms, self.work[0][0] if self.work else None)
        return next((moment for moment in known if moment is not None), 0)

    @property
    def last_ms(self) -> int | None:
        """The end of its last process."""
        return max((end for _, end in self.work), default=None)

    def last_work(self, before_ms: int) -> tuple[int, int] | None:
        """Return the process that started last before a moment."""
        found = bisect_right(self.work, (before_ms, 0)) - 1
        return self.work[found] if found >= 0 else None

    def first_work(self, from_ms: int) -> int | None:
        """Return the start of the first process from a moment on."""
        return next((start for start, _ in self.work if start >= from_ms), None)


def lives(history: History) -> dict[str, list[NodeLife]]:
    """Return the nodes of each pool, by its id in lower case, in the order in which they came."""
    found: dict[str, dict[str, NodeLife]] = {}
    for pool_id, records in history.nodes.items():
        pool = found.setdefault(pool_id.casefold(), {})
        for record in records:
            _read(_life(pool, record.id), record.body, is_former=record.is_former)
    processes = chain(_work(history), _lost_preparations(history))
    for place, (pool_id, node_id, start, end) in enumerate(processes):
        life = _life(found.setdefault(pool_id.casefold(), {}), node_id)
        if not life.work:
            life.place = place
        life.work.append((start, end))
    requeued = _requeues(history)
    for pool_id, pool in found.items():
        has_list = any(life.is_listed for life in pool.values())
        for life in pool.values():
            life.work.sort()
            _complete(life, has_list=has_list)
            _find_reboot(life, requeued.get(pool_id, ()))
    return {pool_id: _in_order(pool.values()) for pool_id, pool in found.items()}


def _in_order(nodes: Collection[NodeLife]) -> list[NodeLife]:
    """Return nodes in the order in which they came.

    Those that came together are in the order of their list, if no node is missing in it that has left; else in the
    order in which they got work.
    """
    has_left = any(life.left_ms is not None for life in nodes)
    return sorted(nodes, key=lambda life: (life.came_ms, life.place if has_left else 0))


def _life(pool: dict[str, NodeLife], node_id: str) -> NodeLife:
    return pool.setdefault(node_id, NodeLife(node_id, not node_id.endswith("_p")))


def _work(history: History) -> Iterator[tuple[str, str, int, int]]:
    """Yield pool, node, start and end of each process of a job, once for each slot that it requires.

    A process that has no end ends at its start.
    """
    pools = {job.id: pool_of(job.body) for job in history.jobs}
    for job_id, tasks in history.tasks.items():
        for record in tasks:
            where, info = record.body.get("nodeInfo", {}), record.body.get("executionInfo", {})
            pool_id = where.get("poolId") or pools[job_id]
            slots = min(int(record.body.get("requiredSlots") or 1), SLOT_LIMIT)
            for each in (info, *_subtasks(record.body)):
                at = each.get("nodeInfo", where)
                yield from chain.from_iterable(repeat(list(_process(pool_id, at.get("nodeId"), each)), slots))
    for job_id, instances in history.instances.items():
        for record in instances:
            for name in HOOK_INFOS:
                pool_id = record.body.get("poolId") or pools[job_id]
                yield from _process(pool_id, record.body["nodeId"], record.body.get(name, {}))


def _requeues(history: History) -> dict[str, list[int]]:
    """Return the moments at which tasks were requeued, by the pool of their job in lower case."""
    found: dict[str, list[int]] = {}
    for job in history.jobs:
        for record in history.tasks.get(job.id, ()):
            moment = epoch_ms(record.body.get("executionInfo", {}).get("lastRequeueTime"))
            if moment is not None:
                found.setdefault(str(pool_of(job.body)).casefold(), []).append(moment)
    return found


def _find_reboot(life: NodeLife, requeued: Iterable[int]) -> None:
    """Find out when a reboot was asked for: when a task was requeued, else after the last process before it."""
    if life.rebooted_ms is None:
        return
    before = life.last_work(life.rebooted_ms)
    earliest = before[0] if before is not None else life.came_ms
    asked = [moment for moment in requeued if earliest < moment <= life.rebooted_ms]
    ended = before[1] if before is not None else earliest
    life.reboot_asked_ms = min(asked, default=min(ended + 1, life.rebooted_ms))


def _lost_preparations(history: History) -> Iterator[tuple[str, str, int, int]]:
    """Yield preparations that the service does not list any more, since they were repeated after a reboot.

    They ended when the first task started, and are taken to have run as long as the last one.
    """
    for job in history.jobs:
        first: dict[object, int] = {}
        for record in history.tasks.get(job.id, ()) if history.instances.get(job.id) else ():
            node_id = record.body.get("nodeInfo", {}).get("nodeId")
            start = epoch_ms(record.body.get("executionInfo", {}).get("startTime"))
            if start is not None:
                first[node_id] = min(start, first.get(node_id, start))
        for record in history.instances.get(job.id, ()):
            node_id, span = record.body["nodeId"], span_of(record.body.get(HOOK_INFOS[0], {}))
            pool_id = record.body.get("poolId") or pool_of(job.body)
            if span is not None and first.get(node_id, span[0]) < span[0]:
                yield str(pool_id), node_id, first[node_id] - (span[1] - span[0]), first[node_id]


def _subtasks(body: Body) -> Iterable[Mapping[str, object]]:
    subtasks = body.get("subtasks")
    return [each for each in subtasks if isinstance(each, dict)] if isinstance(subtasks, list) else ()


def _process(pool_id: object, node_id: object, info: Mapping[str, object]) -> Iterator[tuple[str, str, int, int]]:
    start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
    if isinstance(pool_id, str) and isinstance(node_id, str) and start is not None:
        yield pool_id, node_id, start, max(start, end if end is not None else start)


def pool_of(job: Body) -> str | None:
    """Return the id of the pool of a job, None if its body does not tell."""
    ids = (job.get(part, {}).get("poolId") for part in ("executionInfo", "poolInfo"))
    return next((pool_id for pool_id in ids if isinstance(pool_id, str) and pool_id), None)


def _read(life: NodeLife, body: Body, *, is_former: bool) -> None:
    """Read the body of a node."""
    life.is_listed = True
    if isinstance(body.get("isDedicated"), bool):
        life.dedicated = body["isDedicated"]
    life.allocated_ms = epoch_ms(body.get("allocationTime"))
    life.booted_ms = epoch_ms(body.get("lastBootTime"))
    life.start_info = body.get("startTaskInfo")
    changed = life.changed_ms = epoch_ms(body.get("stateTransitionTime"))
    life.state = str(body.get("state", ""))
    if is_former or life.state == "leavingpool":
        life.left_ms = changed
    elif life.state in _AT_WORK:
        life.ready_ms = changed


def _complete(life: NodeLife, *, has_list: bool) -> None:
    """Find out when the node was ready: at the latest when its first process started."""
    if life.allocated_ms is None:
        life.allocated_ms = _allocated_in(life.node_id)
    first = life.work[0][0] if life.work else None
    if first is not None and life.booted_ms is not None and life.booted_ms > first:
        life.rebooted_ms, life.booted_ms = life.booted_ms, None
        life.usable_again_ms = life.first_work(life.rebooted_ms) or life.ready_ms
        life.ready_ms = None
    info = life.start_info or {}
    started, ended = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
    if life.rebooted_ms is None and started is not None:
        life.ready_ms, life.is_ready_seen = started, True
    elif first is not None:
        if started is not None and ended is not None:  # before it, the start task ran as after the reboot
            first -= ended - started
        life.is_ready_seen = life.ready_ms is not None and life.ready_ms <= first
        life.ready_ms = first if life.ready_ms is None else min(life.ready_ms, first)
    else:
        life.is_ready_seen = life.ready_ms is not None
    if not life.is_listed and has_list:
        life.left_ms = life.last_ms


def _allocated_in(node_id: str) -> int | None:
    """Return the moment of allocation that the id of a node has in it where it does."""
    found = _ALLOCATED_IN_ID.search(node_id.lower())
    return None if found is None else epoch_ms("{}-{}-{}T{}:{}:{}Z".format(*found.groups()))


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
        usual_ms = round(median(known)) if known else min(_times_to_ready(nodes), default=None)
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
        """Return the latest end of the waits that had begun well before a moment; 0 if there is none."""
        count = bisect_right(self._begins, before_ms - _SOON_MS)
        return self._ends[count - 1] if count else 0


def _seen(nodes: Sequence[NodeLife]) -> list[int]:
    """Return how long nodes took from their boot until they were ready, where that is known."""
    return _times_to_ready(life for life in nodes if life.is_ready_seen and life.start_info is None)


def _times_to_ready(nodes: Iterable[NodeLife]) -> list[int]:
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
        spans = found.setdefault(str(pool_of(job.body)).casefold(), [])
        prepared = _preparations(history.instances.get(job.id, ()))
        for record in history.tasks.get(job.id, ()):
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
    spans = ((record.body["nodeId"], span_of(record.body.get(HOOK_INFOS[0], {}))) for record in instances)
    return {node_id: span for node_id, span in spans if span is not None}


def most_at_once(nodes: Iterable[NodeLife]) -> int:
    """Return the most slots of a node that were in use at a time."""
    most = 1
    for life in nodes:
        spans = ((start, max(end, start + 1)) for start, end in life.work)  # one that has no end took its slots too
        changes = sorted((moment, step) for start, end in spans for moment, step in ((start, 1), (end, -1)))
        running = 0
        for _, step in changes:
            running += step
            most = max(most, running)
    return min(most, SLOT_LIMIT)
