"""The base of long lists: the cells of the visible rows are made again only where something about a row has changed."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from tui.viewmodels.lists.rows import RowsModel
from tui.viewmodels.text.styled import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tui.viewmodels.session.session import Session

BriefT = TypeVar("BriefT")

NO_TEXT = Span("")


class _Kept(NamedTuple, Generic[BriefT]):
    """The cells of a row, and what they were made from."""

    brief: BriefT
    usual: tuple[Span, ...]
    cells: tuple[Span, ...]  # with empty ones in the extra columns


class KeptRowsModel(RowsModel, Generic[BriefT]):
    """A list whose first columns are the usual ones, and all others extra ones, which most users never choose.

    What the usual cells say follows from a few values, the brief of a row: as long as they are equal the cells are the
    same. Extra cells are empty while nobody asks for them.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._kept: tuple[object, dict[int, _Kept[BriefT]]] = (None, {})  # what else decides, and the rows in view
        self._no_extras = (NO_TEXT,) * sum(column.is_extra for column in self.columns)

    @abstractmethod
    def brief(self, key: int) -> BriefT:
        """Return the values that decide on the usual cells of a row, with the choices of the viewer."""

    @abstractmethod
    def usual_cells(self, brief: BriefT) -> tuple[Span, ...]:
        """Return a span for each usual column. It must depend on nothing else that time changes."""

    @abstractmethod
    def extra_cells(self, key: int) -> tuple[Span, ...]:
        """Return a span for each extra column."""

    def at_this_moment(self, brief: BriefT, cells: tuple[Span, ...]) -> tuple[Span, ...]:  # noqa: ARG002  # most do not
        """Return the cells with what changes while only time goes by."""
        return cells

    @property
    def _with_extras(self) -> bool:
        """True if somebody may ask for an extra column."""
        has_chosen = self.chosen_columns is not None or self.sort_column is not None
        return has_chosen or bool(self.filter_text) or self.is_written_out

    def cells(self, key: int) -> tuple[Span, ...]:
        brief = self.brief(key)
        cells = self.at_this_moment(brief, self.usual_cells(brief))
        return cells + (self.extra_cells(key) if self._with_extras else self._no_extras)

    def cells_of(self, keys: Collection[int]) -> Mapping[int, tuple[Span, ...]]:
        """Return the cells of the visible rows. They stay the same objects until a row changes."""
        session = self.session
        from_ms = session.now_ms if session.time_format == "relative" else 0
        looks = session.time_format, from_ms, session.glyphs.ascii_only
        known = self._kept[1] if self._kept[0] == looks else {}
        kept: dict[int, _Kept[BriefT]] = {}
        for key in keys:
            brief, before = self.brief(key), known.get(key)
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
