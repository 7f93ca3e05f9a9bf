"""The report of a run, written to a file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.screens.writing import write_in_slices
from tui.viewmodels.frame.report_file import report_lines
from tui.widgets.prompt import AnswerError

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui.screens.playback import Playback
    from tui.viewmodels.session.session import Session

_HTML, _MARKDOWN = (".html", ".htm"), (".md", ".markdown")


def is_report(name: str) -> bool:
    """Return True if the name of a file is that of a report: HTML or Markdown."""
    return name.strip().lower().endswith(_HTML + _MARKDOWN)


def start_report(screen: Screen[None], session: Session, playback: Playback, name: str) -> None:
    """Write a report up to the moment that is shown, in a worker. Raises AnswerError, TargetError."""
    if not is_report(name):
        raise AnswerError("The file of a report must end in .html or .md.")
    lines = partial(report_lines, session, is_html=name.strip().lower().endswith(_HTML))
    write_in_slices(screen, playback, name, lines, done="wrote the report to")
