"""The engine, beside a bare SimPy program that does the same work, and with checkpoints, beside without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.bench.answer import Answer
from tests.bench.formula import costs_ms
from tests.bench.results import Result
from tests.bench.trees import HERE
from tests.bench.workloads import WORKLOADS, Workload

if TYPE_CHECKING:
    import argparse

    from tests.bench.results import Sheet

_MOST_BYTES, _MOST_PAST_BYTES = 120, 300  # a task
_MOST_FOR_CHECKPOINTS = 1.05
_SIMPY = "bare SimPy events"


class _Rounds(NamedTuple):
    """What ``tests.bench.one`` has printed in each round for each of the programs."""

    floor: list[dict[str, Any]]
    engine: list[dict[str, Any]]
    past: list[dict[str, Any]]
    base: list[dict[str, Any]]

    def over(self, measured: list[dict[str, Any]], yardstick: list[dict[str, Any]]) -> tuple[float, ...]:
        """Return the processor time of a program as a multiple of another's, round by round."""
        return tuple(one["cpu_s"] / other["cpu_s"] for one, other in zip(measured, yardstick, strict=True))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", choices=[[], *WORKLOADS], default=[])


def measure(sheet: Sheet, arguments: argparse.Namespace, base: Path | None) -> None:
    """Measure the workloads that are named, or all, each in an interpreter of its own."""
    costs_us: dict[str, float] = {}
    for name in arguments.workloads or WORKLOADS:
        for each in (WORKLOADS[name].beside, name):
            if each and each not in costs_us:
                costs_us[each] = _measure(sheet, WORKLOADS[each], arguments.rounds, base)
        beside = WORKLOADS[name].beside
        if beside:
            sheet.add(Result(f"{name}: a task", f"a task of {beside}", (costs_us[name] / costs_us[beside],)))
    first_ms, later_ms = costs_ms()
    remark = f"{first_ms:.2f} ms the first time"
    sheet.add(Result("autoscale formula on a day of samples", "", (later_ms,), unit="ms", remark=remark))


def _measure(sheet: Sheet, workload: Workload, rounds: int, base: Path | None) -> float:
    """Add the results of a workload; return the engine's microseconds a task."""
    seen = _Rounds([], [], [], [])
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "work.bin")
        for _ in range(rounds):
            seen.engine.append(_run("engine", workload, path))
            seen.floor.append(_run("floor", workload, path))
            seen.past.append(_run("past", workload, path))
            if base is not None:
                seen.base.append(_run("engine", workload, path, base))
    _check(workload, seen)
    name, tasks = workload.name, workload.tasks
    engine_us, floor_us = (median(one["cpu_s"] for one in each) * 1e6 / tasks for each in (seen.engine, seen.floor))
    remark = f"{engine_us:.1f} over {floor_us:.1f} us a task, {seen.engine[0]['events']:,} events"
    sheet.add(Result(name, _SIMPY, seen.over(seen.engine, seen.floor), workload.goal, remark=remark))
    with_past = seen.over(seen.past, seen.engine)
    sheet.add(Result(f"{name}, checkpoints", "without checkpoints", with_past, _MOST_FOR_CHECKPOINTS))
    sheet.add(Result(f"{name}, memory", "", _bytes_a_task(seen.engine, tasks), _MOST_BYTES, "B/task"))
    past_bytes = _bytes_a_task(seen.past, tasks)
    sheet.add(Result(f"{name}, memory with checkpoints", "", past_bytes, _MOST_PAST_BYTES, "B/task"))
    seeks_ms = tuple(past["seek_s"] * 1000 for past in seen.past)
    sheet.add(Result(f"{name}, back to the middle", "", seeks_ms, unit="ms"))
    if base is not None:
        log = "same log" if seen.base[0]["log"] == seen.engine[0]["log"] else "ANOTHER LOG"
        sheet.add(Result(name, "the other commit", seen.over(seen.engine, seen.base), remark=log))
    return engine_us


def _run(program: str, workload: Workload, path: Path, tree: Path = HERE) -> dict[str, Any]:
    """Return what ``tests.bench.one`` of a tree prints for the program in an interpreter of its own."""
    call = [sys.executable, "-m", "tests.bench.one", program, workload.name, str(path)]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=tree, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _bytes_a_task(runs: list[dict[str, Any]], tasks: int) -> tuple[float, ...]:
    return tuple(run["peak_bytes"] / tasks for run in runs)


def _check(workload: Workload, seen: _Rounds) -> None:
    """Raise SystemExit on a wrong answer: a fast wrong engine must not pass."""
    answer, expected = Answer(*seen.engine[0]["answer"]), Answer(*seen.floor[0]["answer"])
    if not _is_same_work(workload, answer, expected):
        raise SystemExit(f"{workload.name}: wrong answer: engine {answer}, floor {expected}")
    if len({run["log"] for run in [*seen.engine, *seen.past]}) != 1:
        raise SystemExit(f"{workload.name}: the same scenario and seed gave different logs")
    if answer.preparations != answer.releases:
        raise SystemExit(f"{workload.name}: {answer.preparations} preparations, {answer.releases} releases")


def _is_same_work(workload: Workload, engine: Answer, floor: Answer) -> bool:
    """Return whether both did the same. Which nodes prepare depends on placement, which the floor does not know."""
    if workload.prepared or workload.managed or workload.jobs > 1:
        return (engine.tasks, engine.busy_ms) == (floor.tasks, floor.busy_ms)
    return engine == floor
