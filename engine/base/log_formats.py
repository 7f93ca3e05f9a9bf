"""The event log as text: JSON Lines for programs, and one line per event for people.

JSON lines are made for a thousand entries at a time, so that ids of tasks are looked up together; what many lines
share (the text of a shape, the time of a millisecond) is formatted once. A line for people has the time since the
start, the subject by its name in the scenario, the change, and the rule behind it, as in the golden logs of the
bundled scenarios.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from itertools import chain, compress, count
from operator import add
from typing import TYPE_CHECKING, Protocol

from engine.base.log import Json, LateJson, LogEntry, LogSubject, Shape, plain
from engine.base.values import HOUR_MS, MINUTE_MS, SECOND_MS, read_table, shortened, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from engine.base.log import EventLog


_OF_TASKS = (LogSubject.TASK, LogSubject.TASKS_ADDED)
_TOGETHER = 1024  # entries, or tasks of an entry: their lines stay in the processor's cache until they are written


class SubjectIds(Protocol):
    """A lookup of the ids of an entry's subject, as JSON members with a leading comma."""

    def node_ids(self, node: int) -> str: ...  # noqa: D102
    def tasks_ids(self, tasks: Sequence[int]) -> list[str]: ...  # noqa: D102
    def ids(self, subject: LogSubject, row_a: int, row_b: int) -> str: ...  # noqa: D102  # no task, no block of them


def json_lines(log: EventLog, names: SubjectIds, start: int = 0, stop: int | None = None) -> Iterator[str]:
    """Yield the events of entries ``start`` to ``stop`` as JSON objects without line ends."""
    return chain.from_iterable(blocks_of_lines(log, names, start, stop))


def blocks_of_lines(log: EventLog, names: SubjectIds, start: int = 0, stop: int | None = None) -> Iterator[list[str]]:
    """Yield the lines of ``json_lines`` in lists of about a thousand, which takes less time."""
    stop = len(log) if stop is None else min(stop, len(log))
    lines = _Lines(log, names)
    for first in range(start, stop, _TOGETHER):
        last = min(first + _TOGETHER, stop)
        begin = first
        for entry in log.blocks(first, last):
            if log.row_b[entry] != 1:
                yield lines.of_entries(begin, entry)
                yield from lines.of_added_tasks(entry)
                begin = entry + 1
        yield lines.of_entries(begin, last)


class _Lines:
    """The lines of a log; the ids of a node are looked up once."""

    def __init__(self, log: EventLog, names: SubjectIds) -> None:
        self._log, self._names, self._clock = log, names, _Clock(log.start)
        self._nodes = {-1: ""}  # the ids of tasks' nodes

    def of_entries(self, first: int, last: int) -> list[str]:
        """Return the lines of these entries, each of one event."""
        log = self._log
        numbers, rows_a, rows_b = log.shape_of[first:last], log.row_a[first:last], log.row_b[first:last]
        shapes = {number: log.shapes[number] for number in set(numbers)}
        for entry in log.blocks(first, last):
            rows_b[entry - first] = -1  # the number of tasks, of which none is on a node
        task_shapes = {number for number, shape in shapes.items() if shape.subject in _OF_TASKS}
        if len(task_shapes) == len(shapes):
            ids: Iterable[str] = map(add, *self._of_tasks(rows_a, rows_b))
        else:
            of_tasks = list(map(task_shapes.__contains__, numbers))
            rest = map(add, *self._of_tasks(*(list(compress(rows, of_tasks)) for rows in (rows_a, rows_b))))
            ids = [
                next(rest) if of_task else self._names.ids(shapes[number].subject, row_a, row_b)
                for of_task, number, row_a, row_b in zip(of_tasks, numbers, rows_a, rows_b, strict=True)
            ]
        texts = {number: (f",{shape.head}", shape.tail + "}") for number, shape in shapes.items()}
        lines = [
            f'{{"seq":{seq},{stamp}{head}{of_subject}{tail}'
            for seq, stamp, (head, tail), of_subject in zip(
                count(log.seq_of(first)), self._clock.stamps(log.when[first:last]), map(texts.__getitem__, numbers), ids
            )
        ]
        for entry in log.executed.intersection(range(first, last)) if log.executed else ():
            lines[entry - first] = f'{lines[entry - first][:-1]},"executed":true}}'
        return lines

    def _of_tasks(self, tasks: Sequence[int], nodes: Sequence[int]) -> tuple[Iterable[str], Iterable[str]]:
        """Return the ids of the node, or nothing for -1, and those of the task, for each of these pairs of rows."""
        known = self._nodes
        known.update((node, self._names.node_ids(node)) for node in set(nodes) - known.keys())
        return map(known.__getitem__, nodes), self._names.tasks_ids(tasks)

    def of_added_tasks(self, entry: int) -> Iterator[list[str]]:
        """Yield the lines of the tasks that this entry adds together."""
        log = self._log
        shape, first, seq = log.shapes[log.shape_of[entry]], log.row_a[entry], log.seq_of(entry)
        (stamp,) = self._clock.stamps([log.when[entry]])
        last = first + log.row_b[entry]
        head, tail = f",{stamp},{shape.head}", shape.tail + "}"
        for begin in range(first, last, _TOGETHER):
            ids = self._names.tasks_ids(range(begin, min(begin + _TOGETHER, last)))
            yield [f'{{"seq":{at}{head}{of_task}{tail}' for at, of_task in enumerate(ids, seq + begin - first)]


