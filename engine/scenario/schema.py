"""The JSON Schema of the scenario file, for completion, descriptions and validation in editors.

The bodies are generated from their models, so schema and loader agree. Only the loader finds mistakes that involve
several places (duplicate ids, unknown names, refusals by the service).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic.json_schema import models_json_schema

from engine.base.terms import AllocationState, TaskResult
from engine.base.values import format_duration
from engine.scenario import pasted
from engine.scenario.bodies import RESOURCE_NAMES
from engine.scenario.conditions import (
    EVENTS,
    INSTANCE_COUNTS,
    JOB_STATES,
    NODE_COUNTS,
    NODE_STATES,
    POOL_STATES,
    SCHEDULE_STATES,
    TASK_COUNTS,
    TASK_STATES,
)
from engine.scenario.model import BY_PATTERN, MEASURES, SHORT_NAMES, SIMULATE, Options
from engine.specs.account import Account
from engine.specs.base import Spec, accepted_names, wire_names
from engine.specs.bodies import JobScheduleSpec, JobSpec, PoolSpec, TaskSpec
from engine.specs.command import OnJob
from engine.specs.commands import COMMANDS, AddTasks, CreateJob
from engine.specs.conditions import OTHERS_COMPLETED

Schema = dict[str, Any]

_MODELS: tuple[type[Spec], ...] = (
    Account,
    Options,
    PoolSpec,
    JobSpec,
    JobScheduleSpec,
    TaskSpec,
    *SIMULATE.values(),
    *COMMANDS.values(),
)


def schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of a scenario file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "batchdeck scenario",
        "description": "An account, its content, what happens to it, and what is expected.",
        **_mapping(_properties(), required=["scenario"]),
        "$defs": _definitions(),
    }


def _properties() -> dict[str, Schema]:
    return {
        "scenario": {"type": "string", "minLength": 1, "description": "The name of the scenario."},
        "description": {"type": "string", "description": "What it shows, in a line or two."},
        "seed": {"type": "integer", "default": 0, "description": "All chance follows from it."},
        "startTime": {"type": "string", "default": "2026-01-05T08:00:00Z", "description": "UTC; the simulated now."},
        "until": {"$ref": "#/$defs/time", "description": "The end; without it, when nothing more can happen."},
        "account": {"$ref": "#/$defs/Account"},
        "options": {**_ref(Options), "description": "Other behaviours of the service, and of what surrounds it."},
        "simulate": {
            "description": "Defaults for the simulated behaviour.",
            **_mapping(
                {
                    name: {"type": "object", "additionalProperties": _ref(model)} if name in BY_PATTERN else _ref(model)
                    for name, model in SIMULATE.items()
                }
            ),
        },
        "pools": _list({"$ref": "#/$defs/poolEntry"}, "Pools, as they are created."),
        "jobs": _list({"$ref": "#/$defs/jobEntry"}, "Jobs with their tasks, as they are added."),
        "jobSchedules": _list({"$ref": "#/$defs/jobScheduleEntry"}, "Job schedules, as they are added."),
        "timeline": _list({"$ref": "#/$defs/timelineEntry"}, "Commands and faults, by time or condition."),
        "expect": _list({"$ref": "#/$defs/expectation"}, "What must hold at the end, or at a time."),
        "study": _study(),
    }


def _study() -> Schema:
    """Return the schema of ``study``; the values of factors are whatever their paths take."""
    numbers: Schema = {"type": "string", "pattern": r"^[-+.0-9]+\.\.[-+.0-9]+(:[+.0-9]+)?$"}
    seeds = [{"type": "integer", "minimum": 1}, numbers, {"type": "array", "items": {"type": "integer"}}]
    end = _mapping({"jobId": {"type": "string"}, "end": {}}, required=["jobId"])
    measures = {"anyOf": [{"enum": [*MEASURES, *SHORT_NAMES]}, end]}
    return {
        "description": "What `batchdeck study` varies; a run ignores it.",
        **_mapping(
            {
                "seeds": {
                    "description": "The seeds of each variant: 20 for 1 to 20, a range, or a list.",
                    "anyOf": seeds,
                },
                "vary": {
                    "description": "Paths such as pools.render.vmSize, with a list of values or a range A..B:STEP.",
                    "type": "object",
                    "additionalProperties": {"anyOf": [{"type": "array", "minItems": 1}, numbers]},
                },
                "measure": _list(measures, "What the table shows beside the usual columns."),
            }
        ),
    }


def _definitions() -> dict[str, Schema]:
    _, generated = models_json_schema(
        [(model, "validation") for model in _MODELS], by_alias=True, ref_template="#/$defs/{model}"
    )
    models = {name: _simplified(definition) for name, definition in generated["$defs"].items()}
    for model in _all_models(Spec):
        if "properties" in models.get(model.__name__, {}):
            models[model.__name__]["description"] = _description(model)
            _accept_older_names(models[model.__name__], model)
    simulate = models["Simulate"]["properties"]
    simulate["does"] |= {"type": "array", "items": {"$ref": "#/$defs/act"}}
    simulate["until"] |= {"anyOf": [{"const": OTHERS_COMPLETED}, {"$ref": "#/$defs/condition"}]}
    for command in (CreateJob, AddTasks):
        models[command.__name__]["properties"]["taskFactory"] = _FACTORY
    for name in {"tasks", "value"} & models["AddTasks"]["properties"].keys():
        models["AddTasks"]["properties"][name] = _list(_TASK, "Tasks, as they are sent or returned.")
    automatic = models["AutoPoolSpecification"]["properties"]
    automatic["pool"] = _either({"$ref": "#/$defs/poolResource"}, automatic["pool"])
    at = {"$ref": "#/$defs/time", "description": "When it is added; without it, at the start."}
    tasks = _list(_TASK, "Tasks, added with the job.")
    return {
        "time": {
            "description": "A duration from the start (PT5M), plain seconds (300), or a UTC time.",
            "type": ["string", "number"],
            "minimum": 0,
        },
        "number": {"anyOf": [{"type": "number"}, _bounds({"type": "number"})]},
        "seconds": {"anyOf": [{"type": ["string", "number"]}, _bounds({"type": ["string", "number"]})]},
        "taskFactory": _task_factory(),
        "poolEntry": _either(_pool_resource(models, {"at": at}), _pasted(models, PoolSpec, {"at": at})),
        "poolResource": _pool_resource(models, {}),
        "jobEntry": _pasted(models, JobSpec, {"at": at, "tasks": tasks, "taskFactory": _FACTORY}),
        "jobScheduleEntry": _pasted(models, JobScheduleSpec, {"at": at}),
        "task": _pasted(models, TaskSpec, {}),
        **{name: _pasted(models, COMMANDS[command], {}) for command, name in _CREATED.items()},
        "condition": _condition({}),
        "expectation": _condition({"at": {"$ref": "#/$defs/time"}, "within": {"$ref": "#/$defs/time"}}),
        "timelineEntry": _timeline_entry(),
        "act": _act(models),
        **models,
    }


def _pasted(models: Mapping[str, Schema], model: type[Spec], others: Mapping[str, Schema]) -> Schema:
    """Return the schema of a body that the service may have returned."""
    names = (*_ODATA, *model.SERVICE_NAMES)
    definition = models[model.__name__]
    properties = definition["properties"] | dict.fromkeys(names, _LEFT_OUT) | dict(others)
    return definition | {"properties": properties, "patternProperties": {r"^@?odata\.": _LEFT_OUT}}


def _either(resource: Schema, body: Schema) -> Schema:
    return {"if": {"required": ["properties"]}, "then": resource, "else": body}


def _pool_resource(models: Mapping[str, Schema], others: Mapping[str, Schema]) -> Schema:
    """Return the schema of a pool as the resource manager has it."""
    body = models["PoolSpecification"]["properties"]
    text = {"type": "string"}
    reference = _mapping({"id": text, "version": text}, required=["id"])
    certificate = _mapping({"id": text, "storeLocation": text, "storeName": text, "visibility": {"type": "array"}})
    fixed = {name: body[name] for name in pasted.FIXED_SCALE if name in body} | {"nodeDeallocationOption": text}
    auto = _mapping({own: body[name] for own, name in pasted.AUTO_SCALE.items()}, required=["formula"])
    machines = ("virtualMachineConfiguration", "cloudServiceConfiguration")
    properties = {name: schema for name, schema in body.items() if name not in pasted.MOVED} | {
        "deploymentConfiguration": _mapping({name: body[name] for name in machines}),
        "scaleSettings": {**_mapping({"fixedScale": _mapping(fixed), "autoScale": auto}), "maxProperties": 1},
        "interNodeCommunication": {"enum": ["Enabled", "Disabled"]},
        "applicationPackages": _list(reference, "Application packages by the ids of their resources."),
        "certificates": _list(certificate, "Certificates by the ids of their resources."),
        **dict.fromkeys(pasted.SERVICE_NAMES, _LEFT_OUT),
    }
    envelope = {
        "id": {**text, "description": "The pool's id, or the id of the resource."},
        "name": {**text, "description": "The pool's name, or account/pool."},
        "identity": {"type": "object"},
        **{name: {} for name in pasted.ENVELOPE},
        **dict.fromkeys(pasted.SERVICE_ENVELOPE, _LEFT_OUT),
        "properties": _mapping(properties, required=["vmSize"]),
    }
    return _mapping(envelope | dict(others), required=["properties"])


_FACTORY: Schema = {"$ref": "#/$defs/taskFactory"}
_TASK: Schema = {"$ref": "#/$defs/task"}
# Commands whose bodies may be those that the service has returned, and the names of their definitions.
_CREATED = {"createPool": "returnedPool", "createJob": "returnedJob", "createJobSchedule": "returnedJobSchedule"}
_LEFT_OUT: Schema = {"deprecated": True, "description": "Written by the service only; left out."}
_ODATA = ("odata.metadata", "odata.etag", "@odata.context", "@odata.etag")


def _timeline_entry() -> Schema:
    timing: dict[str, Schema] = {
        "at": {"$ref": "#/$defs/time", "description": "When it is done."},
        "when": {"$ref": "#/$defs/condition", "description": "Done as soon as this holds."},
        "after": {"$ref": "#/$defs/time", "description": "How long after 'when' first holds."},
        "refused": {"type": "string", "description": "The code with which the service is expected to refuse it."},
    }
    return {
        **_mapping(timing | _commands()),
        "allOf": [{"oneOf": [{"required": ["at"]}, {"required": ["when"]}]}, _ONE_COMMAND],
        "dependentRequired": {"after": ["when"]},
    }


def _act(models: Mapping[str, Schema]) -> Schema:
    """Return the schema of a command that a process gives; without ``jobId`` it is about the process's own job."""
    timing: dict[str, Schema] = {
        "after": {"$ref": "#/$defs/time", "description": "How long after the start of the process, or after 'when'."},
        "when": {"$ref": "#/$defs/condition", "description": "Done when this has become true."},
    }
    own: dict[str, Schema] = {}
    for name, model in COMMANDS.items():
        if issubclass(model, OnJob):
            definition = models[model.__name__]
            own[name] = definition | {"required": [each for each in definition["required"] if each != "jobId"]}
    return {**_mapping(timing | _commands() | own), **_ONE_COMMAND}


