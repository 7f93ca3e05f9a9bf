"""Reading the bodies of requests, as leniently as the service does (GEN-5, GEN-14).

Names and options are compared without regard to case, numbers and booleans may be text, nulls and unknown names are
ignored. What is left is read by the same classes of commands as an entry of a timeline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, get_args, get_origin

from pydantic import ValidationError

from engine.base.errors import BatchError
from engine.scenario.bodies import mistake_text
from engine.scenario.body_models import bare, fields_of
from engine.specs.base import Spec, is_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

Model = TypeVar("Model", bound=Spec)
Convert = Callable[[Any], Any]

LONGEST_BODY = 1 << 20
"""The most bytes of a body; with more the request is refused with RequestBodyTooLarge."""

_WHOLE_NUMBER = re.compile(r"\s*[+-]?\d{1,18}\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?\d{1,18}(\.\d{0,18})?([eE][+-]?\d{1,3})?\s*", re.ASCII)
_YEARS_AND_MONTHS = re.compile(r"P(?:(\d{1,4})Y)?(?:(\d{1,6})M)?(?:(\d{1,8})D)?(T.*)?", re.ASCII | re.IGNORECASE)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of a body; an absent body is an empty one.

    Raises:
        BatchError: InvalidRequestBody if it is no JSON object.
    """
    if not raw.strip():
        return {}
    try:
        body = json.loads(raw, parse_constant=_refuse_constant)
        if _SURROGATE.search(raw):
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "it is no JSON text in UTF-8"
        raise BatchError("InvalidRequestBody", reason) from None
    if not isinstance(body, dict):
        raise BatchError("InvalidRequestBody", "must be a JSON object")
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def read(model: type[Model], body: Mapping[str, Any], names: Mapping[str, object] | None = None) -> Model:
    """Return a command, or a part of one, with the properties of a body.

    Args:
        model: The class of the command.
        body: The body as it was sent.
        names: Properties that stand beside the body, such as ``poolId``; the body does not change them.

    Raises:
        BatchError: MissingRequiredProperty or InvalidPropertyValue, naming the property.
    """
    try:
        return model.from_wire(lenient(model, body) | dict(names or {}))
    except ValidationError as error:
        raise refusal_of(error) from None


def refusal_of(error: ValidationError) -> BatchError:
    """Return the refusal of a malformed body: its first mistake."""
    first = error.errors(include_url=False)[0]
    names = [str(part) for part in first["loc"] if isinstance(part, str)]
    name = names[-1] if names else "body"
    if first["type"] == "missing":
        return BatchError("MissingRequiredProperty", PropertyName=name)
    given = first["input"]
    value = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    return BatchError("InvalidPropertyValue", mistake_text(first), PropertyName=name, PropertyValue=value)


def lenient(model: type[Spec], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body in the spelling and with the types of ``model``, without nulls and unknown properties."""
    known, spelling = _conversions(model), _spelling(model)
    found: dict[str, Any] = {}
    for key, value in body.items():
        name = key if key in known else spelling.get(key.lower())
        if name is None or value is None or (name in found and key != name):
            continue
        convert = known[name]
        found[name] = value if convert is None else convert(value)
    return found


@cache
def _spelling(model: type[Spec]) -> dict[str, str]:
    return {name.lower(): name for name in reversed(fields_of(model))}


@cache
def _conversions(model: type[Spec]) -> dict[str, Convert | None]:
    """Return the functions that convert the values of properties, by names; None where any value is kept."""
    return {
        name: _duration if is_duration(field) else _conversion(field.annotation)
        for name, field in fields_of(model).items()
    }


def _conversion(annotation: Any) -> Convert | None:  # noqa: ANN401 - annotations have no common type
    """Return the function that makes the type that is annotated out of a value, or keeps what cannot be converted."""
    wanted = bare(annotation)
    if isinstance(wanted, type) and issubclass(wanted, Spec):
        return lambda value: lenient(wanted, value) if isinstance(value, dict) else value
    if get_origin(wanted) is tuple:
        convert = _conversion(get_args(wanted)[0])
        return convert and (lambda value: [convert(one) for one in value] if isinstance(value, list) else value)
    return {bool: _bool, int: _int, float: _float}.get(wanted) if isinstance(wanted, type) else None


def _bool(value: Any) -> Any:  # noqa: ANN401 - any JSON
    is_name = isinstance(value, str) and value.strip().lower() in ("true", "false")
    return value.strip().lower() == "true" if is_name else value


def _int(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _float(value: Any) -> Any:  # noqa: ANN401 - any JSON
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _duration(text: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a duration without years and months, which count 365 and 30 days, as in the service's own library."""
    if not isinstance(text, str):
        return text
    match = _YEARS_AND_MONTHS.fullmatch(text.strip())
    if match is None or (match[1] is None and match[2] is None):
        return text.strip()
    days = int(match[1] or 0) * 365 + int(match[2] or 0) * 30 + int(match[3] or 0)
    return f"P{days}D{match[4] or ''}"
