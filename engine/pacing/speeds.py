"""The speeds that playback offers, and the limits of quiet stretches that it crosses."""

from __future__ import annotations

# Simulated seconds per wall second; None is as fast as possible.
SPEEDS: tuple[float | None, ...] = (0.1, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, None)

# A stretch without events that would take longer is crossed at once, in wall seconds; and what is left of it then.
LONGEST_QUIET_S = 5.0
CROSSING_S = 2.0
