"""What ends the dashboard from outside: a closed terminal, or a signal to end. What was done by hand is saved first."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_OF_SIGNAL = 128  # a shell adds the number of the signal to this


@contextmanager
def told_by_signals(save: Callable[[], object], leave: Callable[[int], object]) -> Iterator[None]:
    """Inside, SIGTERM and SIGINT save and then leave with a status; a closed terminal leaves nothing to do but save.

    ``leave`` is called from a signal handler, in the midst of anything.
    """

    def end(number: int, _: FrameType | None) -> None:
        save()
        leave(_OF_SIGNAL + number)

    def hang_up(number: int, _: FrameType | None) -> None:
        save()
        os._exit(_OF_SIGNAL + number)  # whatever writes to the terminal would wait for it for ever

    handlers = {signal.SIGTERM: end, signal.SIGINT: end}
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = hang_up
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
