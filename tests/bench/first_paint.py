"""The first view of the dashboard, in turns with a bare Textual application: processes on terminals of their own."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import sys
import tempfile
import termios
import time
from typing import TYPE_CHECKING

from tests.bench.results import Result
from tests.bench.trees import HERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.results import Sheet

_SEEN = b"needs attention"  # the last pane of the first view
_SIZE = struct.pack("HHHH", 40, 120, 0, 0)
_LAUNCH_S = 0.05  # until the terminal has its size
_BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("needs attention")
Bare().run()
"""
# No dashboard over this engine can begin sooner: the packages on which it is built are imported before.
_WITH_PACKAGES = f"""
import click, simpy, yaml
from pydantic import BaseModel
class Body(BaseModel):
    id: str
Body(id="pool")
{_BARE}"""
_SAMPLE = ["-m", "tui", "open", "job-prep-release-sample", "--paused"]


def first_paint(sheet: Sheet, rounds: int) -> None:
    """Measure the time on the clock from the start of the command until its first view is on the screen."""
    with tempfile.TemporaryDirectory() as home:
        programs = (_SAMPLE, ["-c", _BARE], ["-c", _WITH_PACKAGES])
        for program in programs:
            _paint_s(program, home)  # compiles what it imports
        seen = [[_paint_s(program, home) for program in programs] for _ in range(rounds)]
    own_s, bare_s, with_packages_s = (min(each) for each in zip(*seen, strict=True))
    remark = f"{own_s * 1000:.0f} over {bare_s * 1000:.0f} ms at best"
    ratios = tuple(own / bare for own, bare, _ in seen)
    sheet.add(Result("first paint of the sample", "a bare Static", ratios, 1.6, remark=remark))
    remark = f"{with_packages_s * 1000:.0f} ms at best"
    ratios = tuple(with_packages / bare for _, bare, with_packages in seen)
    sheet.add(Result("first paint of a Static, all packages imported", "a bare Static", ratios, remark=remark))


def _paint_s(program: Sequence[str], home: str) -> float:
    """Return the seconds on the clock until a Python program has drawn its first view."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(HERE), "PYTHONPYCACHEPREFIX": f"{home}/bytecode"}
    environment |= {"TERM": "xterm-256color", "HOME": home, "XDG_CONFIG_HOME": home}
    began_s = time.perf_counter()
    process, terminal = pty.fork()
    if not process:
        time.sleep(_LAUNCH_S)
        os.execve(sys.executable, [sys.executable, *program], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, _SIZE)
    seen = b""
    while _SEEN not in seen.lower():
        seen += os.read(terminal, 65536)
    took_s = time.perf_counter() - began_s - _LAUNCH_S
    os.kill(process, signal.SIGKILL)
    os.close(terminal)
    os.waitpid(process, 0)
    return took_s
