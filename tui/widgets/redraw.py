"""Helpers that keep Textual from drawing or laying out more than has changed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.content import Content
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

from tui.viewmodels.text.styled import Role
from tui.widgets.line_cache import LineCache
from tui.widgets.palette import look_of
from tui.widgets.routing import ask_screen, post_around
from tui.widgets.scrollbar import CellScrollBar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from textual.dom import DOMNode
    from textual.scrollbar import ScrollBar
    from textual.strip import Strip

    from tui.viewmodels.text.styled import Line
    from tui.widgets.palette import Look


_TITLE_STYLES = {Role.STRONG: "bold", Role.DIM: "$frame"}


def title_of(spans: Line) -> Content:
    """Return the title of a frame with the looks of these spans; only bold, dim and underlined text differs."""
    return Content.assemble(
        *((span.text, _TITLE_STYLES.get(span.role, "") + " underline" * span.is_underlined) for span in spans)
    )


def is_displayed(node: DOMNode) -> bool:
    """Return whether neither the node nor anything around it is hidden."""
    return all(each.display for each in node.ancestors_with_self)


class FramedView(ScrollView):
    """Lines in a frame. A line or title that has changed is drawn alone; Textual itself would look at all lines."""

    line_of_title: Region | None = None  # while a title is assigned
    has_focus_style = True  # in the style sheet
    look: Look | None = None  # while lines are drawn
    _looks_focused = False
    layouts: ClassVar[int] = 0  # of all screens, so far
    _laid_out: object = None  # what the scrollbar was arranged for last
    _size_then: tuple[int, Size] = (-1, Size(0, 0))  # with the number of layouts before

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self._styles_cache = LineCache()

    @property
    def size(self) -> Size:
        """The size of the content, which only a layout changes. Textual asks the screen for it each time."""
        if self._size_then[0] != FramedView.layouts:
            self._size_then = FramedView.layouts, super().size
        return self._size_then[1]

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scrollbar, which is made when it is first asked for."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = CellScrollBar(thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

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

    # -- drawing -------------------------------------------------------------------------------------------------

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Draw the widget, these regions of its content, or the line of the title that is assigned."""
        if self.line_of_title is not None:
            regions = (self.line_of_title,)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines, all in the look of this moment."""
        self.look = look_of(self)
        try:
            return super().render_lines(crop)
        finally:
            self.look = None

    @property
    def content_offset(self) -> Offset:
        """The offset of the first line. Textual's own adds the scrollbars, which are below and on the right."""
        return Offset(*self.styles.gutter.top_left)

    def check_idle(self) -> None:
        """Bring about what was asked for."""
        if not ask_screen(self):
            super().check_idle()


@contextmanager
def _drawing_line(widget: Widget, y: int) -> Iterator[None]:
    """Draw only this line of the widget, counted with its frame, if it is asked to draw itself."""
    if not isinstance(widget, FramedView):
        yield
        return
    left, top = widget.content_offset
    widget.line_of_title = Region(-left, y - top, widget.outer_size.width, 1)
    try:
        yield
    finally:
        widget.line_of_title = None


def set_title(widget: Widget, title: str | Content, subtitle: str | None = None) -> None:
    """Set the title in a widget's border, without markup, and the subtitle if one is given.

    Assigning a title redraws it, so an unchanged one is not assigned again.
    """
    if not _says(widget._border_title, title):
        with _drawing_line(widget, 0):
            widget.border_title = Content(title) if isinstance(title, str) else title
    if subtitle is not None:
        set_subtitle(widget, subtitle)


def set_subtitle(widget: Widget, subtitle: str) -> None:
    """Set the subtitle in a widget's border, without markup, unless it stands there already."""
    if not _says(widget._border_subtitle, subtitle):
        with _drawing_line(widget, widget.outer_size.height - 1):
            widget.border_subtitle = Content(subtitle)


def _says(shown: Content | None, title: str | Content) -> bool:
    """Return whether a border shows this title already. Comparing contents would leave out their looks."""
    if shown is None:
        return not title
    text, spans = (title, []) if isinstance(title, str) else (title.plain, title.spans)
    return shown.plain == text and shown.spans == spans


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

    def has_new_size(self, event: events.Resize) -> bool:
        """Return whether the size differs from that of the last resize event."""
        is_new, self._last_size = event.size != self._last_size, event.size
        return is_new
