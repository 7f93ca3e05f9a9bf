"""Lines of text with roles, drawn one by one: the widget under everything that is no table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.geometry import Region, Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui import palette
from tui.viewmodels.text import Role, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from tui.viewmodels.text import Line


def theme_of(widget: ScrollView) -> str:
    """The name of our theme under which a widget is drawn."""
    name = widget.app.theme
    return name if name in palette.THEME_NAMES else palette.DARK


def strip_of(spans: Line, cells: int, theme: str, *, is_cursor: bool = False, fill: Style | None = None) -> Strip:
    """A line as Textual draws it: exactly so many cells, every piece with a background."""
    segments = [Segment(span.text, palette.span_style(theme, span, is_cursor=is_cursor)) for span in spans if span.text]
    rest = cells - width(spans)
    blank = fill or palette.style(theme, Role.PLAIN, is_cursor=is_cursor)
    if rest > 0:
        segments.append(Segment(" " * rest, blank))
    strip = Strip(segments, max(width(spans), cells))
    return strip if rest >= 0 else strip.crop(0, cells)


class LinesView(ScrollView):
    """Shows lines; only those that have changed are drawn again."""

    can_focus = False
    lines: var[tuple[Line, ...]] = var((), init=False)

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines from now on."""
        old, new = self.lines, tuple(lines)
        if old == new:
            return
        self.set_reactive(LinesView.lines, new)
        if len(old) != len(new):
            self.virtual_size = Size(self.scrollable_content_region.width, len(new))
            self.refresh()
            return
        top, height = self.scroll_offset.y, self.size.height
        for y in range(top, min(top + height, len(new))):
            if old[y] != new[y]:
                self.refresh(Region(0, y - top, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        at = y + self.scroll_offset.y
        spans = self.lines[at] if at < len(self.lines) else ()
        return strip_of(spans, self.size.width, theme_of(self))
