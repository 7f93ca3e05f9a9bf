"""What goes into a program of the benchmark and what comes out."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple


class Answer(NamedTuple):
    """What a program found out, in simulated milliseconds: a fast wrong one must not pass.

    ``busy_ms`` counts every attempt of every task.
    """

    tasks: int
    makespan_ms: int
    start_sum_ms: int
    busy_ms: int
    preparations: int = 0
    releases: int = 0


class Work(NamedTuple):
    """What the tasks cost, in the order in which they were added: ``total_ms`` over all their ``attempts``."""

    ready_ms: int
    total_ms: array[int]
    attempts: array[int]

    def save(self, path: Path) -> None:
        """Write the work to a file that ``load`` reads."""
        with path.open("wb") as file:
            array("q", [self.ready_ms, len(self.total_ms)]).tofile(file)
            self.total_ms.tofile(file)
            self.attempts.tofile(file)

    @classmethod
    def load(cls, path: Path) -> Work:
        """Read what ``save`` wrote."""
        head, total_ms, attempts = array("q"), array("q"), array("B")
        with path.open("rb") as file:
            head.fromfile(file, 2)
            total_ms.fromfile(file, head[1])
            attempts.fromfile(file, head[1])
        return cls(head[0], total_ms, attempts)
