"""The columns of a list: the choice of columns, and their widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tui.viewmodels.text.styled import fit, squeeze

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Column(NamedTuple):
    """A column. It is left out if the list is narrower than ``from_width``; ``stretch`` takes the cells that remain.

    Columns with a ``least`` width shrink to it before any column is left out for want of room. A column that
    ``is_extra`` is shown only if it was chosen.
    """

    name: str
    width: int
    help_text: str = ""  # one sentence; for a derived column, how it is computed
    from_width: int = 0
    is_right: bool = False
    is_derived: bool = False
    stretch: bool = False
    is_extra: bool = False
    least: int = 0  # 0: always ``width``
    is_id: bool = False  # cut in the middle where it is too long
    is_name: bool = False  # a filter on it matches whole names only

    def fitted(self, text: str, cells: int) -> str:
        """Return the text of a cell in exactly ``cells``."""
        return fit(squeeze(text, cells) if self.is_id else text, cells, right=self.is_right)


class ColumnsModel:
    """The columns of one list, of which the user may choose some."""

    columns: ClassVar[tuple[Column, ...]]
    identity: ClassVar[int] = 1  # the column that identifies the row

    def __init__(self) -> None:
        """Start without a choice: the available width decides."""
        self.chosen_columns: frozenset[str] | None = None

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns; the glyph's is empty."""
        return tuple(column.name for column in self.columns)

    @property
    def named_columns(self) -> tuple[Column, ...]:
        """The columns that can be hidden: all but the glyph and the one that identifies the row."""
        return tuple(each for at, each in enumerate(self.columns) if each.name and at != self.identity)

    def shown_names(self) -> frozenset[str]:
        """Return the columns that are shown if there is room for them."""
        if self.chosen_columns is not None:
            return self.chosen_columns
        return frozenset(column.name for column in self.named_columns if not column.is_extra)

    def toggle_column(self, name: str) -> None:
        """Show or hide a column."""
        self.chosen_columns = self.shown_names() ^ {name}

    def show_columns(self, asked: Mapping[str, bool]) -> None:
        """Show some columns and hide others."""
        for name, is_wanted in asked.items():
            if (name in self.shown_names()) is not is_wanted and any(name == each.name for each in self.named_columns):
                self.toggle_column(name)

    def layout(self, width: int) -> list[tuple[int, int]]:
        """Return index and width of each column shown in ``width`` cells."""
        shown, has_chosen = self.shown_names(), self.chosen_columns is not None
        columns = [
            (at, column._replace(from_width=0) if has_chosen else column)
            for at, column in enumerate(self.columns)
            if column.name in shown or not column.name or at == self.identity
        ]
        return [(columns[at][0], cells) for at, cells in layout([column for _, column in columns], width)]


def layout(columns: Sequence[Column], width: int) -> list[tuple[int, int]]:
    """Return index and width of the columns that fit into ``width`` cells, with one cell between them."""
    chosen = [(index, column) for index, column in enumerate(columns) if width >= column.from_width]
    while len(chosen) > 2 and sum((column.least or column.width) + 1 for _, column in chosen) > width:
        droppable = max(range(len(chosen)), key=lambda at: (chosen[at][1].from_width, at))
        del chosen[droppable]
    widths = [column.width for _, column in chosen]
    slack = [column.width - (column.least or column.width) for _, column in chosen]
    while (left := width - sum(widths) - len(widths)) < 0 and any(slack):
        widest = slack.index(max(slack))
        widths[widest] -= 1
        slack[widest] -= 1
    stretched = next((at for at, (_, column) in enumerate(chosen) if column.stretch), None)
    return [
        (index, max(1, cells + (left if at == stretched else 0)))
        for at, ((index, _), cells) in enumerate(zip(chosen, widths, strict=True))
    ]
