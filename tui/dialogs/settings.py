"""The settings dialog: each value, where it comes from, and keys that change it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from textual.binding import Binding, BindingType

from engine.pacing.speeds import SPEEDS
from tui.dialogs.modal import Frame, Modal
from tui.viewmodels.sheets.settings import SettingEntry, entries, entry_lines, next_value
from tui.viewmodels.text.styled import Role, Span, line, wrapped
from tui.widgets.choices import Choices
from tui.widgets.lines import LinesView
from tui.widgets.messages import say

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui.settings.options import Value
    from tui.settings.values import Settings
    from tui.viewmodels.session.session import Session

_SPEEDS = tuple(speed or 0.0 for speed in SPEEDS)
_SAID_LINES = 2


class ConfigurableApp(Protocol):
    """The application as far as this dialog needs it."""

    settings: Settings
    session: Session

    @property
    def speed_now(self) -> float | None:
        """The speed of playback; None is as fast as possible."""

    def remember(self) -> None:
        """Store what was changed elsewhere in the settings."""

    def choose(self, name: str, value: Value | None) -> None:
        """Take another value of an option, None for its default."""

    def reset_view(self, name: str) -> None:
        """Forget the user's choices in a view."""

    def listed_keys(self) -> list[tuple[str, str, str]]:
        """Return the id of each binding, its keys, and what it does."""

    def rebind(self, identity: str, key: str | None) -> str:
        """Give a binding another key, None for its own; return what is wrong with it."""


class _Entries(Choices):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space", "screen.change(1)", "the next value", id="settings.next"),
        Binding("left", "screen.change(-1)", "the value before", id="settings.previous"),
    ]


class SettingsScreen(Modal[None]):
    """Options, views as they were left, and keys. Changes are visible behind the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,s", "dismiss", "close", id="settings.close"),
        Binding("d", "default", "restore the default", id="settings.default"),
    ]

    def __init__(self, configurable: ConfigurableApp) -> None:
        super().__init__()
        self._configurable = configurable
        self._entries: list[SettingEntry] = []

    def compose(self) -> ComposeResult:
        keys = "enter or left right change  d default  esc close"
        with Frame("Settings", keys, id="settings", classes="sheet"):
            yield _Entries(self._configurable.session.glyphs.cursor, id="choices")
            yield LinesView(id="said")

    def on_mount(self) -> None:
        self.query_one(Choices).focus()
        self.call_after_refresh(self._show)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        self._configurable.remember()
        app = self._configurable
        self._entries = entries(app.settings, app.listed_keys(), app.speed_now)
        choices = self.query_one(Choices)
        choices.pointer = self._configurable.session.glyphs.cursor
        cells = choices.size.width - Choices.POINTER_CELLS - 1  # beside the scrollbar
        choices.show(entry_lines(self._entries, cells))
        self._explain()

    def _explain(self) -> None:
        said = self.query_one("#said", LinesView)
        lines = wrapped(self._entry.said, max(20, said.size.width))[:_SAID_LINES]
        said.show([line(Span(each, Role.DIM)) for each in lines])

    @property
    def _entry(self) -> SettingEntry:
        return self._entries[self.query_one(Choices).number]

    def on_choices_moved(self) -> None:
        """Explain the setting under the cursor."""
        self._explain()

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Take the next value, or ask for a key."""
        message.stop()
        self.action_change(1)

    def action_change(self, by: int) -> None:
        """Take the next or previous value; of a binding ask for a key."""
        entry = self._entry
        if entry.kind == "option":
            value = self._configurable.settings.value(entry.name)
            self._configurable.choose(entry.name, next_value(entry.name, value, by, _SPEEDS))
        elif entry.kind == "key":
            self.app.push_screen(KeyCatcher(entry.said), self._rebind)
        self._show()

    def action_default(self) -> None:
        """Take the default of the option or binding; forget the user's choices in the view."""
        entry = self._entry
        match entry.kind:
            case "option":
                self._configurable.choose(entry.name, None)
            case "view":
                self._configurable.reset_view(entry.name)
            case "key":
                self._configurable.rebind(entry.name, None)
        self._show()

    def _rebind(self, key: str | None) -> None:
        if key is not None and (wrong := self._configurable.rebind(self._entry.name, key)):
            say(self, wrong, "error")
        self._show()


class KeyCatcher(Modal[str | None]):
    """Returns the next key that is pressed; None for Escape."""

    def __init__(self, does: str) -> None:
        """``does`` is what the key is to do."""
        super().__init__()
        self._does = does

    def compose(self) -> ComposeResult:
        with Frame("Press a key", ""):
            yield LinesView(id="said")

    def on_mount(self) -> None:
        self.query_one(LinesView).show(
            [line("for: ", Span(self._does, Role.STRONG)), line(Span("esc: none", Role.DIM))]
        )

    def on_key(self, event: events.Key) -> None:
        """Return the key."""
        event.stop()
        event.prevent_default()
        self.dismiss(None if event.key == "escape" else event.key)
