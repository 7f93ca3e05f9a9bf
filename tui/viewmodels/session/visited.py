"""The places that have been visited, and the way back and forward through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tui.viewmodels.text.styled import ItemRef

_MOST_PLACES = 200


class Place(NamedTuple):
    """A view, with the job and pool that were chosen for the focus; of a blade of one thing, which and which page."""

    view: str
    focus: tuple[str, str] = ("", "")
    subject: ItemRef | None = None
    page: int = 0


class Trail:
    """Where one has been. Whoever moves says where one is, for that may have changed since one came there."""

    def __init__(self) -> None:
        """Nothing has been visited."""
        self._places: list[Place] = []
        self._at = 0
        self._left = 0

    def visit(self, here: Place, there: Place) -> None:
        """Go on from here to another place; what lay ahead is forgotten."""
        self._places[self._at :] = [here, there]
        self._left, self._at = self._at, self._at + 1
        if self._at >= _MOST_PLACES:
            del self._places[0]
            self._left, self._at = self._left - 1, self._at - 1

    def step(self, here: Place, by: int) -> Place | None:
        """One place back (-1) or forward (1); None where there is none."""
        return self._go(here, self._at + by) if by else None

    def previous(self, here: Place) -> Place | None:
        """The place that was left last; None where none was. Twice leads back here."""
        return self._go(here, self._left) if self._left != self._at else None

    def _go(self, here: Place, at: int) -> Place | None:
        if not 0 <= at < len(self._places):
            return None
        self._places[self._at] = here
        self._left, self._at = self._at, at
        return self._places[at]
