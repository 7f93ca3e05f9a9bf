"""The timeline drawn as an SVG file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tui.screens.writing import write_in_slices
from tui.viewmodels.timeline.svg import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.screens.playback import Playback
    from tui.viewmodels.timeline.svg import Paint
    from tui.widgets.timeline import TimelineGrid

MOST_ROWS = 20_000
_PROGRESS_S = 0.1


class TimelineDrawing:
    """A picture of all rows of the timeline, with its progress below the rows while it is drawn."""

    def __init__(self, grid: TimelineGrid, playback: Playback) -> None:
        self._grid = grid
        self._playback = playback
        self.rows = len(grid.model.keys)

    @property
    def is_too_large(self) -> bool:
        """True if there are more rows than a picture can hold."""
        return self.rows > MOST_ROWS

    def start(self, name: str) -> None:
        """Draw into a file, in a worker. Raises TargetError if it cannot be created."""
        write_in_slices(self._grid, self._playback, name, self._portions, done=f"drew {self.rows:,} rows in")

    def _portions(self, paint: Paint) -> Iterator[list[str]]:
        next_progress_s, written = time.perf_counter() + _PROGRESS_S, 0
        try:
            for lines in drawn(self._grid.model, paint):
                yield lines
                written += bool(lines)
                if time.perf_counter() >= next_progress_s:
                    self._grid.show_progress(f"drawing {min(1, written / max(1, self.rows)):.0%}")
                    next_progress_s = time.perf_counter() + _PROGRESS_S
        finally:
            self._grid.show_progress("")
