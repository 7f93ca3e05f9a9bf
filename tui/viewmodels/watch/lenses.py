"""The forms, lenses and legend of the node map.

A lens is the property of each node that the map shows, and its glyphs. The nodes of a pool are drawn in one of several
forms, from a card each to a cell for many. The legend has entries with counts, laid out in lines.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from engine.views.resources.nodes import hooks_in, state_in
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import NODE, PREPARATION, RELEASE, Glyph, phase_glyph
from tui.viewmodels.text import Line, Role, Span, as_fits, cut, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.resources.jobs import JobRow
    from engine.views.resources.nodes import NodePage
    from tui.viewmodels.glyphs import GlyphSet


_CARD_CELLS, _CARD_BEST_CELLS = 26, 48  # narrowest card, and the width from which on it gains nothing
_CARD_LINES = 3  # lowest card
MOST_CARDS = 32
_LINE_CELLS, _LINE_BEST_CELLS = 20, 64
_GAP = 2  # cells between cards, and between columns of lines
_ROUND = 10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90
_GROUPS = (*range(2, 10), *(size * factor for factor in (1, 10, 100) for size in _ROUND))


class Form(Enum):
    """The ways to draw nodes, the richest first."""

    CARD = auto()  # a card for each node
    LINE = auto()  # a line of words
    NAME = auto()  # a name beside its symbol
    CELL = auto()  # a symbol
    GROUP = auto()  # a symbol for several nodes


class Layout(NamedTuple):
    """The places of nodes on the screen: units in rows, each so many cells wide and lines high.

    ``nodes`` is the number of nodes in a unit, ``label`` the cells before each row.
    """

    form: Form
    columns: int
    cells: int
    lines: int = 1
    nodes: int = 1
    label: int = 0

    @property
    def gap(self) -> int:
        """The cells between two units."""
        return _GAP if self.form in (Form.CARD, Form.LINE) else 0

    def units(self, count: int) -> int:
        """Return the number of units for so many nodes."""
        return -(-count // self.nodes)

    def rows(self, count: int) -> int:
        """Return the number of rows for so many nodes."""
        return -(-self.units(count) // self.columns)

    def height(self, count: int) -> int:
        """Return the number of lines that so many nodes take."""
        return self.rows(count) * self.lines


class Needs(NamedTuple):
    """The sizes of what there is to show: lines of a card with all that matters and at most, cells of a name."""

    card: int
    card_most: int
    name: int


@lru_cache(maxsize=256)
def layout_for(count: int, cells: int, lines: int, needs: Needs) -> Layout:
    """Return the richest form in which so many nodes fit; the smallest cells stand for as many nodes as they must."""
    cells, lines = max(10, cells), max(1, lines)
    for found in (
        _cards(count, cells, lines, needs),
        _in_words(count, cells, lines),
        _names(count, cells, lines, needs),
        *(_symbols(count, cells, pitch, step=step) for pitch, step in ((2, 10), (1, 10), (1, 5))),
    ):
        if found is not None and found.height(count) <= lines:
            return found
    return next(
        (group for size in _GROUPS if (group := _symbols(count, cells, 1, size)).height(count) <= lines),
        _symbols(count, cells, 1, _GROUPS[-1]),
    )


def _cards(count: int, cells: int, lines: int, needs: Needs) -> Layout | None:
    """Return the cards that show most; None if they would be too small."""
    best, most = None, 0
    for columns in range(1, min(count, MOST_CARDS) + 1) if count <= MOST_CARDS else ():
        width = (cells + _GAP) // columns - _GAP
        height = min(lines // -(-count // columns), needs.card_most)
        if width < _CARD_CELLS or height < min(_CARD_LINES, needs.card):
            continue
        shown = min(height, needs.card) * min(width, _CARD_BEST_CELLS)
        if shown > most:
            best, most = Layout(Form.CARD, columns, width, height), shown
    return best


def _in_words(count: int, cells: int, lines: int) -> Layout | None:
    columns = -(-count // lines)
    width = (cells + _GAP) // columns - _GAP if columns else 0
    if not columns or width < _LINE_CELLS:
        return None
    wider = (cells + _GAP) // (_LINE_BEST_CELLS + _GAP)
    columns = max(columns, min(wider, count))
    return Layout(Form.LINE, columns, (cells + _GAP) // columns - _GAP)


def _names(count: int, cells: int, lines: int, needs: Needs) -> Layout | None:
    """Return cells with a symbol, a name, a mark and a gap, in as few rows as the lines allow."""
    columns = cells // (needs.name + 3)
    if not columns:
        return None
    columns = min(columns, max(1, count))
    return Layout(Form.NAME, columns, cells // columns if count >= columns * lines // 2 else needs.name + 3)


def _symbols(count: int, cells: int, pitch: int, nodes: int = 1, step: int = 5) -> Layout:
    label = len(f"{max(0, count - 1):,}") + 2
    columns = max(step, (cells - label) // pitch // step * step)
    return Layout(Form.CELL if nodes == 1 else Form.GROUP, columns, pitch, nodes=nodes, label=label)


class Lens(Enum):
    """A property that the map can show; the value is its name on the screen."""

    STATE = "node state"
    PHASE = "job phase"


LENSES = tuple(Lens)
# Roles of states in which preparation and release have to wait: the lens of phases shows the state instead.
_OUT_OF_PHASE = (Role.FAILED, Role.TRANSITION, Role.OFF, Role.PREEMPTED)


def first_lens(job: JobRow | None) -> Lens:
    """Return the lens until the user chooses one: a job without preparation has no phases that a node could be in."""
    return Lens.PHASE if job is not None and job.phases.preparation.is_specified else Lens.STATE


def facts_of(lens: Lens, page: NodePage) -> bytes:
    """Return the property of each of the page's nodes as a number."""
    return page.all_hooks() if lens is Lens.PHASE else bytes(len(page.nodes()))


