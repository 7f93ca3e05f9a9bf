"""What fills the screen between the header and the hints."""

from __future__ import annotations

from abc import abstractmethod

from textual.containers import Container


class View(Container):
    """One of the views. It is looked at whenever it comes to the screen: only then its panes have a size."""

    @abstractmethod
    def look(self) -> None:
        """Bring everything that is shown up to date."""

    def on_show(self) -> None:
        """It has been laid out, for the first time or again."""
        self.look()
