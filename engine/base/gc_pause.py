"""Context managers that pause the garbage collector, or let it run less often."""

from __future__ import annotations

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


FOR_RUNS = (100_000, 10, 10)
"""Thresholds for a run, which keeps what it creates and creates few cycles."""

FOR_FRAMES = (1000, 1000, 1000)
"""Thresholds for a screen: each collection is short, and a full one, which takes longer than a frame, is rare."""


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