def glyph_for(lens: Lens, state: int, fact: int) -> Glyph:
    """Return the glyph of a node from its state and the lens's property."""
    node_state = state_in(state)
    glyph = NODE[node_state]
    if node_state is None or lens is Lens.STATE or glyph.role in _OUT_OF_PHASE:
        return glyph
    return phase_glyph(*hooks_in(fact))


def severity_of(glyph: Glyph) -> tuple[bool, int]:
    """Return the sort key by which the worst of several glyphs is the highest one."""
    return glyph.role is Role.FAILED, _RANKS[glyph]


_RANKED = (*PREPARATION.values(), *RELEASE.values(), *NODE.values())
_RANKS = {glyph: rank for rank, glyph in enumerate(_RANKED)}


def rank_of(glyph: Glyph) -> tuple[bool, int]:
    """Return the sort key of a glyph in the legend: failures first, then in the order of the state tables."""
    return glyph.role is not Role.FAILED, _RANKS[glyph]


_ENTRY_GAP = "   "


def legend(counts: Sequence[tuple[Glyph, int]], glyphs: GlyphSet, cells: int, most_lines: int = 0) -> list[Line]:
    """Return each glyph with its name and number of nodes, in as many lines as needed.

    If they are more than ``most_lines``, the last one of these ends with the number of the others.
    """
    parts: list[Line] = [
        (glyphs.span(glyph), Span(f" {glyph.name} {count:,}"), Span(_ENTRY_GAP)) for glyph, count in counts
    ]
    starts, room = list[int](), 0  # the first entry of each line, and the cells that are left in the last one
    for at, part in enumerate(parts):
        if not starts or width(part[:-1]) > room:
            starts.append(at)
            room = cells
        room -= width(part)

    def others(first: int) -> str:
        numbers = [count for _, count in counts[starts[-1] + first :]]
        return f"+{len(numbers):,} more, {fmt.counted(sum(numbers), 'node')}"

    if most_lines:
        starts = starts[:most_lines]
    whole = [cut(tuple(chain.from_iterable(parts[at:stop])), cells) for at, stop in pairwise(starts)]
    return [*whole, as_fits(parts[starts[-1] :], cells, others)] if starts else []
