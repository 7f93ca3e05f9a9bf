"""The dashboard, beside a bare Textual application that draws the same lines and beside the engine alone.

It is the real application on a terminal that only counts, on a pool with ten thousand nodes and a job with a million
tasks. What a frame costs is processor time. How long a key takes is told by the clock, or by processor time while more
is running than there are processors.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

from engine import Simulation, load_scenario
from engine.base import runtime
from tests.bench.at_speed import back, idle, keys, paced, speed
from tests.bench.first_paint import first_paint
from tests.bench.frames import BUSY, frames, frames_of_view, pages, views
from tests.bench.long_lists import lists
from tests.bench.memory import memory
from tests.bench.stage import Stage, show
from tests.bench.workloads import dashboard_scenario, half_played
from tui.app.dashboard import Dashboard

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from tests.bench.results import Sheet

_USUAL, _WIDE = (120, 40), (200, 60)


async def _wide_frames(stage: Stage) -> None:
    await frames_of_view(stage, "frame at 200x60, busy: watch", BUSY)


_AT_USUAL_SIZE: Mapping[str, Callable[[Stage], Awaitable[None]]] = {
    "frames": frames,
    "views": views,
    "pages": pages,
    "lists": lists,
    "keys": keys,
    "speed": speed,
    "idle": idle,
    "back": back,
}
CASES = ("first", "memory", "paced", *_AT_USUAL_SIZE, "wide")
_PACED_NODES, _PACED_TASKS = 1_000, 100_000  # a usual large run, whatever the other cases show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=40, help="so many in each case")
    parser.add_argument("--cases", nargs="*", choices=CASES, default=CASES)


def measure(sheet: Sheet, arguments: argparse.Namespace, _: Path | None) -> None:
    """Measure the cases that are asked for, in the middle of the run."""
    if "first" in arguments.cases:
        first_paint(sheet, arguments.rounds)
    if "memory" in arguments.cases:
        memory(sheet, arguments.nodes, arguments.tasks)
    if "paced" in arguments.cases:
        _show(sheet, arguments, (_PACED_NODES, _PACED_TASKS), {_USUAL: [paced]})
    usual = [act for name, act in _AT_USUAL_SIZE.items() if name in arguments.cases]
    wide = [_wide_frames] if "wide" in arguments.cases else []
    if usual or wide:
        _show(sheet, arguments, (arguments.nodes, arguments.tasks), {_USUAL: usual, _WIDE: wide})


def _show(
    sheet: Sheet,
    arguments: argparse.Namespace,
    nodes_and_tasks: tuple[int, int],
    cases: Mapping[tuple[int, int], Sequence[Callable[[Stage], Awaitable[None]]]],
) -> None:
    """Measure these cases, by the size of the screen, on a run of so many nodes and tasks."""
    simulation = Simulation(load_scenario("dashboard", text=dashboard_scenario(*nodes_and_tasks)))
    began_s = time.process_time()
    half_played(simulation, nodes_and_tasks[1])
    print(f"half of the run: {time.process_time() - began_s:.1f} s of processor time", file=sys.stderr)
    for size, acts in cases.items():
        if acts:
            stage = Stage(Dashboard(simulation, plays=False), sheet, rounds=arguments.rounds, keys=arguments.keys)
            with runtime.gc_relaxed(runtime.FOR_FRAMES):  # as the dashboard does
                asyncio.run(show(stage.app, size, lambda stage=stage, acts=acts: _act(stage, acts)))


async def _act(stage: Stage, acts: Sequence[Callable[[Stage], Awaitable[None]]]) -> None:
    async with stage.yardstick():
        for act in acts:
            await act(stage)
