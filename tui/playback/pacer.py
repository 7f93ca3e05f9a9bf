"""The pacer, which lets simulated time advance in slices on the loop that also reads the keys.

A slice is a few milliseconds of wall time, followed by a real sleep, see ``tui.playback.yielding``. There is no task
and no timer while the simulation is paused.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol

from tui.playback.yielding import Yielder
from tui.settings.options import SPEEDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FASTEST = 1_000_000.0

_SLICE_S = 0.005
_SEEK_SLICE_S = 0.02  # only the progress is drawn during a seek
_IDLE_SLEEP_S = 0.02
_EVENTS_BETWEEN_CLOCK_READS = 48
_FRAME_S = 0.1
_SLOW_FRAME_S = 0.25
_SLOW_DRAWING_S = 0.03


class PacedSimulation(Protocol):
    """A simulation as far as the pacer needs it."""

    now_ms: int
    end_ms: int

    @property
    def finished(self) -> bool:
        """True when nothing more can happen."""

    def advance(self, until_ms: int, max_events: int) -> bool:
        """Let at most ``max_events`` happen up to ``until_ms``; return whether more is due until then."""

    def finish(self) -> None:
        """Settle the end of the run."""


class Pacer:
    """Plays a simulation at a speed, or takes it to a moment as fast as possible.

    ``on_frame`` is called ten times a second while it plays, and when it stops. ``destination_ms`` is the moment of
    the present seek in ms after the start, None without one.
    """

    def __init__(
        self,
        simulation: PacedSimulation,
        on_frame: Callable[[], None],
        *,
        speed: float | None = 60,
        wall_s: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``wall_s`` and ``sleep`` read the wall clock and wait on it."""
        self._simulation = simulation
        self._on_frame = on_frame
        self._speed = speed
        self._wall_s = wall_s
        self.yielder = Yielder(wall_s, sleep)
        self._anchor = (0.0, 0)  # wall and simulated time when the present speed was set
        self.playing = False
        self.destination_ms: int | None = None

    @property
    def speed(self) -> float | None:
        """Simulated seconds per wall second; None is as fast as possible."""
        return self._speed

    @speed.setter
    def speed(self, speed: float | None) -> None:
        self._speed = speed
        self._set_anchor()

    def faster(self) -> None:
        """Take the next higher speed."""
        self.speed = next((speed for speed in SPEEDS[:-1] if self._speed is not None and speed > self._speed), None)  # type: ignore[operator]

    def slower(self) -> None:
        """Take the next lower speed."""
        slower = [speed for speed in SPEEDS[:-1] if speed is not None and (self._speed is None or speed < self._speed)]
        self.speed = slower[-1] if slower else SPEEDS[0]

    def stop(self) -> None:
        """Stop playing or seeking after the present slice."""
        self.playing = False
        self.destination_ms = None

    async def play(self) -> None:
        """Let time advance until ``stop`` is called or nothing more can happen."""
        self.playing = True
        self._set_anchor()
        next_frame_s = self._wall_s()
        try:
            while self.playing and not self._simulation.finished:
                is_ahead = self._play_slice()
                await (self.yielder.pause(_IDLE_SLEEP_S) if is_ahead else self.yielder.pause())
                now_s = self._wall_s()
                if now_s >= next_frame_s:
                    self._on_frame()
                    drawn_s = self._wall_s() - now_s
                    next_frame_s = now_s + (_SLOW_FRAME_S if drawn_s > _SLOW_DRAWING_S else _FRAME_S)
                    await self.yielder.pause()
            if self._simulation.finished:
                self._simulation.finish()
        finally:
            self.playing = False
        self._on_frame()

    # -- seeking -------------------------------------------------------------------------------------------------

    @property
    def is_seeking(self) -> bool:
        """True from ``begin_seek`` until the moment is reached or ``stop`` is called."""
        return self.destination_ms is not None

    def begin_seek(self, when_ms: int) -> bool:
        """Run towards a moment for one slice; return whether it was reached. If not, ``finish_seek`` goes on."""
        self.destination_ms = when_ms
        return self._seek_slice(when_ms)

    async def finish_seek(self) -> bool:
        """Run on to the moment given to ``begin_seek``; return False if ``stop`` was called first."""
        next_frame_s = self._wall_s()
        try:
            while self.destination_ms is not None:
                if self._seek_slice(self.destination_ms):
                    return True
                if self._wall_s() >= next_frame_s:
                    self._on_frame()
                    next_frame_s = self._wall_s() + _FRAME_S
                await self.yielder.pause()
            return False
        finally:
            self.destination_ms = None

    def _seek_slice(self, until_ms: int) -> bool:
        """Let events happen for one slice; return whether ``until_ms`` was reached."""
        stop_s = self._wall_s() + _SEEK_SLICE_S
        while self._simulation.advance(until_ms, _EVENTS_BETWEEN_CLOCK_READS):
            if self._wall_s() >= stop_s:
                return False
        self.destination_ms = None
        return True

    def _play_slice(self) -> bool:
        """Let events happen for one slice; return whether simulated time is as far as the speed demands."""
        simulation = self._simulation
        until_ms = self._target_ms()
        stop_s = self._wall_s() + _SLICE_S
        while simulation.advance(until_ms, _EVENTS_BETWEEN_CLOCK_READS):
            if self._wall_s() >= stop_s:
                self._drop_backlog(until_ms)
                return False
        return True

    def _target_ms(self) -> int:
        if self._speed is None:
            return self._simulation.end_ms
        wall_s, simulated_ms = self._anchor
        return simulated_ms + int((self._wall_s() - wall_s) * self._speed * 1000)

    def _drop_backlog(self, until_ms: int) -> None:
        """Start anew when more than a second behind: a machine that is too slow does not catch up later."""
        if self._speed is not None and until_ms - self._simulation.now_ms > self._speed * 1000:
            self._set_anchor()

    def _set_anchor(self) -> None:
        self._anchor = (self._wall_s(), self._simulation.now_ms)
