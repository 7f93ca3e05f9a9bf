"""A screen over a run: time goes by, stands still, is taken back."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui import format as fmt
from tui.messages import GoTo
from tui.pacer import FASTEST, Pacer

if TYPE_CHECKING:
    from tui.viewmodels.session import Session

# While time goes by, a view is drawn anew when nine times what that took has passed: one part drawing in ten.
_REST = 9


class Timed(Screen[None]):
    """The transport: play, step, back, speed, go to a time, branch."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "run, pause", id="time.play"),
        Binding("full_stop", "step", "one event forward", id="time.step"),
        Binding("comma", "back", "one event back", id="time.back"),
        Binding("right_square_bracket", "faster", "faster", id="time.faster"),
        Binding("left_square_bracket", "slower", "slower", id="time.slower"),
        Binding("equals_sign", "speed(1)", "speed 1x", id="time.real"),
        Binding("right_curly_bracket", "speed(0)", "as fast as it can", id="time.max"),
        Binding("t", "ask_time", "go to a time", id="time.go"),
        Binding("b", "branch", "branch here", id="time.branch"),
    ]

    def __init__(self, session: Session, *, speed: float | None) -> None:
        """A screen over a session, standing still."""
        super().__init__()
        self.session = session
        self.pacer = Pacer(session.simulation, self._frame, speed=speed)
        self._next_look_s = 0.0

    @abstractmethod
    def look(self) -> None:
        """Bring everything on the screen up to date."""

    @abstractmethod
    def look_at_header(self) -> None:
        """Bring clock and hints up to date."""

    def on_unmount(self) -> None:
        """Time stands still when nobody looks."""
        self.pacer.stop()

    def _frame(self) -> None:
        """Time has gone by: draw, unless drawing takes too much of the time."""
        if not self.is_running:
            return
        began_s = time.perf_counter()
        if self.pacer.playing and began_s < self._next_look_s:
            self.session.noted()
            self.look_at_header()
            return
        self.look()
        ended_s = time.perf_counter()
        self._next_look_s = ended_s + _REST * (ended_s - began_s)

    def action_play(self) -> None:
        """Let time go by, or stop it."""
        if self.pacer.playing:
            self.pacer.stop()
        else:
            self.run_worker(self.pacer.play(), group="time", exclusive=True)

    def stand_still(self) -> None:
        """Let time stand still after the present slice."""
        self.pacer.stop()

    def action_step(self) -> None:
        """One event forward."""
        self.stand_still()
        if not self.session.simulation.step():
            self.notify("Nothing more can happen.", markup=False)
        self.look()

    def action_back(self) -> None:
        """To the moment of the event before."""
        when_ms = self.session.events.previous_ms()
        self.seek(0 if when_ms is None else when_ms)

    def seek(self, when_ms: int) -> None:
        """Look at a moment, in ms since the start."""
        self.stand_still()
        self.session.noted()
        self.session.simulation.seek(when_ms)
        self.look()

    def action_faster(self) -> None:
        """The next speed up."""
        self.pacer.faster()
        self.look_at_header()

    def action_slower(self) -> None:
        """The next speed down."""
        self.pacer.slower()
        self.look_at_header()

    def action_speed(self, speed: float) -> None:
        """This speed; 0 is as fast as it can."""
        self.pacer.speed = speed or None
        self.look_at_header()

    def on_go_to(self, message: GoTo) -> None:
        """A moment was clicked."""
        self.seek(message.when_ms)

    def go_to_time(self, text: str) -> None:
        """The moment as it was typed."""
        simulation = self.session.simulation
        if text.strip() == "end":
            self.seek(
                max(self.session.newest_ms, simulation.log.last_ms) if self.session.is_past else simulation.end_ms
            )
            if simulation.finished:
                simulation.finish()
                self.look()
            return
        try:
            self.seek(fmt.parse_moment(text, simulation.scenario.start, simulation.now_ms))
        except ValueError as error:
            self.notify(str(error), severity="error", markup=False)

    def set_speed(self, text: str) -> None:
        """The speed as it was typed."""
        try:
            speed = float(text.strip().lower().lstrip("x").replace("max", "0"))
        except ValueError:
            speed = -1
        if 0 <= speed <= FASTEST:
            self.action_speed(speed)
        else:
            self.notify(f"{text!r} is no speed: a number, or max", severity="error", markup=False)

    def action_branch(self) -> None:
        """Make the moment that is looked at the present."""
        if not self.session.is_past:
            self.notify("This is the present; , goes back.", markup=False)
            return
        self.session.simulation.branch()
        self.notify("Branched: what came after this moment is forgotten, time goes on from here.", markup=False)
        self.look()
