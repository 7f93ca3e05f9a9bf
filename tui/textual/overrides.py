"""The only module with private names of Textual, each read in versions 8.1.1 and 8.2.8.

It has scrollbars, frames, a compositor and screens that draw less again than Textual's own. ``tui/README.md`` says what
each override buys. ``tests/tui/test_private_names.py`` fails when a private name is gone or takes other arguments.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import ChopsUpdate, Compositor, ReflowResult  # what a screen draws with has no public name
from textual._styles_cache import StylesCache  # what a widget draws its frame with has no public name
from textual.content import Content
from textual.geometry import Offset, Region, Size
from textual.message_pump import MessagePump
from textual.renderables.background_screen import BackgroundScreen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from textual.color import Color
    from textual.css.styles import StylesBase
    from textual.dom import DOMNode
    from textual.geometry import Spacing
    from textual.message import Message
    from textual.screen import Screen

    _Screen = Screen[Any]
    Pieces = dict[int, Strip | None]  # of a line, by their columns; None: not drawn yet
else:
    _Screen = MessagePump  # Textual reads the style sheets of the first base class that is a widget


class _Sides(NamedTuple):
    """The frame beside each line of content, below ``top`` lines; no ``left`` if an effect changes content, too."""

    top: int
    left: Sequence[Segment] | None
    right: Sequence[Segment]


class KeptStrip(Strip):
    """A drawn line of content, with the line that was composed of it and the frame beside it."""

    __slots__ = ("frame", "framed")

    def __init__(self, segments: Iterable[Segment], cell_length: int) -> None:
        """Show these segments, which are so many cells wide."""
        super().__init__(segments, cell_length)
        self.frame: _Sides | None = None  # with which ``framed`` was composed
        self.framed: Strip = self


class LineCache(StylesCache):
    """Keeps drawn lines, as Textual does, but does not compose border and padding for each line anew."""

    _sides: _Sides | None = None

    def clear(self) -> None:
        """Forget all lines, and the frame."""
        super().clear()
        self._sides = None

    def render_line(  # as Textual declares it; titles and colours follow
        self,
        styles: StylesBase,
        y: int,
        size: Size,
        content_size: Size,
        padding: Spacing,
        base_background: Color,
        background: Color,
        render_content_line: Callable[[int], Strip],
        *others: Any,  # noqa: ANN401
        **named: Any,  # noqa: ANN401
    ) -> Strip:
        """Draw a line of the widget, counted with its frame."""

        def framed(y: int, content: Callable[[int], Strip]) -> Strip:
            before = styles, y, size, content_size, padding, base_background, background
            return super(LineCache, self).render_line(*before, content, *others, **named)

        width, height = content_size
        if self._sides is None:
            top, content = styles.gutter.top, Segment(" " * width, Style.null())
            segments = list(framed(top, lambda _: Strip([content], width)))
            at = next((at for at, each in enumerate(segments) if each is content), None)
            self._sides = _Sides(top, None, ()) if at is None else _Sides(top, segments[:at], segments[at + 1 :])
        top, left, right = self._sides
        if left is None or not top <= y < top + height:
            return framed(y, render_content_line)
        line = render_content_line(y - top)
        if line.cell_length != width:
            return framed(y, lambda _: line)
        if not left and not right:
            return line
        if not isinstance(line, KeptStrip):
            return Strip([*left, *line, *right], size.width)
        if line.frame is not self._sides:
            line.frame, line.framed = self._sides, Strip([*left, *line, *right], size.width)
        return line.framed


@cache
def handles(kind: type[MessagePump], name: str, beside: tuple[type, ...] = ()) -> bool:
    """Return whether a class has a handler of this name; those of the classes ``beside`` do not count."""
    parts = [each.__dict__ for each in kind.__mro__ if each not in beside]
    return any(
        name in part
        or f"_{name}" in part
        or any(event.handler_name == name for event in part.get("_decorated_handlers", ()))
        for part in parts
    )


def post_around(widget: Widget, message: Message) -> None:
    """Post a message to the widgets around that handle it. Bubbling, it would be posted to all of them in turn."""
    message.stop()
    for each in widget.ancestors:
        if handles(type(each), message.handler_name):
            each.post_message(message)


@lru_cache(maxsize=64)
def _bar(  # all that decides how it looks
    size: int, window_size: float, virtual_size: float, position: float, thickness: int, style: Style, ground: Style
) -> list[Strip]:
    """Draw a vertical scrollbar line by line; equal lines are mostly the same segment."""
    assert style.bgcolor is not None
    assert style.color is not None
    bar = ScrollBarRender.render_bar(
        size=size,
        window_size=window_size,
        virtual_size=virtual_size,
        position=position,
        thickness=thickness,
        back_color=style.bgcolor,
        bar_color=style.color,
    )
    cells = list(bar.segments)
    strips = {
        identity: Strip(Segment.apply_style([cell], ground), thickness)
        for identity, cell in {id(cell): cell for cell in cells}.items()
    }
    return [strips[id(cell)] for cell in cells]


class CellScrollBar(ScrollBar):
    """A vertical scrollbar that is drawn cell by cell. Textual's own is drawn through a console of Rich."""

    _cells: Sequence[Strip] = ()

    def __init__(self, *, thickness: int) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        self._styles_cache = LineCache()

    @property
    def is_blank(self) -> bool:
        """True if there is nothing to scroll: then what it would cover is drawn in its place."""
        return self.window_size >= self.window_virtual_size

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the cells of the bar in its present look."""
        bar = self.render()
        assert isinstance(bar, ScrollBarRender)
        assert isinstance(bar.style, Style)
        what = bar.window_size, bar.virtual_size, bar.position, bar.thickness, bar.style
        self._cells = _bar(self.size.height, *what, self.visual_style.rich_style)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        return self._cells[y] if y < len(self._cells) else Strip.blank(self.size.width)


def is_displayed(node: DOMNode) -> bool:
    """Return whether neither the node nor anything around it is hidden."""
    return all(each.display for each in node.ancestors_with_self)


class QuietView(ScrollView):
    """Lines in a frame, which are not drawn again when nothing has changed."""

    has_focus_style = True  # in the style sheet
    layouts: ClassVar[int] = 0  # of all screens, so far
    _looks_focused = False
    _size_then: tuple[int, Size] = (-1, Size(0, 0))  # with the number of layouts before

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self._styles_cache = LineCache()  # there is no other way to have a frame composed once

    @property
    def size(self) -> Size:
        """The size of the content, which only a layout changes. Textual asks the screen for it each time."""
        if self._size_then[0] != QuietView.layouts:
            self._size_then = QuietView.layouts, super().size
        return self._size_then[1]

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scrollbar, which is made when it is first asked for."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = CellScrollBar(thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    @property
    def content_offset(self) -> Offset:
        """The offset of the first line. Textual's own adds the scrollbars, which are below and on the right."""
        return Offset(*self.styles.gutter.top_left)

    def _scroll_update(self, virtual_size: Size) -> None:
        """Bring the scrollbar up to date. Textual's own draws it again even if nothing has changed."""
        self._refresh_scrollbars()
        if self.show_vertical_scrollbar and self.styles.scrollbar_size_vertical:
            _fit_scrollbar(self.vertical_scrollbar, virtual_size.height, self.container_size.height)
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    # -- the focus -----------------------------------------------------------------------------------------------

    def on_focus(self, event: events.Focus) -> None:
        """Take the focus. Textual's own draws the widget again, even if it looks the same."""
        self._change_focus(event, events.DescendantFocus(self), has_focus=True)

    def on_blur(self, event: events.Blur) -> None:
        """Leave the focus to another widget."""
        self._change_focus(event, events.DescendantBlur(self), has_focus=False)

    def _change_focus(self, event: events.Event, news: events.Event, *, has_focus: bool) -> None:
        event.prevent_default()
        self.has_focus = has_focus
        post_around(self, news)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Draw the focus. A hidden widget keeps its look: most often it has the focus when it is shown again."""
        if has_focus == self._looks_focused or not is_displayed(self):
            return
        self._looks_focused = has_focus
        if self.has_focus_style:
            super().watch_has_focus(has_focus)
        self.redraw_cursor()

    @property
    def looks_right(self) -> bool:
        """True if it looks as it should with the focus, or without it."""
        return self.has_focus == self._looks_focused

    def on_show(self) -> None:
        """Draw the focus, which may have gone while the widget was hidden."""
        self.watch_has_focus(self.has_focus)

    def redraw_cursor(self) -> None:
        """Draw whatever depends on the focus."""
        self.refresh()


def set_title(widget: Widget, title: str | Content, subtitle: str | None = None) -> None:
    """Set the title in a widget's border, without markup, and the subtitle if one is given.

    Only the line of the frame is drawn again, and only if it says something else. Assigning the title would draw the
    whole widget.
    """
    _entitle(widget, "_border_title", title, 0)
    if subtitle is not None:
        set_subtitle(widget, subtitle)


def set_subtitle(widget: Widget, subtitle: str) -> None:
    """Set the subtitle in a widget's border, without markup, unless it stands there already."""
    _entitle(widget, "_border_subtitle", subtitle, widget.outer_size.height - 1)


