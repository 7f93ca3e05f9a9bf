"""The base of all lists: their rows, order, filter and cells, and their export as CSV."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from engine.base.values import quoted, visible
from tui.viewmodels.items import files_of, rest_body
from tui.viewmodels.lists.columns import ColumnsModel, RowT
from tui.viewmodels.lists.filters import (
    Filter,
    Judged,
    as_value,
    column_of,
    field_name,
    parse_filter,
    sort_value,
    unknown_field,
)
from tui.viewmodels.lists.order import ShownRows, SlicedSort
from tui.viewmodels.text import WHOLE, Block, ItemRef, Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from engine import Simulation
    from tui.viewmodels.items import FileLocation
    from tui.viewmodels.lists.order import SortValues
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Kind

AT_ONCE = 10_000  # rows that are looked at in a few milliseconds if many are judged together
PIECES = 10  # in which as many rows are looked at as otherwise at once


class RowsModel(ColumnsModel, ABC):
    """The rows of one list. A row is a number that stays the same while the list is open."""

    title: ClassVar[str]
    help_text: str = ""
    kind: ClassVar[Kind | None] = None  # the kind of item in a row
    own_order: ClassVar[str] = "failures first"  # in words
    text_column: ClassVar[str] = ""  # the column with long texts, in which users expect to find a word
    only_order: ClassVar[str] = ""  # why the list is sorted by no column, as a sentence
    at_once: ClassVar[int] = 500  # more rows are filtered and sorted in slices, since the cells of each are made

    def __init__(self, session: Session) -> None:
        self.session = session
        super().__init__()
        self.filter_text = ""
        self.only_failed = False
        self.with_all = False
        self.sort_column: str | None = None
        self.is_descending = False
        self.is_written_out = False  # all columns are computed
        self._shown = ShownRows()

    # -- to be said by each list ---------------------------------------------------------------------------------

    @abstractmethod
    def order(self) -> Sequence[int]:
        """Return all rows as they are now, in the list's own order."""

    @abstractmethod
    def cells(self, key: int) -> tuple[Span, ...]:
        """Return one span for each column."""

    @abstractmethod
    def identity_of(self, key: int) -> str:
        """Return the id of a row, for filters and for copying."""

    def identities_of(self, keys: Sequence[int]) -> Sequence[str]:
        """Return the ids of many rows."""
        return [self.identity_of(key) for key in keys]

    def names_of(self, keys: Sequence[int], word: str) -> Sequence[str]:  # noqa: ARG002  # only nodes have long ids
        """Return the texts in which a word of a filter is looked for: the ids, and other names of the rows."""
        return self.identities_of(keys)

    @abstractmethod
    def empty(self) -> Sequence[str]:
        """Say why there are no rows, and what would add some."""

    def is_failed(self, key: int) -> bool:
        """Return True if ``only failed`` shows the row."""
        return any(span.role is Role.FAILED for span in self.cells(key))

    def details(self, key: int) -> Sequence[Block]:
        """Return the blocks of a row's details."""
        return [Block(self.identity_of(key), tuple(zip(self.column_names, self.cells(key), strict=True)))]

    def summary(self, cells: int = WHOLE) -> Line:  # noqa: ARG002  # most lists have no counts
        """Return a line of counts above the list, what is wrong first; what has no room in ``cells`` is counted."""
        return ()

    def footer(self) -> Sequence[Line]:
        """Return lines below the list that apply to all rows."""
        return ()

    def sentence(self, key: int) -> Line:
        """Return a row in one line, for screens without room for its details."""
        return line(self.identity_of(key))

    def subject_of(self, key: int) -> ItemRef | None:
        """Return the item that actions and questions on a row concern, or None."""
        if self.kind is None:
            return None
        return ItemRef(self.kind, key if self.kind in ("node", "task") else self.identity_of(key))

    def key_in_focus(self) -> int | None:
        """Return the row in focus, on which the cursor is; None in lists whose cursor does not choose the focus."""
        return None

    def put_in_focus(self, key: int) -> None:
        """Put the row to which the cursor was moved in focus, in a list whose cursor chooses the focus."""

    def wire(self, key: int) -> dict[str, Any] | None:
        """Return a row as the service would return it, or None if the item does not exist now."""
        subject = self.subject_of(key)
        return None if subject is None else rest_body(self.session, subject)

    def files_of(self, key: int) -> FileLocation | str:
        """Return where a row's files are, or a sentence that says why there are none."""
        return files_of(self.session, self.subject_of(key))

    # -- what all lists have in common ---------------------------------------------------------------------------

    def cells_of(self, keys: Sequence[int]) -> Mapping[int, tuple[Span, ...]]:
        """Return the cells of the rows that are visible. A list may keep them until something about a row changes."""
        return {key: self.cells(key) for key in keys}

    def update(self) -> None:
        """Read the simulation again: rows, order, filter."""
        rows = self.order()
        keep = self._filter()
        session = self.session
        wanted = (
            (self.filter_text, self.only_failed, self.with_all, session.time_format),
            (session.job_id, session.pool_id, session.simulation.jumps),
        )
        if keep is None and self.sort_column is None:
            self._shown.show(rows, wanted=wanted)
            return
        order = self.sort_column, self.is_descending
        values = None if self.sort_column is None else self.sort_values(self.sort_column)
        is_descending = self.is_descending and values is not None

        piece = max(1, self.at_once // PIECES)
        start = partial(SlicedSort, rows, keep, values, is_descending=is_descending, piece=piece)
        moment, total = self.moment(), len(rows)
        self._shown.sort_rows(wanted, order, moment, start, self.at_once, may_rest=session.is_playing, total=total)

    def moment(self) -> object:
        """Return a value that is another one when the rows may have changed."""
        return self.session.simulation.log.count, self.session.now_ms

    @property
    def is_sorting(self) -> bool:
        """True while filtering and sorting go on. Until then the list shows the previous rows, or none."""
        return self._shown.is_sorting

    def sort_some(self) -> bool:
        """Filter and sort some rows. Return True if there is more to do."""
        return self._shown.go_on()

    def _filter(self) -> Callable[[Sequence[int]], Sequence[int]] | None:
        """Return the function that keeps the rows to be shown, or None if all are."""
        terms = parse_filter(self.filter_text) if self.filter_text else ()
        if not terms:
            return self._keep_failed if self.only_failed else None
        names = self.column_names
        found = Filter(self, [(term, column_of(term.field, names) if term.field else None) for term in terms])
        return (lambda rows: found.keep(self._keep_failed(rows))) if self.only_failed else found.keep

    def _keep_failed(self, rows: Sequence[int]) -> Sequence[int]:
        return [row for row in rows if self.is_failed(row)]

    def texts_of(self, keys: Sequence[int], column: int) -> Sequence[str]:
        """Return the texts by which a column is filtered and sorted: those of the cells, perhaps with more names."""
        return [self.cells(key)[column].text for key in keys]

    def groups_of(self, keys: Sequence[int], column: int) -> Sequence[Hashable] | None:  # noqa: ARG002  # short lists
        """Return a value for each row; rows with the same value show the same text. None: each stands for itself."""
        return None

    def sort_values(self, name: str) -> SortValues:
        """Return the function that gives the sort keys of many rows."""
        return Judged(self, self.column_names.index(name), sort_value).of

    @property
    def count(self) -> int:
        """The number of rows shown."""
        return len(self._shown.rows)

    @property
    def hidden(self) -> int:
        """The number of rows that the filter hides."""
        return self._shown.hidden

    def key(self, index: int) -> int:
        """Return the row at an index."""
        return self._shown.rows[index]

    def keys(self, first: int, count: int) -> Sequence[int]:
        """Return up to so many rows, from an index on."""
        return self._shown.rows[max(0, first) : max(0, first) + count]

    def index_of(self, key: int) -> int | None:
        """Return the index of a row, or None if it is not shown."""
        return self._shown.index_of(key)

    def place_of(self, identity: str) -> int | None:
        """Return the index of the row with this id among the first 10,000 rows, or None."""
        identities = self.identities_of(self._shown.rows[:AT_ONCE])
        return next((at for at, each in enumerate(identities) if each == identity), None)

    def row_of(self, identity: str) -> int | None:
        """Return the row with exactly this id in a short list, or None."""
        return next((self.key(at) for at in range(self.count) if self.identity_of(self.key(at)) == identity), None)

    def find(self, identity: str) -> int | None:
        """Return the row with this id among the first 10,000, else the first whose id contains it, or None."""
        wanted, looked_at = identity.lower(), self.order()[:AT_ONCE]
        names = zip(looked_at, self.names_of(looked_at, wanted), strict=True)
        found = [key for key, name in names if wanted in name.lower()]
        return next((key for key in found if self.identity_of(key).lower() == wanted), next(iter(found), None))

    def filter_words(self) -> str:
        """Return what hides rows, in words."""
        words = [f"the filter {quoted(self.filter_text)}"] if self.filter_text else []
        return " and ".join([*words, "'only failed'"] if self.only_failed else words)

    def clear_filter(self) -> bool:
        """Show all rows again. Return True if that changed anything."""
        changed = bool(self.filter_text) or self.only_failed
        self.filter_text, self.only_failed = "", False
        return changed

    def next_sort(self) -> None:
        """Sort by the next column; after the last one use the list's own order."""
        shown = self.shown_names()
        names = [name for at, name in enumerate(self.column_names) if name in shown or (name and at == self.identity)]
        at = names.index(self.sort_column) if self.sort_column in names else -1
        self.sort_column = names[at + 1] if at + 1 < len(names) else None

    def sort_by(self, name: str) -> None:
        """Sort by a column; reverse the order if it is sorted by that column already."""
        self.is_descending = not self.is_descending if self.sort_column == name else False
        self.sort_column = name

    def remembered(self) -> dict[str, Any]:
        """Return the user's choices for this list, for another run."""
        order = {"sort": self.sort_column, "descending": self.is_descending}
        return {"columns": self.chosen_columns, **order, "filter": self.filter_text}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choices."""
        self.chosen_columns, self.filter_text = values.get("columns"), values.get("filter", "")
        self.sort_column, self.is_descending = values.get("sort"), values.get("descending", False)

    def arrangement(self) -> Line:
        """Return how the list is sorted and filtered."""
        order = self.own_order if self.sort_column is None else self.sort_column.lower()
        turned = ", descending" if self.is_descending and self.sort_column else ""
        shown = f"   filter: {self.filter_text or 'none'}"
        failed = "   only failed" if self.only_failed else ""
        hidden = f"   {self.hidden:,} hidden" if self.hidden else ""
        at_work = f"   {self._shown.progress:.0%} searched" if self.is_sorting else ""
        return line(Span(f"sorted by {order}{turned}{shown}{failed}{hidden}{at_work}", Role.DIM))

    def nothing_shown(self) -> Sequence[str]:
        """Return the sentences of an empty list."""
        if self.is_sorting:
            return ("Filtering and sorting ...",)
        if self.hidden:
            no_match = f"No row matches. Esc clears the filter, which hides {self.hidden:,} rows."
            wrong = unknown_field(self.filter_text, self.column_names)
            return (no_match, wrong) if wrong else (no_match, *self._about_words())
        return self.empty()

    def _about_words(self) -> Iterator[str]:
        """Say where the words of the filter were looked for, and how another column is named."""
        words = [term.value for term in parse_filter(self.filter_text) if not term.field]
        if words:
            others = [column.name for column in self.named_columns if not column.words]
            states = " and states" if len(others) < len(self.named_columns) else ""
            term = f"{field_name(self.text_column or others[0])}:{as_value(' '.join(words))}"
            yield f"A word is looked for in ids{states}. {term} looks in a column."


class NamedRowsModel(RowsModel, Generic[RowT]):
    """A list of pools, jobs or job schedules: items with an id, oldest first."""

    own_order = "age, oldest first"
    ids: ClassVar[staticmethod[[Simulation], list[str]]]  # of the items that have not been deleted
    _ids: Sequence[str] = ()

    @abstractmethod
    def find_item(self, identity: str) -> RowT | None:
        """Return the item with this id."""

    def order(self) -> Sequence[int]:
        """Return the items that have not been deleted."""
        self._ids = self.ids(self.session.simulation)
        return range(len(self._ids))

    def identity_of(self, key: int) -> str:
        """Return the item's id."""
        return self._ids[key]

    def row(self, key: int) -> RowT:
        """Return the item in a row."""
        found = self.find_item(self._ids[key])
        assert found is not None
        return found

    def cells(self, key: int) -> tuple[Span, ...]:
        row = self.row(key)
        return tuple([column.span(row) for column in self.columns])

    def empty(self) -> Sequence[str]:
        said = self.session.none_yet(str(self.kind))
        return said if self.session.is_empty else (*said, "ctrl+n creates one.")


def as_csv(model: RowsModel) -> str:
    """Return all rows and columns of the list as CSV, with whole ids, UTC times and the text of the cells."""
    named = [(at, column.name) for at, column in enumerate(model.columns) if column.name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", *(name for _, name in named)])
    session, time_format = model.session, model.session.time_format
    model.is_written_out, session.time_format = True, "utc"
    for at in range(model.count):
        key = model.key(at)
        cells = model.cells(key)
        writer.writerow([model.identity_of(key), *(cells[column].text.strip() for column, _ in named)])
    model.is_written_out, session.time_format = False, time_format
    return visible(text.getvalue())
