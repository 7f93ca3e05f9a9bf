"""A terminal that keeps nothing but counts, and says when what a key has changed is on it."""

from __future__ import annotations

import asyncio
import time
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.drivers.headless_driver import HeadlessDriver

if TYPE_CHECKING:
    from collections.abc import Callable


_PATIENCE_S = 30


class Seen(NamedTuple):
    """The time until something was on the screen: on the clock, and of the processor, in seconds."""

    clock_s: float
    cpu_s: float


class Terminal(HeadlessDriver):
    """What Textual would send to a terminal comes here."""

    bytes_out = 0
    writes = 0
    _awaited: tuple[Callable[[], str | None], Seen, asyncio.Future[Seen]] | None = None

    @property
    def is_headless(self) -> bool:
        """Everything is drawn, as for a terminal that somebody looks at."""
        return False

    def write(self, data: str) -> None:
        """Count it, and look for what is awaited."""
        self.bytes_out += len(data.encode())
        self.writes += len(data) > 64  # less than that are marks around a frame
        if self._awaited is None:
            return
        wanted, began, seen = self._awaited
        text = wanted()
        if text is not None and text in data:
            self._awaited = None
            seen.set_result(Seen(time.perf_counter() - began.clock_s, time.process_time() - began.cpu_s))

    async def press(self, key: str, wanted: Callable[[], str | None], after_s: float) -> Seen:
        """Press a key from another thread, as a terminal does; returns how long until ``wanted`` was written.

        ``wanted`` is None as long as the key has changed nothing. The clock runs from the moment at which the key was
        to be pressed, however long the thread had to wait for its turn.
        """
        began_s = time.perf_counter() + after_s
        seen: asyncio.Future[Seen] = asyncio.get_running_loop().create_future()

        def type_it() -> None:
            time.sleep(after_s)
            self._awaited = wanted, Seen(began_s, time.process_time()), seen
            self.process_message(events.Key(key, key if len(key) == 1 else None))

        Thread(target=type_it, daemon=True).start()
        return await asyncio.wait_for(seen, _PATIENCE_S)

    async def see(self, act: Callable[[], object], wanted: Callable[[], str | None]) -> Seen:
        """Return how long it takes from an act until ``wanted`` was written."""
        seen: asyncio.Future[Seen] = asyncio.get_running_loop().create_future()
        self._awaited = wanted, Seen(time.perf_counter(), time.process_time()), seen
        act()
        return await asyncio.wait_for(seen, _PATIENCE_S)
