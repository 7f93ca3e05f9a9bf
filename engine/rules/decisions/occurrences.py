"""The moments at which jobs of a schedule are due (JS-2 to JS-5, JS-13): decisions on plain numbers.

Occurrence k is due at ``first_ms + k * interval_ms``. ``turn`` is the number of the first that has not had its turn:
all before it have made a job, or have been given up.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from engine.specs.schedule import Schedule

_MS = timedelta(milliseconds=1)


class Timing(NamedTuple):
    """A schedule in ms since the scenario's start."""

    first_ms: int
    interval_ms: int | None  # None: there is one occurrence only
    window_ms: int | None  # None: until the next one is due
    last_ms: int | None  # no job is created after this moment; None: there is no end

    def due_ms(self, occurrence: int) -> int:
        """Return when an occurrence is due (JS-13)."""
        return self.first_ms + occurrence * (self.interval_ms or 0)

    def latest(self, now_ms: int) -> int:
        """Return the number of the last occurrence due up to ``now_ms``; -1 before the first."""
        if self.last_ms is not None:  # none is due after the end
            now_ms = min(now_ms, self.last_ms)
        if now_ms < self.first_ms:
            return -1
        return 0 if self.interval_ms is None else (now_ms - self.first_ms) // self.interval_ms

    def closes_ms(self, occurrence: int) -> int | None:
        """Return the last moment at which an occurrence can make its job (JS-3); None if there is no limit.

        A window as long as the interval does not limit it, but no occurrence outlasts the moment the next is due.
        """
        limits = [] if self.last_ms is None else [self.last_ms]
        if self.interval_ms is not None:
            limits.append(self.due_ms(occurrence + 1) - 1)
        if self.window_ms is not None and (self.interval_ms is None or self.window_ms < self.interval_ms):
            limits.append(self.due_ms(occurrence) + self.window_ms)
        return min(limits, default=None)

    def lost_ms(self, occurrence: int) -> int | None:
        """Return when an occurrence can no longer make its job (JS-3, JS-15); None if that never comes.

        In the last moment of its window it still can, but nothing comes after that moment.
        """
        closes_ms = self.closes_ms(occurrence)
        ends_with_next = self.interval_ms is not None and closes_ms == self.due_ms(occurrence + 1) - 1
        return closes_ms + 1 if closes_ms is not None and ends_with_next else closes_ms


def timing_of(schedule: Schedule, created_ms: int, start: datetime) -> Timing:
    """Return the timing of a schedule created at ``created_ms`` of a run that began at ``start`` (JS-2, JS-13)."""
    until, after = schedule.do_not_run_until, schedule.do_not_run_after
    first_ms = created_ms if until is None else max(created_ms, (until - start) // _MS)
    last_ms = None if after is None else (after - start) // _MS
    return Timing(first_ms, schedule.recurrence_interval, schedule.start_window, last_ms)


def due_occurrence(timing: Timing, turn: int, now_ms: int) -> int | None:
    """Return the occurrence that may make its job now (JS-3, JS-4, JS-5); None if none may."""
    occurrence = timing.latest(now_ms)
    if occurrence < turn:
        return None
    closes_ms = timing.closes_ms(occurrence)
    return occurrence if closes_ms is None or now_ms <= closes_ms else None


def next_due_ms(timing: Timing, turn: int, now_ms: int) -> int | None:
    """Return when the next occurrence after ``now_ms`` is due, ``nextRunTime`` (JS-7); None where there is none."""
    occurrence = max(turn, timing.latest(now_ms) + 1)
    if timing.interval_ms is None and occurrence > 0:
        return None
    due_ms = timing.due_ms(occurrence)
    return due_ms if timing.last_ms is None or due_ms <= timing.last_ms else None


def is_over(timing: Timing, turn: int, now_ms: int) -> bool:
    """Return whether no job will be created any more: the only one was (JS-4), or the end has passed (JS-5)."""
    if due_occurrence(timing, turn, now_ms) is not None or next_due_ms(timing, turn, now_ms) is not None:
        return False
    return timing.interval_ms is None or timing.last_ms is None or now_ms >= timing.last_ms


def next_change_ms(timing: Timing, turn: int, now_ms: int) -> int | None:
    """Return when the answers above may change next without a command; None if never."""
    due_ms = next_due_ms(timing, turn, now_ms)
    if due_ms is not None:
        return due_ms
    occurrence = due_occurrence(timing, turn, now_ms)
    if occurrence is not None:
        closes_ms = timing.closes_ms(occurrence)
        return None if closes_ms is None else closes_ms + 1
    return timing.last_ms if timing.last_ms is not None and timing.last_ms > now_ms else None


def next_turn(timing: Timing, turn: int, now_ms: int) -> int:
    """Return the turn of a schedule that is enabled again, or has another timing.

    A schedule that recurs continues with the next occurrence in the future (JS-13). Another one has a single
    occurrence, which is still due while its window is open (JS-4).
    """
    if timing.interval_ms is not None:
        return max(turn, timing.latest(now_ms) + 1)
    return turn + missed(timing, turn, now_ms)


def first_turn(timing: Timing, turn: int, now_ms: int) -> int:
    """Return the turn in a new timing of a schedule that had come to ``turn`` in another one (JS-9, JS-13)."""
    if timing.interval_ms is not None:
        return timing.latest(now_ms) + 1
    return min(turn, 1) if now_ms >= timing.first_ms else 0


def missed(timing: Timing, turn: int, now_ms: int) -> int:
    """Return how many occurrences from ``turn`` on have been due up to now and can no longer make a job (JS-3)."""
    return max(0, timing.latest(now_ms) + 1 - turn) - (due_occurrence(timing, turn, now_ms) is not None)
