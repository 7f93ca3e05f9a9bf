"""How many lines a widget has that scrolls over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.scroll_view import ScrollView


def set_lines(widget: ScrollView, lines: int) -> None:
    """The widget has so many lines. Only when its scrollbar comes or goes must the screen be laid out again."""
    size = Size(widget.size.width, lines)
    if widget.virtual_size == size:
        return
    has_scrollbar = widget.show_vertical_scrollbar
    if widget.styles.auto_dimensions or has_scrollbar != (lines > widget.size.height):
        widget.virtual_size = size
        return
    widget.set_reactive(Widget.virtual_size, size)
    if has_scrollbar:
        widget.vertical_scrollbar.window_virtual_size = lines
        widget.scroll_y = widget.validate_scroll_y(widget.scroll_y)
