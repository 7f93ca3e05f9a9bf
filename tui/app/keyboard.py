"""The keyboard: one key after the other, so that each goes where the one before it has led.

What a key does, it does in messages; somebody who types fast is ahead of them, and of a screen that is only opening.
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

# What a key does may post a message, and what that does another one: so often is asked whether all is done.
_ROUNDS = 3
_LOOK_S = 0.05


class Keyboard:
    """Holds back what is typed while what was typed before is not done."""

    def __init__(self, app: App[None]) -> None:
        """Of this application."""
        self._app = app
        self._held: deque[Event] = deque()
        self._let_go: Event | None = None
        self._leading: asyncio.Task[None] | None = None

    def holds(self, event: Event) -> bool:
        """Whether this is not yet to be heard; it comes again."""
        if self._leading is None or event is self._let_go:
            return False
        self._held.append(event)
        return True

    def follow(self) -> None:
        """Something typed was heard: the next is let go when all that it does is done."""
        self._leading = asyncio.create_task(self._lead())

    @property
    def is_leading(self) -> bool:
        """Whether what was typed is not done yet, or not even heard."""
        return self._leading is not None

    async def _lead(self) -> None:
        rounds, before = 0, self._listening()
        while rounds < _ROUNDS:
            for each in before:
                await _done(each, each.call_later)
            listening = self._listening()
            if listening != before and listening:
                await _done(listening[0], listening[0].call_after_refresh)  # much is filled in then
            rounds = rounds + 1 if listening == before else 0
            before = listening
        self._leading = None
        if self._held:
            self._let_go = self._held.popleft()
            self._leading = asyncio.current_task()
            self._app.post_message(self._let_go)

    def _listening(self) -> list[DOMNode]:
        """What hears a key, in this order; nothing once the application is left."""
        if not self._app.is_running or not self._app.screen_stack:
            return []
        return (self._app.focused or self._app.screen).ancestors_with_self


async def _done(node: DOMNode, call: Callable[[Callable[[], None]], bool]) -> None:
    """Wait until it has done all that it had to do, or is no more."""
    done = asyncio.Event()
    called = call(done.set)
    while called and (node.is_attached if node.parent else node.is_running) and not done.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _LOOK_S)
