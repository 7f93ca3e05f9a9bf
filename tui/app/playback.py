"""Playback of the simulation on the main screen: play, pause, step, seek, search and branch.

Without a chosen speed, an unattended run takes about a minute.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message
from textual.screen import Screen

from engine.pacing import DRAWING_S, Pacer, speed_for
from tui.dialogs.sheets import Sheet
from tui.textual.keys import start_work
from tui.textual.screens import say
from tui.viewmodels.frame import Transport
from tui.viewmodels.sentences import Notices
from tui.viewmodels.text import Role, Span, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.timer import Timer

    from tui.app.process import Recorder
    from tui.textual.screens import View
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Line


# A view is updated again after nineteen times as long as that took. Textual draws about as long: a tenth of the time.
_IDLE_SHARE = 19
_LONGEST_REST_S = 0.5  # a clock that stands still longer looks as if nothing went on
_QUIET_S = 10  # wall seconds without an event that are worth a notification
BETWEEN_NOTICES_S = 1.0
_SEARCH_SLICE_S = 0.02
_EVENTS_BETWEEN_CLOCK_READS = 32
AHEAD_SLICE_S = 0.004
_AHEAD_WAIT_S = 0.1
_AHEAD_PATIENCE_S = 3.0  # before estimates stand in for simulated ends
_REAL = "While programs run, time goes by as it really does."
_NO_FAILURE = "No later failures."


class _Step(NamedTuple):
    """A moment from which one step was taken: its time, the entries of the log, and what else tells it apart."""

    now_ms: int
    entries: int
    is_whole: bool  # nothing more is due in this millisecond
    is_past: bool


class OfferRestart(Message):
    """Offer what can be done when the run is over and time should go on."""


class PlayedScreen(Screen[None]):
    """A screen with the session whose time moves, and the recorder that saves it if the engine fails."""

    session: Session
    recorder: Recorder

    @property
    @abstractmethod
    def view(self) -> View:
        """The view that is shown."""

    @abstractmethod
    def update(self) -> None:
        """Bring everything on the screen up to date."""

    @abstractmethod
    def follow(self) -> None:
        """Let the cursor of the timeline follow the present moment again."""

    @abstractmethod
    def show_way(self) -> None:
        """Show how far playback is on its way to another moment, and nothing else of that moment."""


class Playback:
    """Moves simulated time and has the screen updated. It plays, seeks or searches, one at a time."""

    def __init__(self, screen: PlayedScreen) -> None:
        """Create the playback of the session of a screen."""
        self._screen = screen
        self._session = session = screen.session
        has_clients = session.simulation.awaits_commands
        # Clients may act at any moment: no stretch of time is known to be quiet.
        self.pacer = Pacer(session.simulation, self._on_frame, None if has_clients else session)
        self.rejoin: Callable[[], None] = lambda: None  # brings the run to where it has come for clients
        self.goes_on = False  # in the present, for clients, while the screen shows the past
        self.speed_is_chosen = False  # by the user, and so kept
        self._speed_is_settled = False  # a usual speed was taken when the run was known, and is kept
        self._has_played = False
        self._notices = Notices(session)
        self._next_notice_s = 0.0
        self._next_update_s = 0.0
        self._seek_from_ms = 0
        self._is_searching = False
        self._is_looking_ahead = False
        self._steps: list[_Step] = []  # from where steps have led to the displayed moment, the last one last
        self._stepped_to: _Step | None = None

    @property
    def transport(self) -> Transport:
        """The state of playback, as the header shows it."""
        return Transport(self.pacer.playing, self.pacer.speed, self._session.is_over, self._seek_progress())

    @property
    def moment(self) -> object:
        """A value that differs for every moment of every recording."""
        simulation = self._session.simulation
        return simulation.jumps, simulation.log.count, simulation.now_ms

    def _seek_progress(self) -> str | None:
        to_ms, simulation, session = self.pacer.destination_ms, self._session.simulation, self._session
        here = session.clock(session.now_ms)
        if to_ms is None:
            return f"SEARCHING {here}" if self._is_searching else None
        if to_ms == simulation.end_ms and simulation.scenario.until_ms is None:
            return f"SEEKING {here}"  # the end of the run is not known in advance
        return f"SEEKING {(session.now_ms - self._seek_from_ms) / max(1, to_ms - self._seek_from_ms):<4.0%}"

    # -- playing -------------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Play, or pause whatever is going on."""
        if self.pacer.playing or self.pacer.is_seeking or self._is_searching:
            self.pause()
            if self._session.simulation.real_speed is not None:
                say(self._screen, "Programs go on. Time catches up with them when it runs again.")
            return
        if self._session.is_empty:
            say(self._screen, "There is nothing to run yet. ctrl+n creates a pool or a job.")
            return
        if self._session.is_over and not self._session.is_past:
            self._screen.post_message(OfferRestart())
            return
        self._has_played = True
        self.take_usual_speed()
        next_ms, speed = self._session.next_ms(), self.pacer.speed
        is_quiet = next_ms is not None and speed and next_ms - self._session.now_ms > _QUIET_S * 1000 * speed
        if next_ms is not None and is_quiet and not self.pacer.crosses_quiet:
            say(self._screen, f"No event before {self._session.clock(next_ms)}. . goes there.")
        start_work(self._screen, self._play, "time")

    async def _play(self) -> None:
        self._notices.skip()
        self._next_update_s = 0.0
        with self.guard():
            await self.pacer.play()

    def pause(self) -> None:
        """Stop playing, seeking or searching after the present slice."""
        self.pacer.stop()
        self._is_searching = False

    def interrupt(self) -> Callable[[], None]:
        """Pause, and return a function that plays again if that was going on."""
        is_playing = self.pacer.playing
        self.pause()
        return self.play if is_playing else lambda: None

    def step(self) -> None:
        """Simulate up to the next moment at which something happens; after a step back go to where it was taken."""
        self.pause()
        with self.guard():
            if not self._retrace(1):
                self._step()
                self._note_step()
        self._screen.update()

    def _step(self) -> None:
        """Process entries of the calendar until one of them shows, unless the run is over."""
        simulation = self._session.simulation
        before = simulation.moment
        while simulation.moment == before:
            if self._session.is_over or not simulation.step():
                say(self._screen, "Nothing more can happen." if simulation.real_speed is None else _REAL)
                return

    def _on_frame(self) -> None:
        """Update the screen after time has advanced, unless drawing takes too large a share of the time."""
        if not self._screen.is_running:
            return
        self._session.is_playing = self.pacer.playing
        if not self.pacer.is_seeking:
            self._notify_of_news()
        began_s = time.perf_counter()
        if self.pacer.is_seeking:
            self._screen.show_way()
            return
        if self.pacer.playing and began_s < self._next_update_s:
            self._session.update()
            return  # the clock waits for the panes: a frame shows one moment
        self._screen.update()
        ended_s = time.perf_counter()
        self._next_update_s = ended_s + min(_IDLE_SHARE * (ended_s - began_s), _LONGEST_REST_S)

    def _notify_of_news(self) -> None:
        """Notify of what has failed and what has ended, at most once a second."""
        wait_s = self._next_notice_s - time.perf_counter()
        if wait_s > 0:
            if not self.pacer.playing:  # the last news follow when the second is over
                self._screen.set_timer(wait_s, self._notify_of_news)
            return
        if not self._screen.is_current:
            return  # they are told when the dialog is closed
        self._next_notice_s = time.perf_counter() + BETWEEN_NOTICES_S
        self._session.update()
        if news := self._notices.take(self._screen.view.id or ""):
            say(self._screen, news, "warning")

    # -- seeking -------------------------------------------------------------------------------------------------

    def seek(self, when_ms: int, then: Callable[[], None] | None = None) -> None:
        """Go to a moment, in ms after the start, and call ``then`` there. A long seek can be stopped."""
        if not self._session.is_past:
            self.goes_on = self.pacer.playing
        self.pause()
        self._session.update()
        self._screen.follow()
        self._session.marks.clear()  # the marked rows may not exist at that moment
        with self.guard():
            end_ms = self._session.end_ms
            when_ms = self._session.simulation.approach(when_ms if end_ms is None else min(when_ms, end_ms))
            self._seek_from_ms = self._session.now_ms
            if self.pacer.begin_seek(when_ms):
                self._arrive(then)
            else:
                self._screen.update()  # after a step back the rows shown so far do not exist any more
                start_work(self._screen, partial(self._finish_seek, then), "time")

    async def _finish_seek(self, then: Callable[[], None] | None) -> None:
        with self.guard():
            if await self.pacer.finish_seek():
                self._arrive(then)
            else:
                say(self._screen, "Stopped before the moment was reached.")
                self._screen.update()

    def _arrive(self, then: Callable[[], None] | None) -> None:
        self.rejoin()
        if self._session.is_over:
            self._session.simulation.finish()
        if then is not None:
            then()
        self._screen.update()

    def stop_seeking(self) -> bool:
        """Stay at the present moment of a seek; return whether there was one."""
        was_seeking = self.pacer.is_seeking
        if was_seeking:
            self.pause()
        return was_seeking

    def back(self) -> None:
        """Go to the previous moment at which something happened; after a step forward to where it was taken."""
        self.pause()
        with self.guard():
            if not self._retrace(-1):
                when_ms = self._session.events.previous_ms()
                self.seek(0 if when_ms is None else when_ms, self._note_step)

    @property
    def _here(self) -> _Step:
        session, simulation = self._session, self._session.simulation
        due_ms = session.events.next_ms()
        return _Step(simulation.now_ms, len(simulation.log), due_ms != simulation.now_ms, simulation.is_past)

    def _note_step(self) -> None:
        """Note where a step has led; one that leads nowhere is none."""
        self._stepped_to = here = self._here
        if self._steps and self._steps[-1][:2] == here[:2]:
            self._steps.pop()

    def _retrace(self, by: int) -> bool:
        """Go back to where the last step in the other direction was taken; return False if this is a new step.

        The present is the present again: what the step has played is forgotten, unless clients have seen it.
        """
        here = self._here
        if here != self._stepped_to:
            self._steps.clear()
        if not self._steps or (self._steps[-1] > here) != (by > 0):
            self._steps.append(here)
            return False
        last = self._steps.pop()

        def arrive() -> None:
            simulation = self._session.simulation
            while simulation.now_ms < last.now_ms or len(simulation.log) < last.entries:
                simulation.step()
            if not last.is_past and not simulation.awaits_commands:
                simulation.branch()
            self._note_step()

        self.seek(last.now_ms - (not last.is_whole), arrive)
        return True

    def seek_end(self) -> None:
        """Go to the end of the run, or in the past to the newest moment."""
        simulation = self._session.simulation
        newest_ms = max(self._session.newest_ms, simulation.log.last_ms, simulation.present_ms)
        if not simulation.awaits_commands:
            self.seek(newest_ms if self._session.is_past else simulation.end_ms)
        elif self._session.is_past:
            self.seek(newest_ms, self.play if self.goes_on else None)
        else:
            who = "programs may end" if simulation.scenario.executes else "clients may act"
            say(self._screen, f"This is the present, and {who} at any moment: there is no end to go to.")

    # -- searching -----------------------------------------------------------------------------------------------

    def seek_failure(self) -> None:
        """Simulate until something fails; if nothing does, say so and stay."""
        self.pause()
        if self._session.is_over and not self._session.is_past:
            say(self._screen, _NO_FAILURE)
            return
        self._is_searching = True
        self._screen.update()
        start_work(self._screen, self._search, "time")

    async def _search(self) -> None:
        from_ms, was_past = self._session.now_ms, self._session.is_past
        with self.guard():
            while self._is_searching and not (is_found := self._search_slice()):
                if is_found is None:
                    self._return_to(from_ms, was_past=was_past)
                    say(self._screen, _NO_FAILURE)
                    break
                self._screen.show_way()
                await self.pacer.yielder.pause()
        self._is_searching = False
        self._screen.update()

    def _return_to(self, from_ms: int, *, was_past: bool) -> None:
        """Go back to where a search began. What it played is forgotten if that was the present, and so takes commands.

        With clients time has passed for them, and so cannot be taken back.
        """
        simulation = self._session.simulation
        if simulation.awaits_commands:
            return
        simulation.seek(from_ms)
        if not was_past:
            simulation.branch()

    def _search_slice(self) -> bool | None:
        """Step for one slice of wall time; return whether something has failed, or None if nothing more is due."""
        simulation, is_failure = self._session.simulation, self._session.events.is_failure
        stop_s = time.perf_counter() + _SEARCH_SLICE_S
        while time.perf_counter() < stop_s:
            for _ in range(_EVENTS_BETWEEN_CLOCK_READS):
                before = len(simulation.log)
                if not simulation.step():
                    return None
                if any(map(is_failure, range(before, len(simulation.log)))):
                    simulation.run_until(simulation.now_ms)  # what follows at once: half an instant is no state
                    return True
        return False

    # -- playing ahead -------------------------------------------------------------------------------------------

    def look_ahead(self) -> None:
        """Play the rest of the run ahead in spare time, if its end is not known yet."""
        ahead = self._session.ahead
        if ahead.is_complete or ahead.is_given_up or self._is_looking_ahead:
            return
        self._is_looking_ahead = self._session.awaits_end = True
        patience = self._screen.set_timer(_AHEAD_PATIENCE_S, self._stop_awaiting_end)
        start_work(self._screen, partial(self._look_ahead, patience), "ahead")

    def _stop_awaiting_end(self) -> None:
        """Show estimates if the end is not known yet."""
        if self._session.awaits_end:
            self._session.awaits_end = False
            self._screen.update()

    async def _look_ahead(self, patience: Timer) -> None:
        try:
            while self._look_ahead_for(AHEAD_SLICE_S):
                await self.pacer.yielder.pause(DRAWING_S)
                while self.pacer.is_seeking or self._is_searching or (self.pacer.playing and self.pacer.speed is None):
                    await self.pacer.yielder.pause(_AHEAD_WAIT_S)
        finally:
            patience.stop()  # it is not that of the next time
            self._is_looking_ahead = self._session.awaits_end = False
        end_ms = self._session.end_ms
        if end_ms is not None and self._session.now_ms > end_ms and not self._session.is_past:
            self._session.simulation.finish()  # time went on beyond the last event before that was known to be the last
        self.take_usual_speed()
        if self._screen.is_running:
            self._screen.update()

    def take_usual_speed(self, *, anew: bool = False) -> None:
        """Take the speed at which the run takes about a minute, unless the user has chosen one.

        It is kept once the run is known, so that what is done by hand later does not change it, unless it is to be
        chosen ``anew``. A run that is built by hand is known when it is played.
        """
        self._speed_is_settled &= not anew
        session, ahead = self._session, self._session.ahead
        if self.speed_is_chosen or self._speed_is_settled or session.simulation.awaits_commands:
            return
        length_ms = session.end_ms or session.simulation.scenario.until_ms or session.forecast().end_ms
        if length_ms:
            speed = speed_for(length_ms, ahead.quiet_ms() if self.pacer.crosses_quiet else ())
            if speed != self.pacer.speed:
                self.pacer.speed = speed
            is_begun = bool(session.simulation.scenario.jobs) or self._has_played
            self._speed_is_settled = is_begun and (ahead.is_complete or ahead.is_given_up)

    def choose_speed(self, speed: float | None) -> None:
        """Take a speed from the user and keep it; None is as fast as possible."""
        if speed is None and self._session.simulation.awaits_commands:
            say(self._screen, "Clients need time to act, and programs to run: choose a speed.")
            return
        self.speed_is_chosen = True
        self.pacer.speed = speed
        real = self._session.simulation.real_speed
        if real is not None and speed is not None and speed > real:
            say(self._screen, f"x{speed:g} holds while no program runs. {_REAL}")

    def _look_ahead_for(self, seconds: float) -> bool:
        """Play ahead for so long; return whether there is more to play."""
        stop_s = time.perf_counter() + seconds
        while self._session.ahead.advance(_EVENTS_BETWEEN_CLOCK_READS):
            if time.perf_counter() >= stop_s:
                return True
        return False

    # -- errors of the engine ------------------------------------------------------------------------------------

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Catch an error of the engine: save the session, go back to just before the error and report it."""
        try:
            yield
        except Exception as error:
            self._recover(error)

    def _recover(self, error: Exception) -> None:
        session, simulation = self._session, self._session.simulation
        failed_ms = simulation.entry_ms
        rescued = self._screen.recorder.rescue() or "Everything done by hand has been saved already."
        self.pause()
        if not failed_ms:
            raise error  # there is no moment before it
        simulation.seek(failed_ms - 1)
        simulation.branch()
        self._screen.update()
        chosen = simulation.scenario.variant
        variant = "" if chosen is None else f", variant {chosen.number},"
        sentences = (
            (f"{type(error).__name__}: {error}", Role.FAILED),
            (f"It happened at {session.clock(failed_ms)}. The run is now just before that moment.", Role.PLAIN),
            ("Earlier moments can still be inspected: , and t go back.", Role.PLAIN),
            (rescued, Role.STRONG),
            (
                f"This is a defect of batchdeck. Scenario {simulation.scenario.name}{variant} with seed "
                f"{simulation.seed} reproduces it.",
                Role.DIM,
            ),
        )

        def lines(cells: int) -> list[Line]:
            found: list[Line] = []
            for text, role in sentences:
                found += [*((Span(f" {each}", role),) for each in wrapped(session.text(text), cells - 1)), ()]
            return found

        self._screen.app.push_screen(Sheet("The engine cannot continue", lines))
