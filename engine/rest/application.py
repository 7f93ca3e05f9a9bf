"""The ASGI application: reads requests off the wire, has the service answer them, and writes the answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as WireRequest
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from engine.rest.clock import StandingClock
from engine.rest.protocol.bodies import LONGEST_BODY
from engine.rest.protocol.requests import Request

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from engine.rest.clock import Clock
    from engine.rest.protocol.answers import Answer
    from engine.rest.service import Service

_BODY_WITHIN_S = 30.0
_BLOCK = 64 * 1024  # bytes

Report = Callable[[Request, "Answer", float], None]
"""Called after each request with its answer and the seconds that the answer took."""


def application(service: Service, clock: Clock | None = None, report: Report | None = None) -> Starlette:
    """Return the application that serves an account.

    Args:
        service: The account.
        clock: Runs while the application does; without one, time stands still between requests.
        report: Is told of each request.
    """
    runs = clock or StandingClock()

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
        await _serve(WireRequest(scope, receive), service, report, scope, receive, send)

    return Starlette(routes=[Route("/healthz", healthz), Mount("/", data_plane)], lifespan=lifespan)


async def _serve(
    wire: WireRequest, service: Service, report: Report | None, scope: Scope, receive: Receive, send: Send
) -> None:
    try:
        async with asyncio.timeout(_BODY_WITHIN_S):
            body = await _body(wire)
    except (TimeoutError, ClientDisconnect):
        await Response(status_code=400, headers={"Connection": "close"})(scope, receive, send)
        return
    request = _request(wire, scope, body)
    began_s = time.perf_counter()
    answer = service.answer(request)
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
    if len(body) > LONGEST_BODY:
        headers["Connection"] = "close"  # the rest of the body is not read
    await Response(answer.body, answer.status, headers)(scope, receive, send)


async def _zeros(count: int) -> AsyncIterator[bytes]:
    """Yield zero bytes in blocks, as fast as the client takes them."""
    block = bytes(min(count, _BLOCK))
    while count:
        yield block[:count]
        count -= min(count, _BLOCK)


async def _body(wire: WireRequest) -> bytes:
    """Return the body, or its beginning if it is too long for any operation."""
    announced = wire.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > LONGEST_BODY:
        return bytes(LONGEST_BODY + 1)
    parts, length = [], 0
    async for part in wire.stream():
        parts.append(part)
        length += len(part)
        if length > LONGEST_BODY:
            break
    return b"".join(parts)


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
