"""``python -m tests.tui.picture`` draws the README's picture of the dashboard anew, ``tui/dashboard.svg``.

A night of rendering on forty nodes, nearly nine minutes in: preparation has failed on three of them.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from engine import Simulation, load_scenario
from tui.app.dashboard import Dashboard

PICTURE = Path(__file__).parents[2] / "tui" / "dashboard.svg"
SCENARIO = Path(__file__).parent / "scenarios" / "forty-nodes.yaml"
MOMENT_MS = 530_000
SIZE = (120, 40)


async def draw() -> str:
    """The dashboard as SVG."""
    simulation = Simulation(load_scenario(str(SCENARIO)))
    simulation.run_until(MOMENT_MS)
    app = Dashboard(simulation, plays=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        return app.export_screenshot(title="batchdeck")


def main() -> None:
    """Write the picture."""
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    PICTURE.write_text(asyncio.run(draw()), encoding="utf-8")


if __name__ == "__main__":
    main()
