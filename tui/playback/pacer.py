"""Makes simulated time go by, in slices on the loop that also reads the keys.

A slice is a few milliseconds of wall time, followed by a real sleep, see ``tui.playback.yielding``. While nothing
plays there is no task, no timer and no work at all.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol

from tui.playback.yielding import Way
from tui.settings.options import SPEEDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FASTEST = 1_000_000.0

_SLICE_S = 0.005
_STRIDE_S = 0.02  # a slice on the way to a moment: nothing is drawn then but how far it is
_IDLE_SLEEP_S = 0.02
_EVENTS_BETWEEN_LOOKS = 48
_FRAME_S = 0.1
_SLOW_FRAME_S = 0.25
_SLOW_DRAWING_S = 0.03


class Clockwork(Protocol):
    """What is paced: a simulation."""

    now_ms: int
    end_ms: int

    @property
    def finished(self) -> bool:
        """Whether nothing more can happen."""

    def advance(self, until_ms: int, max_events: int) -> bool:
        """Let at most so many events happen up to a moment; returns whether more is due until then."""

    def finish(self) -> None:
        """Settle the end of the run."""


class Pacer:
    """Plays a simulation at a speed; ``on_frame`` is called ten times a second while it plays, and when it stops.

    ``destination_ms`` is the moment it is on the way to, in ms since the start; None while it is not.
    """

    def __init__(
        self,
        simulation: Clockwork,
        on_frame: Callable[[], None],
        *,
        speed: float | None = 60,
        wall_s: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """A pacer that stands still; ``wall_s`` and ``sleep`` are the wall clock."""
        self._simulation = simulation
        self._on_frame = on_frame
        self._speed = speed
        self._wall_s = wall_s
        self.way = Way(wall_s, sleep)
        self._anchor = (0.0, 0)  # wall and simulated time when the present speed began to count
        self.playing = False
        self.destination_ms: int | None = None

    @property
    def speed(self) -> float | None:
        """Simulated seconds per wall second; None is as fast as it can."""
        return self._speed

    @speed.setter
    def speed(self, speed: float | None) -> None:
        self._speed = speed
        self._set_anchor()

    def faster(self) -> None:
        """The next speed up."""
        self.speed = next((speed for speed in SPEEDS[:-1] if self._speed is not None and speed > self._speed), None)  # type: ignore[operator]

    def slower(self) -> None:
        """The next speed down."""
        slower = [speed for speed in SPEEDS[:-1] if speed is not None and (self._speed is None or speed < self._speed)]
        self.speed = slower[-1] if slower else SPEEDS[0]

    def stop(self) -> None:
        """Stand still after the present slice."""
        self.playing = False
        self.destination_ms = None

    async def play(self) -> None:
        """Let time go by until ``stop`` is called or nothing more can happen."""
        self.playing = True
        self._set_anchor()
        next_frame_s = self._wall_s()
        try:
            while self.playing and not self._simulation.finished:
                is_ahead = self._slice()
                await (self.way.pause(_IDLE_SLEEP_S) if is_ahead else self.way.pause())
                now_s = self._wall_s()
                if now_s >= next_frame_s:
                    self._on_frame()
                    drawn_s = self._wall_s() - now_s
                    next_frame_s = now_s + (_SLOW_FRAME_S if drawn_s > _SLOW_DRAWING_S else _FRAME_S)
                    await self.way.pause()
            if self._simulation.finished:
                self._simulation.finish()
        finally:
            self.playing = False
        self._on_frame()

    # -- on the way to a moment ----------------------------------------------------------------------------------

    @property
    def is_on_the_way(self) -> bool:
        """Whether a moment is still to be reached."""
        return self.destination_ms is not None

    def set_out(self, when_ms: int) -> bool:
        """Begin to go to a moment as fast as it can; returns whether it is reached, else ``arrive`` goes on."""
        self.destination_ms = when_ms
        return self._stride(when_ms)

    async def arrive(self) -> bool:
        """Go on to where ``set_out`` began to go; returns whether that was reached and ``stop`` not called before."""
        next_frame_s = self._wall_s()
        try:
            while self.destination_ms is not None:
                if self._stride(self.destination_ms):
                    return True
                if self._wall_s() >= next_frame_s:
                    self._on_frame()
                    next_frame_s = self._wall_s() + _FRAME_S
                await self.way.pause()
            return False
        finally:
            self.destination_ms = None

    def _stride(self, until_ms: int) -> bool:
        """Let events happen for a moment of wall time; returns whether ``until_ms`` has been reached."""
        stop_s = self._wall_s() + _STRIDE_S
        while self._simulation.advance(until_ms, _EVENTS_BETWEEN_LOOKS):
            if self._wall_s() >= stop_s:
                return False
        self.destination_ms = None
        return True

    def _slice(self) -> bool:
        """Let events happen for a few milliseconds; returns whether simulated time is where it should be."""
        simulation = self._simulation
        until_ms = self._target_ms()
        stop_s = self._wall_s() + _SLICE_S
        while simulation.advance(until_ms, _EVENTS_BETWEEN_LOOKS):
            if self._wall_s() >= stop_s:
                self._stay_in_reach(until_ms)
                return False
        return True

    def _target_ms(self) -> int:
        if self._speed is None:
            return self._simulation.end_ms
        wall_s, simulated_ms = self._anchor
        return simulated_ms + int((self._wall_s() - wall_s) * self._speed * 1000)

    def _stay_in_reach(self, until_ms: int) -> None:
        """What this machine cannot do in time is not made up for later: a fresh start when a second behind."""
        if self._speed is not None and until_ms - self._simulation.now_ms > self._speed * 1000:
            self._set_anchor()

    def _set_anchor(self) -> None:
        self._anchor = (self._wall_s(), self._simulation.now_ms)
