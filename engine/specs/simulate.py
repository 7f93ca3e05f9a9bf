"""The ``simulate`` blocks: simulated behaviour of commands, nodes, storage, network and samples."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    SerializationInfo,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from engine.base.shortening import quoted
from engine.base.units import SECOND_MS, UNLIMITED_FROM_MS, format_duration, parse_duration
from engine.specs.base import Bool, Int, Number, Size, Spec, Text, parse_size, wire_name

EVICTION_NOTICE_MS = 30 * SECOND_MS  # TIME-12, unless the scenario says otherwise

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
_MOST_SIGMA = 10  # where one time in six exceeds twenty thousand medians
_COUNTS = {"constant": 1, "uniform": 2, "normal": 2, "lognormal": 2, "exponential": 1, "triangular": 3}


def _parse_number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{what} must be a number, not {quoted(value)}")
    if value < 0:
        raise ValueError(f"{what} must not be negative, but is {quoted(value)}")
    return value


def _parse_time(value: object) -> int:
    ms = parse_duration(value) if isinstance(value, str) else round(_parse_number(value, "a time") * SECOND_MS)
    if ms is None or ms >= UNLIMITED_FROM_MS:
        raise ValueError(f"{quoted(value)} has no end")
    if ms < 0:
        raise ValueError(f"a time must not be negative, but is {quoted(value)}")
    return ms


def _parse_sigma(value: object) -> float:
    sigma = float(_parse_number(value, "sigma"))
    if sigma > _MOST_SIGMA:
        raise ValueError(f"sigma must be {_MOST_SIGMA} or less, not {quoted(value)}")
    return sigma


def _parse_distribution(kind: str, given: object) -> tuple[float | int, ...]:
    parts = list(given) if isinstance(given, list | tuple) else [given]
    if not parts or len(parts) != _COUNTS.get(kind, len(parts)):
        raise ValueError(f"{kind} must be {_FORMS[kind]}, not {quoted(given)}")
    if kind == "lognormal":
        return (_parse_time(parts[0]), _parse_sigma(parts[1]))
    times = tuple(map(_parse_time, parts))
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

    @classmethod
    def constant(cls, ms: int) -> Distribution:
        """Return the distribution that is always ``ms`` milliseconds."""
        return cls(kind="constant", values=(ms,))

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, given: object) -> object:
        if not isinstance(given, dict):
            return {"kind": "constant", "values": (_parse_time(given),)}
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


ExitCodes = tuple[tuple[int, float], ...]


def _parse_code(value: object) -> int:
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        return int(value)
    if type(value) is int:
        return value
    raise ValueError(f"an exit code must be a whole number, not {quoted(value)}")


def _parse_exit_code(value: object) -> int | ExitCodes | None:
    if value is None or type(value) is int:
        return value
    if isinstance(value, tuple):
        value = dict(value)
    if not isinstance(value, dict):
        raise ValueError(
            f"must be an exit code or weights of exit codes such as {{0: 0.97, 1: 0.03}}, not {quoted(value)}"
        )
    weights = tuple((_parse_code(code), float(_parse_number(weight, "a weight"))) for code, weight in value.items())
    if not any(weight for _, weight in weights):
        raise ValueError("at least one exit code must have a weight above zero")
    return weights


def _write_exit_code(value: int | ExitCodes | None) -> int | dict[str, float] | None:
    return {str(code): weight for code, weight in value} if isinstance(value, tuple) else value


ExitCode = Annotated[
    int | ExitCodes | None,
    PlainValidator(_parse_exit_code),
    PlainSerializer(_write_exit_code),
    WithJsonSchema(
        {"anyOf": [{"type": "integer"}, {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}]}
    ),
]
Percent = Annotated[Number, Field(ge=0, le=100)]


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a scenario that holds commands or conditions, as JSON text; ``engine.scenario.acts`` reads it.

    Bodies of commands hold ``simulate`` themselves, so their classes cannot be named here.
    """

    text: str

    @classmethod
    def of(cls, value: object) -> Unread:
        """Return the text of JSON data."""
        return cls(json.dumps(value, separators=(",", ":"), ensure_ascii=False))

    @property
    def plain(self) -> Any:  # noqa: ANN401 - any JSON
        """The value as JSON data."""
        return json.loads(self.text)

    def __bool__(self) -> bool:
        return self.text != "[]"


