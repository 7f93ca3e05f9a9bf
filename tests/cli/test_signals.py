"""Signals at every moment of every command: status 128 + n, one line, the terminal as it was, no half-written file.

Six moments of each command by default, at other places in its first seconds than those of the others;
``BATCHDECK_MOMENTS=150`` takes so many of each command and signal.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.tui.test_endings import OPENED, SCENARIO, Terminal

ROOT = Path(__file__).parents[2]
MOMENTS = int(os.environ.get("BATCHDECK_MOMENTS", "0"))
LONGEST_S = 3.0 if MOMENTS else 1.5
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
LARGE = """
scenario: large
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 9}]
jobs:
  - id: j
    poolInfo: {poolId: p}
    taskFactory: {type: parametricSweep, parameterSets: [{start: 1, end: 60000}], repeatTask: {commandLine: work}}
"""
STUDY = ["--vary", "pools.shared.targetDedicatedNodes=1,2,3", "--seeds", "99", "--results", "r.jsonl"]
COMMANDS = {
    "open": ["open", str(SCENARIO)],
    "open --serve": ["open", str(SCENARIO), "--serve", "--port", "0"],
    "run": ["run", "large.yaml", "--events", "e.jsonl", "--files", "nodes"],
    "serve": ["serve", "--port", "0", "--save", "session.yaml"],
    "study": ["study", str(SCENARIO), *STUDY],
    "test": ["test", "large.yaml", "--junit", "r.xml", "--seeds", "4"],
    "check": ["check", *map(str, sorted((ROOT / "scenarios").glob("*.yaml")))],
}
NOISE = ("Traceback", "Error", "ignored in", "never retrieved", "was destroyed")
WHOLE = {"session.yaml", "r.jsonl", "r.xml"}  # what may be there: files that an interrupted command keeps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks the system whether a signal would be handled")


def handles(process, number):
    """Whether the first line of the command has been reached: until then Python, or nobody, handles the signal."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    caught = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16)
    return bool(caught >> (number - 1) & 1) and (number != signal.SIGINT or bool(caught >> (signal.SIGTERM - 1) & 1))


def on_a_terminal(directory, call, number, moment_s, again_s):
    one = Terminal(directory, "-m", "tui", *call)
    try:
        deadline_s = time.monotonic() + moment_s
        while time.monotonic() < deadline_s and one.process.poll() is None:
            one.read_some(max(0.0, min(0.1, deadline_s - time.monotonic())))
        was_handled = send(one.process, number)
        if again_s is not None:
            time.sleep(again_s)
            send(one.process, number)
        status = one.end()
        if OPENED in one.text and not one.is_as_before:
            one.text += b"Error: the terminal is not restored"
        return was_handled, status, one.text
    finally:
        one.finish()


def on_pipes(directory, call, number, moment_s, again_s):
    there = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(directory)}
    command = [sys.executable, "-m", "tui", *call]
    output = subprocess.DEVNULL if call[0] != "serve" else subprocess.PIPE
    with subprocess.Popen(command, cwd=directory, env=there, stdout=output, stderr=subprocess.PIPE) as process:
        time.sleep(moment_s)
        was_handled = send(process, number)
        if again_s is not None:
            time.sleep(again_s)
            send(process, number)
        try:
            _, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
            said += b"Error: it did not end within a minute"
    return was_handled, process.returncode, said


def send(process, number):
    """Send a signal; return whether it will be handled, None if the process has ended before."""
    if process.poll() is not None:
        return None
    was_handled = handles(process, number)
    process.send_signal(number)
    return was_handled


def problem_of(directory, command, number, moment_s, again_s):
    """Interrupt a command; return what is wrong, "" if nothing is."""
    directory.mkdir()
    (directory / "large.yaml").write_text(LARGE, encoding="utf-8")
    play = on_a_terminal if command.startswith("open") else on_pipes
    was_handled, status, said = play(directory, COMMANDS[command], number, moment_s, again_s)
    if was_handled is None or (not was_handled and status != 128 + number):
        return ""  # it was over, or has not begun
    wrong = [f"status {status}"] if status != 128 + number else []
    wrong += [word for word in NOISE if word.encode() in said]
    lines = said.count(b"Interrupted")
    wrong += [f"{lines} lines"] if lines != 1 and not (command == "serve" and not lines) else []
    left = {path.name for path in directory.iterdir()} - {"large.yaml", ".config"}
    wrong += [f"left {left}"] if left - WHOLE - ({"e.jsonl", "nodes"} if len(left) == 2 else set()) else []
    results = directory / "r.jsonl"
    if results.exists() and (counted := re.search(rb"after ([\d,]+) of", said)):
        content = results.read_bytes()
        wrong += ["cut line"] if content and not content.endswith(b"\n") else []
        wrong += [f"{counted[1]} counted"] if len(content.splitlines()) != int(counted[1].replace(b",", b"")) else []
    told = f"{command}, {signal.Signals(number).name} after {moment_s:.2f} s, again after {again_s}: {', '.join(wrong)}"
    return f"{told}\n{said[-999:].decode(errors='replace')}" if wrong else ""


def moments_of(command):
    """The moments at which a command is interrupted, with signals, and when a second one comes."""
    if MOMENTS:
        steps = [LONGEST_S * at / MOMENTS for at in range(MOMENTS)]
        return [
            (number, at_s, None if at % 2 else 0.005 * (at % 20)) for at, at_s in enumerate(steps) for number in SIGNALS
        ]
    chance = random.Random(command)
    at_s = [LONGEST_S * (at + chance.random()) / 6 for at in range(6)]
    return [(SIGNALS[at % 3], at_s[at], chance.choice([None, 0.0, 0.03])) for at in range(6)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_at_any_moment_ends_a_command_in_order(command, tmp_path):
    cases = [(tmp_path / str(at), command, *when) for at, when in enumerate(moments_of(command))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(filter(None, pool.map(lambda case: problem_of(*case), cases)))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("command", ["open", "serve"])
def test_a_signal_that_is_ignored_stays_so(command, tmp_path):
    """As with nohup."""
    (tmp_path / "large.yaml").write_text(LARGE, encoding="utf-8")
    ignored = (
        "import signal, sys, os; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    one = Terminal(tmp_path, "-c", ignored, sys.executable, "-m", "tui", *COMMANDS[command])
    try:
        one.read_until(b"Needs attention", b"listening on")
        one.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert one.process.poll() is None
        one.process.send_signal(signal.SIGTERM)
        assert one.end() == 143
    finally:
        one.finish()
