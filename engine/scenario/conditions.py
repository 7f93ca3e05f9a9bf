"""Reading ``when`` and ``expect``, their subjects, properties and mistakes, and times as people write them.

A time is relative to the start of the scenario, or absolute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeGuard

from engine.base.terms import (
    AllocationState,
    JobScheduleState,
    JobState,
    NodeState,
    PoolState,
    State,
    TaskResult,
    TaskState,
)
from engine.base.values import SECOND_MS, lazy_regex, parse_duration, parse_utc, quoted, shortened, words
from engine.scenario.document import DocumentPlace
from engine.scenario.text import nearest, one_of, shown
from engine.specs.conditions import OWN_JOB, Bounds, Condition, ConditionSubject, SubjectKind, Verbatim, Wanted

LATEST_MS = 100 * 366 * 86_400_000
"""A century; every later time is a slip of the pen."""

_SECONDS = lazy_regex(r"\+?\d{1,12}(?:\.\d{1,12})?", re.ASCII)
_FORMS = "a time is a duration from the start (PT5M), plain seconds (300) or a UTC time (2026-01-05T08:05:00Z)"


def parse_time(text: str | float, start: datetime) -> int:
    """Return a TIME in ms after ``start``: an ISO 8601 duration, plain seconds, or an absolute UTC time.

    Digits beyond the millisecond are cut off.

    Raises:
        ValueError: The text is not a time, or lies before ``start``. The message is for the user.
    """
    if type(text) is int and 0 <= text <= LATEST_MS // SECOND_MS:  # as in a cluster's log
        return text * SECOND_MS
    ms = _milliseconds(str(text).strip(), start)
    if ms < 0:
        raise ValueError(f"{shortened(str(text))} lies before the start of the scenario")
    if ms > LATEST_MS:
        raise ValueError(f"{shortened(str(text))} lies more than a century after the start of the scenario")
    return ms


def _milliseconds(text: str, start: datetime) -> int:
    if _SECONDS.fullmatch(text):
        return int(Decimal(text) * SECOND_MS)
    if text[:2].upper().startswith(("P", "-P")):
        ms = parse_duration(text)
        if ms is None:
            raise ValueError(f"{shortened(str(text))} lies more than a century after the start of the scenario")
        return ms
    if text.startswith("-") and _SECONDS.fullmatch(text[1:]):
        return -1
    try:
        return (parse_utc(text) - start) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise ValueError(f"{quoted(text)} is not a time: {_FORMS}") from None


# The events that a condition can count.
EVENTS = words(
    "PoolStateChanged PoolAllocationStateChanged JobStateChanged JobScheduleStateChanged NodeStateChanged"
    " NodeSchedulingStateChanged JobScheduleOccurrenceMissed TaskStateChanged StartTaskStateChanged"
    " JobPreparationTaskStateChanged JobReleaseTaskStateChanged SubtaskStateChanged PoolResizeStart"
    " PoolResizeComplete AutoScaleEvaluated TaskScheduleFail CertificateStateChanged BlobUploaded"
    " CommandAccepted CommandRefused FaultInjected"
)
TASK_COUNTS = ("active", "preparing", "running", "completed", "succeeded", "failed", "total")
INSTANCE_COUNTS = ("count", "running", "completed", "succeeded", "failed")


def _wires(states: Iterable[State]) -> tuple[str, ...]:
    return tuple(state.wire for state in states)


JOB_STATES, POOL_STATES, TASK_STATES, NODE_STATES = map(_wires, (JobState, PoolState, TaskState, NodeState))
SCHEDULE_STATES = _wires(JobScheduleState)
NODE_COUNTS = ("total", "dedicated", "lowPriority", *NODE_STATES)

Reader = Callable[[DocumentPlace], Wanted]
_FAILED = Bounds()  # stands for an unreadable value; the problem is reported, so the scenario is not used


def _mistake(place: DocumentPlace, message: str) -> Wanted:
    place.report(message)
    return _FAILED


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(words: Iterable[str], *, may_be_absent: bool = False) -> Reader:
    known = tuple(words)

    def read(place: DocumentPlace) -> Wanted:
        value = place.plain
        if value is None and may_be_absent:
            return None
        if not isinstance(value, str):
            return _mistake(place, f"must be one of {', '.join(known)}")
        if value.lower() not in known:
            return _mistake(place, f"{shown(value)} does not exist" + one_of(value, known))
        return value.lower()

    return read


def _text(place: DocumentPlace) -> Wanted:
    if not isinstance(place.plain, str):
        return _mistake(place, "must be text")
    return place.plain


def _bounded(read: Callable[[DocumentPlace], float | None]) -> Reader:
    """Return a reader of a number that ``read`` understands, or of ``{atLeast: a, atMost: b}``."""

    def read_bounds(place: DocumentPlace) -> Wanted:
        if not isinstance(place.tree.value, dict):
            exact = read(place)
            return _FAILED if exact is None else exact
        sides = {name: read(inner) for name, inner in place.known_items(("atLeast", "atMost"))}
        low, high = sides.get("atLeast"), sides.get("atMost")
        if not place.tree.value:
            place.report("must say atLeast, atMost or both")
        elif low is not None and high is not None and low > high:
            place.report(f"atLeast {low} is more than atMost {high}")
        return Bounds(low, high)

    return read_bounds


def _as_number(place: DocumentPlace) -> float | None:
    if _is_number(value := place.plain):
        return value
    place.report("must be a number, or bounds such as {atLeast: 1, atMost: 3}")
    return None


def _as_seconds(place: DocumentPlace) -> float | None:
    if _is_number(value := place.plain):
        return value
    with suppress(ValueError):
        ms = parse_duration(value) if isinstance(value, str) else None
        if ms is not None:
            return ms / SECOND_MS
    place.report("must be a duration such as PT2H, seconds, or bounds such as {atMost: PT2H}")
    return None


_number = _bounded(_as_number)
_seconds = _bounded(_as_seconds)


def _counts(names: Iterable[str], *, whole: str | None = None) -> Reader:
    """Return a reader of numbers by part; a bare number applies to the part ``whole``."""
    known = tuple(names)

    def read(place: DocumentPlace) -> Wanted:
        value = place.tree.value
        if whole and (_is_number(value) or (isinstance(value, dict) and {"atLeast", "atMost"} & set(value))):
            return {whole: _number(place)}
        if not isinstance(value, dict) or not value:
            return _mistake(place, f"must be numbers by name, such as {{{known[0]}: 1}}")
        return {name: _number(inner) for name, inner in place.known_items(known)}

    return read


def _codes(place: DocumentPlace) -> Wanted:
    codes = [place.plain] if isinstance(place.plain, str) else place.plain
    if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
        return _mistake(place, "must be a list of error codes, such as [AccountCoreQuotaReached]")
    return tuple(str(code) for code in codes)


def _files(place: DocumentPlace) -> Wanted:
    if not isinstance(place.tree.value, dict) or not place.tree.value:
        return _mistake(
            place, "must be texts by path, such as {shared/market.csv: done}, null for a file that is absent"
        )
    found: dict[str, Wanted] = {}
    for path, inner in place.items():
        if inner.plain is None or isinstance(inner.plain, str):
            found[path] = None if inner.plain is None else Verbatim(inner.plain)
        else:
            inner.report("must be text (in quotes), or null for a file that is absent")
    return found


def _node(place: DocumentPlace) -> Wanted:
    value = place.plain
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    return _mistake(place, "must be the index of a node, from 0, or its id")


PROPERTIES: Mapping[SubjectKind, Mapping[str, Reader]] = {
    SubjectKind.JOB: {
        "state": _word(JOB_STATES, may_be_absent=True),
        "terminateReason": _text,
        "tasks": _counts(TASK_COUNTS, whole="total"),
        "preparationTasks": _counts(INSTANCE_COUNTS, whole="count"),
        "releaseTasks": _counts(INSTANCE_COUNTS, whole="count"),
    },
    SubjectKind.POOL: {
        "state": _word(POOL_STATES, may_be_absent=True),
        "allocationState": _word(_wires(AllocationState)),
        "nodes": _counts(NODE_COUNTS, whole="total"),
        "cost": _number,
        "resizeErrors": _codes,
    },
    SubjectKind.TASK: {
        "state": _word(TASK_STATES, may_be_absent=True),
        "result": _word(TaskResult, may_be_absent=True),
        "exitCode": _number,
        "retryCount": _number,
        "node": _node,
    },
    SubjectKind.NODE: {"state": _word(NODE_STATES, may_be_absent=True), "file": _files},
    SubjectKind.JOB_SCHEDULE: {"state": _word(SCHEDULE_STATES, may_be_absent=True), "jobs": _number},
    SubjectKind.RUN: {"events": _counts(EVENTS), "makespan": _seconds, "cost": _number},
}


_SUBJECT_KEYS = {
    SubjectKind.RUN: (),
    SubjectKind.POOL: ("poolId",),
    SubjectKind.NODE: ("poolId", "nodeId", "node"),
    SubjectKind.JOB: ("jobId",),
    SubjectKind.TASK: ("jobId", "taskId"),
    SubjectKind.JOB_SCHEDULE: ("jobScheduleId",),
}
# What names a part of a subject, which has properties of its own.
_PART_KEYS = {SubjectKind.POOL: ("node", "nodeId"), SubjectKind.JOB: ("taskId",)}
_ANY_SUBJECT = ("poolId", "nodeId", "node", "jobId", "taskId", "jobScheduleId")

Asked = list[tuple[DocumentPlace, ConditionSubject]]
"""Subjects that something is asked of, to be looked for when all that the scenario makes is known."""


def read_condition(
    place: DocumentPlace, asked: Asked, also: Iterable[str] = (), *, own_job: bool = False
) -> Condition | None:
    """Return the condition in a mapping, or None if it has a mistake, which is reported.

    Keys in ``also`` are read by the caller. The subject is added to ``asked`` even if a property is wrong. With
    ``own_job`` a process of a job asks, so a task or properties without a job are those of its own (JM-11).
    """
    if not place.is_a(dict, "must name a subject and its properties, such as {jobId: risk, state: completed}"):
        return None
    subject = _subject(place, own_job=own_job)
    if subject is None:
        return None
    asked.append((place, subject))
    before = len(place.document.problems)
    if not _are_known(place, subject, also):
        return None
    readers = PROPERTIES[subject.kind]
    wanted = {name: readers[name](inner) for name, inner in place.items() if name in readers}
    if len(place.document.problems) > before:
        return None
    if not wanted:
        place.report(f"expects nothing of the {subject.kind}: ask for {', '.join(readers)}", key=True)
        return None
    return Condition(subject, wanted)


def _are_known(place: DocumentPlace, subject: ConditionSubject, also: Iterable[str]) -> bool:
    """Report unknown keys; return whether the subject is the one that is meant.

    If the name of another subject is misspelt, its properties are not reported: they are not asked of this one.
    """
    is_named = subject not in (ConditionSubject(SubjectKind.RUN), ConditionSubject(SubjectKind.JOB, job_id=OWN_JOB))
    parts = _PART_KEYS.get(subject.kind, ()) if is_named else _ANY_SUBJECT
    known = (*PROPERTIES[subject.kind], *_SUBJECT_KEYS[subject.kind], *also, *parts)
    unknown = {
        name: inner
        for name, inner in place.items()
        if name not in known or (name in _ANY_SUBJECT and not is_named)  # an id that is given would name the subject
    }
    owners = {name: [str(kind) for kind, readers in PROPERTIES.items() if name in readers] for name in unknown}
    is_meant = not any(nearest(name, known) in parts for name, kinds in owners.items() if not kinds)
    for name, inner in unknown.items():
        if inner.plain is None and name in parts:
            inner.report("must be an id: null is as good as nothing", key=True)
        elif not owners[name]:
            inner.report(f"{shown(name)} does not exist" + one_of(name, known), key=True)
        elif is_meant:
            only = " or ".join(owners[name])
            inner.report(f"{shown(name)} cannot be asked of a {subject.kind}, only of a {only}", key=True)
    return is_meant


def _subject(place: DocumentPlace, *, own_job: bool) -> ConditionSubject | None:
    """Return the subject of an entry: task before job, node before pool; without any id it is the run or own job."""
    ids: dict[str, str] = {}
    sound = True
    for name in ("poolId", "nodeId", "jobId", "taskId", "jobScheduleId"):
        inner = place.get(name)
        if inner is not None and isinstance(inner.plain, str) and inner.plain:
            ids[name] = inner.plain
        elif inner is not None:
            inner.report("must be an id, as text" + (f": write '{inner.plain}'" if _is_number(inner.plain) else ""))
            sound = False
    if not sound:
        return None
    if own_job and "jobId" not in ids and ("taskId" in ids or _is_about_own_job(place, ids)):
        ids["jobId"] = OWN_JOB
    if "jobScheduleId" in ids:
        return _schedule_subject(place, ids)
    if "taskId" in ids or "jobId" in ids:
        return _job_subject(place, ids)
    return _pool_subject(place, ids)


def _is_about_own_job(place: DocumentPlace, ids: Mapping[str, str]) -> bool:
    """Return whether nothing is named, and not only properties of the run are asked for."""
    if ids or place.get("node") is not None:
        return False
    of_run = PROPERTIES[SubjectKind.RUN].keys() - PROPERTIES[SubjectKind.JOB].keys()
    return not any(name in of_run for name, _ in place.items())


def _schedule_subject(place: DocumentPlace, ids: Mapping[str, str]) -> ConditionSubject | None:
    other = next(filter(None, map(place.get, ("poolId", "nodeId", "node", "jobId", "taskId"))), None)
    if other is not None:
        other.report("names a second subject beside the job schedule: make it an entry of its own", key=True)
        return None
    return ConditionSubject(SubjectKind.JOB_SCHEDULE, job_schedule_id=ids["jobScheduleId"])


def _job_subject(place: DocumentPlace, ids: Mapping[str, str]) -> ConditionSubject | None:
    if "jobId" not in ids:
        place.report("a task is named by taskId and jobId: jobId is missing", key=True)
        return None
    pool = place.get("poolId") or place.get("nodeId")
    if pool is not None:
        pool.report("names a second subject beside the job: make it an entry of its own", key=True)
        return None
    kind = SubjectKind.TASK if "taskId" in ids else SubjectKind.JOB
    return ConditionSubject(kind, job_id=ids["jobId"], task_id=ids.get("taskId"))


def _pool_subject(place: DocumentPlace, ids: Mapping[str, str]) -> ConditionSubject | None:
    node = place.get("node")
    if node is None and "nodeId" not in ids:
        kind = SubjectKind.POOL if "poolId" in ids else SubjectKind.RUN
        return ConditionSubject(kind, pool_id=ids.get("poolId"))
    if "poolId" not in ids:
        place.report("a node is named by poolId and node or nodeId: poolId is missing", key=True)
        return None
    if node is None:
        return ConditionSubject(SubjectKind.NODE, pool_id=ids["poolId"], node_id=ids["nodeId"])
    if "nodeId" in ids:
        node.report("a node is named by nodeId or by node, its index: not by both", key=True)
        return None
    index = node.plain
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        node.report("must be the index of a node: a whole number from 0")
        return None
    return ConditionSubject(SubjectKind.NODE, pool_id=ids["poolId"], node_index=index)


def read_time(place: DocumentPlace, start: datetime) -> int | None:
    """Return the time in ms from the start, or None if it is not a time, which is reported."""
    value = place.plain
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        place.report("must be a time: a duration from the start (PT5M), seconds (300) or a UTC time")
        return None
    try:
        return parse_time(value, start)
    except ValueError as error:
        place.report(str(error))
        return None


_REACHED = "CoreQuotaReached"  # ends the code of every such resize error (ERR-R)


def pools_at_quota(asked: Asked) -> set[str]:
    """Return the ids, in lower case, of the pools of which a condition asks whether a core quota keeps them small."""
    found = set()
    for place, subject in asked:
        codes = place.plain.get("resizeErrors") if isinstance(place.plain, dict) else None
        listed = codes if isinstance(codes, list) else [codes]
        if subject.pool_id is not None and any(isinstance(code, str) and code.endswith(_REACHED) for code in listed):
            found.add(subject.pool_id.casefold())
    return found
