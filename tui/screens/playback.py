"""Playback: time goes by, stands still, is taken back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from tui.panes.timeline import Timeline
from tui.playback.pacer import FASTEST, Pacer
from tui.viewmodels.frame.header import Transport
from tui.viewmodels.frame.notices import Notices
from tui.viewmodels.text import format as fmt

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.screens.deck import Deck
    from tui.viewmodels.session.session import Session

# While time goes by, a view is drawn anew when nine times what that took has passed: one part drawing in ten.
_REST = 9
_CALM_S = 10  # wall seconds without an event
_BETWEEN_NOTICES_S = 1.0


class Playback:
    """Play, step, back, speed, go to a time, branch."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("space", "time('play')", "run, pause", id="time.play"),
        Binding("full_stop", "time('step')", "one event forward", id="time.step"),
        Binding("comma", "time('back')", "one event back", id="time.back"),
        Binding("right_square_bracket", "time('faster')", "faster", id="time.faster"),
        Binding("left_square_bracket", "time('slower')", "slower", id="time.slower"),
        Binding("equals_sign", "time('speed', 1)", "speed 1x", id="time.real"),
        Binding("right_curly_bracket", "time('speed', 0)", "as fast as it can", id="time.max"),
        Binding("t", "time('ask')", "go to a time", id="time.go"),
        Binding("b", "time('branch')", "branch here", id="time.branch"),
    )

    def __init__(self, deck: Deck, session: Session) -> None:
        """Of the session on this deck, standing still."""
        self._deck = deck
        self._session = session
        self.pacer = Pacer(session.simulation, self._frame)
        self._notices = Notices(session)
        self._next_notice_s = 0.0
        self._next_look_s = 0.0
        self._from_ms = 0  # where the way to another moment began

    def _frame(self) -> None:
        """Time has gone by: draw, unless drawing takes too much of the time."""
        if not self._deck.is_running:
            return
        if self.pacer.is_on_the_way:
            self._session.noted()
            self._deck.look_at_header()
            return
        self._tell_news()
        began_s = time.perf_counter()
        if self.pacer.playing and began_s < self._next_look_s:
            self._session.noted()
            self._deck.look_at_header()
            return
        self._deck.look()
        ended_s = time.perf_counter()
        self._next_look_s = ended_s + _REST * (ended_s - began_s)

    def _tell_news(self) -> None:
        """Say what has failed and what has ended, at most once a second."""
        wait_s = self._next_notice_s - time.perf_counter()
        if wait_s > 0:
            if not self.pacer.playing:  # the last of it is told as well, once the second is over
                self._deck.set_timer(wait_s, self._tell_news)
            return
        self._next_notice_s = time.perf_counter() + _BETWEEN_NOTICES_S
        self._session.noted()
        notice = self._notices.take(self.pacer.speed)
        if notice is not None:
            self._deck.say(notice.text, "warning" if notice.is_failure else "information")

    def play(self) -> None:
        """Let time go by, or stop it."""
        if self.pacer.playing or self.pacer.is_on_the_way or self._deck.search.stop():
            self.pacer.stop()
        else:
            self._tell_of_calm()
            self._deck.run_worker(self._play(), group="time", exclusive=True)

    def _tell_of_calm(self) -> None:
        """Say so where nothing will be seen to happen for a while."""
        next_ms, speed = self._session.events.next_ms(), self.pacer.speed
        if next_ms is not None and speed and next_ms - self._session.now_ms > _CALM_S * 1000 * speed:
            self._deck.say(f"No event before {self._session.clock(next_ms)}. . goes there.")

    async def _play(self) -> None:
        self._notices.skip()
        with self._deck.breakdown.guard():
            await self.pacer.play()

    def stand_still(self) -> None:
        """Let time stand still after the present slice."""
        self.pacer.stop()
        self._deck.search.stop()

    def step(self) -> None:
        """One event forward."""
        self.stand_still()
        with self._deck.breakdown.guard():
            if not self._session.simulation.step():
                self._deck.say("Nothing more can happen.")
        self._deck.look()

    def back(self) -> None:
        """To the moment of the event before."""
        when_ms = self._session.events.previous_ms()
        self.seek(0 if when_ms is None else when_ms)

    # -- to another moment ---------------------------------------------------------------------------------------

    def seek(self, when_ms: int, then: Callable[[], None] | None = None) -> None:
        """Look at a moment, in ms since the start, and ``then`` do something. A long way there can be left off."""
        self.stand_still()
        self._session.noted()
        self._deck.query_one(Timeline).follow()
        self._session.marks.clear()  # what is marked may not be there at that moment
        with self._deck.breakdown.guard():
            when_ms = self._session.simulation.approach(when_ms)
            self._from_ms = self._session.now_ms
            if self.pacer.set_out(when_ms):
                self._arrive(then)
            else:
                self._deck.look()  # on a way back what was shown is gone by now
                self._deck.run_worker(self._go_on(then), group="time", exclusive=True)

    async def _go_on(self, then: Callable[[], None] | None) -> None:
        with self._deck.breakdown.guard():
            if await self.pacer.arrive():
                self._arrive(then)
            else:
                self._deck.say("Stopped on the way.")
                self._deck.look()

    def _arrive(self, then: Callable[[], None] | None) -> None:
        if then is not None:
            then()
        self._deck.look()

    def stop_on_the_way(self) -> bool:
        """Stay where the way to another moment has come to; returns whether there was such a way."""
        was_on_the_way = self.pacer.is_on_the_way
        if was_on_the_way:
            self.stand_still()
        return was_on_the_way

    @property
    def way(self) -> str | None:
        """What is said of the way to another moment, with how much of it is done if that is known; None without one."""
        to_ms, simulation = self.pacer.destination_ms, self._session.simulation
        if to_ms is None:
            return None
        if to_ms == simulation.end_ms and simulation.scenario.until_ms is None:
            return "ON THE WAY"  # when nothing more can happen is not known before
        done = (self._session.now_ms - self._from_ms) / max(1, to_ms - self._from_ms)
        return f"ON THE WAY {done:.0%}"

    @property
    def transport(self) -> Transport:
        """How time goes by."""
        return Transport(self.pacer.playing, self.pacer.speed, self._session.simulation.finished, self.way)

    # -- speed ---------------------------------------------------------------------------------------------------

    def faster(self) -> None:
        """The next speed up."""
        self.pacer.faster()
        self._deck.look_at_header()

    def slower(self) -> None:
        """The next speed down."""
        self.pacer.slower()
        self._deck.look_at_header()

    def speed(self, speed: float) -> None:
        """This speed; 0 is as fast as it can."""
        self.pacer.speed = speed or None
        self._deck.look_at_header()

    def ask(self) -> None:
        """Ask for a time."""
        self._deck.ask("time", "go to: +5m, -30s, 10:42, PT5M, end, failure")

    def go_to(self, text: str) -> None:
        """The moment as it was typed."""
        simulation = self._session.simulation
        if text.strip() == "end":
            newest_ms = max(self._session.newest_ms, simulation.log.last_ms)
            self.seek(newest_ms if self._session.is_past else simulation.end_ms, self._finish)
            return
        if text.strip() in ("failure", "next failure"):
            self._deck.search.failure()
            return
        try:
            self.seek(fmt.parse_moment(text, simulation.scenario.start, simulation.now_ms))
        except ValueError as error:
            self._deck.say(str(error), "error")

    def _finish(self) -> None:
        if self._session.simulation.finished:
            self._session.simulation.finish()

    def set_speed(self, text: str) -> None:
        """The speed as it was typed."""
        try:
            speed = float(text.strip().lower().lstrip("x").replace("max", "0"))
        except ValueError:
            speed = -1
        if 0 <= speed <= FASTEST:
            self.speed(speed)
        else:
            self._deck.say(f"{text!r} is no speed: a number, or max", "error")

    def branch(self) -> None:
        """Make the moment that is looked at the present."""
        self.stop_on_the_way()
        if not self._session.is_past:
            self._deck.say("This is the present; , goes back.")
            return
        self._deck.places.bookmarks.keep_run()
        self._session.simulation.branch()
        self._deck.say("Branched: time goes on from here. c compares with the run that was left.")
        self._deck.look()
