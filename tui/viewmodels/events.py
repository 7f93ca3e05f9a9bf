"""Events and commands in words: the content of an event without its entity, and ``resize pool shared to 20``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.values import lazy_regex, shortened
from tui.viewmodels import format as fmt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.specs.command import Command
    from engine.views.resources.events import EventRow


_ANNOUNCEMENT = "SPOT-10"  # of an eviction by chance
_COMMANDS = ("CommandAccepted", "CommandRefused", "FaultInjected")


def described(event: EventRow) -> str:
    """Return the content of an event, with its command or fault if there is one, without its entity."""
    is_by_process = event.task is not None or event.node is not None
    command = event.fields.get("command") if event.event in _COMMANDS and not is_by_process else None
    return f"{command or ''} {what(event)}".strip()


def what(event: EventRow) -> str:
    """Return the content of an event, without its entity and without the name of a command."""
    fields = event.fields
    words: list[str] = []
    said = _said(event)
    if said is not None:
        return said
    if "to" in fields:
        old, new = fields.get("from"), fields["to"]
        if new is None:
            words.append(f"{old} → gone" if old else "gone")
        else:
            words.append(f"{old} → {new}" if old else f"{new}")
    if event.task_id is not None and event.node_id is not None:
        words.append(f"on n{event.position}")
    if "exitCode" in fields and (fields["exitCode"] or fields.get("result") == "failure"):
        words.append(f"exit {fields['exitCode']}")
    failure = fields.get("failureInfo")
    if isinstance(failure, dict) and failure.get("code") != "FailureExitCode":
        words.append(str(failure.get("code")))
    attempt = fields.get("attempt")
    if isinstance(attempt, int) and attempt > 1:
        words.append(f"attempt {attempt:,}")
    words += _reason(fields)
    words += _sizes(fields)
    return " ".join(words)


def _sizes(fields: dict[str, object]) -> list[str]:
    """Return present and wanted nodes of a resize, those of a kind that the pool neither has nor wants left out."""
    kinds = (("dedicated", "DedicatedNodes"), ("Spot", "LowPriorityNodes"))
    sizes = [(kind, fields.get(f"current{name}", 0), fields.get(f"target{name}", 0)) for kind, name in kinds]
    shown = [f"{now:,} of {wanted:,} {kind}" for kind, now, wanted in sizes if now or wanted]
    return [", ".join(shown or ["0 nodes"])] if "targetDedicatedNodes" in fields else []


def _reason(fields: dict[str, object]) -> list[str]:
    """Return the reason of a change, after the occurrence of a job schedule that was missed for it (JS-15)."""
    missed = [f"occurrence {fields['occurrence']} missed:"] if "occurrence" in fields else []
    return [*missed, str(fields["reason"])] if fields.get("reason") else missed


def _said(event: EventRow) -> str | None:
    """Return the content of an event that is no change of a state; None of any other."""
    fields = event.fields
    match event.event:
        case "FaultInjected" if event.node is not None:
            announced = ", announced" if fields.get("rule") == _ANNOUNCEMENT else ""
            return f"{fields.get('command')} by chance{announced}"
        case "CommandAccepted" | "FaultInjected":
            process = _given_by_process(event)
            return f"{process}{_arguments(fields.get('body'), names_item=bool(process))}".strip()
        case "CommandRefused" | "TaskScheduleFail":
            return f"{_given_by_process(event)}{fields.get('code')}: {_refused(fields) or fields.get('message', '')}"
        case "AutoScaleEvaluated":
            return _evaluation(fields)
        case "BlobUploaded":
            return f"{fmt.size(int(str(fields['bytes'])))} to {_blob_path(str(fields['url']))}"
    return None


def _given_by_process(event: EventRow) -> str:
    """Return the name of a command that a process has given (JM-11): the entity of its event is that process."""
    is_given = event.event.startswith("Command") and (event.task is not None or event.node is not None)
    return f"{event.fields.get('command')} " if is_given else ""


def _arguments(body: object, *, names_item: bool) -> str:
    """Return the arguments of a command or fault; an application and its version need no names.

    The id of what is created is the entity of the event, unless a process has given the command.
    """
    if not isinstance(body, dict):
        return ""
    if not names_item:
        body = {name: value for name, value in body.items() if name != "id"}
    if "applicationId" not in body:
        return " ".join(f"{name} {_short(value)}" for name, value in body.items())
    size = body.get("size")
    shown = body | {"size": fmt.size(size)} if isinstance(size, int) else body
    unnamed = ("applicationId", "version")
    return " ".join(_short(value) if name in unnamed else f"{name} {_short(value)}" for name, value in shown.items())


def _refused(fields: dict[str, object]) -> str:
    """Return the last part of the property that the service did not accept and the reason; empty without a reason."""
    values = refusal_values(fields)
    name = values.get("PropertyName", "").rpartition(".")[2]
    return f"{name} {values['Reason']}".strip() if "Reason" in values else ""


def _blob_path(url: str) -> str:
    """Return container and name of a blob, without scheme and account."""
    return url.split("/", 3)[-1]


def refusal_values(fields: dict[str, object]) -> dict[str, str]:
    """Return the ``values`` of a refusal by their keys (GEN-10)."""
    values = fields.get("values")
    pairs = values if isinstance(values, list) else []
    return {str(pair["key"]): str(pair["value"]) for pair in pairs if isinstance(pair, dict)}


def _evaluation(fields: dict[str, object]) -> str:
    error = fields.get("error")
    if isinstance(error, dict):
        said = f"{error['code']}: {error['values'][0]['value']}"
    else:
        said = ", ".join(
            f"{fields[f'current{name}Nodes']} → {fields[f'target{name}Nodes']} {kind}"
            for kind, name in (("dedicated", "Dedicated"), ("Spot", "LowPriority"))
        )
    return f"trial: {said}" if "trial" in fields else said


def _short(value: object) -> str:
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else f"[{len(value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else shortened(str(value))


_CAPITAL = lazy_regex(r"(?<=[a-z])([A-Z])")
_KINDS = ("pool", "node", "job schedule", "job", "task", "certificate", "application package", "application")
_IDS = ("poolId", "jobScheduleId", "jobId", "taskId", "applicationId", "thumbprint", "id")
_MOST_NAMED = 2


def command_words(command: Command) -> str:
    """Return what a command does, to what, as a person would say it."""
    return words_of(command.NAME, command.wire())


def words_of(name: str, body: Mapping[str, Any]) -> str:
    """Return a command, by its name on the wire and its body, in words."""
    verb = _CAPITAL.sub(lambda found: " " + found[1].lower(), name).replace("auto scale", "autoscale")
    match name:
        case "resizePool":
            return f"resize pool {body['poolId']} to {_size(body)}"
        case "addTasks":
            return f"add {_number_of_tasks(body)} to {body['jobId']}"
        case "removeNodes":
            return f"remove {fmt.counted(len(body.get('nodeList', ())), 'node')} from {body['poolId']}"
    subject = _subject(body)
    kind = next((kind for kind in _KINDS if f" {kind}" in verb), "")
    if kind and subject:
        before, _, after = verb.partition(f" {kind}")
        return f"{before} {kind} {subject}{after}"
    return f"{verb} {subject}".strip()


def summed_up(commands: Sequence[Command]) -> str:
    """Return what was done: the first commands in words, and the number of the others; empty for none."""
    named = [command_words(command) for command in commands[:_MOST_NAMED]]
    rest = len(commands) - len(named)
    return ", ".join([*named, f"{rest:,} more"] if rest else named)


def _size(body: Mapping[str, Any]) -> str:
    dedicated, spot = body.get("targetDedicatedNodes"), body.get("targetLowPriorityNodes")
    if spot is None:
        return f"{dedicated:,}" if dedicated is not None else "the same size"
    return f"{spot:,} Spot nodes" if dedicated is None else f"{dedicated:,} dedicated and {spot:,} Spot nodes"


def _number_of_tasks(body: Mapping[str, Any]) -> str:
    tasks = body.get("tasks")
    return fmt.counted(len(tasks), "task") if tasks else "tasks"


def _subject(body: Mapping[str, Any]) -> str:
    if "node" in body or "nodeId" in body:
        node = f"n{body['node']}" if "node" in body else fmt.short_node(str(body["nodeId"]))
        return f"{node} of {body['poolId']}"
    if "taskId" in body and "jobId" in body:
        return f"{body['taskId']} of {body['jobId']}"
    return next((str(body[name]) for name in _IDS if name in body), "")
