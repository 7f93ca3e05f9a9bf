"""The distribution that fits a sample of durations best, among those that a scenario can write. It needs scipy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from engine.base.units import SECOND_MS
from engine.specs.distributions import MOST_SIGMA

_DIGITS = 4  # of a sigma, and of the statistic


class Fit(NamedTuple):
    """A distribution as ``simulate.duration`` writes it, and the Kolmogorov-Smirnov statistic of the sample (0 to 1).

    ``duration`` is in seconds. A smaller statistic is a better fit.
    """

    kind: str
    duration: object
    statistic: float


def best_fit(sample_ms: Sequence[int]) -> Fit:
    """Return the distribution whose Kolmogorov-Smirnov statistic is the smallest; a single value is a constant.

    Raises:
        ValueError: The sample is empty.
    """
    if not sample_ms:
        raise ValueError("a sample must not be empty")
    sample = np.sort(np.asarray(sample_ms, dtype=np.float64)) / SECOND_MS
    if sample[0] == sample[-1]:
        return Fit("constant", _seconds(sample[0]), 0.0)
    fits = [fit for fit in (make(sample) for make in _MAKERS) if fit is not None]
    return min(fits, key=lambda fit: fit.statistic)  # of equal ones the first in the order of makers


def _lognormal(sample: np.ndarray) -> Fit | None:
    positive = sample[sample > 0]
    if positive[0] == positive[-1]:
        return None
    sigma, _, median = stats.lognorm.fit(positive, floc=0)
    sigma = round(float(sigma), _DIGITS)
    if not 0 < sigma <= MOST_SIGMA:
        return None
    return _fit("lognormal", [_seconds(median), sigma], sample, stats.lognorm(sigma, scale=median))


def _exponential(sample: np.ndarray) -> Fit:
    mean = float(sample.mean())
    return _fit("exponential", _seconds(mean), sample, stats.expon(scale=mean))


def _uniform(sample: np.ndarray) -> Fit:
    low, high = float(sample[0]), float(sample[-1])
    return _fit("uniform", [_seconds(low), _seconds(high)], sample, stats.uniform(low, high - low))


def _triangular(sample: np.ndarray) -> Fit:
    """Return the triangle over the range of the sample whose mode fits best."""
    low, width = float(sample[0]), float(sample[-1] - sample[0])
    found = optimize.minimize_scalar(
        lambda mode: _statistic(sample, stats.triang(mode, low, width)), bounds=(0, 1), method="bounded"
    )
    mode = low + float(found.x) * width
    times = [_seconds(low), _seconds(mode), _seconds(low + width)]
    return _fit("triangular", times, sample, stats.triang(float(found.x), low, width))


def _normal(sample: np.ndarray) -> Fit:
    mean, deviation = float(sample.mean()), float(sample.std())
    return _fit("normal", [_seconds(mean), _seconds(deviation)], sample, stats.norm(mean, deviation))


_MAKERS: tuple[Callable[[np.ndarray], Fit | None], ...] = (_lognormal, _exponential, _uniform, _triangular, _normal)


def _fit(kind: str, values: object, sample: np.ndarray, frozen: stats.rv_frozen) -> Fit:
    return Fit(kind, {kind: values}, round(_statistic(sample, frozen), _DIGITS))


def _statistic(sample: np.ndarray, frozen: stats.rv_frozen) -> float:
    """Return the largest distance between the sample's distribution and this one, below zero cut off as in a run."""
    return float(stats.kstest(sample, frozen.cdf, method="asymp").statistic)


def _seconds(seconds: float) -> float:
    """Return a time with as many digits as a run tells apart, a whole number without a point."""
    ms = round(float(seconds) * SECOND_MS)
    return ms // SECOND_MS if ms % SECOND_MS == 0 else ms / SECOND_MS
