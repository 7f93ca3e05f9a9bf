"""However a command ends: the terminal is as it was, and nothing done by hand is lost. On a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from engine import load_scenario

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "tests" / "tui" / "scenarios" / "one-node-fails.yaml"
SAVED = "one-node-fails-session.yaml"
OPENED, CLOSED = b"\x1b[?1049h", b"\x1b[?1049l"
PATIENCE_S = 60

BY_HAND = """
import sys
from engine import Simulation, load_scenario
from engine.specs import commands as c
from tui.app.dashboard import show_dashboard

simulation = Simulation(load_scenario(sys.argv[1]))
simulation.run_until(300_000)
simulation.submit(c.DisableJob.from_wire({"jobId": "risk", "disableTasks": "requeue"}))
%s
sys.exit(show_dashboard(simulation, speed=60, plays=%s, theme="dark", ascii_only=False))
"""
BREAKS = """
from engine import BrokenInvariant
def breaks(until_ms, most, run=simulation.world.calendar.advance, **how):
    more = run(min(until_ms, 303_000), most, **how)
    if simulation.world.now_ms >= 303_000 or until_ms > 303_000 and not more:
        raise BrokenInvariant("two and two are five")
    return more
simulation.world.calendar.advance = breaks
"""

DRAWS_WRONG = """
from tui.viewmodels.lists.jobs import JobsModel
def breaks(*_):
    raise RuntimeError("no rows")
JobsModel.order = breaks
"""
FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
"""


class Terminal:
    """A terminal of 120 by 40 with a program on it."""

    def __init__(self, directory, *arguments):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.text = b""
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "HOME": str(directory)}
        self.process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=directory,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  # no threads here
        )

    def read_until(self, *texts):
        """All that comes until one of these texts has come."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not any(text in self.text for text in texts):
            assert time.monotonic() < deadline_s, self.text[-2000:]
            self.read_some()

    def read_some(self, seconds=0.1):
        """Read what comes within this time; return whether anything has come."""
        has_come = bool(select.select([self.master], [], [], seconds)[0])
        if has_come:
            self.text += os.read(self.master, 65536)
        return has_come

    def press(self, keys):
        """Type this."""
        os.write(self.master, keys)

    def end(self):
        """The status with which the program has ended; all that it has said is read."""
        deadline_s = time.monotonic() + PATIENCE_S
        while self.process.poll() is None or select.select([self.master], [], [], 0)[0]:
            assert time.monotonic() < deadline_s, self.text[-2000:]
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536)
        return self.process.returncode

    def close(self):
        """Close the terminal; return the status with which the program has ended."""
        os.close(self.slave)
        os.close(self.master)
        self.master, self.slave = os.open(os.devnull, os.O_RDWR), os.open(os.devnull, os.O_RDWR)
        return self.process.wait(PATIENCE_S)

    def finish(self):
        """End the program, if it has not ended, and forget the terminal."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)

    @property
    def is_as_before(self):
        """Whether the terminal is restored: the first screen, the cursor, and how it treats what is typed."""
        return (
            self.text.rfind(CLOSED) > self.text.rfind(OPENED)
            and self.text.rfind(b"\x1b[?25h") > self.text.rfind(b"\x1b[?25l")
            and termios.tcgetattr(self.slave) == self.before
        )


@pytest.fixture
def terminal(tmp_path):
    """Start a program on a terminal of its own, in an empty directory."""
    opened = []

    def start(*arguments):
        opened.append(Terminal(tmp_path, *arguments))
        return opened[-1]

    yield start
    for one in opened:
        one.finish()


def by_hand(terminal, *, then="", plays=True):
    """The dashboard, after a job has been disabled by hand."""
    one = terminal("-c", BY_HAND % (then, plays), SCENARIO)
    one.read_until(b"Needs attention")
    return one


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
    ids=["SIGTERM", "SIGINT", "SIGHUP"],
)
def test_a_signal_to_end_restores_the_terminal_and_saves(terminal, tmp_path, number, status):
    one = by_hand(terminal)
    one.process.send_signal(number)
    assert one.end() == status
    assert one.is_as_before
    assert "disableJob" in (tmp_path / SAVED).read_text(encoding="utf-8")
    assert f"is saved in {SAVED}".encode() in one.text


def test_ctrl_z_gives_the_terminal_back_and_all_is_drawn_when_it_goes_on(terminal):
    one = by_hand(terminal)
    one.press(b"\x1a")
    one.read_until(CLOSED)
    os.waitid(os.P_PID, one.process.pid, os.WSTOPPED)
    while one.read_some():  # what came before the stop
        pass
    assert one.is_as_before
    one.text = b""
    one.process.send_signal(signal.SIGCONT)
    one.read_until(b"Needs attention")
    one.read_until(b"PAUSED", b"END")  # which it may have reached before the key
    one.press(b"\x03")
    assert one.end() == 130


