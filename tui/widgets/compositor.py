"""A compositor that arranges the widgets of a screen once for each layout, and draws only what has changed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, cast

from textual import events
from textual._compositor import ChopsUpdate, Compositor, ReflowResult
from textual.geometry import Region
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from tui.widgets.redraw import FramedView
from tui.widgets.routing import handles
from tui.widgets.scrollbar import CellScrollBar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from textual.geometry import Size
    from textual.strip import Strip

    Pieces = dict[int, Strip | None]  # of a line, by their columns; None: not drawn yet


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
    """Knows the places of all widgets after a layout, until the next one, and draws none that others cover.

    Textual's own arranges them again when somebody asks for a size after hidden or new widgets were to be drawn; only
    a layout can show those. Then it has a message sent to each widget that has come or gone or has another size. It
    cuts all lines of covered widgets, and to draw changes it asks all widgets within the box around all of them.
    """

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Arrange all widgets. Return the changed ones that have a handler for the change."""
        hidden, shown, resized = super().reflow(parent, size)
        self._full_map_invalidated = False
        FramedView.layouts += 1
        return ReflowResult(
            hidden=set(filter(_acts_when_hidden, hidden)),
            shown=set(filter(_acts_when_shown, shown)),
            resized={widget for widget in shown | resized if handles(type(widget), events.Resize.handler_name)},
        )

    def update_widgets(self, widgets: set[Widget]) -> None:
        """Draw those of these widgets that are visible."""
        super().update_widgets(widgets & self.visible_widgets.keys())

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
    is_stale = isinstance(widget, FramedView) and not widget.looks_right
    return is_stale or handles(type(widget), events.Show.handler_name, (Widget, FramedView))


def _is_wanted(pieces: Pieces, first: int, end: int) -> bool:
    """Return whether a piece from ``first`` to before ``end`` has not been drawn yet."""
    return any(piece is None and first <= x < end for x, piece in pieces.items())
