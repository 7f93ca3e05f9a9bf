"""Inputs of the tests: one instant, a Wednesday, and one history of pending tasks."""

from __future__ import annotations

from datetime import UTC, datetime

from engine.autoscale.values import Inputs, SampleSeries

NOW = datetime(2026, 3, 11, 10, tzinfo=UTC)
EMPTY = Inputs(NOW)
# Every 30 s up to the instant; the third and the fifth sample were lost.
PENDING = SampleSeries([-180_000, -150_000, -90_000, -30_000, 0], [1, 2, 4, 5, 6])
USUAL = Inputs(
    NOW,
    variables={"$TargetDedicatedNodes": 7, "$TargetLowPriorityNodes": 3, "$CurrentDedicatedNodes": 4},
    samples={"$PendingTasks": PENDING},
    chance=lambda: 0.25,
)
