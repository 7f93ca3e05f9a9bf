"""Colours, and base classes of all widgets: lines, lines with a cursor, a text field, a container with given regions.

Each theme has a colour for each role. The nine categories can be told apart with every common colour vision.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.color import Color
from textual.containers import Container
from textual.content import Content
from textual.geometry import NULL_OFFSET, NULL_SPACING, Offset, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.reactive import Reactive, var
from textual.scroll_view import ScrollView
from textual.theme import BUILTIN_THEMES, Theme
from textual.widget import Widget
from textual.widgets import Input

from engine.base.values import read_table
from tui.saving.settings import ANSI, CONTRAST, DARK, LIGHT, NO_COLOUR, THEME_NAMES
from tui.textual.keys import keys_shown
from tui.textual.overrides import KeptStrip, QuietView, set_line_count, set_title
from tui.viewmodels.glyphs import to_ascii
from tui.viewmodels.text import Role, Span, cut, dim_citations, plain, shown, shown_spans, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.layout import ArrangeResult
    from textual.strip import Strip

    from tui.viewmodels.text import Line


# By role: its colours in the themes.
_BY_ROLE = {Role[role.upper()]: colours for role, *colours in read_table("colours.csv", __file__)}
_COLOURS = {
    theme: {role: colours[at] for role, colours in _BY_ROLE.items()}
    for at, theme in enumerate((DARK, LIGHT, CONTRAST, ANSI))
}
_COLOURS[NO_COLOUR] = _COLOURS[CONTRAST]
_GROUNDS = {
    DARK: ("#0E1218", "#18202C", "#1C2A44"),
    LIGHT: ("#FBFBF9", "#EBECE6", "#DFE9FD"),
    CONTRAST: ("#000000", "#262626", "#00307A"),
    ANSI: ("default", "default", "default"),
}
_GROUNDS[NO_COLOUR] = _GROUNDS[CONTRAST]


_SHARE_OF_COLOUR = 0.5  # in what is pale


class Look(NamedTuple):
    """The look of a widget's lines, which with their spans decides how they are drawn."""

    theme: str
    is_ascii: bool
    cells: int  # the width of the widget


def look_of(widget: Widget) -> Look:
    """Return how lines of a widget are drawn now."""
    app = widget.app
    theme = app.theme if app.theme in THEME_NAMES else DARK
    return Look(theme, app.has_class("-ascii"), widget.size.width)


def themes() -> list[Theme]:
    """Return the themes for Textual."""
    return [_theme(name) for name in THEME_NAMES]


def _theme(name: str) -> Theme:
    is_ansi = name == ANSI
    colours = {role: f"ansi_{each}" if is_ansi else each for role, each in _COLOURS[name].items()}
    background, surface, cursor = (f"ansi_{each}" if is_ansi else each for each in _GROUNDS[name])
    theme = Theme(
        name=name,
        primary=colours[Role.RUNNING],
        secondary=colours[Role.DIM],
        accent=colours[Role.KEY],
        foreground=colours[Role.PLAIN],
        background=background,
        surface=surface,
        panel=surface,
        error=colours[Role.FAILED],
        warning=colours[Role.WARNING],
        success=colours[Role.OK],
        dark=name != LIGHT,
        variables={
            **((BUILTIN_THEMES.get("ansi-dark") or BUILTIN_THEMES["textual-ansi"]).variables if is_ansi else {}),
            "cursor-ground": cursor,
            "frame": colours[Role.DIM],
            "thumb": colours[Role.DIM] if is_ansi else _mixed(name, Role.DIM),
            "frame-focus": colours[Role.KEY],
        },
    )
    theme.ansi = is_ansi  # Textual 8.1 has no such attribute, and does not look at it
    return theme


def has_grounds(theme: str) -> bool:
    """Return True if the colour of a role can be the background of another one."""
    return theme in THEME_NAMES and theme not in (ANSI, NO_COLOUR)


