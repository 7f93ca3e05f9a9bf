"""The values that formulas work with: types, time strings, defined names, inputs, sampled variables and errors.

A double is a ``float``, a doubleVec a ``tuple`` of them, a string a ``str``; there is no boolean (AS-16 to AS-25). The
text of values in results follows AS-69, time strings and the members of a timestamp AS-20 and AS-63. An error lies in
the text of a formula when it arrives, or in an evaluation (AS-72 to AS-75).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple, TypeVar

from engine.base.errors import Position
from engine.base.values import lazy_regex, shortened, words

SYNTAX = "AutoScalingFormulaSyntaxError"
TOO_LONG = "AutoScalingFormulaTooLong"
EVALUATION = "AutoScalingFormulaEvaluationError"
NO_SAMPLES = "InsufficientSampleData"

_MESSAGES = {
    EVALUATION: "Autoscale evaluation failed due to formula evaluation error",
    NO_SAMPLES: "Autoscale evaluation failed due to insufficient sample data",
}


class FormulaError(ValueError):
    """A formula that is refused on arrival: the service's code, position and reason (AS-2, AS-5, AS-72)."""

    def __init__(self, code: str, position: Position, reason: str) -> None:
        """Create the refusal of a formula."""
        super().__init__(f"{position}: {reason}")
        self.code = code
        self.position = position
        self.reason = reason


class RunError(NamedTuple):
    """The reason why an evaluation failed, as in ``autoScaleRun.error`` (AS-67, AS-73, AS-74)."""

    code: str
    position: Position
    reason: str

    @property
    def message(self) -> str:
        """The service's message."""
        return _MESSAGES[self.code]

    def wire(self) -> dict[str, object]:
        """Return the error as the service writes it."""
        values = [{"name": "Message", "value": f"{self.position}: {self.reason}"}]
        return {"code": self.code, "message": self.message, "values": values}


class EvaluationError(Exception):
    """A failure of an evaluation, which adds the position (AS-65, AS-74)."""

    code = EVALUATION


class TooFewSamples(EvaluationError):
    """Too few samples (AS-50). The position is the parenthesis of the call (AS-75)."""

    code = NO_SAMPLES


Vector = tuple[float, ...]

TICKS_PER_MS = 10_000
_TICKS_PER_SECOND = 10_000_000
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAST_TICK = (datetime.max.replace(tzinfo=UTC) - _FIRST) // _MICROSECOND * 10 + 9
_LONGEST = 2**63  # an interval is a signed 64-bit number


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A UTC time in ticks of 100 ns since the year 1 (AS-19)."""

    ticks: int

    def __post_init__(self) -> None:
        if not 0 <= self.ticks <= _LAST_TICK:
            raise EvaluationError("The timestamp lies outside the years 1 to 9999")

    @classmethod
    def of(cls, moment: datetime, ticks: int = 0) -> Timestamp:
        """Return the timestamp of ``moment`` plus ``ticks``."""
        return cls((moment - _FIRST) // _MICROSECOND * 10 + ticks)

    @property
    def moment(self) -> datetime:
        """The time as a datetime, truncated to microseconds."""
        return _FIRST + timedelta(microseconds=self.ticks // 10)

    def __str__(self) -> str:
        """Return ``2026-03-11T10:00:00.000Z`` (AS-69)."""
        return self.moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """A signed duration in ticks of 100 ns, including fractions (AS-19)."""

    ticks: float

    def __post_init__(self) -> None:
        if not abs(self.ticks) < _LONGEST:
            raise EvaluationError("The time interval is too long, or not a number")

    def __str__(self) -> str:
        """Return ``[-][days.]hh:mm:ss[.fffffff]`` (AS-69)."""
        ticks = round(self.ticks)
        seconds, fraction = divmod(abs(ticks), _TICKS_PER_SECOND)
        minutes, second = divmod(seconds, 60)
        hours, minute = divmod(minutes, 60)
        days, hour = divmod(hours, 24)
        text = ("-" if ticks < 0 else "") + (f"{days}." if days else "") + f"{hour:02d}:{minute:02d}:{second:02d}"
        return f"{text}.{fraction:07d}" if fraction else text


Value = float | Vector | str | Timestamp | Interval

_Context = TypeVar("_Context")
_TYPE_NAMES = {float: "double", tuple: "doubleVec", str: "string", Timestamp: "timestamp", Interval: "timeinterval"}


def type_name(value: object) -> str:
    """Return the name of a value's type in the language (AS-16)."""
    return _TYPE_NAMES.get(type(value), "value")