def _entitle(widget: Widget, name: str, title: str | Content, y: int) -> None:
    """Set a title on line ``y`` of the frame. Comparing contents would leave out their looks."""
    shown, wanted = getattr(widget, name) or Content(""), Content(title) if isinstance(title, str) else title
    if (shown.plain, shown.spans) != (wanted.plain, wanted.spans):
        setattr(widget, name, wanted)
        left, top = widget.content_offset
        widget.refresh(Region(-left, y - top, widget.outer_size.width, 1))


def _fit_scrollbar(scrollbar: ScrollBar, lines: int, visible: int) -> None:
    scrollbar.window_virtual_size, scrollbar.window_size = lines, visible


def set_line_count(widget: ScrollView, lines: int) -> None:
    """Set the number of lines that a widget scrolls over.

    The screen is laid out again only if the scrollbar appears or disappears, and then once. Textual itself would
    notice that while it lays out the screen, and lay it out again; and again for a horizontal scrollbar, if what is
    scrolled over were as wide as the widget with its vertical one. With ``overflow-y: scroll`` the scrollbar stays, and
    is not drawn while all lines are visible.
    """
    styles, (width, height) = widget.styles, widget.size  # which Textual looks up at each access
    if styles.auto_dimensions or not height:  # as high as its lines, or hidden
        widget.virtual_size = Size(width, lines)
        return
    has_scrollbar, needs_scrollbar = widget.show_vertical_scrollbar, lines > height or styles.overflow_y == "scroll"
    cells = width - styles.scrollbar_size_vertical if needs_scrollbar else width
    size = Size(max(0, cells), lines)
    if has_scrollbar != needs_scrollbar:
        widget.show_vertical_scrollbar = widget.vertical_scrollbar.display = needs_scrollbar
        widget.virtual_size = size
        if needs_scrollbar:  # before it is drawn: it would be drawn again
            _fit_scrollbar(widget.vertical_scrollbar, lines, height)
    elif widget.virtual_size != size:
        widget.set_reactive(Widget.virtual_size, size)
        if has_scrollbar:
            _fit_scrollbar(widget.vertical_scrollbar, lines, height)
            widget.scroll_y = widget.validate_scroll_y(widget.scroll_y)


