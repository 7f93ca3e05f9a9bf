"""Dialogs in which something is chosen: an item by its name, a command, a scenario, settings.

Search looks for a name everywhere while it is typed. The command palette finds everything that the dashboard can do by
the words that a person would type. The picker of scenarios has a note of what each shows. The settings show each value,
its source, and the keys that change it at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input

from engine.pacing import SPEEDS
from tui.textual.keys import start_work, yielder_of
from tui.textual.screens import Frame, Modal, say
from tui.textual.views import LinesView, TextField
from tui.viewmodels import format as fmt
from tui.viewmodels.go_line import PaletteEntry, about_cut_off, entry_line, fitting
from tui.viewmodels.search import Search, Target, search_heading, search_lines
from tui.viewmodels.sheets import (
    ScenarioEntry,
    SettingEntry,
    entries,
    entry_lines,
    next_value,
    offered,
    preview,
    scenario_line,
)
from tui.viewmodels.text import Line, Role, Span, line, wrapped
from tui.widgets.rows import Choices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.timer import Timer

    from tui.saving.settings import Settings, Value
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.session import Session


_SPEEDS = tuple(speed or 0.0 for speed in SPEEDS)
_SAID_LINES = 2


class ConfigurableApp(Protocol):
    """The application as far as this dialog needs it."""

    settings: Settings
    session: Session

    @property
    def speed_now(self) -> float | None:
        """The speed of playback; None is as fast as possible."""

    def choose(self, name: str, value: Value | None) -> None:
        """Take another value of an option, None for its default."""

    def listed_keys(self) -> list[tuple[str, str, str]]:
        """Return the id of each binding, its keys, and what it does."""


class SettingsScreen(Modal[None]):
    """Options and keys. Changes of options are visible behind the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,s", "dismiss", "close", id="settings.close"),
        Binding("d", "default", "restore the default", id="settings.default"),
        Binding("right,space", "change(1)", "the next value", priority=True, id="settings.next"),
        Binding("left", "change(-1)", "the value before", priority=True, id="settings.previous"),
    ]

    def __init__(self, configurable: ConfigurableApp) -> None:
        super().__init__()
        self._configurable = configurable
        self._entries: list[SettingEntry] = []

    def compose(self) -> ComposeResult:
        keys = "enter or left right change  d default  esc close"
        with Frame("Settings", keys, id="settings", classes="sheet"):
            yield Choices(self._configurable.session.glyphs.cursor, id="choices")
            yield LinesView(id="said")

    def on_mount(self) -> None:
        self.query_one(Choices).focus()
        self.call_after_refresh(self.fill)

    def fill(self) -> None:
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

    on_choices_moved = _explain

    @property
    def _entry(self) -> SettingEntry:
        return self._entries[self.query_one(Choices).number]

    def on_choices_chosen(self) -> None:
        self.action_change(1)

    def action_change(self, by: int) -> None:
        """Take the next or previous value; keys are changed in the file."""
        name = self._entry.name
        if self._entry.kind == "key":
            say(self, f'Keys are changed in the settings file: below [keys], "{name}" = "f7" or another key.')
            return
        value = self._configurable.settings.value(name)
        self._configurable.choose(name, next_value(name, value, by, _SPEEDS))
        self.fill()

    def action_default(self) -> None:
        """Take the default of the option."""
        if self._entry.kind == "option":
            self._configurable.choose(self._entry.name, None)
            self.fill()


ResultT = TypeVar("ResultT")
_FRAME_LINES = 6  # the border, the input, the line below it, and a line of the main screen above and below


