"""Outcomes of processes: how long each ran, and how it ended, as ``simulate`` says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, NamedTuple

from engine.base.units import format_duration
from engine.histories.checks import epoch_ms
from engine.specs.catalogue import PROCESS_START_MS

ENDED = "TaskEnded"
"""The code of a process that the service has ended: for a time limit, a user, or the end of its job."""


class Outcome(NamedTuple):
    """The outcome of a process.

    ``run_ms`` is the time from its start to its end; of the failed attempts before it nothing is known but their
    number. A process that was not ``found`` has never run.
    """

    run_ms: int
    exit_code: int = 0
    found: bool = True
    failed_attempts: int = 0


def outcome(info: Mapping[str, Any], begin_ms: int | None = None) -> Outcome | None:
    """Return the outcome in an execution info, None if the process has not ended.

    A process that began before ``begin_ms`` counts from then on.
    """
    start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
    if start is None or end is None:
        return None
    run_ms = end - start if begin_ms is None else max(0, end - max(start, begin_ms))
    failed = info.get("result") == "failure" or "failureInfo" in info
    code = info.get("exitCode")
    return Outcome(run_ms, code if code is not None else int(failed), not (failed and code is None), retries(info))


def retries(info: Mapping[str, Any]) -> int:
    """Return the number of failed attempts before the last one."""
    count = info.get("retryCount", 0)
    assert isinstance(count, int)
    return count


def process_time(run_ms: int) -> str:
    """Return the duration of a process that is in state running for ``run_ms``, part of which it takes to start."""
    return format_duration(max(0, run_ms - PROCESS_START_MS))


def simulated(one: Outcome, attempt_ms: int | None = None) -> dict[str, Any]:
    """Return the ``simulate`` of a process.

    Its failed attempts run for ``attempt_ms``, by default as long as the last one.
    """
    block: dict[str, Any] = {"duration": process_time(one.run_ms), "exitCode": one.exit_code}
    if not one.found:
        block = {"duration": process_time(one.run_ms), "found": False}
    if one.failed_attempts:
        failed: dict[str, Any] = {"exitCode": 1}
        if attempt_ms is not None and attempt_ms != one.run_ms:
            failed["duration"] = process_time(attempt_ms)
        if not one.found:
            failed["found"] = True
        block["attempts"] = [dict(failed) for _ in range(one.failed_attempts)]
    return block


def on_nodes(outcomes: Mapping[int, Outcome]) -> dict[str, Any]:
    """Return the ``simulate`` of a process that ran on several nodes: the usual outcome, and those that differ.

    Nodes on which it has not run take the median time and exit code 0.
    """
    if not outcomes:
        return {}
    times = Counter(one.run_ms for one in outcomes.values())
    most, count = times.most_common(1)[0]
    usual = Outcome(most if count > len(outcomes) // 2 else _median(one.run_ms for one in outcomes.values()))
    block = simulated(usual)
    others = {index: simulated(one) for index, one in sorted(outcomes.items()) if one != usual}
    if others:
        block["onNode"] = others
    return block


def _median(times: Iterable[int]) -> int:
    return round(median(times))
