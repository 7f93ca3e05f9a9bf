"""The command line ``batchdeck``: its commands, and what they print without a screen."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from engine.base import runtime
from engine.base.values import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line as a process of its own: see ``commands.main``."""
    runtime.skip_gc_at_exit()
    sys.excepthook = _print_defect
    with runtime.gc_relaxed(runtime.FOR_IMPORTS):
        from tui.cli import commands

        status = commands.main(arguments)
    # If Ctrl-C came while Python made a class from text, ``python -m`` would end by the signal in spite of the status.
    # It forgets that when it runs a text again.
    exec("")
    return status


def _print_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback. The message of an error, and the command line that led to it, may have control characters."""
    import traceback

    sys.stderr.write(visible("".join(traceback.format_exception(kind, error, trace))))
