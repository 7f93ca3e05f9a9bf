"""Tells from the log whether what was said about a row still holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.events.log import LogSubject
from engine.views.log.reader import kinds_of, numbers_of

if TYPE_CHECKING:
    from engine import Simulation
    from engine.events.log import Shape

_PROCESSES = (LogSubject.TASK, LogSubject.INSTANCE)


class UntouchedRow:
    """Tells whether all new entries are about the processes of other rows.

    Nearly all entries of a run say that a task, a preparation or a release has another state, which concerns that task
    and its node alone. Any other entry may concern every row.
    """

    def __init__(self, simulation: Simulation, column: Literal["row_a", "row_b"]) -> None:
        """Begin with no row; rows are tasks if they stand in the log's ``row_a``, nodes if in ``row_b``."""
        self._simulation = simulation
        self._column: Literal["row_a", "row_b"] = column
        self._kinds: list[bool] = []  # by shape: whether it may concern other rows than its own
        self._asked: object = None  # the row, and the jumps in time before it was asked for
        self._read = 0

    def check(self, row: int) -> bool:
        """Return whether nothing may have changed the row since the last call, which asked for the same one."""
        log, asked, start = self._simulation.log, (row, self._simulation.jumps), self._read
        is_known, self._asked, self._read = asked == self._asked, asked, len(log)
        if not is_known or start == self._read:
            return is_known
        self._kinds.extend(map(_may_concern_others, log.shapes[len(self._kinds) :]))
        if any(kinds_of(self._kinds, log.shape_of[start : self._read])):
            return False
        return next(numbers_of(getattr(log, self._column), row, start, self._read), None) is None


def _may_concern_others(shape: Shape) -> bool:
    return shape.subject not in _PROCESSES or dict(shape.fields).get("to") is None
