"""The dialog in which the columns of a list are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tui.dialogs.modal import Frame, Modal
from tui.viewmodels.text.styled import Line, Role, Span, line
from tui.widgets.choices import Choices

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from tui.viewmodels.lists.rows import RowsModel


class ColumnChooser(Modal[None]):
    """A checkbox for each column; the list changes at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,C", "dismiss", "close", id="columns.close"),
        Binding("space", "switch", "show or hide", id="columns.switch"),
        Binding("d", "default", "restore the default columns", id="columns.default"),
    ]

    def __init__(self, model: RowsModel, on_change: Callable[[], None]) -> None:
        """``on_change`` is called after each change."""
        super().__init__()
        self._model = model
        self._on_change = on_change

    def compose(self) -> ComposeResult:
        with Frame(f"Columns of {self._model.title}", "space show or hide  d default  esc close"):
            yield Choices(self._model.session.glyphs.cursor, id="choices")

    def on_mount(self) -> None:
        choices = self.query_one(Choices)
        choices.styles.height = len(self._model.named_columns)
        choices.focus()
        self._show()

    def _show(self) -> None:
        shown = self._model.shown_names()
        lines: list[tuple[int, Line]] = []
        for number, column in enumerate(self._model.named_columns):
            box = "[x] " if column.name in shown else "[ ] "
            role = Role.DERIVED if column.is_derived else Role.PLAIN
            lines.append((number, line(Span(box, Role.KEY), Span(column.name, role))))
        self.query_one(Choices).show(lines)

    def action_switch(self) -> None:
        """Show the column under the cursor, or hide it."""
        self._model.toggle_column(self._model.named_columns[self.query_one(Choices).number].name)
        self._changed()

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Show or hide the column, as with Space."""
        message.stop()
        self.action_switch()

    def action_default(self) -> None:
        """Let the list choose the columns that fit."""
        self._model.chosen_columns = None
        self._changed()

    def _changed(self) -> None:
        self._show()
        self._on_change()
