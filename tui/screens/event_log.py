"""The blade Events: following, folding, what was done by hand, and opening what an entry is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from tui.panes.blade import Blade
from tui.viewmodels.events.event_list import EventsModel
from tui.viewmodels.text.styled import ItemRef, Kind

if TYPE_CHECKING:
    from tui.screens.deck import Deck
    from tui.viewmodels.events.destinations import Place
    from tui.viewmodels.session.session import Session


# What has a blade of its own; the other events are looked at in a list.
_BLADES: dict[str, Kind] = {"tasks": "task", "nodes": "node", "jobs": "job", "pools": "pool"}


class EventLog:
    """What can be done in the blade Events and nowhere else."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("F", "event('follow')", "follow the newest event", id="events.follow"),
        Binding("x", "event('fold')", "fold events that are alike", id="events.fold"),
        Binding("X", "event('by_hand')", "what was done by hand, in script form", id="events.by-hand"),
    )

    def __init__(self, deck: Deck, session: Session) -> None:
        """Of the session on this deck."""
        self._deck = deck
        self._session = session

    def _model(self) -> EventsModel | None:
        view = self._deck.view
        return view.model if isinstance(view, Blade) and isinstance(view.model, EventsModel) else None

    def follow(self) -> None:
        """Keep the newest event in view."""
        view = self._deck.view
        if isinstance(view, Blade) and self._model() is not None:
            view.table.follows = not view.table.follows
            self._deck.look()

    def fold(self) -> None:
        """Show entries that are alike as one, or each by itself."""
        model = self._model()
        if model is not None:
            model.is_folded = not model.is_folded
            self._deck.look()

    def by_hand(self) -> None:
        """Show the events, and only what was done by hand; or all again."""
        self._deck.navigation.show("events")
        model = self._model()
        if model is not None:
            model.is_by_hand = not model.is_by_hand
            self._deck.look()

    def open(self, model: EventsModel, key: int) -> None:
        """Go to the moment of an entry, and there to what it is about."""
        place = model.place(key)
        if place is None:
            self._deck.telling.details(model, key)
        else:
            self._deck.playback.seek(self._session.events.when_ms(key), lambda: self._show(place))

    def _show(self, place: Place) -> None:
        self._session.noted()
        if place.job_id is not None:
            self._session.focus_job(place.job_id)
        if place.pool_id is not None:
            self._session.focus_pool(place.pool_id)
        kind = _BLADES.get(place.view)
        if kind is None or place.row is None:
            self._deck.navigation.show_row(place.view, place.row)
        else:
            self._deck.navigation.open(ItemRef(kind, place.row))
