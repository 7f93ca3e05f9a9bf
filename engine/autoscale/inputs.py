"""The inputs of an evaluation: time, current values, samples and random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from engine.autoscale.values import TICKS_PER_MS, Timestamp


class Dialect(NamedTuple):
    """The decisions with the weakest evidence, each a single value."""

    sunday: int = 0  # AS-20
    timestamp_minus_interval: bool = False  # AS-27, last paragraph
    oldest_first: bool = True  # AS-48
    nothing: float = math.nan  # AS-58: avg, max, min, range, std and percentile of an empty list
    whole_percentile: float = 100  # AS-61: the p that means the largest element
    stop_applies: bool = True  # AS-62: whether what was assigned before stop() counts
    least_target: int | None = 0  # AS-77: what a target below 0 becomes; None makes it an error


STANDARD = Dialect()


class SampleSeries(NamedTuple):
    """The samples of one metric: times in ms, oldest first and none in the future, and values (AS-52)."""

    times_ms: Sequence[int] = ()
    values: Sequence[float] = ()


def _no_chance() -> float:
    return 0.0


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
    chance: Callable[[], float] = _no_chance
    dialect: Dialect = STANDARD
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
