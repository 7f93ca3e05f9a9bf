"""The tasks of one node over time, side by side in tracks: what runs at the same time stands in different ones."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.views.lanes.lane import Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.views.lanes.lane import Meaning

_OPEN_MS = -1


class TaskSpan(NamedTuple):
    """A task's time on a node; it still runs without ``end_ms``."""

    begin_ms: int
    end_ms: int | None
    task: int
    has_failed: bool


class _Track:
    def __init__(self) -> None:
        self.begins = array("q")
        self.ends = array("q")
        self.tasks = array("q")
        self.failed: set[int] = set()  # places

    def spans(self, begin_ms: int, end_ms: int) -> list[TaskSpan]:
        last = bisect_left(self.begins, end_ms)
        first = max(0, bisect_right(self.begins, begin_ms) - 1)
        return [
            TaskSpan(
                self.begins[at], None if self.ends[at] == _OPEN_MS else self.ends[at], self.tasks[at], at in self.failed
            )
            for at in range(first, last)
            if self.ends[at] == _OPEN_MS or self.ends[at] > begin_ms
        ]


class TaskTracks:
    """The tracks of one node; it reads on where it stopped when the log has grown."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self.read = 0  # entries of the node that have been read
        self._tracks: list[_Track] = []
        self._running: dict[int, list[int]] = {}  # task -> its tracks

    def take(self, entries: Iterable[tuple[int, Meaning, int]]) -> None:
        """Take further entries: moment, meaning, and the task that it is about."""
        for when_ms, meaning, task in entries:
            self.read += 1
            if meaning.step is Step.TASK_BEGINS:
                self._begin(when_ms, task)
            elif meaning.step is Step.TASK_ENDS and self._running.get(task):
                number = self._running[task].pop()
                track = self._tracks[number]
                track.ends[-1] = when_ms
                if meaning.has_task_failed:
                    track.failed.add(len(track.ends) - 1)

    def _begin(self, when_ms: int, task: int) -> None:
        free = (at for at, each in enumerate(self._tracks) if each.ends[-1] != _OPEN_MS)
        number = next(free, len(self._tracks))
        if number == len(self._tracks):
            self._tracks.append(_Track())
        track = self._tracks[number]
        track.begins.append(when_ms)
        track.ends.append(_OPEN_MS)
        track.tasks.append(task)
        self._running.setdefault(task, []).append(number)

    def spans(self, begin_ms: int, end_ms: int) -> list[list[TaskSpan]]:
        """Return the tasks of a time, track by track."""
        return [track.spans(begin_ms, end_ms) for track in self._tracks]

    def running_at(self, when_ms: int) -> list[TaskSpan]:
        """Return the tasks that ran at a moment, in the order of their starts."""
        found = (span for spans in self.spans(when_ms, when_ms + 1) for span in spans)
        return sorted(found, key=lambda span: span.begin_ms)

    def number(self, begin_ms: int, end_ms: int) -> int:
        """Return the number of tasks that began in a time."""
        return sum(bisect_left(each.begins, end_ms) - bisect_left(each.begins, begin_ms) for each in self._tracks)
