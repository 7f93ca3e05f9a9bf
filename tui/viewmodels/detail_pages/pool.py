"""The detail page of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.views.pages.autoscale import scale_page
from engine.views.rest.lookup import pool_wire
from tui.viewmodels.autoscale.overview import autoscale_lines
from tui.viewmodels.curves.curves import CurvesModel
from tui.viewmodels.detail_pages.layout import columns, curves, listing
from tui.viewmodels.detail_pages.page import DetailModel, Page
from tui.viewmodels.lists.nodes import NodesModel
from tui.viewmodels.properties import pool as blocks
from tui.viewmodels.properties.rest_fields import block, parts
from tui.viewmodels.text.blocks import error_blocks
from tui.viewmodels.text.glyphs import pool_glyph
from tui.viewmodels.text.styled import Line, Role, Span, line, link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.jobs import PoolRow
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef

# Properties that have tabs of their own.
_ELSEWHERE = ("startTask", "autoScaleFormula", "autoScaleRun", "resizeErrors")
_PARTS = ("virtualMachineConfiguration", "applicationPackageReferences", "metadata")


class PoolDetailModel(DetailModel):
    """A pool, in focus while its page is open."""

    kind = "pool"
    view = "pools"
    help_text = (
        "A pool, in tabs. Nodes shows the first nodes and leads to the list. Scale shows the targets, or the "
        "formula with its last evaluation. S opens the editor.\n"
        "Curves shows nodes against their target, cost, and tasks of the focused job. "
        "H switches between the last hour and all."
    )
    BELOW = ("Nodes", "Start task", "Properties")

    def __init__(self, session: Session, subject: ItemRef) -> None:
        super().__init__(session, subject)
        self._nodes_model = NodesModel(session)
        self._curves = CurvesModel(session)

    @property
    def exists(self) -> bool:
        return self.session.pool(self.name) is not None

    @property
    def name(self) -> str:
        return str(self.subject.key)

    @property
    def _row(self) -> PoolRow:
        found = self.session.pool(self.name)
        assert found is not None
        return found

    def _head(self, cells: int) -> Sequence[Line]:  # noqa: ARG002  # as on every page
        """Return allocation state, numbers of nodes, slots and errors."""
        pool = self._row
        glyph = pool_glyph(pool.state, pool.allocation)
        words = f"   {blocks.node_words(pool)}   {pool.vm_size}"
        parts_ = [self.session.glyphs.span(glyph), Span(f" {glyph.name}", glyph.role), Span(words)]
        used = blocks.slot_words(pool)
        parts_.append(Span(f"   {used}" if used else "", Role.DERIVED))
        if pool.resize_errors:
            parts_.append(Span(f"   {self.session.glyphs.bad} {pool.resize_errors[0][0]}", Role.FAILED))
        return [line(*parts_)]

    def _pages(self) -> Sequence[Page]:
        return (
            ("Curves", lambda cells: curves(self._curves, self, cells, self.rows)),
            ("Overview", self._overview),
            ("Nodes", lambda cells: listing(self._nodes_model, "nodes", cells)),
            ("Scale", self._scale),
            ("Start task", self._start_task),
            ("Properties", self._properties),
        )

    def _overview(self, cells: int) -> Sequence[Line]:
        lines = columns(blocks.overview(self.session, self._row), cells)
        return [*lines, *self._below(cells, self.rows - len(lines))]

    def _scale(self, cells: int) -> Sequence[Line]:
        pool = self._row
        if pool.state is None:
            return [line(Span("The pool has been deleted.", Role.DIM))]
        opens = link("Evaluate formula", "scale", Role.KEY)
        if scale_page(self.session.simulation, self.name) is not None:
            return [
                line(opens, Span(" opens the formula in an editor", Role.DIM)),
                (),
                *autoscale_lines(self.session, self.name, cells),
            ]
        fixed = [blocks.scale(pool), *error_blocks("Resize errors", pool.resize_errors)]
        return [
            *columns(fixed, cells),
            (),
            line(opens, Span(" opens an empty editor", Role.DIM)),
        ]

    def _start_task(self, cells: int) -> Sequence[Line]:
        settings = self._wire.get("startTask")
        if settings is None:
            return [line(Span("The pool has no start task.", Role.DIM))]
        return columns([block(self.session, "Start task", settings)], cells)

    def _properties(self, cells: int) -> Sequence[Line]:
        body = {name: value for name, value in self._wire.items() if name not in _ELSEWHERE}
        return columns(parts(self.session, body, _PARTS), cells)

    @property
    def _wire(self) -> dict[str, Any]:
        return pool_wire(self.session.simulation, self.name) or {}
