"""Bodies that create pools, jobs and tasks, made of those that the service returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from engine.scenario.body_models import fields_of, model_of
from engine.specs.base import Spec, has_effect, is_secret
from engine.specs.job import (
    JobConstraints,
    JobManagerTask,
    JobPreparationTask,
    JobReleaseTask,
    JobSpec,
    PoolInfo,
    PreparationConstraints,
)
from engine.specs.pool import PoolSpec, StartTask, TaskSchedulingPolicy
from engine.specs.task import MultiInstanceSettings, TaskConstraints, TaskSpec

_EXAMPLES: dict[type[Spec], Spec] = {
    PoolSpec: PoolSpec(id="", vm_size=""),
    JobSpec: JobSpec(id="", pool_info=PoolInfo(pool_id="")),
    TaskSpec: TaskSpec(id="", command_line=""),
    StartTask: StartTask(command_line=""),
    JobManagerTask: JobManagerTask(id="", command_line=""),
    JobPreparationTask: JobPreparationTask(command_line=""),
    JobReleaseTask: JobReleaseTask(command_line=""),
    MultiInstanceSettings: MultiInstanceSettings(coordination_command_line=""),
    TaskConstraints: TaskConstraints(),
    PreparationConstraints: PreparationConstraints(),
    JobConstraints: JobConstraints(),
    TaskSchedulingPolicy: TaskSchedulingPolicy(),
}
# Another node, another link to storage: what names them says nothing about a replay.
_LEFT_OUT = frozenset({"affinityInfo", "simulate"})


def created(body: Mapping[str, Any], model: type[Spec]) -> dict[str, Any]:
    """Return the body that creates the thing.

    It has neither what only the service writes, nor what a scenario does not know or what changes nothing in it, nor
    defaults.
    """
    properties, defaults = _properties(model), _defaults(model)
    kept: dict[str, Any] = {}
    for name, value in body.items():
        if name not in properties or (name in defaults and value == defaults[name]):
            continue
        inner = properties[name]
        new = value if inner is None else _inside(value, inner)
        if new != [] and (new != {} or value == {}):
            kept[name] = new
    for name in _required_secrets(model):
        kept.setdefault(name, "")
    return kept


@cache
def _properties(model: type[Spec]) -> dict[str, type[Spec] | None]:
    """Return the properties that creating a thing takes and that have an effect, with the models of their values."""
    return {
        name: model_of(field)
        for name, field in fields_of(model).items()
        if has_effect(field) and name not in (*model.SERVICE_NAMES, *_LEFT_OUT) and not name.startswith("current")
    }


@cache
def _required_secrets(model: type[Spec]) -> tuple[str, ...]:
    return tuple(name for name, field in fields_of(model).items() if field.is_required() and is_secret(field))


def _inside(value: Any, model: type[Spec]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [created(inner, model) if isinstance(inner, dict) else inner for inner in value]
    if not isinstance(value, dict):
        return value
    return created(value, model)


@cache
def _defaults(model: type[Spec]) -> dict[str, Any]:
    example = _EXAMPLES.get(model)
    if example is None:
        return {}
    given = {name for field in example.model_fields_set for name in _names(model, field)}
    return {name: value for name, value in example.wire().items() if name not in given}


def _names(model: type[Spec], field: str) -> Iterable[str]:
    wanted = model.model_fields[field]
    return (name for name, other in fields_of(model).items() if other is wanted)
