"""How long somebody waits who opens the dashboard: a process of its own on a terminal of its own."""

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

_SEEN = b"needs attention"  # the last pane of the first view
_SIZE = struct.pack("HHHH", 40, 120, 0, 0)


def first_paint_s() -> float:
    """Seconds on the clock from the start of the command until its first view is on the screen."""
    with tempfile.TemporaryDirectory() as home:
        began_s = time.perf_counter()
        process, terminal = pty.fork()
        if not process:
            os.environ.update(TERM="xterm-256color", HOME=home, XDG_CONFIG_HOME=home)
            time.sleep(0.05)  # until the terminal has its size
            os.execv(sys.executable, [sys.executable, "-m", "tui", "open", "job-prep-release-sample", "--paused"])
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, _SIZE)
        seen = b""
        while _SEEN not in seen.lower():
            seen += os.read(terminal, 65536)
        took_s = time.perf_counter() - began_s - 0.05
        os.kill(process, signal.SIGTERM)
        os.close(terminal)
        os.waitpid(process, 0)
        return took_s
