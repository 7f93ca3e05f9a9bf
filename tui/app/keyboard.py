"""The keyboard, which passes on a key only when the one before it has been handled.

Keys act through messages. A fast typist is ahead of these, and of a screen that is about to open.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.dom import DOMNode
    from textual.events import Event

_ROUNDS = 3  # a handler may post a message whose handler posts another one
_POLL_S = 0.05


class Keyboard:
    """Holds back keys while an earlier key is being handled."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._held: deque[Event] = deque()
        self._released: Event | None = None
        self._handling: asyncio.Task[None] | None = None

    def holds(self, event: Event) -> bool:
        """Return True if the event is held back; it is posted again later."""
        if self._handling is None or event is self._released:
            return False
        self._held.append(event)
        return True

    def follow(self) -> None:
        """Wait until the key just dispatched has been handled, then release the next one."""
        self._handling = asyncio.create_task(self._handle())

    @property
    def is_busy(self) -> bool:
        """True while a key is being handled or held back."""
        return self._handling is not None

    @property
    def holds_any(self) -> bool:
        """True while keys are held back."""
        return bool(self._held)

    async def _handle(self) -> None:
        rounds, before = 0, self._receivers()
        while rounds < _ROUNDS:
            for each in before:
                await _done(each, each.call_later)
            receivers = self._receivers()
            if receivers != before and receivers:
                await _done(
                    receivers[0], receivers[0].call_after_refresh
                )  # a new screen is filled after its first refresh
            rounds = rounds + 1 if receivers == before else 0
            before = receivers
        self._handling = None
        if self._held:
            self._released = self._held.popleft()
            self._handling = asyncio.current_task()
            self._app.post_message(self._released)

    def _receivers(self) -> list[DOMNode]:
        """Return the nodes that receive a key, in order; none once the application has ended."""
        if not self._app.is_running or not self._app.screen_stack:
            return []
        return (self._app.focused or self._app.screen).ancestors_with_self


async def _done(node: DOMNode, call: Callable[[Callable[[], None]], bool]) -> None:
    """Wait until a node has processed its messages, or is removed."""
    done = asyncio.Event()
    called = call(done.set)
    while called and (node.is_attached if node.parent else node.is_running) and not done.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _POLL_S)
