"""Widgets with private names of Textual, each read in versions 8.1.1 and 8.2.8: lines, frames, titles, scrollbars.

They draw less again than Textual's own. Beside this module only ``screens`` has private names. ``tests/README.md`` says
what each override buys. ``tests/tui/test_private_names.py`` fails when a name is gone or takes other arguments.
"""

from __future__ import annotations

from asyncio import get_running_loop
from contextlib import suppress
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._styles_cache import StylesCache  # what a widget draws its frame with has no public name
from textual.content import Content
from textual.geometry import Offset, Region, Size
from textual.message_pump import MessagePump
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

from engine.base.values import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from textual.app import App
    from textual.color import Color
    from textual.css.styles import StylesBase
    from textual.dom import DOMNode
    from textual.geometry import Spacing
    from textual.message import Message


class _Sides(NamedTuple):
    """The frame beside each line of content, below ``top`` lines; no ``left`` if an effect changes content, too."""

    top: int
    left: Sequence[Segment] | None
    right: Sequence[Segment]


class _NothingKept:
    """A cache that keeps nothing."""

    def get(self, _: object) -> None:
        return None

    def __setitem__(self, _: object, __: object) -> None:
        pass


_NOTHING_KEPT = _NothingKept()


class LightStrip(Strip):
    """A strip that keeps only its last division, and what was written to the terminal.

    Textual makes seven caches for each strip, which takes longer than to divide it: most are drawn once.
    """

    __slots__ = ("_pieces",)
    _cell_length: int  # Textual's own strips may find it out later
    _divide_cache = _crop_cache = _style_cache = _filter_cache = _NOTHING_KEPT  # type: ignore[assignment]
    _line_length_cache = _crop_extend_cache = _offsets_cache = _NOTHING_KEPT  # type: ignore[assignment]

    def __init__(self, segments: Iterable[Segment], cell_length: int) -> None:
        """Show these segments, which are so many cells wide."""
        self._segments = list(segments)
        self._cell_length = cell_length
        self._render_cache = self._link_ids = self._cell_count = None
        self._pieces: tuple[Sequence[int], Sequence[Strip]] | None = None

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Return the strip in pieces that end at these cells; a cut beyond its end makes none."""
        length = self._cell_length
        ends = [cut for cut in cuts if cut <= length]
        if ends == [length]:
            return (self,)
        if self._pieces is None or self._pieces[0] != ends:
            widths = [end - start for start, end in pairwise((0, *ends))]
            self._pieces = ends, list(map(LightStrip, Segment.divide(self._segments, ends), widths))
        return self._pieces[1]


class KeptStrip(LightStrip):
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
            line = framed(y, render_content_line)
            return _as_bar(line) if y == 0 and styles.border_top[0] == "panel" else line
        line = render_content_line(y - top)
        if line.cell_length != width:
            return framed(y, lambda _: line)
        if not left and not right:
            return line
        if not isinstance(line, KeptStrip):
            return LightStrip([*left, *line, *right], size.width)
        if line.frame is not self._sides:
            line.frame, line.framed = self._sides, LightStrip([*left, *line, *right], size.width)
        return line.framed


def _as_bar(title: Strip) -> Strip:
    """Return a title on a ground in place of block characters, which would be copied, and have seams on some terminals.

    The cells at both ends are left out, so that titles side by side are apart.
    """
    segments, beside = [], Segment(" ", list(title)[-1].style)
    for each in title:
        if not set(each.text) - {"█"} and each.style is not None:
            each = Segment(" " * len(each.text), Style(bgcolor=each.style.color))  # noqa: PLW2901
        segments.append(beside if each.text in "▊▎" else each)
    return Strip(segments, title.cell_length)


def compose_frame_once(widget: Widget) -> None:
    """Draw the frame of a widget once for all its lines, and its title as a bar where it has no frame."""
    widget._styles_cache = LineCache()  # there is no other way


@cache
def handles(kind: type[MessagePump], name: str, beside: tuple[type, ...] = ()) -> bool:
    """Return whether a class has a handler of this name; those of the classes ``beside`` do not count."""
    parts = [each.__dict__ for each in kind.__mro__ if each not in beside]
    wanted = {name, f"_{name}"}
    decorated = (event.handler_name for part in parts for event in part.get("_decorated_handlers", ()))
    return any(wanted & part.keys() for part in parts) or name in decorated


def post_around(widget: Widget, message: Message) -> None:
    """Post a message to the widgets around that handle it. Bubbling, it would be posted to all of them in turn."""
    message.stop()
    for each in widget.ancestors:
        if handles(type(each), message.handler_name):
            each.post_message(message)


def _ask_screen(widget: Widget) -> bool:
    """Ask the screen to draw a widget, if that is all it needs. Return whether it is.

    It takes the place of ``check_idle``, by which Textual sends two messages: to the widget, and to the screen.
    """
    needs_more = widget._layout_required or widget._scroll_required or widget._refresh_styles_required
    is_there = widget._is_mounted and widget._parent is not None and not widget._closing and widget.display
    if needs_more or not widget._repaint_required or not is_there:
        return False
    widget._repaint_required, screen = False, widget.screen
    if screen in screen._compositor:  # it has been laid out
        screen._dirty_widgets.add(widget)
        # As late as after a message: other widgets may be drawn, or laid out, because of messages.
        get_running_loop().call_soon(screen.check_idle)
    return True


def restore_terminal(app: App[Any]) -> None:
    """Give the terminal back as it was, at whatever point of its work an application has been left."""
    if app._driver is not None:
        with suppress(AssertionError):  # it has not taken it yet
            app._driver.stop_application_mode()
        app._driver.close()


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
    known = {id(cell): cell for cell in cells}
    strips = {key: Strip(Segment.apply_style([cell], ground), thickness) for key, cell in known.items()}
    return [strips[id(cell)] for cell in cells]


class CellScrollBar(ScrollBar):
    """A vertical scrollbar that is drawn cell by cell. Textual's own is drawn through a console of Rich."""

    _cells: Sequence[Strip] = ()

    def __init__(self, *, thickness: int) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        compose_frame_once(self)

    @property
    def is_blank(self) -> bool:
        """True if there is nothing to scroll: then what it would cover is drawn in its place."""
        return self.window_size >= self.window_virtual_size

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:  # noqa: ARG002
        """Draw the bar, without a layout, for which Textual asks after each layout that gives the bar a size."""
        return super().refresh(*regions, repaint=repaint, recompose=recompose)

    def check_idle(self) -> None:
        """Ask the screen for a drawing, or process the other requests as Textual does."""
        if not _ask_screen(self):
            super().check_idle()

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
    _laid_out: object = None  # what the scrollbar was arranged for last
    _size_then: tuple[int, Size] = (-1, Size(0, 0))  # with the number of layouts before

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        compose_frame_once(self)

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

    def check_idle(self) -> None:
        """Ask the screen for a drawing, or process the other requests as Textual does."""
        if not _ask_screen(self):
            super().check_idle()

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        """Arrange the scrollbar, which Textual draws again at each layout, if sizes or what it scrolls over differ."""
        now = size, container_size, self.styles.gutter, self.virtual_size, self.show_vertical_scrollbar
        if now == self._laid_out:
            return False
        self._laid_out = now
        return super()._size_updated(size, virtual_size, container_size, layout)

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


