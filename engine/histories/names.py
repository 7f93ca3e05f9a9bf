"""The names, times and durations of the REST API for objects that another program has written."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic.fields import FieldInfo

from engine.base.units import format_duration, parse_duration, parse_utc
from engine.scenario.body_models import fields_of, model_of
from engine.scenario.spelling import PRINTED_BY_AZ, folded_name, iso_duration
from engine.specs.base import Spec, is_duration
from engine.specs.job import JobSpec
from engine.specs.pool import PoolSpec
from engine.specs.schedule import JobScheduleSpec
from engine.specs.task import TaskSpec

_BODIES: tuple[type[Spec], ...] = (PoolSpec, JobSpec, JobScheduleSpec, TaskSpec)
# Names that only answers have, and which no body of a request mentions.
_ANSWERS = (
    *("affinityId", "allocationTime", "certificateReferences", "containerInfo", "endTime", "endpointConfiguration"),
    *(
        "evaluationTime",
        "exitCode",
        "failureInfo",
        "isDedicated",
        "ipAddress",
        "jobId",
        "lastBootTime",
        "lastRetryTime",
    ),
    *(
        "jobPreparationTaskExecutionInfo",
        "jobReleaseTaskExecutionInfo",
        "lastRequeueTime",
        "nextRunTime",
        "nodeAgentInfo",
    ),
    *("lastUpdateTime", "nodeId", "nodeUrl", "poolId", "recentJob", "recentTasks", "requeueCount", "resizeErrors"),
    *("result", "retryCount", "runningTaskSlotsCount", "runningTasksCount", "schedulingError", "schedulingState"),
    *("startTaskInfo", "startTime", "subtaskId", "subtasks", "taskId", "taskRootDirectory", "taskRootDirectoryUrl"),
    *("taskState", "terminateReason", "timestamp", "totalTasksRun", "totalTasksSucceeded", "virtualMachineInfo"),
    *("category", "code", "details", "message", "formerNodes", "nodes", "tasks"),
)
# Nobody asks for them once an object has been placed, and they are most of the text of a long list.
_LEFT_OUT = frozenset(
    {
        *("url", "eTag", "lastModified", "nodeUrl", "taskRootDirectory", "taskRootDirectoryUrl", "nodeAgentInfo"),
        *("endpointConfiguration", PRINTED_BY_AZ, "recentTasks", "virtualMachineInfo"),
    }
)
_FREE_MAPPINGS = frozenset({"resourceTags", "settings", "protectedSettings", "tags"})  # their keys are the user's
_WORDS = frozenset(
    {"state", "previousState", "schedulingState", "allocationState", "result", "category", "taskState"}
)  # answered in lower case; some programs print the names of their constants


class Normalizer:
    """A reader of names and values in any dialect. It shares equal small objects between all that it returns."""

    def __init__(self) -> None:
        self._shared: dict[object, dict[str, Any]] = {}

    def normalized(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return an object with the names of the REST API, without nulls and what nobody asks for."""
        body: dict[str, Any] = {}
        for name, inner in value.items():
            known = wire_spelling(name)
            if inner is None or known in _LEFT_OUT or known.startswith(("odata.", "@odata.")) or known in body:
                continue
            body[known] = _plain(inner) if known in _FREE_MAPPINGS else self._value(known, inner)
        return body

    def _value(self, name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, str):
            return _text(name, value)
        if isinstance(value, dict):
            return self._share(name, self.normalized(value))
        if isinstance(value, list):
            return [self._value(name, inner) for inner in value if inner is not None]
        return value

    def _share(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the object that equals ``body`` and has been returned before: many tasks have equal constraints."""
        if name == "executionInfo":
            return body
        try:
            return self._shared.setdefault((name, *body.items()), body)
        except TypeError:  # it holds lists or objects
            return body


@cache
def wire_spelling(name: str) -> str:
    """Return the REST API's spelling of a name, without regard to case and underscores."""
    return _spellings().get(folded_name(name)) or _camel(name)


def _camel(name: str) -> str:
    if "_" not in name.strip("_"):
        return name
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


@cache
def _spellings() -> dict[str, str]:
    names = set(_ANSWERS) | _LEFT_OUT | _FREE_MAPPINGS | {name for name, _ in _properties()}
    for model in _BODIES:
        names.update(model.SERVICE_NAMES)
    return {folded_name(name): name for name in sorted(names)}


@cache
def _durations() -> frozenset[str]:
    return frozenset(name for name, field in _properties() if is_duration(field))


def _properties() -> Iterator[tuple[str, FieldInfo]]:
    """Yield every property of the bodies of requests, and of the objects in them."""
    seen: set[type[Spec]] = set()
    waiting: list[type[Spec]] = list(_BODIES)
    while waiting:
        model = waiting.pop()
        seen.add(model)
        for name, field in fields_of(model).items():
            yield name, field
            inner = model_of(field)
            if inner is not None and inner not in seen:
                waiting.append(inner)


def _text(name: str, text: str) -> str:
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair fits into no file
    if name in _WORDS:
        return text.rpartition(".")[2].lower()
    if name in _durations():
        printed = iso_duration(text)
        return text if printed == text else format_duration(parse_duration(printed))
    if name.endswith("Time") and not (text.endswith("Z") and text[10:11] == "T"):
        return _moment(text)
    return text


def _moment(text: str) -> str:
    try:
        moment = parse_utc(text)
    except ValueError:
        return text  # who needs the time says what is wrong with it
    return moment.isoformat().removesuffix("+00:00") + "Z"


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return _text("", value)
    if isinstance(value, dict):
        return {_text("", str(name)): _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
