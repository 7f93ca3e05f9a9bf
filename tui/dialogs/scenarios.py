"""The scenario picker: bundled scenarios and files, filtered by typing, with what each shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input

from tui.dialogs.modal import Frame, Modal
from tui.viewmodels.sheets.scenarios import ScenarioEntry, entry_line, offered, preview
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView
from tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui.viewmodels.text.glyphs import GlyphSet


class ScenarioPicker(Modal[str | None]):
    """Returns the name or path of the scenario that was chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="scenarios.close"),
        Binding("up", "move(-1)", "up", show=False, priority=True, id="scenarios.up"),
        Binding("down", "move(1)", "down", show=False, priority=True, id="scenarios.down"),
        Binding("tab", "complete", "take the name under the cursor", show=False, priority=True, id="scenarios.tab"),
    ]

    def __init__(self, glyphs: GlyphSet) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._entries: list[ScenarioEntry] = []

    def compose(self) -> ComposeResult:
        with Frame("Open a scenario", "type to filter, or a path  enter opens  esc close", id="scenarios"):
            yield TextField(placeholder="part of a name, or a path such as ./mine.yaml", id="wanted")
            with Horizontal():
                choices = Choices(self._glyphs.cursor, id="offered")
                choices.is_driven = True
                yield choices
                yield LinesView(id="about")

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self.call_after_refresh(self._offer, "")

    def on_resize(self) -> None:
        self.call_after_refresh(self._offer, None)

    @property
    def _entry(self) -> ScenarioEntry | None:
        number = self.query_one(Choices).number
        return self._entries[number] if 0 <= number < len(self._entries) else None

    def _offer(self, text: str | None) -> None:
        """List what fits a text; None is the text typed last."""
        self._entries = offered(self.query_one(Input).value if text is None else text)
        choices = self.query_one(Choices)
        cells = max(20, choices.size.width - choices.POINTER_CELLS)
        if text is not None:
            choices.number = 0
            choices.scroll_home(animate=False)
        choices.show([(number, entry_line(entry, cells)) for number, entry in enumerate(self._entries)])
        self._show_preview()

    def _show_preview(self) -> None:
        about = self.query_one("#about", LinesView)
        about.show(preview(self._entry, max(20, about.size.width - 2)))

    def on_input_changed(self, event: Input.Changed) -> None:
        """List what fits the text."""
        event.stop()
        self._offer(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Open the scenario under the cursor, or list the directory."""
        event.stop()
        self._choose()

    def on_choices_moved(self, message: Choices.Moved) -> None:
        """Describe the scenario under the cursor."""
        message.stop()
        self._show_preview()

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Open the scenario under the cursor, or list the directory."""
        message.stop()
        self._choose()

    def action_move(self, by: int) -> None:
        """Move the cursor in the list while the text has the focus."""
        self.query_one(Choices).action_cursor(by)

    def action_complete(self) -> None:
        """Put the name under the cursor into the text."""
        if self._entry is not None:
            self._type(self._entry.name)

    def _choose(self) -> None:
        entry, typed = self._entry, self.query_one(Input).value.strip()
        if entry is None:
            if typed:
                self.dismiss(typed)
        elif entry.is_directory:
            self._type(entry.name)
        else:
            self.dismiss(entry.name)

    def _type(self, text: str) -> None:
        entry = self.query_one(Input)
        entry.value = text
        entry.cursor_position = len(text)
        entry.focus()
