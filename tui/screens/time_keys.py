"""Keys that move simulated time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.base.shortening import quoted
from engine.pacing.pacer import FASTEST
from tui.dialogs.sheet import Sheet
from tui.screens.base import ViewScreen
from tui.viewmodels.events.bookmarks import Bookmarks
from tui.viewmodels.events.compare import compare_lines
from tui.viewmodels.text import format as fmt
from tui.widgets.messages import GoToFailure, GoToTime, say
from tui.widgets.prompt import AnswerError

if TYPE_CHECKING:
    from tui.saving.recorder import Recorder
    from tui.settings.values import Settings
    from tui.viewmodels.session.session import Session


class TimeKeys(ViewScreen):
    """Play, step, seek, search, speed, branches and bookmarks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "run or pause simulated time", id="time.play"),
        Binding("full_stop", "step", "one event forward", id="time.step"),
        Binding("comma", "back", "one event back", id="time.back"),
        Binding("i", "finish_instant", "to the end of this instant", id="time.instant"),
        Binding("semicolon", "next_event", "to the next event of the row", id="time.row"),
        Binding("right_square_bracket", "faster", "faster", id="time.faster"),
        Binding("left_square_bracket", "slower", "slower", id="time.slower"),
        Binding("equals_sign", "set_speed(1)", "speed 1x", id="time.real"),
        Binding("right_curly_bracket", "set_speed(0)", "as fast as possible", id="time.max"),
        Binding("Z", "cross_quiet", "cross stretches without events at once, or play them", id="time.cross"),
        Binding("t", "ask_time", "go to a time", id="time.go"),
        Binding("G,ctrl+end", "go_to_end", "go to the end of the run", id="time.end"),
        Binding("b", "branch", "branch here", id="time.branch"),
        Binding("B", "bookmark", "bookmark this moment", id="time.bookmark"),
        Binding("c", "compare", "compare with a bookmark or an earlier run", id="time.compare"),
    ]

    def __init__(self, session: Session, recorder: Recorder, settings: Settings) -> None:
        super().__init__(session, recorder, settings)
        self.bookmarks = Bookmarks(session)

    def action_play(self) -> None:
        """Play, or pause whatever is going on."""
        self.playback.play()

    def action_step(self) -> None:
        """Let one event happen."""
        self.playback.step()

    def action_back(self) -> None:
        """Go to the moment of the previous event."""
        self.playback.back()

    def action_finish_instant(self) -> None:
        """Let everything happen that is due at this moment."""
        self.playback.finish_instant()

    def action_next_event(self) -> None:
        """Go on until something happens to the subject under the cursor."""
        subject, events = self.under_cursor, self.session.events
        if subject is None:
            say(self, "; goes to the next event of a row: put the cursor on one.")
        else:
            self.playback.search(lambda index: events.is_about(index, *subject), "Nothing more happens to it.")

    def on_go_to_failure(self, message: GoToFailure) -> None:
        """Go to the next or the previous failure."""
        self.playback.seek_failure(message.by)

    def on_go_to_time(self, message: GoToTime) -> None:
        """Go to a moment that was clicked."""
        self.playback.seek(message.when_ms)

    def action_ask_time(self) -> None:
        """Ask for a moment to go to."""
        self.ask("go to: +5m, -30s, 10:42, PT5M, start, end, failure", self.go_to_time)

    def action_go_to_end(self) -> None:
        """Go to the end of the run, or in the past to the newest moment."""
        self.playback.seek_end()

    def go_to_time(self, text: str) -> None:
        """Go to the moment that was typed. Raises AnswerError."""
        session, simulation = self.session, self.session.simulation
        match text.strip():
            case "start":
                self.playback.seek(0)
            case "end":
                self.playback.seek_end()
            case "failure" | "next failure":
                self.playback.seek_failure(1)
            case typed:
                try:
                    when_ms = fmt.parse_moment(
                        typed, simulation.scenario.start, simulation.now_ms, session.last_known_ms
                    )
                except ValueError as error:
                    raise AnswerError(str(error)) from None
                self.playback.seek(max(0, when_ms), partial(self._say_if_outside, when_ms))

    def _say_if_outside(self, when_ms: int) -> None:
        """Say that the run has no such moment if it begins later or has ended before."""
        session = self.session
        if when_ms < 0:
            say(self, f"The run begins here, at {session.clock(0)}: nothing happens earlier.")
        elif session.is_over and session.now_ms < when_ms:
            say(self, f"The run ends here, at {session.clock(session.now_ms)}: nothing happens later.")

    # -- speed ---------------------------------------------------------------------------------------------------

    def action_faster(self) -> None:
        """Take the next higher speed."""
        self.playback.choose_speed(self.playback.pacer.faster())
        self.update_header()

    def action_slower(self) -> None:
        """Take the next lower speed."""
        self.playback.choose_speed(self.playback.pacer.slower())
        self.update_header()

    def action_set_speed(self, speed: float) -> None:
        """Take a speed; 0 is as fast as possible."""
        self.playback.choose_speed(speed or None)
        self.update_header()
        if not speed and not self.playback.pacer.playing:
            end, play = self.keymap.shown("time.end"), self.keymap.shown("time.play")
            say(self, f"As fast as possible: {play} runs, {end} goes to the end.")

    def action_cross_quiet(self) -> None:
        """Cross stretches in which nothing happens at once, or play them."""
        crosses = not self.settings.value("cross_quiet")
        self.settings.choose("cross_quiet", crosses)
        self.playback.pacer.crosses_quiet = crosses
        self.playback.take_usual_speed()
        say(self, "Stretches without events are crossed at once." if crosses else "Every stretch of time is played.")
        self.update_header()

    def take_speed(self, text: str) -> None:
        """Take the speed that was typed. Raises AnswerError."""
        try:
            speed = float(text.strip().lower().lstrip("x").replace("max", "0"))
        except ValueError:
            speed = -1
        if not 0 <= speed <= FASTEST:
            raise AnswerError(f"{quoted(text)} is not a speed: must be a number, or max.")
        self.action_set_speed(speed)

    # -- branches and bookmarks ----------------------------------------------------------------------------------

    def action_branch(self) -> None:
        """Make the moment that is shown the present."""
        self.playback.stop_seeking()
        if not self.session.is_past:
            say(self, "This is the present; , goes back.")
            return
        self.bookmarks.keep_run()
        undone = len(self.session.simulation.branch())
        now_ms, crossed = self.session.now_ms, self.session.crossed
        crossed[:] = [stretch for stretch in crossed if stretch[1] <= now_ms]
        loss = f" {fmt.counted(undone, 'later command')} {'is' if undone == 1 else 'are'} undone." if undone else ""
        say(self, f"Branched: time goes on from here.{loss} c compares with the run that was left.")
        self.update()

    def action_bookmark(self) -> None:
        """Remember the present moment."""
        number = self.bookmarks.add()
        say(self, f"Bookmark {number}: {self.session.clock(self.session.now_ms)}. ' goes there, c compares.")

    def action_compare(self) -> None:
        """Compare the present moment with a bookmark, or with a run that was left."""
        self.playback.pause()
        session, here, others = self.session, self.bookmarks.here(), self.bookmarks.others()

        def show(number: int) -> None:
            other = others[number]
            self.app.push_screen(Sheet("Compare", lambda cells: compare_lines(session, here, other, cells)))

        nothing = "There is nothing to compare with yet: B bookmarks a moment, b branches from one."
        self.pick("Compare this moment with", [other.name for other in others], show, nothing)
