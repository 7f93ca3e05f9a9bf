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
    fields, defaults = fields_of(model), _defaults(model)
    kept: dict[str, Any] = {}
    for name, value in body.items():
        field = fields.get(name)
        if field is None or name in model.SERVICE_NAMES or name in _LEFT_OUT or not has_effect(field):
            continue
        if name.startswith("current") or (name in defaults and value == defaults[name]):
            continue
        inner = model_of(field)
        new = _inside(value, inner) if inner is not None else value
        if new not in ([], {}) or new == value:
            kept[name] = new
    for name, field in fields.items():
        if field.is_required() and is_secret(field):
            kept.setdefault(name, "")
    return {name: value for name, value in kept.items() if value != []}


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