_ONE_COMMAND: Schema = {"oneOf": [{"required": [name]} for name in COMMANDS]}


def _commands() -> dict[str, Schema]:
    commands = {name: _ref(model) for name, model in COMMANDS.items()}
    commands |= {command: {"$ref": f"#/$defs/{name}"} for command, name in _CREATED.items()}
    return commands | {"createPool": _either({"$ref": "#/$defs/poolResource"}, commands["createPool"])}


def _task_factory() -> Schema:
    whole = {"type": "integer"}
    parameter = _mapping({"start": whole, "end": whole, "step": {**whole, "default": 1}}, required=["start", "end"])
    sweep = _mapping(
        {
            "type": {"const": "parametricSweep"},
            "parameterSets": {**_list(parameter, "Their product; the last varies fastest."), "minItems": 1},
            "repeatTask": {
                "type": "object",
                "description": "A task; {0}, {1}, {0:4} in its texts stand for the parameters.",
            },
        },
        required=["type", "parameterSets", "repeatTask"],
    )
    collection = _mapping(
        {"type": {"const": "taskCollection"}, "tasks": _list(_ref(TaskSpec), "Tasks, as they are.")},
        required=["type", "tasks"],
    )
    return {"description": "Many tasks from one template.", "oneOf": [sweep, collection]}


