"""The header and the rows of a table as lines: columns in the width that there is, and rows kept until they change."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.viewmodels.text.styled import Role, Span, wrapped
from tui.widgets.lines import drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.geometry import Size
    from textual.strip import Strip

    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.text.styled import ItemRef, Line
    from tui.widgets.palette import Look

MARGIN = 2  # cells for pointer and mark
_MARKED, _UNMARKED = Span(" *", Role.STRONG), Span("  ", Role.STRONG)  # after the room for the pointer


class TableRow:
    """A row as it is drawn, without the pointer of the cursor."""

    __slots__ = ("cells", "line", "look", "strip")

    def __init__(self, line: Line, cells: Sequence[Span] = ()) -> None:
        """Show a line that was made of these cells."""
        self.line = line
        self.cells = cells
        self.look: Look | None = None  # in which ``strip`` was drawn
        self.strip: Strip | None = None

    def drawn(self, look: Look) -> Strip:
        """Return the row as it looks; it is drawn again only in another look, wherever it moves."""
        if self.strip is None or self.look != look:
            self.look, self.strip = look, drawn(look, self.line)
        return self.strip


class TableRows:
    """The header and the rows of one list."""

    def __init__(self, model: RowsModel) -> None:
        """Lay out nothing yet."""
        self._model = model
        self._kept: Mapping[int, TableRow] = {}  # by key: a row that has moved is neither laid out nor drawn again
        self._kept_with: tuple[list[tuple[int, int]], set[ItemRef]] = ([], set())  # columns and marks
        self._head: tuple[object, TableRow] = (None, TableRow(()))  # the header, and what decides on it
        self._needs: tuple[object, list[int]] = (None, [])  # for which list and size, and cells by column

    def columns(self, width: int) -> list[tuple[int, int]]:
        """Return index and width of each visible column. Two cells before them are for pointer and mark."""
        needs = self._needs[1]
        return self._model.layout(width - MARGIN, needs if any(needs) else None, self._model.same_columns)

    @property
    def natural_width(self) -> int:
        """The width in which all columns have room, with pointer and mark; 0 before anything was laid out."""
        needs = self._needs[1]
        return self._model.natural_width(needs) + MARGIN if any(needs) else 0

    def same_hidden(self, width: int) -> list[tuple[str, str]]:
        """Return the columns that have no room and the same text in all rows, with this text."""
        model, shown = self._model, {at for at, _ in self.columns(width)}
        names = model.shown_names()
        same = model.same_columns.items()
        return [
            (model.columns[at].name, text) for at, text in same if at not in shown and model.columns[at].name in names
        ]

    def hidden_columns(self, width: int) -> int:
        """Return the number of columns that have no room."""
        return self._model.hidden_columns(self.columns(width), self._model.same_columns)

    def laid_out(self, cells_of: Mapping[int, Sequence[Span]], size: Size) -> Mapping[int, TableRow]:
        """Return the rows with these cells by key. They are kept for the next call, and others are not any more."""
        self._measure(cells_of, size)
        columns, marks = self.columns(size.width), set(self._model.session.marks)
        if (columns, marks) != self._kept_with:
            self._kept_with, self._kept = (columns, marks), {}
        shown_of = itemgetter(*(index for index, _ in columns))
        rows: dict[int, TableRow] = {}
        for key, cells in cells_of.items():
            row = self._kept.get(key)
            if row is None or (row.cells is not cells and shown_of(row.cells) != shown_of(cells)):
                row = self._row(key, cells, columns, row)
            row.cells = cells
            rows[key] = row
        self._kept = rows
        return rows

    def _measure(self, cells_of: Mapping[int, Sequence[Span]], size: Size) -> None:
        """Note the longest text of each column. Columns do not become narrower while the same list is shown."""
        model = self._model
        asked = size, model.session.job_id, model.session.pool_id
        is_known = self._needs[0] == asked
        needs = self._needs[1] if is_known else [0] * len(model.columns)
        for key, cells in cells_of.items():
            row = self._kept.get(key) if is_known else None
            if row is None:
                needs = [max(need, _cells(span)) for need, span in zip(needs, cells, strict=True)]
            elif row.cells is not cells:
                for at, (before, span) in enumerate(zip(row.cells, cells, strict=True)):
                    if span is not before:
                        needs[at] = max(needs[at], _cells(span))
        self._needs = asked, needs

    def row(self, key: int, cells: Sequence[Span], width: int) -> TableRow:
        """Return the row with these cells, in the columns as they are."""
        return self._row(key, cells, self.columns(width))

    def _row(
        self, key: int, cells: Sequence[Span], columns: list[tuple[int, int]], before: TableRow | None = None
    ) -> TableRow:
        """Return a row with these cells; those that are equal are taken from the row ``before`` in the same columns."""
        model = self._model
        marks = model.session.marks
        spans = [_MARKED if marks and model.subject_of(key) in marks else _UNMARKED]
        for at, (index, cells_wide) in enumerate(columns, start=1):
            cell = cells[index]
            if before is not None and before.cells[index] == cell:
                spans.append(before.line[at])
                continue
            text, *looks = cell
            spans.append(Span._make((model.columns[index].fitted(text, cells_wide) + " ", *looks)))
        return TableRow(tuple(spans), cells)

    def below(self, place: int, width: int) -> TableRow:
        """Return what stands in this place below the rows: where there are none, lines that explain why."""
        if self._model.count or not place:
            return TableRow(())
        cells = max(20, width - 4)
        lines = [each for sentence in self._model.nothing_shown() for each in wrapped(sentence, cells)]
        return TableRow((Span("  "), Span(lines[place - 1], Role.DIM)) if place <= len(lines) else ())

    def header(self, width: int) -> TableRow:
        """Return the names of the columns, with a sign at that by which the list is sorted."""
        model, glyphs, columns = self._model, self._model.session.glyphs, self.columns(width)
        decides = columns, model.sort_column, model.is_descending, glyphs.up, glyphs.down
        if self._head[0] == decides:
            return self._head[1]
        spans = [Span("  ")]
        for index, cells_wide in columns:
            column = model.columns[index]
            is_sorted = bool(column.name) and column.name == model.sort_column
            arrow = (glyphs.down if model.is_descending else glyphs.up) if is_sorted else ""
            text = column.head(cells_wide, arrow)
            spans.append(Span(text + " ", Role.DERIVED if column.is_derived else Role.DIM, is_underlined=False))
        self._head = decides, TableRow(tuple(spans))
        return self._head[1]


def _cells(span: Span) -> int:
    text = span.text
    return len(text) if text.isascii() else cell_len(text)
