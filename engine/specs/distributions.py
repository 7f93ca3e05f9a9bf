"""Times and distributions of times, as scenarios write them."""

import sys
from typing import Annotated, Literal, Self, get_args

from pydantic import (
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from engine.base.shortening import quoted
from engine.base.units import SECOND_MS, UNLIMITED_FROM_MS, format_duration, parse_duration
from engine.specs.base import Spec

DistributionKind = Literal["constant", "uniform", "normal", "lognormal", "exponential", "triangular", "choice"]

# The notation of each kind; a time is ISO 8601 text or a number of seconds.
_FORMS: dict[str, str] = {
    "constant": "a time",
    "uniform": "[least, most]",
    "normal": "[mean, standard deviation]",
    "lognormal": "[median, sigma]",
    "exponential": "a mean time",
    "triangular": "[least, mode, most]",
    "choice": "a list of times",
}
MOST_SIGMA = 10  # where one time in six exceeds twenty thousand medians
_COUNTS = {"constant": 1, "uniform": 2, "normal": 2, "lognormal": 2, "exponential": 1, "triangular": 3}


def parse_number(value: object, what: str) -> float:
    """Return a number that is not negative. Raises ValueError, which says ``what`` it should be."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{what} must be a number, not {quoted(value)}")
    if value < 0:
        raise ValueError(f"{what} must not be negative, but is {quoted(value)}")
    return value


def parse_time(value: object) -> int:
    """Return a time in ms, of an ISO 8601 duration or a number of seconds. Raises ValueError."""
    ms = parse_duration(value) if isinstance(value, str) else round(parse_number(value, "a time") * SECOND_MS)
    if ms is None or ms >= UNLIMITED_FROM_MS:
        raise ValueError(f"{quoted(value)} has no end")
    if ms < 0:
        raise ValueError(f"a time must not be negative, but is {quoted(value)}")
    return ms


def _parse_sigma(value: object) -> float:
    sigma = float(parse_number(value, "sigma"))
    if sigma > MOST_SIGMA:
        raise ValueError(f"sigma must be {MOST_SIGMA} or less, not {quoted(value)}")
    return sigma


def _parse_distribution(kind: str, given: object) -> tuple[float | int, ...]:
    parts = list(given) if isinstance(given, list | tuple) else [given]
    if not parts or len(parts) != _COUNTS.get(kind, len(parts)):
        raise ValueError(f"{kind} must be {_FORMS[kind]}, not {quoted(given)}")
    if kind == "lognormal":
        return (parse_time(parts[0]), _parse_sigma(parts[1]))
    times = tuple(map(parse_time, parts))
    if kind in ("uniform", "triangular") and list(times) != sorted(times):
        raise ValueError(f"{kind} must be {_FORMS[kind]} in this order, not {quoted(given)}")
    return times


class Distribution(Spec):
    """A distribution of times. ``values`` are milliseconds, except the sigma of a lognormal.

    constant (time), uniform (least, most), normal (mean, standard deviation), lognormal (median, sigma),
    exponential (mean), triangular (least, mode, most), choice (times).
    """

    kind: DistributionKind
    values: tuple[float | int, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and (self.kind, self.values) == (other.kind, other.values)

    def __hash__(self) -> int:
        return hash((self.kind, self.values))

    @classmethod
    def constant(cls, ms: int) -> Self:
        """Return the distribution that is always ``ms`` milliseconds."""
        return cls(kind="constant", values=(ms,))

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, given: object) -> object:
        if not isinstance(given, dict):
            return {"kind": "constant", "values": (parse_time(given),)}
        if isinstance(given.get("values"), tuple):  # made in Python; a file has no tuples
            return given
        kinds = get_args(DistributionKind)
        if len(given) != 1 or next(iter(given)) not in kinds:
            raise ValueError(f"must be a time such as PT30S or one of {', '.join(kinds)}, not {sorted(given)}")
        ((kind, parts),) = given.items()
        return {"kind": kind, "values": _parse_distribution(kind, parts)}

    @model_serializer(mode="plain")
    def _write(self) -> str | dict[str, list[str | float]]:
        if self.kind == "constant":
            return format_duration(int(self.values[0]))
        if self.kind == "lognormal":
            return {self.kind: [format_duration(int(self.values[0])), self.values[1]]}
        return {self.kind: [format_duration(int(value)) for value in self.values]}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        time = {"type": ["string", "number"]}
        times = {"type": "array", "items": time, "minItems": 1}
        kinds = {kind: {"anyOf": [time, times], "description": form} for kind, form in _FORMS.items()}
        mapping = {"type": "object", "properties": kinds, "additionalProperties": False, "maxProperties": 1}
        return {"anyOf": [time, mapping], "title": cls.__name__}


Time = Annotated[
    int,
    PlainValidator(parse_time),
    PlainSerializer(format_duration),
    WithJsonSchema({"type": ["string", "number"]}),
]