def test_a_closed_terminal_ends_it_and_saves_while_the_run_plays(terminal, tmp_path):
    one = by_hand(terminal)
    assert one.close() == 129
    assert "disableJob" in (tmp_path / SAVED).read_text(encoding="utf-8")


def test_a_closed_terminal_ends_it_and_saves_while_the_run_is_paused_with_the_settings_chosen_before(
    terminal, tmp_path
):
    one = by_hand(terminal, plays=False)
    one.press(b"s")
    one.read_until(b"confirm_quit")
    one.press(b"\x1b[C")  # the next theme
    one.press(b"q")
    one.press(b"6")
    one.read_until(b"wait for success")  # so that the keys before have been handled
    assert one.close() == 129
    assert "disableJob" in (tmp_path / SAVED).read_text(encoding="utf-8")
    kept = next(tmp_path.rglob("settings.toml")).read_text(encoding="utf-8")
    assert 'theme = "light"' in kept
    assert "introduction = false" in kept


def test_a_terminal_that_is_closed_after_the_signal_ends_it_and_saves(terminal, tmp_path):
    one = by_hand(terminal)
    one.process.send_signal(signal.SIGHUP)
    assert one.close() == 129
    assert "disableJob" in (tmp_path / SAVED).read_text(encoding="utf-8")


def test_a_terminal_that_is_closed_during_a_run_leaves_no_file(terminal, tmp_path):
    tasks = "{type: parametricSweep, parameterSets: [{start: 1, end: 900000}], repeatTask: {commandLine: work}}"
    pool = "{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 9}"
    job = f"{{id: j, poolInfo: {{poolId: p}}, taskFactory: {tasks}}}"
    (tmp_path / "long.yaml").write_text(f"scenario: long\npools: [{pool}]\njobs: [{job}]\n")
    one = terminal("-m", "tui", "run", "long.yaml", "--events", "events.jsonl")
    one.read_until(b"tasks")
    assert one.close() == 129
    assert os.listdir(tmp_path) == ["long.yaml"]


def test_a_terminal_that_is_closed_while_clients_are_served_leaves_their_session(terminal, tmp_path):
    one = terminal("-m", "tui", "serve", "--port", "0", "--save", "session.yaml")
    one.read_until(b"listening on")
    assert one.close() == 129
    assert load_scenario(str(tmp_path / "session.yaml")).name


def test_a_mistake_of_the_engine_is_told_and_the_past_stays(terminal, tmp_path):
    one = by_hand(terminal, then=BREAKS)
    one.press(b"}")
    one.read_until(b"The engine cannot continue")
    one.read_until(b"BrokenInvariant: two and two are five")
    assert "disableJob" in (tmp_path / SAVED).read_text(encoding="utf-8")
    one.press(b"q")
    one.press(b"6")
    one.read_until(b"command line")
    one.press(b"\x03")
    assert one.end() == 130
    assert one.is_as_before
    assert f"is saved in {SAVED}".encode() in one.text


def test_a_mistake_in_drawing_restores_the_terminal_and_saves(terminal, tmp_path):
    one = by_hand(terminal, then=DRAWS_WRONG)
    one.press(b"4")
    assert one.end() == 1
    assert one.is_as_before
    assert b"no rows" in one.text
    assert "disableJob" in (tmp_path / SAVED).read_text(encoding="utf-8")


def test_where_the_directory_cannot_be_written_the_session_goes_home(terminal, tmp_path):
    one = by_hand(terminal, then="import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir(os.getcwd())")
    one.press(b"\x03")
    assert one.end() == 130
    assert b"cannot write" in one.text
    assert f"is saved in {tmp_path / SAVED}".encode() in one.text
    assert "disableJob" in (tmp_path / SAVED).read_text(encoding="utf-8")


def test_on_a_full_disk_the_session_is_printed(terminal, tmp_path):
    one = by_hand(terminal, then=FULL_DISK)
    one.press(b"\x03")
    assert one.end() == 130
    assert one.is_as_before
    assert b"cannot be saved anywhere" in one.text
    assert b"disableJob" in one.text
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_scenario_with_mistakes_is_told_before_anything_is_drawn(terminal, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("scenario: wrong\npools:\n  - id: p\n    vmSiz: standard_d2s_v3\n", encoding="utf-8")
    one = terminal("-m", "tui", "open", wrong)
    assert one.end() == 2
    assert b"wrong.yaml:4:5" in one.text
    assert b"vmSize" in one.text
    assert OPENED not in one.text


def test_a_terminal_that_grows_in_mid_run_is_filled_and_ctrl_c_restores_it_and_saves(terminal, tmp_path):
    one = by_hand(terminal)
    one.press(b"}")
    fcntl.ioctl(one.master, termios.TIOCSWINSZ, struct.pack("HHHH", 55, 180, 0, 0))
    one.process.send_signal(signal.SIGWINCH)
    one.read_until(b"\x1b[55;")
    one.press(b"\x03")
    assert one.end() == 130
    assert one.is_as_before
    assert "disableJob" in (tmp_path / SAVED).read_text(encoding="utf-8")
