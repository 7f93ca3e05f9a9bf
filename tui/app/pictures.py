"""Pictures of the screen, as SVG files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui.saving.targets import TargetError, write_new
from tui.widgets.messages import say

if TYPE_CHECKING:
    from textual.app import App

    from tui.screens.main_screen import MainScreen


def ask_picture(app: App[None], main: MainScreen) -> None:
    """Take a picture of the main screen as it is now, and ask for the file to write it to."""
    main.playback.pause()
    picture = app.export_screenshot(title=main.session.simulation.scenario.name)

    def write(name: str) -> None:
        _write(main, picture, Path(name.strip()))

    main.ask("save the picture of this screen as", write, text=str(_free(main.view.id or "")))


def save_picture(app: App[None], main: MainScreen) -> None:
    """Save a picture of a dialog and what is behind it. A dialog has no prompt, so the name is the next free one."""
    picture = app.export_screenshot(title=main.session.simulation.scenario.name)
    try:
        _write(main, picture, _free(type(app.screen).__name__.lower()))
    except TargetError as error:
        say(main, f"{error}.", "error")


def _free(stem: str) -> Path:
    """Return a file name that is not taken yet."""
    candidates = (Path(f"{stem}{number or ''}.svg") for number in range(10_000))
    return next(path for path in candidates if not path.exists())


def _write(main: MainScreen, picture: str, path: Path) -> None:
    """Write a picture, and say so. Raises TargetError."""
    write_new(path, picture)
    say(main, f"saved the picture in {path}")