def _condition(extra: Mapping[str, Schema]) -> Schema:
    """Return the schema of a condition: the union of all subjects and properties."""
    number = {"$ref": "#/$defs/number"}
    asked: dict[str, Schema] = {
        "state": {
            "enum": [*dict.fromkeys((*JOB_STATES, *SCHEDULE_STATES, *POOL_STATES, *TASK_STATES, *NODE_STATES)), None]
        },
        "allocationState": {"enum": [state.wire for state in AllocationState]},
        "terminateReason": {"type": "string"},
        **dict.fromkeys(("jobs", "cost", "exitCode", "retryCount"), number),
        **dict.fromkeys(("preparationTasks", "releaseTasks"), _counts(INSTANCE_COUNTS)),
        "tasks": _counts(TASK_COUNTS),
        "nodes": _counts(NODE_COUNTS),
        "resizeErrors": {"type": ["array", "string"], "items": {"type": "string"}},
        "result": {"enum": [*(result.value for result in TaskResult), None]},
        "file": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        "events": _counts(EVENTS),
        "makespan": {"$ref": "#/$defs/seconds"},
    }
    subject: dict[str, Schema] = {
        **{name: {"type": "string"} for name in ("poolId", "nodeId", "jobId", "taskId", "jobScheduleId")},
        "node": {"type": ["integer", "string"], "minimum": 0, "description": "A node of a pool, or that of a task."},
    }
    return _mapping({**subject, **asked, **extra})


