"""Reading the service's bodies from a scenario file: pydantic validates, this module locates mistakes in the file.

The models of the values in a body are found by their names on the wire. Names and values as other programs write them
are put into those of the data plane (``spelled``), and numbers in quotes are read as numbers (``unquoted``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import Strict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from engine.base.errors import Position
from engine.base.terms import Plain
from engine.base.values import lazy_regex, value_at
from engine.scenario.document import Document, DocumentPlace, Path
from engine.scenario.text import does_not_exist, shown
from engine.scenario.tree import Tree
from engine.specs.base import Spec, accepted_names, is_duration, is_secret, wire_names
from engine.specs.refusals import MISSING, Refusal


@cache
def fields_of(model: type[Spec]) -> dict[str, FieldInfo]:
    """Return the properties of a model by every name that is accepted on the wire."""
    return {name: field for field in model.model_fields.values() for name in accepted_names(field)}


def model_at(model: type[Spec], location: Path) -> type[Spec] | None:
    """Return the model of the value at ``location`` in a body of ``model``."""
    current = _annotation_at(model, location)
    return current if _is_spec(current) else None


def _annotation_at(model: type[Spec], location: Path) -> Any:  # noqa: ANN401 - annotations have no common type
    """Return the bare annotation of the value at ``location`` in a body of ``model``."""
    current: Any = model
    for part in location:
        if _is_spec(current):
            field = fields_of(current).get(str(part))
            current = None if field is None else bare(field.annotation)
        else:
            current = _item(current)
    return current


def model_of(field: FieldInfo) -> type[Spec] | None:
    """Return the model of a property's value, or of the values in its list or mapping."""
    current = bare(field.annotation)
    while current is not None and not _is_spec(current):
        current = _item(current)
    found: type[Spec] | None = current
    return found


def _item(annotation: Any) -> Any:  # noqa: ANN401 - annotations have no common type
    """Return the annotation of the values in a list or mapping, None for other values."""
    arguments = get_args(annotation)
    if not arguments or get_origin(annotation) not in (dict, tuple):
        return None
    return bare(arguments[-1] if get_origin(annotation) is dict else arguments[0])


def _is_spec(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Spec)


def bare(annotation: Any) -> Any:  # noqa: ANN401 - annotations have no common type
    """Return an annotation without Annotated and None."""
    if get_origin(annotation) is Annotated:
        return bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return next((bare(part) for part in get_args(annotation) if part is not type(None)), None)
    return annotation


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
        return self._place._replace(tree=Tree(self._place.tree.position, self.value, self._keys, self._origins))


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
        if known is not None:
            put_spelled(parts, known, inner, fields[known], style)
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


def put_spelled(parts: Parts, name: str, place: DocumentPlace, field: FieldInfo, style: Style) -> None:
    """Add a property with the names of its model in its value; ``simulate`` has our own names already."""
    parts.put(name, place, None if name == "simulate" else _spelled_value(place, field, style))


def _spelled_value(place: DocumentPlace, field: FieldInfo, style: Style) -> Tree:
    """Return the value of a property, with the names of its model if it has one."""
    if is_duration(field):
        return _duration(place.tree)
    model = model_of(field)
    if model is None:
        return place.tree
    if isinstance(place.tree.value, list):
        return Tree(place.tree.position, [spelled(item, model, style) for item in place.entries()])
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


_IN_QUOTES = {
    int: lazy_regex(r"[-+]?\d{1,18}", re.ASCII),
    float: lazy_regex(r"[-+]?\d{1,18}(\.\d*)?", re.ASCII),
    bool: lazy_regex(r"true|false", re.IGNORECASE),
}


@cache
def _inner_types(model: type[Spec]) -> dict[str, type]:
    """Return the properties that take a number, true or false, or a body, but not ``simulate``."""
    found = {name: model_of(field) or _number_type(field) for name, field in fields_of(model).items()}
    return {name: kind for name, kind in found.items() if kind is not None and name != "simulate"}


def _number_type(field: FieldInfo) -> type | None:
    """Return the type of a property that takes a number, true or false, and no text; None for others."""
    marks = [*field.metadata, *(mark for part in get_args(field.annotation) for mark in get_args(part)[1:])]
    is_strict = any(isinstance(mark, Strict) for mark in marks)
    return next((kind for kind in _IN_QUOTES if is_strict and bare(field.annotation) is kind), None)


def _is_quoted(value: Plain, kind: type) -> bool:
    """Return whether a value is in quotes that it must not have, or has such values in it."""
    if isinstance(value, str):
        return kind in _IN_QUOTES and _IN_QUOTES[kind].fullmatch(value) is not None
    if not isinstance(value, dict | list) or kind in _IN_QUOTES or not (types := _inner_types(kind)):
        return False
    if isinstance(value, list):
        return any(_is_quoted(inner, kind) for inner in value)
    return any(_is_quoted(inner, types[name]) for name, inner in value.items() if name in types)


