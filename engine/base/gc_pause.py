"""Ways to pause the garbage collector, to let it run less often, and to end without it."""

from __future__ import annotations

import atexit
import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def paused() -> Iterator[None]:
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
def relaxed(wanted: tuple[int, int, int] = FOR_RUNS) -> Iterator[None]:
    """Collect less often, and never what there is already."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*wanted)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def skip_at_exit() -> None:
    """Let the process end without collecting: Python would look through all modules, longer than a small run takes."""
    atexit.register(gc.freeze)
