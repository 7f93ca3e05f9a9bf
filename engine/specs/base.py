"""The base of all bodies: names on the wire, strict types, absent values, serialization, and distributions of times.

A body is a frozen pydantic model whose attributes are the snake_case of the service's camelCase. Python code builds one
by keyword (``TaskSpec(id="a", command_line="b")``, durations in milliseconds). Input goes through ``from_wire``, which
accepts the service's names only. A malformed body raises a pydantic ``ValidationError``; ``refusals`` lists what only
the service would refuse. Times and distributions of times are written as in scenarios (``Distribution``).

Modules with bodies do without ``from __future__ import annotations``: pydantic would have to compile each annotation
from its text, a seventh of the time that the import of the bodies takes.
"""

import re
import sys
from contextvars import ContextVar
from datetime import UTC, date, datetime, time
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    Strict,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from engine.base.values import (
    SECOND_MS,
    UNLIMITED_FROM_MS,
    format_duration,
    format_utc,
    lazy_regex,
    parse_duration,
    parse_utc,
    quoted,
    words,
)

# Words that the service capitalizes irregularly, unless they come first.
_IRREGULAR = {"gb": "GB", "ip": "IP", "nat": "NAT", "os": "OS", "sku": "SKU", "vm": "VM", "vnet": "VNet"}


def wire_name(name: str) -> str:
    """Return the service's spelling of a Python name: ``node_agent_sku_id`` is ``nodeAgentSKUId``."""
    first, *rest = name.split("_")
    return first + "".join(_IRREGULAR.get(word) or word.capitalize() for word in rest)


class _QuoteIt:
    """A better error message for text that YAML has read as a number, a date or a boolean."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[str], handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(
            handler(source),
            custom_error_type="text_type",
            custom_error_message="must be text; put a number, a date, true or false in quotes to make it text",
        )


class AnyCase:
    """An annotation of a Literal whose values are compared without regard to case (GEN-5)."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        spelling = {value.lower(): value for value in get_args(source)}

        def spelled(value: object) -> object:
            return spelling.get(value.lower(), value) if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(spelled, handler(source))


Text = Annotated[str, _QuoteIt]
Int = Annotated[int, Strict()]
Bool = Annotated[bool, Strict()]
Number = Annotated[float, Strict()]


def _parse_limit(value: object) -> int | None:
    if isinstance(value, str):
        ms = parse_duration(value)
    elif value is None or type(value) is int:
        ms = value
    else:
        raise ValueError(f"{quoted(value)} is not an ISO 8601 duration such as PT15M, PT1H30M or P7D")
    if ms is not None and ms < 0:
        raise ValueError(f"{quoted(value)} is negative")
    return ms


def _parse_finite(value: object) -> int:
    ms = _parse_limit(value)
    if ms is None:
        raise ValueError(f"{quoted(value)} has no end; a duration such as PT15M is needed here")
    return ms


