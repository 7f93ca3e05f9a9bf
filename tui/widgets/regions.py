"""A container that places its children in given regions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Container
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region
from textual.layout import Layout, WidgetPlacement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.geometry import Size
    from textual.layout import ArrangeResult
    from textual.widget import Widget


class _AtRegions(Layout):
    name = "regions"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:  # noqa: ARG002  # Textual's signature
        assert isinstance(parent, Regions)
        return [
            WidgetPlacement(parent.regions[child.id or ""], NULL_OFFSET, NULL_SPACING, child)
            for child in children
            if child.id in parent.regions
        ]


class Regions(Container):
    """Children with ids, each in the region of its id; hidden without one."""

    BLANK = True  # its children cover it

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """All children are hidden until ``place``."""
        super().__init__(id=id)
        self.regions: dict[str, Region] = {}
        self._at_regions = _AtRegions()

    @property
    def layout(self) -> Layout:
        """The layout that reads ``regions``; style sheets know no layouts but Textual's own."""
        return self._at_regions

    def place(self, regions: Mapping[str, tuple[int, int, int, int]]) -> bool:
        """Move the children to these regions: column, row, width, height. Return whether anything has moved."""
        new = {name: Region(*region) for name, region in regions.items()}
        if new == self.regions:
            return False
        self.regions = new
        for child in self.children:
            child.display = child.id in new
        for child in self.children[:1]:
            # Not the container: Textual keeps its last arrangement for a size until a child asks for another one.
            child.refresh(layout=True)
        return True
