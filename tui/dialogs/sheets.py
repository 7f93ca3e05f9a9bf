"""Dialogs that show text to scroll or a few lines to pick from; help, and the rules that a screen cites.

Help shows the keys by group beside a text about the view; on a narrow screen one of them at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

from engine.base import rulebook
from tui.textual.keys import Group, group_of, when_of
from tui.textual.overrides import fitting, set_line_count
from tui.textual.screens import Frame, Modal
from tui.textual.views import LinesView, refresh_changes
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


class SheetText(LinesView):
    """Text made for its width; where a layout asks for its height, it is as high as the text, if there is room."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "up", show=False, id="sheet.up"),
        Binding("down,j", "scroll_down", "down", show=False, id="sheet.down"),
        Binding("pageup", "page_up", "page up", show=False, id="sheet.page-up"),
        Binding("pagedown,space", "page_down", "page down", show=False, id="sheet.page-down"),
        Binding("home", "scroll_home", "top", show=False, id="sheet.top"),
        Binding("end", "scroll_end", "bottom", show=False, id="sheet.bottom"),
    ]

    def __init__(self, title: str, text: Callable[[int], Sequence[Line]], keys: str, *, classes: str = "panel") -> None:
        """``text`` returns the lines for a number of cells; ``keys`` is the hint in the border."""
        super().__init__(classes=classes)
        self.border_title = Content(title)
        self._text = text
        self._keys = keys
        self._made_for_cells = 0

    def get_content_height(self, container: Size, _: Size, width: int) -> int:
        """Return the number of lines in this width. They are made before they are drawn for the first time."""
        self._make(width)
        lines = len(self.lines)
        self.set_reactive(Widget.virtual_size, Size(width, lines))
        self.set_reactive(Widget.show_vertical_scrollbar, lines > container.height)  # else a layout would find it out
        return lines

    def update(self) -> None:
        """Make the text anew, and the sheet as high as it is: a layout does so."""
        self.refresh(layout=True)

    def _make(self, cells: int) -> None:
        self._made_for_cells = cells
        before, now = self.lines, tuple(self._text(max(20, cells - 1)))
        self.set_reactive(LinesView.lines, now)
        refresh_changes(self, before, now, int(self.scroll_offset.y))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the visible lines, and say in the border how many follow below."""
        cells = self.content_size.width
        if self._made_for_cells != cells:
            self._make(cells)
            set_line_count(self, len(self.lines))
        more = len(self.lines) - round(self.scroll_target_y) - self.size.height
        below = f"{counted(more, 'line')} below: space  " if more > 0 else ""
        self._border_subtitle = Content(fitting(self, f"{below}{self._keys}"))  # all lines are drawn, this one too
        return super().render_lines(crop)


class Sheet(Modal[None]):
    """Text that can be scrolled; Escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark", "dismiss", "close", id="sheet.close")
    ]

    def __init__(self, title: str, lines: Callable[[int], Sequence[Line]], *, keys: str = "esc close") -> None:
        """``lines`` returns the text for a number of cells; ``keys`` is the hint in the border."""
        super().__init__()
        self.text = SheetText(title, lines, keys, classes="panel sheet")

    def compose(self) -> ComposeResult:
        yield self.text


class LiveSheet(Sheet):
    """A sheet whose text is made anew while time passes or clients act."""

    def update(self) -> None:
        """Make the text anew."""
        self.text.update()


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
        self._keys = SheetText(
            "Keys",
            lambda cells: [*symbol_lines(about.symbols, glyphs, cells), *key_lines(entries, cells)],
            "tab about this view  esc close",
        )
        self._page = SheetText(
            f"Help: {about.title}", lambda cells: page_lines(about, glyphs, cells), "tab keys  esc close"
        )
        self._first = self._page if page else self._keys

    def compose(self) -> ComposeResult:
        with Horizontal(id="help", classes="sheet"):
            yield self._keys
            yield self._page

    def on_mount(self) -> None:
        self._arrange()
        self._first.focus()

    def _arrange(self) -> None:
        is_wide = self.app.size.width >= _BESIDE_FROM
        for text in (self._keys, self._page):
            text.display = is_wide or text is self._first

    on_resize = _arrange

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
