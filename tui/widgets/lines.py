"""A widget of styled lines, and the drawing of such lines for all widgets."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.reactive import var

from tui.viewmodels.text.citations import dim_citations
from tui.viewmodels.text.glyphs import to_ascii
from tui.viewmodels.text.styled import Role, cut, plain, width
from tui.widgets import palette
from tui.widgets.line_cache import KeptStrip
from tui.widgets.redraw import FramedView, refresh_changes, set_line_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip
    from textual.widget import Widget

    from tui.viewmodels.text.styled import Line, Span


# Control characters would move the terminal's cursor: a script of several lines is shown in one.
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "?") | dict.fromkeys(map(ord, "\n\r\t"), " ")


def strip_of(widget: Widget, spans: Line, *, is_cursor: bool = False) -> KeptStrip:
    """Draw a line exactly as wide as the widget, with a background throughout and in ASCII if that is chosen.

    A longer line ends with an ellipsis, unless only blanks are lost.
    """
    known = widget.look if isinstance(widget, FramedView) else None
    return drawn(known or palette.look_of(widget), spans, is_cursor=is_cursor)


def drawn(look: palette.Look, spans: Line, *, is_cursor: bool = False) -> KeptStrip:
    """Draw a line in this look."""
    theme, is_ascii, cells = look
    text = plain(spans)
    if not text.isprintable():
        spans = tuple(span._replace(text=span.text.translate(_CONTROLS)) for span in spans)
        text = plain(spans)
    wide = len(text) if text.isascii() else width(spans)
    if wide > cells and text[cells:].strip():
        spans = cut(spans, cells)
        wide = width(spans)
    if "-" in text:
        spans = dim_citations(spans)
    segments = [_segment(theme, is_ascii, span, is_cursor) for span in spans]
    rest = cells - wide
    if rest > 0:
        segments.append(Segment(" " * rest, palette.style(theme, Role.PLAIN, is_cursor=is_cursor)))
    strip = KeptStrip(segments, max(wide, cells))
    return strip if rest >= 0 else KeptStrip(strip.crop(0, cells), cells)


@lru_cache(maxsize=4096)
def _segment(theme: str, is_ascii: bool, span: Span, is_cursor: bool) -> Segment:
    text = to_ascii(span.text) if is_ascii else span.text
    return Segment(text, palette.span_style(theme, span, is_cursor=is_cursor))


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
