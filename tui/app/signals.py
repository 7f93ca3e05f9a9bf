"""Signals that end the dashboard. What was done by hand is saved first."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from engine.base.signals import HANG_UP, SIGNAL_STATUS, handled

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import FrameType

    from engine.base.signals import Handler


def handle_signals(
    save: Callable[[], object], leave: Callable[[int], object], *, remember: Callable[[], object]
) -> AbstractContextManager[None]:
    """Handle signals within the block: save, and leave with a status; at once if the terminal has been closed.

    Args:
        save: Saves what was done by hand.
        leave: Ends the program in order with a status. Called from a signal handler, at any point of the program.
        remember: Writes the settings; called where the program does not end in order, and so would not do it.
    """

    def end(number: int, _: FrameType | None) -> None:
        save()
        leave(SIGNAL_STATUS + number)

    def hang_up(number: int, frame: FrameType | None) -> None:
        if sys.stdin.isatty():  # the signal was sent by hand, or by a shell that ends
            end(number, frame)
            return
        save()
        with suppress(Exception):  # a view may be half drawn
            remember()
        os._exit(SIGNAL_STATUS + number)  # a write to the closed terminal would block for ever

    handlers: dict[signal.Signals, Handler] = {signal.SIGTERM: end, signal.SIGINT: end}
    if HANG_UP is not None:
        handlers[HANG_UP] = hang_up
    return handled(handlers)
