"""The bodies that create pools, jobs and tasks, made of those that the service has returned."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from engine.scenario.bodies import fields_of, mistake_text, model_of
from engine.specs.base import Spec, accepted_names, has_effect, is_secret
from engine.specs.bodies import (
    JobConstraints,
    JobManagerTask,
    JobPreparationTask,
    JobReleaseTask,
    JobSpec,
    MultiInstanceSettings,
    PoolSpec,
    PreparationConstraints,
    StartTask,
    TaskConstraints,
    TaskSchedulingPolicy,
    TaskSpec,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from engine.scenario.document import Path

# Those whose defaults a scenario leaves out.
_WITH_DEFAULTS: frozenset[type[Spec]] = frozenset(
    {
        *(PoolSpec, JobSpec, TaskSpec, StartTask, JobManagerTask, JobPreparationTask, JobReleaseTask),
        *(MultiInstanceSettings, TaskConstraints, PreparationConstraints, JobConstraints, TaskSchedulingPolicy),
    }
)
# The first names a node of the original run; the second is made of what really happened.
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
    for name, field in fields_of(model).items():
        if field.is_required() and is_secret(field):
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


def _inside(value: Any, model: type[Spec]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [created(inner, model) if isinstance(inner, dict) else inner for inner in value]
    return created(value, model) if isinstance(value, dict) else value


@cache
def _defaults(model: type[Spec]) -> dict[str, Any]:
    if model not in _WITH_DEFAULTS:
        return {}
    required = {name for name, field in fields_of(model).items() if field.is_required()}
    return {name: value for name, value in model.model_construct().wire().items() if name not in required}


_LATER = frozenset({"enum", "literal_error"})  # words that a newer version of the service may have
_ROUNDS = 100
_TEXTS = frozenset({"id", "commandLine"})  # whose values are any text
_MOST_VALID = 10_000


def conform(body: dict[str, Any], model: type[Spec], valid: set[str]) -> Iterator[tuple[str, Path]]:
    """Remove the values that the model of a body does not allow; yield what is wrong with each, and its path.

    Only those count that belong to what creates the thing. ``valid`` are the values that were found to be right: most
    tasks differ in nothing but texts.
    """
    values = {name: body[name] for name in _properties(model).keys() & body.keys()}
    others = repr([each for each in sorted(values.items()) if each[0] not in _TEXTS or not isinstance(each[1], str)])
    if others in valid:
        return
    for round_number in range(_ROUNDS):
        try:
            model.from_wire(created(body, model))
            if not round_number and len(valid) < _MOST_VALID:
                valid.add(others)
        except ValidationError as error:
            mistakes = [details for details in error.errors(include_url=False) if details["type"] not in _LATER]
        else:
            return
        places = {details["loc"][: -1 if details["type"] == "missing" else None]: details for details in mistakes}
        in_order = sorted(places, key=lambda place: [str(part).zfill(9) for part in place], reverse=True)
        removed = [(path, places[place]) for place in in_order if (path := _remove(body, place, model))]
        for path, details in removed:
            yield mistake_text(details), path
        if not removed:
            return


def _remove(body: dict[str, Any], place: Path, model: type[Spec]) -> Path:
    """Remove the value at a place, or the nearest one around it; return its path, empty if there is none."""
    field = fields_of(model).get(str(place[0])) if place else None
    first = next((name for name in accepted_names(field) if name in body), None) if field is not None else None
    if first is None:
        return ()
    path: list[str | int] = [first]
    container: Any = body
    for part in place[1:]:
        inner = container[path[-1]]
        if not (part in inner if isinstance(inner, dict) else isinstance(inner, list) and part in range(len(inner))):
            break
        container = inner
        path.append(part)
    del container[path[-1]]
    return tuple(path)


class Alike:
    """The tasks of a job that have been seen, by what decides whether ``check`` accepts them."""

    def __init__(self, job: Mapping[str, Any], named: Iterable[str]) -> None:
        """``named`` are the ids of tasks that the timeline names."""
        special = (job[name].get("id") for name in ("jobPreparationTask", "jobReleaseTask") if name in job)
        self._special = {str(task_id).casefold() for task_id in (*special, *named)}
        self._seen: set[str] = set()

    def others(self, tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the tasks of which there has been none like them before."""
        return [task for task in tasks if self._is_new(task)]

    def _is_new(self, task: Mapping[str, Any]) -> bool:
        if task["id"].casefold() in self._special:
            return True
        likeness = str({name: value for name, value in task.items() if name not in ("id", "commandLine", "simulate")})
        is_new = likeness not in self._seen
        self._seen.add(likeness)
        return is_new
