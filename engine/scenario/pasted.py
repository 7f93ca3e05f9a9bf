"""Bodies in another form than the one that creates the thing: as a resource, or as the service returns them.

They are put into that form before they are read. What only the service writes is left out, with one warning for each
body; so are the lists of nodes and statuses that only the state document of a run adds (GEN-21).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from engine.scenario import arm
from engine.scenario.body_models import fields_of
from engine.scenario.document import DocumentPlace, Path
from engine.scenario.spelling import PRINTED_BY_AZ, Parts, Style, spelled, wire_spelled
from engine.scenario.tree import Tree
from engine.specs.account import Account, Certificate
from engine.specs.base import Spec
from engine.specs.commands import COMMANDS
from engine.specs.job import JobSpec
from engine.specs.pool import PoolSpec
from engine.specs.schedule import JobScheduleSpec
from engine.specs.task import TaskSpec

_AUTO_POOL: Path = ("poolInfo", "autoPoolSpecification", "pool")
_TARGETS = ("targetDedicatedNodes", "targetLowPriorityNodes", "targetDedicated")
Change = Callable[[DocumentPlace], DocumentPlace]


def as_created(place: DocumentPlace, model: type[Spec], others: Iterable[str] = ()) -> DocumentPlace:
    """Return a body of ``model`` in the form that creates the thing, itself if it has that form.

    ``model`` is the body of a pool, job, job schedule, account or certificate, or that of a command which creates one
    or adds tasks. Keys in ``others`` stand beside the body. Mistakes in a resource are reported.
    """
    kept = tuple(others)
    if issubclass(model, PoolSpec):
        return _pool(place, model, kept)
    if issubclass(model, JobSpec):
        place = _changed(place, _AUTO_POOL, _auto_pool)
        return _with_tasks(_as_sent(place, model, kept))
    if issubclass(model, JobScheduleSpec):
        return _as_sent(_changed(place, ("jobSpecification", *_AUTO_POOL), _auto_pool), model, kept)
    if issubclass(model, Account):
        return _as_sent(_changed(place, ("certificates",), partial(_each, model=Certificate)), model, kept)
    if issubclass(model, Certificate):
        return _as_sent(place, model, kept)
    return _with_tasks(place) if "tasks" in fields_of(model) else place


def command_as_created(entry: DocumentPlace) -> DocumentPlace:
    """Return an entry of a timeline with the bodies of its commands in the form that creates the thing.

    An entry that is read again is not put into that form again, so mistakes in it are reported once.
    """
    known = entry.document.created
    if entry.tree not in known:
        changed = entry
        for name in entry.tree.value if isinstance(entry.tree.value, dict) else ():
            if name in COMMANDS:
                changed = _changed(changed, (name,), partial(as_created, model=COMMANDS[name]))
        known[entry.tree] = changed.tree
    return entry._replace(tree=known[entry.tree])


def _pool(place: DocumentPlace, model: type[PoolSpec], others: tuple[str, ...]) -> DocumentPlace:
    if not arm.is_resource(place):
        sent = _as_sent(place, model, others)
        if sent is not place or not arm.has_resource_names(place):
            return sent
    pool, left_out = arm.pool_of(place, others=others, has_id=True)
    _warn(place, left_out)
    return pool


def _auto_pool(place: DocumentPlace) -> DocumentPlace:
    if _is_printed_by_az(place) or not (arm.is_resource(place) or arm.has_resource_names(place)):
        return place
    pool, left_out = arm.pool_of(place, others=(), has_id=False)
    _warn(place, left_out)
    return pool


def _with_tasks(place: DocumentPlace) -> DocumentPlace:
    for path in (("tasks",), ("value",), ("taskFactory", "tasks")):
        place = _changed(place, path, partial(_each, model=TaskSpec))
    return place


def _each(place: DocumentPlace, model: type[Spec]) -> DocumentPlace:
    """Return a list of bodies of ``model``, each without what only the service writes."""
    entries = [(entry, _as_sent(entry, model, ())) for entry in place.entries()]
    if all(before.tree is after.tree for before, after in entries):
        return place
    trees = [after.tree for _, after in entries]
    return place._replace(tree=Tree(place.tree.position, trees, size=1 + sum(tree.size for tree in trees)))


def _as_sent(place: DocumentPlace, model: type[Spec], others: tuple[str, ...]) -> DocumentPlace:
    """Return a body without what only the service writes, itself if there is nothing of the kind.

    It may have the names and values of a client: of Python's or of the Azure CLI (GEN-21).
    """
    written, place = place, wire_spelled(place, model, others)
    left_out = list(_written_by_service(place, model))
    if not left_out and place is written and not _is_printed_by_az(place):
        return place
    is_automatic = place.get("enableAutoScale")
    if is_automatic is not None and is_automatic.plain is True:  # the formula has set them
        left_out += filter(None, map(place.get, _TARGETS))
    _warn(place, left_out)
    dropped = {inner.path for inner in left_out}
    parts = Parts(place)
    apart = Parts(place)
    for name, inner in place.items():
        if inner.path in dropped:
            continue
        if name in others:
            apart.put(name, inner)
        else:
            parts.put(name, inner)
    sent = place._replace(tree=spelled(parts.place(), model, Style(is_returned=True)))
    for name, inner in sent.items():
        apart.put(name, inner)
    if issubclass(model, JobScheduleSpec):  # the service leaves out a schedule in which nothing is set
        apart.default("schedule", Tree(place.tree.position, {}))
    return apart.place()


def _is_printed_by_az(place: DocumentPlace) -> bool:
    return isinstance(place.plain, dict) and PRINTED_BY_AZ in place.plain


def _written_by_service(place: DocumentPlace, model: type[Spec]) -> Iterator[DocumentPlace]:
    value = place.plain
    for name in value if isinstance(value, dict) else ():
        if name in model.SERVICE_NAMES or name.startswith(("odata.", "@odata.")):
            inner = place.get(name)
            if inner is not None:
                yield inner


def _warn(place: DocumentPlace, left_out: list[DocumentPlace]) -> None:
    if not left_out:
        return
    names = ", ".join(str(inner.path[-1]) for inner in left_out)
    first = left_out[0]
    position = first.key_position or first.tree.position
    place.document.returned.add(place.path)
    place.document.warn(f"what only the service writes is left out: {names}", position, place.path)


def _changed(place: DocumentPlace, path: Path, change: Change) -> DocumentPlace:
    """Return the place with the value at ``path`` changed; itself if there is no such value or it stays."""
    if not path:
        return change(place)
    name = str(path[0])
    inner, value = place.get(name), place.tree.value
    if inner is None or not isinstance(value, dict):
        return place
    new = _changed(inner, path[1:], change)
    if new.tree is inner.tree:
        return place
    tree = place.tree
    origins = {**tree.origins, name: new.path}
    return place._replace(tree=Tree(tree.position, {**value, name: new.tree}, tree.keys, origins, tree.size))
