"""The HTTP server: a socket, uvicorn on it, and an end in order when a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import uvicorn

from engine.base.signals import HANG_UP, handled
from engine.rest.connections import Connection

if TYPE_CHECKING:
    from types import FrameType

    from starlette.applications import Starlette

LOOPBACK = ("127.0.0.1", "::1", "localhost")
DEFAULT_PORT = 8100

_LONGEST_HEAD = 64 * 1024  # bytes of a request line and headers
_IDLE_S = 75
_MOST_WAITING = 2048
_MOST_OPEN = 16_384
_ENDS_WITHIN_S = 2


def listen(host: str, port: int | None) -> socket.socket:
    """Return a listening socket. Without a port it is the default one, or a free one if that is taken.

    Raises:
        OSError: The address or the port that was asked for cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = (DEFAULT_PORT, 0) if port is None else (port,)
    for number in ports:
        # With the protocol named, asyncio sends head and body of an answer without waiting for the client in between.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
        except OSError:
            listener.close()
            if number == ports[-1]:
                raise
        else:
            listener.listen(_MOST_WAITING)
            listener.setblocking(False)
            return listener
    raise AssertionError("there is always a last port")


class Server(uvicorn.Server):
    """A server that leaves signals to ``run``, and calls ``on_start`` once it accepts connections."""

    def __init__(self, app: Starlette, on_start: Callable[[], None], certificate: str | None = None) -> None:
        """Prepare to serve ``app``, with TLS if there is a PEM file with a certificate and its key."""
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=_MOST_WAITING,
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            timeout_keep_alive=_IDLE_S,
            timeout_graceful_shutdown=_ENDS_WITHIN_S,
            ssl_certfile=certificate,
        )
        super().__init__(config)
        self._on_start = on_start
        self.caught: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell so."""
        await super().startup(sockets)
        if self.started:
            self._on_start()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    def end(self) -> None:
        """End in order; a second call does not wait for open connections."""
        self.force_exit = self.should_exit
        self.should_exit = True

    def on_signal(self, number: int, _: FrameType | None) -> None:
        """End because of a signal, of which the first is kept."""
        self.caught = self.caught or number
        self.end()


def allow_connections(most: int) -> None:
    """Let this process have so many open connections if the system allows it: the usual limit is 1,024 files."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def run(server: Server, listener: socket.socket) -> int | None:
    """Serve until a signal comes; return its number, or None if the server ended by itself.

    The signals are SIGINT, SIGTERM and SIGHUP, but those that are ignored, as ``nohup`` has it, stay so.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, HANG_UP)
    ending = [one for one in numbers if one and signal.getsignal(one) is not signal.SIG_IGN]
    allow_connections(_MOST_OPEN)
    with handled(dict.fromkeys(ending, server.on_signal)):
        asyncio.run(server.serve([listener]))
    return server.caught