@lru_cache(maxsize=1024)
def style(theme: str, role: Role, is_fill: bool = False, is_underlined: bool = False, is_cursor: bool = False) -> Style:
    """Return the style of a role, always with a background."""
    colour = _COLOURS[theme][role]
    ground, _, cursor = _GROUNDS[theme]
    if is_fill:
        on_fill = "black" if theme == ANSI else _readable_on(colour)
        return Style(color=on_fill, bgcolor=colour, bold=role is Role.FAILED, reverse=theme == NO_COLOUR)
    without_colour = theme == NO_COLOUR
    return Style(
        color=colour,
        bgcolor=cursor if is_cursor else ground,
        bold=role in (Role.STRONG, Role.FAILED, Role.ALERT, Role.KEY),
        dim=without_colour and role in (Role.OFF, Role.DIM),
        italic=role is Role.DERIVED,
        underline=is_underlined,
        reverse=(is_cursor and not has_grounds(theme)) or role is Role.ALERT,
    )


def span_style(theme: str, span: Span, *, is_cursor: bool = False) -> Style:
    """Return the style of a span."""
    found = style(theme, span.role, span.is_fill, span.is_underlined, is_cursor)
    return _pale(found, theme, span.role) if span.is_pale else found


@lru_cache(maxsize=64)
def _pale(found: Style, theme: str, role: Role) -> Style:
    """Return a style with the colour of a role mixed with the background, or dim where colours cannot be mixed."""
    if not has_grounds(theme):
        return found + Style(dim=True)
    return found + Style(color=_mixed(theme, role))


def _mixed(theme: str, role: Role) -> str:
    """Return the colour of a role mixed with the background."""
    ground, colour = Color.parse(_GROUNDS[theme][0]), Color.parse(_COLOURS[theme][role])
    return ground.blend(colour, _SHARE_OF_COLOUR).hex


def grounds(theme: str) -> tuple[str, str, str]:
    """Return the backgrounds of text as #rrggbb: of the screen, of titles and fields, and under the cursor.

    For the terminal's own colours they are those of the dark theme.
    """
    return _GROUNDS[DARK if theme == ANSI else theme]


def colours(theme: str) -> dict[Role, str]:
    """Return the colour of each role as #rrggbb; for the terminal's own colours those of the dark theme."""
    return dict(_COLOURS[DARK if theme == ANSI else theme])


def on_colours(theme: str) -> dict[Role, str]:
    """Return black or white for each role, whichever can be read on its colour."""
    return {role: _readable_on(colour) for role, colour in colours(theme).items()}


def _readable_on(colour: str) -> str:
    """Return black or white, whichever has more contrast."""
    red, green, blue = (_linear(part) for part in RichColor.parse(colour).triplet or (0, 0, 0))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#FFFFFF"


def _linear(part: int) -> float:
    share = part / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


_TITLE_STYLES = {Role.KEY: "$frame-focus", Role.DIM: "$frame not bold"}
_TITLE_SIDES = 6  # cells of the frame beside its title


def entitle(widget: Widget, title: str | Line, keys: Sequence[tuple[str, str]], subtitle: str | None = None) -> None:
    """Set the title of a pane, with keys behind it as far as there is room.

    Args:
        widget: The pane.
        title: The title without keys.
        keys: The ids of bindings, each with what it does in a word.
        subtitle: What stands in the last line of the frame; None leaves it as it is.
    """
    spans = (Span(title),) if isinstance(title, str) else title
    shown_keys = keys_shown(widget, keys)
    set_title(widget, _with_keys(spans, shown_keys, widget.outer_size.width - _TITLE_SIDES), subtitle)


@lru_cache(maxsize=64)
def _with_keys(title: Line, keys: Sequence[tuple[str, str]], cells: int) -> Content:
    return title_of(title) + _of_keys(keys, cells - width(title))


@lru_cache(maxsize=64)
def _of_keys(keys: Sequence[tuple[str, str]], room: int) -> Content:
    spans: Line = ()
    for key, does in keys:
        longer = (*spans, Span(f"   {key}", Role.KEY), Span(f" {does}", Role.DIM))
        spans = longer if width(longer) <= room else spans
    return title_of(spans)