def unquoted(place: DocumentPlace, kind: type) -> DocumentPlace:
    """Return a body of the model ``kind`` with numbers, true and false in quotes as such values, each with a warning.

    The Azure CLI and the resource manager read them so.
    """
    if not _is_quoted(place.plain, kind):
        return place
    tree, value = place.tree, place.tree.value
    if isinstance(value, str):
        read = value.lower() == "true" if kind is bool else kind(value)
        place.warn(f"{shown(value)} is read as {shown(read)}: leave out the quotes", "quoted-number")
        return place._replace(tree=Tree(tree.position, read))
    if isinstance(value, list):
        return place._replace(tree=Tree(tree.position, [unquoted(entry, kind).tree for entry in place.entries()]))
    types = _inner_types(kind)
    inner = {name: unquoted(each, types[name]).tree if name in types else each.tree for name, each in place.items()}
    return place._replace(tree=Tree(tree.position, dict(inner), tree.keys, tree.origins))


Model = TypeVar("Model", bound=Spec)

_EXPECTED = lazy_regex(r"'([^']*)'")
_WORD = lazy_regex(r"\w+")
_STAND_IN = lazy_regex(r"'absent-\d+-\d+'")
_NUMBERS = {"int_type": int, "float_type": float}
_BOOLEANS = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}
_UNKNOWN = "extra_forbidden"  # pydantic's type of an unknown key
_KEY = "[key]"  # pydantic's location of a mistake in a mapping's key
_SHOULD = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
}


def read_body(place: DocumentPlace, model: type[Model], *, without: Iterable[str] = ()) -> Model | None:
    """Return the body at ``place``, or None if it is malformed, which is reported.

    Keys in ``without`` are read by the caller. A body with mistakes is returned without what is wrong, if the rest is
    one, so that refusals by the service are reported at the same time.
    """
    others = tuple(without)
    body = place.plain
    if others and isinstance(body, dict):
        body = {key: value for key, value in body.items() if key not in others}
    return read_value(place, model, body, others)[0]


def read_value(
    place: DocumentPlace, model: type[Model], body: Plain, others: tuple[str, ...] = ()
) -> tuple[Model | None, bool]:
    """Return what ``read_body`` does for ``body``, which was made from ``place``, and whether there are mistakes."""
    read, mistakes = _read(place, model, body, others)
    has_mistakes = bool(mistakes)
    for _ in range(_MOST_READS):
        if not mistakes or not all(details["loc"] for details in mistakes):
            break
        body = _mended(place, model, body, mistakes)
        read, mistakes = _read(place, model, body, others)
    return read, has_mistakes


_MOST_READS = 4  # after the first: what is put in place of a missing part may need parts itself


def _mended(place: DocumentPlace, model: type[Spec], body: Plain, mistakes: Iterable[ErrorDetails]) -> Plain:
    """Return the body without its mistaken values, which the document notes; what is required has another one."""
    body = deepcopy(body)
    for details in mistakes:
        location, holder, at = details["loc"], body, 0
        found, rest = place.find(location)
        place.document.mistaken.add(found.path_below(rest if details["type"] == "missing" else ()))
        if details["type"] == _UNKNOWN:
            place.document.misspelt.add(place.find(location[:-1])[0].path)
        while at < len(location) - 1 and isinstance(inner := value_at(holder, location[at]), dict | list):
            holder, at = inner, at + 1
        if isinstance(holder, list) or details["type"] == "missing":
            held: Any = holder
            held[location[at]] = _stand_in(_annotation_at(model, location[: at + 1]), found.tree.position)
        elif isinstance(holder, dict):
            holder.pop(str(location[at]), None)
    return body


