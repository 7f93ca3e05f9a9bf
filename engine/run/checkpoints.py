"""Checkpoints: copies of the world at some moments of a run, thinned out to bound memory."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.run.expectations import ExpectationsCopy, RefusedCommand
    from engine.run.journal import Input
    from engine.scenario.model import TimelineEntry
    from engine.world.world import WorldCopy

# Beyond this number every second checkpoint is dropped and the distance doubles.
MOST_CHECKPOINTS = 192
FIRST_DISTANCE = 8192  # log entries


class Checkpoint(NamedTuple):
    """Everything that can change, as it was at ``now_ms``."""

    now_ms: int
    world: WorldCopy
    done: int
    conditions: tuple[Input, ...]
    waiting: tuple[TimelineEntry, ...]
    refusals: tuple[RefusedCommand, ...]
    expectations: ExpectationsCopy


class Checkpoints:
    """Checkpoints in order of time. The first one, at the start of the run, is never dropped."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self._all: list[Checkpoint] = []
        self._distance = FIRST_DISTANCE
        self._next_length = 0

    def __len__(self) -> int:
        return len(self._all)

    def is_due(self, log_length: int) -> bool:
        """Return whether the log has grown enough since the last checkpoint."""
        return log_length >= self._next_length

    def add(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint, unless there is a later one.

        Most of the cost of a checkpoint is copying what is alive, so the next one is the farther away the more that is.
        """
        length = checkpoint.world.log_length
        self._next_length = length + max(self._distance, checkpoint.world.alive)
        if self._all and self._all[-1].world.log_length >= length:
            return
        self._all.append(checkpoint)
        if len(self._all) > MOST_CHECKPOINTS:
            del self._all[1::2]
            self._distance *= 2

    def nearest(self, when_ms: int) -> Checkpoint:
        """Return the last checkpoint before ``when_ms``, from which that moment can be reached by replay."""
        at = bisect_right(self._all, when_ms, key=lambda one: one.now_ms)
        while at > 1 and self._all[at - 1].now_ms == when_ms:
            at -= 1
        return self._all[max(at - 1, 0)]

    def forget_after(self, when_ms: int) -> None:
        """Drop the checkpoints of a discarded future."""
        del self._all[max(1, bisect_right(self._all, when_ms, key=lambda one: one.now_ms)) :]
        self._next_length = self._all[-1].world.log_length + self._distance
