"""The memory of the dashboard beyond the engine's: ``python -m tests.bench.memory dashboard NODES TASKS``.

Prints the peak of a process that plays half of the run, with the dashboard then or with ``engine`` alone.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys

from engine import Simulation, load_scenario
from engine.base import runtime
from tests.bench.one import peak_bytes
from tests.bench.results import Form, Result, Sheet
from tests.bench.trees import HERE
from tests.bench.workloads import dashboard_scenario, half_played


def memory(sheet: Sheet, nodes: int, tasks: int) -> None:
    """Measure what the dashboard needs beyond the engine, after all views were shown and the tasks filtered."""
    engine_bytes, all_bytes = (_peak_of(program, nodes, tasks) for program in ("engine", "dashboard"))
    remark = f"{engine_bytes / 1e6:.0f} MB without it"
    sheet.add(
        Result(
            "memory of the dashboard, over the engine", "", ((all_bytes - engine_bytes) / 1e6,), 60, "MB", remark=remark
        )
    )


def _peak_of(program: str, nodes: int, tasks: int) -> int:
    call = [sys.executable, "-m", "tests.bench.memory", program, str(nodes), str(tasks)]
    return int(subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE).stdout)


def _look_at_everything(simulation: Simulation) -> None:
    """Show each view of the dashboard once, and filter the tasks."""
    from tests.bench.stage import Stage, show
    from tui.app.dashboard import Dashboard
    from tui.viewmodels.go_line import TABS

    stage = Stage(Dashboard(simulation, plays=False), Sheet(Form.LINES), rounds=1)

    async def look() -> None:
        for tab in TABS:
            stage.screen.show_view(tab.name)
            await stage.settle()
        page = await stage.list_page("tasks")
        page.model.filter_text = "duration:>5m"
        stage.screen.update()
        await stage.settle()

    with runtime.gc_relaxed(runtime.FOR_FRAMES):
        asyncio.run(show(stage.app, (120, 40), look))


def main(program: str, nodes: int, tasks: int) -> None:
    """Play half of the run, show it or not, and print the peak."""
    simulation = half_played(Simulation(load_scenario("dashboard", text=dashboard_scenario(nodes, tasks))), tasks)
    if program == "dashboard":
        _look_at_everything(simulation)
    print(peak_bytes())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
