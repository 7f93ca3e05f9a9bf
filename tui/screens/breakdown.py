"""Breakdown: what becomes of a mistake of the engine. The past stays, and what was done by hand is saved."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tui.dialogs.sheet import Sheet
from tui.viewmodels.text.styled import Line, Role, Span, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.saving.recorder import Recorder
    from tui.screens.deck import Deck
    from tui.viewmodels.session.session import Session


class Breakdown:
    """Stands around whatever lets simulated time go by."""

    def __init__(self, deck: Deck, session: Session, recorder: Recorder) -> None:
        """On this deck."""
        self._deck = deck
        self._session = session
        self._recorder = recorder

    @contextmanager
    def guard(self) -> Iterator[None]:
        """What goes wrong inside is told; the run then stands before the moment at which it happened."""
        try:
            yield
        except Exception as error:
            self._meet(error)

    def _meet(self, error: Exception) -> None:
        simulation = self._session.simulation
        broken_ms = simulation.entry_ms
        told = len(self._recorder.told)
        self._recorder.rescue()
        said = "\n".join(self._recorder.told[told:]) or "Nothing has been done by hand that is not saved."
        self._deck.playback.stand_still()
        if not broken_ms:
            raise error  # there is no moment before it
        simulation.seek(broken_ms - 1)
        simulation.branch()
        self._deck.look()
        sentences = (
            (f"{type(error).__name__}: {error}", Role.FAILED),
            (f"It happened at {self._session.clock(broken_ms)}. The run stands just before that moment.", Role.PLAIN),
            ("What was before can still be looked at: , and t go back.", Role.PLAIN),
            (said, Role.STRONG),
            (
                f"This is a mistake in batchdeck. Scenario {simulation.scenario.name} with seed {simulation.seed} "
                "shows it again.",
                Role.DIM,
            ),
        )

        def lines(cells: int) -> list[Line]:
            found: list[Line] = []
            for text, role in sentences:
                found += [(Span(f" {each}", role),) for each in wrapped(self._session.text(text), cells - 1)]
                found.append(())
            return found

        self._deck.app.push_screen(Sheet("The engine cannot go on from here", lines))
