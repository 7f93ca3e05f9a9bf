"""The command line as a process of its own."""

from __future__ import annotations

import subprocess
import sys

COMMAND = [sys.executable, "-m", "tui"]


def batchdeck(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; return its status and what it has printed."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False)
