"""The page of a large run in Chromium beside an empty page, and playing the run again for it beside the run."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from engine import Simulation, load_scenario
from tests.bench.results import Result
from tests.tui.pages import CHROMIUM, opened, page_of

if TYPE_CHECKING:
    import argparse

    from tests.bench.results import Sheet

_MOST_OVER_EMPTY_S = 2.0
_MOST_MB = 5.0
SCENARIO = """\
scenario: a large run
account: {{quotas: {{dedicatedCores: 1000000}}}}
pools: [{{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: {nodes}, taskSlotsPerNode: 4}}]
jobs:
  - id: j
    poolInfo: {{poolId: p}}
    onAllTasksComplete: terminatejob
    jobPreparationTask:
      commandLine: fetch
      simulate: {{duration: {{normal: [PT40S, PT10S]}}, exitCode: {{0: 0.99, 1: 0.01}}}}
    jobReleaseTask: {{commandLine: clean}}
    taskFactory:
      type: parametricSweep
      parameterSets: [{{start: 1, end: {tasks}}}]
      repeatTask:
        id: "deal-{{0}}"
        commandLine: "price {{0}}"
        simulate: {{duration: {{lognormal: [PT3M, 0.4]}}, exitCode: {{0: 0.97, 1: 0.03}}}}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=1000)


def measure(sheet: Sheet, arguments: argparse.Namespace, _: Path | None) -> None:
    """Write the page, then let it and an empty page take turns."""
    scenario = load_scenario("s.yaml", text=SCENARIO.format(tasks=arguments.tasks, nodes=arguments.nodes))
    began_s = time.process_time()
    simulation = Simulation(scenario, can_go_back=False)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    run_s, began_s = time.process_time() - began_s, time.process_time()
    text = page_of(simulation)
    sheet.add(Result("writing the page", "the run", ((time.process_time() - began_s) / run_s,)))
    sheet.add(Result("size of the page", "", (len(text) / 1e6,), _MOST_MB, "MB"))
    if CHROMIUM is None:
        return
    ratios, over_s = [], []
    with tempfile.TemporaryDirectory() as folder:
        page, empty = Path(folder) / "page.html", Path(folder) / "empty.html"
        page.write_text(text, encoding="utf-8")
        empty.write_text("<!doctype html><title>empty</title>", encoding="utf-8")
        opened(empty, Path(folder))  # makes a profile
        for _round in range(arguments.rounds):
            empty_s, page_s = (_seconds(each, Path(folder)) for each in (empty, page))
            ratios.append(page_s / empty_s)
            over_s.append(page_s - empty_s)
    sheet.add(Result("Chromium opens the page", "an empty page", tuple(ratios)))
    sheet.add(Result("Chromium opens the page, over an empty one", "", tuple(over_s), _MOST_OVER_EMPTY_S, "s"))


def _seconds(page: Path, folder: Path) -> float:
    began_s = time.perf_counter()
    opened(page, folder)
    return time.perf_counter() - began_s