def _parse_moment(value: object) -> datetime:
    if isinstance(value, str):
        return parse_utc(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    raise ValueError(f"{quoted(value)} is not an ISO 8601 time such as 2026-01-05T08:00:00Z")


_DURATION_SCHEMA = WithJsonSchema({"type": "string", "format": "duration"})

# Milliseconds; None is "no limit", which is explicit on the wire (GEN-4).
Duration = Annotated[int | None, PlainValidator(_parse_limit), PlainSerializer(format_duration), _DURATION_SCHEMA]
# Milliseconds; None is absent, and so is "no limit".
OptionalDuration = Annotated[
    int | None,
    PlainValidator(_parse_limit),
    PlainSerializer(format_duration, when_used="unless-none"),
    _DURATION_SCHEMA,
]
# Milliseconds; "no limit" is an error.
FiniteDuration = Annotated[int, PlainValidator(_parse_finite), PlainSerializer(format_duration), _DURATION_SCHEMA]
# An aware datetime in UTC.
UtcTime = Annotated[
    datetime,
    PlainValidator(_parse_moment),
    PlainSerializer(lambda moment: format_utc(moment, 0)),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]

_SIZE = lazy_regex(r"(\d+(?:\.\d+)?) *([kmgt]?i?b)", re.ASCII | re.IGNORECASE)


def parse_size(value: object) -> int:
    """Return the bytes of a size; raises ValueError."""
    if type(value) is int and value >= 0:
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{quoted(value)} is not a size such as 800 MB, 4 GB, 1.5 GiB or a number of bytes")
    unit = match[2].lower()
    step = 1024 if "i" in unit else 1000
    return round(float(match[1]) * float(step ** "bkmgt".index(unit[0])))


# Bytes.
Size = Annotated[int, PlainValidator(parse_size), WithJsonSchema({"type": ["string", "integer"]})]


MASK = "***"
"""Stands for a secret in logs and saved sessions."""

_MASKED = {"masks_secrets": True}
_LOGGED = _MASKED | {"leaves_out_execution": True}
_EXECUTION = ("execute", "simulate")


def _when_written(value: Any, info: SerializationInfo) -> Any:  # noqa: ANN401 - a text or an object
    if not info.exclude_unset:
        return None
    if not value or not info.context:
        return value
    return dict.fromkeys(value, MASK) if isinstance(value, dict) else MASK


LEFT_OUT_OF_ANSWERS = PlainSerializer(_when_written)

# Accepted and kept, but left out of answers and masked in logs.
Secret = Annotated[Text, LEFT_OUT_OF_ANSWERS]


def is_secret(field: FieldInfo) -> bool:
    """Return whether the service leaves the property out of its answers."""
    return LEFT_OUT_OF_ANSWERS in field.metadata


def is_duration(field: FieldInfo) -> bool:
    """Return whether the property is a duration."""
    return _DURATION_SCHEMA in field.metadata


class _NoEffect:
    """The mark of a property that is accepted and kept, although a simulation does not depend on it."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "description": "Accepted and kept; changes nothing in a simulation."}


# Only for properties of which a user could expect an effect; `check` warns of them.
NO_EFFECT = _NoEffect()


def has_effect(field: FieldInfo) -> bool:
    """Return whether a simulation depends on the property, as far as a user could expect it."""
    return NO_EFFECT not in field.metadata


def accepted_names(field: FieldInfo) -> tuple[str, ...]:
    """Return the names of a property on the wire, the newest first."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        return tuple(choice for choice in alias.choices if isinstance(choice, str))
    return (alias,) if isinstance(alias, str) else ()


@cache
def _wire_durations(model: type[BaseModel]) -> list[str]:
    return [name for field in model.model_fields.values() if is_duration(field) for name in accepted_names(field)]


class Spec(BaseModel):
    """Base of all bodies: frozen, without unknown properties; null means absent.

    Pydantic builds the validation of a body when it is first needed. A default that is a body is made with
    ``model_construct``, which needs none.

    ``SERVICE_NAMES`` are the properties that only the service writes into such a body when it returns it, and those
    that only the state document of a run adds. The body that creates the thing does not have them.
    """

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = ()

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=wire_name,
        validate_by_name=True,
        validate_by_alias=True,
        protected_namespaces=(),
        defer_build=True,
    )

    @classmethod
    def from_wire(cls, body: object) -> Self:
        """Validate a body as a client or a person wrote it, with the service's names only.

        Raises:
            pydantic.ValidationError: The body is malformed; errors are located by wire names and indexes.
        """
        return cls.model_validate(body, by_alias=True, by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _as_sent(cls, body: object) -> object:
        """Drop nulls, and turn numbers into text where a duration is expected: only Python code gives milliseconds."""
        if not isinstance(body, dict):
            return body
        if None in body.values():
            body = {name: value for name, value in body.items() if value is not None or "_" in str(name)}
        for name in _wire_durations(cls):
            if isinstance(body.get(name), int):
                body = body | {name: str(body[name])}
        return body

    @model_serializer(mode="wrap", return_type=dict[str, Any])  # else pydantic evaluates the annotation for each body
    def _omit_absent(self, serialize: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        body = serialize(self)
        if info.context == _LOGGED and "execute" in body:
            body = {name: value for name, value in body.items() if name not in _EXECUTION}
        if info.exclude_unset:
            return {name: value for name, value in body.items() if value is not None} if None in body.values() else body
        return {name: value for name, value in body.items() if value or (value is not None and value != [])}

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the body itself, which never changes, so that copies of a simulation share it."""
        return self

    def wire(self) -> dict[str, Any]:
        """Return the body as the service answers it: with defaults, without absent properties and secrets."""
        return self.model_dump(mode="json", by_alias=True)

    def written(self) -> dict[str, Any]:
        """Return the body as a scenario contains it: only what was given, secrets and ``simulate`` included.

        ``from_wire`` makes an equal object of it.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def given_values(self, *but: str) -> dict[str, Any]:
        """Return the values that were given, by the names of their fields, ``but`` these."""
        return {name: getattr(self, name) for name in self.model_fields_set.difference(but)}

    def masked(self) -> dict[str, Any]:
        """Return what ``written`` does, with a mask in place of each secret: no rule depends on one (GEN-23).

        ``from_wire`` makes an object of it that has the same effect.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, context=_MASKED)

    def logged(self) -> dict[str, Any]:
        """Return what ``masked`` does, without what tells real programs from those of a recording.

        A recording of programs that really ran has the same log as their run.
        """
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, context=_LOGGED)


# The occasional body whose validation pydantic builds at this moment.
_IN_BUILD: ContextVar[type[BaseModel] | None] = ContextVar("_IN_BUILD", default=None)


class Occasional(Spec):
    """Base of bodies that few runs need: the validation of a body that contains one only calls the part's class.

    The validation of the part is then built when the first one is made. The call costs a microsecond for each such
    part, so the parts of tasks that come by the thousand are not occasional.
    """

    @classmethod
    def model_rebuild(cls, **arguments: Any) -> bool | None:  # noqa: ANN401 - those of pydantic
        """Build the validation of this body, without that of its occasional parts."""
        outer = _IN_BUILD.set(cls)
        try:
            return super().model_rebuild(**arguments)
        finally:
            _IN_BUILD.reset(outer)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        if cls is _IN_BUILD.get():
            return handler(source)
        # pydantic's own reference to the class, under which a JSON schema defines it once
        reference = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"
        return core_schema.no_info_plain_validator_function(cls.from_wire, ref=reference)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        if schema["type"] != "function-plain":
            return handler(schema)
        return handler(core_schema.chain_schema([cls.__pydantic_core_schema__]))  # as a step, else it defines nothing


class Identified(Spec):
    """A body with the id of what it creates."""

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = words(
        "url eTag creationTime lastModified state stateTransitionTime previousState previousStateTransitionTime"
        " executionInfo stats"
    )

    id: Text


class IdentityReference(Occasional):
    """A user-assigned managed identity."""

    resource_id: Text | None = None


class ContainerRegistry(Occasional):
    """A registry of container images."""

    registry_server: Text | None = None
    username: Text | None = None
    password: Secret | None = None
    identity_reference: IdentityReference | None = None


def wire_names(model: type[BaseModel]) -> tuple[str, ...]:
    """Return all property names that ``model`` accepts on the wire, including older ones (GEN-14).

    If pydantic reports one of them as ``extra_forbidden``, it is a second name of a property that is given already.
    """
    names = [name for field in model.model_fields.values() for name in accepted_names(field)]
    return (*names, *getattr(model, "OLDER_NAMES", ()))


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

    constant (time), uniform (least, most), normal (mean, standard deviation), lognormal (median, sigma, and in
    defaults a factor of the median beyond which nothing lies), exponential (mean), triangular (least, mode, most),
    choice (times).
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
    int, PlainValidator(parse_time), PlainSerializer(format_duration), WithJsonSchema({"type": ["string", "number"]})
]
