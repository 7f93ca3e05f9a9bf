"""The clock of a server: simulated time follows the wall clock at a speed, or stands still between requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from engine.pacing.pacer import Pacer

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.run.simulation import Simulation

DEFAULT_SPEED = 60.0


class _Endless:
    """A simulation for the pacer: it is not finished while nothing happens, since clients may act at any moment."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.end_ms = simulation.end_ms

    @property
    def now_ms(self) -> int:
        return self._simulation.now_ms

    @property
    def finished(self) -> bool:
        return self.now_ms >= self.end_ms

    def advance(self, until_ms: int, max_events: int) -> bool:
        return self._simulation.advance(until_ms, max_events)

    def finish(self) -> None:
        """Leave the end of the run as it is: who stops the server settles it."""


class PacedClock:
    """Lets the time of a simulation pass on the event loop that also serves requests.

    ``failure`` is the exception with which the simulation has failed, if it has.
    """

    def __init__(self, simulation: Simulation, speed: float = DEFAULT_SPEED) -> None:
        """Wait to be started. ``speed`` is in simulated seconds per real second."""
        self.pacer = Pacer(_Endless(simulation), lambda: None, speed=speed)
        self.failure: BaseException | None = None
        self.on_failure: Callable[[], None] = lambda: None
        self._playing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Let time pass from now on."""
        self._playing = asyncio.create_task(self.pacer.play())
        self._playing.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Stop time."""
        self.pacer.stop()
        if self._playing is not None:
            await asyncio.wait([self._playing])

    def _ended(self, playing: asyncio.Task[None]) -> None:
        self.failure = None if playing.cancelled() else playing.exception()
        if self.failure is not None:
            self.on_failure()


class StandingClock:
    """A clock that only requests move, see ``Service.step_ms``."""

    def __init__(self) -> None:
        """Stand still; nothing can fail."""
        self.failure: BaseException | None = None
        self.on_failure: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Do nothing."""

    async def stop(self) -> None:
        """Do nothing."""


Clock = PacedClock | StandingClock
