"""The node map: one cell for each node, always in the same place, coloured by what the lens looks at."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine.views.pages.nodes import NodePage
from tui import format as fmt
from tui.viewmodels.glyphs import NODE, Glyph, phase_glyph
from tui.viewmodels.text import Line, Role, Span, cut, line, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session import Session

_LABEL_CELLS = 6


class Lens(Enum):
    """What the map shows of each node."""

    PHASE = "job phase"
    STATE = "node state"
    SLOTS = "slots in use"


LENSES = tuple(Lens)


class Grid(NamedTuple):
    """How the cells are laid out: nodes in a row, cells for a node, blank included."""

    columns: int
    pitch: int


def grid(nodes: int, cells: int, lines: int) -> Grid:
    """Two cells a node where all fit, else one; rows of a multiple of ten nodes."""
    room = max(10, cells - _LABEL_CELLS)
    for pitch in (2, 1):
        columns = max(10, room // pitch // 10 * 10)
        if -(-nodes // columns) <= lines or pitch == 1:
            return Grid(columns, pitch)
    raise AssertionError


class NodeMapModel:
    """The nodes of the pool in focus as cells."""

    def __init__(self, session: Session) -> None:
        """A map of this session's simulation; empty until ``refresh``."""
        self.session = session
        self.lens = Lens.PHASE
        self.nodes: Sequence[int] = ()
        self._page = NodePage(session.simulation, session.pool_id, session.job_id)

    def refresh(self) -> None:
        """Look at the simulation again."""
        self._page = NodePage(self.session.simulation, self.session.pool_id, self.session.job_id)
        self.nodes = self._page.nodes()

    def next_lens(self) -> None:
        """Look at something else."""
        self.lens = LENSES[(LENSES.index(self.lens) + 1) % len(LENSES)]

    def glyph(self, node: int) -> Glyph:
        """How a node is drawn under the present lens."""
        state = self._page.state_of(node)
        if state is None or self.lens is Lens.STATE:
            return NODE[state]
        if self.lens is Lens.SLOTS:
            return _slots_glyph(self._page.used_slots(node), self._page.slots(), NODE[state])
        if NODE[state].role in (Role.FAILED, Role.TRANSITION, Role.OFF):
            return NODE[state]
        return phase_glyph(*self._page.hooks(node))

    def row(self, number: int, layout: Grid, cursor: int | None) -> Line:
        """One row of cells with the index of its first node."""
        first = number * layout.columns
        nodes = self.nodes[first : first + layout.columns]
        if not nodes:
            return ()
        spans = [Span(f"{first:5d} ", Role.DIM)]
        for at, node in enumerate(nodes, first):
            glyph = self.glyph(node)
            text = self.session.glyphs.of(glyph)
            is_disabled = not self._page.is_enabled(node)
            spans.append(Span(text, glyph.role, is_fill=at == cursor, is_underlined=is_disabled))
            if layout.pitch > 1:
                spans.append(Span(" "))
        return tuple(spans)

    def legend(self, cells: int, lines: int) -> list[Line]:
        """What the cells mean, with counts, in at most so many lines."""
        counts: dict[Glyph, int] = {}
        for node in self.nodes:
            glyph = self.glyph(node)
            counts[glyph] = counts.get(glyph, 0) + 1
        rows: list[Line] = [()]
        for glyph, count in sorted(counts.items(), key=lambda item: -item[1]):
            entry = (self.session.glyphs.span(glyph), Span(f" {glyph.name} {count:,}   "))
            if width(rows[-1]) + width(entry) - 3 > cells:
                rows.append(())
            rows[-1] = (*rows[-1], *entry)
        return [cut(each, cells) for each in rows[:lines]]

    def description(self, index: int) -> Line:
        """The node under the cursor, in one line."""
        if index >= len(self.nodes):
            return ()
        node = self._page.row(self.nodes[index])
        state = NODE[node.state]
        phase = phase_glyph(node.prep, node.release)
        return line(
            Span(self.session.text(f"node {fmt.node_name(node.position, node.node_id)} "), Role.STRONG),
            Span(f" {state.name}", state.role),
            Span(f"  {node.used_slots}/{node.slots} slots  "),
            Span(phase.name, phase.role),
        )

    def empty(self) -> Sequence[str]:
        """Why there is nothing to draw."""
        if not self.session.pool_id:
            return ("There is no pool yet.", "Press space to let time go by,", "or . for one event.")
        return (f"Pool {self.session.pool_id} has no nodes yet.",)


def _slots_glyph(used: int, slots: int, state: Glyph) -> Glyph:
    if used <= 0:
        return Glyph(".", ".", state.role if state.role is not Role.RUNNING else Role.QUIET, "no slot in use")
    if used >= slots:
        return Glyph("#", "#", Role.RUNNING, "all slots in use")
    share = used * 10 // slots if slots > 9 else used
    return Glyph(str(share), str(share), Role.RUNNING, f"{used} in use")
