"""The tasks that may have changed since a moment, by the entries of the log since then."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from engine.events.log import LogSubject
from engine.views.log.reader import kinds_of

if TYPE_CHECKING:
    from engine import Simulation


class ChangedTasks:
    """The tasks about which the log says something new. After a jump in time the reader must skip."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with the present moment."""
        self._log = simulation.log
        self._kinds: list[bool] = []  # by shape: whether it is about a task
        self._read = len(self._log)

    def skip(self) -> None:
        """Begin anew with the present moment."""
        self._read = len(self._log)

    def take(self, most: int) -> set[int] | None:
        """Return the tasks in the entries since the last call, of all jobs; None if more than ``most`` are to be read.

        Both tasks that were added and tasks that are gone are among them.
        """
        log, start = self._log, self._read
        self._read = len(log)
        if not 0 <= len(log) - start <= most:
            return None
        self._kinds.extend(shape.subject is LogSubject.TASK for shape in log.shapes[len(self._kinds) :])
        found = set(compress(log.row_a[start:], kinds_of(self._kinds, log.shape_of[start:])))
        for entry in log.blocks(start, len(log)):
            first, count = log.row_a[entry], log.row_b[entry]
            found.update(range(first, first + count))
        return found
