"""Rows under a cursor: choices, files on a node; and the header and the rows of a table as lines.

The rows of a table fit its columns into the available width, and are kept until they change.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from engine.views.log.reader import Kept
from tui.textual.views import CursorView, RowsView, drawn, refresh_changes, row_bindings, strip_of
from tui.viewmodels.text import Role, Span, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual import events
    from textual.strip import Strip

    from tui.textual.views import Look
    from tui.viewmodels.file_browser import TreeModel
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.text import ItemRef, Line


class Choices(CursorView):
    """Numbered groups of lines, one of which is under the cursor. A negative number cannot be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "up", show=False, id="choices.up"),
        Binding("down,j", "cursor(1)", "down", show=False, id="choices.down"),
        Binding("enter", "choose", "go there", id="choices.open"),
    ]

    @dataclass
    class Chosen(Message):
        """The group with this number was chosen."""

        number: int

    @dataclass
    class Moved(Message):
        """The cursor was moved to the group with this number."""

        number: int

    POINTER_CELLS = 2  # before every line

    def __init__(self, pointer: str, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """There are no lines until ``show``; ``pointer`` is drawn before those under the cursor."""
        super().__init__(id=id)
        self.pointer = pointer
        self._lines: list[tuple[int, Line]] = []
        self.number = 0
        self.is_driven = False  # True: the cursor is drawn and moved while an input has the focus

    def show(self, lines: Sequence[tuple[int, Line]]) -> None:
        """Show these lines, each with the number of its group."""
        before, self._lines = self._lines, list(lines)
        if before == self._lines:
            return
        groups = self._groups()
        if self.number not in groups:
            self.number = groups[0] if groups else -1
            self.refresh()
        self.virtual_size = Size(self.size.width, len(self._lines))
        refresh_changes(self, before, self._lines, self.top_line)

    def _groups(self) -> list[int]:
        return list(dict.fromkeys(number for number, _ in self._lines if number >= 0))

    def render_line(self, y: int) -> Strip:
        at = y + self.top_line
        if at >= len(self._lines):
            return strip_of(self, ())
        number, spans = self._lines[at]
        is_cursor = (self.has_focus or self.is_driven) and number == self.number and number >= 0
        pointer = Span(f"{self.pointer} " if is_cursor else "  ", Role.STRONG)
        return strip_of(self, (pointer, *spans), is_cursor=is_cursor)

    def action_cursor(self, by: int) -> None:
        """Move the cursor to the next or previous group."""
        groups = self._groups()
        if self.number in groups:
            self._move_to(groups[max(0, min(groups.index(self.number) + by, len(groups) - 1))])

    def to_first(self) -> None:
        """Move the cursor to the first group."""
        for number in self._groups()[:1]:
            self._move_to(number)

    def _move_to(self, number: int) -> None:
        self.number = number
        lines = [at for at, (each, _) in enumerate(self._lines) if each == number]
        self.scroll_into_view(lines[0], lines[-1])
        self.refresh()
        self.post_message(self.Moved(number))

    @property
    def chosen(self) -> int | None:
        """The number of the group under the cursor, None if there is nothing to choose."""
        return self.number if self.number >= 0 and self._lines else None

    def action_choose(self) -> None:
        """Choose the group under the cursor."""
        if self.chosen is not None:
            self.post_message(self.Chosen(self.chosen))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the group under the mouse; choose it on a double click."""
        place = self.place_of(event)
        if place is not None and place.y < len(self._lines) and self._lines[place.y][0] >= 0:
            self._move_to(self._lines[place.y][0])
            if event.chain > 1:
                self.action_choose()


_POINTER_CELLS = 2


class FileTree(RowsView):
    """Directories and files. The row under the cursor stays highlighted while another pane has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *row_bindings("tree"),
        Binding("enter,right", "open", "open the directory, read the file", id="tree.open"),
        Binding("left", "close", "close the directory, or go up to it", id="tree.close"),
    ]

    class Moved(Message):
        """The cursor was moved, or the row under it has changed."""

    @dataclass
    class Opened(Message):
        """The row under the cursor is to be opened; with ``toggles`` an open directory is to be closed."""

        toggles: bool

    def __init__(self, model: TreeModel) -> None:
        super().__init__(id="file-tree")
        self.model = model

    @property
    def row_count(self) -> int:
        return len(self.model.rows)

    @property
    def cursor_row(self) -> int:
        return self.model.at

    def update(self) -> None:
        """Draw the rows of the model, with the cursor in view."""
        size = Size(self.size.width, self.row_count)
        if self.virtual_size != size:
            self.virtual_size = size
        self.scroll_into_view(self.cursor_row)
        self.refresh()

    @property
    def visible_lines(self) -> int:
        return max(1, self.size.height)

    def render_line(self, y: int) -> Strip:
        row = y + self.top_line
        if row >= self.row_count:
            return strip_of(self, ())
        is_cursor = row == self.cursor_row
        pointer = Span(f"{self.model.pointer if is_cursor and self.has_focus else ' '} ", Role.STRONG)
        return strip_of(self, (pointer, *self.model.line(row, self.size.width - _POINTER_CELLS)), is_cursor=is_cursor)

    def move_to(self, row: int) -> None:
        """Move the cursor to a row."""
        self.model.move_to(row)
        self.update()
        self.post_message(self.Moved())

    def action_open(self) -> None:
        """Open the directory under the cursor, or read the file."""
        self.post_message(self.Opened(toggles=False))

    def action_close(self) -> None:
        """Close the directory under the cursor, or go up to the one that contains it."""
        self.model.close()
        self.move_to(self.cursor_row)

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the row under the mouse; if it is there already, open or close the row."""
        place = self.place_of(event)
        if place is None or place.y >= self.row_count:
            return
        was_there = place.y == self.cursor_row
        self.move_to(place.y)
        if was_there:
            self.post_message(self.Opened(toggles=True))


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
        self._model = model
        self._kept: Mapping[int, TableRow] = {}  # by key: a row that has moved is neither laid out nor drawn again
        self._kept_with: tuple[list[tuple[int, int]], set[ItemRef]] = ([], set())  # columns and marks
        self._head: Kept[TableRow] = Kept()
        self._needs: tuple[object, list[int]] = (None, [])  # for which list and size, and cells by column

    def columns(self, width: int) -> list[tuple[int, int]]:
        """Return index and width of each visible column. Two cells before them are for pointer and mark."""
        needs = self._needs[1]
        return self._model.layout(width - MARGIN, needs if any(needs) else None)

    @property
    def natural_width(self) -> int:
        """The width in which all columns have room, with pointer and mark; 0 before anything was laid out."""
        needs = self._needs[1]
        return self._model.natural_width(needs) + MARGIN if any(needs) else 0

    def hidden_columns(self, width: int) -> int:
        """Return the number of columns that have no room."""
        return self._model.hidden_columns(self.columns(width))

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
            if row is not None and row.cells is cells:
                continue
            for at, span in enumerate(cells):
                if row is None or row.cells[at] is not span:
                    text = span.text
                    needs[at] = max(needs[at], len(text) if text.isascii() else cell_len(text))
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
        return self._head.get(decides, lambda: self._new_header(columns))

    def _new_header(self, columns: list[tuple[int, int]]) -> TableRow:
        model, glyphs, spans = self._model, self._model.session.glyphs, [Span("  ")]
        for index, cells_wide in columns:
            column = model.columns[index]
            is_sorted = bool(column.name) and column.name == model.sort_column
            arrow = (glyphs.down if model.is_descending else glyphs.up) if is_sorted else ""
            text = column.head(cells_wide, arrow)
            spans.append(Span(text + " ", Role.DERIVED if column.is_derived else Role.DIM, is_underlined=False))
        return TableRow(tuple(spans))
