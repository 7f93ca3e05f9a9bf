"""Tests of the JSON Schema: it accepts what the loader accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from engine.scenario import tree
from engine.scenario.conditions import PROPERTIES
from engine.scenario.load import KEYS, load
from engine.scenario.model import SIMULATE
from engine.scenario.schema import schema
from engine.scenario.text import bundled
from engine.specs.base import wire_names
from engine.specs.bodies import JobSpec, PoolSpec, TaskSpec
from engine.specs.commands import COMMANDS

SCHEMA = schema()
DEFINITIONS = SCHEMA["$defs"]
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def is_of(value: object, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def wrong(value: Any, rule: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the places where a value breaks a rule; covers the part of JSON Schema that the schema uses."""
    if "$ref" in rule:
        yield from wrong(value, DEFINITIONS[rule["$ref"].removeprefix("#/$defs/")], path)
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_of(value, kind) for kind in kinds):
        yield f"{path} is no {kinds}"
        return
    if "enum" in rule and value not in rule["enum"]:
        yield f"{path} is none of {rule['enum']}"
    if "pattern" in rule and not re.search(rule["pattern"], value):
        yield f"{path} does not match {rule['pattern']}"
    if "const" in rule and value != rule["const"]:
        yield f"{path} is not {rule['const']}"
    if "if" in rule:
        yield from wrong(value, rule["else" if any(wrong(value, rule["if"], path)) else "then"], path)
    for way in rule.get("allOf", []):
        yield from wrong(value, way, path)
    if "anyOf" in rule and all(any(wrong(value, way, path)) for way in rule["anyOf"]):
        yield f"{path} matches nothing of anyOf"
    if "oneOf" in rule and sum(not any(wrong(value, way, path)) for way in rule["oneOf"]) != 1:
        yield f"{path} does not match exactly one of oneOf"
    yield from wrong_inside(value, rule, path)


