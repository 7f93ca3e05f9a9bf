"""A scrollbar of few different cells, each of which is drawn once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import _RenderCache

from tui.widgets.line_cache import LineCache
from tui.widgets.routing import ask_screen

if TYPE_CHECKING:
    from typing import Self

    from textual.geometry import Region


class _Cells(ScrollBarRender):
    """Gives the cells one below the other. Textual's own come through a console of Rich, one line after the other."""

    def cells(self, size: int) -> list[Segment]:
        """Return the cells of a bar of this size; equal ones are mostly the same object."""
        style = self.style
        assert not isinstance(style, str)
        assert style.bgcolor is not None
        assert style.color is not None
        bar = self.render_bar(
            size=size,
            window_size=self.window_size,
            virtual_size=self.virtual_size,
            position=self.position,
            thickness=self.thickness,
            back_color=style.bgcolor,
            bar_color=style.color,
        )
        return list(bar.segments)


class CellScrollBar(ScrollBar):
    """A vertical scrollbar that is drawn cell by cell."""

    renderer = _Cells

    def __init__(self, *, thickness: int) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        self._styles_cache = LineCache()

    @property
    def is_blank(self) -> bool:
        """True if there is nothing to scroll: then what it would cover is drawn in its place."""
        return self.window_size >= self.window_virtual_size

    def _render_content(self) -> None:
        bar = self.render()
        assert isinstance(bar, _Cells)
        ground = self.visual_style.rich_style
        strips: dict[int, Strip] = {}
        lines = []
        for cell in bar.cells(self.size.height):
            strip = strips.get(id(cell))
            if strip is None:
                strip = Strip(Segment.apply_style([cell], ground), self.thickness)
                strips[id(cell)] = strip
            lines.append(strip)
        self._render_cache = _RenderCache(self.size, lines)
        self._dirty_regions.clear()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:  # noqa: ARG002
        """Draw the bar. It asks for no layout: the widget that it scrolls does so when it shows or hides the bar.

        Textual's own asks for another layout after each one that gives it a size. A bar that is made in a layout does
        not receive messages yet, and so would ask only when it is moved for the first time.
        """
        return super().refresh(*regions, repaint=repaint, recompose=recompose)

    def check_idle(self) -> None:
        """Bring about what was asked for."""
        if not ask_screen(self):
            super().check_idle()
