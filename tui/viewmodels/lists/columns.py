"""The columns of a list: the user chooses them, and their widths are laid out."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from engine.views.log.reader import Kept
from tui.viewmodels.text import Role, Span, fit, heading, shown, squeeze

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from enum import Enum

    from engine.base.errors import FailureInfo


RowT = TypeVar("RowT")
OtherT = TypeVar("OtherT")


@lru_cache(maxsize=4096)
def _plain_span(text: str) -> Span:
    """Return the span of a text; many cells say the same."""
    return Span(shown(text))


def as_span(cell: Span | str) -> Span:
    """Return the span of a cell, with its text as it is shown."""
    if not isinstance(cell, Span):
        return _plain_span(cell)
    return cell if cell.text.isprintable() else cell._replace(text=shown(cell.text))


class Column(NamedTuple, Generic[RowT]):
    """A column: its head, its widths, and what it shows of a row.

    Where not all columns have room, that with the highest ``from_width`` is left out first. Columns with a ``least``
    width shrink to it before any column is left out. ``stretch`` takes cells that remain, as far as its texts need
    them.

    A list is filtered and sorted by the texts of the cells, or by ``texts``, which are made together or have more names
    of the row. The ``key`` names the value behind the cell in the engine, which groups and sorts many rows by it.
    """

    name: str
    width: int
    help_text: str = ""  # one sentence; for a derived column, how it is computed
    cell: Callable[[RowT], Span | str] = lambda _: ""
    from_width: int = 0
    is_right: bool = False
    is_derived: bool = False
    stretch: bool = False
    least: int = 0  # 0: always ``width``
    is_id: bool = False  # cut in the middle where it is too long
    is_name: bool = False  # a filter on it matches whole names only
    is_whole: bool = False  # a number or a time, which says nothing once it is cut; its head may be cut to a word
    short: str = ""  # its head where there is no room for the name
    words: tuple[str, ...] = ()  # its texts, among which a filter also looks for a word without a field
    changes: Callable[[RowT], bool] | None = None  # whether the cell changes while only time goes by
    texts: Callable[[Sequence[int]], Sequence[str]] | None = None
    key: Enum | None = None

    def showing(self, cell: Callable[[OtherT], Span | str], key: Enum | None = None) -> Column[OtherT]:
        """Return the column with cells of other rows, and the key of their value."""
        return cast("Column[OtherT]", self._replace(cell=cast("Any", cell), key=key))

    def span(self, row: RowT) -> Span:
        """Return the cell of a row."""
        return as_span(self.cell(row))

    def head(self, cells: int, sign: str = "") -> str:
        """Return the head with its ``sign`` in exactly ``cells``."""
        name = self.short if self.short and len(self.name) + len(sign) > cells else self.name
        return fit(heading(name, cells, sign), cells, right=self.is_right)

    def has_word(self, value: str) -> bool:
        """Return whether a word of a filter, perhaps with ``*``, can be one of the column's, or their beginning."""
        begin = value.partition("*")[0]
        return any(each.startswith(begin) for text in self.words for each in (text, *text.split()))

    def fitted(self, text: str, cells: int) -> str:
        """Return the text of a cell in exactly ``cells``."""
        if len(text) <= cells and text.isascii():  # so are most texts
            return text.rjust(cells) if self.is_right else text.ljust(cells)
        return fit(squeeze(text, cells) if self.is_id else text, cells, right=self.is_right)


