"""The time until the dashboard is there, on a real terminal: a line says what is opened, and keys are not lost.

The program waits in the middle of an import until the test lets it go on: nothing here depends on how long it takes.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios

import pytest

from tests.tui.test_endings import OPENED, SCENARIO, Terminal

# Holds the import of a module until somebody has written to the file "go".
HELD = """
import sys
module = sys.argv.pop(1)
class Held:
    def find_spec(self, name, *_):
        if name == module:
            del sys.meta_path[0]
            open("go", "rb").read()
sys.meta_path.insert(0, Held())
from tui.cli import main
sys.exit(main())
"""
LINE = b"Opening "


@pytest.fixture
def held(tmp_path):
    """Start a command that is held at the import of a module."""
    os.mkfifo(tmp_path / "go")
    opened = []

    def start(module, *arguments):
        opened.append(Terminal(tmp_path, "-c", HELD, module, *arguments))
        return opened[-1]

    yield start
    for one in opened:
        one.finish()


def unread(one):
    """How many bytes were typed that nobody has read, once the terminal gives all that it has."""
    modes = termios.tcgetattr(one.slave)
    modes[3] &= ~termios.ICANON
    termios.tcsetattr(one.slave, termios.TCSANOW, modes)
    return struct.unpack("i", fcntl.ioctl(one.slave, termios.FIONREAD, b"\0" * 4))[0]


def go_on(tmp_path):
    (tmp_path / "go").write_bytes(b"now")


@pytest.mark.parametrize("module", ["engine.run.simulation", "textual"])
def test_keys_typed_while_the_dashboard_is_opened_are_not_shown_and_reach_it(held, tmp_path, module):
    one = held(module, "open", str(SCENARIO), "--paused")
    one.read_until(b" ...")
    before = one.text
    assert LINE in before
    one.press(b":rule PREP-16\r")
    assert not termios.tcgetattr(one.slave)[3] & (termios.ECHO | termios.ICANON)
    go_on(tmp_path)
    one.read_until(b"PREP-16")
    shown = one.text.removeprefix(before)
    assert b"PREP-16" not in shown.partition(OPENED)[0]
    assert b"\r\x1b[K" in shown.partition(OPENED)[0]  # the line has gone
    one.process.send_signal(signal.SIGTERM)
    assert one.end() == 143
    assert one.is_as_before


@pytest.mark.parametrize(("key", "status"), [(b"\x03", 130), (signal.SIGTERM, 143)], ids=["Ctrl+C", "SIGTERM"])
def test_an_interrupt_meanwhile_restores_the_terminal_and_leaves_no_keys_to_the_shell(held, key, status):
    one = held("textual", "open", str(SCENARIO))
    one.read_until(b" ...")
    one.press(b"rm -r .\r")
    if isinstance(key, bytes):
        one.press(key)
    else:
        one.process.send_signal(key)
    assert one.end() == status
    assert one.text.endswith(b"\r\x1b[K\r\nInterrupted.\r\n")
    assert termios.tcgetattr(one.slave) == one.before
    assert not unread(one)


def test_mistakes_of_a_scenario_stand_on_lines_of_their_own(held, tmp_path):
    (tmp_path / "wrong.yaml").write_text("scenario: wrong\npols: []\n", encoding="utf-8")
    one = held("yaml", "open", "wrong.yaml")
    one.read_until(b" ...")
    one.press(b"exit\r")
    go_on(tmp_path)
    assert one.end() == 2
    assert b"\r\x1b[Kwrong.yaml:2:1: " in one.text
    assert termios.tcgetattr(one.slave) == one.before
    assert not unread(one)


def test_a_defect_restores_the_terminal(held, tmp_path):
    (tmp_path / "textual.py").write_text("raise RuntimeError('a defect')\n", encoding="utf-8")
    one = held("textual", "open", str(SCENARIO))
    one.read_until(b" ...")
    go_on(tmp_path)
    assert one.end() == 1
    assert b"\r\x1b[KTraceback" in one.text
    assert termios.tcgetattr(one.slave) == one.before


def test_the_line_has_room_for_its_end_however_long_the_name_is(held, tmp_path):
    name = f"{'会' * 60}.yaml"
    (tmp_path / name).write_text("scenario: long\n", encoding="utf-8")
    one = held("textual", "open", name)
    one.read_until(b" ...")
    line = one.text.decode().strip()
    assert "会" in line
    assert sum(1 + (each == "会") for each in line) < 120
