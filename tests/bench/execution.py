"""Starting a real program in a sandbox beside starting it barely, and keys of the dashboard while programs run.

A start is measured from the call to the exit code. Keys are pressed while a hundred programs write a line ten times a
second each, and once more while they also end and are followed by others. How long a key takes is told by the clock, or
by processor time while more is running than there are processors.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from engine import Simulation, load_scenario
from engine.base import runtime
from engine.execution.driver import Execution, Settings
from engine.execution.sandboxes import SandboxMissing, Start, sandbox_of
from tests.bench.flood import opened
from tests.bench.results import Result, write
from tests.bench.stage import is_quiet, percentile, show
from tests.bench.terminal import Terminal
from tui.app.dashboard import Dashboard

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from engine.execution.sandboxes import Sandbox
    from tests.bench.results import Sheet

_MOST_OVER_BARE_MS = {"process": 20.0, "bubblewrap": 60.0}
_CASES = ("starts", "keys")
_MOST_KEY_MS = 50
_PROGRAMS = 100
_LOOPS = {"that stay": "while true", "of five seconds": "for ((n = 0; n < 50; n++))"}
_WRITERS = """
scenario: writers
simulate: {nodes: {allocation: PT1S, starting: PT1S, ready: PT1S}}
pools: [{id: p, vmSize: standard_d4s_v3, targetDedicatedNodes: 25, taskSlotsPerNode: 4}]
jobs:
  - id: job
    poolInfo: {poolId: p}
    taskFactory:
      type: parametricSweep
      parameterSets: [{start: 1, end: 2000}]
      repeatTask:
        id: "t{0}"
        # The shell waits without starting another program, which would keep the processors busy.
        commandLine: "/bin/bash -c 'mkfifo f; exec 3<>f; LOOP; do echo line $((++i)); read -t 0.1 <&3; done'"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--cases", nargs="*", choices=_CASES, default=_CASES)
    parser.add_argument("--starts", type=int, default=50, help="programs of each kind in a round")
    parser.add_argument("--keys", type=int, default=100, help="so many in each view")


def measure(sheet: Sheet, arguments: argparse.Namespace, _: Path | None) -> None:
    """Measure what is asked for in each sandbox that works here."""
    sandboxes = []
    for kind in _MOST_OVER_BARE_MS:
        try:
            sandboxes.append(sandbox_of(kind, network=False, image=None, elevated=False))
        except SandboxMissing as missing:
            write(str(missing))
    if "starts" in arguments.cases:
        _starts(sheet, sandboxes, arguments)
    if "keys" in arguments.cases:
        for each in sandboxes:
            for how, loop in _LOOPS.items():
                _keys(sheet, each, how, loop, arguments)
    for each in sandboxes:
        each.close()


def _starts(sheet: Sheet, sandboxes: list[Sandbox], arguments: argparse.Namespace) -> None:
    """Let the bare start and each sandbox take turns, program by program."""
    found: dict[str, list[tuple[float, float]]] = {each.name: [] for each in sandboxes}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for _round in range(arguments.rounds):
            times_s: dict[str, list[float]] = {name: [] for name in ("bare", *found)}
            for _start in range(arguments.starts):
                times_s["bare"].append(_bare_s(root))
                for each in sandboxes:
                    times_s[each.name].append(_sandboxed_s(each, root))
            bare_s = _middle(times_s["bare"])
            for name, pairs in found.items():
                sandboxed_s = _middle(times_s[name])
                pairs.append((sandboxed_s / bare_s, 1000 * (sandboxed_s - bare_s)))
    for each in sandboxes:
        ratios, over_ms = zip(*found[each.name], strict=True)
        sheet.add(Result(f"a program as {each.name}", "a bare program", ratios))
        sheet.add(
            Result(f"a program as {each.name}, over a bare one", "", over_ms, _MOST_OVER_BARE_MS[each.name], "ms")
        )


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _bare_s(root: Path) -> float:
    began_s = time.perf_counter()
    with (root / "stdout.txt").open("w") as out, (root / "stderr.txt").open("w") as err:
        subprocess.run(["true"], env={"PATH": os.defpath}, cwd=root, stdout=out, stderr=err, check=True)
    return time.perf_counter() - began_s


def _sandboxed_s(sandbox: Sandbox, root: Path) -> float:
    out, err = root / "stdout.txt", root / "stderr.txt"
    began_s = time.perf_counter()
    running = sandbox.start(Start("true", root, {"PATH": os.defpath}, out, err, root))
    while (code := running.poll()) is None:
        time.sleep(0.0002)
    assert code == 0
    return time.perf_counter() - began_s


def _keys(sheet: Sheet, sandbox: Sandbox, how: str, loop: str, arguments: argparse.Namespace) -> None:
    """Measure keys in the dashboard while programs run in a sandbox."""
    scenario = load_scenario("writers", text=_WRITERS.replace("LOOP", loop)).executing()
    simulation = Simulation(scenario)
    simulation.awaits_commands = True
    with tempfile.TemporaryDirectory() as folder:
        execution = Execution(simulation, sandbox, Settings(Path(folder)))
        app = Dashboard(simulation, plays=False)

        async def act() -> None:
            screen, terminal = app.screen_stack[0], app._driver
            assert isinstance(terminal, Terminal)
            screen.playback.play()
            while execution.running() < _PROGRAMS:
                await asyncio.sleep(0.05)
            await asyncio.sleep(2)

            async def press(where: str, keys: Iterable[str], shows: Callable[[], Callable[[], str | None]]) -> None:
                seen = []
                for key, _ in zip(keys, range(arguments.keys), strict=False):
                    seen.append(await terminal.press(key, shows(), 0.05))
                    await asyncio.sleep(0.05)
                clock_ms, cpu_ms = [each.clock_s * 1000 for each in seen], [each.cpu_s * 1000 for each in seen]
                counts_ms = clock_ms if is_quiet() else cpu_ms
                remark = (
                    f"median {percentile(counts_ms, 50):.0f}; processor {percentile(cpu_ms, 50):.0f} to "
                    f"{max(cpu_ms):.0f}, clock {percentile(clock_ms, 50):.0f} to {max(clock_ms):.0f} ms"
                )
                what = f"key to screen, {where}, {_PROGRAMS} programs {how} as {sandbox.name}"
                sheet.add(Result(what, "", (percentile(counts_ms, 95),), _MOST_KEY_MS, "ms", remark=remark))

            def cursor_moved() -> Callable[[], str | None]:
                table, cursor = screen.view.table, app.session.glyphs.cursor
                before = table.key
                return lambda: None if table.key == before else cursor

            await press("to another view", cycle("42"), lambda: opened(screen))
            screen.show_view("tasks")
            await asyncio.sleep(0.5)
            await press("in Tasks", cycle(("down", "up")), cursor_moved)

        try:
            with runtime.gc_relaxed(runtime.FOR_FRAMES):
                asyncio.run(show(app, (120, 40), act))
        finally:
            execution.close()
