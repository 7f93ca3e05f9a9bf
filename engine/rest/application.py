"""The ASGI application: reads requests off the wire, has the service answer them, and writes the answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as WireRequest
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from engine.base.errors import BatchError
from engine.rest.clock import StandingClock
from engine.rest.connections import BUSY
from engine.rest.protocol.bodies import LONGEST_BODY
from engine.rest.protocol.requests import Request

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from engine.pacing.yielding import Turns
    from engine.rest.clock import Clock
    from engine.rest.protocol.answers import Answer
    from engine.rest.service import Service

BODY_WITHIN_S = 30.0
"""The seconds in which a client has to send the body of a request."""

LONGEST_BODIES = 64 << 20
"""The most bytes of all bodies that are being read; beyond that a request is answered with ServerBusy."""

_LONGEST_IGNORED = 16 << 20  # bytes of a body that is too large
_BLOCK = 64 * 1024  # bytes

Report = Callable[[Request, "Answer", float], None]
"""Called after each request with its answer and the seconds that the answer took."""


def application(
    service: Service, clock: Clock | None = None, report: Report | None = None, turns: Turns | None = None
) -> Starlette:
    """Return the application that serves an account.

    Args:
        service: The account.
        clock: Runs while the application does; without one, time stands still between requests.
        report: Is told of each request.
        turns: Gives requests their turns, where the event loop has more to do than to answer them.
    """
    runs, bodies = clock or StandingClock(), _Bodies()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await runs.start()
        try:
            yield
        finally:
            await runs.stop()

    async def healthz(_: WireRequest) -> Response:
        return PlainTextResponse("ok\n")

    async def data_plane(scope: Scope, receive: Receive, send: Send) -> None:
        await _serve(WireRequest(scope, receive), service, bodies, report, turns, scope, receive, send)

    return Starlette(routes=[Route("/healthz", healthz), Mount("/", data_plane)], lifespan=lifespan)


async def _serve(
    wire: WireRequest,
    service: Service,
    bodies: _Bodies,
    report: Report | None,
    turns: Turns | None,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    refused = None
    with bodies.begun() as reading:
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                await _read(wire, reading)
        except TimeoutError:
            refused = BatchError("InvalidRequestBody", f"it has not arrived within {BODY_WITHIN_S:g} s")
        except ClientDisconnect:
            return
        except BatchError as error:
            refused = error
        body = b"" if refused else b"".join(reading.parts)
    if BUSY in scope.get("extensions", ()):
        refused = BatchError("ServerBusy", "too many connections are open")
    request = _request(wire, scope, body)
    began_s = time.perf_counter()
    async with nullcontext() if turns is None else turns.turn():
        answer = service.answer(request, refused)
    if answer.delay_s:
        await asyncio.sleep(answer.delay_s)
    if report is not None:
        report(request, answer, time.perf_counter() - began_s)
    headers = dict(answer.headers)
    if answer.length is not None:
        headers["Content-Length"] = str(answer.length)
    if answer.zeros:
        headers["Content-Length"] = str(answer.zeros)
        await StreamingResponse(_zeros(answer.zeros), answer.status, headers)(scope, receive, send)
        return
    if refused is not None:
        headers["Connection"] = "close"  # the rest of the body is not read
    await Response(answer.body, answer.status, headers)(scope, receive, send)


async def _zeros(count: int) -> AsyncIterator[bytes]:
    """Yield zero bytes in blocks, as fast as the client takes them."""
    block = bytes(min(count, _BLOCK))
    while count:
        yield block[:count]
        count -= min(count, _BLOCK)


async def _read(wire: WireRequest, body: _Body) -> None:
    """Read a body.

    One that is too large is read to its end all the same: most clients listen for an answer only then. One that is out
    of all proportion is not.

    Raises:
        BatchError: RequestBodyTooLarge or ServerBusy.
        ClientDisconnect: The client has gone.
    """
    announced = wire.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > _LONGEST_IGNORED:
        raise BatchError("RequestBodyTooLarge")
    async for part in wire.stream():
        body.add(part)
    if body.length > LONGEST_BODY:
        raise BatchError("RequestBodyTooLarge")


class _Bodies:
    """The bodies that are being read: all together they take a limited memory, however many clients are slow."""

    def __init__(self) -> None:
        self.kept = 0  # bytes

    @contextmanager
    def begun(self) -> Iterator[_Body]:
        """Return a body to which parts can be added until the end of the ``with`` block."""
        body = _Body(self)
        try:
            yield body
        finally:
            body.forget()


class _Body:
    """A body that is being read, in parts."""

    def __init__(self, among: _Bodies) -> None:
        self._among = among
        self.parts: list[bytes] = []
        self.length = 0  # of all parts
        self.kept = 0  # bytes of the parts that are kept

    def add(self, part: bytes) -> None:
        """Add a part; of a body that is too large nothing is kept.

        Raises:
            BatchError: RequestBodyTooLarge, or ServerBusy if too much is being read from all clients.
        """
        self.length += len(part)
        if self.length > LONGEST_BODY:
            self.forget()
            if self.length > _LONGEST_IGNORED:
                raise BatchError("RequestBodyTooLarge")
            return
        self.parts.append(part)
        self.kept += len(part)
        self._among.kept += len(part)
        if self._among.kept > LONGEST_BODIES:
            raise BatchError("ServerBusy", "too many bodies are being read")

    def forget(self) -> None:
        """Keep nothing of the body."""
        self._among.kept -= self.kept
        self.parts, self.kept = [], 0


def _request(wire: WireRequest, scope: Scope, body: bytes) -> Request:
    """Return a request as plain data; of headers with the same name the last one counts."""
    headers: Mapping[str, str] = {name.lower(): value for name, value in wire.headers.items()}
    path = scope["raw_path"].decode("latin-1").partition("?")[0]
    host = headers.get("host") or f"{scope['server'][0]}:{scope['server'][1]}"
    return Request(
        method=wire.method,
        path=path,
        query_string=scope["query_string"].decode("latin-1"),
        headers=headers,
        body=body,
        base=f"{wire.url.scheme}://{host}",
    )
