"""The base class of the views, one of which fills the screen between the header and the hints."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from textual.containers import Container

from tui.widgets.later import ActsWhileShown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.widget import Widget

    from tui.viewmodels.lists.columns import Column


class View(ActsWhileShown, Container):
    """A view. It is updated when it is shown, because only then its panes have a size."""

    BLANK = True  # panes cover it: Textual need not draw lines of its own
    columns: Sequence[Column] = ()
    is_stale = True  # its panes may show something else than they should

    @property
    @abstractmethod
    def title(self) -> str:
        """The title in the header."""

    @property
    @abstractmethod
    def help_text(self) -> str:
        """The text of the help, a paragraph a line."""

    @property
    @abstractmethod
    def hints(self) -> Sequence[tuple[str, str]]:
        """Pairs of binding ids and what they do in a word."""

    @property
    def tab(self) -> str:
        """The name of the tab that the header highlights."""
        return self.id or ""

    @property
    def is_busy(self) -> bool:
        """True while it is found out in slices what to show."""
        return False

    @abstractmethod
    def update(self) -> None:
        """Bring everything that is shown up to date."""

    @property
    @abstractmethod
    def first_pane(self) -> Widget:
        """The pane that has the focus at first."""

    def remembered(self) -> dict[str, Any]:
        """Return the user's choices in this view, for the settings."""
        return {}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choices from the settings."""

    def clear_filter(self) -> bool:
        """Show everything that a filter hides or dims; return whether there was a filter."""
        return False

    def on_show(self) -> None:
        """Update the view, unless nothing has changed since it was shown last."""
        if self.is_stale:
            self.is_stale = False
            self.update()
