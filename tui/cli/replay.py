"""The headless replay of a simulation, in slices so that progress can be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base import gc_pause
from engine.base.units import format_clock
from engine.events.log_json import blocks_of_lines
from engine.views.results.totals import task_totals

if TYPE_CHECKING:
    from engine import Simulation
    from tui.cli.progress import RunProgress
    from tui.saving.targets import LinesTarget

SLICE_EVENTS = 20_000  # about a tenth of a second, with the event log


def replay(simulation: Simulation, lines: LinesTarget | None, progress: RunProgress) -> None:
    """``simulation`` has reached its end; its events were written to ``lines`` as they happened."""
    written = 0  # entries of the log
    more = True
    with gc_pause.relaxed():
        while more:
            more = simulation.advance(simulation.end_ms, SLICE_EVENTS)
            if not more:
                simulation.finish()
            if lines is not None:
                lines.write_blocks(blocks_of_lines(simulation.log, simulation.names, start=written))
                written = len(simulation.log)
            progress.update(simulation)


def how_far(simulation: Simulation) -> str:
    """Return the progress of an unfinished run: ``at +00:42:17, 120 of 201 tasks done``."""
    tasks = task_totals(simulation)
    return f"at {format_clock(simulation.now_ms)}, {tasks.completed:,} of {tasks.total:,} tasks done"
