"""Events as lines of text, for the golden logs: one line an event.

A line has the time since the start, the subject by its name in the scenario, the change, and the rule behind it.
"""

from __future__ import annotations

import json

from engine.base.log import Json, LateJson, LogSubject, plain
from engine.base.values import HOUR_MS, MINUTE_MS, SECOND_MS, read_table, shortened, words
from engine.state.files import NO_TASK

_GAP = "  "
_SUBJECTS = dict(read_table("events.csv", __file__))
# Fields that have their own place in a line.
_PLACED = {*words("from to reason attempt exitCode result failureInfo rule subtaskId occurrence command thumbprint")}
_PLACED |= {*words("body code category message values")}
# Of resizes and formulas, whose outcome is in words.
_PLACED |= {*words("currentDedicatedNodes targetDedicatedNodes currentLowPriorityNodes targetLowPriorityNodes")}
_PLACED |= {*words("nodeDeallocationOption enableAutoScale isAutoPool startTime endTime resultCode resultMessage")}
_PLACED |= {*words("resizeErrors formula results error trial")}


class Labels:
    """The names that a scenario uses for the rows of a simulation; nodes by their index (``node 0 of shared``)."""

    def __init__(self, simulation):
        self._world = simulation.world

    def pool(self, pool):
        return self._world.pools[pool].id

    def node(self, node):
        record = self._world.nodes[node]
        return f"node {record.position} of {self.pool(record.pool)}"

    def job(self, job):
        return self._world.jobs[job].id

    def task(self, task):
        block = self._world.tasks.block_of(task)
        return f"{block.source.task_id(task - block.first)} of {self.job(block.job)}"

    def schedule(self, schedule):
        return self._world.job_schedules[schedule].id

    def upload(self, upload):
        """Return the URL of an uploaded blob, and how much was uploaded by which task."""
        blob = self._world.blobs[upload]
        by = "" if blob.task == NO_TASK else f" by {self.task(blob.task)}"
        return blob.url, f"{blob.content.size:,} bytes uploaded{by}"


def line(labels, entry):
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


def is_by_chance(shape):
    """Return whether an event is a fault that comes from a rate: it is about a node, those of the timeline are not."""
    return shape.event == "FaultInjected" and shape.subject is LogSubject.NODE


def elapsed(t_ms):
    """Return a time since the start as hours, minutes, seconds and milliseconds."""
    hours, rest = divmod(t_ms, HOUR_MS)
    minutes, rest = divmod(rest, MINUTE_MS)
    seconds, ms = divmod(rest, SECOND_MS)
    return f"+{hours:02}:{minutes:02}:{seconds:02}.{ms:03}"


def subject(labels, entry):
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


def _change(event, fields):
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


def _state(value, absent):
    return absent if value is None else str(plain(value))


def _details(fields):
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


def _counts(fields, between):
    kinds = (("dedicated", "Dedicated"), ("Spot", "LowPriority"))
    pairs = [(kind, fields.get(f"current{name}Nodes"), fields.get(f"target{name}Nodes")) for kind, name in kinds]
    return [f"{kind} {current} {between} {target}" for kind, current, target in pairs if current or target]


def _evaluation(fields):
    """Return the results of a formula: targets, its own variables, and the error."""
    own = str(fields["results"]).split(";", 3)[3:]  # after the service's three (AS-68)
    error = plain(fields["error"])
    failure = [str(error["code"]), str(error["values"][0]["value"])] if isinstance(error, dict) else []
    trial = ["tried out"] if "trial" in fields else []
    return [*trial, *(_counts(fields, "→") or ["no nodes"]), *own, *failure]


def _resize_errors(fields):
    errors = plain(fields.get("resizeErrors"))
    return [str(error["code"]) for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def _arguments(fields):
    """Return the id of what a command creates, or its arguments with large ones shortened."""
    body = fields.get("body")
    if not isinstance(body, Json | LateJson):
        return []
    arguments = json.loads(body.text)
    if "id" in arguments:
        return [shortened(str(arguments["id"]))]
    return [f"{name}={_short(value)}" for name, value in arguments.items()]


def _short(value):
    if isinstance(value, list) and not all(isinstance(item, int | str) for item in value):
        return f"[{len(value)}]"
    if isinstance(value, dict):
        return "{…}"
    if isinstance(value, str):
        first, *more = value.splitlines() or [""]
        return f"{shortened(first)} …" if more else shortened(first)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
