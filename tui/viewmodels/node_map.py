"""The node map: one cell for each node, always in the same place, coloured by what the lens looks at."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.views.pages.instances import HookStatus
from engine.views.pages.nodes import hooks_in, state_in
from tui import format as fmt
from tui.viewmodels.glyphs import NODE, Glyph, phase_glyph
from tui.viewmodels.subject import Subject
from tui.viewmodels.text import Line, Role, Span, cut, fit, line, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.viewmodels.session import Session

_LABEL_CELLS = 6
_WORDS_CELLS = 40
_TASKS_CELLS = 54
_SLOT_CELLS = 8


class Lens(Enum):
    """What the map shows of each node."""

    PHASE = "job phase"
    STATE = "node state"
    SLOTS = "slots in use"


LENSES = tuple(Lens)


class Grid(NamedTuple):
    """How the cells are laid out: nodes in a row, cells for a node, blank included.

    With one node in a row there is room for words.
    """

    columns: int
    pitch: int


def grid(nodes: int, cells: int, lines: int) -> Grid:
    """A line a node where all fit, then two cells, then one; rows of a multiple of ten nodes."""
    room = max(10, cells - _LABEL_CELLS)
    if nodes <= lines and cells >= _WORDS_CELLS:
        return Grid(1, cells)
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
        self._page = session.nodes()
        # Of each node its state, and what the lens looks at.
        self._states = b""
        self._looked_at: Sequence[int] = ()
        self._glyphs: dict[tuple[int, int], Glyph] = {}
        self._counted: tuple[object, Counter[Glyph]] = (None, Counter())

    def remembered(self) -> dict[str, Any]:
        """What was chosen, and not left to the map."""
        return {} if self.lens is LENSES[0] else {"lens": self.lens.value}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Look through the lens that was chosen."""
        self.lens = next((lens for lens in LENSES if lens.value == values.get("lens")), LENSES[0])

    def refresh(self) -> None:
        """Look at the simulation again."""
        self._page = page = self.session.nodes()
        self.nodes = tuple(page.nodes())  # as they are now: what is drawn later belongs to the same moment
        self._states = page.states()
        self._glyphs.clear()
        match self.lens:
            case Lens.PHASE:
                self._looked_at = page.all_hooks()
            case Lens.SLOTS:
                self._looked_at = page.free_slots()
            case Lens.STATE:
                self._looked_at = bytes(len(self.nodes))

    def next_lens(self) -> None:
        """Look at something else."""
        self.lens = LENSES[(LENSES.index(self.lens) + 1) % len(LENSES)]
        self.refresh()

    def glyph(self, index: int) -> Glyph:
        """How the node with this index is drawn under the present lens."""
        return self._glyph_of((self._states[index], self._looked_at[index]))

    def _glyph_of(self, facts: tuple[int, int]) -> Glyph:
        found = self._glyphs.get(facts)
        if found is None:
            found = self._glyphs[facts] = self._new_glyph(*facts)
        return found

    def _new_glyph(self, state: int, looked_at: int) -> Glyph:
        glyph = NODE[state_in(state)]
        if state_in(state) is None or self.lens is Lens.STATE:
            return glyph
        if self.lens is Lens.SLOTS:
            slots = self._page.slots()
            return _slots_glyph(slots - looked_at, slots, glyph)
        if glyph.role in (Role.FAILED, Role.TRANSITION, Role.OFF):
            return glyph
        return phase_glyph(*hooks_in(looked_at))

    def row(self, number: int, layout: Grid, cursor: int | None) -> Line:
        """One row of cells with the index of its first node."""
        first = number * layout.columns
        nodes = self.nodes[first : first + layout.columns]
        if not nodes:
            return ()
        if layout.columns == 1:
            return self._words(nodes[0], first, layout.pitch, is_cursor=first == cursor)
        runs = [Span(f"{first:5d} ", Role.DIM)]
        gap = " " * (layout.pitch - 1)
        for at, node in enumerate(nodes, first):
            glyph = self.glyph(at)
            text = self._mark(node) or self.session.glyphs.of(glyph)
            is_disabled = not self._page.is_enabled(node)
            span = Span(text + gap, glyph.role, is_fill=at == cursor, is_underlined=is_disabled)
            if runs[-1][1:] == span[1:]:
                runs[-1] = span._replace(text=runs[-1].text + span.text)
            else:
                runs.append(span)
        return tuple(runs)

    def _words(self, node: int, index: int, cells: int, *, is_cursor: bool) -> Line:
        """A node on a line of its own: glyph, state, slots in use, phase, tasks."""
        row, glyph, glyphs = self._page.row(node), self.glyph(index), self.session.glyphs
        state, phase = NODE[row.state], phase_glyph(row.prep, row.release)
        slots = min(row.slots, _SLOT_CELLS)
        used = -(-row.used_slots * slots // row.slots)
        tasks = " ".join(task_id for _, task_id in self._page.tasks_on(node)[:_SLOT_CELLS])
        is_known = row.prep is not HookStatus.NOT_NEEDED
        return line(
            Span(fit(f"n{index}", _LABEL_CELLS - 1) + " ", Role.STRONG if is_cursor else Role.DIM),
            Span(self._mark(node) or glyphs.of(glyph), glyph.role, is_fill=is_cursor),
            Span(" " + fit(state.name, 21 if cells >= _TASKS_CELLS else 16), state.role),
            Span(glyphs.full * used, Role.RUNNING),
            Span(glyphs.rest * (slots - used) + " ", Role.OFF),
            Span(fit(phase.name if is_known else "", 15), phase.role),
            Span(tasks if cells >= _TASKS_CELLS else "", Role.DIM),
        )

    def _mark(self, node: int) -> str:
        """What marks a node; empty where it is not marked."""
        return "*" if Subject("node", node) in self.session.marks else ""

    def legend(self, cells: int, lines: int) -> list[Line]:
        """What the cells mean, with counts, in at most so many lines."""
        counts = self._counts()
        rows: list[Line] = [()]
        for glyph, count in sorted(counts.items(), key=lambda item: -item[1]):
            entry = (self.session.glyphs.span(glyph), Span(f" {glyph.name} {count:,}   "))
            if width(rows[-1]) + width(entry) - 3 > cells:
                rows.append(())
            rows[-1] = (*rows[-1], *entry)
        return [cut(each, cells) for each in rows[:lines]]

    def _counts(self) -> Counter[Glyph]:
        known = self.lens, self._page, self._states, self._looked_at
        if self._counted[0] != known:
            counts: Counter[Glyph] = Counter()
            for facts, count in Counter(zip(self._states, self._looked_at, strict=True)).items():
                counts[self._glyph_of(facts)] += count
            self._counted = known, counts
        return self._counted[1]

    def description(self, index: int) -> Line:
        """The node under the cursor, in one line."""
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