def types_of(values: Iterable[object]) -> str:
    """Return the types of arguments as ``double, string``."""
    return ", ".join(map(type_name, values))


def without_arguments(name: str, of: Callable[[_Context], Value]) -> Callable[[_Context, Sequence[Value]], Value]:
    """Return a function of this name that fails if there are arguments."""

    def function(context: _Context, arguments: Sequence[Value]) -> Value:
        if arguments:
            raise EvaluationError(f"Wrong arguments of {name}: ({types_of(arguments)}); it takes none")
        return of(context)

    return function


def single(value: Value) -> Value:
    """Return the element of a vector of one element, or any other value itself (AS-22)."""
    return value[0] if type(value) is tuple and len(value) == 1 else value


def to_number(value: Value) -> float:
    """Return the value as a double (AS-22)."""
    value = single(value)
    if type(value) is float:
        return value
    if type(value) is tuple:
        raise EvaluationError(f"A doubleVec of {len(value)} elements cannot be used where a double is needed")
    raise EvaluationError(f"A {type_name(value)} cannot be used where a double is needed")


def to_vector(values: Iterable[Value]) -> Vector:
    """Return doubles and vectors concatenated into one vector (AS-18, AS-23, AS-24)."""
    elements: list[float] = []
    for value in values:
        if type(value) is float:
            elements.append(value)
        elif type(value) is tuple:
            elements += value
        else:
            raise EvaluationError(f"A {type_name(value)} cannot be an element of a list of numbers")
    return tuple(elements)


def text_of(value: Value) -> str:
    """Return the text of a value in results (AS-69)."""
    if type(value) is float:
        return _number_text(value)
    if type(value) is tuple:
        return f"[{','.join(map(_number_text, value))}]"
    return str(value)


def _number_text(value: float) -> str:
    text = f"{value:g}"
    return "0" if text == "-0" else text


def whole_text(value: float) -> str:
    """Return the number rounded to a whole one, halves up (AS-73)."""
    return str(math.floor(value + 0.5)) if math.isfinite(value) else _number_text(value)


class SampleSeries(NamedTuple):
    """The samples of one metric: times in ms, oldest first and none in the future, and values (AS-52)."""

    times_ms: Sequence[int] = ()
    values: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of one evaluation at ``now_ms`` milliseconds after ``start`` (UTC).

    ``variables`` are current values by the service's names: the targets in force and the state of the pool (AS-36,
    AS-46). ``samples`` are by metric name. ``chance`` returns the next number of ``rand()`` (AS-62).
    ``may_have_spot`` is False for a pool that cannot have Spot nodes (POOL-27).
    """

    start: datetime
    now_ms: int = 0
    variables: Mapping[str, float] = field(default_factory=dict)
    samples: Mapping[str, SampleSeries] = field(default_factory=dict)
    chance: Callable[[], float] = float  # 0.0
    may_have_spot: bool = True

    @property
    def now(self) -> Timestamp:
        """The time of the evaluation."""
        return self.at(self.now_ms)

    def at(self, when_ms: int) -> Timestamp:
        """Return the time of a sample."""
        return Timestamp.of(self.start, when_ms * TICKS_PER_MS)

    def target(self, name: str) -> int:
        """Return the pool's target in force, or 0 if unknown (AS-36)."""
        return int(self.variables.get(name, 0))