class _Clock:
    """The times of a log's entries as JSON members; the date of a second is formatted once."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._known = -1, "", ""  # a second, and what the texts of its milliseconds have in common

    def stamps(self, times_ms: Iterable[int]) -> list[str]:
        """Return for each time the seconds since the start, and the time of day."""
        fractions, (second, elapsed, date) = _fractions(), self._known
        stamps, stamped_ms, stamp = [], -1, ""
        for when_ms in times_ms:
            if when_ms != stamped_ms:
                stamped_ms = when_ms
                fraction = fractions[when_ms % SECOND_MS]
                if when_ms // SECOND_MS != second:
                    second = when_ms // SECOND_MS
                    moment = self._start + timedelta(seconds=second)
                    elapsed = f'"t":{second}'
                    date = f',"time":"{moment.replace(microsecond=0, tzinfo=None).isoformat()}'
                stamp = f'{elapsed}{fraction}{date}{fraction}Z"'
            stamps.append(stamp)
        self._known = second, elapsed, date
        return stamps


@cache
def _fractions() -> list[str]:
    """Return the milliseconds of a second as decimals."""
    return ["", *(f".{ms:03d}".rstrip("0") for ms in range(1, SECOND_MS))]


_GAP = "  "
_SUBJECTS = dict(read_table("events.csv", __file__))
# Fields that have their own place in a line.
_PLACED = {*words("from to reason attempt exitCode result failureInfo rule subtaskId occurrence command thumbprint")}
_PLACED |= {*words("body code category message values")}
# Of resizes and formulas, whose outcome is in words.
_PLACED |= {*words("currentDedicatedNodes targetDedicatedNodes currentLowPriorityNodes targetLowPriorityNodes")}
_PLACED |= {*words("nodeDeallocationOption enableAutoScale isAutoPool startTime endTime resultCode resultMessage")}
_PLACED |= {*words("resizeErrors formula results error trial")}


class Labels(Protocol):
    """A lookup of the names that a scenario uses for rows; nodes by their index (``node 0 of shared``).

    ``upload`` returns the URL of an uploaded blob, and how much was uploaded by which task.
    """

    def pool(self, pool: int) -> str: ...  # noqa: D102
    def node(self, node: int) -> str: ...  # noqa: D102
    def job(self, job: int) -> str: ...  # noqa: D102
    def task(self, task: int) -> str: ...  # noqa: D102
    def schedule(self, schedule: int) -> str: ...  # noqa: D102
    def upload(self, upload: int) -> tuple[str, str]: ...  # noqa: D102


def line(labels: Labels, entry: LogEntry) -> str:
    """Return an event as one line, for instance ``+00:01:32.145  node 0 of shared  creating → starting  NODE-9``."""
    fields = dict(entry.shape.fields)
    change = [] if is_by_chance(entry.shape) else _change(entry.shape.event, fields)
    parts = [elapsed(entry.t_ms), subject(labels, entry), *change]
    if entry.shape.subject is LogSubject.UPLOAD:
        parts.append(labels.upload(entry.row_a)[1])
    if entry.shape.subject in (LogSubject.TASK, LogSubject.UPLOAD) and entry.row_b >= 0:
        parts.append(f"on {labels.node(entry.row_b)}")
    parts += _details(fields)
    if "rule" in fields:
        parts.append(str(fields["rule"]))
    return _GAP.join(parts)


def is_by_chance(shape: Shape) -> bool:
    """Return whether an event is a fault that comes from a rate: it is about a node, those of the timeline are not."""
    return shape.event == "FaultInjected" and shape.subject is LogSubject.NODE


def elapsed(t_ms: int) -> str:
    """Return a time since the start as hours, minutes, seconds and milliseconds."""
    hours, rest = divmod(t_ms, HOUR_MS)
    minutes, rest = divmod(rest, MINUTE_MS)
    seconds, ms = divmod(rest, SECOND_MS)
    return f"+{hours:02}:{minutes:02}:{seconds:02}.{ms:03}"


def subject(labels: Labels, entry: LogEntry) -> str:
    """Return the kind and name of an event's subject."""
    kind = _SUBJECTS.get(entry.shape.event, entry.shape.event)
    if entry.shape.event == "SubtaskStateChanged":
        kind += f" {dict(entry.shape.fields)['subtaskId']} of"
    elif is_by_chance(entry.shape):
        kind += f" {dict(entry.shape.fields)['command']} by chance:"
    of_row = {
        LogSubject.TASK: labels.task,
        LogSubject.TASKS_ADDED: labels.task,
        LogSubject.JOB: labels.job,
        LogSubject.POOL: labels.pool,
        LogSubject.SCHEDULE: labels.schedule,
    }.get(entry.shape.subject)
    match entry.shape.subject:
        case LogSubject.INSTANCE if entry.row_a >= 0:
            name = f"{labels.job(entry.row_a)} on {labels.node(entry.row_b)}"
        case LogSubject.NODE | LogSubject.INSTANCE:
            name = labels.node(entry.row_b)
        case LogSubject.UPLOAD:
            name = labels.upload(entry.row_a)[0]
        case _:
            fields = dict(entry.shape.fields)
            name = of_row(entry.row_a) if of_row else str(fields.get("command", fields.get("thumbprint", "")))
    return f"{kind} {name}".strip()


