"""What a formula costs: the first time, when it is parsed, and ever after."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from statistics import median

from engine.autoscale import parse
from engine.autoscale.values import Inputs, SampleSeries

_ROUNDS = 200
_DAY = 2_880  # samples
_USUAL = """
sampled = $PendingTasks.GetSamplePercent(TimeInterval_Minute * 3);
wanted = sampled < 70 ? 1 : avg($PendingTasks.GetSample(TimeInterval_Minute * 3));
$TargetDedicatedNodes = min(25, wanted / $TaskSlotsPerNode);
$NodeDeallocationOption = taskcompletion;
"""


def costs_ms() -> tuple[float, float]:
    """The processor time of the first evaluation with its parse, and of one of the later ones; in ms."""
    series = SampleSeries([30_000 * number for number in range(_DAY)], [number % 17 for number in range(_DAY)])
    inputs = Inputs(
        datetime(2026, 1, 5, tzinfo=UTC), 30_000 * (_DAY - 1), {"$TaskSlotsPerNode": 2}, {"$PendingTasks": series}
    )
    parse("1")  # the parser itself is loaded
    first_ms = _one_ms(inputs)
    return first_ms, median(_one_ms(inputs) for _ in range(_ROUNDS))


def _one_ms(inputs: Inputs) -> float:
    began_s = time.process_time()
    results = parse(_USUAL).evaluate(inputs)
    took_s = time.process_time() - began_s
    if results.error is not None or results.target_dedicated != 1:
        raise SystemExit(f"the formula came to {results.text}")
    return took_s * 1000
