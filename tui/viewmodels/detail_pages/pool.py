"""The detail page of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.terms import NodeState
from engine.views.log.pool_history import PoolHistory
from engine.views.pages.autoscale import scale_page
from engine.views.rest.lookup import pool_wire
from tui.viewmodels.autoscale.overview import autoscale_lines
from tui.viewmodels.detail_pages.layout import columns, listing
from tui.viewmodels.detail_pages.page import DetailModel, Page
from tui.viewmodels.lists.nodes import NodesModel
from tui.viewmodels.properties import pool as blocks
from tui.viewmodels.properties.rest_fields import block, parts
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import error_blocks
from tui.viewmodels.text.chart import Series, chart
from tui.viewmodels.text.glyphs import NODE, pool_glyph
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
        "Node counts has a curve for each node state. History has curves of target, current and running nodes. "
        "All curves of a tab have the same scale."
    )

    def __init__(self, session: Session, subject: ItemRef) -> None:
        super().__init__(session, subject)
        self._nodes_model = NodesModel(session)
        self._history_read = PoolHistory(session.simulation, self.name)

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
            ("Overview", self._overview),
            ("Nodes", lambda cells: listing(self._nodes_model, "nodes", cells)),
            ("Scale", self._scale),
            ("Start task", self._start_task),
            ("Properties", self._properties),
            ("Node counts", self._node_counts),
            ("History", self._history),
        )

    def _overview(self, cells: int) -> Sequence[Line]:
        return columns(blocks.overview(self.session, self._row), cells)

    def _scale(self, cells: int) -> Sequence[Line]:
        pool = self._row
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

    # -- over time -----------------------------------------------------------------------------------------------

    def _node_counts(self, cells: int) -> Sequence[Line]:
        present = dict(self._row.node_counts)
        samples = self._history_read.samples()
        seen = [state for state in NodeState if present.get(state) or any(each.states.get(state) for each in samples)]
        counts = [*(each.states for each in samples), present]
        series = [Series(NODE[state].name, NODE[state].role, [each.get(state, 0) for each in counts]) for state in seen]
        return self._chart(series, cells, "The pool has had no nodes yet.")

    def _history(self, cells: int) -> Sequence[Line]:
        pool, samples = self._row, self._history_read.samples()
        running = dict(pool.node_counts).get(NodeState.RUNNING, 0)
        series = (
            Series(
                "target", Role.QUIET, [*(each.target for each in samples), pool.target_dedicated + pool.target_spot]
            ),
            Series("current", Role.OK, [*(each.nodes for each in samples), pool.nodes]),
            Series("running", Role.RUNNING, [*(each.states.get(NodeState.RUNNING, 0) for each in samples), running]),
        )
        return self._chart(series, cells, "")

    def _chart(self, series: Sequence[Series], cells: int, otherwise: str) -> Sequence[Line]:
        if not series:
            return [line(Span(otherwise, Role.DIM))]
        clock, now_ms = self.session.clock, self.session.now_ms
        said = f"nodes from the start until now, {fmt.span(now_ms)}"
        return [line(Span(said, Role.DIM)), *chart(series, clock(0), clock(now_ms), self.session.glyphs, cells)]
