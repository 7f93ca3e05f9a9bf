"""The history of visited views, for the keys back and forward."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tui.viewmodels.text.styled import ItemRef

_MOST_PLACES = 200


class VisitedView(NamedTuple):
    """A visited view with its focus; for a detail page also the item and the tab."""

    view: str
    focus: tuple[str, str] = ("", "")
    subject: ItemRef | None = None
    page: int = 0


class ViewHistory:
    """The visited views. Every move passes the present view, which may have changed since it was opened."""

    def __init__(self) -> None:
        self._places: list[VisitedView] = []
        self._at = 0
        self._left = 0

    def visit(self, here: VisitedView, there: VisitedView) -> None:
        """Move on from ``here`` to ``there``; drop what lay ahead."""
        self._places[self._at :] = [here, there]
        self._left, self._at = self._at, self._at + 1
        if self._at >= _MOST_PLACES:
            del self._places[0]
            self._left, self._at = self._left - 1, self._at - 1

    def step(self, here: VisitedView, by: int) -> VisitedView | None:
        """Return the view one step back (-1) or forward (1), or None if there is none."""
        return self._go(here, self._at + by) if by else None

    def previous(self, here: VisitedView) -> VisitedView | None:
        """Return the view that was left last, or None. A second call leads back."""
        return self._go(here, self._left) if self._left != self._at else None

    def _go(self, here: VisitedView, at: int) -> VisitedView | None:
        if not 0 <= at < len(self._places):
            return None
        self._places[self._at] = here
        self._left, self._at = self._at, at
        return self._places[at]
