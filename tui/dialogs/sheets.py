"""Dialogs that show text to scroll or a few lines to pick from; help, and the rules that a screen cites.

Help shows the keys by group beside a text about the view; on a narrow screen one of them at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.message import Message
from textual.scroll_view import ScrollView

from engine.base import rulebook
from tui.textual.keys import Group, group_of, when_of
from tui.textual.overrides import set_subtitle
from tui.textual.screens import Frame, Modal
from tui.textual.views import LinesView
from tui.viewmodels.format import counted
from tui.viewmodels.sheets import HERE, KeyEntry, key_lines, page_lines, symbol_lines
from tui.viewmodels.text import Line, Role, Span, block_lines, line, plain, rule_lines, wrapped
from tui.widgets.rows import Choices
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.dom import DOMNode
    from textual.geometry import Region
    from textual.screen import Screen
    from textual.strip import Strip
    from textual.widget import Widget

    from engine.base.rulebook import Chapter, Rule
    from tui.textual.keys import Keymap
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.sheets import HelpPage as About


class Pick(NamedTuple):
    """A line to pick, with the letter or digit that picks it at once, and other keys that do so too."""

    letter: str
    text: str
    also: str = ""


_PICKER_CELLS, _PICKER_EDGES = 84, 6


class Picker(Modal[int | None]):
    """Returns the number of the line that was picked, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close", id="picker.close")]

    def __init__(
        self, title: str, picks: Sequence[Pick], about: Sequence[str] = (), *, pointer: str, at: int = 0
    ) -> None:
        """``pointer`` is drawn beside the line under the cursor, at first ``at``; of equal letters the first counts.

        ``about`` are texts above the lines.
        """
        super().__init__()
        self._title = title
        self._picks = picks
        self._about = about
        self._pointer = pointer
        self._at = at

    def compose(self) -> ComposeResult:
        with Frame(self._title, "letter or enter goes  esc close"):
            yield Choices(self._pointer, id="choices")

    def on_mount(self) -> None:
        choices = self.query_one(Choices)
        cells = min(_PICKER_CELLS, self.app.size.width * 9 // 10) - _PICKER_EDGES
        lines = [(-1, line(each)) for text in self._about for each in wrapped(text, cells)]
        lines += [(-1, ())] if lines else []
        picks = (line(Span(f"{pick.letter:<3}", Role.KEY), Span(pick.text)) for pick in self._picks)
        lines += enumerate(picks)
        choices.styles.height = len(lines)
        choices.number = self._at
        choices.show(lines)
        choices.focus()

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        self.dismiss(message.number)

    def on_key(self, event: events.Key) -> None:
        pressed = event.character or ""
        for number, pick in enumerate(self._picks):
            if pressed and pressed in (pick.letter, *pick.also):
                event.stop()
                self.dismiss(number)
                return


_BORDERS = 2
_MARGIN = 2  # lines of the main screen that stay visible


class SheetText(LinesView):
    """Text made for the width that the sheet turns out to have."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "up", show=False, id="sheet.up"),
        Binding("down,j", "scroll_down", "down", show=False, id="sheet.down"),
        Binding("pageup", "page_up", "page up", show=False, id="sheet.page-up"),
        Binding("pagedown,space", "page_down", "page down", show=False, id="sheet.page-down"),
        Binding("home", "scroll_home", "top", show=False, id="sheet.top"),
        Binding("end", "scroll_end", "bottom", show=False, id="sheet.bottom"),
    ]

    class Moved(Message):
        """Other lines are visible than before: the text was scrolled, or has another height."""

    def __init__(self, text: Callable[[int], Sequence[Line]]) -> None:
        """``text`` returns the lines for a number of cells."""
        super().__init__(classes="panel")
        self._text = text
        self._made_for_cells = 0

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell the sheet that other lines are visible."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        """Tell the sheet that more or fewer lines are visible."""
        self.post_message(self.Moved())

    def update(self) -> None:
        """Make the text anew."""
        self._made_for_cells = max(20, self.size.width - 1)
        self.show(self._text(self._made_for_cells))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the visible lines, of a text made anew if the width has changed."""
        if self._made_for_cells != max(20, self.size.width - 1):
            self.update()
        return super().render_lines(crop)


class Sheet(Modal[None]):
    """Text that can be scrolled; Escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "dismiss", "close", id="sheet.close")
    ]

    def __init__(self, title: str, lines: Callable[[int], Sequence[Line]], *, keys: str = "esc close") -> None:
        """``lines`` returns the text for a number of cells; ``keys`` is the hint in the border."""
        super().__init__()
        self._title = title
        self._text_view = SheetText(lines)
        self._keys = keys
        self.hold_frames()  # until it is as high as its text

    def compose(self) -> ComposeResult:
        with Container(classes="sheet"):
            yield self._text_view

    def on_mount(self) -> None:
        self._text_view.border_title = Content(self._title)
        self._text_view.focus()

    def on_resize(self) -> None:
        """Make the sheet as high as its text."""
        if self.is_held:
            self.fit()  # it has been laid out already
            self.call_after_refresh(self.draw_now)
        else:
            self.call_after_refresh(self.fit)  # once it has its new width

    def fit(self) -> None:
        """Make the text anew, and the sheet as high as it is, if the screen has room for that."""
        self._text_view.update()
        high = min(len(self._text_view.lines) + _BORDERS, self.size.height - _MARGIN)
        self.query_one(".sheet").styles.height = high
        self._tell_more(high - _BORDERS)

    def _tell_more(self, visible: int) -> None:
        """Say in the border how many lines follow below those that are visible."""
        more = len(self._text_view.lines) - round(self._text_view.scroll_target_y) - visible
        below = f"{counted(more, 'line')} below: space  " if more > 0 else ""
        set_subtitle(self._text_view, f"{below}{self._keys}")

    def on_sheet_text_moved(self) -> None:
        self._tell_more(self._text_view.size.height)


class LiveSheet(Sheet):
    """A sheet whose text is made anew while time passes or clients act."""

    def update(self) -> None:
        """Make the text anew."""
        self.fit()


def details_sheet(model: RowsModel, key: int) -> Sheet:
    """Return a sheet with the details of the row with this key."""
    return Sheet(model.title.removesuffix("s"), lambda cells: block_lines(model.details(key), cells))


_BESIDE_FROM = 110  # cells; narrower screens show one text at a time


def entries_of(keymap: Keymap, *contexts: type[DOMNode]) -> list[KeyEntry]:
    """Return the keys of these widgets, screens and applications, in the order of the groups."""
    groups = list(Group)
    bound = [binding for each in contexts for binding in keymap.bindings_of(each)]
    bound.sort(key=lambda binding: groups.index(group_of(binding.id or "")))
    return [_entry(keymap, binding, group_of(binding.id or "").value) for binding in bound]


def entries_here(keymap: Keymap, context: type[DOMNode]) -> list[KeyEntry]:
    """Return the keys of a pane; those that only move its cursor stand under a heading of their own."""
    bound = keymap.bindings_of(context)
    return [_entry(keymap, binding, HERE if binding.show else "Move in this pane") for binding in bound]


def _entry(keymap: Keymap, binding: Binding, group: str) -> KeyEntry:
    return KeyEntry(keymap.all_shown(binding), binding.description, when_of(binding.id or ""), group)


class HelpScreen(Modal[None]):
    """Two texts that can be scrolled; Tab goes to the other one, Escape closes the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,f1", "dismiss", "close", id="help.close"),
        Binding("tab,left,right", "other", "switch to the other page", id="help.other"),
    ]

    def __init__(
        self,
        about: About,
        keymap: Keymap,
        glyphs: GlyphSet,
        pane: Widget | None,
        *around: type[DOMNode],
        page: bool = False,
    ) -> None:
        """Show the keys of the focused pane, then those of the screens ``around`` it.

        With ``page`` the text about the view is shown first.
        """
        super().__init__()
        here = [] if pane is None else entries_here(keymap, type(pane))
        entries = [*entries_of(keymap, *around), *here]
        self._about = about
        self._keys = SheetText(lambda cells: [*symbol_lines(about.symbols, glyphs, cells), *key_lines(entries, cells)])
        self._page = SheetText(lambda cells: page_lines(about, glyphs, cells))
        self._first = self._page if page else self._keys

    def compose(self) -> ComposeResult:
        with Horizontal(id="help", classes="sheet"):
            yield self._keys
            yield self._page

    def on_mount(self) -> None:
        self._keys.border_title = "Keys"
        self._keys.border_subtitle = "tab about this view  esc close"
        self._page.border_title = Content(f"Help: {self._about.title}")
        self._page.border_subtitle = "tab keys  esc close"
        self._arrange()
        self._first.focus()

    def on_resize(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        is_wide = self.app.size.width >= _BESIDE_FROM
        for text in (self._keys, self._page):
            text.display = is_wide or text is self._first

    def action_other(self) -> None:
        self._first = self._page if self._first is self._keys else self._keys
        self._arrange()
        self._first.focus()


_WIDE_ENOUGH = 1000  # cells: no id is cut


class RuleSheet(Sheet):
    """A sheet with the text of chapters and rules of the rulebook."""

    def __init__(self, parts: Sequence[Chapter | Rule]) -> None:
        """Show these, in this order."""
        self.shown = parts
        super().__init__(_title(parts), lambda cells: rule_lines(parts, cells))


def _title(parts: Sequence[Chapter | Rule]) -> str:
    names = [part.id if isinstance(part, rulebook.Rule) else part.prefix for part in parts]
    return f"Rule {names[0]}" if len(names) == 1 and "-" in names[0] else "Rules"


def rules_on(screen: Screen[object]) -> list[Rule]:
    """Return the rules that the row under the cursor cites; where it cites none, those anywhere on the screen.

    On a sheet of rules, return those that their texts cite.
    """
    if isinstance(screen, RuleSheet):
        cited = rulebook.rules_in("\n".join(plain(line) for line in rule_lines(screen.shown, _WIDE_ENOUGH)))
        return [rule for rule in cited if rule not in screen.shown]
    focused = screen.focused
    under_cursor = rulebook.rules_in(_row(focused)) if isinstance(focused, Table) else []
    return under_cursor or rulebook.rules_in("\n".join(_texts(screen)))


def _row(table: Table) -> str:
    """Return the text of the row under the cursor, with its details: the column of the rule may be hidden."""
    if table.key is None:
        return ""
    details = block_lines(table.model.details(table.key), _WIDE_ENOUGH)
    return "\n".join([*(span.text for span in table.model.cells(table.key)), *map(plain, details)])


def _texts(screen: Screen[object]) -> Iterator[str]:
    """Yield the lines of what is on the screen; of a text that can be scrolled all of them, of a list those seen."""
    for widget in screen.query(ScrollView):
        if not (widget.display and widget.region.area):
            continue
        if isinstance(widget, LinesView):
            yield from map(plain, widget.lines)
        else:
            yield from (widget.render_line(y).text for y in range(widget.size.height))
