"""The base of long lists: cells and details are made again only where something about a row has changed."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, NamedTuple, TypeVar

from engine.views.log.reader import UntouchedRow
from tui.viewmodels.lists.rows import RowsModel
from tui.viewmodels.text import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Block

BriefT = TypeVar("BriefT")

NO_TEXT = Span("")


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


class KeptRowsModel(RowsModel, Generic[BriefT]):
    """A list whose first columns are the usual ones, and all others extra ones, which most users never choose.

    What the usual cells say follows from a few values, the brief of a row: as long as they are equal the cells are the
    same. Extra cells are empty while nobody asks for them.

    Details say much more. They stay the same while the log tells only of the processes of other rows, until a moment at
    which time alone changes them. ``traits`` are what may change without an entry that names the row.
    """

    log_column: ClassVar[Literal["row_a", "row_b"]]  # of the log, in which rows of this list stand

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._kept: tuple[object, dict[int, _Kept[BriefT]]] = (None, {})  # what else decides, and the rows in view
        self._no_extras = (NO_TEXT,) * sum(column.is_extra for column in self.columns)
        self._untouched = UntouchedRow(session.simulation, self.log_column)
        self._details = _Details(None, None, ())

    @abstractmethod
    def briefs(self, keys: Sequence[int]) -> Sequence[BriefT]:
        """Return for each row the values that decide on its usual cells, with the choices of the viewer."""

    @abstractmethod
    def usual_cells(self, brief: BriefT) -> tuple[Span, ...]:
        """Return a span for each usual column. It must depend on nothing else that time changes."""

    @abstractmethod
    def extra_cells(self, key: int) -> tuple[Span, ...]:
        """Return a span for each extra column."""

    def at_this_moment(self, brief: BriefT, cells: tuple[Span, ...]) -> tuple[Span, ...]:  # noqa: ARG002  # most do not
        """Return the cells with what changes while only time goes by."""
        return cells

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
        session = self.session
        from_ms = session.now_ms if session.time_format == "relative" else 0
        return session.time_format, from_ms, session.glyphs.ascii_only

    @property
    def _with_extras(self) -> bool:
        """True if somebody may ask for an extra column."""
        has_chosen = self.chosen_columns is not None or self.sort_column is not None
        return has_chosen or bool(self.filter_text) or self.is_written_out

    def cells(self, key: int) -> tuple[Span, ...]:
        (brief,) = self.briefs((key,))
        cells = self.at_this_moment(brief, self.usual_cells(brief))
        return cells + (self.extra_cells(key) if self._with_extras else self._no_extras)

    def cells_of(self, keys: Sequence[int]) -> Mapping[int, tuple[Span, ...]]:
        """Return the cells of the visible rows. They stay the same objects until a row changes."""
        looks = self._looks
        known = self._kept[1] if self._kept[0] == looks else {}
        kept: dict[int, _Kept[BriefT]] = {}
        for key, brief in zip(keys, self.briefs(keys), strict=True):
            before = known.get(key)
            if before is None or before.brief != brief:
                usual = self.at_this_moment(brief, self.usual_cells(brief))
            else:
                usual = self.at_this_moment(brief, before.usual)
                if usual is before.usual:
                    kept[key] = before
                    continue
            kept[key] = _Kept(brief, usual, usual + self._no_extras)
        self._kept = looks, kept
        if self._with_extras:
            return {key: each.usual + self.extra_cells(key) for key, each in kept.items()}
        return {key: each.cells for key, each in kept.items()}
