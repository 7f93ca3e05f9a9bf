"""The lines of the node map: rows of cards, of words, of names, of symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import NodeState
from tui.viewmodels.node_map.cards import Cards
from tui.viewmodels.node_map.layout import Form
from tui.viewmodels.node_map.lenses import Lens, slots_glyph
from tui.viewmodels.text.glyphs import NODE
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, cut, fit, merged, width

if TYPE_CHECKING:
    from tui.viewmodels.node_map.layout import Layout
    from tui.viewmodels.node_map.model import NodeMapModel
    from tui.viewmodels.text.glyphs import Glyph

_QUIET = (Role.QUIET, Role.RUNNING, Role.OK)  # names are dim in these roles, so that trouble stands out


class MapLines:
    """Draws the rows of the map, and keeps those whose input is still the same."""

    def __init__(self, model: NodeMapModel) -> None:
        self._model = model
        self._cards = Cards(model)
        self._kept: dict[int, tuple[object, Line]] = {}  # by row: its input, and its line
        self._rows: tuple[object, list[Line]] = (None, [])  # drawn last

    def rows(self, rows: range, layout: Layout, cursor: int | None, cells: int) -> list[Line]:
        """Return the lines of these rows, cut to ``cells``; the same ones while all they show is the same.

        Cards and words tell also what changes with every task.
        """
        model = self._model
        looks = model.changes, rows, layout, cursor, cells, model.only, model.session.glyphs, tuple(model.session.marks)
        if layout.form in (Form.CARD, Form.LINE) or self._rows[0] != looks:
            lines = [cut(line, cells) for number in rows for line in self.row(number, layout, cursor)]
            self._rows = looks, lines
        return self._rows[1]

    def row(self, number: int, layout: Layout, cursor: int | None) -> list[Line]:
        """Return the lines of a row. ``cursor`` is the index of the node under the cursor, None without the focus."""
        count = len(self._model.nodes)
        unit = layout.nodes
        firsts = range(number * layout.columns * unit, min(count, (number + 1) * layout.columns * unit), unit)
        if not firsts:
            return [()] * layout.lines
        at = None if cursor is None else cursor // unit * unit
        if layout.form is Form.CARD:
            cards = [self._cards.card(first, layout.cells, layout.lines, is_cursor=first == at) for first in firsts]
            return [_beside([card[y] for card in cards], layout) for y in range(layout.lines)]
        if layout.form is Form.LINE:
            words = [self._cards.line(first, layout.cells, is_cursor=first == at) for first in firsts]
            return [_beside(words, layout)]
        return [self._symbols(number, firsts, layout, at)]

    def _symbols(self, number: int, firsts: range, layout: Layout, cursor: int | None) -> Line:
        """Return a row of names or symbols, drawn anew only if it has changed."""
        model = self._model
        here = slice(firsts.start, firsts[-1] + layout.nodes)
        nodes, marks, lens = model.nodes[here], model.session.marks, model.lens
        looks = (
            (lens, model.only, layout, model.session.glyphs.ascii_only, firsts, nodes),
            ([model.glyphs[code] for code in sorted(set(model.codes[here]))], model.codes[here]),
            model.facts[here] if lens is Lens.SLOTS else None,
            bytes(map(model.page.is_enabled, nodes)) if layout.nodes == 1 else None,
            cursor if cursor in firsts else None,
            [ItemRef("node", node) in marks for node in nodes] if marks else None,
        )
        known = self._kept.get(number)
        if known is None or known[0] != looks:
            draw = {Form.NAME: self._name, Form.CELL: self._cell, Form.GROUP: self._group}[layout.form]
            label = Span(f"{model.position(firsts.start):>{layout.label - 1},} " if layout.label else "", Role.DIM)
            spans = [span for first in firsts for span in draw(first, layout, is_cursor=first == cursor)]
            known = self._kept[number] = looks, tuple(merged([label, *spans]))
        return known[1]

    def _name(self, index: int, layout: Layout, *, is_cursor: bool) -> list[Span]:
        """Return a symbol, the node's name, and its mark."""
        model, glyph = self._model, self._model.glyph(index)
        symbol, mark = self._signs(index, is_cursor=is_cursor)
        role = model.role(glyph) if glyph.role not in _QUIET else Role.DIM
        name = fit(f"n{model.position(index)}{mark.text.strip()}", layout.cells - 1)
        return [symbol, Span(name, Role.STRONG if is_cursor else role)]

    def _cell(self, index: int, layout: Layout, *, is_cursor: bool) -> list[Span]:
        symbol, mark = self._signs(index, is_cursor=is_cursor)
        return [symbol, mark] if layout.cells > 1 else [symbol]

    def _signs(self, index: int, *, is_cursor: bool) -> tuple[Span, Span]:
        """Return a node's symbol, and the sign beside it: disabled scheduling, or a Spot node."""
        model, node, glyph = self._model, self._model.nodes[index], self._model.glyph(index)
        is_disabled = not model.page.is_enabled(node)
        text = "*" if model.is_marked(node) else model.session.glyphs.of(glyph)
        mark = "-" if is_disabled else " " if model.page.is_dedicated(node) else model.session.glyphs.spot
        role = model.role(glyph)
        symbol = Span(text, role, is_fill=is_cursor, is_underlined=is_disabled)
        return symbol, Span(mark, role if mark.strip() else Role.PLAIN)

    def _group(self, first: int, layout: Layout, *, is_cursor: bool) -> list[Span]:
        """Return the symbol of several nodes: filled if half of them or more have failed."""
        model = self._model
        glyph, share = self._shown_of(first, layout.nodes)
        marked = any(map(model.is_marked, model.nodes[first : first + layout.nodes])) if model.session.marks else False
        text = "*" if marked else model.session.glyphs.of(glyph)
        if is_cursor:
            return [Span(text, Role.CURSOR, is_fill=True, is_underlined=True)]
        return [Span(text, model.role(glyph), is_fill=glyph.role is Role.FAILED and share >= 0.5)]

    def _shown_of(self, first: int, count: int) -> tuple[Glyph, float]:
        """Return the glyph that stands for several nodes, and their share: the worst failure, else the most frequent.

        A glyph that the user has chosen comes first, so that nothing of it is hidden.
        """
        model = self._model
        codes = model.codes[first : first + count]
        if model.only is not None and model.only in model.glyphs:
            chosen = codes.count(model.glyphs.index(model.only))
            if chosen:
                return model.only, chosen / len(codes)
        code = max(codes)
        if model.glyphs[code].role is not Role.FAILED:
            code = max(set(codes), key=lambda each: (codes.count(each), each))
            if model.lens is Lens.SLOTS:
                return self._slots_of(first, count), 1.0
            return model.glyphs[code], codes.count(code) / len(codes)
        failed = sum(codes.count(each) for each in set(codes) if model.glyphs[each].role is Role.FAILED)
        return model.glyphs[code], failed / len(codes)

    def _slots_of(self, first: int, count: int) -> Glyph:
        """Return the glyph of the share of slots in use on several nodes; that of their state if none can be used."""
        model, slots = self._model, self._model.page.slots()
        here = range(first, min(first + count, len(model.nodes)))
        usable = [at for at in here if model.glyph(at).role in (Role.RUNNING, Role.QUIET)]
        if not usable:
            return model.glyph(model.worst(first, count))
        used = sum(slots - model.facts[at] for at in usable)
        return slots_glyph(used * 100 // (slots * len(usable)), 100, NODE[NodeState.RUNNING])


def _beside(parts: list[Line], layout: Layout) -> Line:
    """Return the units of a row beside one another."""
    spans: list[Span] = []
    for part in parts:
        if spans:
            spans.append(Span(" " * layout.gap))
        shown = cut(part, layout.cells)
        spans += [*shown, Span(" " * (layout.cells - width(shown)))]
    return tuple(spans)
