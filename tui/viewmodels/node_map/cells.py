"""The node map: one cell for each node, always at the same place, drawn through a lens."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.views.pages.instances import HookStatus
from engine.views.pages.nodes import count_gone, gone_in
from tui.viewmodels.node_map.lenses import FIRST_LENS, LENSES, Lens, facts_of, glyph_for, rank_of
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import NODE, Glyph, phase_glyph
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, fit, line, merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.viewmodels.session.session import Session

LABEL_CELLS = 6  # before each row: the index of its first node
_WORDS_CELLS = 40
_TASKS_CELLS = 54
_SLOT_CELLS = 8
_UPPER_HALF = "▀"


class Grid(NamedTuple):
    """The layout of the cells: nodes in a row, cells for each node with its gap, and rows in a line.

    With one node in a row there is room for words; with two rows in a line each node has half a cell.
    """

    columns: int
    pitch: int
    rows: int = 1

    @property
    def nodes_in_line(self) -> int:
        """The number of nodes in a line of the screen."""
        return self.columns * self.rows


def grid(nodes: int, cells: int, lines: int, *, has_halves: bool = False) -> Grid:
    """Return the largest layout in which all nodes fit: a line, two cells, one cell or half a cell for each node.

    Rows have a multiple of ten nodes. If nothing fits, each node has one cell and the map scrolls.
    """
    room = max(10, cells - LABEL_CELLS)
    if nodes <= lines and cells >= _WORDS_CELLS:
        return Grid(1, cells)
    layouts = [Grid(max(10, room // pitch // 10 * 10), pitch) for pitch in (2, 1)]
    if has_halves:
        layouts.append(layouts[-1]._replace(rows=2))
    return next((each for each in layouts if -(-nodes // each.nodes_in_line) <= lines), layouts[1])


class NodeMapModel:
    """The nodes of the pool in focus as cells."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lens = FIRST_LENS
        self.only: Glyph | None = None  # the glyph that is not dimmed
        self.nodes: Sequence[int] = ()
        self._page = session.nodes()
        # For each node: index in the pool, state, and the lens's property.
        self._positions: Sequence[int] = ()
        self._states = b""
        self._facts: Sequence[int] = ()
        self._glyphs: dict[tuple[int, int], Glyph] = {}
        self._counted: tuple[object, Counter[Glyph]] = (None, Counter())
        self._left_out: dict[str, frozenset[int]] = {}  # by pool: indexes of the nodes left out
        self._shown: tuple[object, bytes] = (None, b"")
        self._lines: dict[int, tuple[object, Line]] = {}  # by number: the input of a line of cells, and the line

    def remembered(self) -> dict[str, Any]:
        """Return the user's choices, for the settings file."""
        return {} if self.lens is FIRST_LENS else {"lens": self.lens.value}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choice of lens."""
        self.lens = next((lens for lens in LENSES if lens.value == values.get("lens")), FIRST_LENS)

    def update(self) -> None:
        """Read the simulation again."""
        self._page = page = self.session.nodes()
        nodes, states, facts = page.nodes(), page.states(), facts_of(self.lens, page, self.session.now_ms)
        self._glyphs.clear()
        self._positions = range(len(nodes))
        if self._left_out.get(page.pool_id):
            shown = self._shown_of(states)
            nodes, self._positions = tuple(compress(nodes, shown)), tuple(compress(self._positions, shown))
            states, facts = bytes(compress(states, shown)), tuple(compress(facts, shown))
        self.nodes = tuple(nodes)  # a copy: later drawing must show this moment
        self._states, self._facts = states, facts

    def _shown_of(self, states: bytes) -> bytes:
        """Return a byte for each node of the pool, 0 for those left out. In the past a node may be back."""
        left_out = self._left_out[self._page.pool_id]
        known = self.session.simulation.jumps, len(states), count_gone(states), self._page.pool_id, left_out
        if self._shown[0] != known:
            shown = bytearray(b"\1") * len(states)
            for at in left_out.intersection(gone_in(states)):
                shown[at] = 0
            self._shown = known, bytes(shown)
        return self._shown[1]

    def compact(self) -> bool:
        """Leave out the nodes that have left the pool, or show them again. Return True if some were left out."""
        pool_id = self._page.pool_id
        gone = frozenset(self._positions[at] for at in gone_in(self._states))
        self._left_out[pool_id] = self._left_out.get(pool_id, frozenset()) | gone if gone else frozenset()
        self.update()
        return bool(gone)

    def look_through(self, lens: Lens) -> None:
        """Choose a lens."""
        self.lens, self.only = lens, None
        self.update()

    def next_lens(self) -> None:
        """Choose the next lens."""
        self.look_through(LENSES[(LENSES.index(self.lens) + 1) % len(LENSES)])

    def title(self, cells: int) -> str:
        """Return the number of nodes and the lens."""
        count, number = len(self.nodes), LENSES.index(self.lens) + 1
        nodes = f"{count:,} {'node' if count == 1 else 'nodes'}"
        forms = (
            f"Node map · {nodes} · lens {number} of {len(LENSES)}: {self.lens.value}",
            f"{nodes} · {self.lens.value}",
            self.lens.value,
        )
        return self.session.text(next((form for form in forms if len(form) <= cells - 2), forms[-1]))

    # -- cells ---------------------------------------------------------------------------------------------------

    def glyph(self, index: int) -> Glyph:
        """Return the glyph of the node at an index through the present lens."""
        return self._glyph_of((self._states[index], self._facts[index]))

    def _glyph_of(self, facts: tuple[int, int]) -> Glyph:
        found = self._glyphs.get(facts)
        if found is None:
            found = self._glyphs[facts] = glyph_for(self.lens, *facts, self._page.slots())
        return found

    def row(self, number: int, layout: Grid, cursor: int | None) -> Line:
        """Return a line of cells, with the index of its first node."""
        first = number * layout.nodes_in_line
        if first >= len(self.nodes):
            return ()
        if layout.columns == 1:
            return self._words(first, layout.pitch, is_cursor=first == cursor)
        here = slice(first, first + layout.nodes_in_line)
        nodes, marks = self.nodes[here], self.session.marks
        looks = (
            (self.lens, self.only, layout, self.session.glyphs.ascii_only, self._positions[first], nodes),
            (self._states[here], self._facts[here], bytes(map(self._page.is_enabled, nodes))),
            cursor if cursor is not None and here.start <= cursor < here.stop else None,
            [ItemRef("node", node) in marks for node in nodes] if marks else None,
        )
        known = self._lines.get(number)
        if known is None or known[0] != looks:
            known = self._lines[number] = looks, self._cells(first, layout, cursor)
        return known[1]

    def _cells(self, first: int, layout: Grid, cursor: int | None) -> Line:
        label = Span(f"{self._positions[first]:5d} ", Role.DIM)
        if layout.rows == 2:
            return tuple(merged([label, *self._halves(first, layout.columns, cursor)]))
        last = min(first + layout.columns, len(self.nodes))
        return tuple(
            merged([label, *(self._cell(at, layout.pitch, is_cursor=at == cursor) for at in range(first, last))])
        )

    def _cell(self, at: int, pitch: int, *, is_cursor: bool) -> Span:
        """Return a node's glyph. A second cell shows disabled scheduling and Spot nodes."""
        node, glyph, page = self.nodes[at], self.glyph(at), self._page
        is_disabled = not page.is_enabled(node)
        text = self._mark(node) or self.session.glyphs.of(glyph)
        if pitch > 1:
            text += "-" if is_disabled else " " if page.is_dedicated(node) else self.session.glyphs.spot
        return Span(text, self._role(glyph), is_fill=is_cursor, is_underlined=is_disabled)

    def _halves(self, first: int, columns: int, cursor: int | None) -> list[Span]:
        """Return two rows in one line, as upper half blocks. Marks and the cursor take a whole cell."""
        spans = []
        for upper in range(first, min(first + columns, len(self.nodes))):
            both = [at for at in (upper, upper + columns) if at < len(self.nodes)]
            marked = next((at for at in both if self._mark(self.nodes[at])), None)
            if cursor in both:
                spans.append(self._cell(cursor, 1, is_cursor=True))
            elif marked is not None:
                spans.append(Span("*", self._role(self.glyph(marked))))
            else:
                above, below = self._role(self.glyph(upper)), self._role(self.glyph(both[-1]))
                spans.append(Span(_UPPER_HALF, above, ground=below if len(both) > 1 else None))
        return spans

    def _role(self, glyph: Glyph) -> Role:
        return glyph.role if self.only is None or glyph == self.only else Role.DIM

    def _words(self, index: int, cells: int, *, is_cursor: bool) -> Line:
        """Return a node on a line of its own: glyph, state, slots in use, phase, tasks."""
        node, glyph, glyphs = self.nodes[index], self.glyph(index), self.session.glyphs
        row = self._page.row(node)
        state, phase = NODE[row.state], phase_glyph(row.prep, row.release)
        slots = min(row.slots, _SLOT_CELLS)
        used = -(-row.used_slots * slots // row.slots)
        tasks = " ".join(task_id for *_, task_id in self._page.tasks_on(node)[:_SLOT_CELLS])
        is_known = row.prep is not HookStatus.NOT_NEEDED
        spans = line(
            Span(fit(f"n{row.position}", LABEL_CELLS - 1) + " ", Role.STRONG if is_cursor else Role.DIM),
            Span(self._mark(node) or glyphs.of(glyph), glyph.role, is_fill=is_cursor),
            Span(" " + fit(state.name, 21 if cells >= _TASKS_CELLS else 16), state.role),
            Span(glyphs.full * used, Role.RUNNING),
            Span(glyphs.rest * (slots - used) + " ", Role.OFF),
            Span(fit(phase.name if is_known else "", 15), phase.role),
            Span(tasks if cells >= _TASKS_CELLS else "", Role.DIM),
        )
        is_dimmed = self.only is not None and glyph != self.only
        return tuple(span._replace(role=Role.DIM) for span in spans) if is_dimmed else spans

    def _mark(self, node: int) -> str:
        """Return the sign of a marked node; empty if it is not marked."""
        return "*" if ItemRef("node", node) in self.session.marks else ""

    # -- below the cells -----------------------------------------------------------------------------------------

    def counts(self) -> list[tuple[Glyph, int]]:
        """Return the number of nodes for each glyph, failures first, then in the order of the state tables."""
        known = self.lens, self._page, self._states, self._facts
        if self._counted[0] != known:
            counts: Counter[Glyph] = Counter()
            for facts, count in Counter(zip(self._states, self._facts, strict=True)).items():
                counts[self._glyph_of(facts)] += count
            self._counted = known, counts
        return sorted(self._counted[1].items(), key=lambda item: rank_of(item[0]))

    def nodes_like(self, glyph: Glyph) -> list[int]:
        """Return the nodes with this glyph."""
        return [node for at, node in enumerate(self.nodes) if self.glyph(at) == glyph]

    def description(self, index: int) -> Line:
        """Return the node under the cursor, in one line."""
        if index >= len(self.nodes):
            return ()
        node = self._page.row(self.nodes[index])
        state = NODE[node.state]
        phase = phase_glyph(node.prep, node.release)
        return line(
            Span(self.session.text(f"{fmt.node_name(node.position, node.node_id)} "), Role.STRONG),
            Span(f" {state.name}", state.role),
            Span(f"  {node.used_slots}/{node.slots} slots  "),
            Span(phase.name, phase.role),
            Span("" if node.is_dedicated else "  Spot", Role.DIM),
        )

    def empty(self) -> Sequence[str]:
        """Say why there are no cells."""
        if not self.session.pool_id:
            return self.session.none_yet("pool")
        if self._left_out.get(self.session.pool_id):
            return ("All its nodes have left and are hidden.", "D shows them again.")
        return (f"Pool {self.session.pool_id} has no nodes yet.",)
