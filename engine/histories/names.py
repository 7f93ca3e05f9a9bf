"""The names, times and durations of the REST API for objects that another program has written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum, auto
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
    *("affinityId", "allocationTime", "category", "certificateReferences", "code", "containerInfo", "details"),
    *("endTime", "endpointConfiguration", "evaluationTime", "exitCode", "failureInfo", "formerNodes", "ipAddress"),
    *("isDedicated", "jobId", "jobPreparationTaskExecutionInfo", "jobReleaseTaskExecutionInfo", "lastBootTime"),
    *("lastRequeueTime", "lastRetryTime", "lastUpdateTime", "message", "nextRunTime", "nodeAgentInfo", "nodeId"),
    *("nodeUrl", "nodes", "poolId", "recentJob", "recentTasks", "requeueCount", "resizeErrors", "result", "retryCount"),
    *("runningTaskSlotsCount", "runningTasksCount", "schedulingError", "schedulingState", "startTaskInfo", "startTime"),
    *("subtaskId", "subtasks", "taskId", "taskRootDirectory", "taskRootDirectoryUrl", "taskState", "tasks"),
    *("terminateReason", "timestamp", "totalTasksRun", "totalTasksSucceeded", "virtualMachineInfo"),
)
# Nobody asks for them once an object has been placed, and they are most of the text of a long list.
_LEFT_OUT = frozenset(
    {
        *("url", "eTag", "lastModified", "nodeUrl", "taskRootDirectory", "taskRootDirectoryUrl", "nodeAgentInfo"),
        *("endpointConfiguration", PRINTED_BY_AZ, "recentTasks", "virtualMachineInfo"),
    }
)
_FREE_MAPPINGS = frozenset({"resourceTags", "settings", "protectedSettings", "tags"})  # their keys are the user's
_MOST_NAMES = 10_000  # that are kept
_WORDS = frozenset(
    {"state", "previousState", "schedulingState", "allocationState", "result", "category", "taskState"}
)  # answered in lower case; some programs print the names of their constants


class _Form(Enum):
    """What has to be done with the value of a property."""

    LEFT_OUT = auto()
    FREE = auto()  # a mapping whose keys are the user's
    WORD = auto()
    DURATION = auto()
    TIME = auto()
    OTHER = auto()


class Normalizer:
    """A reader of names and values in any dialect. It shares equal small objects between all that it returns."""

    def __init__(self) -> None:
        self._shared: dict[object, dict[str, Any]] = {}

    def normalized(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return an object with the names of the REST API, without nulls and what nobody asks for."""
        body: dict[str, Any] = {}
        for name, inner in value.items():
            known, form = _KNOWN[name]
            if inner is None or form is _Form.LEFT_OUT or known in body:
                continue
            if type(inner) is str:
                body[known] = _text(inner, form)
            elif form is _Form.FREE:
                body[known] = _plain(inner)
            elif type(inner) is dict:
                body[known] = self._share(known, self.normalized(inner))
            elif type(inner) is list:
                body[known] = self._list(inner, form)
            else:
                body[known] = inner
        return body

    def _list(self, values: list[Any], form: _Form) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if isinstance(value, str):
                found.append(_text(value, form))
            elif isinstance(value, dict):
                found.append(self._share("", self.normalized(value)))
            elif value is not None:
                found.append(self._list(value, form) if isinstance(value, list) else value)
        return found

    def _share(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the object that equals ``body`` and has been returned before: many tasks have equal constraints."""
        if name == "executionInfo":
            return body
        try:
            return self._shared.setdefault((name, *body.items()), body)
        except TypeError:  # it holds lists or objects
            return body


class _Known(dict[str, tuple[str, _Form]]):
    """The spelling of each name that was asked for, and the form of its values."""

    def __missing__(self, name: str) -> tuple[str, _Form]:
        known = _spellings().get(folded_name(name)) or _camel(name)
        form = _Form.OTHER
        if known in _LEFT_OUT or known.startswith(("odata.", "@odata.")):
            form = _Form.LEFT_OUT
        elif known in _FREE_MAPPINGS:
            form = _Form.FREE
        elif known in _WORDS:
            form = _Form.WORD
        elif known in _durations():
            form = _Form.DURATION
        elif known.endswith("Time"):
            form = _Form.TIME
        if len(self) < _MOST_NAMES:
            self[name] = known, form
        return known, form


_KNOWN = _Known()


def wire_spelling(name: str) -> str:
    """Return the REST API's spelling of a name, without regard to case and underscores."""
    return _KNOWN[name][0]


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


def _text(text: str, form: _Form) -> str:
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair fits into no file
    if form is _Form.OTHER:
        return text
    if form is _Form.WORD:
        return sys.intern(text.rpartition(".")[2].lower())
    if form is _Form.DURATION:
        printed = iso_duration(text)
        return text if printed == text else format_duration(parse_duration(printed))
    if form is _Form.TIME and not (text.endswith("Z") and text[10:11] == "T"):
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
        return _text(value, _Form.OTHER)
    if isinstance(value, dict):
        return {_text(str(name), _Form.OTHER): _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
