"""The event log for people: one line of text per event.

The dashboard's event list and the golden logs of the bundled scenarios use the same lines: time since the start,
subject by its name in the scenario, the change, and the rule behind it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from engine.base.shortening import shortened
from engine.base.units import HOUR_MS, MINUTE_MS, SECOND_MS
from engine.events.log import Json, LateJson, LogEntry, LogSubject, Shape, plain

_GAP = "  "
_SUBJECTS = {
    "NodeStateChanged": "",
    "PoolStateChanged": "pool",
    "PoolAllocationStateChanged": "allocation of",
    "NodeSchedulingStateChanged": "scheduling of",
    "StartTaskStateChanged": "start task on",
    "JobPreparationTaskStateChanged": "preparation of",
    "JobReleaseTaskStateChanged": "release of",
    "JobStateChanged": "job",
    "JobScheduleStateChanged": "job schedule",
    "JobScheduleOccurrenceMissed": "job schedule",
    "TaskStateChanged": "task",
    "SubtaskStateChanged": "subtask",
    "TaskScheduleFail": "task",
    "PoolResizeStart": "resize of",
    "PoolResizeComplete": "resize of",
    "AutoScaleEvaluated": "autoscale of",
    "CertificateStateChanged": "certificate",
    "CommandAccepted": "command",
    "CommandRefused": "command",
    "FaultInjected": "fault",
    "BlobUploaded": "blob",
}
# Fields that have their own place in a line.
_PLACED = {"from", "to", "reason", "attempt", "exitCode", "result", "failureInfo", "rule", "subtaskId"}
_PLACED |= {"occurrence", "command", "thumbprint", "body", "code", "category", "message", "values"}
_POOL = {
    "nodeDeallocationOption",
    "currentDedicatedNodes",
    "targetDedicatedNodes",
    "currentLowPriorityNodes",
    "targetLowPriorityNodes",
    "enableAutoScale",
    "isAutoPool",
    "startTime",
    "endTime",
    "resultCode",
    "resultMessage",
    "resizeErrors",
    "formula",
    "results",
    "error",
    "trial",
}


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
    match entry.shape.subject:
        case LogSubject.NODE:
            name = labels.node(entry.row_b)
        case LogSubject.INSTANCE if entry.row_a >= 0:
            name = f"{labels.job(entry.row_a)} on {labels.node(entry.row_b)}"
        case LogSubject.INSTANCE:
            name = labels.node(entry.row_b)
        case LogSubject.TASK | LogSubject.TASKS_ADDED:
            name = labels.task(entry.row_a)
        case LogSubject.JOB:
            name = labels.job(entry.row_a)
        case LogSubject.POOL:
            name = labels.pool(entry.row_a)
        case LogSubject.SCHEDULE:
            name = labels.schedule(entry.row_a)
        case LogSubject.UPLOAD:
            name = labels.upload(entry.row_a)[0]
        case LogSubject.RUN:
            fields = dict(entry.shape.fields)
            name = str(fields.get("command", fields.get("thumbprint", "")))
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
        if name not in _PLACED and name not in _POOL:
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
