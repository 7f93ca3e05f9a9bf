"""Yielding to the event loop between slices of work, so that keys and requests are handled promptly."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

_KEY_S = 0.05  # nearly all key presses are handled and drawn within this time
SLICE_S = 0.004  # of requests, between two pauses
# Rounds of the event loop in a pause. A key passes from task to task in each until it is known that one was pressed.
ROUNDS = 8
ROUND_S = 0.0  # no sleep: a millisecond after each slice would be a tenth of the speed
DRAWING_S = 0.001  # a pause in which a frame is drawn as a whole


class Yielder:
    """Pauses between slices of work; the pause after a key press is longer."""

    def __init__(
        self,
        wall_s: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``wall_s`` and ``sleep`` read the wall clock and wait on it."""
        self._wall_s = wall_s
        self._sleep = sleep
        self._until_s = 0.0

    def key_pressed(self) -> None:
        """Hold off the next slice until the key has been handled and its effect drawn."""
        self._until_s = self._wall_s() + _KEY_S

    async def pause(self, seconds: float | None = None) -> None:
        """Let the event loop do what is ready, or sleep, and once more after a key press.

        Keys in quick succession do not stop the work.
        """
        if seconds is None:
            for _ in range(ROUNDS):
                await self._sleep(ROUND_S)
        else:
            await self._sleep(seconds)
        remaining_s = self._until_s - self._wall_s()
        if remaining_s > 0:
            await self._sleep(remaining_s)


class Turns:
    """Gives pieces of work that come at any time their turns, one by one, with a pause after each slice of time.

    However many requests wait, a key is handled after the present one.
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
