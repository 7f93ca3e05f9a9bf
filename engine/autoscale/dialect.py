"""What the public record leaves open about the language, and what is taken to be so."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """The decisions with the least support, so that a correction is a change of one line."""

    sunday: int = 0  # AS-20
    timestamp_minus_interval: bool = False  # AS-27, last paragraph
    oldest_first: bool = True  # AS-48
    nothing: float = math.nan  # AS-58: avg, max, min, range, std and percentile of an empty list
    whole_percentile: float = 100  # AS-61: the p that means the largest element
    stop_applies: bool = True  # AS-62: whether what was assigned before stop() counts
    least_target: int | None = 0  # AS-77: what a target below 0 becomes; None makes it an error


STANDARD = Dialect()
