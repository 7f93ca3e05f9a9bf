"""What panes ask for. Panes never touch the engine: they post one of these, and the screen does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.text.styled import ItemRef
    from tui.viewmodels.timeline.rows import There


class ShowView(Message):
    """Show a view, with the cursor on a row where one is named."""

    def __init__(self, name: str, key: int | None = None) -> None:
        """The view's name, and the row's key in it."""
        super().__init__()
        self.name = name
        self.key = key


class GoToFailure(Message):
    """Go on to the next failure in time, or with ``by`` -1 back to the one before."""

    def __init__(self, by: int) -> None:
        """In this direction."""
        super().__init__()
        self.by = by


class GoTo(Message):
    """Look at a moment, in ms since the start."""

    def __init__(self, when_ms: int) -> None:
        """That moment."""
        super().__init__()
        self.when_ms = when_ms


class OpenOneOf(Message):
    """Open something; where there are several things to choose from, let one be picked."""

    def __init__(self, choices: Sequence[There]) -> None:
        """Those."""
        super().__init__()
        self.choices = choices


class OpenSubject(Message):
    """Go to a node, task, job or pool."""

    def __init__(self, subject: ItemRef) -> None:
        """Which one."""
        super().__init__()
        self.subject = subject


class Answered(Message):
    """The prompt line was filled in."""

    def __init__(self, purpose: str, text: str) -> None:
        """What was asked for, and the answer."""
        super().__init__()
        self.purpose = purpose
        self.text = text


class Typed(Message):
    """The text of the prompt line has changed."""

    def __init__(self, purpose: str, text: str) -> None:
        """What is asked for, and the text so far."""
        super().__init__()
        self.purpose = purpose
        self.text = text


class Dismissed(Message):
    """The prompt line was left without an answer."""

    def __init__(self, purpose: str) -> None:
        """What was asked for."""
        super().__init__()
        self.purpose = purpose
