"""The proxy: which hosts it stands in for, what it refuses and in which words, and that it connects nowhere else."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import sys
from contextlib import asynccontextmanager

import pytest

from engine.rest.hosts import Hosts, authority
from engine.rest.messages import Answer
from engine.rest.proxy import Azure, ByName, Proxy, Storage, azure_name
from engine.rest.running import Plain, over_tls
from engine.rest.server import application, listen
from tests.command import batchdeck

ACCOUNT = "risk.westeurope.batch.azure.com"
BLOBS = "store.blob.core.windows.net"


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        (ACCOUNT, Azure.BATCH),
        ("risk.chinanorth.batch.chinacloudapi.cn", Azure.BATCH),
        ("login.microsoftonline.com", Azure.LOGIN),
        ("login.partner.microsoftonline.cn", Azure.LOGIN),
        ("westeurope.login.microsoft.com", Azure.LOGIN),
        ("management.azure.com", Azure.MANAGEMENT),
        ("management.usgovcloudapi.net", Azure.MANAGEMENT),
        (BLOBS, Azure.STORAGE),
        ("store.queue.core.chinacloudapi.cn", Azure.STORAGE),
        ("batch.azure.com", None),
        ("risk.batch.azure.com.example.org", None),
        ("a.b.blob.core.windows.net", None),
        ("store.z07.blob.storage.azure.net", Azure.STORAGE),
        ("example.org", None),
        ("xlogin.windows.net", None),
    ],
)
def test_what_stands_behind_a_name(host, kind):
    assert azure_name(host) is kind


@pytest.mark.parametrize("url", ["127.0.0.1:10000", "ftp://x", "http://", "http://x/devstoreaccount1", "http://x:nine"])
def test_a_storage_url_is_the_emulators_alone(url):
    with pytest.raises(ValueError, match=r"URL such as|Port could not"):
        Storage.at(url)


def test_the_port_of_a_storage_url_is_that_of_its_scheme_where_it_has_none():
    assert [Storage.at(url).port for url in ("http://x", "https://x", "http://x:10000/")] == [80, 443, 10_000]


class Named:
    """Answers with its name and what it was asked for."""

    def __init__(self, name):
        self.name = name

    def answer(self, request, refused=None):
        said = {"by": self.name, "base": request.base, "path": request.path, "refused": refused and refused.code}
        return Answer(200, json.dumps(said).encode(), {"Content-Type": "application/json"})


@asynccontextmanager
async def proxied(storage=None):
    """A proxy with a server behind it; yields what asks for a host through it, and the port of the proxy."""
    with authority() as own, listen("127.0.0.1", 0) as outer, listen("127.0.0.1", 0) as inner:
        app = application(
            ByName({Azure.BATCH: Named("batch"), Azure.LOGIN: Named("login")}, Named("nobody")),
            hosts=Hosts(more=azure_name),
        )
        proxy = Proxy(outer, own, inner.getsockname()[1], 4321, storage)
        server = Plain(over_tls(app), inner)
        trusting = ssl.create_default_context(cafile=own.file)

        async def ask(host, path="/pools", port=443):
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            try:
                writer.write(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
                head = await reader.readuntil(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 200 "):
                    return head.partition(b"\r\n")[0].decode(), await reader.read()
                await writer.start_tls(trusting, server_hostname=host)
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                answer = await reader.read()
                return answer.partition(b"\r\n")[0].decode(), answer.partition(b"\r\n\r\n")[2]
            finally:
                writer.close()

        async with asyncio.TaskGroup() as group:
            group.create_task(server.run())
            group.create_task(proxy.run())
            try:
                yield ask, proxy.port
            finally:
                proxy.end()
                server.end()


def test_a_name_of_azure_is_answered_here_with_a_certificate_of_its_own():
    async def main():
        async with proxied() as (ask, _):
            for host, by in (
                (ACCOUNT, "batch"),
                ("login.microsoftonline.com", "login"),
                ("management.azure.com", "nobody"),
            ):
                status, body = await ask(host)
                said = json.loads(body)
                assert (status, said["by"], said["base"]) == ("HTTP/1.1 200 OK", by, f"https://{host}")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("example.org", 443, "example.org:443 is not served"),
        (ACCOUNT, 80, f"{ACCOUNT}:80 is not served"),
        ("169.254.169.254", 443, "169.254.169.254:443 is not served"),
        ("localhost", 22, "localhost:22 is not served"),
        (BLOBS, 443, f"{BLOBS} is a storage account: --storage URL"),
        ("bad host", 443, "this is no HTTP request"),
        ("a_\x1bb", 443, "is no host with a port"),
        (ACCOUNT, "x", "is no host with a port"),
    ],
)
def test_any_other_host_is_refused_in_words_that_name_it(host, port, words):
    async def main():
        async with proxied() as (ask, _):
            status, body = await ask(host, port=port)
            assert status.split()[1] in ("502", "400")
            assert words in status
            assert words in body.decode()
            assert "\x1b" not in status

    asyncio.run(main())


def test_a_plain_request_is_not_fetched():
    async def main():
        async with proxied() as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 502 http://example.org/ is not fetched")
            writer.close()

    asyncio.run(main())


def test_a_storage_account_is_that_of_the_emulator_which_sees_its_name():
    async def main():
        async def emulate(reader, writer):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + head)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(emulate, "127.0.0.1", 0) as emulator:
            blobs = emulator.sockets[0].getsockname()[1]
            async with proxied(Storage("127.0.0.1", blobs, is_tls=False)) as (ask, _):
                status, body = await ask(BLOBS, "/inputs/a.txt?sig=x")
                assert status == "HTTP/1.1 200 OK"
                assert body.startswith(b"GET /inputs/a.txt?sig=x HTTP/1.1\r\nHost: store.blob.core.windows.net\r\n")
                assert (await ask("store.file.core.windows.net"))[0].endswith(
                    "the emulator has blobs, queues and tables"
                )
            with socket.socket() as free:  # nobody listens there
                free.bind(("127.0.0.1", 0))
                async with proxied(Storage("127.0.0.1", free.getsockname()[1], is_tls=False)) as (ask, _):
                    assert "nothing answers at 127.0.0.1:" in (await ask(BLOBS))[0]

    asyncio.run(main())


def test_an_emulator_on_this_machine_may_have_a_certificate_of_its_own():
    """Azurite takes tokens over TLS alone, and has a certificate that nobody else trusts."""

    async def main():
        async def emulate(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nblobs")
            await writer.drain()
            writer.close()

        with authority() as own:
            async with await asyncio.start_server(emulate, "127.0.0.1", 0, ssl=own.context(BLOBS)) as emulator:
                blobs = emulator.sockets[0].getsockname()[1]
                async with proxied(Storage("127.0.0.1", blobs, is_tls=True)) as (ask, _):
                    assert await ask(BLOBS) == ("HTTP/1.1 200 OK", b"blobs")

    asyncio.run(main())


def test_nothing_leaves_the_machine_whatever_is_asked_for(monkeypatch):
    """Each connection that is made, and each name that is looked up, while all kinds of hosts are asked for."""
    places = []

    async def main():
        loop = asyncio.get_running_loop()
        connect, look_up = loop.sock_connect, loop.getaddrinfo

        async def connecting(sock, address):
            places.append(address[0])
            return await connect(sock, address)

        async def looking_up(host, *args, **kwargs):
            places.append(host)
            return await look_up(host, *args, **kwargs)

        monkeypatch.setattr(loop, "sock_connect", connecting)
        monkeypatch.setattr(loop, "getaddrinfo", looking_up)
        async with proxied() as (ask, _):
            for host in (
                ACCOUNT,
                "login.microsoftonline.com",
                "management.azure.com",
                BLOBS,
                "example.org",
                "mcr.microsoft.com",
            ):
                await ask(host)

    asyncio.run(main())
    assert places
    assert set(places) == {"127.0.0.1"}


def test_a_half_request_and_a_client_that_goes_cost_nothing_else():
    async def main():
        async with proxied() as (ask, port):
            for sent in (
                b"",
                b"CONNECT",
                b"CONNECT x:443 HTTP/1.1\r\n",
                b"A" * 40_000,
                f"CONNECT {ACCOUNT}:443 HTTP/1.1\r\n\r\n".encode() + b"no TLS" * 9,
            ):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(sent)
                writer.close()
            assert (await ask(ACCOUNT))[0] == "HTTP/1.1 200 OK"

    asyncio.run(main())


# -- a program that is run with the server ---------------------------------------------------------------------------

PRINTS = "import os; print(os.environ['AZURE_BATCH_ENDPOINT'], os.environ.get('HTTPS_PROXY', '-').partition(':')[0])"


@pytest.mark.parametrize(
    ("options", "code", "status", "printed"),
    [
        ((), PRINTS, 0, "http://127.0.0.1:"),
        (("--proxy", "0"), PRINTS, 0, "https://localbatch.westeurope.batch.azure.com http"),
        ((), "raise SystemExit(7)", 7, ""),
        ((), "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, ""),
    ],
)
def test_the_server_ends_with_the_status_of_its_program(options, code, status, printed):
    done = batchdeck("serve", "--quiet", "--port", "0", *options, "--run", "--", sys.executable, "-c", code)
    assert (done.returncode, printed in done.stdout) == (status, True)


def test_a_program_that_is_not_there_is_127():
    done = batchdeck("serve", "--quiet", "--port", "0", "--run", "--", "no-such-program")
    assert done.returncode == 127
    assert "cannot run no-such-program: there is no such program" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--run", "sh"), "--run takes -- and a command"),
        (("--run", "--"), "--run takes -- and a command"),
        (("--storage", "http://127.0.0.1:10000"), "--storage needs --proxy"),
        (("--client-secret", "x"), "--client-secret needs --tls or --proxy"),
        (("--proxy", "--storage", "nowhere"), "must be a URL such as http://127.0.0.1:10000"),
    ],
)
def test_options_that_do_not_go_together_are_said_to_be_so(arguments, words):
    done = batchdeck("serve", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
