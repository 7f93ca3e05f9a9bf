"""Many tasks as one: the description of a task, and how many of it there are."""

from __future__ import annotations

from collections.abc import Mapping

from tui.viewmodels.actions.fields import Body, property_at

_NUMBER = "{0}"  # stands for the task's number in a factory
COUNT = "count"  # how many tasks like the one that is described
EACH = "task"  # one of them
FIRST_ID = "task"  # of the tasks that a new job begins with, unless another id is typed


def unfold_tasks(body: Body) -> Body:
    """Return a body with its one task, or the tasks of its factory, as a description and a count."""
    rest = {name: value for name, value in body.items() if name not in ("tasks", "taskFactory")}
    listed, factory = body.get("tasks"), body.get("taskFactory")
    if isinstance(listed, list) and len(listed) == 1 and factory is None:
        return rest | {EACH: listed[0], COUNT: 1}
    if not listed and isinstance(factory, Mapping):
        sets, task = factory.get("parameterSets"), factory.get("repeatTask")
        is_plain = set(factory) <= {"type", "parameterSets", "repeatTask"}
        stem = str(property_at(task, "id") or "")
        if is_plain and isinstance(task, Mapping) and isinstance(sets, list) and stem.count(_NUMBER) == 1:
            only = sets[0] if len(sets) == 1 else None
            if isinstance(only, Mapping) and set(only) == {"start", "end"} and only["start"] == 1:
                return rest | {EACH: {**task, "id": stem.removesuffix(f"-{_NUMBER}")}, COUNT: only["end"]}
    return body


def fold_tasks(body: Body, default_id: str = "") -> Body:
    """Return a body with the task that it describes, or a factory of as many as it says.

    Args:
        body: The body with a description and a count.
        default_id: The id of a task that is described without one.
    """
    described = body.get(EACH)
    rest = {name: value for name, value in body.items() if name not in (EACH, COUNT)}
    count = body.get(COUNT, 1)
    task = described if isinstance(described, Mapping) else {}
    if count == 1 and not set(task) - {"id"}:
        return rest
    stem = str(task.get("id", default_id))
    task = {"id": stem, **task} if stem else task
    if count == 1:
        return rest | {"tasks": [task]}
    factory = {
        "type": "parametricSweep",
        "parameterSets": [{"start": 1, "end": count}],
        "repeatTask": {**task, "id": stem if _NUMBER in stem else f"{stem}-{_NUMBER}"},
    }
    return rest | {"taskFactory": factory}