class _PiecesUpdate(ChopsUpdate):
    """The pieces of lines to be written to the terminal. Each is written whole."""

    def render_segments(self, console: Console) -> str:
        """Return the pieces with the control sequences that put them in their places."""
        return "".join(
            f"\x1b[{y + 1};{x + 1}H{strip.render(console)}"
            for y, pieces in enumerate(self.chops)
            for x, strip in pieces.items()
            if strip is not None
        )


class ScreenCompositor(Compositor):
    """Draws no widgets that others cover, and tells only those of a layout that have something to do then.

    Textual's own has a message sent to each widget that has come or gone or has another size. It cuts all lines of
    covered widgets, and to draw changes it asks all widgets within the box around all of them.
    """

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Arrange all widgets. Return the changed ones that have a handler for the change."""
        hidden, shown, resized = super().reflow(parent, size)
        QuietView.layouts += 1
        self._full_map_invalidated = False  # else the next question for a size arranges all widgets again
        return ReflowResult(
            hidden=set(filter(_acts_when_hidden, hidden)),
            shown=set(filter(_acts_when_shown, shown)),
            resized={widget for widget in shown | resized if handles(type(widget), events.Resize.handler_name)},
        )

    def render_partial_update(self) -> ChopsUpdate | None:
        """Return the pieces of lines between the edges of widgets that have changed; None if nothing has."""
        screen = self.size.region
        dirty, self._dirty_regions = self._dirty_regions, set()
        spans = list(self._regions_to_spans(region.intersection(screen) for region in dirty))
        if not spans:
            return None
        cuts = self.cuts
        lines: list[Pieces] = [{} for _ in cuts]
        for y, begin, end in spans:
            lines[y] |= {x: None for x, after in pairwise(cuts[y]) if x < end and after > begin}
        missing = [len(pieces) for pieces in lines]
        for widget, region, shown in self._from_front_to_back():
            first, end = shown.column_span
            wanted = [y for y in shown.line_range if missing[y] and _is_wanted(lines[y], first, end)]
            if wanted:
                part = Region(first, wanted[0], end - first, wanted[-1] + 1 - wanted[0])
                self._fill(lines, missing, part, widget.render_lines(part.translate(-region.offset)))
        return _PiecesUpdate(lines, spans, [])

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        """Return the pieces of each line by their columns."""
        lines: list[Pieces] = [dict.fromkeys(line[:-1]) for line in self.cuts]
        missing = [len(pieces) if is_rendered_line(y) else 0 for y, pieces in enumerate(lines)]
        for widget, region, shown in self._from_front_to_back():
            if crop.overlaps(shown):
                self._fill(lines, missing, shown, widget.render_lines(shown.translate(-region.offset)))
        return cast("Sequence[Mapping[int, Strip]]", lines)

    def _from_front_to_back(self) -> Iterator[tuple[Widget, Region, Region]]:
        """Yield the widgets that draw something, each with its region and the part of it that is visible."""
        for widget, (region, clip) in self.visible_widgets.items():
            if not isinstance(widget, CellScrollBar) or not widget.is_blank:
                yield widget, region, region.intersection(clip)

    def _fill(self, lines: list[Pieces], missing: list[int], shown: Region, strips: Iterable[Strip]) -> None:
        """Put the lines of a widget, which is ``shown`` there, where pieces are ``missing``, and count those."""
        first, end = shown.column_span
        for y, strip in zip(shown.line_range, strips, strict=False):
            pieces = lines[y]
            if not missing[y]:
                continue
            edges = [x for x in self.cuts[y] if first <= x <= end]
            for x, piece in zip(edges, strip.divide([x - first for x in edges[1:]]), strict=False):
                if x in pieces and pieces[x] is None:
                    pieces[x] = piece
                    missing[y] -= 1


def _acts_when_hidden(widget: Widget) -> bool:
    """Return whether a widget has something to do when it is hidden; without a handler, to release focus or mouse."""
    has_mouse = isinstance(widget, ScrollBar) and widget.grabbed is not None
    return widget.has_focus or has_mouse or handles(type(widget), events.Hide.handler_name, (Widget, ScrollBar))


def _acts_when_shown(widget: Widget) -> bool:
    """Return whether a widget has something to do when it is shown. Textual's handler only informs scrollbars."""
    is_stale = isinstance(widget, QuietView) and not widget.looks_right
    return is_stale or handles(type(widget), events.Show.handler_name, (Widget, QuietView))