_BESIDE_TITLE = 6  # cells of a frame beside what stands in it: corners, a piece of the line, and blanks


def set_title(widget: Widget, title: str | Content, subtitle: str | None = None) -> None:
    """Set the title in a widget's border, without markup, and the subtitle if one is given.

    Only the line of the frame is drawn again, and only if it says something else. Assigning the title would draw the
    whole widget.
    """
    _entitle(widget, "_border_title", title, 0)
    if subtitle is not None:
        set_subtitle(widget, subtitle)


def set_subtitle(widget: Widget, subtitle: str) -> None:
    """Set the subtitle in a widget's border, without markup, as far as there is room, unless it is there already."""
    _entitle(widget, "_border_subtitle", fitting(widget, subtitle), widget.outer_size.height - 1)


def fitting(widget: Widget, subtitle: str) -> str:
    """Return the parts of a subtitle for which a border has room: those before the last one go first.

    Two blanks are between parts.
    """
    *parts, last = subtitle.split("  ")
    room = widget.outer_size.width - _BESIDE_TITLE
    while parts and 0 < room < len("  ".join((*parts, last))):
        parts.pop()
    return "  ".join((*parts, last))


def _entitle(widget: Widget, name: str, title: str | Content, y: int) -> None:
    """Set a title on line ``y`` of the frame. Comparing contents would leave out their looks."""
    shown, wanted = getattr(widget, name) or Content(""), Content(visible(title)) if isinstance(title, str) else title
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