def wrong_inside(value: Any, rule: dict[str, Any], path: str) -> Iterator[str]:
    """Yield the places in the parts of a list or mapping."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from wrong(inner, rule.get("items", {}), f"{path}[{index}]")
    if isinstance(value, dict):
        yield from (f"{path}.{name} is missing" for name in rule.get("required", []) if name not in value)
        properties = rule.get("properties", {})
        others = rule.get("additionalProperties", True)
        for name, inner in value.items():
            if name in properties:
                yield from wrong(inner, properties[name], f"{path}.{name}")
            elif others is False:
                yield f"{path}.{name} does not exist"
            elif isinstance(others, dict):
                yield from wrong(inner, others, f"{path}.{name}")


@pytest.mark.parametrize("name", bundled())
def test_bundled_scenarios_are_valid(name):
    root = tree.parse(bundled()[name].read_text(encoding="utf-8"), lambda *_: None)
    assert not list(wrong(root.plain, SCHEMA))


RETURNED = {"odata.metadata": "m", "url": "u", "eTag": "e", "state": "active", "stateTransitionTime": "t"}
IN_ARM = {"vmSize": "standard_d2s_v3", "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 1}}}


@pytest.mark.parametrize("command", [None, "createJob", "addTasks", "createJobSchedule"])
def test_it_accepts_what_the_service_returns_wherever_it_may_stand(command):
    task = RETURNED | {"id": "t", "commandLine": "x", "executionInfo": {}, "nodeInfo": {}}
    job = RETURNED | {"id": "j", "poolInfo": {"autoPoolSpecification": AUTO_POOL}}
    schedule = {"schedule": {}, "jobSpecification": {"poolInfo": {"autoPoolSpecification": AUTO_POOL}}}
    bodies = {
        "createJob": job | {"id": "k"},
        "addTasks": {"jobId": "j", "value": [task | {"id": "u"}]},
        "createJobSchedule": RETURNED | {"id": "s"} | schedule,
    }
    scenario = {"scenario": "s", "jobs": [job | {"tasks": [task], "at": 5}]}
    if command is not None:
        scenario["timeline"] = [{"at": 60, command: bodies[command]}]
    assert load("s.yaml", text=json.dumps(scenario)).warnings
    assert not list(wrong(scenario, SCHEMA))


AUTO_POOL = {"poolLifetimeOption": "job", "pool": {"properties": IN_ARM}}


def test_it_is_json_and_every_reference_leads_somewhere():
    text = json.dumps(SCHEMA)
    used = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert used <= set(DEFINITIONS)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_it_has_the_keys_of_the_loader():
    assert set(SCHEMA["properties"]) == set(KEYS)
    asked = {name for readers in PROPERTIES.values() for name in readers}
    own = {"poolId", "nodeId", "node", "jobId", "taskId", "jobScheduleId"}
    assert set(DEFINITIONS["condition"]["properties"]) == asked | own
    assert set(DEFINITIONS["timelineEntry"]["properties"]) == {"at", "when", "after", "refused", *COMMANDS}
    assert set(DEFINITIONS["act"]["properties"]) == {"when", "after", *COMMANDS}
    assert set(SCHEMA["properties"]["simulate"]["properties"]) == set(SIMULATE)


@pytest.mark.parametrize("model", [PoolSpec, JobSpec, TaskSpec, *COMMANDS.values()], ids=lambda model: model.__name__)
def test_bodies_have_the_names_of_both_generations(model):
    assert set(DEFINITIONS[model.__name__]["properties"]) == set(wire_names(model))


@pytest.mark.parametrize(
    ("body", "mistake"),
    [
        ({}, ".scenario is missing"),
        ({"scenario": "s", "options": {"releaseAfter": "tasks"}}, ".options.releaseAfter matches nothing of anyOf"),
        ({"scenario": "s", "simulate": {"tasks": {"until": "PT5M"}}}, ".until matches nothing of anyOf"),
        ({"scenario": "s", "simulate": {"tasks": {"does": [{"at": 5, "terminateJob": {}}]}}}, ".at does not exist"),
        ({"scenario": "s", "simulate": {"tasks": {"does": [{"after": 5}]}}}, "oneOf"),
        ({"scenario": "s", "simulate": {"spot": {"evictionRates": 1}}}, ".evictionRates does not exist"),
        ({"scenario": "s", "simulate": {"storage": {"*": {"blobs": {"a": {"sise": 1}}}}}}, "blobs"),
        ({"scenario": "s", "pool": []}, ".pool does not exist"),
        ({"scenario": "s", "study": {"sedes": 3}}, ".sedes does not exist"),
        ({"scenario": "s", "study": {"seeds": "three"}}, ".study.seeds matches nothing of anyOf"),
        ({"scenario": "s", "study": {"vary": {"pools.p.vmSize": 3}}}, "pools.p.vmSize matches nothing of anyOf"),
        ({"scenario": "s", "study": {"measure": ["costs"]}}, ".measure[0] matches nothing of anyOf"),
        ({"scenario": "s", "pools": [{"id": "p"}]}, ".pools[0].vmSize is missing"),
        ({"scenario": "s", "pools": [{"id": "p", "vmSize": "a", "maxTasksPerNode": "2"}]}, "is no ['integer']"),
        ({"scenario": "s", "timeline": [{"at": 5}]}, "oneOf"),
        ({"scenario": "s", "timeline": [{"at": 5, "rebotNode": {}}]}, ".rebotNode does not exist"),
        ({"scenario": "s", "expect": [{"jobId": "j", "state": "done"}]}, "is none of"),
    ],
)
def test_mistakes_are_seen(body, mistake):
    assert mistake in "\n".join(wrong(body, SCHEMA))


def test_older_names_are_valid():
    pool = {"id": "p", "vmSize": "a", "targetDedicated": 1, "startTask": {"commandLine": "x", "runElevated": True}}
    add = {"jobId": "j", "value": [{"id": "t", "commandLine": "x"}]}
    body = {"scenario": "s", "pools": [pool], "timeline": [{"at": "PT1M", "addTasks": add}]}
    assert not list(wrong(body, SCHEMA))


def test_extensions_are_valid():
    does = [
        {"after": "PT5S", "addTasks": {"tasks": [{"id": "t", "commandLine": "x"}]}},
        {"after": 9, "terminateJob": {}},
    ]
    body = {
        "scenario": "s",
        "account": {"storageAccount": "contoso"},
        "options": {"releaseAfter": "preparation", "rebootRetriesFailedPreparation": True, "strictStorage": True},
        "simulate": {
            "nodes": {"failureRate": 0.5},
            "spot": {"evictionRate": 1, "notice": "PT1M"},
            "service": {"errorRate": 0.01, "latency": {"lognormal": ["PT0.05S", 0.5]}, "throttle": 20},
            "tasks": {"disk": {"read": "1 MB"}, "network": "4 MB", "does": does, "until": "othersCompleted"},
            "storage": {
                "https://*/blob": {"text": "x", "until": "PT1H"},
                "https://*": {"blobs": {"a": "4 GB", "b": {"text": "x"}}},
            },
        },
        "timeline": [
            {"at": 1, "quota": {"dedicatedCores": 5}},
            {"at": 2, "createApplicationPackage": {"applicationId": "a", "version": "1", "size": "1 GB"}},
            {"at": 3, "deleteApplicationPackage": {"applicationId": "a", "version": "1"}},
            {"at": 4, "updateApplication": {"applicationId": "a", "defaultVersion": "1"}},
        ],
    }
    assert not list(wrong(body, SCHEMA))
    load("s.json", text=json.dumps(body | {"timeline": body["timeline"][:2]}))


def test_defaults_read_as_in_a_file():
    assert DEFINITIONS["PoolSpec"]["properties"]["resizeTimeout"]["default"] == "PT15M"


def test_descriptions_name_properties_as_the_service_does():
    told = re.findall(r'"description": "(.*?)"[,}]', json.dumps(SCHEMA))
    assert len(told) > 200
    assert [text for text in told if "``" in text or re.search(r"`\w+_\w+`", text) or "None" in text] == []


def test_every_property_of_simulate_says_what_it_is():
    assert [name for name, rule in DEFINITIONS["Simulate"]["properties"].items() if "description" not in rule] == []
