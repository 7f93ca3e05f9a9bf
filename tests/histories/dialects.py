"""The three dialects in which the objects of the service are exported, written from the bodies of the REST API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import Simulation
from engine.base.values import parse_duration
from engine.views.results import document

if TYPE_CHECKING:
    from engine import Scenario

_SNAKE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DURATIONS = ("maxWallClockTime", "retentionTime", "resizeTimeout", "autoScaleEvaluationInterval", "recurrenceInterval")
_UNLIMITED = timedelta(days=10675199, hours=2, minutes=48, seconds=5, microseconds=477581)
_ABSENT = {"displayName": None, "constraints": None, "certificateReferences": None, "containerSettings": None}


def state_of(scenario: Scenario, seed: int | None = None) -> dict[str, Any]:
    """Return the state document of a whole run."""
    sim = Simulation(scenario, seed, can_go_back=False)
    sim.run_until(sim.end_ms)
    sim.finish()
    state: dict[str, Any] = json.loads(json.dumps(document(sim)))
    return state


def rest(value: Any) -> Any:
    return value


def older_az(value: Any, name: str = "") -> Any:
    """As az printed until 2025: each property, null when unset, and the times and durations of Python."""
    if isinstance(value, dict):
        body = {"additionalProperties": {}} | {_older(key): older_az(inner, key) for key, inner in value.items()}
        return body if name in ("resourceTags",) else dict(_ABSENT) | body if "id" in body else body
    if isinstance(value, list):
        return [older_az(inner, name) for inner in value]
    if isinstance(value, str) and name in _DURATIONS:
        ms = parse_duration(value)
        return str(_UNLIMITED if ms is None else timedelta(milliseconds=ms))
    if isinstance(value, str) and name.endswith("Time") and value.endswith("Z"):
        return value.removesuffix("Z") + "+00:00"
    return value


def _older(name: str) -> str:
    return {"username": "userName", "nodeAgentSKUId": "nodeAgentSkuId", "publicIPAddress": "publicIpAddress"}.get(
        name, name
    )


def python(value: Any) -> Any:
    """As ``as_dict()`` of azure-batch 14 returns it."""
    if isinstance(value, dict):
        return {_snake(key): python(inner) for key, inner in value.items()}
    return [python(inner) for inner in value] if isinstance(value, list) else value


def _snake(name: str) -> str:
    return {"username": "user_name"}.get(name) or _SNAKE.sub("_", name).lower()


DIALECTS = {"rest": rest, "older az": older_az, "python": python}


def written(state: dict[str, Any], folder: Path, dialect: str) -> list[Path]:
    """Write a state document as somebody exports it: each object or list in a file of its own."""
    names = count(1)
    paths: list[Path] = []
    for value in _exports(state):
        paths.append(folder / f"{next(names)}.json")
        paths[-1].write_text(json.dumps(DIALECTS[dialect](value), indent=2), encoding="utf-8")
    return paths


def _exports(state: dict[str, Any]) -> Iterator[Any]:
    for pool in state["pools"]:
        yield {key: value for key, value in pool.items() if key not in ("nodes", "formerNodes")}
        yield {"value": pool["nodes"] + pool["formerNodes"]}
    for job in state["jobs"]:
        yield {key: value for key, value in job.items() if key not in ("tasks", "jobPreparationAndReleaseTaskStatus")}
        yield job["tasks"]
        yield {"value": job.get("jobPreparationAndReleaseTaskStatus", [])}
    yield state["jobSchedules"]