class Finder(Modal[ResultT]):
    """An input with a list below it. Up and Down move the cursor of the list while the input has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="finder.close"),
        Binding("down,ctrl+n", "cursor(1)", "next line", show=False, priority=True, id="finder.down"),
        Binding("up", "cursor(-1)", "previous line", show=False, priority=True, id="finder.up"),
        Binding("pagedown", "cursor(10)", "ten lines down", show=False, priority=True, id="finder.page-down"),
        Binding("pageup", "cursor(-10)", "ten lines up", show=False, priority=True, id="finder.page-up"),
    ]

    def __init__(self, title: str, hint: str, *, pointer: str, typed: str = "") -> None:
        """``hint`` is shown in the empty input, ``pointer`` beside the line under the cursor."""
        super().__init__()
        self._title = title
        self._hint = hint
        self._pointer = pointer
        self._initial = typed

    def compose(self) -> ComposeResult:
        with Frame(self._title, "enter go  esc close", id="finder"):
            yield self.entry("typed")
            yield LinesView(id="found")
            yield self.found("choices")

    def entry(self, identity: str) -> TextField:
        """Return the input."""
        return TextField(self._initial, id=identity, placeholder=self._hint)

    def found(self, identity: str) -> Choices:
        """Return the list, which leaves the focus to the input, also when it is clicked."""
        choices = Choices(self._pointer, id=identity)
        choices.can_focus = False
        choices.is_driven = True
        return choices

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self.call_after_refresh(self.find, self._initial)

    def fill(self) -> None:
        self.find(self.typed)

    @property
    def typed(self) -> str:
        """The text in the input."""
        return self.query_one(Input).value

    @property
    def cells(self) -> int:
        """The width of a line of the list."""
        return max(20, self.query_one(Choices).size.width - Choices.POINTER_CELLS - 1)

    @abstractmethod
    def find(self, text: str) -> None:
        """Find what fits the text, and show it."""

    @abstractmethod
    def choose(self, number: int) -> None:
        """Close the dialog with the line of this number."""

    def show(self, heading: Line, lines: Sequence[tuple[int, Line]]) -> None:
        """Show what is found, each line with its number, and above it a heading."""
        self.query_one("#found", LinesView).show([heading])
        choices = self.query_one(Choices)
        choices.styles.height = max(1, min(len(lines), self.size.height - _FRAME_LINES))
        choices.show(lines)

    def action_cursor(self, by: int) -> None:
        self.query_one(Choices).action_cursor(by)

    def on_input_changed(self, event: Input.Changed) -> None:
        self.find(event.value)
        self.query_one(Choices).to_first()

    def on_input_submitted(self) -> None:
        """Choose the line under the cursor, at once: keys that follow are for what it opens."""
        number = self.query_one(Choices).chosen
        if number is not None:
            self.choose(number)

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        self.choose(message.number)


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
        self.query_one("#found", LinesView).show([self._heading(message.number)])

    def choose(self, number: int) -> None:
        self.dismiss(self._found[number].run)


class NameFinder(Finder[int | None]):
    """Returns the number of the name that was chosen, of those that contain the words that are typed."""

    def __init__(self, title: str, names: Sequence[str], *, pointer: str) -> None:
        super().__init__(title, "type a part of the name", pointer=pointer)
        self._names = names

    def find(self, text: str) -> None:
        """List the names that contain all words of the text."""
        found = [
            (number, line(name))
            for number, name in enumerate(self._names)
            if all(word in name.casefold() for word in text.casefold().split())
        ]
        self.show(line(Span(f"{len(found):,} of {len(self._names):,}", Role.DIM)), found)

    def choose(self, number: int) -> None:
        self.dismiss(number)


_SLICE_S = 0.02


class SearchDialog(Finder[Target | None]):
    """Returns what was chosen: an item, a file, an event, or a whole list."""

    def __init__(self, session: Session, typed: str = "") -> None:
        hint = "a part of a name, an exit code, an error code ..."
        super().__init__("Find", hint, pointer=session.glyphs.cursor, typed=typed)
        self._session = session
        self._search = Search(session, "")
        self._targets: list[Target] = []

    @property
    def is_done(self) -> bool:
        """True if everything has been looked at for what is typed."""
        return self._search.is_done

    def find(self, text: str) -> None:
        """Begin to search for another text; the search goes on between key presses."""
        if text.strip() != self._search.text or not self._search.groups:
            self._search = Search(self._session, text)
            start_work(self, self._go_on, "search")
        self._show()

    async def _go_on(self) -> None:
        search, yielder = self._search, yielder_of(self)
        while search.advance(_SLICE_S):
            self._show()
            await yielder.pause()
        self._show()

    def _show(self) -> None:
        lines, self._targets = search_lines(self._search, self.cells)
        self.show(search_heading(self._search), lines)

    def choose(self, number: int) -> None:
        if number < len(self._targets):
            self.dismiss(self._targets[number])


_REST_S = 0.05


class ScenarioPicker(Finder[str | None]):
    """Returns the name or path of the scenario that was chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "take the name under the cursor", show=False, priority=True, id="scenarios.tab"),
    ]

    def __init__(self, glyphs: GlyphSet) -> None:
        hint = "part of a name, or a path such as ./mine.yaml"
        super().__init__("Open a scenario", hint, pointer=glyphs.cursor)
        self._entries: list[ScenarioEntry] = []
        self._rest: Timer | None = None  # until the cursor rests

    def compose(self) -> ComposeResult:
        with Frame(self._title, "type to filter, or a path  enter opens  esc close", id="scenarios"):
            yield self.entry("wanted")
            with Horizontal():
                yield self.found("offered")
                yield LinesView(id="about")

    @property
    def _entry(self) -> ScenarioEntry | None:
        number = self.query_one(Choices).number
        return self._entries[number] if 0 <= number < len(self._entries) else None

    def find(self, text: str) -> None:
        """List what fits a text, and what the first one shows."""
        self._entries = offered(text)
        lines = [(number, scenario_line(entry, self.cells)) for number, entry in enumerate(self._entries)]
        self.query_one(Choices).show(lines)
        self.on_choices_moved()

    def on_choices_moved(self) -> None:
        """Show what the scenario under the cursor is about, and its mistakes if the cursor rests there."""
        self._show_preview(checks=False)
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_REST_S, partial(self._show_preview, checks=True))

    def _show_preview(self, *, checks: bool) -> None:
        about = self.query_one("#about", LinesView)
        about.show(preview(self._entry, max(20, about.size.width - 2), checks=checks))

    def action_complete(self) -> None:
        """Put the name under the cursor into the text."""
        if self._entry is not None:
            self._type(self._entry.name)

    def on_input_submitted(self) -> None:
        """Return a path that is not listed; one that is listed is chosen."""
        if not self._entries and self.typed.strip():
            self.dismiss(self.typed.strip())

    def choose(self, number: int) -> None:
        """Return the scenario, or look into the directory."""
        entry = self._entries[number]
        if entry.is_directory:
            self._type(entry.name)
        else:
            self.dismiss(entry.name)

    def _type(self, text: str) -> None:
        entry = self.query_one(Input)
        entry.value = text
        entry.cursor_position = len(text)
        entry.focus()