def _counts(names: Iterable[str]) -> Schema:
    number = {"$ref": "#/$defs/number"}
    return {"anyOf": [{"type": "number"}, _bounds({"type": "number"}), _mapping(dict.fromkeys(names, number))]}


def _bounds(side: Schema) -> Schema:
    return {**_mapping({"atLeast": side, "atMost": side}), "minProperties": 1}


def _mapping(properties: Mapping[str, Schema], *, required: list[str] | None = None) -> Schema:
    found: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return found | ({"required": required} if required else {})


def _list(item: Schema, description: str) -> Schema:
    return {"type": "array", "items": item, "description": description}


def _ref(model: type[Spec]) -> Schema:
    return {"$ref": f"#/$defs/{model.__name__}"}


def _simplified(definition: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a definition without titles and empty defaults, and with durations as in a file."""
    if isinstance(definition, list):
        return [_simplified(inner) for inner in definition]
    if not isinstance(definition, dict):
        return definition
    found = {
        key: value if key == "default" else _simplified(value) for key, value in definition.items() if key != "title"
    }
    if "properties" in definition:
        found["properties"] = {name: _simplified(inner) for name, inner in definition["properties"].items()}
    if isinstance(found.get("default", ""), int) and found.get("format") == "duration":
        found["default"] = format_duration(found["default"])
    if "default" in found and found["default"] in (None, [], {}):
        del found["default"]
    words = found.pop("enum", []) if found.get("type") == "string" else []
    if words:
        found["anyOf"] = [{"enum": words}, {"pattern": f"^({'|'.join(map(_any_case, words))})$"}]
    return found


def _any_case(word: str) -> str:
    """Return the pattern of a word in any case, as the resource manager writes options."""
    return "".join(f"[{letter.upper()}{letter.lower()}]" if letter.isalpha() else re.escape(letter) for letter in word)


def _all_models(base: type[Spec]) -> Iterator[type[Spec]]:
    for model in base.__subclasses__():
        yield model
        yield from _all_models(model)


def _description(model: type[Spec]) -> str:
    """Return what a body is, as editors show it: with the service's names, and a line for each paragraph."""
    names = {name: accepted_names(field)[0] for name, field in model.model_fields.items()}
    text = re.sub(r"``(\w+)``", lambda found: f"`{names.get(found[1], found[1])}`", inspect.getdoc(model) or "")
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _accept_older_names(definition: Schema, model: type[Spec]) -> None:
    """Add the older names of properties, which pydantic's schema omits (GEN-14)."""
    properties = definition["properties"]
    required = definition.get("required", [])
    for field in model.model_fields.values():
        newest, *older = accepted_names(field)
        if newest in RESOURCE_NAMES:
            older.append(RESOURCE_NAMES[newest])
        for name in older:
            properties[name] = properties[newest] | {"deprecated": True}
        if older and newest in required:
            required.remove(newest)
            definition["anyOf"] = [{"required": [name]} for name in (newest, *older)]
    for name in set(wire_names(model)) - set(properties):
        properties[name] = {"type": "boolean", "deprecated": True}
