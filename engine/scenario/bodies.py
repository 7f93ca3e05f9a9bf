"""Reading the service's bodies from a scenario file: pydantic validates, this module locates mistakes in the file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from engine.base.lazy import lazy_regex
from engine.base.terms import Plain
from engine.scenario.body_models import model_at
from engine.scenario.document import DocumentPlace, Path
from engine.scenario.wording import does_not_exist, shown
from engine.specs.base import Spec, accepted_names, wire_names
from engine.specs.refusals.parts import MISSING, Refusal

Model = TypeVar("Model", bound=Spec)

_EXPECTED = lazy_regex(r"'([^']*)'")
_QUOTED = {
    "int_type": lazy_regex(r"[-+]?\d+", re.ASCII),
    "float_type": lazy_regex(r"[-+]?\d+(\.\d*)?", re.ASCII),
}
_BOOLEANS = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}
_UNKNOWN = "extra_forbidden"  # pydantic's type of an unknown key
_KEY = "[key]"  # pydantic's location of a mistake in a mapping's key
_SHOULD = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
}


def read_body(place: DocumentPlace, model: type[Model], *, without: Iterable[str] = ()) -> Model | None:
    """Return the body at ``place``, or None if it is malformed, which is reported.

    Keys in ``without`` are read by the caller. A body whose only mistakes are unknown keys is returned without them, so
    that refusals by the service are reported at the same time.
    """
    others = tuple(without)
    body = _without(place.plain, {(key,) for key in others}) if others else place.plain
    read, mistakes = _read(place, model, body, others)
    if mistakes and all(details["type"] == _UNKNOWN for details in mistakes):
        place.document.misspelt.update(place.find(details["loc"][:-1])[0].path for details in mistakes)
        read, _ = _read(place, model, _without(body, {details["loc"] for details in mistakes}), others)
    return read


def read_value(place: DocumentPlace, model: type[Model], body: Plain) -> Model | None:
    """Return the model of ``body``, reporting mistakes at ``place``, from which it was generated."""
    return _read(place, model, body, ())[0]


def _read(
    place: DocumentPlace, model: type[Model], body: Plain, others: tuple[str, ...]
) -> tuple[Model | None, list[ErrorDetails]]:
    try:
        return model.from_wire(body), []
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
    for details in mistakes:
        _report(place, model, details, others)
    return None, mistakes


def _without(body: Plain, locations: Collection[Path], at: Path = ()) -> Plain:
    """Return the body without the values at these locations."""
    if isinstance(body, dict):
        kept = {key: (*at, key) for key in body if (*at, key) not in locations}
        return {key: _without(body[key], locations, inner) for key, inner in kept.items()}
    if isinstance(body, list):
        return [_without(value, locations, (*at, index)) for index, value in enumerate(body)]
    return body


def report_refusals(place: DocumentPlace, model: type[Spec], refusals: Iterable[Refusal]) -> None:
    """Report what the service would refuse in the body of ``model`` at ``place``."""
    for refusal in refusals:
        found, rest = _written(place, model, refusal.path)
        if refusal.code == MISSING and found.path in found.document.misspelt:
            continue  # most likely it is misspelt
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
        limit = context["ge"] if kind == "greater_than_equal" else context["le"]
        limit = int(limit) if limit == int(limit) else limit
        bound = f"at least {limit}" if kind == "greater_than_equal" else f"at most {limit}"
        return f"must be {bound}, not {shown(given)}"
    if kind == "greater_than":
        return f"must be above {context['gt']:g}, not {shown(given)}"
    if kind in ("too_short", "string_too_short"):
        return "must not be empty"
    if kind in _SHOULD:
        if kind == "bool_type" and isinstance(given, str) and given.lower() in _BOOLEANS:
            return f"{_SHOULD[kind]}: write {_BOOLEANS[given.lower()]} instead of {shown(given)}"
        is_quoted = isinstance(given, str) and bool(_QUOTED[kind].fullmatch(given)) if kind in _QUOTED else False
        return f"{_SHOULD[kind]}, not {shown(given)}" + (": leave out the quotes" if is_quoted else "")
    return error["msg"]
