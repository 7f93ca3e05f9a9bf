"""Running a server until a signal comes, with what runs beside it and ends with it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Protocol

from engine.base.runtime import handled
from engine.rest.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

_MOST_OPEN = 16_384


def allow_connections(most: int) -> None:
    """Raise the limit of open connections of this process if the system allows it; 1,024 files are usual."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Companion(Protocol):
    """What runs beside a server, and ends with it."""

    async def run(self) -> None:
        """Run until ``end`` is called, or by itself earlier."""

    def end(self) -> None:
        """Let ``run`` return."""


class Plain:
    """An application that is served without TLS beside a server."""

    def __init__(self, app: ASGIApp, listener: socket) -> None:
        """Prepare to serve it where ``listener`` listens."""
        self._server, self._listener = Server(app, lambda: None), listener

    async def run(self) -> None:
        """Serve, see ``Companion``."""
        await self._server.serve([self._listener])

    def end(self) -> None:
        """Let ``run`` return."""
        self._server.end()


def run(server: Server, listener: socket, companions: Sequence[Companion] = ()) -> int | None:
    """Serve until a signal comes; return its number, or None if the server ended by itself.

    The signals are SIGINT, SIGTERM and SIGHUP, but those that are ignored, as ``nohup`` has it, stay so.
    """
    allow_connections(_MOST_OPEN)
    with handled(server.on_signal):
        asyncio.run(serve_with(server, listener, companions))
    return server.caught


async def serve_with(server: Server, listener: socket, companions: Sequence[Companion]) -> None:
    """Serve until the server ends, with its companions beside it."""
    async with asyncio.TaskGroup() as group:
        for companion in companions:
            group.create_task(companion.run())
        await server.serve([listener])
        for companion in companions:
            companion.end()


def over_tls(app: ASGIApp) -> ASGIApp:
    """Return an application whose requests have come over TLS that has ended elsewhere."""

    async def decrypted(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "scheme": "https"} if scope["type"] == "http" else scope, receive, send)

    return decrypted
