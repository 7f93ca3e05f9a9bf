"""Files written by a worker in slices, which leave time for key presses between them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from tui.playback.yielding import start_work
from tui.saving.targets import NewLines, TargetError
from tui.viewmodels.timeline.svg import Paint
from tui.widgets import palette
from tui.widgets.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from textual.widget import Widget

    from tui.screens.playback import Playback

SLICE_S = 0.005


def write_in_slices(
    widget: Widget,
    playback: Playback,
    name: str,
    portions: Callable[[Paint], Iterable[Sequence[str]]],
    *,
    done: str,
) -> None:
    """Write a file in a worker: whole or not at all, and never over another one.

    Raises TargetError if the file exists already or cannot be created.

    Args:
        widget: Says what has become of the file.
        playback: Is paused. If simulated time moves all the same, the file is given up.
        name: The path as it was typed.
        portions: Returns the lines in portions, for the colours of the present theme.
        done: Words before the path of the finished file, such as "wrote the report to".
    """
    playback.pause()
    path, theme, moment = Path(name.strip()), widget.app.theme, playback.moment
    paint = Paint(palette.ground(theme), palette.colours(theme), palette.on_colours(theme))
    target = NewLines(path)

    async def write() -> None:
        try:
            with target:
                if not await _write_lines(target, portions(paint), playback, moment):
                    say(widget, f"{path} was not written: simulated time has moved.", "warning")
                    return
                target.keep()
        except TargetError as error:
            say(widget, f"{error}.", "error")
        else:
            say(widget, f"{done} {path}")

    start_work(widget.screen, write, "drawing")


async def _write_lines(target: NewLines, portions: Iterable[Sequence[str]], playback: Playback, moment: object) -> bool:
    """Write all lines; return False if simulated time has left the moment before the end."""
    stop_s = time.perf_counter() + SLICE_S
    for lines in portions:
        target.write(lines)
        if time.perf_counter() < stop_s:
            continue
        await playback.pacer.yielder.pause()
        if playback.moment != moment:
            return False
        stop_s = time.perf_counter() + SLICE_S
    return True
