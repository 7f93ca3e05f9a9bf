"""The models of the values in a body, found by their names on the wire."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from engine.scenario.document import Path
from engine.specs.base import Spec, accepted_names


@cache
def fields_of(model: type[Spec]) -> dict[str, FieldInfo]:
    """Return the properties of a model by every name that is accepted on the wire."""
    return {name: field for field in model.model_fields.values() for name in accepted_names(field)}


def model_at(model: type[Spec], location: Path) -> type[Spec] | None:
    """Return the model of the value at ``location`` in a body of ``model``."""
    current: Any = model
    for part in location:
        if _is_spec(current):
            field = fields_of(current).get(str(part))
            current = None if field is None else bare(field.annotation)
        else:
            current = _item(current)
    return current if _is_spec(current) else None


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
