"""A widget of styled lines, and the drawing of such lines for all widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.settings.options import DARK, THEME_NAMES
from tui.viewmodels.text.citations import dim_citations
from tui.viewmodels.text.glyphs import to_ascii
from tui.viewmodels.text.styled import Role, cut, plain, width
from tui.widgets import palette
from tui.widgets.redraw import FramedView, refresh_changes, set_line_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.text.styled import Line


# Control characters would move the terminal's cursor: a script of several lines is shown in one.
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "?") | dict.fromkeys(map(ord, "\n\r\t"), " ")


def strip_of(widget: ScrollView, spans: Line, *, is_cursor: bool = False) -> Strip:
    """Draw a line exactly as wide as the widget, with a background throughout and in ASCII if that is chosen.

    A longer line ends with an ellipsis, unless only blanks are lost.
    """
    app, cells, wide = widget.app, widget.size.width, width(spans)
    theme = app.theme if app.theme in THEME_NAMES else DARK
    if wide > cells and plain(spans)[cells:].strip():
        spans = cut(spans, cells)
        wide = width(spans)
    read = to_ascii if app.has_class("-ascii") else str
    if not all(span.text.isprintable() for span in spans):
        spans = tuple(span._replace(text=span.text.translate(_CONTROLS)) for span in spans)
        wide = width(spans)
    segments = [
        Segment(read(span.text), palette.span_style(theme, span, is_cursor=is_cursor)) for span in dim_citations(spans)
    ]
    rest = cells - wide
    if rest > 0:
        segments.append(Segment(" " * rest, palette.style(theme, Role.PLAIN, is_cursor=is_cursor)))
    strip = Strip(segments, max(wide, cells))
    return strip if rest >= 0 else strip.crop(0, cells)


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
