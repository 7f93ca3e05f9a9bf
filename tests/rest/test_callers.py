"""The callers that the endpoint answers: hosts, web pages, dates and tokens; and that each request has its line."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.base.errors import BatchError
from engine.rest import server, service
from engine.rest.hosts import Hosts, host_name
from engine.rest.messages import LONGEST_BODY
from engine.rest.server import Server, application, listen
from engine.rest.service import Credentials, Service, check_credentials
from tests import builders
from tests.rest.wire import DATE, DATE_S, asked, signed
from tui.cli.serving import RequestLog

QUERY = "api-version=2025-06-01"
LIST = f"/pools?{QUERY}"
AZURE = "localbatch.westeurope.batch.azure.com"
ANY_KEY = Credentials(any_key=True)


def app(credentials=ANY_KEY, *, hosts=None, report=None, step_ms=None):
    sim = builders.simulation(until="P30D", pools=[])
    return application(Service(sim, credentials, step_ms=step_ms), hosts=hosts, report=report)


def get(*headers, served=None, **more):
    """Ask for the pools with headers as pairs."""
    return asked(served or app(), "GET", LIST, headers, **more)


# -- hosts -----------------------------------------------------------------------------------------------------------

KNOWN = [
    *("localhost", "LocalHost", "localhost:8100", "localhost:1", "127.0.0.1", "127.0.0.1:65535", "127.0.0.2"),
    *("127.255.255.254:80", "[::1]", "[::1]:8100", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"),
]
FOREIGN = [
    *("", " ", "evil.example", "evil.example:8100", AZURE, "localhost.evil.example", "evil.example.localhost"),
    *(
        "localhost.",
        "127.0.0.1.",
        "localhost:",
        "localhost:x",
        "localhost:65536",
        "localhost:999999",
        "localhost:80:80",
    ),
    *("localhost@evil.example", "evil.example@localhost", "evil.example#localhost", "localhost/", "localhost,evil"),
    *("127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.01", "127.0.0.1%00", "0.0.0.0", "[::]", "192.0.2.7"),
    *("::1", "[::1", "::1]", "[::1%25lo]", "[127.0.0.1]", "[localhost]", "[::2]", "[::ffff:192.0.2.7]"),
    *("localhost\tx", "local host", "localhost\xa0", "l\xf6calhost", "localhost\n", "x" * 5000),
]


@pytest.mark.parametrize("host", KNOWN)
def test_a_client_names_this_machine_as_its_host(host):
    assert get(("host", host)).status == 200


@pytest.mark.parametrize("path", ["/pools", "/healthz", "/nothing", "*"])
def test_a_request_that_names_another_host_is_refused_before_anything_else(path):
    lines = []
    served = app(Credentials(), report=lambda *line: lines.append(line))
    for host in FOREIGN:
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            reply = asked(served, method, path, [("host", host.encode().decode("latin-1"))], receives=False)
            assert reply.status == 421, host
            if method != "HEAD":
                assert reply.code == "MisdirectedRequest"
                assert "--allow-host" in reply.content.decode()
    assert len(lines) == 4 * len(FOREIGN)


def test_a_request_has_one_host():
    assert get().status == 421
    for first, second in (("localhost", "localhost"), ("localhost", "evil.example"), ("evil.example", "localhost")):
        assert get(("host", first), ("host", second)).status == 421


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (f"http://localhost:8100{LIST}", 200),
        (f"HTTPS://LOCALHOST:8100{LIST}", 200),
        (f"http://localhost{LIST}", 421),
        (f"http://evil.example{LIST}", 421),
        (f"http://localhost:8100@evil.example{LIST}", 421),
        (f"http:///{LIST}", 421),
        (f"//evil.example{LIST}", 404),
        ("http://localhost:8100", 404),
        ("evil.example:443", 404),
    ],
)
def test_a_target_that_is_a_whole_url_names_the_host_again(target, status):
    assert asked(app(), "GET", target, [("host", "localhost:8100")]).status == status


def test_the_address_of_the_connection_is_a_name_of_this_machine_and_so_is_what_was_allowed():
    more = app(hosts=Hosts(map(host_name, ["0.0.0.0", AZURE.upper(), "bücher.example."])))
    for host, wanted in ((f"{AZURE}:443", 200), ("0.0.0.0:80", 200), ("xn--bcher-kva.example", 200), ("evil", 421)):
        assert get(("host", host), served=more).status == wanted
    for address, host in (("192.0.2.7", "192.0.2.7"), ("fe80::1%eth0", "[fe80::1]"), ("::ffff:192.0.2.7", "192.0.2.7")):
        assert get(("host", host), server=(address, 8100)).status == 200
        assert get(("host", "192.0.2.8"), server=(address, 8100)).status == 421


@pytest.mark.parametrize(
    "name", ["", ".", "a b", "a:80", "http://a", "*", "*.a", "a/b", "é\x00", "a..b", "\udcff", "x" * 64, "a@b"]
)
def test_what_is_no_name_of_a_host_cannot_be_allowed(name):
    with pytest.raises(ValueError, match="no name of a host"):
        host_name(name)


# -- web pages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin",
    [
        *("null", "", "https://evil.example", "http://localhost.evil.example", "http://localhost@evil.example"),
        *(
            "http://localhost.",
            "file://",
            "http://localhost/",
            "localhost",
            "chrome-extension://localhost",
            "http://127.1",
        ),
        *("http://localhost http://evil.example", f"https://{AZURE}", "http://[::1%25lo]", "x" * 5000),
    ],
)
def test_a_web_page_of_another_origin_is_refused_before_anything_else(origin):
    served = app()
    for method in ("GET", "POST", "OPTIONS"):
        for path in (LIST, "/healthz"):
            headers = [("host", "localhost"), ("origin", origin), ("access-control-request-method", "POST")]
            reply = asked(served, method, path, headers, receives=False)
            assert (reply.status, reply.code) == (403, "OriginNotAllowed")
            assert not [name for name in reply.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "Cross-Site"])
def test_an_image_or_a_form_of_another_site_is_refused(site):
    moved = app(step_ms=1000)
    assert get(("host", "localhost"), ("sec-fetch-site", site), served=moved).code == "OriginNotAllowed"


def test_a_page_of_this_machine_and_a_client_without_a_page_are_answered_without_cors():
    for headers in (
        [("origin", "http://localhost:3000"), ("sec-fetch-site", "same-site")],
        [("origin", "https://127.0.0.1")],
        [("origin", "http://[::1]:80")],
        [("sec-fetch-site", "none")],
        [("sec-fetch-site", "same-origin")],
    ):
        reply = get(("host", "localhost"), *headers)
        assert reply.status == 200
        assert not [name for name in reply.headers if name.lower().startswith("access-control")]
    repeated = [("origin", "http://localhost"), ("origin", "http://localhost")]
    assert get(("host", "localhost"), *repeated).status == 403


# -- dates and tokens ------------------------------------------------------------------------------------------------


def date(seconds):
    return format_datetime(datetime.fromtimestamp(DATE_S + seconds, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "wrong"),
    [
        ({"ocp-date": date(-899)}, ""),
        ({"ocp-date": date(899)}, ""),
        ({"ocp-date": date(-901)}, "too old"),
        ({"ocp-date": date(901)}, "too far in the future"),
        ({"ocp-date": "Mon, 05 Jan 1998 08:00:00 GMT"}, "too old"),
        ({"ocp-date": "Monday, 05-Jan-26 08:00:00 GMT"}, ""),
        ({"ocp-date": "", "date": DATE}, ""),
        ({"ocp-date": date(-901), "date": DATE}, "too old"),
        ({"ocp-date": DATE, "date": date(-901)}, ""),
        ({"ocp-date": ""}, "neither the header ocp-date nor Date"),
        ({"ocp-date": "yesterday"}, "must be a date such as"),
        ({"ocp-date": "2026-01-05T08:00:00Z"}, "must be a date such as"),
        ({"ocp-date": str(DATE_S)}, "must be a date such as"),
        ({"ocp-date": "\xff" * 9000}, "must be a date such as"),
        ({"ocp-date": "Mon, 05 Jan 99999 08:00:00 GMT"}, "must be a date such as"),
    ],
)
def test_a_signature_holds_for_fifteen_minutes(headers, wrong):
    request = signed("GET", "/pools", QUERY, b"", headers)
    check_credentials(replace(request, headers={**request.headers, "authorization": "Bearer x"}), ANY_KEY, 0)
    if not wrong:
        check_credentials(request, Credentials(), DATE_S)
        return
    with pytest.raises(BatchError, match=wrong) as refused:
        check_credentials(request, Credentials(), DATE_S)
    assert (refused.value.code, refused.value.status) == ("AuthenticationFailed", 403)


def test_the_clock_is_that_of_the_client_and_not_the_simulated_one():
    sim = builders.simulation(until="P30D", pools=[], startTime="2030-01-01T00:00:00Z")
    batch = Service(sim, step_ms=60_000, utc_s=lambda: DATE_S)
    assert [batch.answer(signed("GET", "/pools", QUERY, b"", {})).status for _ in range(30)] == [200] * 30


@pytest.mark.parametrize("given", ["Bearer x", "bearer " + "x" * 9000, "Bearer eyJhbGciOiJub25lIn0.e30."])
def test_a_token_that_this_server_has_not_issued_is_refused(given):
    reply = get(("host", "localhost"), ("authorization", given), served=app(Credentials(key="AAAA")))
    assert (reply.status, reply.code) == (401, "AuthenticationFailed")
    assert get(("host", "localhost"), ("authorization", given)).status == 200


# -- what else a caller may try --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        ("x-http-method-override", "DELETE"),
        ("x-http-method", "DELETE"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "https"),
        ("forwarded", "host=evil.example"),
        ("x-original-url", "/jobs"),
        ("upgrade", "h2c"),
        ("expect", "100-continue"),
    ],
)
def test_no_header_makes_another_request_of_one(header):
    plain, more = (get(("host", "localhost"), *each).json for each in ([], [header]))
    assert plain == more


@pytest.mark.parametrize("client_id", ["a\r\nSet-Cookie: x=1", "a\nb", "\x00", "\xff", "x" * 5000, "<script>"])
def test_no_text_of_a_request_becomes_a_header_of_its_own(client_id):
    headers = [("host", "localhost"), ("client-request-id", client_id), ("return-client-request-id", "true")]
    reply = get(*headers)
    assert "set-cookie" not in {name.lower() for name in reply.headers}
    assert len(reply.headers.get("client-request-id", "")) <= 128
    assert all(value.isprintable() for value in reply.headers.values())


def test_no_answer_is_one_that_a_browser_runs():
    shown = [builders.a_task("t", simulate={"stdout": "<script>alert(1)</script>"})]
    sim = builders.simulation(builders.a_job(tasks=shown), until="P30D")
    builders.run(sim, minutes=10)
    served = application(Service(sim, ANY_KEY))
    for path in ("/jobs/j/tasks/t/files/stdout.txt", "/jobs/<script>", "/pools", "/healthz", "/<script>", "*"):
        reply = asked(served, "GET", f"{path}?{QUERY}&x=<script>", [("host", "localhost")])
        kind = reply.headers["content-type"].partition(";")[0]
        assert kind in {"application/json", "text/plain", "application/octet-stream"}
        assert reply.headers["x-content-type-options"] == "nosniff"


# -- the log of requests ---------------------------------------------------------------------------------------------

REQUESTS = int(os.environ.get("BATCHDECK_REQUESTS", "200"))
LINE = re.compile(r"[!-~]+ [!-~]+ \d{3} (-|[A-Za-z]+) \d+\.\d{3}\n")
METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "BREW", "get", "A B"])
TEXT = st.text(st.characters(max_codepoint=255), max_size=20)
TARGETS = TEXT | st.builds("/{}/{}".format, st.sampled_from(["pools", "jobs", "healthz", "certificates("]), TEXT)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["host", "origin", "sec-fetch-site", "authorization", "ocp-date", "client-request-id", "x"]),
        st.sampled_from(["localhost", "evil.example", "null", "Bearer x", "SharedKey a:AAAA", DATE]) | TEXT,
    ),
    max_size=4,
)


EFFECTS = ("subprocess.", "os.exec", "os.system", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "socket.connect")


class Outside:
    """Notes what is written, started or connected to. A hook cannot be removed, so there is one."""

    def __init__(self):
        self.is_on = False
        self.seen = []
        sys.addaudithook(self._look)

    def _look(self, event, arguments):
        if self.is_on and (event.startswith(EFFECTS) or (event == "open" and set(str(arguments[1])) & set("wax+"))):
            self.seen.append((event, arguments))

    @contextmanager
    def untouched(self):
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False
        assert not self.seen


@pytest.fixture(scope="module")
def outside():
    return Outside()


@pytest.fixture(scope="module")
def any_service():
    """A service that everybody may ask."""
    return Service(builders.simulation(until="P30D", pools=[]), ANY_KEY, step_ms=1000)


@settings(
    max_examples=int(os.environ.get("BATCHDECK_REQUESTS", "200")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(METHODS, TARGETS, HEADERS, st.binary(max_size=30))
def test_each_request_has_an_answer_and_one_line(tmp_path, any_service, outside, method, target, headers, body):
    path = tmp_path / "requests.txt"
    with closing(RequestLog(str(path))) as log, outside.untouched():
        headers = [("host", "localhost"), *headers] if len(headers) % 2 else headers
        reply = asked(application(any_service, report=log), method, target, headers, body)
    assert 200 <= reply.status < 500
    assert LINE.fullmatch(path.read_text())


@pytest.mark.parametrize("place", ["a full disk", "a pipe that nobody reads"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_log_that_cannot_be_written_changes_no_answer(place, capsys):
    reading, writing = os.pipe()
    path = "/dev/full" if place == "a full disk" else f"/dev/fd/{writing}"
    with closing(RequestLog(path)) as log:
        os.close(reading)
        os.close(writing)
        served, headers = app(report=log), [("host", "localhost")]
        made = asked(served, "POST", f"/jobs?{QUERY}", headers, b'{"id": "j", "poolInfo": {"poolId": "p"}}')
        assert made.status == 201
        assert asked(served, "GET", f"/jobs/j?{QUERY}", headers).status == 200
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert re.match(rf"cannot write {path}: (No space left on device|Broken pipe); ", said)


def test_a_defect_has_its_line_too(monkeypatch):
    lines = []
    served = app(report=lambda request, answer, _: lines.append((request.path, answer.status, answer.code)))
    monkeypatch.setattr(Service, "answer", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        get(("host", "localhost"), served=served)
    assert lines == [("/pools", 500, "InternalError")]


@pytest.mark.parametrize(
    ("sent", "lines"),
    [
        (b"\x00\xff\r\n\r\n", ["- - 400 InvalidInput"]),
        (b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", ["- - 400 InvalidInput"]),
        (b"GET /pools HTTP/1.1\r\n\r\n", ["- - 400 InvalidInput"]),
        (b"GET /pools HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", ["- - 400 InvalidInput"]),
        (b"GET /" + b"a" * 99_999, ["- - 400 InvalidInput"]),
        (
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nrubbish\r\n\r\n",
            ["GET /healthz 200 -", "- - 400 InvalidInput"],
        ),
        (
            b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            ["POST /jobs 400 InvalidInput"],
        ),
        (
            b"POST /jobs HTTP/1.1\r\nHost: evil\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            ["POST /jobs 400 InvalidInput"],
        ),
        (b"GET /x HTTP/1.0\r\n\r\n", ["GET /x 421 MisdirectedRequest"]),
        (
            b"POST /x HTTP/1.1\r\nHost: evil\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
            ["POST /x 421 MisdirectedRequest"],
        ),
        (
            b"POST /x HTTP/1.1\r\nHost: evil\r\nContent-Length: 900000\r\n\r\n" + b" " * 900_000,
            ["POST /x 421 MisdirectedRequest"],
        ),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", ["OPTIONS * 404 ResourceNotFound"]),
        (b"CONNECT evil:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", ["CONNECT evil:443 404 ResourceNotFound"]),
    ],
    ids=range(13),
)
def test_on_a_socket_each_request_is_answered_in_the_service_s_form_and_has_its_line(tmp_path, caplog, sent, lines):
    path = tmp_path / "requests.txt"

    async def play():
        listener = listen("127.0.0.1", 0)
        serving = Server(app(report=log), lambda: None)
        ends = asyncio.create_task(serving.serve([listener]))
        while not serving.started:
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(sent)
        for line in lines:
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode()
            assert head.startswith(f"HTTP/1.1 {line.split()[2]} ")
            body = await reader.readexactly(int(re.search(r"content-length: (\d+)", head, re.IGNORECASE)[1]))
            if not line.endswith("-"):
                assert json.loads(body)["code"] == line.split()[3]
        writer.close()
        serving.end()
        await ends

    with closing(RequestLog(str(path))) as log:
        asyncio.run(asyncio.wait_for(play(), 30))
    assert [line.rpartition(" ")[0] for line in path.read_text().splitlines()] == lines
    assert not [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"]


# -- the page --------------------------------------------------------------------------------------------------------


def test_each_statement_of_the_page_of_threats_names_its_test_and_the_limits_are_those_of_the_server():
    page = Path(server.__file__).with_name("README.md").read_text(encoding="utf-8")
    rows = [row for row in page.split("## Threats")[1].split("\n## ")[0].splitlines() if row.startswith("| ")]
    named = [re.findall(r"`(test_\w+)`", row) for row in rows if not row.endswith("| test |")]
    assert [len(names) for names in named] == [1] * 22
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].glob("*/test_*.py"))
    assert not [names for names in named if f"def {names[0]}(" not in tests]
    limits = {
        f"{server.MOST_CONNECTIONS:,};": "connections",
        f"{server._LONGEST_HEAD >> 10} KiB, {server.HEAD_WITHIN_S:g} s": "the head of a request",
        f"{LONGEST_BODY >> 20} MiB, {server.BODY_WITHIN_S:g} s": "a body",
        f"{server.LONGEST_BODIES >> 20} MiB": "all bodies that arrive",
        f"{server.TAKEN_WITHIN_S:g} s": "the time to take an answer",
    }
    assert not [text for text, what in limits.items() if f"| {what} | {text}" not in page]
    assert f"{service.MOST_SKEW_S // 60} minutes" in page
