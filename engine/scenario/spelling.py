"""Names and values as other programs write them, put into those of the data plane."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from pydantic.fields import FieldInfo

from engine.base.errors import Position
from engine.base.lazy import lazy_regex
from engine.scenario.body_models import fields_of, model_of
from engine.scenario.document import DocumentPlace, Path
from engine.scenario.tree import Tree
from engine.scenario.wording import does_not_exist, shown
from engine.specs.base import Spec, is_duration, is_secret

# Properties that the resource manager calls otherwise.
RESOURCE_NAMES = {
    "nodeAgentSKUId": "nodeAgentSkuId",
    "virtualMachineImageId": "id",
    "username": "userName",
    "dynamicVNetAssignmentScope": "dynamicVnetAssignmentScope",
}
PRINTED_BY_AZ = "additionalProperties"
"""A name that the Azure CLI has added to each object that it printed, until 2025."""

# A Python timedelta as text, which is how the Azure CLI prints durations.
_PRINTED = lazy_regex(r"(?:(?P<days>\d+) days?, )?(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d(?:\.\d+)?)")


class Style(NamedTuple):
    """The origin of a body: a resource of the resource manager, and whether the service has returned it."""

    is_resource: bool = False
    is_returned: bool = False


class Parts:
    """The properties of a mapping that is put together from several places of the document."""

    def __init__(self, place: DocumentPlace) -> None:
        """Create it without properties; ``place`` is where absent ones are missed."""
        self._place = place
        self.value: dict[str, Tree] = {}
        self._keys: dict[str, Position] = {}
        self._origins: dict[str, Path] = {}

    def put(self, name: str, source: DocumentPlace, tree: Tree | None = None) -> None:
        """Add a property that the document has at ``source``; report a second one of this name."""
        if name in self.value:
            source.report(
                f"{shown(source.path[-1])} is another name of a property that is already given here", key=True
            )
            return
        self.value[name] = tree if tree is not None else source.tree
        self._keys[name] = source.key_position or source.tree.position
        self._origins[name] = source.path

    def default(self, name: str, tree: Tree) -> None:
        """Add a property that the document does not have, unless it is given."""
        if name not in self.value:
            self.value[name] = tree
            self._keys[name] = tree.position

    def expect(self, name: str, path: Path) -> None:
        """State where the document should have a property if it has it nowhere."""
        self._origins.setdefault(name, path)

    def place(self) -> DocumentPlace:
        """Return the mapping, at the place for which it was made."""
        size = 1 + sum(inner.size for inner in self.value.values())
        return self._place._replace(tree=Tree(self._place.tree.position, self.value, self._keys, self._origins, size))


def spelled(place: DocumentPlace, model: type[Spec], style: Style) -> Tree:
    """Return the mapping with the names of ``model``, recursively; unknown names of a resource are reported."""
    if not isinstance(place.tree.value, dict):
        return place.tree
    fields = fields_of(model)
    parts = Parts(place)
    for name, inner in place.items():
        if inner.tree.value is None or (style.is_returned and name == PRINTED_BY_AZ):
            continue
        known = _name_in(model, name, is_resource=style.is_resource)
        if known == "simulate":
            parts.put(known, inner)
        elif known is not None:
            parts.put(known, inner, spelled_value(inner, fields[known], style))
        elif style.is_resource and name not in getattr(model, "OLDER_NAMES", ()):
            words = [RESOURCE_NAMES.get(other, other) for other in fields]
            inner.report(does_not_exist(name, words), key=True)
            place.document.misspelt.add(place.path)
        else:
            parts.put(name, inner)
    for name, field in fields.items():
        if style.is_resource and name in RESOURCE_NAMES:
            parts.expect(name, (*place.path, RESOURCE_NAMES[name]))
        if style.is_returned and field.is_required() and is_secret(field):
            parts.default(name, Tree(place.tree.position, ""))
    return parts.place().tree


def spelled_value(place: DocumentPlace, field: FieldInfo, style: Style) -> Tree:
    """Return the value of a property, with the names of its model if it has one."""
    if is_duration(field):
        return _duration(place.tree)
    model = model_of(field)
    if model is None:
        return place.tree
    if isinstance(place.tree.value, list):
        items = [spelled(item, model, style) for item in place.entries()]
        return Tree(place.tree.position, list(items), size=1 + sum(item.size for item in items))
    return spelled(place, model, style)


def wire_spelled(place: DocumentPlace, model: type[Spec], others: Iterable[str]) -> DocumentPlace:
    """Return a body with its own names as those of the REST API, where a client library has written it in snake_case.

    The values keep their names. Keys in ``others`` stand beside the body.
    """
    value = place.plain
    if not isinstance(value, dict) or not any("_" in name for name in value):
        return place
    known = _folded(model) | {folded_name(name): name for name in (*model.SERVICE_NAMES, *others)}
    names = {name: known.get(folded_name(name), name) if "_" in name else name for name in value}
    if all(name == new for name, new in names.items()):
        return place
    parts = Parts(place)
    for name, inner in place.items():
        parts.put(names[name], inner)
    return parts.place()


def folded_name(name: str) -> str:
    """Return one spelling for a name in any case, and for its form in snake_case."""
    return name.replace("_", "").casefold()


@cache
def _folded(model: type[Spec]) -> dict[str, str]:
    return {folded_name(name): name for name in fields_of(model)}


def _name_in(model: type[Spec], name: str, *, is_resource: bool) -> str | None:
    """Return the name of a property in ``model``, without regard to case and underscores, or None."""
    fields = fields_of(model)
    if name in fields:
        return name
    if is_resource:
        for own, other in RESOURCE_NAMES.items():
            if own in fields and name.casefold() == other.casefold():
                return own
    return _folded(model).get(folded_name(name))


def _duration(tree: Tree) -> Tree:
    text = iso_duration(tree.value) if isinstance(tree.value, str) else tree.value
    return tree if text == tree.value else Tree(tree.position, text)


def iso_duration(text: str) -> str:
    """Return the ISO 8601 form of a duration that Python has printed, such as ``7 days, 0:00:00``; else the text."""
    printed = _PRINTED.fullmatch(text)
    if printed is None:
        return text
    return f"P{printed['days'] or 0}DT{int(printed['hours'])}H{int(printed['minutes'])}M{printed['seconds']}S"
