"""A compositor that arranges the widgets of a screen once for each layout, and draws none that others cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual._compositor import Compositor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual._compositor import ReflowResult
    from textual.geometry import Region, Size
    from textual.strip import Strip
    from textual.widget import Widget


class ArrangedOnce(Compositor):
    """Knows the places of all widgets after a layout, until the next one.

    Textual's own arranges them again when somebody asks for a size after hidden or new widgets were to be drawn. Only
    a layout can show those.
    """

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Arrange all widgets."""
        changes = super().reflow(parent, size)
        self._full_map_invalidated = False
        return changes

    def update_widgets(self, widgets: set[Widget]) -> None:
        """Draw those of these widgets that are visible."""
        super().update_widgets(widgets & self.visible_widgets.keys())

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        """Return the pieces of each line by their columns. Textual's own cuts lines of covered widgets, too."""
        cuts = self.cuts
        chops: list[dict[int, Strip | None]] = [dict.fromkeys(line[:-1]) for line in cuts]
        missing = [len(chop) for chop in chops]
        for region, clip, strips in self._get_renders(crop):  # those in front first
            visible = region.intersection(clip)
            left, right = visible.column_span
            for y, strip in zip(visible.line_range, strips, strict=False):
                if not missing[y] or not is_rendered_line(y):
                    continue
                chop, ends = chops[y], [cut for cut in cuts[y] if left <= cut <= right]
                pieces = strip.divide([end - left for end in ends[1:]])
                for cut, piece in zip(ends, pieces, strict=False):
                    if chop.get(cut) is None:
                        chop[cut] = piece
                        missing[y] -= 1
        return cast("Sequence[Mapping[int, Strip]]", chops)
