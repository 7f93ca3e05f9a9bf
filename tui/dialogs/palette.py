"""The command palette: everything that the dashboard can do, found by what a person would type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.dialogs.finder import Finder
from tui.viewmodels.sheets.palette import PaletteEntry, about_cut_off, entry_line, fitting
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Role, Span, line
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.text.styled import Line


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
        lines = [(number, entry_line(entry, self.cells)) for number, entry in enumerate(self._found)]
        self.show(self._heading(self.query_one(Choices).number), lines)

    def _heading(self, number: int) -> Line:
        """Return how many commands fit, and what the one under the cursor is good for where its line is cut."""
        if not self._found:
            return line(Span("Nothing fits. ctrl+f finds names.", Role.DIM))
        about = about_cut_off(self._found[number if number < len(self._found) else 0], self.cells)
        return line(Span(f"{fmt.counted(len(self._found), 'command')}   ", Role.DIM), Span(about, Role.DERIVED))

    def on_choices_moved(self, message: Choices.Moved) -> None:
        """Explain the command under the cursor."""
        message.stop()
        self.query_one("#found", LinesView).show([self._heading(message.number)])

    def choose(self, number: int) -> None:
        """Close, and do it."""
        self.dismiss(self._found[number].run)
