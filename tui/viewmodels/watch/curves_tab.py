"""The tab of curves among the lists of a job: a list without rows, in whose room the curves are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import RowsModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.text.styled import Span


class CurvesTabModel(RowsModel):
    """The list behind the tab: it has no rows."""

    title = "Curves"
    columns = (Column("", 1), Column("Curve", 8))

    def order(self) -> Sequence[int]:
        """Return no rows."""
        return ()

    def cells(self, key: int) -> tuple[Span, ...]:
        """Raise an error: there are no rows."""
        raise IndexError(key)

    def identity_of(self, key: int) -> str:
        """Raise an error: there are no rows."""
        raise IndexError(key)

    def empty(self) -> Sequence[str]:
        """Say nothing: the curves say it."""
        return ()