def _change(event: str, fields: Mapping[str, object]) -> list[str]:
    """Return the middle of a line: the change of state, or the outcome of another event."""
    match event:
        case "PoolResizeStart":
            return ["starts", *_counts(fields, "→")]
        case "PoolResizeComplete":
            return ["ends", *_counts(fields, "of"), *_resize_errors(fields)]
        case "TaskScheduleFail" | "JobScheduleOccurrenceMissed":
            return [f"occurrence {fields['occurrence']} missed" if "occurrence" in fields else "cannot be scheduled"]
        case "AutoScaleEvaluated":
            return _evaluation(fields)
        case "CommandRefused":
            return [*_arguments(fields), "refused"]
        case "CommandAccepted" | "FaultInjected":
            return _arguments(fields)
    if "to" not in fields:
        return []
    new = _state(fields["to"], "(gone)")
    return [f"{_state(fields['from'], '(new)')} → {new}" if "from" in fields else new]


def _state(value: object, absent: str) -> str:
    return absent if value is None else str(plain(value))


def _details(fields: Mapping[str, object]) -> list[str]:
    """Return the result and reason, and all further fields by name."""
    parts = []
    attempt = fields.get("attempt")
    if isinstance(attempt, int) and attempt > 1:
        parts.append(f"attempt {attempt}")
    if "exitCode" in fields:
        parts.append(f"exit {fields['exitCode']}")
    parts += [str(plain(fields[name])) for name in ("result", "reason") if name in fields]
    failure = plain(fields.get("failureInfo"))
    if isinstance(failure, dict):
        parts.append(f"{failure['code']} ({failure['category']})")
    if "code" in fields:
        parts.append(str(fields["code"]) + (f" ({fields['category']})" if "category" in fields else ""))
    for name, value in fields.items():
        if name not in _PLACED:
            parts.append(f"{name}={_short(plain(value))}")
    return parts


def _counts(fields: Mapping[str, object], between: str) -> list[str]:
    kinds = (("dedicated", "Dedicated"), ("Spot", "LowPriority"))
    pairs = [(kind, fields.get(f"current{name}Nodes"), fields.get(f"target{name}Nodes")) for kind, name in kinds]
    return [f"{kind} {current} {between} {target}" for kind, current, target in pairs if current or target]


def _evaluation(fields: Mapping[str, object]) -> list[str]:
    """Return the results of a formula: targets, its own variables, and the error."""
    own = str(fields["results"]).split(";", 3)[3:]  # after the service's three (AS-68)
    error = plain(fields["error"])
    failure = [str(error["code"]), str(error["values"][0]["value"])] if isinstance(error, dict) else []
    trial = ["tried out"] if "trial" in fields else []
    return [*trial, *(_counts(fields, "→") or ["no nodes"]), *own, *failure]


def _resize_errors(fields: Mapping[str, object]) -> list[str]:
    errors = plain(fields.get("resizeErrors"))
    return [str(error["code"]) for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def _arguments(fields: Mapping[str, object]) -> list[str]:
    """Return the id of what a command creates, or its arguments with large ones shortened."""
    body = fields.get("body")
    if not isinstance(body, Json | LateJson):
        return []
    arguments = json.loads(body.text)
    if "id" in arguments:
        return [shortened(str(arguments["id"]))]
    return [f"{name}={_short(value)}" for name, value in arguments.items()]


def _short(value: object) -> str:
    if isinstance(value, list) and not all(isinstance(item, int | str) for item in value):
        return f"[{len(value)}]"
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, str):
        first, *more = value.splitlines() or [""]
        return f"{shortened(first)} …" if more else shortened(first)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