OTHERS_COMPLETED = "othersCompleted"


def _parse_acts(value: object) -> Unread | None:
    if value is None or isinstance(value, Unread):
        return value
    if not isinstance(value, list):
        raise ValueError("must be a list of commands such as {after: PT10S, addTasks: {tasks: [...]}}")
    return Unread.of(value)


def _parse_until(value: object) -> Unread | None:
    if value is None or isinstance(value, Unread):
        return value
    if isinstance(value, str) and value.lower() == OTHERS_COMPLETED.lower():
        return Unread.of(OTHERS_COMPLETED)
    if not isinstance(value, dict):
        raise ValueError(
            f"must be {OTHERS_COMPLETED} or a condition such as {{jobId: risk, state: completed}}, "
            f"not {quoted(value)}; a time is a 'duration'"
        )
    return Unread.of(value)


def _write_unread(value: Unread | None) -> Any:  # noqa: ANN401 - any JSON
    return None if value is None else value.plain


ActList = Annotated[
    Unread | None,
    PlainValidator(_parse_acts),
    PlainSerializer(_write_unread),
    WithJsonSchema({"type": "array", "items": {"type": "object"}}),
]
Until = Annotated[
    Unread | None,
    PlainValidator(_parse_until),
    PlainSerializer(_write_unread),
    WithJsonSchema({"type": ["string", "object"]}),
]


class _Rates(Spec):
    """Bytes a second in two directions. A plain size such as 20 MB, or 20 MB/s, is that many in each."""

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, given: object) -> object:
        rates = given if isinstance(given, dict) else dict.fromkeys(map(wire_name, cls.model_fields), given)
        rates = {name: rate.removesuffix("/s") if isinstance(rate, str) else rate for name, rate in rates.items()}
        return rates if isinstance(given, dict) else {name: parse_size(rate) for name, rate in rates.items()}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(schema), {"type": ["string", "integer"]}], "title": cls.__name__}


class DiskRates(_Rates):
    """The bytes that a process reads from the disk and writes to it in a second (AS-41)."""

    read: Size = 0
    write: Size = 0


class NetworkRates(_Rates):
    """The bytes that a process receives (``in``) and sends (``out``) in a second (AS-41)."""

    in_: Size = 0
    out: Size = 0


class Simulate(Spec):
    """The simulated outcome of one command line; None leaves it to the defaults.

    ``exit_code`` is a code, or weights by code. ``attempts`` override the other values for the first, second ...
    attempt, ``on_node`` for a node by its index. ``cpu`` and ``memory`` are percent of the node, ``disk`` and
    ``network`` bytes a second while it runs. ``found=False`` is a program that the node does not have. ``writes`` are
    the files it leaves: bytes by path from its working directory. ``does`` are the commands that the process gives
    while it runs; ``until`` is its end, in place of ``duration``.
    """

    duration: Distribution | None = None
    until: Until = None
    does: ActList = None
    exit_code: ExitCode = None
    stdout: Text | None = None
    stderr: Text | None = None
    attempts: tuple[Simulate, ...] = ()
    on_node: dict[Annotated[int, Field(ge=0)], Simulate] = Field(default_factory=dict)
    cpu: Percent | None = None
    memory: Percent | None = None
    disk: DiskRates | None = None
    network: NetworkRates | None = None
    found: Bool | None = None
    writes: dict[Text, Size] = Field(default_factory=dict)

    @field_validator("until")
    @classmethod
    def _ends_in_one_way(cls, until: Unread | None, info: ValidationInfo) -> Unread | None:
        if until is not None and info.data.get("duration") is not None:
            raise ValueError("a process ends after its 'duration' or by 'until': give one of them")
        return until

    def overridden_by(self, over: Simulate) -> Simulate:
        """Return these values with those that ``over`` gives in their place; of duration and until it has one."""
        given = {name: value for name in over.model_fields_set if (value := getattr(over, name)) is not None}
        other = {"until": "duration", "duration": "until"}
        ends = {other[name]: None for name in given if name in other}
        return self.model_copy(update=ends | given)


MOST_RATE = 3600  # once a second

Rate = Annotated[Number, Field(ge=0, le=MOST_RATE)]
"""A number of events per node and hour (NODE-18, SPOT-10)."""


