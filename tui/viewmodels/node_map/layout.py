"""The forms in which the nodes of a pool are drawn, from a card each to a cell for many, and the choice among them."""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

_CARD_CELLS, _CARD_BEST_CELLS = 26, 48  # narrowest card, and the width from which on it gains nothing
_CARD_LINES, FRAMED_LINES = 3, 5  # lowest card, and lowest card with a frame
MOST_CARDS = 32
_LINE_CELLS, _LINE_BEST_CELLS = 20, 64
_GAP = 2  # cells between cards, and between columns of lines
_GROUPS = (
    2,
    3,
    4,
    5,
    6,
    8,
    *(size * factor for factor in (1, 10, 100) for size in (10, 12, 15, 20, 25, 30, 40, 50, 80)),
)


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
        *(_symbols(count, cells, pitch) for pitch in (2, 1)),
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


def _symbols(count: int, cells: int, pitch: int, nodes: int = 1) -> Layout:
    label = len(f"{max(0, count - 1):,}") + 2
    step = 10 if nodes == 1 else 5
    columns = max(step, (cells - label) // pitch // step * step)
    return Layout(Form.CELL if nodes == 1 else Form.GROUP, columns, pitch, nodes=nodes, label=label)
