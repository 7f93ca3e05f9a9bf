"""The methods of a sampled variable (AS-44 to AS-51)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.autoscale.values import (
    METRICS,
    TICKS_PER_MS,
    EvaluationError,
    Inputs,
    Interval,
    SampleSeries,
    Timestamp,
    TooFewSamples,
    Value,
    Vector,
    types_of,
    whole_text,
    without_arguments,
)

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

    def in_order(self, values: Sequence[float]) -> Vector:
        """Return samples as a vector (AS-48)."""
        return tuple(map(float, values if self.inputs.dialect.oldest_first else reversed(values)))

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
    return metric.in_order(window.values)


def _newest(metric: Metric, count: float) -> Vector:
    """Return the newest samples (AS-47)."""
    if not count > -1:  # NaN is not, and fractions are truncated to 0
        raise EvaluationError(f"Wrong arguments of GetSample: a count of {whole_text(count)} samples")
    values = metric.series.values
    return metric.in_order(values[len(values) - math.trunc(min(count, len(values))) :])


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
