"""The settings: each value, where it comes from, and another one with a key, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from tui.dialogs.modal import Modal
from tui.settings.options import SPEEDS
from tui.viewmodels.sheets.settings import Entry, entries, entry_lines, next_value
from tui.viewmodels.text.styled import Role, Span, line, wrapped
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui.app.dashboard import Dashboard

_SPEEDS = tuple(speed or 0.0 for speed in SPEEDS)
_SAID_LINES = 2


class _Entries(Choices):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space", "screen.change(1)", "the next value", id="settings.next"),
        Binding("left", "screen.change(-1)", "the value before", id="settings.previous"),
    ]


class SettingsScreen(Modal[None]):
    """Options, how views were left, keys. What is chosen shows behind it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,s", "dismiss", "close", id="settings.close"),
        Binding("d", "default", "the default again", id="settings.default"),
    ]

    def __init__(self, dashboard: Dashboard) -> None:
        """The settings of this dashboard."""
        super().__init__()
        self._dashboard = dashboard
        self._entries: list[Entry] = []

    def compose(self) -> ComposeResult:
        """A line for each, and what the one under the cursor is for."""
        with Vertical(id="settings", classes="sheet"):
            yield _Entries(self._dashboard.session.glyphs.cursor, id="choices")
            yield LinesView(id="said")

    def on_mount(self) -> None:
        """The settings as they are."""
        sheet = self.query_one("#settings")
        sheet.border_title = Content("Settings")
        sheet.border_subtitle = Content("enter or left right change  d default  esc close")
        self.query_one(Choices).focus()
        self.call_after_refresh(self._show)

    def on_resize(self) -> None:
        """More or less of each line fits."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        self._dashboard.remember()
        self._entries = entries(self._dashboard.settings, self._dashboard.deck.keymap.listed())
        choices = self.query_one(Choices)
        choices.mark = self._dashboard.session.glyphs.cursor
        choices.show(entry_lines(self._entries, choices.size.width - Choices.MARK_CELLS))
        self._say()

    def _say(self) -> None:
        said = self.query_one("#said", LinesView)
        lines = wrapped(self._entry.said, max(20, said.size.width))[:_SAID_LINES]
        said.show([line(Span(each, Role.DIM)) for each in lines])

    @property
    def _entry(self) -> Entry:
        return self._entries[self.query_one(Choices).number]

    def on_choices_moved(self) -> None:
        """What the line under the cursor is for."""
        self._say()

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Enter takes the next value, and asks for a key."""
        message.stop()
        self.action_change(1)

    def action_change(self, by: int) -> None:
        """Another value; of a key the one that is pressed next."""
        entry = self._entry
        if entry.kind == "option":
            value = self._dashboard.settings.value(entry.name)
            self._dashboard.choose(entry.name, next_value(entry.name, value, by, _SPEEDS))
        elif entry.kind == "key":
            self.app.push_screen(KeyCatcher(entry.said), self._rebind)
        self._show()

    def action_default(self) -> None:
        """The default of the option or the key; a view opens as it does for everybody."""
        entry = self._entry
        match entry.kind:
            case "option":
                self._dashboard.choose(entry.name, None)
            case "view":
                self._dashboard.deck.forget(entry.name)
            case "key":
                self._dashboard.rebind(entry.name, None)
        self._show()

    def _rebind(self, key: str | None) -> None:
        if key is not None and (wrong := self._dashboard.rebind(self._entry.name, key)):
            self._dashboard.deck.say(wrong, "error")
        self._show()


class KeyCatcher(Modal[str | None]):
    """Answers with the next key that is pressed; None for Esc."""

    def __init__(self, does: str) -> None:
        """``does`` says what the key is to do."""
        super().__init__()
        self._does = does

    def compose(self) -> ComposeResult:
        """One line."""
        with Vertical(id="actions"):
            yield LinesView(id="said")

    def on_mount(self) -> None:
        """What is asked for."""
        self.query_one("#actions").border_title = Content("Press a key")
        self.query_one(LinesView).show(
            [line("for: ", Span(self._does, Role.STRONG)), line(Span("esc: none", Role.DIM))]
        )

    def on_key(self, event: events.Key) -> None:
        """That key."""
        event.stop()
        event.prevent_default()
        self.dismiss(None if event.key == "escape" else event.key)
