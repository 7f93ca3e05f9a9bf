"""Messages with which widgets and panes ask the main screen for something, and notifications to the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.widget import Widget

    from engine import Simulation
    from tui.viewmodels.frame.messages import Severity
    from tui.viewmodels.text.styled import ItemRef
    from tui.viewmodels.timeline.rows import Openable


@dataclass
class ShowView(Message):
    """Show a view, with the cursor on ``row`` if one is given: a node or task by row number, anything else by id.

    An item in ``focus`` gets the focus, or its job or pool does.
    """

    view_name: str
    row: int | str | None = None
    focus: ItemRef | None = None


@dataclass
class ShowSheet(Message):
    """Show a sheet of the go line."""

    name: str


@dataclass
class GoToFailure(Message):
    """Go to the next failure in time, or with ``by`` -1 to the previous one."""

    by: int


@dataclass
class GoToTime(Message):
    """Show the simulation at ``when_ms`` after the start."""

    when_ms: int


class OfferRestart(Message):
    """Offer what can be done when the run is over and time should go on."""


@dataclass
class ShowRun(Message):
    """Show another run in place of this one, in a view, from a moment on, and say something there."""

    simulation: Simulation
    at_ms: int = 0
    plays: bool = True
    view: str = "watch"
    said: str = ""


class StudyNews(Message):
    """There are new results of the study, or its state has changed. Posted by another thread."""


@dataclass
class StudyFormula(Message):
    """Study an autoscale formula of a pool against its present one."""

    pool_id: str
    formula: str


@dataclass
class OpenOneOf(Message):
    """Open the only choice, or let the user pick one of several."""

    choices: Sequence[Openable]


@dataclass
class OpenSubject(Message):
    """Open the detail page of a node, task, job or pool."""

    subject: ItemRef


@dataclass
class CreateItem(Message):
    """Open the form that creates something, one of ``menu.NEW``; if empty, what the list that is shown holds."""

    what: str


@dataclass
class OfferActions(Message):
    """Offer the actions that are possible on ``subjects``, all of one kind."""

    subjects: Sequence[ItemRef]


def say(widget: Widget, text: str, severity: Severity = "information") -> None:
    """Tell the user something in the line above the key hints."""
    widget.notify(text, severity=severity, markup=False)
