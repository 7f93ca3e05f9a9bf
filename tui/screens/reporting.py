"""The report of a run, written to a file in slices that leave time for key presses."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from tui.saving.targets import NewLines, TargetError
from tui.viewmodels.frame.report_file import report_lines
from tui.viewmodels.timeline.svg import Paint
from tui.widgets import palette
from tui.widgets.messages import say

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui.screens.playback import Playback
    from tui.viewmodels.session.session import Session

ENDINGS = (".html", ".htm", ".md", ".markdown")
_SLICE_S = 0.01


def is_report(name: str) -> bool:
    """Return True if the name of a file is that of a report: HTML or Markdown."""
    return name.strip().lower().endswith(ENDINGS)


class Reporting:
    """Writes reports, each whole or not at all, and never over another file."""

    def __init__(self, screen: Screen[None], session: Session, playback: Playback) -> None:
        self._screen = screen
        self._session = session
        self._playback = playback

    def start(self, name: str) -> None:
        """Write a report up to the moment that is shown, in a worker."""
        if not is_report(name):
            say(self._screen, "report needs a file that ends in .html or .md", "error")
            return
        self._playback.pause()
        self._screen.run_worker(self._write(Path(name.strip())), group="drawing", exclusive=True)

    async def _write(self, path: Path) -> None:
        theme = self._screen.app.theme
        paint = Paint(palette.ground(theme), palette.colours(theme), palette.on_colours(theme))
        try:
            with NewLines(path) as target:
                if not await self._write_lines(target, paint, is_html=path.suffix.lower().startswith(".htm")):
                    say(self._screen, f"{path} was not written: simulated time has moved.", "warning")
                    return
                target.keep()
        except TargetError as error:
            say(self._screen, f"{error}; :report asks for another name.", "error")
        else:
            say(self._screen, f"wrote the report to {path}")

    async def _write_lines(self, target: NewLines, paint: Paint, *, is_html: bool) -> bool:
        """Write all lines; return False if simulated time has moved before the end."""
        moment, stop_s = self._moment(), time.perf_counter() + _SLICE_S
        for lines in report_lines(self._session, paint, is_html=is_html):
            target.write(lines)
            if time.perf_counter() >= stop_s:
                await self._playback.pacer.yielder.pause()
                if self._moment() != moment:
                    return False
                stop_s = time.perf_counter() + _SLICE_S
        return True

    def _moment(self) -> object:
        simulation = self._session.simulation
        return simulation.jumps, simulation.log.count, simulation.now_ms
