"""Pacing of a simulation by the wall clock, for the dashboard and for the REST endpoint.

Simulated time advances in slices on the event loop that also reads keys or requests. A slice is a few milliseconds of
wall time, followed by a pause, so that keys and requests are handled promptly. There is no task and no timer while the
simulation is paused. The speeds that playback offers, and the limits of quiet stretches that it crosses, are listed
first.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence


# Simulated seconds per wall second; None is as fast as possible.
SPEEDS: tuple[float | None, ...] = (0.1, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, None)

# A stretch without events that would take longer is crossed at once, in wall seconds; and what is left of it then.
LONGEST_QUIET_S = 5.0
CROSSING_S = 2.0


RUN_S = 60  # wall seconds of an unattended run
# Crossing shortens a run. It is not made up for by a speed so low that hardly anything else is left.
_MOST_SLOWED = 6
_WHOLE_STEPS = [speed for speed in SPEEDS if speed is not None and speed >= 1]


def speed_for(length_ms: int, quiet_ms: Iterable[int] = ()) -> float:
    """Return the step of speed at which a run takes about a minute.

    Args:
        length_ms: The length of the run.
        quiet_ms: The lengths of stretches without events that are crossed at once if they are long.
    """
    stretches, usual = list(quiet_ms), max(1.0, length_ms / 1000 / RUN_S)
    steps = [step for step in _WHOLE_STEPS if usual / _MOST_SLOWED <= step]
    return min(steps or _WHOLE_STEPS[-1:], key=lambda step: abs(math.log(_wall_s(step, length_ms, stretches) / RUN_S)))


def _wall_s(speed: float, length_ms: int, stretches: Sequence[int]) -> float:
    """Return how long a run takes at a speed, in wall seconds."""
    crossed = [each for each in stretches if each > LONGEST_QUIET_S * speed * 1000]
    return max(1.0, (length_ms - sum(crossed)) / 1000 / speed + CROSSING_S * len(crossed))


_KEY_S = 0.05  # nearly all key presses are handled and drawn within this time
SLICE_S = 0.004  # of requests, between two pauses
# Rounds of the event loop in a pause. A key passes from task to task in each until it is known that one was pressed.
ROUNDS = 8
ROUND_S = 0.0  # no sleep: a millisecond after each slice would be a tenth of the speed
DRAWING_S = 0.001  # a pause in which a frame is drawn as a whole


@dataclass(eq=False)
class Yielder:
    """Pauses between slices of work; the pause after a key press is longer.

    ``wall_s`` and ``sleep`` read the wall clock and wait on it.
    """

    wall_s: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _until_s: float = 0.0

    def key_pressed(self) -> None:
        """Hold off the next slice until the key has been handled and its effect drawn."""
        self._until_s = self.wall_s() + _KEY_S

    async def pause(self, seconds: float | None = None) -> None:
        """Run the event loop for a few rounds, or sleep; sleep longer after a key press.

        Keys in quick succession do not stop the work.
        """
        if seconds is None:
            for _ in range(ROUNDS):
                await self.sleep(ROUND_S)
        else:
            await self.sleep(seconds)
        remaining_s = self._until_s - self.wall_s()
        if remaining_s > 0:
            await self.sleep(remaining_s)


class Turns:
    """A lock that runs pieces of work one at a time, with a pause after each slice of time.

    However many requests wait, a key is handled after the current one.
    """

    def __init__(self, pause: Callable[[], Awaitable[None]], wall_s: Callable[[], float] = time.perf_counter) -> None:
        """``pause`` lets the event loop do other things, and ``wall_s`` reads the wall clock."""
        self._pause = pause
        self._wall_s = wall_s
        self._one_by_one = asyncio.Lock()
        self._spent_s = 0.0  # since the last pause

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of the work in the ``async with`` block."""
        async with self._one_by_one:
            if self._spent_s >= SLICE_S:
                await self._pause()
                self._spent_s = 0.0
            began_s = self._wall_s()
            try:
                yield
            finally:
                self._spent_s += self._wall_s() - began_s


FASTEST = 1_000_000.0

_SLICE_S = 0.01
_BEGIN_SEEK_S = 0.1  # most steps back are over then, and so are drawn once
_SEEK_SLICE_S = 0.02  # only the progress is drawn during a seek
_IDLE_SLEEP_S = 0.02
_EVENTS_BETWEEN_CLOCK_READS = 48
FRAME_S = 0.1
_SLOW_FRAME_S = 0.25
_SLOW_DRAWING_S = 0.03
_STEPS = [speed for speed in SPEEDS if speed is not None]


class PacedSimulation(Protocol):
    """A simulation as far as the pacer needs it."""

    @property
    def now_ms(self) -> int:
        """The present moment, in ms since the start."""

    @property
    def end_ms(self) -> int:
        """The end of the run."""

    @property
    def finished(self) -> bool:
        """True when nothing more can happen."""

    def advance(self, until_ms: int, max_events: int) -> bool:
        """Let at most ``max_events`` happen up to ``until_ms``; return whether more is due until then."""

    def finish(self) -> None:
        """Settle the end of the run."""


class Outlook(Protocol):
    """The known future of a simulation."""

    crossed: list[tuple[int, int]]  # beginnings and ends

    @property
    def end_ms(self) -> int | None:
        """The end of the run, None if it is not known."""

    @property
    def previous_ms(self) -> int:
        """The last moment at which something happened."""

    def next_ms(self) -> int | None:
        """Return the next moment at which something may happen, or the end of the run; None if it is not known."""


