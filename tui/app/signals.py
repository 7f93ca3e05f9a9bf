"""Signals that end the dashboard. What was done by hand is saved first."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_SIGNAL_STATUS = 128  # plus the number of the signal is the exit status, as in a shell


@contextmanager
def handle_signals(
    save: Callable[[], object], leave: Callable[[int], object], *, remember: Callable[[], object]
) -> Iterator[None]:
    """Handle signals within the block: SIGTERM and SIGINT save and leave with a status, SIGHUP saves and exits at once.

    Args:
        save: Saves what was done by hand.
        leave: Ends the program in order with a status. Called from a signal handler, at any point of the program.
        remember: Writes the settings; called where the program does not end in order, and so would not do it.
    """

    def end(number: int, _: FrameType | None) -> None:
        save()
        leave(_SIGNAL_STATUS + number)

    def hang_up(number: int, _: FrameType | None) -> None:
        save()
        with suppress(Exception):  # a view may be half drawn
            remember()
        os._exit(_SIGNAL_STATUS + number)  # a write to the closed terminal would block for ever

    handlers = {signal.SIGTERM: end, signal.SIGINT: end}
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = hang_up
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
