"""Pools of a history: their nodes come, are ready, rebooted, in use and gone when they really were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import exp, log
from operator import itemgetter
from statistics import fmean, median, median_low, pstdev
from typing import Any, NamedTuple

from engine.base.values import MINUTE_MS, SECOND_MS, format_duration
from engine.histories.files import created
from engine.histories.history import HOOK_INFOS, History, Kind, Record, epoch_ms, span_of, subject
from engine.histories.nodes import ENDED, UNKNOWN, NodeLife, Untold, code_of, on_nodes, outcome, retries
from engine.histories.reading import Source
from engine.specs.base import MOST_SIGMA
from engine.specs.bodies import PoolSpec
from engine.specs.catalogue import BOOT_AGAIN_MS

_LATEST_FIRST_MS = 5 * MINUTE_MS  # a node that comes later after the creation of its pool comes with a resize
_APART_MS = 2 * MINUTE_MS  # nodes that come so long after the one before come with another resize
_ALLOCATION_MS = 100 * SECOND_MS  # TIME-2, of a node of a later resize, unless earlier ones tell otherwise
_AT_ONCE_MS = SECOND_MS
_SIGMA_DIGITS = 4
_LATE_BOOT = 3  # a boot that came so many times later than the usual one was a reboot


VM_SIZE = "standard_d2s_v3"
"""The size of nodes whose size the history does not tell."""
TARGETS = {"targetDedicatedNodes": True, "targetLowPriorityNodes": False}
"""The targets of a pool, each with whether its nodes are dedicated."""


class Event(NamedTuple):
    """An entry of the timeline, with its time in milliseconds since 1970."""

    at_ms: int
    command: str
    body: dict[str, Any]


class PoolStory(NamedTuple):
    """The story of a pool: its nodes, its body, and the commands that change its nodes.

    ``steps`` are the durations of the first steps in the lives of its nodes, as far as the history tells them.
    Of the ``rebooted`` nodes it tells the last boot only, so that these are no sample of the first one.
    """

    pool_id: str
    nodes: tuple[NodeLife, ...]
    body: dict[str, Any]
    events: tuple[Event, ...]
    steps: dict[str, list[int]]
    rebooted: int


class _Cohort(NamedTuple):
    """Nodes that came together, and when they were requested."""

    asked_ms: int
    nodes: list[NodeLife]


def pool_story(body: dict[str, Any], nodes: Sequence[NodeLife], zero_ms: int, untold: Untold) -> PoolStory:
    """Return the story of a pool; a scenario begins at ``zero_ms``, and with the nodes that were there by then.

    ``untold`` takes what is assumed.
    """
    new = created(body, PoolSpec)
    created_ms = epoch_ms(body.get("creationTime"))
    begin_ms = max(zero_ms, created_ms if created_ms is not None else zero_ms)
    if begin_ms > zero_ms:
        new["at"] = format_duration(begin_ms - zero_ms)
    scales_itself = "enableAutoScale" in new and not nodes
    if not scales_itself:
        for name in ("enableAutoScale", "autoScaleFormula", "autoScaleEvaluationInterval"):
            new.pop(name, None)
    rebooted = _rebooted(nodes)
    steps = _steps(nodes, rebooted, created_ms)
    events: list[Event] = []
    asked: dict[str, int] = {}
    if scales_itself:
        for name in TARGETS:
            new.pop(name, None)
    elif nodes:
        cohorts = _cohorts(nodes, begin_ms, steps["allocation"])
        asked = {life.node_id: cohort.asked_ms for cohort in cohorts for life in cohort.nodes}
        is_listed = any(life.is_listed for life in nodes)
        for name, dedicated in TARGETS.items():
            there = count(cohorts[0].nodes, dedicated=dedicated)
            new[name] = there if is_listed else max(_target(body, name), there)
        if not new["targetLowPriorityNodes"]:
            del new["targetLowPriorityNodes"]
        events += _changes(new["id"], nodes, cohorts, asked)
    _start_task(new, nodes, begin_ms)
    for what, whom in _assumed(new, nodes):
        untold.note(what, whom)
    own = {
        index: steps_of
        for index, life in enumerate(nodes)
        if (steps_of := _own_steps(life, asked.get(life.node_id, begin_ms), begin_ms))
    }
    events += _reboots(new["id"], nodes, own, begin_ms)
    events += _troubles(new["id"], nodes, own, begin_ms)
    if own:
        written = {index: {step: format_duration(ms) for step, ms in each.items()} for index, each in own.items()}
        new["simulate"] = {"onNode": written}
    return PoolStory(str(body["id"]), tuple(nodes), new, tuple(events), steps, len(rebooted))


def _assumed(new: dict[str, Any], nodes: Iterable[NodeLife]) -> Iterator[tuple[str, str]]:
    """Add to the body of a pool what it needs, and yield what is assumed and of what."""
    pool = subject(Kind.POOL, new["id"])
    if "enableAutoScale" not in new and not any(new.get(name) is not None for name in TARGETS):
        new["targetDedicatedNodes"] = 1
        yield "a pool of which nothing tells the targets has 1 node", pool
    if "vmSize" not in new:
        new["vmSize"] = VM_SIZE
        yield f"a pool of which nothing tells the size of nodes has {VM_SIZE}", pool
    if new.get("startTask", {}).get("simulate") == UNKNOWN:
        yield f"a start task of which no node tells takes {UNKNOWN['duration']} and succeeds", pool
    for life in nodes:
        if not life.came_ms:
            what = "a node is there from the start of its pool, since nothing tells when it came"
            yield what, subject(Kind.NODE, life.node_id, new["id"])


def _target(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) else 0


def count(nodes: Sequence[NodeLife], *, dedicated: bool) -> int:
    """Return the number of dedicated or of Spot nodes."""
    return sum(life.dedicated is dedicated for life in nodes)


def _rebooted(nodes: Sequence[NodeLife]) -> set[str]:
    """Return the ids of nodes that have been rebooted: after work that is known, or else long after others booted."""
    boots = {
        life.node_id: life.booted_ms - life.allocated_ms
        for life in nodes
        if life.booted_ms is not None and life.allocated_ms is not None
    }
    latest_ms = max(MINUTE_MS, _LATE_BOOT * median_low(boots.values())) if boots else 0
    late = {node_id for node_id, ms in boots.items() if ms > latest_ms}
    return late | {life.node_id for life in nodes if life.rebooted_ms is not None}


def _steps(nodes: Sequence[NodeLife], rebooted: set[str], created_ms: int | None) -> dict[str, list[int]]:
    """Return how long the first steps in the lives of nodes took, where both ends of a step are known."""
    steps: dict[str, list[int]] = {"allocation": [], "starting": [], "ready": []}
    for life in nodes:
        came, boot, ready = life.allocated_ms, life.booted_ms, life.ready_ms
        if came is not None and created_ms is not None and 0 <= came - created_ms <= _LATEST_FIRST_MS:
            steps["allocation"].append(came - created_ms)
        if life.node_id in rebooted:
            continue
        if came is not None and boot is not None and boot >= came:
            steps["starting"].append(boot - came)
        if boot is not None and ready is not None and ready >= boot and life.is_ready_seen:
            steps["ready"].append(ready - boot)
    return steps


def _cohorts(nodes: Sequence[NodeLife], begin_ms: int, allocations: Sequence[int]) -> list[_Cohort]:
    """Return the nodes that came with the creation of the pool, perhaps none, and then those of each resize."""
    cohorts = [_Cohort(begin_ms, [])]
    usual_ms = round(median(allocations)) if allocations else _ALLOCATION_MS
    before_ms = begin_ms
    for life in nodes:
        came_ms = max(begin_ms, life.came_ms)
        is_first = len(cohorts) == 1 and came_ms - begin_ms <= _LATEST_FIRST_MS
        if not is_first and (len(cohorts) == 1 or came_ms - before_ms > _APART_MS):
            cohorts.append(_Cohort(max(came_ms - usual_ms, before_ms + SECOND_MS), []))
        cohorts[-1].nodes.append(life)
        before_ms = came_ms
    return cohorts


class _Leaving(NamedTuple):
    """Nodes that are to leave by one command, which is given after ``after_ms`` and until ``until_ms``."""

    after_ms: int
    until_ms: int
    indexes: tuple[int, ...]
    drains: bool


def _changes(pool_id: str, nodes: Sequence[NodeLife], cohorts: list[_Cohort], asked: dict[str, int]) -> Iterator[Event]:
    """Yield the resizes of a pool and the removals of nodes, one after the other: the service refuses others.

    One that has to wait for the one before is put off; ``asked`` has when each node is requested then.
    """
    wanted: list[tuple[int, int, _Cohort | _Leaving]] = [
        (cohort.asked_ms, max((life.came_ms for life in cohort.nodes), default=cohort.asked_ms), cohort)
        for cohort in cohorts
    ]
    for group in _leaving(nodes):
        at_ms = group.after_ms + 1 if group.drains else group.until_ms
        wanted.append((at_ms, max(nodes[index].left_ms or 0 for index in group.indexes), group))
    wanted.sort(key=lambda change: change[:2])
    free_ms = 0
    there: list[NodeLife] = []
    for number, (wanted_ms, end_ms, change) in enumerate(wanted):
        at_ms = max(wanted_ms, free_ms) if number else wanted_ms
        if isinstance(change, _Leaving):
            leaving = [nodes[index] for index in change.indexes]
            at_ms = max(at_ms, *(max(life.came_ms, asked[life.node_id]) + 1 for life in leaving))
        else:
            asked |= dict.fromkeys((life.node_id for life in change.nodes), at_ms)
        free_ms = max(at_ms, end_ms) + SECOND_MS
        if isinstance(change, _Cohort):
            there += change.nodes
            body: dict[str, Any] = {"poolId": pool_id, "targetDedicatedNodes": count(there, dedicated=True)}
            if not all(life.dedicated for life in nodes):
                body["targetLowPriorityNodes"] = count(there, dedicated=False)
            if number:
                yield Event(at_ms, "resizePool", body)
        else:
            there = [life for life in there if life.node_id not in {nodes[index].node_id for index in change.indexes}]
            body = {"poolId": pool_id, "nodeList": list(change.indexes)}
            if change.drains:
                body["nodeDeallocationOption"] = "taskcompletion"
            yield Event(at_ms, "removeNodes", body)


def _leaving(nodes: Sequence[NodeLife]) -> list[_Leaving]:
    """Return the nodes that left their pool while it was in use, in groups that may have left by one command."""
    last_ms = max((life.last_ms or 0 for life in nodes), default=0)
    groups: list[_Leaving] = []
    for index, life in sorted(enumerate(nodes), key=lambda item: item[1].left_ms or 0):
        left_ms = life.left_ms
        if left_ms is None or (not life.is_listed and left_ms >= last_ms - MINUTE_MS):
            continue
        before = life.last_work(left_ms)
        drains = before is not None and abs(before[1] - left_ms) <= _AT_ONCE_MS
        after_ms = before[0] if drains and before is not None else left_ms - 1
        last = groups[-1] if groups else None
        if last is not None and max(after_ms, last.after_ms) < min(left_ms, last.until_ms):
            both = max(after_ms, last.after_ms), min(left_ms, last.until_ms), (*last.indexes, index)
            groups[-1] = _Leaving(*both, drains or last.drains)
        else:
            groups.append(_Leaving(after_ms, left_ms, (index,), drains))
    return groups


def _own_steps(life: NodeLife, asked_ms: int, begin_ms: int) -> dict[str, int]:
    """Return how long the steps of this node take from the moment at which it was requested."""
    came_ms = max(asked_ms, life.came_ms)
    steps = {"allocation": came_ms - asked_ms}
    ready_ms = life.ready_ms
    if life.rebooted_ms is not None and life.rebooted_ms <= begin_ms:
        ready_ms = life.usable_again_ms
    if life.booted_ms is None and ready_ms is None:
        return steps
    booted_ms = max(came_ms, life.booted_ms if life.booted_ms is not None else came_ms)
    steps["starting"] = booted_ms - came_ms
    if ready_ms is not None:
        steps["ready"] = max(booted_ms, ready_ms) - booted_ms
    if life.left_ms is not None:
        steps["removal"] = 0
    return steps


def _reboots(pool_id: str, nodes: Sequence[NodeLife], own: dict[int, dict[str, int]], begin_ms: int) -> Iterator[Event]:
    """Yield a reboot for each node that booted after it had worked, and let it take as long as it really did."""
    for index, life in enumerate(nodes):
        if life.rebooted_ms is None or life.rebooted_ms <= begin_ms or life.reboot_asked_ms is None:
            continue
        at_ms = max(begin_ms + 1, life.reboot_asked_ms)
        started_ms = epoch_ms((life.start_info or {}).get("startTime"))
        up_ms = started_ms if started_ms is not None and started_ms >= life.rebooted_ms else life.usable_again_ms
        if up_ms is not None and index in own:
            own[index]["reboot"] = max(0, up_ms - at_ms - BOOT_AGAIN_MS)
        yield Event(at_ms, "rebootNode", {"poolId": pool_id, "node": index, "nodeRebootOption": "requeue"})


def _troubles(
    pool_id: str, nodes: Sequence[NodeLife], own: dict[int, dict[str, int]], begin_ms: int
) -> Iterator[Event]:
    """Yield what brought nodes into the last state in which they run no tasks."""
    for index, life in enumerate(nodes):
        if life.changed_ms is None:
            continue
        at_ms = max(begin_ms + 1, life.changed_ms)  # the nodes that were there already come at once
        where = {"poolId": pool_id, "node": index}
        before = life.last_work(life.changed_ms)
        if life.state in ("unusable", "unknown"):
            yield Event(at_ms, "failNode", where | {"state": life.state})
        elif life.state == "preempted":
            yield Event(at_ms, "evictNode", where)
        elif life.state == "offline":
            waited = before is not None and abs(before[1] - life.changed_ms) <= _AT_ONCE_MS
            option = "taskcompletion" if waited else "requeue"
            asked_ms = before[0] + 1 if waited and before is not None else at_ms
            command = where | {"nodeDisableSchedulingOption": option}
            yield Event(max(begin_ms + 1, asked_ms), "disableNodeScheduling", command)
        else:
            continue
        if life.ready_ms is None and index in own:  # it was never ready before
            own[index].setdefault("starting", 0)
            own[index]["ready"] = max(MINUTE_MS, at_ms - begin_ms) + MINUTE_MS


def _start_task(new: dict[str, Any], nodes: Sequence[NodeLife], begin_ms: int) -> None:
    """Let the start task take as long on each node as it really did."""
    task = new.get("startTask")
    if task is None:
        return
    outcomes = {
        index: one
        for index, life in enumerate(nodes)
        if life.start_info is not None and (one := outcome(life.start_info, begin_ms)) is not None
    }
    task["simulate"] = on_nodes(outcomes) or dict(UNKNOWN)


def fitted(steps: Sequence[dict[str, list[int]]]) -> dict[str, Any]:
    """Return the distributions of the first steps in the lives of nodes: lognormal ones, which have no time below 0."""
    found: dict[str, Any] = {}
    for name in ("allocation", "starting", "ready"):
        times = [ms for each in steps for ms in each[name]]
        if len(set(times)) > 1:
            logs = [log(ms) for ms in times if ms > 0]
            sigma = min(MOST_SIGMA, round(pstdev(logs), _SIGMA_DIGITS))
            found[name] = {"lognormal": [format_duration(round(exp(fmean(logs)))), sigma]}
        elif times:
            found[name] = format_duration(times[0])
    return found


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
                info = record.body.get(HOOK_INFOS[0], {})
                if (span := span_of(info)) is not None:
                    first_ms = span[0] - retries(info) * (span[1] - span[0])
                    self._prepared[job_id, record.body["nodeId"]] = first_ms, span[1]
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
            slots, source = _slots(record), record.source
            last_ms = end if end is not None else start
            self._changes.setdefault(node_id, []).extend(
                (_Change(start, slots, source), _Change(last_ms, -slots, source))
            )

    def out_of_turn(self, instances: Iterable[Record]) -> int | None:
        """Return how many tasks of a job may have lost their node to a failed preparation; None if one was retried.

        The history does not tell when a retried preparation began, nor when tasks began to wait for it.
        """
        slots = 0
        for record in instances:
            info = record.body.get(HOOK_INFOS[0], {})
            if retries(info):
                return None
            if info.get("result") == "failure" and code_of(info) != ENDED:
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
    node_id = record.body.get("nodeInfo", {}).get("nodeId")
    return node_id if isinstance(node_id, str) else None
