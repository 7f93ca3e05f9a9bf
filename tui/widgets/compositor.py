"""A compositor that arranges the widgets of a screen once for each layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._compositor import Compositor

if TYPE_CHECKING:
    from textual._compositor import ReflowResult
    from textual.geometry import Size
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