def _is_wanted(pieces: Pieces, first: int, end: int) -> bool:
    """Return whether a piece from ``first`` to before ``end`` has not been drawn yet."""
    return any(piece is None and first <= x < end for x, piece in pieces.items())


@lru_cache(maxsize=1024)
def _faded(style: Style | None, color: Color, base: Style) -> Style:
    """Return a style as it shows through this colour, on a base style."""
    if color.a == 0:  # the terminal's own colours cannot be mixed
        return base + (style or Style()) + Style(dim=True)
    segments = BackgroundScreen.process_segments([Segment(" ", style)], color)
    return base + next(segment.style for segment in segments)


class HeldScreen(_Screen):
    """A mixin of screens that draw nothing while frames are held: Textual would show each step of a layout."""

    _holds = 0  # reasons not to draw
    _below: tuple[Sequence[Strip], Color | None] | None = None  # while lines are drawn: of the screen below, its veil

    def __init__(self) -> None:
        super().__init__()
        self._compositor = ScreenCompositor()  # Textual asks for no other one

    @property
    def is_held(self) -> bool:
        """True while nothing is drawn."""
        return bool(self._holds)

    def hold_frames(self) -> None:
        """Draw nothing until ``draw_frames`` or ``draw_now``."""
        self._holds += 1

    def draw_frames(self, part: Widget) -> None:
        """Draw what has changed meanwhile in this part, unless frames are held for another reason, too."""
        self._holds -= 1
        part.refresh(Region(0, 0, 1, 1))
        self._dirty_widgets.add(part)  # the part itself would say so perhaps only after the screen has drawn
        self.check_idle()

    def draw_now(self) -> None:
        """Draw the whole screen, for whatever reason frames were held."""
        self._holds = 0
        self.refresh()
        self._on_timer_update()  # else it waits for the next tick of a timer

    def _compositor_refresh(self) -> None:
        """Write what has changed to the terminal, as Textual does, unless frames are held."""
        if not self._holds:
            super()._compositor_refresh()

    def _update_focus_styles(self, focused: Widget | None = None, blurred: Widget | None = None) -> None:
        """Style panes anew in which the focus has come or gone. Textual does so with all that is in them, too."""
        panes = {
            pane
            for widget in (focused, blurred)
            if widget is not None
            for pane in widget.ancestors_with_self
            if pane._has_focus_within and is_displayed(pane)
        }
        self.app.stylesheet.update_nodes(panes, animate=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._below = None
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Draw a line of the screen below, faded, if this is a dialog. Textual's own has Rich draw it cell by cell."""
        if self._below is None:
            below = self.render()  # which gives the screen below once a drawing
            self._below = (
                (below.screen._compositor.render_strips(), below.color)
                if isinstance(below, BackgroundScreen)
                else ((), None)
            )
        strips, color = self._below
        if color is None:
            return super().render_line(y)
        base = self.visual_style.rich_style
        if y >= len(strips):  # the terminal has grown, and the screen below has not been laid out yet
            return Strip.blank(self.size.width, base)
        faded = [Segment(text, _faded(style, color, base)) for text, style, _ in strips[y]]
        return Strip(faded, strips[y].cell_length)
