"""Documents in which every text has control characters, and how to find what of them a terminal would get."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from engine import ScenarioError
from engine.scenario.load import load
from engine.scenario.schema import schema

# Writes to the clipboard, clears the screen, and shows what follows backwards.
HOSTILE = "a\x1b]52;c;SEVMTE8=\x07b\x9b2Jc\x7fd\r\u202ee\u2066f\u200f\u061c\u2028g"
SHOWN = r"\x1b]52;c;SEVMTE8=\x07"
IN_JSON = r"\u001b]52;c;SEVMTE8=\u0007"
_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_DEEPEST = 12
_ROUNDS = 20
_PART = re.compile(r'\[(\d+)\]|\["(.*?)"\]|\.?([^.[\]]+)')
# What a document needs to be valid, by the names of properties.
_NEEDED = {
    "id": "x",
    "vmSize": "standard_d2s_v3",
    "poolId": "x",
    "jobId": "x",
    "taskId": "x",
    "jobScheduleId": "x",
    "applicationId": "x",
    "name": "x",
    "value": "x",
    "userName": "x",
    "thumbprint": "ab",
    "thumbprintAlgorithm": "sha1",
    "targetDedicatedNodes": 2,
    "duration": 30,
}


def controls_in(text: str) -> list[str]:
    """Return what of a text would act on a terminal, or show it in another order, each with what is around it."""
    return [ascii(text[max(0, found.start() - 40) : found.end() + 20]) for found in _CONTROL.finditer(text)]


def hostile_document() -> Any:
    """Return a document with every property of a scenario and of every body and command, all texts hostile."""
    rules = schema()
    document = _filled(rules, rules["$defs"], 0)
    entry = document["timeline"][0]
    commands = (name for name in entry if f"{name[0].upper()}{name[1:]}" in rules["$defs"])
    document["timeline"] = [{"at": f"PT{at}S", name: entry[name]} for at, name in enumerate(commands, start=30)]
    return document


def _filled(rule: dict[str, Any], named: dict[str, Any], depth: int) -> Any:
    for ways in ("anyOf", "oneOf", "else"):
        if ways in rule:
            first = rule[ways] if ways == "else" else rule[ways][0]
            return _filled(first, named, depth + 1)
    if "$ref" in rule:
        return HOSTILE if depth > _DEEPEST else _filled(named[rule["$ref"].removeprefix("#/$defs/")], named, depth + 1)
    if "const" in rule or "enum" in rule:
        return rule["const"] if "const" in rule else rule["enum"][0]
    kinds = rule.get("type", "object" if "properties" in rule else "string")
    match kinds if isinstance(kinds, str) else kinds[0]:
        case "object":
            made = {name: _filled(inner, named, depth + 1) for name, inner in rule.get("properties", {}).items()}
            others = rule.get("additionalProperties")
            return made | ({HOSTILE: _filled(others, named, depth + 1)} if isinstance(others, dict) else {})
        case "array":
            return [_filled(rule.get("items", {}), named, depth + 1)]
        case "integer" | "number":
            return 1
        case "boolean":
            return True
    return HOSTILE


@cache
def valid_documents() -> tuple[str, ...]:
    """Return the document as JSON after each round in which all that was wrong was replaced or removed.

    The last one is valid, and has hostile texts wherever a scenario may have free text.
    """
    document = hostile_document()
    rounds = []
    for _ in range(_ROUNDS):
        rounds.append(json.dumps(document))
        try:
            load("s.yaml", text=rounds[-1])
        except ScenarioError as error:
            for path in sorted({_parts(problem.path) for problem in error.problems}, key=_order, reverse=True):
                _mend(document, path)
        else:
            return tuple(rounds)
    raise AssertionError("the document is still not valid")


def _parts(path: str) -> tuple[str | int, ...]:
    return tuple(int(index) if index else key or name for index, key, name in _PART.findall(path))


def _order(path: tuple[str | int, ...]) -> list[tuple[bool, str | int]]:
    return [(isinstance(part, int), part) for part in path]


def _mend(document: Any, path: tuple[str | int, ...]) -> None:
    """Give what is at a path a value that may stand there, or remove it."""
    parents = [document]
    for part in path[:-1]:
        try:
            parents.append(parents[-1][part])
        except (LookupError, TypeError):
            return
    parent, last = parents[-1], path[-1]
    needed = "-".join(map(str, path)) if str(path[-2:-1]).endswith("Task',)") else _NEEDED.get(str(last))
    if isinstance(parent, dict) and needed is not None and parent.get(last) != needed:
        parent[last] = needed
    elif last in (parent if isinstance(parent, dict) else range(len(parent))):
        del parent[last]
    elif len(parents) > 1:  # something is missing here
        del parents[-2][path[-2]]


def hostile_run() -> str:
    """Return a scenario, as JSON, of a run that shows hostile texts wherever there may be some."""
    line = {"commandLine": f"echo {HOSTILE}", "simulate": {"duration": 20, "stdout": f"{HOSTILE}\n" * 3}}
    named = {"displayName": HOSTILE, "environmentSettings": [{"name": HOSTILE, "value": HOSTILE}]}
    metadata = [{"name": "m", "value": "v"}]  # the service takes no controls here
    fails = line | {"simulate": {"duration": 30, "exitCode": 3, "stderr": HOSTILE}}
    uploads = {"containerUrl": f"https://store.blob.core.windows.net/out?{HOSTILE}", "path": HOSTILE}
    condition = {"uploadOptions": {"uploadCondition": "taskcompletion"}}
    tasks: list[dict[str, Any]] = [{"id": f"t{number}", **named, **line} for number in range(3)]
    tasks[0]["outputFiles"] = [{"filePattern": "../std*.txt", "destination": {"container": uploads}, **condition}]
    tasks[1] |= {"resourceFiles": [{"httpUrl": f"https://else.where/{HOSTILE}", "filePath": HOSTILE}]}
    pool = {
        "id": "p",
        "vmSize": "standard_d2s_v3",
        "targetDedicatedNodes": 2,
        "displayName": HOSTILE,
        "metadata": metadata,
        "startTask": line,
    }
    job = {
        "id": "j",
        "poolInfo": {"poolId": "p"},
        "displayName": HOSTILE,
        "metadata": metadata,
        "commonEnvironmentSettings": named["environmentSettings"],
        "jobPreparationTask": line,
        "jobReleaseTask": line,
        "tasks": [*tasks, {"id": "bad", **named, **fails}],
    }
    return json.dumps(
        {
            "scenario": HOSTILE,
            "description": HOSTILE,
            "pools": [pool],
            "jobs": [job, {"id": "waits", "poolInfo": {"poolId": "p"}, "tasks": [{"id": "t", **line}], "at": "PT1H"}],
            "timeline": [
                {"at": "PT10M", "terminateJob": {"jobId": "j", "terminateReason": HOSTILE}},
                {"at": "PT11M", "createPool": {"id": HOSTILE, "vmSize": HOSTILE}},
                {"at": "PT12M", "enablePoolAutoScale": {"poolId": "p", "autoScaleFormula": f"$x = 1; // {HOSTILE}"}},
            ],
            "expect": [{"jobId": "j", "terminateReason": f"{HOSTILE}!"}],
        }
    )
