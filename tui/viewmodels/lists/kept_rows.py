"""The base of long lists: cells and details are made again only where something about a row has changed."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from engine.views.log.reader import UntouchedRow
from tui.viewmodels.lists.columns import NODE, RowT, as_span
from tui.viewmodels.lists.rows import RowsModel
from tui.viewmodels.text import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from engine.views.resources.instances import InstancePage
    from engine.views.resources.nodes import NodePage
    from tui.viewmodels.lists.columns import Column
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Block

BriefT = TypeVar("BriefT")

NO_TEXT = Span("")
_LEAST_OF_NODE_ID = 5  # characters


class _Kept(NamedTuple, Generic[BriefT]):
    """The cells of a row, and what they were made from."""

    brief: BriefT
    usual: tuple[Span, ...]
    cells: tuple[Span, ...]  # with empty ones in the extra columns


class _Details(NamedTuple):
    """The details of a row, and what they were made from."""

    decides: object
    until_ms: int | None
    blocks: Sequence[Block]


class KeptRowsModel(RowsModel, Generic[BriefT, RowT]):
    """A list whose usual columns show a few values, the brief of a row, and whose extra columns show the whole row.

    As long as the brief is equal, the usual cells are the same, but for those that change with time. Extra cells are
    empty while their columns are not shown.

    Details say much more. They stay the same while the log tells only of the processes of other rows, until a moment at
    which time alone changes them. ``traits`` are what may change without an entry that names the row.
    """

    _usual_columns: tuple[Column[BriefT], ...]
    _extra_columns: tuple[Column[RowT], ...]
    log_column: ClassVar[Literal["row_a", "row_b"]]  # of the log, in which rows of this list stand

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._kept: tuple[object, dict[int, _Kept[BriefT]]] = (None, {})  # what else decides, and the rows in view
        self._usual_cell = [column.cell for column in self._usual_columns]
        self._changing = [(at, each.cell, each.changes) for at, each in enumerate(self._usual_columns) if each.changes]
        self._untouched = UntouchedRow(session.simulation, self.log_column)
        self._details = _Details(None, None, ())

    @abstractmethod
    def usual_columns(self) -> Iterable[Column[BriefT]]: ...

    @abstractmethod
    def extra_columns(self) -> Iterable[Column[RowT]]: ...

    @abstractmethod
    def briefs(self, keys: Sequence[int]) -> Sequence[BriefT]:
        """Return for each row the values that decide on its usual cells, with the choices of the viewer."""

    @abstractmethod
    def row(self, key: int) -> RowT:
        """Return the whole row."""

    @abstractmethod
    def traits(self, key: int) -> object:
        """Return values of a row's details that may change without an entry of the log that names the row."""

    @abstractmethod
    def new_details(self, key: int) -> tuple[Sequence[Block], int | None]:
        """Return the blocks of a row's details, and the next moment at which time alone changes them, or None."""

    def details(self, key: int) -> Sequence[Block]:
        """Return the blocks of a row's details. They stay the same objects until something may concern the row."""
        session, known = self.session, self._details
        decides = key, session.job_id, session.pool_id, self._looks, self.traits(key)
        is_over = known.until_ms is not None and session.now_ms >= known.until_ms
        if not self._untouched.check(key) or known.decides != decides or is_over:
            blocks, until_ms = self.new_details(key)
            known = self._details = _Details(decides, until_ms, blocks)
        return known.blocks

    @property
    def _looks(self) -> object:
        """The choices of the viewer that change what any row says."""
        return self.session.time_format, self.session.glyphs.ascii_only

    def cells(self, key: int) -> tuple[Span, ...]:
        (brief,) = self.briefs((key,))
        usual = self._usual_cells(brief)
        shown = self._shown_extras()
        return usual + (self._extra_cells(key, shown) if any(shown) else (NO_TEXT,) * len(shown))

    def _shown_extras(self) -> list[bool]:
        """Return for each extra column whether it is shown."""
        shown, shows_all = self.shown_names(), self.is_written_out
        return [shows_all or column.name in shown for column in self._extra_columns]

    def _extra_cells(self, key: int, shown: Sequence[bool]) -> tuple[Span, ...]:
        row, columns = self.row(key), zip(self._extra_columns, shown, strict=True)
        return tuple([column.span(row) if is_shown else NO_TEXT for column, is_shown in columns])

    def cells_of(self, keys: Sequence[int]) -> Mapping[int, tuple[Span, ...]]:
        """Return the cells of the visible rows. They stay the same objects until a row changes."""
        looks, shown = self._looks, self._shown_extras()
        known = self._kept[1] if self._kept[0] == looks else {}
        kept: dict[int, _Kept[BriefT]] = {}
        no_extras = (NO_TEXT,) * len(shown)
        for key, brief in zip(keys, self.briefs(keys), strict=True):
            before = known.get(key)
            if before is None or before.brief != brief:
                usual = self._usual_cells(brief)
            else:
                usual = self._at_this_moment(brief, before.usual)
                if usual is before.usual:
                    kept[key] = before
                    continue
            kept[key] = _Kept(brief, usual, usual + no_extras)
        self._kept = looks, kept
        if any(shown):
            return {key: each.usual + self._extra_cells(key, shown) for key, each in kept.items()}
        return {key: each.cells for key, each in kept.items()}

    def _usual_cells(self, brief: BriefT) -> tuple[Span, ...]:
        return tuple([as_span(cell(brief)) for cell in self._usual_cell])

    def _at_this_moment(self, brief: BriefT, usual: tuple[Span, ...]) -> tuple[Span, ...]:
        """Return the usual cells with what has changed while only time went by."""
        for at, cell, changes in self._changing:
            if changes(brief) and (span := as_span(cell(brief))) != usual[at]:
                usual = (*usual[:at], span, *usual[at + 1 :])
        return usual

    @abstractmethod
    def groups_by(self, key: Any, keys: Sequence[int]) -> Sequence[Hashable] | None:  # noqa: ANN401  # of the engine
        """Return the value with this key for each row; None if rows cannot be grouped by it."""

    def groups_of(self, keys: Sequence[int], column: int) -> Sequence[Hashable] | None:
        """Return for each row what decides on its text in a column."""
        key = self.columns[column].key
        return None if key is None else self.groups_by(key, keys)

    def texts_of(self, keys: Sequence[int], column: int) -> Sequence[str]:
        texts, extra = self.columns[column].texts, column - len(self._usual_columns)
        if texts is not None:
            return texts(keys)
        if extra >= 0:
            return [self._extra_columns[extra].span(self.row(key)).text for key in keys]
        return [self._usual_columns[column].span(brief).text for brief in self.briefs(keys)]


class NodeRowsModel(KeptRowsModel[BriefT, RowT]):
    """A list with a row for each node: the nodes, or a job's preparation or release on them."""

    kind = "node"
    log_column = "row_b"
    _page: InstancePage | NodePage

    def node_column(self, cell: Callable[[BriefT], Span]) -> Column[BriefT]:
        """Return the column with a node's index; a filter also finds its id."""
        return NODE._replace(texts=self.names_of).showing(cell)

    def identity_of(self, key: int) -> str:
        return self._page.id_of(key)

    def names_of(self, keys: Sequence[int], word: str | None = None) -> Sequence[str]:
        """Return the names of nodes in which a word is looked for, or all names, with their ids unless it is short.

        The ids are not shown, and a short word is in many of them by chance.
        """
        page = self._page
        if word is not None and len(word) < _LEAST_OF_NODE_ID:
            return [f"n{page.position_of(key)}" for key in keys]
        return [f"n{page.position_of(key)} {page.id_of(key)}" for key in keys]

    def traits(self, key: int) -> object:
        return self.session.nodes().work_on(key)
