"""The options of ``serve``, and what it says to whoever starts it: who can act, the lines for a shell, wrong calls."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.tui.test_clients import options_of
from tui.cli import main, serving
from tui.cli.serving import Credentials, DashboardHost, Endpoint
from tui.saving.targets import FileLines

OWN = "AAAA"
ALL = "any address of this machine (0.0.0.0)"


def options(host="127.0.0.1", account="localbatch", key=serving.DEFAULT_KEY, any_key=False, tls=False, **more):
    credentials = Credentials(account, key, any_key)
    return options_of(host=host, credentials=credentials, tls=tls, names=(host,), **more)


# -- who can act -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(({"host": host, "key": key}, "") for host in ("127.0.0.1", "127.0.0.2", "localhost") for key in (OWN,)),
        ({}, ""),
        ({"tls": True}, ""),
        ({"any_key": True}, "Every program on this machine can act on this simulation, without a key."),
        ({"any_key": True, "tls": True}, "Every program on this machine can act on this simulation, without a key."),
        (
            {"host": "0.0.0.0"},
            f"Whoever can reach {ALL} can act on this simulation, with the default key, which is public, and without "
            "encryption.",
        ),
        (
            {"host": "0.0.0.0", "tls": True},
            f"Whoever can reach {ALL} can act on this simulation, with the default key, which is public.",
        ),
        (
            {"host": "0.0.0.0", "key": OWN},
            f"Whoever can reach {ALL} and has the key can act on this simulation, without encryption.",
        ),
        (
            {"host": "0.0.0.0", "key": OWN, "tls": True},
            f"Whoever can reach {ALL} can act on this simulation, by a login with any secret.",
        ),
        (
            {"host": "0.0.0.0", "key": OWN, "tls": True, "client_secret": "own"},
            f"Whoever can reach {ALL} and has the key can act on this simulation.",
        ),
        (
            {"host": "0.0.0.0", "any_key": True},
            f"Whoever can reach {ALL} can act on this simulation, without a key and without encryption.",
        ),
        (
            {"host": "0.0.0.0", "any_key": True, "tls": True},
            f"Whoever can reach {ALL} can act on this simulation, without a key.",
        ),
    ],
)
def test_a_warning_says_who_can_act_and_what_they_need(given, said):
    with ExitStack() as stack:
        assert Endpoint(options(**given), stack).warning == said
        assert DashboardHost(None, options(**given), stack).warning == said  # `open --serve`


@pytest.mark.parametrize(("host", "is_told"), [("::1", False), ("::", True), ("::ffff:127.0.0.1", False)])
def test_a_loopback_address_of_ipv6_is_one_too(host, is_told):
    with ExitStack() as stack:
        try:
            endpoint = Endpoint(options(host), stack)
        except Exception as error:
            pytest.skip(f"no IPv6 here: {error}")
        assert bool(endpoint.warning) == is_told


def test_the_warning_stands_below_the_address_also_when_quiet(capsys):
    with ExitStack() as stack:
        serving._announce(Endpoint(options(any_key=True), stack))
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("listening on http://127.0.0.1:")
    assert second == "Every program on this machine can act on this simulation, without a key."


# -- the lines for a shell -------------------------------------------------------------------------------------------

STRANGE = [
    "a b",
    "a'b",
    'a"b',
    "$(touch x)",
    "`touch x`",
    "a;touch x",
    "a&touch x",
    "~",
    "*",
    "-n",
    "é",
    "a\\",
    "#a",
    "!!",
]


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
def test_pasted_export_lines_say_what_was_meant_and_execute_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "$(touch x); 'a b'"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    script, wanted = "", []
    show = 'printf "%s\\n" "$AZURE_BATCH_ACCOUNT" "$AZURE_BATCH_ACCESS_KEY"'
    with ExitStack() as stack:
        for account in STRANGE:
            endpoint = Endpoint(options(account=account, key="+/==", tls=account == STRANGE[0]), stack)
            script += "\n".join([*endpoint.exports, show, ""])
            wanted += [account, "+/=="]
        script += 'printf "%s\\n" "$AZURE_BATCH_ENDPOINT" "${REQUESTS_CA_BUNDLE%/*/*}"'
        said = subprocess.run(["sh"], input=script, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [*wanted, endpoint.url, str(folder)]
    assert list(tmp_path.iterdir()) == [folder]


# -- wrong calls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--host", ""], "'' is no name of a host"),
        (["--host", "a\x00b"], "is no name of a host"),
        (["--host", "\udcff"], "is no name of a host"),
        (["--host", "a" * 300], "is no name of a host"),
        (["--host", "a b"], "is no name of a host"),
        (["--host", "http://localhost"], "is no name of a host"),
        (["--host", "localhost:8100"], "without scheme and port"),
        (["--host", "é.invalid"], "cannot listen on é.invalid: "),
        (["--host", "fe80::1%nowhere"], "cannot listen on fe80::1%nowhere: "),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1: "),
        (["--allow-host", "*.example"], "is no name of a host"),
        (["--allow-host", "http://example"], "is no name of a host"),
        (["--allow-host", "a_b", "--tls"], "no certificate can name 127.0.0.1, a_b: "),
        (["--account", ""], "must be printable text"),
        (["--account", "a\nb"], "must be printable text"),
        (["--account", "a\x1b[2Jb"], "must be printable text"),
        (["--account", "\udcff"], "must be printable text"),
    ],
    ids=repr,
)
def test_a_wrong_call_is_a_usage_error(given, said, capsys):
    assert main(["serve", *given]) == 2
    assert said in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_open_needs_serve_for_the_names_of_hosts(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{name}", Terminal())
    assert main(["open", "job-prep-release-sample", "--allow-host", "a"]) == 2
    assert "options about clients need --serve" in capsys.readouterr().err


# -- files that cannot be written ------------------------------------------------------------------------------------


class Full(FileLines):
    """A file on a disk that has become full."""

    def __init__(self, path):
        super().__init__(path)
        self._partial.stream.close()
        self._partial.stream = Path("/dev/full").open("wb")  # noqa: SIM115 - it is closed as the stream of a target


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_session_for_which_there_is_no_space_is_a_clear_message(tmp_path, monkeypatch, capsys):
    file = tmp_path / "session.yaml"
    file.write_text("before")
    monkeypatch.setattr(serving, "FileLines", Full)
    monkeypatch.setattr(serving, "run", lambda *_: signal.SIGINT)
    assert main(["serve", "--port", "0", "--quiet", "--save", str(file)]) == 1
    assert capsys.readouterr().err == f"Error: cannot write {file}: No space left on device\n"
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_program_is_not_waited_for_if_the_server_never_accepts_connections():
    server = SimpleNamespace(started=False, end=lambda: None)

    async def run():
        program = serving.Program(("true",), {}, server)
        running = asyncio.create_task(program.run())
        await asyncio.sleep(0)
        program.end()
        await asyncio.wait_for(running, 60)
        return program.status

    assert asyncio.run(run()) == 0
