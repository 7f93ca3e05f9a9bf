"""Starting a real program in a sandbox, from the call to its exit code, beside starting it barely."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from engine.execution.sandboxes import SandboxMissing, Start, sandbox_of
from tests.bench.results import Result, write

if TYPE_CHECKING:
    import argparse

    from engine.execution.sandboxes import Sandbox
    from tests.bench.results import Sheet

_MOST_OVER_BARE_MS = {"process": 20.0, "bubblewrap": 60.0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--starts", type=int, default=50, help="programs of each kind in a round")


def measure(sheet: Sheet, arguments: argparse.Namespace, _: Path | None) -> None:
    """Let the bare start and each sandbox take turns, program by program."""
    sandboxes = []
    for kind in _MOST_OVER_BARE_MS:
        try:
            sandboxes.append(sandbox_of(kind, network=False, image=None, elevated=False))
        except SandboxMissing as missing:
            write(str(missing))
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
        each.close()
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
