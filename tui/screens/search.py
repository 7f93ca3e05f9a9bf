"""Search: forward in time, event by event, to what is looked for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.screens.deck import Deck
    from tui.viewmodels.session.session import Session

_SLICE_S = 0.02
_EVENTS_BETWEEN_LOOKS = 32


class Search:
    """The end of the instant, the next event of the row under the cursor, the next failure."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("i", "search('instant')", "to the end of this instant", id="time.instant"),
        Binding("semicolon", "search('row')", "to the next event of the row", id="time.row"),
    )

    def __init__(self, deck: Deck, session: Session) -> None:
        """Of the session on this deck; nothing is looked for."""
        self._deck = deck
        self._session = session
        self._is_on = False

    def instant(self) -> None:
        """Let everything happen that is due at this moment; where nothing is, at the next one."""
        simulation = self._session.simulation
        self._deck.playback.stand_still()
        with self._deck.breakdown.guard():
            if not simulation.step():
                self._deck.say("Nothing more can happen.")
            simulation.run_until(simulation.now_ms)
        self._deck.look()

    def row(self) -> None:
        """Go on until something happens to what is under the cursor."""
        subject, events = self._deck.under_cursor, self._session.events
        if subject is None:
            self._deck.say("; goes on to the next event of a row: put the cursor on one.")
            return
        self._begin(lambda index: events.is_about(index, *subject), "Nothing more happens to it.")

    def failure(self) -> None:
        """Go on until something fails."""
        events = self._session.events
        self._begin(events.is_failure, "Nothing more fails.")

    def failure_before(self) -> None:
        """Back to the moment of the last failure before this one."""
        events, now_ms = self._session.events, self._session.now_ms
        earlier = (events.when_ms(index) for index in reversed(events.failures()))
        when_ms = next((when_ms for when_ms in earlier if when_ms < now_ms), None)
        if when_ms is None:
            self._deck.say("Nothing has failed before this moment.")
        else:
            self._deck.playback.seek(when_ms)

    def stop(self) -> bool:
        """Look no further; returns whether something was looked for."""
        was_on, self._is_on = self._is_on, False
        return was_on

    def _begin(self, is_it: Callable[[int], bool], otherwise: str) -> None:
        self._deck.playback.stand_still()
        self._is_on = True
        self._deck.run_worker(self._look_for(is_it, otherwise), group="time", exclusive=True)

    async def _look_for(self, is_it: Callable[[int], bool], otherwise: str) -> None:
        with self._deck.breakdown.guard():
            while self._is_on:
                has_more, found = self._slice(is_it)
                if found:
                    break
                if not has_more:
                    self._deck.say(otherwise)
                    break
                self._session.noted()
                self._deck.look_at_header()
                await self._deck.playback.pacer.way.pause()
        self._is_on = False
        self._deck.look()

    def _slice(self, is_it: Callable[[int], bool]) -> tuple[bool, bool]:
        """Step for a moment of wall time: whether more is due, and whether it has been found."""
        simulation = self._session.simulation
        stop_s = time.perf_counter() + _SLICE_S
        while time.perf_counter() < stop_s:
            for _ in range(_EVENTS_BETWEEN_LOOKS):
                before = len(simulation.log)
                if not simulation.step():
                    return False, False
                if any(is_it(index) for index in range(before, len(simulation.log))):
                    return True, True
        return True, False