_W3C = lazy_regex(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:"
    r"T(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,7}))?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?)?)?)?",
    re.ASCII,
)
_RFC_1123 = lazy_regex(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?"
    r"(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r" (?P<zone>GMT|UTC|[+-]\d\d:?\d\d)",
    re.ASCII,
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TICK_DIGITS = 7

MEMBERS = ("year", "month", "day", "weekday", "hour", "minute", "second")


def parse_time(text: str) -> Timestamp:
    """Return the time of a W3C date-time or an RFC 1123 date (AS-63)."""
    found = _W3C.fullmatch(text) or _RFC_1123.fullmatch(text)
    if found is None:
        raise EvaluationError(f'"{text}" is no time such as 2026-03-11T10:00:00Z or Wed, 11 Mar 2026 10:00:00 GMT')
    parts = found.groupdict()
    month = parts["month"] or "1"
    try:
        moment = datetime(
            int(parts["year"]),
            int(month) if month.isdigit() else _MONTHS.index(month) + 1,
            int(parts["day"] or 1),
            int(parts["hour"] or 0),
            int(parts["minute"] or 0),
            int(parts["second"] or 0),
            tzinfo=_zone(parts["zone"] or "Z"),
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        raise EvaluationError(f'"{text}" names a time that does not exist') from None
    return Timestamp.of(moment, int((parts.get("fraction") or "").ljust(_TICK_DIGITS, "0")))


def _zone(text: str) -> timezone:
    if text in {"Z", "GMT", "UTC"}:
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def member(moment: Timestamp, name: str) -> float:
    """Return a member of a timestamp; Monday is 1 and Sunday 0 (AS-20)."""
    if name not in MEMBERS:
        raise EvaluationError(f"Unknown member {shortened(name)}; a timestamp has {', '.join(MEMBERS)}")
    if name != "weekday":
        return float(getattr(moment.moment, name))
    return float(moment.moment.isoweekday() % 7)


DEDICATED = "$TargetDedicatedNodes"
LOW_PRIORITY = "$TargetLowPriorityNodes"
OPTION = "$NodeDeallocationOption"

# Targets by full name and by alias, with both in order of precedence (AS-35, AS-37).
TARGETS = {
    name: names for names in ((DEDICATED, "$TargetDedicated"), (LOW_PRIORITY, "$TargetLowPriority")) for name in names
}

# Names whose value is the name itself (AS-40).
REQUEUE = "requeue"
OPTIONS = (REQUEUE, "terminate", "taskcompletion", "retaineddata")

# Metrics whose bare name is the current state of the pool (AS-46).
LIVE = words("$CurrentDedicatedNodes $CurrentLowPriorityNodes $PreemptedNodeCount $UsableNodeCount $TaskSlotsPerNode")

# Metrics of the use of nodes (AS-41, AS-53), and all of which samples are taken.
NODE_METRICS = words(
    "$CPUPercent $SampleNodeCount $WallClockSeconds $MemoryBytes $DiskBytes $DiskReadBytes $DiskWriteBytes $DiskReadOps"
    " $DiskWriteOps $NetworkInBytes $NetworkOutBytes"
)
_TASK_METRICS = ("$ActiveTasks", "$RunningTasks", "$PendingTasks", "$SucceededTasks", "$FailedTasks")
SAMPLED = (*_TASK_METRICS, *LIVE, *NODE_METRICS)
# Metrics by name, including the one alias (AS-41).
METRICS = {name: name for name in LIVE} | {"$CurrentDedicated": LIVE[0]} | {name: name for name in SAMPLED}

_SECOND = _TICKS_PER_SECOND
_DAY = 86_400 * _SECOND

# Read-only names (AS-40, AS-43).
CONSTANTS: dict[str, Value] = {
    f"TimeInterval_{name}": Interval(ticks)
    for name, ticks in {
        "Zero": 0, "100ns": 1, "Microsecond": 10, "Millisecond": TICKS_PER_MS, "Second": _SECOND,
        "Minute": 60 * _SECOND, "Hour": 3600 * _SECOND, "Day": _DAY, "Week": 7 * _DAY, "Year": 365 * _DAY,
    }.items()
}  # fmt: skip
CONSTANTS |= dict(zip(OPTIONS, OPTIONS, strict=True))

READ_ONLY = METRICS.keys() | CONSTANTS.keys()


# -- methods of sampled variables (AS-44 to AS-51) ------------------------------------------------------------------

SAMPLE_PERIOD_MS = 30_000
_PERIOD_TICKS = SAMPLE_PERIOD_MS * TICKS_PER_MS
_DEFAULT_PERCENT = 70.0  # AS-51
_NO_SAMPLES = SampleSeries()


class Window(NamedTuple):
    """The samples in an interval, and the possible number of them (AS-49)."""

    values: Sequence[float]
    possible: int

    @property
    def percent(self) -> float:
        """The available share in percent, 0 to 100."""
        return min(100.0, 100 * len(self.values) / self.possible)


class Metric(NamedTuple):
    """A sampled variable, by the name used in the formula."""

    name: str
    inputs: Inputs

    @property
    def series(self) -> SampleSeries:
        """Its samples; empty if it has never been sampled."""
        return self.inputs.samples.get(METRICS[self.name], _NO_SAMPLES)

    def begin(self) -> Timestamp:
        """Return the time of the oldest sample, or the present time without any."""
        return self.inputs.at(next(iter(self.series.times_ms), self.inputs.now_ms))

    def current(self) -> float:
        """Return the current value if known, otherwise the newest sample or NaN (AS-46)."""
        value = self.inputs.variables.get(METRICS[self.name])
        if value is not None:
            return float(value)
        values = self.series.values
        return float(values[-1]) if values else math.nan

    def window(self, start: Value, end: Value) -> Window:
        """Return the samples after the earlier and up to the later of two bounds (AS-45, AS-49)."""
        first, last = sorted((self._ticks(start), self._ticks(end)))
        times_ms, values = self.series
        # t_ms * TICKS_PER_MS <= ticks exactly when t_ms <= ticks // TICKS_PER_MS.
        inside = slice(bisect_right(times_ms, first // TICKS_PER_MS), bisect_right(times_ms, last // TICKS_PER_MS))
        return Window(values[inside], max(1, (last - first) // _PERIOD_TICKS))

    def _ticks(self, bound: Value) -> int:
        """Return a bound in ticks since the start; an interval is relative to now (AS-45)."""
        if isinstance(bound, Timestamp):
            return bound.ticks - self.inputs.at(0).ticks
        assert isinstance(bound, Interval)
        return self.inputs.now_ms * TICKS_PER_MS - round(bound.ticks)


def _window(metric: Metric, bounds: Sequence[Value]) -> Window | None:
    """Return the samples from one bound until now, or between two; None of anything else."""
    match bounds:
        case [(Interval() | Timestamp()) as start]:
            return metric.window(start, Interval(0))
        case [(Interval() | Timestamp()) as start, (Interval() | Timestamp()) as end]:
            return metric.window(start, end)
    return None


def _get_sample(metric: Metric, arguments: Sequence[Value]) -> Value:
    """Return the newest samples, or those of an interval; fail if too few of these are available (AS-45, AS-50)."""
    match arguments:
        case [float(count)]:
            return _newest(metric, count)
        case [*bounds, float(percent)]:
            window = _window(metric, bounds)
        case _:
            window, percent = _window(metric, arguments), _DEFAULT_PERCENT
    if window is None:
        raise EvaluationError(
            f"Wrong arguments of GetSample: ({types_of(arguments)}); "
            "it takes a count, or one or two times and a percentage"
        )
    if window.percent < percent:
        wanted, received = whole_text(percent), whole_text(window.percent)
        raise TooFewSamples(f"Insufficient data from data set: {metric.name} wanted {wanted}%, received {received}%")
    return tuple(map(float, window.values))  # the oldest first (AS-48)


def _newest(metric: Metric, count: float) -> Vector:
    """Return the newest samples (AS-47)."""
    if not count > -1:  # NaN is not, and fractions are truncated to 0
        raise EvaluationError(f"Wrong arguments of GetSample: a count of {whole_text(count)} samples")
    values = metric.series.values
    return tuple(map(float, values[len(values) - math.trunc(min(count, len(values))) :]))  # the oldest first (AS-48)


def _get_sample_percent(metric: Metric, arguments: Sequence[Value]) -> Value:
    window = _window(metric, arguments)
    if window is not None:
        return window.percent
    raise EvaluationError(f"Wrong arguments of GetSamplePercent: ({types_of(arguments)}); it takes one or two times")


METHODS: dict[str, Callable[[Metric, Sequence[Value]], Value]] = {
    "GetSample": _get_sample,
    "GetSamplePercent": _get_sample_percent,
    "GetSamplePeriod": without_arguments("GetSamplePeriod", lambda _: Interval(_PERIOD_TICKS)),
    "Count": without_arguments("Count", lambda metric: float(len(metric.series.values))),
    "HistoryBeginTime": without_arguments("HistoryBeginTime", Metric.begin),
}