# Columns of tasks, and of preparation and release.
RESULTS = {"success": "success succeeded", "failure": "failure failed"}
"""Results as the lists name them, with the words of the counts above the lists."""
_OF_NODE = "the node's index in its pool, as in scenarios; a filter also finds its id"
_OF_EXIT = "exit code of the process; empty while it runs"
NODE: Column[Any] = Column("Node", 6, _OF_NODE, is_name=True)
RESULT: Column[Any] = Column("Result", 8, "success or failure, once completed", least=7, words=tuple(RESULTS.values()))
START: Column[Any] = Column("Start time", 10, "when it last started", least=8, is_whole=True)
END: Column[Any] = Column("End time", 10, "when it ended", least=8, is_whole=True)
EXIT_CODE: Column[Any] = Column("Exit code", 9, _OF_EXIT, is_whole=True, short="Exit code")
RETRIES: Column[Any] = Column("Retries", 7, "runs repeated after a failure")
DURATION: Column[Any] = Column(
    "Duration", 9, "end time minus start time, or time since the start", is_derived=True, is_whole=True
)
FAILURE_CATEGORY: Column[Any] = Column("Failure category", 16, "user error or server error")
FAILURE_CODE: Column[Any] = Column("Failure code", 20, "the service's code for the failure")
NODE_SIZE: Column[Any] = Column("Node size", 16, "the size of the virtual machines")
NODE_ID: Column[Any] = Column("Node ID", 24, "the service's id of the node", is_id=True)


def exit_code(code: int | None) -> Span:
    """Return the cell of an exit code; empty for None."""
    return Span("" if code is None else str(code), Role.FAILED if code else Role.PLAIN)


def if_any(number: int) -> str:
    """Return a number as text; empty for 0."""
    return f"{number:,}" if number else ""


def failure_category(failure: FailureInfo | None) -> str:
    """Return the category of a failure as text."""
    return failure.category.value if failure else ""


def failure_code(failure: FailureInfo | None) -> Span:
    """Return the cell of the code of a failure."""
    return Span(failure.code if failure else "", Role.FAILED)


