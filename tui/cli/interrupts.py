"""Signals that end a command as Ctrl-C does: what is open is closed, and nothing half-written stays behind."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from stat import S_ISCHR
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # not on Windows
SIGNAL_STATUS = 128  # plus the number of the signal is the exit status, as in a shell
INTERRUPTED = SIGNAL_STATUS + signal.SIGINT


class Interrupts:
    """What has interrupted a command: Ctrl-C, unless another signal came."""

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

    numbers = [one for one in (signal.SIGTERM, HANG_UP) if one and signal.getsignal(one) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield caught
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def forget_terminal() -> None:
    """Drop what is still written to a terminal that has been closed; writing there would be an error."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        with suppress(OSError):  # it was closed before
            if S_ISCHR(os.fstat(stream).st_mode):
                os.dup2(null, stream)
    os.close(null)
