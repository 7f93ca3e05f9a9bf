"""Reading a ``taskFactory``: a parametric sweep or a collection of tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping

from engine.base.errors import ScenarioError
from engine.base.terms import Plain
from engine.scenario.bodies import read_body, read_value
from engine.scenario.document import Document, DocumentPlace
from engine.scenario.factory import TaskFactory, parse_pattern, template_strings
from engine.scenario.tree import parse
from engine.scenario.wording import does_not_exist, one_of, shown
from engine.specs.task import TaskSpec

TASK_LIMIT = 10_000_000
_KEYS = {"parametricSweep": ("type", "parameterSets", "repeatTask"), "taskCollection": ("type", "tasks")}
_SET_KEYS = ("start", "end", "step")


def read_tasks(place: DocumentPlace) -> tuple[tuple[DocumentPlace, TaskSpec], ...]:
    """Return the valid tasks of a list with their places; report mistakes."""
    if not isinstance(place.tree.value, list):
        place.report("must be a list of tasks")
    found = []
    for entry in place.entries():
        task = read_body(entry, TaskSpec)
        if task is not None:
            found.append((entry, task))
    return tuple(found)


def read_factory(place: DocumentPlace) -> tuple[TaskFactory | None, tuple[tuple[DocumentPlace, TaskSpec], ...]]:
    """Return the sweep of a task factory, or the tasks of its collection."""
    if not check_keys(place, _KEYS["parametricSweep"], only_mapping=True):
        return None, ()
    kind = place.get("type")
    if kind is None:
        place.report_missing("type")
        return None, ()
    keys = next((keys for name, keys in _KEYS.items() if name.lower() == str(kind.plain).lower()), None)
    if keys is None:
        kind.report(f"{shown(kind.plain)} is not a kind of task factory" + one_of(str(kind.plain), _KEYS))
        return None, ()
    check_keys(place, keys)
    if "tasks" in keys:
        tasks = place.get("tasks")
        if tasks is None:
            place.report_missing("tasks")
            return None, ()
        return None, read_tasks(tasks)
    text = json.dumps(place.plain)
    factory = place.document.sweeps.get(text) or _read_sweep(place)
    if factory is not None:
        place.document.sweeps[text] = factory
    return factory, ()


def factory_of(body: Mapping[str, Plain]) -> tuple[TaskFactory | None, tuple[TaskSpec, ...]]:
    """Return the sweep or the tasks of a ``taskFactory`` given as data.

    Raises:
        ScenarioError: It has mistakes; all of them are listed.
    """
    document = Document("taskFactory")
    tree = parse(json.dumps(body), document.report)
    factory, listed = read_factory(DocumentPlace(document, tree)) if tree is not None else (None, ())
    if document.problems:
        raise ScenarioError(document.problems)
    return factory, tuple(task for _, task in listed)


def check_keys(place: DocumentPlace, known: tuple[str, ...], *, only_mapping: bool = False) -> bool:
    """Return whether the value is a mapping; report unknown keys."""
    if not isinstance(place.tree.value, dict):
        place.report(f"must be a mapping with {', '.join(known)}")
        return False
    for name, inner in place.items() if not only_mapping else ():
        if name not in known:
            inner.report(does_not_exist(name, known), key=True)
    return True


def _read_sweep(place: DocumentPlace) -> TaskFactory | None:
    sets, template = place.get("parameterSets"), place.get("repeatTask")
    if sets is None:
        place.report_missing("parameterSets")
    if template is None:
        place.report_missing("repeatTask")
    ranges = _read_ranges(sets) if sets is not None else None
    if template is None or not check_keys(template, ("id", "commandLine"), only_mapping=True) or ranges is None:
        return None
    if not _has_valid_patterns(template, len(ranges)):
        return None
    body = template.plain
    assert isinstance(body, dict)
    factory = TaskFactory(ranges, body)
    for k in factory.samples():
        if read_value(template, TaskSpec, factory.body(k)) is None:
            return None
    problem = factory.duplicate()
    if problem is not None:
        (template.get("id") or template).report(problem)
        return None
    return factory


def _has_valid_patterns(template: DocumentPlace, parameters: int) -> bool:
    sound = True
    for path, text in template_strings(template.plain):
        try:
            parse_pattern(text, parameters)
        except ValueError as error:
            template.find(path)[0].report(str(error))
            sound = False
    return sound


def _read_ranges(place: DocumentPlace) -> list[range] | None:
    entries = list(place.entries())
    if not entries:
        place.report("must be a list of parameter sets, such as [{start: 1, end: 200}]")
        return None
    ranges = [_read_range(entry) for entry in entries]
    found = [parameter for parameter in ranges if parameter is not None]
    count = 1
    for parameter in found:
        count *= _length(parameter)
        if count > TASK_LIMIT:
            place.report(f"makes more than {TASK_LIMIT:,} tasks")
            return None
    return found if len(found) == len(ranges) else None


def _length(parameter: range) -> int:
    """Return ``len`` of a range of any length."""
    return max(
        0, (parameter.stop - parameter.start + parameter.step - (1 if parameter.step > 0 else -1)) // parameter.step
    )


def _read_range(place: DocumentPlace) -> range | None:
    if not check_keys(place, _SET_KEYS):
        return None
    numbers: dict[str, int] = {"step": 1}
    for name in _SET_KEYS:
        inner = place.get(name)
        value = inner.plain if inner is not None else None
        if inner is not None and (isinstance(value, bool) or not isinstance(value, int)):
            inner.report("must be a whole number")
            return None
        if isinstance(value, int):
            numbers[name] = value
        elif name != "step":
            place.report_missing(name)
            return None
    start, end, step = numbers["start"], numbers["end"], numbers["step"]
    if step == 0 or (end - start) * step < 0:
        wrong = place.get("step") or place.get("end") or place
        wrong.report(f"steps of {step} from {start} never reach {end}")
        return None
    return range(start, end + (1 if step > 0 else -1), step)
