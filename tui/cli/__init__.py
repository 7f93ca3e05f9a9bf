"""The command line ``batchdeck``: its commands, and what they print without a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line as a process of its own: see ``commands.main``."""
    runtime.skip_gc_at_exit()
    with runtime.gc_relaxed(runtime.FOR_IMPORTS):
        from tui.cli import commands

        status = commands.main(arguments)
    # If Ctrl-C came while Python made a class from text, ``python -m`` would end by the signal in spite of the status.
    # It forgets that when it runs a text again.
    exec("")
    return status