def title_of(spans: Line) -> Content:
    """Return the title of a frame with the looks of these spans; only keys, dim and underlined text differ."""
    return Content.assemble(
        *((shown(span.text), _TITLE_STYLES.get(span.role, "") + " underline" * span.is_underlined) for span in spans)
    )


class FramedView(QuietView):
    """Lines in a frame, drawn line by line in one look."""

    look: Look | None = None  # while lines are drawn

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines, all in the look of this moment."""
        self.look = look_of(self)
        try:
            return super().render_lines(crop)
        finally:
            self.look = None


def refresh_changes(widget: ScrollView, before: Sequence[object], now: Sequence[object], top: int = 0) -> None:
    """Draw again the visible lines that have changed; all of them if there are more or fewer lines than before.

    Args:
        widget: The widget that shows the lines.
        before: What each line was drawn from.
        now: What each line is to be drawn from.
        top: The number of the first visible line.
    """
    if before == now:
        return
    width, height = widget.size
    if len(before) != len(now) or not height:  # while hidden: its old drawing must not come back
        widget.refresh()
        return
    visible = range(top, min(top + height, len(now)))
    regions = [Region(0, at - top, width, 1) for at in visible if before[at] != now[at]]
    if regions:
        widget.refresh(*regions)


class ResizeFilter:
    """A mixin that tells a new size from the resize event that Textual also sends when a widget is shown again."""

    _last_size: Size | None = None

    def on_resize(self, event: events.Resize) -> None:
        if event.size != self._last_size:
            self._last_size = event.size
            self.resized()

    @abstractmethod
    def resized(self) -> None:
        """Draw anew for the size that the widget has now."""


def strip_of(widget: Widget, spans: Line, *, is_cursor: bool = False) -> KeptStrip:
    """Draw a line exactly as wide as the widget, with a background throughout and in ASCII if that is chosen.

    A longer line ends with an ellipsis, unless only blanks are lost.
    """
    known = widget.look if isinstance(widget, FramedView) else None
    return drawn(known or look_of(widget), spans, is_cursor=is_cursor)


def drawn(look: Look, spans: Line, *, is_cursor: bool = False) -> KeptStrip:
    """Draw a line in this look."""
    theme, is_ascii, cells = look
    text = plain(spans)
    if not text.isprintable():
        spans = shown_spans(spans)
        text = plain(spans)
    wide = len(text) if text.isascii() else width(spans)
    if wide > cells and text[cells:].strip():
        spans = cut(spans, cells)
        wide = width(spans)
    if "-" in text:
        spans = dim_citations(spans, text)
    segments = [_segment(theme, is_ascii, span, is_cursor) for span in spans]
    rest = cells - wide
    if rest > 0:
        segments.append(Segment(" " * rest, style(theme, Role.PLAIN, is_cursor=is_cursor)))
    strip = KeptStrip(segments, max(wide, cells))
    return strip if rest >= 0 else KeptStrip(strip.crop(0, cells), cells)


@lru_cache(maxsize=4096)
def _segment(theme: str, is_ascii: bool, span: Span, is_cursor: bool) -> Segment:
    text = to_ascii(span.text) if is_ascii else span.text
    return Segment(text, span_style(theme, span, is_cursor=is_cursor))


class LinesView(FramedView):
    """Shows lines, and draws again only those that have changed."""

    can_focus = False
    lines: var[tuple[Line, ...]] = var((), init=False)

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines."""
        old, new = self.lines, tuple(lines)
        if old == new:
            return
        self.set_reactive(LinesView.lines, new)
        if len(old) != len(new):
            set_line_count(self, len(new))
        refresh_changes(self, old, new, int(self.scroll_offset.y))

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        spans = self.lines[at] if at < len(self.lines) else ()
        return strip_of(self, spans)


