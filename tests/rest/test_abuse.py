"""Clients that are slow, silent, greedy or rude: the server answers or closes, and its memory is bounded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
from pathlib import Path

import pytest

from engine.rest import server
from engine.rest import server as application_module
from engine.rest.messages import LONGEST_BODY
from engine.rest.running import allow_connections
from engine.rest.server import Server, application, listen
from engine.rest.service import Credentials, Service
from tests.builders import a_job, a_task, run, simulation
from tests.rest.test_server import Served, serving

SOON_S = 0.3  # the patience of the server in these tests
IN_TIME_S = 10.0
URL = "https://acc.blob.core.windows.net/in/big.bin"
VERSION = "api-version=2025-06-01"
ANY_KEY = Credentials(any_key=True)
HEAD = "Host: localhost\r\n"
LIST = f"GET /pools?{VERSION} HTTP/1.1\r\n{HEAD}\r\n".encode()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    for module, name in (
        (server, "HEAD_WITHIN_S"),
        (server, "TAKEN_WITHIN_S"),
        (application_module, "BODY_WITHIN_S"),
    ):
        monkeypatch.setattr(module, name, SOON_S)


@contextlib.asynccontextmanager
async def served(service=None):
    """A server in this process; gives the function that connects to it."""
    service = service or Service(simulation(until="P30D", pools=[]), ANY_KEY)
    listener = listen("127.0.0.1", 0)
    server = Server(application(service), lambda: None)
    ends = asyncio.create_task(server.serve([listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    port = listener.getsockname()[1]
    try:
        yield lambda: asyncio.open_connection("127.0.0.1", port)
    finally:
        server.end()
        server.end()
        await ends


async def all_of(reader):
    """Everything until the connection is closed."""
    async with asyncio.timeout(IN_TIME_S):
        return await reader.read()


async def leave(*connected):
    """Close connections, of which the server may have closed some already."""
    for _, writer in connected:
        writer.close()
    for _, writer in connected:
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def answer_of(reader):
    """Status and body of the next answer on a connection that stays open."""
    async with asyncio.timeout(IN_TIME_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = int(re.search(r"content-length: (\d+)", head, re.IGNORECASE)[1])
        return int(head.split()[1]), await reader.readexactly(length)


def a_post(length, head=""):
    return f"POST /jobs?{VERSION} HTTP/1.1\r\n{HEAD}{head}Content-Length: {length}\r\n\r\n".encode()


# -- patience --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent", [b"", b"G", b"GET /pools HTTP/1.1\r\nHost: localhost\r\n"], ids=["nothing", "a byte", "half"]
)
def test_a_client_that_does_not_finish_the_head_of_its_request_is_left(sent):
    async def play():
        async with served() as connect:
            reader, writer = await connect()
            writer.write(sent)
            assert await all_of(reader) == b""
            writer.close()

    asyncio.run(play())


def test_a_client_that_sends_a_head_byte_by_byte_is_left_too():
    async def play():
        async with served() as connect:
            reader, writer = await connect()
            with contextlib.suppress(ConnectionError):
                while not (reader.at_eof() or reader.exception()):
                    writer.write(b"G")
                    await asyncio.sleep(SOON_S / 10)
            writer.close()

    asyncio.run(asyncio.wait_for(play(), IN_TIME_S))


def test_half_a_head_after_a_whole_request_is_half_a_head():
    async def play():
        async with served() as connect:
            reader, writer = await connect()
            writer.write(LIST)
            assert (await answer_of(reader))[0] == 200
            writer.write(b"GET /po")
            assert await all_of(reader) == b""
            writer.close()

    asyncio.run(play())


def test_a_client_that_takes_its_time_between_requests_is_kept():
    async def play():
        async with served() as connect:
            reader, writer = await connect()
            for _ in range(3):
                writer.write(LIST)
                assert (await answer_of(reader))[0] == 200
                await asyncio.sleep(2 * SOON_S)
            writer.close()

    asyncio.run(play())


def test_a_body_that_does_not_arrive_is_refused_and_the_connection_closed():
    async def play():
        async with served() as connect:
            reader, writer = await connect()
            writer.write(a_post(100) + b'{"id"')
            answer = await all_of(reader)
            assert answer.startswith(b"HTTP/1.1 400")
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "InvalidRequestBody"
            writer.close()

    asyncio.run(play())


def test_a_client_that_leaves_in_the_midst_of_a_body_has_asked_for_nothing():
    asked = []

    class Listening(Service):
        def answer(self, request, refused=None):
            asked.append(request.path)
            return super().answer(request, refused)

    async def play():
        async with served(Listening(simulation(until="P30D", pools=[]), ANY_KEY)) as connect:
            _, writer = await connect()
            writer.write(a_post(100) + b'{"id"')
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            reader, writer = await connect()
            writer.write(LIST)
            assert (await answer_of(reader))[0] == 200
            writer.close()

    asyncio.run(play())
    assert asked == ["/pools"]


def test_a_client_that_does_not_take_a_large_file_is_left():
    sim = simulation(
        a_job(tasks=[a_task("t1", resourceFiles=[{"httpUrl": URL, "filePath": "big.bin"}])]),
        simulate={"storage": {URL: {"size": "4 GB"}}},
        until="P30D",
    )
    run(sim, minutes=30)
    path = "/jobs/j/tasks/t1/files/wd%2Fbig.bin"

    async def play():
        async with served(Service(sim, ANY_KEY)) as connect:
            reader, writer = await connect()
            writer.write(f"GET {path}?{VERSION} HTTP/1.1\r\n{HEAD}ocp-range: bytes=0-199999\r\n\r\n".encode())
            assert await answer_of(reader) == (200, bytes(200_000))
            writer.write(f"HEAD {path}?{VERSION} HTTP/1.1\r\n{HEAD}\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            assert "content-length: 4000000000" in head.lower()
            writer.write(f"GET {path}?{VERSION} HTTP/1.1\r\n{HEAD}\r\n".encode())
            await asyncio.sleep(3 * SOON_S)
            with contextlib.suppress(ConnectionError):
                assert len(await all_of(reader)) < 64 << 20
            writer.close()

    asyncio.run(play())


def test_an_answer_does_not_wait_for_the_client_to_acknowledge_its_head():
    """Otherwise each request but the first one on a connection takes forty milliseconds longer."""
    options = []

    async def play():
        def accepted(_, writer):
            connection = writer.get_extra_info("socket")
            options.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = listen("127.0.0.1", 0)
        async with await asyncio.start_server(accepted, sock=listener):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            assert await all_of(reader) == b""
            await leave((reader, writer))

    asyncio.run(play())
    assert len(options) == 1
    assert options[0] != 0


# -- size ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [LONGEST_BODY + 1, 3 * LONGEST_BODY])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_client_that_first_sends_all_of_a_body_that_is_too_large_reads_the_refusal(length, is_chunked):
    async def play():
        async with served() as connect:
            reader, writer = await connect()
            if is_chunked:
                writer.write(f"POST /jobs?{VERSION} HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
                writer.write(f"{length:x}\r\n".encode() + b" " * length + b"\r\n0\r\n\r\n")
            else:
                writer.write(a_post(length) + b" " * length)
            await writer.drain()
            status, body = await answer_of(reader)
            assert (status, json.loads(body)["code"]) == (413, "RequestBodyTooLarge")
            writer.close()

    asyncio.run(play())


def test_a_body_without_end_is_cut_off():
    async def play():
        async with served() as connect:
            reader, writer = await connect()
            writer.write(f"POST /jobs?{VERSION} HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
            sent, chunk = 0, b"10000\r\n" + b" " * 0x10000 + b"\r\n"
            with contextlib.suppress(ConnectionError):
                while sent < 256 << 20:
                    writer.write(chunk)
                    await writer.drain()
                    sent += len(chunk)
            assert sent < 64 << 20
            with contextlib.suppress(ConnectionError):
                assert (await answer_of(reader))[0] == 413
            writer.close()

    asyncio.run(play())


def test_all_half_bodies_together_are_limited(monkeypatch):
    monkeypatch.setattr(application_module, "LONGEST_BODIES", 2 << 20)
    monkeypatch.setattr(application_module, "BODY_WITHIN_S", IN_TIME_S)

    async def play():
        async with served() as connect:
            held = []
            for _ in range(2):
                reader, writer = await connect()
                writer.write(a_post(1 << 20) + b" " * ((1 << 20) - 1))
                await writer.drain()
                held.append((reader, writer))
            await asyncio.sleep(SOON_S)
            reader, writer = await connect()
            writer.write(a_post(100) + b" " * 100)
            answer = await all_of(reader)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in answer.lower()
            writer.close()
            for reader, writer in held:  # these go on
                writer.write(b" ")
                assert (await answer_of(reader))[0] == 400
                writer.close()
            reader, writer = await connect()
            writer.write(a_post(2) + b"{}")
            assert json.loads((await answer_of(reader))[1])["code"] == "MissingRequiredProperty"
            writer.close()

    asyncio.run(play())


# -- number ----------------------------------------------------------------------------------------------------------

IDLE = 1000
SILENT = 2500
MOST_KB = 64 * 1024  # of memory for as many connections


def memory_kb(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


async def holding(served, count, said=(b"",)):
    """Hold connections open, on which parts of requests are sent in turn, while another client is served.

    Return by how many KB the memory of the server has grown, and how many files it has open.
    """
    host, _, port = served.address.partition(":")
    before_kb = memory_kb(served.process.pid)
    held = []
    try:
        for number in range(count):
            held.append(await asyncio.open_connection(host, int(port)))
            held[-1][1].write(said[number % len(said)])
        await asyncio.sleep(1)
        with Served(served.process, served.url).client as another:  # a connection of before may be closed as silent
            assert list(await asyncio.to_thread(lambda: list(another.list_pools()))) == []
        return memory_kb(served.process.pid) - before_kb, len(os.listdir(f"/proc/{served.process.pid}/fd"))
    finally:
        await leave(*held)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads the memory of a process from /proc")
def test_a_thousand_idle_connections_take_little_memory_and_others_are_served():
    allow_connections(IDLE + 512)
    halves = [b"", LIST[:30], a_post(1000) + b"half", LIST]
    with serving("--port", "0", "--step", "PT1S", "--any-key") as served:
        list(served.client.list_pools())
        grown_kb, _ = asyncio.run(holding(served, IDLE, halves))
    assert grown_kb < MOST_KB


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads the memory of a process from /proc")
def test_thousands_of_silent_connections_take_no_more_memory_and_others_are_served():
    """They take two seconds to open."""
    allow_connections(SILENT + 512)
    with serving("--port", "0", "--step", "PT1S", "--any-key") as served:
        list(served.client.list_pools())
        grown_kb, open_files = asyncio.run(holding(served, SILENT))
    assert grown_kb < MOST_KB
    assert open_files < server.MOST_CONNECTIONS + 100


def test_a_connection_too_many_takes_the_place_of_the_one_that_is_silent_for_longest(monkeypatch):
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 20)
    monkeypatch.setattr(server, "HEAD_WITHIN_S", IN_TIME_S)

    async def play():
        async with served() as connect:
            kept, silent = await connect(), []
            for number in range(60):  # each time it is heard, others are silent for longer
                kept[1].write(LIST)
                assert (await answer_of(kept[0]))[0] == 200
                silent.append(await connect())
                silent[-1][1].write(b"GET /po" if number % 2 else b"")
            closed = 0
            for reader, _ in silent:
                with contextlib.suppress(TimeoutError, ConnectionError):
                    await asyncio.wait_for(reader.read(), 0.001)
                closed += reader.at_eof() or reader.exception() is not None
            assert closed == 60 - 19
            await leave(kept, *silent)

    asyncio.run(play())


def test_while_every_connection_has_a_request_under_way_another_is_told_to_come_again(monkeypatch):
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 5)
    monkeypatch.setattr(application_module, "BODY_WITHIN_S", IN_TIME_S)

    async def play():
        async with served() as connect:
            held = []
            for _ in range(5):
                held.append(await connect())
                held[-1][1].write(a_post(100) + b"{")
                await held[-1][1].drain()
            await asyncio.sleep(SOON_S / 3)
            reader, writer = await connect()
            writer.write(LIST)
            answer = await all_of(reader)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in answer.lower()
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "ServerBusy"
            writer.close()
            held[0][1].close()
            await asyncio.sleep(SOON_S / 3)
            reader, writer = await connect()
            writer.write(LIST)
            assert (await answer_of(reader))[0] == 200
            await leave(*held, (reader, writer))

    asyncio.run(play())


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://[/pools HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET //[/pools?api-version=1 HTTP/1.1\r\nHost: ]\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /pools HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"POST /pools HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /pools HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        b"GET /pools HTTP/1.1\r\nHost: a\"b'<c>\r\nConnection: close\r\n\r\n",
        b"GET /pools HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /pools HTTP/0.9\r\n\r\n",
        b"GET /pools?" + b"a=b&" * 15_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET /pools HTTP/1.1\r\nHost: localhost\r\n" + b"x: y\r\n" * 10_000 + b"Connection: close\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
    ],
    ids=range(14),
)
def test_rude_requests_are_refused_or_closed(sent):
    async def play():
        async with served() as connect:
            reader, writer = await connect()
            writer.write(sent)
            answer = b""
            with contextlib.suppress(ConnectionError):
                answer = await asyncio.wait_for(reader.read(65_536), IN_TIME_S)
            assert not answer or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
            writer.close()
            reader, writer = await connect()
            writer.write(LIST)
            assert (await answer_of(reader))[0] == 200
            writer.close()

    asyncio.run(play())
