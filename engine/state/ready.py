"""The ready tasks of one job that need the same number of slots, in the order of SCHED-6.

A million queued tasks are a few ranges. What comes back (a retry, a requeue) goes first, by the time
it became active; what becomes ready out of order (a dependency satisfied late) is merged in by number.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from engine.state.columns import Record


class ReadyQueue(Record):
    """A queue of task numbers; ``size`` is how many there are."""

    __slots__ = ("_end", "_late", "_next", "_ranges", "_returned", "size")

    def __init__(self) -> None:
        """Make an empty queue."""
        self.size = 0
        self._returned: deque[int] = deque()
        self._next = self._end = 0
        self._ranges: deque[tuple[int, int]] = deque()
        self._late: list[int] = []

    def add_range(self, first: int, count: int) -> None:
        """Queue new tasks ``first`` ... in creation order; they come after all earlier ranges."""
        self.size += count
        if self._next == self._end:
            self._next, self._end = first, first + count
        else:
            self._ranges.append((first, first + count))

    def add_late(self, task: int) -> None:
        """Queue a new task whose turn by creation order may have passed."""
        self.size += 1
        heappush(self._late, task)

    def add_returned(self, task: int) -> None:
        """Queue a task that has run before: behind others that came back, ahead of all new ones."""
        self.size += 1
        self._returned.append(task)

    def add_first(self, task: int) -> None:
        """Queue a task ahead of everything: a job manager task."""
        self.size += 1
        self._returned.appendleft(task)

    def head(self) -> int:
        """The task whose turn it is; the queue must not be empty."""
        if self._returned:
            return self._returned[0]
        if self._late and (self._next == self._end or self._late[0] < self._next):
            return self._late[0]
        return self._next

    def head_rank(self) -> tuple[int, int]:
        """Orders the heads of several queues of one job: those that came back first, then by creation."""
        return (0, 0) if self._returned else (1, self.head())

    def take(self) -> int:
        """Remove and return the head."""
        self.size -= 1
        if self._returned:
            return self._returned.popleft()
        if self._late and (self._next == self._end or self._late[0] < self._next):
            return heappop(self._late)
        task = self._next
        self._next = task + 1
        if self._next == self._end and self._ranges:
            self._next, self._end = self._ranges.popleft()
        return task

    def holds(self, task: int) -> bool:
        """Whether the task is in the queue."""
        ranges = [(self._next, self._end), *self._ranges]
        return task in self._returned or task in self._late or any(low <= task < high for low, high in ranges)

    def discard(self, task: int) -> None:
        """Remove a task wherever it is in the queue; it must be there."""
        self.size -= 1
        if task in self._returned:
            self._returned.remove(task)
        elif task in self._late:
            self._late.remove(task)
            self._late.sort()
        else:
            kept: list[tuple[int, int]] = []
            for low, high in [(self._next, self._end), *self._ranges]:
                parts = [(low, task), (task + 1, high)] if low <= task < high else [(low, high)]
                kept += [(start, end) for start, end in parts if start < end]
            self._ranges = deque(kept)
            self._next, self._end = self._ranges.popleft() if self._ranges else (0, 0)

    def tasks(self) -> list[int]:
        """All tasks in the order in which they would be taken."""
        twin = self.clone()
        return [twin.take() for _ in range(self.size)]