class SimulateNodes(Spec):
    """The durations of steps in a node's life (TIME-2 to TIME-7), and how often nodes fail (NODE-18).

    A duration of None leaves it to the defaults.
    """

    allocation: Distribution | None = None
    starting: Distribution | None = None
    ready: Distribution | None = None
    reboot: Distribution | None = None
    reimage: Distribution | None = None
    removal: Distribution | None = None
    failure_rate: Rate = 0


Time = Annotated[
    int,
    PlainValidator(_parse_time),
    PlainSerializer(format_duration),
    WithJsonSchema({"type": ["string", "number"]}),
]


class SimulateSpot(Spec):
    """How often VMs of Spot nodes are taken back (SPOT-10), and how long before that it is announced (SPOT-7)."""

    eviction_rate: Rate = 0
    notice: Time = EVICTION_NOTICE_MS


_LATEST_SAMPLE_MS = 60 * SECOND_MS  # AS-54


def _parse_delay(value: object) -> int:
    ms = _parse_time(value)
    if ms > _LATEST_SAMPLE_MS:
        raise ValueError(f"samples are at most {format_duration(_LATEST_SAMPLE_MS)} late, not {quoted(value)}")
    return ms


Delay = Annotated[int, PlainValidator(_parse_delay), WithJsonSchema({"type": ["string", "number"]})]


class SimulateAutoScale(Spec):
    """The delay and loss of the samples that reach autoscale formulas (AS-54)."""

    sample_delay: Delay = 0
    sample_loss_probability: Annotated[Number, Field(ge=0, le=1)] = 0


# Addresses of a subnet that Azure reserves.
_RESERVED_ADDRESSES = 5


def _parse_prefix(value: object) -> str:
    try:
        return str(IPv4Network(str(value)))
    except ValueError:
        raise ValueError(f"{quoted(value)} is not an address range such as 10.1.0.0/24") from None


def _parse_blocked(value: object) -> bool | tuple[int, ...]:
    if isinstance(value, bool):
        return value
    ports = tuple(value) if isinstance(value, list | tuple) else ()
    if ports and all(type(port) is int and 1 <= port <= 65_535 for port in ports):
        return ports
    raise ValueError(f"must be true, false or a list of ports such as [29876, 29877], not {quoted(value)}")


AddressPrefix = Annotated[str, PlainValidator(_parse_prefix), WithJsonSchema({"type": "string"})]
_PORTS: dict[str, Any] = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 65_535}, "minItems": 1}
Blocked = Annotated[
    bool | tuple[int, ...], PlainValidator(_parse_blocked), WithJsonSchema({"anyOf": [{"type": "boolean"}, _PORTS]})
]


class SimulateNetwork(Spec):
    """A subnet by id glob: its addresses (NET-3), its closed ports (NET-4), and what Batch needs of it (NET-2).

    ``blocked`` is true for all ports, or lists the closed ones. ``free_addresses`` wins over ``address_prefix``.
    """

    free_addresses: Annotated[Int, Field(ge=0)] | None = None
    address_prefix: AddressPrefix | None = None
    blocked: Blocked = False
    location: Text | None = None
    role_assignment: Bool = True

    @property
    def addresses(self) -> int | None:
        """The number of nodes that get an address: 2^(32-n) - 5 for a /n subnet (NET-3); None if unknown."""
        if self.free_addresses is None and self.address_prefix is not None:
            return max(0, IPv4Network(self.address_prefix).num_addresses - _RESERVED_ADDRESSES)
        return self.free_addresses

    def blocks(self, port: int) -> bool:
        """Return whether the port is closed between Batch and the nodes (NET-4)."""
        return self.blocked if isinstance(self.blocked, bool) else port in self.blocked


Networks = tuple[tuple[str, SimulateNetwork], ...]


def subnet_settings(networks: Networks, subnet_id: str) -> SimulateNetwork | None:
    """Return the settings of a subnet by the first glob that matches, without regard to case."""
    return next((settings for glob, settings in networks if fnmatchcase(subnet_id.lower(), glob.lower())), None)


def _when_written(value: Simulate | None, info: SerializationInfo) -> dict[str, Any] | None:
    return value.written() if value is not None and info.exclude_unset else None


# Beside a command line; not part of the service's body.
OptionalSimulate = Annotated[Simulate | None, PlainSerializer(_when_written)]
