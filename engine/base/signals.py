"""Signals that end a program: their names, their exit status, and handlers for the time of a block."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object]

HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # the terminal was closed; not on Windows
SIGNAL_STATUS = 128  # plus the number of the signal is the exit status, as in a shell


@contextmanager
def handled(handlers: Mapping[signal.Signals, Handler]) -> Iterator[None]:
    """Let these functions handle signals within the block, and whatever did so before afterwards."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
