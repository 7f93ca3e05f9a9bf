"""Signals that end a command as Ctrl-C does: what is open is closed, and nothing half-written stays behind."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from stat import S_ISCHR
from typing import TYPE_CHECKING

from engine.base.signals import HANG_UP, SIGNAL_STATUS, handled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

INTERRUPTED = SIGNAL_STATUS + signal.SIGINT


class Interrupts:
    """Tells which signal has interrupted a command: that of Ctrl-C, unless another came."""

    number: int = signal.SIGINT

    def status(self, status: int) -> int:
        """Return the exit status of a command that has ended with this one."""
        return SIGNAL_STATUS + self.number if status == INTERRUPTED else status


@contextmanager
def other_signals() -> Iterator[Interrupts]:
    """Raise KeyboardInterrupt within the block also on SIGTERM, and on SIGHUP when the terminal is closed.

    A signal that is ignored, as ``nohup`` has it, or handled already stays so.
    """
    caught = Interrupts()

    def interrupt(number: int, _: FrameType | None) -> None:
        caught.number = number
        if number == HANG_UP:
            forget_terminal()
        raise KeyboardInterrupt

    others = [one for one in (signal.SIGTERM, HANG_UP) if one and signal.getsignal(one) is signal.SIG_DFL]
    with handled(dict.fromkeys(others, interrupt)):
        yield caught


def forget_terminal() -> None:
    """Drop what is still written to a terminal that has been closed; writing there would be an error."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        with suppress(OSError):  # it was closed before
            if S_ISCHR(os.fstat(stream).st_mode):
                os.dup2(null, stream)
    os.close(null)