class Pacer:
    """Plays a simulation at a speed, or takes it to a moment as fast as possible.

    ``on_frame`` is called ten times a second while it plays, and when it stops. ``destination_ms`` is the moment of
    the present seek in ms after the start, None without one. With ``crosses_quiet`` it crosses long stretches without
    events at once, and adds them to ``crossed``.
    """

    def __init__(
        self,
        simulation: PacedSimulation,
        on_frame: Callable[[], None],
        outlook: Outlook | None = None,
        *,
        speed: float | None = 60,
        wall_s: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``wall_s`` and ``sleep`` read the wall clock and wait on it."""
        self._simulation = simulation
        self._on_frame = on_frame
        self._outlook = outlook
        self._speed = speed
        self._wall_s = wall_s
        self.yielder = Yielder(wall_s, sleep)
        self._anchor = (0.0, 0)  # wall and simulated time when the present speed was set
        self.playing = False
        self.destination_ms: int | None = None
        self.crosses_quiet = True
        self.crossed: list[tuple[int, int]] = [] if outlook is None else outlook.crossed

    @property
    def is_over(self) -> bool:
        """True at the end of the run: nothing more can happen, or is known to happen."""
        known_ms = None if self._outlook is None else self._outlook.end_ms
        return self._simulation.finished or (known_ms is not None and self._simulation.now_ms >= known_ms)

    @property
    def speed(self) -> float | None:
        """Simulated seconds per wall second; None is as fast as possible."""
        return self._speed

    @speed.setter
    def speed(self, speed: float | None) -> None:
        self._speed = speed
        self._set_anchor()

    def faster(self) -> float | None:
        """Return the next higher speed; None is as fast as possible."""
        return next((speed for speed in _STEPS if self._speed is not None and speed > self._speed), None)

    def slower(self) -> float:
        """Return the next lower speed."""
        return next((speed for speed in reversed(_STEPS) if self._speed is None or speed < self._speed), _STEPS[0])

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
            while self.playing and not self.is_over:
                is_ahead = self._play_slice()
                await (self.yielder.pause(_IDLE_SLEEP_S) if is_ahead else self.yielder.pause())
                now_s = self._wall_s()
                if now_s >= next_frame_s:
                    self._on_frame()
                    drawn_s = self._wall_s() - now_s
                    next_frame_s = now_s + (_SLOW_FRAME_S if drawn_s > _SLOW_DRAWING_S else FRAME_S)
                    await self.yielder.pause(DRAWING_S)
            if self.is_over:
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
        """Run towards a moment for a while; return whether it was reached. If not, ``finish_seek`` goes on."""
        self.destination_ms = when_ms
        return self._seek_slice(when_ms, _BEGIN_SEEK_S)

    async def finish_seek(self) -> bool:
        """Run on to the moment given to ``begin_seek``; return False if ``stop`` was called first."""
        next_frame_s = self._wall_s()
        try:
            while self.destination_ms is not None:
                if self._seek_slice(self.destination_ms, _SEEK_SLICE_S):
                    return True
                if self._wall_s() >= next_frame_s:
                    self._on_frame()
                    next_frame_s = self._wall_s() + FRAME_S
                await self.yielder.pause()
            return False
        finally:
            self.destination_ms = None

    def _seek_slice(self, until_ms: int, most_s: float) -> bool:
        """Let events happen for so many wall seconds; return whether ``until_ms`` was reached."""
        stop_s = self._wall_s() + most_s
        while self._simulation.advance(until_ms, _EVENTS_BETWEEN_CLOCK_READS):
            if self._wall_s() >= stop_s:
                return False
        self.destination_ms = None
        return True

    def _play_slice(self) -> bool:
        """Let events happen for one slice; return whether simulated time is as far as the speed demands."""
        simulation = self._simulation
        self._cross_quiet()
        until_ms = self._target_ms()
        stop_s = self._wall_s() + _SLICE_S
        while simulation.advance(until_ms, _EVENTS_BETWEEN_CLOCK_READS):
            if self._wall_s() >= stop_s:
                self._drop_backlog(until_ms)
                return False
        if simulation.now_ms < until_ms:  # programs run, for which time goes by as it really does
            self._set_anchor()
        return True

    def _target_ms(self) -> int:
        known_ms = None if self._outlook is None else self._outlook.end_ms
        end_ms = self._simulation.end_ms if known_ms is None else known_ms
        if self._speed is None:
            return end_ms
        wall_s, simulated_ms = self._anchor
        return min(end_ms, simulated_ms + int((self._wall_s() - wall_s) * self._speed * 1000))

    def _cross_quiet(self) -> None:
        """Cross a long stretch without events, but for a moment after the last event and one before the next."""
        outlook, speed, now_ms = self._outlook, self._speed, self._simulation.now_ms
        if outlook is None or speed is None or not self.crosses_quiet:
            return
        linger_ms = round(CROSSING_S / 2 * speed * 1000)
        previous_ms, next_ms = outlook.previous_ms, outlook.next_ms()
        if next_ms is None or next_ms - previous_ms <= LONGEST_QUIET_S * speed * 1000:
            return
        to_ms = next_ms - linger_ms
        if now_ms >= previous_ms + linger_ms and to_ms > now_ms + linger_ms:
            if not any(from_ms <= now_ms and to_ms <= until_ms for from_ms, until_ms in self.crossed):
                self.crossed.append((now_ms, to_ms))
            self._anchor = (self._wall_s(), to_ms)

    def _drop_backlog(self, until_ms: int) -> None:
        """Start anew when more than a second behind: a machine that is too slow does not catch up later."""
        if self._speed is not None and until_ms - self._simulation.now_ms > self._speed * 1000:
            self._set_anchor()

    def _set_anchor(self) -> None:
        self._anchor = (self._wall_s(), self._simulation.now_ms)
