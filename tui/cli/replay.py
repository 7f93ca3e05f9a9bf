"""The headless replay of a simulation, in slices so that progress can be shown."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from tui.cli.progress import RunProgress
    from tui.saving.targets import LinesTarget

SLICE_EVENTS = 5_000  # about a tenth of a second


def replay(simulation: Simulation, lines: LinesTarget | None, progress: RunProgress) -> None:
    """``simulation`` has reached its end; its events were written to ``lines`` as they happened."""
    written = 0  # entries of the log
    more = True
    with _relaxed_gc():
        while more:
            more = simulation.advance(simulation.end_ms, SLICE_EVENTS)
            if not more:
                simulation.finish()
            if lines is not None:
                lines.write(simulation.log.json_lines(simulation.names, start=written))
                written = len(simulation.log)
            progress.update(simulation)


@contextmanager
def _relaxed_gc() -> Iterator[None]:
    """Raise the GC threshold: a run keeps what it creates, and creates no cycles."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
