"""The Python process that runs the engine: pauses of its garbage collector, and handlers of signals.

The collector is paused while many objects are created, and runs less often during a run. Signals that end a program
have handlers for the time of a block.
"""

from __future__ import annotations

import gc
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    Handler = Callable[[int, FrameType | None], object]


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection while many objects are created and none discarded.

    Reading a large scenario would otherwise spend 40 % of its time in the collector.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


FOR_IMPORTS = (1_000_000, 10, 10)
"""Thresholds for the start of a program, which keeps nearly all that it creates."""

FOR_RUNS = (100_000, 10, 10)
"""Thresholds for a run, which keeps what it creates and creates few cycles."""

FOR_FRAMES = (30_000, 1000, 1000)
"""Thresholds for a screen: nearly all frames are without a collection, and a full one, which takes seconds, is rare.

While time goes by fast, what the engine has put into its calendar would else be looked at in every frame.
"""


@contextmanager
def gc_relaxed(wanted: tuple[int, int, int] = FOR_RUNS) -> Iterator[None]:
    """Collect less often, and never what there is already."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*wanted)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)  # the terminal was closed; not on Windows


@contextmanager
def handled(handler: Handler) -> Iterator[None]:
    """Let this function handle SIGINT, SIGTERM and SIGHUP within the block, and whatever did so before afterwards.

    Those that are ignored, as ``nohup`` has it, stay so.
    """
    numbers = [one for one in (signal.SIGINT, signal.SIGTERM, HANG_UP) if one is not None]
    ending = [one for one in numbers if signal.getsignal(one) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in ending}
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)
