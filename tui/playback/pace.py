"""The speed at which an unattended run takes about a minute."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engine.pacing.speeds import CROSSING_S, LONGEST_QUIET_S, SPEEDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RUN_S = 60  # wall seconds of an unattended run
# Crossing shortens a run. It is not made up for by a speed so low that hardly anything else is left.
_MOST_SLOWED = 6
_STEPS = [speed for speed in SPEEDS if speed is not None and speed >= 1]


def speed_for(length_ms: int, quiet_ms: Iterable[int] = ()) -> float:
    """Return the step of speed at which a run takes about a minute.

    Args:
        length_ms: The length of the run.
        quiet_ms: The lengths of stretches without events that are crossed at once if they are long.
    """
    stretches, usual = list(quiet_ms), max(1.0, length_ms / 1000 / RUN_S)
    steps = [step for step in _STEPS if usual / _MOST_SLOWED <= step]
    return min(steps or _STEPS[-1:], key=lambda step: abs(math.log(_wall_s(step, length_ms, stretches) / RUN_S)))


def _wall_s(speed: float, length_ms: int, stretches: Sequence[int]) -> float:
    """Return how long a run takes at a speed, in wall seconds."""
    crossed = [each for each in stretches if each > LONGEST_QUIET_S * speed * 1000]
    return max(1.0, (length_ms - sum(crossed)) / 1000 / speed + CROSSING_S * len(crossed))
