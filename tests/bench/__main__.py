"""``python -m tests.bench [WORKLOAD ...] [--rounds N] [--compare COMMIT]``: what the engine costs beyond bare SimPy.

Floor and engine take turns, each in a fresh interpreter, on the same work. Ratios travel between machines, seconds do
not; the median of the ratios of all rounds is what counts. Both must give the same answer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.answer import Answer
from tests.bench.base import HERE, checkout
from tests.bench.formula import costs_ms
from tests.bench.workloads import WORKLOADS, Workload

ROW = "{:<16} {:>8} {:>8} {:>7} {:>8} {:>7} {:>7} {:>8} {:>7} {:>7} {:>11}"
HEAD = (
    ROW.format(
        "workload", "engine", "floor", "ratio", "ratio", "engine", "floor", "w. past", "w. past", "seek", "events"
    ),
    ROW.format("", "us/task", "us/task", "median", "fastest", "B/task", "B/task", "ratio", "B/task", "ms", ""),
)


def measure(program: str, workload: Workload, path: Path, tree: Path = HERE) -> dict[str, Any]:
    """What ``tests.bench.one`` of a tree prints for the program in an interpreter of its own."""
    call = [sys.executable, "-m", "tests.bench.one", program, workload.name, str(path)]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=tree, env=environment)
    return json.loads(done.stdout)


def same_work(workload: Workload, engine: Answer, floor: Answer) -> bool:
    """Whether both did the same. Who prepares which node depends on placement, which the floor does not know."""
    if workload.prepared or workload.managed or workload.jobs > 1:
        return (engine.tasks, engine.busy_ms) == (floor.tasks, floor.busy_ms)
    return engine == floor


def compare(workload: Workload, rounds: int, base: Path | None) -> float:
    """Print one line of the table, and return the engine's microseconds a task. Raises SystemExit on a wrong answer."""
    engines, floors, pasts, bases = [], [], [], []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "work.bin")
        for _ in range(rounds):
            engines.append(measure("engine", workload, path))
            floors.append(measure("floor", workload, path))
            pasts.append(measure("past", workload, path))
            if base is not None:
                bases.append(measure("engine", workload, path, base))
    answer, expected = Answer(*engines[0]["answer"]), Answer(*floors[0]["answer"])
    if not same_work(workload, answer, expected):
        raise SystemExit(f"{workload.name}: wrong answer: engine {answer}, floor {expected}")
    if len({engine["log"] for engine in [*engines, *pasts]}) != 1:
        raise SystemExit(f"{workload.name}: the same scenario and seed gave different logs")
    if answer.preparations != answer.releases:
        raise SystemExit(f"{workload.name}: {answer.preparations} preparations, {answer.releases} releases")
    ratios = [engine["cpu_s"] / floor["cpu_s"] for engine, floor in zip(engines, floors, strict=True)]
    engine_us, floor_us = (
        median(side["cpu_s"] for side in sides) * 1e6 / workload.tasks for sides in (engines, floors)
    )
    engine_bytes, floor_bytes = (
        median(side["peak_bytes"] for side in sides) / workload.tasks for sides in (engines, floors)
    )
    row = (
        f"{engine_us:.2f}",
        f"{floor_us:.2f}",
        f"{median(ratios):.2f}",
        f"{min(ratios):.2f}",
        f"{engine_bytes:.0f}",
        f"{floor_bytes:.0f}",
        f"{median(past['cpu_s'] / floor['cpu_s'] for past, floor in zip(pasts, floors, strict=True)):.2f}",
        f"{median(past['peak_bytes'] for past in pasts) / workload.tasks:.0f}",
        f"{median(past['seek_s'] for past in pasts) * 1000:.0f}",
        f"{engines[0]['events']:,}",
    )
    print(ROW.format(workload.name, *row), flush=True)
    if bases:
        of_base = sorted(engine["cpu_s"] / other["cpu_s"] for engine, other in zip(engines, bases, strict=True))
        same = "same log" if bases[0]["log"] == engines[0]["log"] else "ANOTHER LOG"
        print(
            f"  {median(of_base):.2f} times the other commit ({of_base[0]:.2f} to {of_base[-1]:.2f}), {same}",
            flush=True,
        )
    return engine_us


def main() -> None:
    """Compare on the workloads that are named, or on all."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", choices=[[], *WORKLOADS], default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compare", metavar="COMMIT")
    arguments = parser.parse_args()
    print(*HEAD, sep="\n")
    costs_us: dict[str, float] = {}
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        base = stack.enter_context(checkout(arguments.compare, directory)) if arguments.compare else None
        for name in arguments.workloads or WORKLOADS:
            for each in (WORKLOADS[name].beside, name):
                if each and each not in costs_us:
                    costs_us[each] = compare(WORKLOADS[each], arguments.rounds, base)
    for name, cost_us in costs_us.items():
        beside = WORKLOADS[name].beside
        if beside:
            print(f"a task of {name} costs {cost_us / costs_us[beside]:.2f} times one of {beside}")
    print("an autoscale formula on a day of samples: {:.2f} ms the first time, then {:.3f} ms".format(*costs_ms()))


if __name__ == "__main__":
    main()