class CursorView(FramedView):
    """Lines with a cursor, which is drawn differently while the widget has the focus."""

    can_focus = True

    @property
    def top_line(self) -> int:
        """The first line that is visible."""
        return int(self.scroll_offset.y)

    @property
    def visible_lines(self) -> int:
        """The number of lines that are visible."""
        return self.size.height

    def scroll_into_view(self, first: int, last: int | None = None) -> None:
        """Scroll as little as possible so that the lines from ``first`` to ``last`` are visible."""
        bottom = first if last is None else last
        if first < self.top_line:
            self.scroll_to(y=first, animate=False, immediate=True)
        elif bottom >= self.top_line + self.visible_lines:
            self.scroll_to(y=bottom - self.visible_lines + 1, animate=False, immediate=True)

    def place_of(self, event: events.MouseEvent) -> Offset | None:
        """Return the column and the line of the content under the mouse, None beside the content."""
        offset = event.get_content_offset(self)
        return None if offset is None else offset + Offset(0, self.top_line)


class RowsView(CursorView):
    """Rows of which one is under the cursor."""

    @property
    @abstractmethod
    def row_count(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def cursor_row(self) -> int:
        """The row under the cursor."""

    @abstractmethod
    def move_to(self, row: int) -> None:
        """Move the cursor to a row, or to the nearest one that exists."""

    def action_cursor(self, by: int) -> None:
        """Move the cursor up or down."""
        self.move_to(self.cursor_row + by)

    def action_page(self, by: int) -> None:
        """Move the cursor up or down by pages."""
        self.move_to(self.cursor_row + by * max(1, self.visible_lines - 1))

    def action_edge(self, last: int) -> None:
        """Move the cursor to the first or the last row."""
        self.move_to(self.row_count - 1 if last else 0)


def row_bindings(name: str, row: str = "row") -> list[Binding]:
    """Return the bindings that move the cursor of a ``RowsView``, with ids that begin with ``name``."""
    keys = (
        ("up", "up,k", "cursor(-1)", "up"),
        ("down", "down,j", "cursor(1)", "down"),
        ("page-up", "pageup", "page(-1)", "page up"),
        ("page-down", "pagedown", "page(1)", "page down"),
        ("first", "home", "edge(0)", f"first {row}"),
        ("last", "end", "edge(1)", f"last {row}"),
    )
    return [Binding(key, action, does, show=False, id=f"{name}.{each}") for each, key, action, does in keys]


class _AtRegions(Layout):
    name = "regions"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:  # noqa: ARG002  # Textual's signature
        assert isinstance(parent, Regions)
        regions = parent.regions
        placed = (child for child in children if child.id in regions)
        return [WidgetPlacement(regions[child.id or ""], NULL_OFFSET, NULL_SPACING, child) for child in placed]


class Regions(Container):
    """Children with ids, each in the region of its id; hidden without one."""

    BLANK = True  # its children cover it

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """All children are hidden until ``place``."""
        super().__init__(id=id)
        self.regions: dict[str, Region] = {}
        self._at_regions = _AtRegions()

    @property
    def layout(self) -> Layout:
        """The layout that reads ``regions``; style sheets know no layouts but Textual's own."""
        return self._at_regions

    def place(self, regions: Mapping[str, tuple[int, int, int, int]]) -> bool:
        """Move the children to these regions: column, row, width, height. Return whether anything has moved."""
        new = {name: Region(*region) for name, region in regions.items()}
        if new == self.regions:
            return False
        self.regions = new
        for child in self.children:
            child.display = child.id in new
        for child in self.children[:1]:
            # Not the container: Textual keeps its last arrangement for a size until a child asks for another one.
            child.refresh(layout=True)
        return True


class TextField(Input):
    """An input without a blinking cursor."""

    cursor_blink = False
    # The text scrolls within one line: another length is no reason to lay out the whole screen at each key.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def __init__(self, *args: Any, select_on_focus: bool = False, **how: Any) -> None:  # noqa: ANN401  # as Textual declares them
        """Take the arguments of ``Input``; by default the text is not selected when the field gets the focus."""
        super().__init__(*args, compact=True, select_on_focus=select_on_focus, **how)
