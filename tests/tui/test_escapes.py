"""No control character in text from outside reaches the terminal of the dashboard, as its raw bytes show."""

from __future__ import annotations

import json
import os
import re
import select
import socket
from http.client import HTTPConnection
from urllib.parse import quote

import pytest

from tests.escapes import HOSTILE, SHOWN, controls_in, hostile_run
from tests.tui.test_endings import Terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")

# What may come from us: colours, places, modes, questions to the terminal, the pointer, and what the user has copied.
OURS = re.compile(
    r"\x1b\[[0-9;:?>=<]*[ -/]*[@-~]|\x1b[=>78]|\x1b\]22;\w+\x07|\x1b\]52;c;(?!SEVMTE8)[\w+/=]*\x07|[\r\x0f]"
)
ESCAPE = "\x1b[27u"  # as a terminal with Kitty's protocol says it: no key that follows can be taken for a part of it
PASTED = f"\x1b[200~{HOSTILE}\x1b[201~"
# Each view and list with why and the page of its first row; then what opens over a list.
VIEWS = [*"1234569", ":messages", ":requests", ":environment", ":storage", ":expectations"]
OVER = [*"fadYemSRK", f"/{PASTED}", f"\x06{PASTED}", f":{PASTED}"]
AGENT = "a\x1b]52;c;SEVMTE8=\x07b\x9b2Jc\x7fd"  # a header takes no more


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(port):
    """Whether somebody listens on a port."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def ask(port, method, path, body=None):
    """Send a request as a client does that wants to harm whoever watches."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    content, headers = None if body is None else json.dumps(body), {"User-Agent": AGENT.encode("latin-1")}
    connection.request(method, f"/{quote(path)}?api-version=2025-06-01", content, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def press(terminal, keys):
    """Press keys, and read until nothing more comes."""
    terminal.press(keys.encode())
    while select.select([terminal.master], [], [], 0.05)[0]:
        terminal.text += os.read(terminal.master, 65536)


def test_a_hostile_scenario_and_a_hostile_client(tmp_path):
    (tmp_path / "s.json").write_text(hostile_run())
    port = free_port()
    options = ("--serve", "--any-key", "--port", port, "--at", "PT12M30S", "--paused")
    terminal = Terminal(tmp_path, "-m", "tui", "open", "s.json", *options)
    try:
        terminal.read_until(b"PAUSED")
        while not answers(port):
            terminal.read_some()
        ask(port, "POST", "jobs", {"id": "new", "displayName": HOSTILE, "poolInfo": {"poolId": "p"}})
        ask(port, "POST", "jobs", {"id": HOSTILE, "poolInfo": {"poolId": HOSTILE}})
        ask(port, "GET", f"jobs/{HOSTILE}/tasks/{HOSTILE}")
        ask(port, "PATCH", f"pools/{HOSTILE}", {HOSTILE: HOSTILE})
        ask(port, "DELETE", HOSTILE)
        assert ask(port, "POST", "jobs/new/terminate", {"terminateReason": HOSTILE}) < 300
        terminal.read_until(b"POST")
        for view in VIEWS:
            press(terminal, f"{view}\r{ESCAPE}" if view[0] == ":" else f"{view}w{ESCAPE}\r{ESCAPE}")
        press(terminal, "4")
        press(terminal, "".join(f"{keys}{ESCAPE}{ESCAPE}" for keys in OVER))
        terminal.press(b"\x03")
        assert terminal.end() == 130
    finally:
        terminal.process.kill()
        terminal.close()
    text = OURS.sub("", terminal.text.decode())
    assert not controls_in(text)
    assert SHOWN in text
    assert r"\u202e" in text
