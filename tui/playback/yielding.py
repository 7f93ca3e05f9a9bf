"""Whoever has pressed a key comes first: work that is done in pieces leaves room for what the key does and shows."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.dom import DOMNode

_WAY_S = 0.02  # within that most of what a key does has been done
# Between two pieces: a sleep of zero would keep the loop from reading keys.
_PAUSE_S = 0.001


class Way:
    """The pauses of work that is done in pieces, longer after a key."""

    def __init__(
        self,
        wall_s: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``wall_s`` and ``sleep`` are the wall clock."""
        self._wall_s = wall_s
        self._sleep = sleep
        self._until_s = 0.0

    def make(self) -> None:
        """A key was pressed: what it does and shows comes before the next piece of anything."""
        self._until_s = self._wall_s() + _WAY_S

    async def pause(self, seconds: float = _PAUSE_S) -> None:
        """Sleep, and longer where way is to be made; keys that follow one another fast do not hold work up."""
        await self._sleep(seconds)
        way_s = self._until_s - self._wall_s()
        if way_s > 0:
            await self._sleep(way_s)


@runtime_checkable
class _HasWay(Protocol):
    @property
    def way(self) -> Way: ...


def way_of(node: DOMNode) -> Way:
    """The way of the application in which this widget or screen is shown."""
    assert isinstance(node.app, _HasWay)
    return node.app.way
