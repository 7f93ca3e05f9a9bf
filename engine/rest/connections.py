"""Connections of clients: HTTP/1.1, with an end to the patience for clients that keep a connection waiting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from starlette.types import ASGIApp, Receive, Scope, Send

HEAD_WITHIN_S = 30.0
"""The seconds in which a client has to send the head of a request, from the connection or its first byte on."""

TAKEN_WITHIN_S = 60.0
"""The seconds in which a client has to take what is ready to be sent to it."""


MOST_CONNECTIONS = 1500
"""The connections that are open at a time; each may hold half a head in memory."""

BUSY = "batchdeck.busy"
"""Among the extensions of a scope: the request came over a connection too many, and is to be refused."""


class Connection(H11Protocol):
    """A connection that is closed if its client stops in the midst of a request, or does not take the answer.

    uvicorn itself has a limit for the time between two requests alone. A body has its own, see ``application``. A
    connection too many takes the place of the one that has been without a request for the longest time; where each has
    one under way, it is answered that the server is busy.
    """

    _since_s = 0.0  # when its client last sent something

    _head_timer: asyncio.TimerHandle | None = None
    _taken_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for the first request."""
        super().connection_made(transport)
        self._since_s = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Go on with the request, or begin one."""
        self._since_s = self.loop.time()
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait."""
        for timer in (self._head_timer, self._taken_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Stop to send until the client has taken some of what is ready, and wait for that."""
        super().pause_writing()
        self._taken_timer = self.loop.call_later(TAKEN_WITHIN_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on sending."""
        if self._taken_timer is not None:
            self._taken_timer.cancel()
        super().resume_writing()

    def _make_room(self) -> None:
        """Close another connection that is without a request, or have the request of this one refused."""
        others = (each for each in self.connections if isinstance(each, Connection) and each is not self)
        idle = [other for other in others if other.conn.their_state is h11.IDLE]
        if not idle:
            self.app = partial(_refuse, self.app)
            return
        longest = min(idle, key=lambda other: other._since_s)
        self.connections.discard(longest)  # it counts no more, although the loop hears of its end only later
        longest.transport.abort()

    def _watch_head(self) -> None:
        """Wait for the rest of a head while there is none. More of it does not lengthen the wait."""
        if self.conn.their_state is h11.IDLE:
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(HEAD_WITHIN_S, self.transport.close)
        elif self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


async def _refuse(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Have the application refuse a request."""
    await app({**scope, "extensions": {**scope.get("extensions", {}), BUSY: {}}}, receive, send)
