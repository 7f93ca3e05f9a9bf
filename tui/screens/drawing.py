"""Drawing: the timeline as a picture in a file, row by row, with time for keys in between."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tui.saving.targets import NewLines, TargetError
from tui.viewmodels.timeline.svg import Paint, drawn
from tui.widgets import palette

if TYPE_CHECKING:
    from pathlib import Path

    from tui.screens.deck import Deck
    from tui.viewmodels.session.session import Session
    from tui.widgets.timeline import TimelineGrid

_MOST_ROWS = 20_000
_SLICE_S = 0.005
_PROGRESS_S = 0.1


class Drawing:
    """Asks for a file, and draws all rows there: a whole picture or none, and never over another file."""

    def __init__(self, deck: Deck, session: Session) -> None:
        """Of the session on this deck."""
        self._deck = deck
        self._session = session

    def ask(self, grid: TimelineGrid) -> None:
        """Ask where the picture is to be written."""
        rows = len(grid.model.keys)
        if rows > _MOST_ROWS:
            self._deck.say(f"{rows:,} rows are too many for a picture; ! leaves those that have failed.", "warning")
        else:
            self._deck.ask("export", f"draw {rows:,} rows as SVG in", "timeline.svg")

    def write(self, grid: TimelineGrid, path: Path) -> None:
        """Draw the picture; time stands still while that is done."""
        self._deck.playback.stand_still()
        self._deck.run_worker(self._write(grid, path, self._moment()), group="drawing", exclusive=True)

    async def _write(self, grid: TimelineGrid, path: Path, moment: object) -> None:
        theme = self._deck.app.theme
        paint = Paint(palette.ground(theme), palette.colours(theme), palette.on_colours(theme))
        rows = len(grid.model.keys)
        try:
            with NewLines(path) as target:
                if not await self._draw(grid, target, paint, moment):
                    self._deck.say(f"{path} was left off: time has gone on.", "warning")
                    return
                target.keep()
        except TargetError as error:
            self._deck.say(f"{error}; e asks for another name.", "error")
        else:
            self._deck.say(f"drew {rows:,} rows in {path}")
        finally:
            grid.tell_progress("")

    async def _draw(self, grid: TimelineGrid, target: NewLines, paint: Paint, moment: object) -> bool:
        """Draw all that can be drawn at this moment; returns whether it stayed this moment until the end."""
        stop_s = time.perf_counter() + _SLICE_S
        next_progress_s, written, rows = time.perf_counter() + _PROGRESS_S, 0, max(1, len(grid.model.keys))
        for lines in drawn(grid.model, paint):
            target.write(lines)
            written += bool(lines)
            if time.perf_counter() < stop_s:
                continue
            if time.perf_counter() >= next_progress_s:
                grid.tell_progress(f"drawing {min(1, written / rows):.0%}")
                next_progress_s = time.perf_counter() + _PROGRESS_S
            await self._deck.playback.pacer.way.pause()
            if self._moment() != moment:
                return False
            stop_s = time.perf_counter() + _SLICE_S
        return True

    def _moment(self) -> object:
        simulation = self._session.simulation
        return simulation.jumps, simulation.log.count, simulation.now_ms
