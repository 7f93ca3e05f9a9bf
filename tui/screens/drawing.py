"""The timeline drawn as an SVG file, in slices that leave time for key presses."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from tui.saving.targets import NewLines, TargetError
from tui.viewmodels.timeline.svg import Paint, drawn
from tui.widgets import palette
from tui.widgets.messages import say

if TYPE_CHECKING:
    from tui.screens.playback import Playback
    from tui.viewmodels.session.session import Session
    from tui.widgets.timeline import TimelineGrid

_MOST_ROWS = 20_000
_SLICE_S = 0.005
_PROGRESS_S = 0.1


class TimelineDrawing:
    """A picture of all rows of the timeline. It is written whole or not at all, and never over another file."""

    def __init__(self, grid: TimelineGrid, session: Session, playback: Playback) -> None:
        self._grid = grid
        self._session = session
        self._playback = playback
        self.rows = len(grid.model.keys)

    @property
    def is_too_large(self) -> bool:
        """True if there are more rows than a picture can hold."""
        return self.rows > _MOST_ROWS

    def start(self, name: str) -> None:
        """Draw into a file, in a worker. The drawing is given up when simulated time moves."""
        self._playback.pause()
        self._grid.screen.run_worker(self._write(Path(name.strip()), self._moment()), group="drawing", exclusive=True)

    async def _write(self, path: Path, moment: object) -> None:
        grid, theme = self._grid, self._grid.app.theme
        paint = Paint(palette.ground(theme), palette.colours(theme), palette.on_colours(theme))
        try:
            with NewLines(path) as target:
                if not await self._draw(target, paint, moment):
                    say(grid, f"{path} was not written: simulated time has moved.", "warning")
                    return
                target.keep()
        except TargetError as error:
            say(grid, f"{error}; e asks for another name.", "error")
        else:
            say(grid, f"drew {self.rows:,} rows in {path}")
        finally:
            grid.show_progress("")

    async def _draw(self, target: NewLines, paint: Paint, moment: object) -> bool:
        """Draw all rows; return False if simulated time has moved before the end."""
        stop_s = time.perf_counter() + _SLICE_S
        next_progress_s, written = time.perf_counter() + _PROGRESS_S, 0
        for lines in drawn(self._grid.model, paint):
            target.write(lines)
            written += bool(lines)
            if time.perf_counter() < stop_s:
                continue
            if time.perf_counter() >= next_progress_s:
                self._grid.show_progress(f"drawing {min(1, written / max(1, self.rows)):.0%}")
                next_progress_s = time.perf_counter() + _PROGRESS_S
            await self._playback.pacer.yielder.pause()
            if self._moment() != moment:
                return False
            stop_s = time.perf_counter() + _SLICE_S
        return True

    def _moment(self) -> object:
        simulation = self._session.simulation
        return simulation.jumps, simulation.log.count, simulation.now_ms