def _stand_in(annotation: Any, position: Position) -> Plain:  # noqa: ANN401 - annotations have no common type
    """Return a value for a property with this bare annotation; texts differ, since they may be ids."""
    if get_origin(annotation) is Literal:
        return str(get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return str(next(iter(annotation)).value)
    values: dict[object, Plain] = {str: f"absent-{position.line}-{position.column}", int: 1, float: 1.0, bool: False}
    return values.get(annotation, [] if get_origin(annotation) is tuple else {})


def _follows(document: Document, path: Path, reason: str) -> bool:
    """Return whether a mistake at a path may follow from a value that is mistaken, or that ``reason`` names."""
    if _STAND_IN.search(reason):
        return True
    words = {word.casefold() for word in _WORD.findall(reason)}
    for wrong in document.mistaken:
        name, is_beside = wrong[-1], path[: len(wrong) - 1] == wrong[:-1]
        if is_beside and (
            path[len(wrong) - 1 :][:1] == (name,) or (isinstance(name, str) and name.casefold() in words)
        ):
            return True
    return False


def _read(
    place: DocumentPlace, model: type[Model], body: Plain, others: tuple[str, ...]
) -> tuple[Model | None, list[ErrorDetails]]:
    try:
        return model.from_wire(body), []
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
    for details in mistakes:
        found, rest = place.find(details["loc"])
        if not _follows(place.document, found.path_below(rest), mistake_text(details)):
            _report(place, model, details, others)
    return None, mistakes


def report_refusals(place: DocumentPlace, model: type[Spec], refusals: Iterable[Refusal]) -> None:
    """Report what the service would refuse in the body of ``model`` at ``place``."""
    for refusal in refusals:
        found, rest = _written(place, model, refusal.path)
        if refusal.code == MISSING and found.path in found.document.misspelt:
            continue  # most likely it is misspelt
        if not _follows(found.document, found.path_below(rest), refusal.reason):
            found.report(f"{refusal.reason} ({refusal.code})", key=bool(rest), below=rest)


def _written(place: DocumentPlace, model: type[Spec], location: Path) -> tuple[DocumentPlace, Path]:
    """Find a location like ``DocumentPlace.find``, also under an older name of the property (GEN-14)."""
    found, rest = place.find(location)
    inner = model_at(model, location[: len(location) - len(rest)]) if rest else None
    for field in inner.model_fields.values() if inner else ():
        names = accepted_names(field)
        for name in names if rest[0] in names else ():
            if found.get(name) is not None:
                return found.find((name, *rest[1:]))
    return found, rest


def _report(place: DocumentPlace, model: type[Spec], error: ErrorDetails, others: tuple[str, ...]) -> None:
    location = error["loc"]
    found, rest = place.find(location)
    kind = error["type"]
    if kind == _UNKNOWN:
        _report_unknown(found, str(location[-1]), model_at(model, location[:-1]), others if len(location) == 1 else ())
    elif kind == "missing" and rest:
        found.report_missing(str(rest[0]))
    elif kind == "missing":
        found.report(f"{shown(found.path[-1])} is missing and required: null is as good as nothing", key=True)
    elif rest == (_KEY,):
        found.report(mistake_text(error), key=True)
    else:
        found.report(mistake_text(error))


def _report_unknown(place: DocumentPlace, name: str, model: type[Spec] | None, others: tuple[str, ...]) -> None:
    names = (*wire_names(model), *others) if model else others
    if name in names:
        place.report(f"{shown(name)} is another name of a property that is already given here", key=True)
    else:
        place.report(does_not_exist(name, names), key=True)


def mistake_text(error: ErrorDetails) -> str:
    """Return what is wrong with a value, as pydantic has found it, in words for people."""
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in ("enum", "literal_error"):
        words = _EXPECTED.findall(str(context["expected"]))
        return does_not_exist(given, words)
    if kind in ("greater_than_equal", "less_than_equal"):
        bound, limit = ("at least", context["ge"]) if kind == "greater_than_equal" else ("at most", context["le"])
        return f"must be {bound} {int(limit) if limit == int(limit) else limit}, not {shown(given)}"
    if kind == "greater_than":
        return f"must be above {context['gt']:g}, not {shown(given)}"
    if kind in ("too_short", "string_too_short"):
        return "must not be empty"
    if kind in _SHOULD:
        if kind == "bool_type" and isinstance(given, str) and given.lower() in _BOOLEANS:
            return f"{_SHOULD[kind]}: write {_BOOLEANS[given.lower()]} instead of {shown(given)}"
        is_quoted = kind in _NUMBERS and _is_quoted(given, _NUMBERS[kind])
        return f"{_SHOULD[kind]}, not {shown(given)}" + (": leave out the quotes" if is_quoted else "")
    return error["msg"]


WITH_FILES = frozenset({"resourceFiles", "outputFiles", "multiInstanceSettings"})
_DOWNLOADS = ("httpUrl", "blobSource", "storageContainerUrl")


def urls_of(place: DocumentPlace) -> Iterator[tuple[DocumentPlace, bool]]:
    """Yield the URLs that a process needs, and whether it uploads there."""
    if isinstance(place.plain, dict) and WITH_FILES.isdisjoint(place.plain):
        return
    settings = place.get("multiInstanceSettings")
    common = settings.listed("commonResourceFiles") if settings is not None else ()
    for file in (*place.listed("resourceFiles"), *common):
        yield from ((url, False) for name in _DOWNLOADS if (url := file.get(name)) is not None)
    for file in place.listed("outputFiles"):
        if (url := file.at("destination", "container", "containerUrl")) is not None:
            yield url, True
