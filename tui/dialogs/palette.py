"""The command palette: everything that the dashboard can do, found by what a person would type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.dialogs.finder import Finder
from tui.viewmodels.sheets.palette import PaletteEntry, entry_line, fitting
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Sequence


class Palette(Finder[Callable[[], object] | None]):
    """Returns the work of the chosen command, which is done once the palette is closed."""

    def __init__(self, entries: Sequence[PaletteEntry], *, pointer: str) -> None:
        """``entries`` are listed in this order until something is typed."""
        super().__init__("Commands", "type what you want to do: cost, log, slow, kill ...", pointer=pointer)
        self._entries = entries
        self._found: list[PaletteEntry] = []

    def find(self, text: str) -> None:
        """List the commands that fit the text, the best first."""
        self._found = fitting(self._entries, text)
        heading = fmt.counted(len(self._found), "command") if self._found else "Nothing fits. ctrl+f finds names."
        lines = [(number, entry_line(entry, self.cells)) for number, entry in enumerate(self._found)]
        self.show(line(Span(heading, Role.DIM)), lines)

    def choose(self, number: int) -> None:
        """Close, and do it."""
        self.dismiss(self._found[number].run)