class ColumnsModel:
    """The columns of one list, of which the user may choose some."""

    columns: tuple[Column[Any], ...]
    identity: ClassVar[int] = 1  # the column that identifies the row

    def __init__(self) -> None:
        """Start without a choice: the available width decides."""
        self.chosen_columns: frozenset[str] | None = None
        self._usual_columns, self._extra_columns = tuple(self.usual_columns()), tuple(self.extra_columns())
        self.columns = (*self._usual_columns, *self._extra_columns)
        named = (column.name for at, column in enumerate(self._usual_columns) if at != self.identity)
        self._usual = frozenset(filter(None, named))
        self._layout: Kept[list[tuple[int, int]]] = Kept()

    def usual_columns(self) -> Iterable[Column[Any]]:
        """Return the columns that are shown unless others were chosen."""
        return self.columns

    def extra_columns(self) -> Iterable[Column[Any]]:
        """Return the columns that are shown only if they were chosen."""
        return ()

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns; the glyph's is empty."""
        return tuple(column.name for column in self.columns)

    @property
    def named_columns(self) -> tuple[Column[Any], ...]:
        """The columns that can be hidden: all but the glyph and the one that identifies the row."""
        return tuple(each for at, each in enumerate(self.columns) if each.name and at != self.identity)

    def shown_names(self) -> frozenset[str]:
        """Return the columns that are shown if there is room for them."""
        return self._usual if self.chosen_columns is None else self.chosen_columns

    def toggle_column(self, name: str) -> None:
        """Show or hide a column."""
        self.chosen_columns = self.shown_names() ^ {name}

    def layout(self, width: int, needs: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """Return index and width of each column shown in ``width`` cells.

        Args:
            width: The cells that there are.
            needs: For each column the cells of its longest text; None if they are not known.
        """
        asked = width, None if needs is None else tuple(needs), self.chosen_columns
        return self._layout.get(asked, lambda: self._laid_out(width, needs))

    def _laid_out(self, width: int, needs: Sequence[int] | None) -> list[tuple[int, int]]:
        has_chosen = self.chosen_columns is not None
        columns = [(at, column._replace(from_width=0) if has_chosen else column) for at, column in self._in_choice()]
        known = None if needs is None else [needs[at] for at, _ in columns]
        return [(columns[at][0], cells) for at, cells in layout([column for _, column in columns], width, known)]

    def _in_choice(self) -> list[tuple[int, Column[Any]]]:
        """Return the columns that are shown if there is room for them, with their indices."""
        shown, named = self.shown_names() | {""}, enumerate(self.columns)
        return [(at, column) for at, column in named if column.name in shown or at == self.identity]

    def natural_width(self, needs: Sequence[int]) -> int:
        """Return the cells in which all columns and their texts have room, with a gap after each."""
        columns = self._in_choice()
        return sum(_best(columns, [needs[at] for at, _ in columns])) + _GAP * len(columns)

    def hidden_columns(self, shown: Sequence[tuple[int, int]]) -> int:
        """Return the number of columns that would be shown if there were room."""
        seen, names = {at for at, _ in shown}, self.shown_names()
        return sum(column.name in names and at not in seen for at, column in enumerate(self.columns))


_GAP, _MOST_GAP = 2, 4  # cells between columns where there is room
_NAME_SHARE = 4  # a row's name is whole up to this part of the width
_LUXURY = 100  # columns from this width on give way before the heads of others are cut


def _first_word(column: Column[Any]) -> int:
    return len(column.short or column.name.replace("/", " ").split(" ")[0])


def _best(columns: Sequence[tuple[int, Column[Any]]], needs: Sequence[int] | None) -> list[int]:
    """Return the widths in which heads and texts have room."""
    return [_best_width(column, None if needs is None else needs[at]) for at, (_, column) in enumerate(columns)]


def _best_width(column: Column[Any], need: int | None) -> int:
    if need is None:
        return max(column.width, len(column.name))
    most = need if column.stretch or column.is_id or column.is_whole else min(need, max(column.width, len(column.name)))
    return max(1, len(column.name), most)


def layout(columns: Sequence[Column[Any]], width: int, needs: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """Return index and width of the columns that fit into ``width`` cells, with at least one cell between them."""
    chosen = list(enumerate(columns))
    best = dict(enumerate(_best(chosen, needs)))
    least = {at: min(best[at], column.least or (column.width if needs is None else best[at])) for at, column in chosen}
    if needs is not None:
        least |= {at: min(best[at], column.least or column.width) for at, column in chosen if column.is_id}
        # Columns that matter less give way before the names of the rows are cut, if these are not very long.
        names = (at for at, column in chosen if column.is_id and column.stretch)
        least |= {at: min(best[at], max(least[at], width // _NAME_SHARE)) for at in names}
        least |= {at: min(best[at], max(needs[at], _first_word(column))) for at, column in chosen if column.is_whole}
    named = {at: max(least[at], min(best[at], len(column.name))) for at, column in chosen}
    while len(chosen) > 2:
        last = max(range(len(chosen)), key=lambda place: (chosen[place][1].from_width, place))
        is_luxury = needs is not None and chosen[last][1].from_width >= _LUXURY
        if sum((named if is_luxury else least)[at] + 1 for at, _ in chosen) <= width:
            break
        del chosen[last]
    widths = [best[at] for at, _ in chosen]
    for floor in (named, least):  # texts give way before heads do
        slack = [cells - floor[at] for cells, (at, _) in zip(widths, chosen, strict=True)]
        while sum(widths) + len(widths) > width and any(slack):
            widest = slack.index(max(slack))
            widths[widest] -= 1
            slack[widest] -= 1
    left = width - sum(widths) - len(widths)
    if left > 0 and needs is None:
        stretched = next((place for place, (_, column) in enumerate(chosen) if column.stretch), None)
        widths = [cells + (left if place == stretched else 0) for place, cells in enumerate(widths)]
    elif left > 0:
        wider = min(_MOST_GAP - 1, left // max(1, len(widths) - 1))
        widths = [cells + (wider if columns[at].name else 0) for cells, (at, _) in zip(widths, chosen, strict=True)]
    return [(at, max(1, cells)) for cells, (at, _) in zip(widths, chosen, strict=True)]
