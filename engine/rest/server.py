"""The HTTP server: sockets, connections of clients, and the ASGI application on them.

The application asks whether a caller may send requests at all, reads them off the wire, has the service answer them,
and writes the answers. A connection is closed if its client keeps it waiting, and the server ends in order when a
signal comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from starlette.requests import ClientDisconnect
from starlette.requests import Request as WireRequest
from starlette.responses import Response, StreamingResponse
from starlette.routing import Router
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from engine.base.errors import BatchError
from engine.base.hosts import LOCALHOST
from engine.base.values import shortened
from engine.rest.hosts import Hosts
from engine.rest.messages import LONGEST_BODY, Answer, Answering, Request

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from engine.pacing import Turns
    from engine.rest.session import PacedClock


HEAD_WITHIN_S = 30.0
"""The seconds in which a client has to send the head of a request, from the connection or its first byte on."""

TAKEN_WITHIN_S = 60.0
"""The seconds in which a client has to take what is ready to be sent to it."""


MOST_CONNECTIONS = 1500
"""The connections that are open at a time; each may hold half a head in memory."""

BUSY = "batchdeck.busy"
"""Among the extensions of a scope: the request came over a connection too many, and is to be refused."""

MALFORMED = "batchdeck.malformed"
"""Among the extensions of a scope: what is wrong with the text of the request, which is to be refused."""


class Connection(H11Protocol):
    """A connection that is closed if its client stops in the midst of a request, or does not take the answer.

    uvicorn itself has a limit for the time between two requests alone. A body has its own, see ``application``. A
    connection too many takes the place of the one that has been without a request for the longest time; where each has
    one under way, it is answered that the server is busy.
    """

    _since_s = 0.0  # when its client last sent something

    _is_malformed = False

    _head_timer: asyncio.TimerHandle | None = None
    _taken_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start the time limit for the first request; make room if there are too many connections."""
        super().connection_made(transport)
        self._since_s = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Pass the data on, and start or end the time limit for a head."""
        self._since_s = self.loop.time()
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limits."""
        for timer in (self._head_timer, self._taken_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Stop sending until the client has taken some of the data, within a time limit."""
        super().pause_writing()
        self._taken_timer = self.loop.call_later(TAKEN_WITHIN_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Continue to send, and cancel the time limit."""
        if self._taken_timer is not None:
            self._taken_timer.cancel()
        super().resume_writing()

    def _make_room(self) -> None:
        """Close another connection that is without a request, or have the request of this one refused."""
        others = (each for each in self.connections if isinstance(each, Connection) and each is not self)
        idle = [other for other in others if other.conn.their_state is h11.IDLE]
        if not idle:
            self.app = partial(_refuse, self.app, BUSY, "")
            return
        longest = min(idle, key=lambda other: other._since_s)
        self.connections.discard(longest)  # it counts no more, although the loop hears of its end only later
        longest.transport.abort()

    def _watch_head(self) -> None:
        """Limit the time for the rest of a head until it is complete. More data does not extend the limit."""
        if self.conn.their_state is h11.IDLE:
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(HEAD_WITHIN_S, self.transport.close)
        elif self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def send_400_response(self, msg: str) -> None:
        """Have the application refuse what is no HTTP request, or the request of which this is the body."""
        if self._is_malformed:
            return
        self._is_malformed = True
        wrong = str(sys.exc_info()[1] or msg)
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first request
        if cycle is not None and not cycle.response_complete:  # it is the body that is malformed: it ends here
            scope: Scope = cycle.scope  # type: ignore[assignment]  # ASGI lets servers have extensions of their own
            scope["extensions"] = {MALFORMED: wrong}
            cycle.more_body = cycle.waiting_for_100_continue = False
            cycle.message_event.set()
            return
        self.flow.pause_reading()
        refused = self.loop.create_task(self._refuse_malformed({**_NO_REQUEST, "scheme": self.scheme}, wrong))
        self.tasks.add(refused)
        refused.add_done_callback(self.tasks.discard)

    async def _refuse_malformed(self, scope: Scope, wrong: str) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                head = h11.Response(status_code=message["status"], headers=message["headers"])
                data = self.conn.send(head)
            else:
                data = self.conn.send(h11.Data(data=message["body"]))
            self.transport.write(data or b"")

        try:
            await _refuse(self.app, MALFORMED, wrong, scope, receive, send)
        finally:
            self.transport.close()


_NO_REQUEST: Mapping[str, Any] = {"type": "http", "method": "-", "raw_path": b"-", "query_string": b"", "headers": []}
"""The scope of what is no HTTP request: nobody knows what it asks for."""


async def _refuse(app: ASGIApp, reason: str, detail: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Let the application refuse a request for a reason of this module."""
    await app({**scope, "extensions": {**scope.get("extensions", {}), reason: detail}}, receive, send)


BODY_WITHIN_S = 30.0
"""The seconds in which a client has to send the body of a request."""

LONGEST_BODIES = 64 << 20
"""The most bytes of all bodies that are being read; beyond that a request is answered with ServerBusy."""

_LONGEST_IGNORED = 16 << 20  # bytes of a body that is too large
_BLOCK = 64 * 1024  # bytes

Report = Callable[[Request, Answer, float], None]
"""Called after each request with its answer and the seconds that the answer took."""


def application(
    service: Answering,
    clock: PacedClock | None = None,
    report: Report | None = None,
    turns: Turns | None = None,
    hosts: Hosts | None = None,
) -> ASGIApp:
    """Return the application that serves an account.

    Args:
        service: The account, or doors in front of it.
        clock: Runs while the application does; without one, time stands still between requests.
        report: Is told of each request that is answered.
        turns: Gives requests their turns, where the event loop has more to do than to answer them.
        hosts: The names by which clients may reach it.
    """

    def running(_: object) -> AbstractAsyncContextManager[None]:
        return nullcontext() if clock is None else clock.running()

    return _Application(service, Router(lifespan=running), report, turns, hosts or Hosts(), _Bodies())


@dataclass(eq=False)
class _Application:
    """Serves an account, see ``application``; ``other`` is the application for all that is no request."""

    service: Answering
    other: ASGIApp
    report: Report | None
    turns: Turns | None
    hosts: Hosts
    bodies: _Bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that the caller may send at all, or refuse it before its body is read."""
        if scope["type"] != "http":
            await self.other(scope, receive, send)
            return
        wire = WireRequest(scope, receive)
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path, query = scope["raw_path"].decode("latin-1").partition("?")[0], scope["query_string"].decode("latin-1")
        arrived_at, _ = scope.get("server") or ("", None)  # at which address of this machine
        try:
            _check_form(scope)
            path = self.hosts.admit(path, headers, arrived_at, _repeated(scope, headers))
        except BatchError as error:
            request = Request(scope["method"], path, query, headers, base=f"{scope['scheme']}://{LOCALHOST}")
            await _send_early(await self._answer(request, error), wire, self.bodies, send)
            return
        body, refused = b"", None
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                body = await self.bodies.read(wire)
            _check_form(scope)
        except TimeoutError:
            refused = BatchError("InvalidRequestBody", f"it has not arrived within {BODY_WITHIN_S:g} s")
        except ClientDisconnect:
            return
        except BatchError as error:
            refused = error
        if BUSY in scope.get("extensions", ()):
            refused = BatchError("ServerBusy", "too many connections are open")
        request = Request(scope["method"], path, query, headers, body, f"{scope['scheme']}://{headers['host']}")
        await _response(await self._answer(request, refused), closes=refused is not None)(scope, receive, send)

    async def _answer(self, request: Request, refused: BatchError | None) -> Answer:
        """Return the answer to a request, which is reported: with 500 if this fails."""
        began_s, answer = time.perf_counter(), _FAILED
        try:
            if request.path == "/healthz" and request.reads and refused is None:
                answer = HEALTHY
            else:
                async with nullcontext() if self.turns is None else self.turns.turn():
                    answer = self.service.answer(request, refused)
                if answer.delay_s:
                    await asyncio.sleep(answer.delay_s)
        finally:
            if self.report is not None:
                self.report(request, answer, time.perf_counter() - began_s)
        return answer


_FAILED = Answer(500, code="InternalError")


def _check_form(scope: Scope) -> None:
    """Refuse what the connection has found to be no HTTP request. Raises BatchError."""
    wrong = scope.get("extensions", {}).get(MALFORMED)
    if wrong is not None:
        raise BatchError("InvalidInput", f"this is no HTTP request: {shortened(wrong)}")


def _repeated(scope: Scope, headers: Mapping[str, str]) -> Iterable[str]:
    """Return the names of headers that a request has more than once, often none."""
    if len(headers) == len(scope["headers"]):
        return ()
    counts = Counter(name.decode("latin-1").lower() for name, _ in scope["headers"])
    return [name for name, count in counts.items() if count > 1]


HEALTHY = Answer(200, b"ok\n", {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"})
"""The answer to ``GET /healthz``, which needs no key and tells nothing about the account."""


async def _send_early(answer: Answer, wire: WireRequest, bodies: _Bodies, send: Send) -> None:
    """Send an answer before the body of the request has been read, and read it only to drop it.

    Most clients listen for an answer after they have sent all; closing the connection earlier would lose the answer.
    """

    async def hold(message: Message) -> None:
        if message["type"] == "http.response.body":
            await send({**message, "more_body": True})
            with contextlib.suppress(TimeoutError, ClientDisconnect, BatchError):
                async with asyncio.timeout(BODY_WITHIN_S):
                    await bodies.read(wire, 0)
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    await _response(answer, closes=True)(wire.scope, wire.receive, hold)


def _response(answer: Answer, *, closes: bool) -> Response:
    """Return an answer as it is sent; ``closes`` says that the rest of the request's body is not read."""
    headers = dict(answer.headers)
    if answer.length is not None:
        headers["Content-Length"] = str(answer.length)
    if answer.zeros:
        headers["Content-Length"] = str(answer.zeros)
        return StreamingResponse(_zeros(answer.zeros), answer.status, headers)
    if closes:
        headers["Connection"] = "close"
    return Response(answer.body, answer.status, headers)


async def _zeros(count: int) -> AsyncIterator[bytes]:
    """Yield zero bytes in blocks, as fast as the client takes them."""
    block = bytes(min(count, _BLOCK))
    while count:
        yield block[:count]
        count -= min(count, _BLOCK)


class _Bodies:
    """The bodies that are being read: all together they take a limited memory, however many clients are slow."""

    def __init__(self) -> None:
        self._kept = 0  # bytes

    async def read(self, wire: WireRequest, most: int = LONGEST_BODY) -> bytes:
        """Return a body of at most so many bytes.

        A longer one is read to its end, but not kept: most clients listen for an answer only then. Reading stops if it
        is out of all proportion.

        Raises:
            BatchError: RequestBodyTooLarge, or ServerBusy if too much is being read from all clients.
            ClientDisconnect: The client has gone.
        """
        announced = wire.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > _LONGEST_IGNORED:
            raise BatchError("RequestBodyTooLarge")
        parts: list[bytes] = []
        length = kept = 0
        try:
            async for part in wire.stream():
                length += len(part)
                if length > _LONGEST_IGNORED:
                    raise BatchError("RequestBodyTooLarge")
                if length > most:
                    parts.clear()
                    self._kept -= kept
                    kept = 0
                    continue
                parts.append(part)
                kept += len(part)
                self._kept += len(part)
                if self._kept > LONGEST_BODIES:
                    raise BatchError("ServerBusy", "too many bodies are being read")
            if length > most:
                raise BatchError("RequestBodyTooLarge")
            return b"".join(parts)
        finally:
            self._kept -= kept


DEFAULT_PORT = 8100

_LONGEST_HEAD = 64 * 1024  # bytes of a request line and headers
_IDLE_S = 75
_MOST_WAITING = 2048
_ENDS_WITHIN_S = 2


def listen(host: str, port: int | None, default: int = DEFAULT_PORT) -> socket.socket:
    """Return a listening socket. Without a port it is the default one, or a free one if that is taken.

    Raises:
        OSError: The address or the port that was asked for cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = (default, 0) if port is None else (port,)
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

    def __init__(self, app: ASGIApp, on_start: Callable[[], None], certificate: str | None = None) -> None:
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
        """Start, and call ``on_start``."""
        await super().startup(sockets)
        if self.started:
            self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down, and end the application in order also if there is no time for open connections."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no handlers of signals: ``run`` does."""
        yield

    def end(self) -> None:
        """End in order; a second call does not wait for open connections."""
        self.force_exit = self.should_exit
        self.should_exit = True

    def on_signal(self, number: int, _: FrameType | None) -> None:
        """End because of a signal; keep the number of the first one."""
        self.caught = self.caught or number
        self.end()
