"""The ready tasks of one job that need the same number of slots, in the order of SCHED-6.

A million queued tasks take a few ranges. Tasks that return (a retry, a requeue) go first, in the order in which they
returned. Tasks that become ready late (a dependency was satisfied) are merged in by number.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush

from engine.state.records import Record


@dataclass(slots=True, eq=False)
class ReadyQueue(Record):
    """A queue of task numbers; ``size`` is how many there are."""

    size: int = 0
    # What comes back: its stamp and the task, in order. An empty deque takes 800 bytes, and most queues need none.
    returned: deque[tuple[int, int]] | tuple[()] = ()
    next: int = 0  # the first range of new tasks
    end: int = 0
    _ranges: deque[tuple[int, int]] | tuple[()] = ()  # the others
    late: list[int] = field(default_factory=list)  # new tasks out of order, as a heap

    def add_range(self, first: int, count: int) -> None:
        """Queue new tasks ``first`` ... in creation order; they come after all earlier ranges."""
        self.size += count
        if self.next == self.end:
            self.next, self.end = first, first + count
        else:
            self._ranges = self._ranges or deque()
            self._ranges.append((first, first + count))

    def add_late(self, task: int) -> None:
        """Queue a new task whose turn by creation order may have passed."""
        self.size += 1
        heappush(self.late, task)

    def add_returned(self, task: int, stamp: int) -> None:
        """Queue a task that has run before, behind those that returned earlier and ahead of all new ones."""
        self.size += 1
        self.returned = self.returned or deque()
        self.returned.append((stamp, task))

    def add_first(self, task: int) -> None:
        """Queue a task ahead of everything: a job manager task."""
        self.size += 1
        self.returned = self.returned or deque()
        self.returned.appendleft((-1, task))

    def head(self) -> int:
        """Return the first task; the queue must not be empty."""
        if self.returned:
            return self.returned[0][1]
        if self.late and (self.next == self.end or self.late[0] < self.next):
            return self.late[0]
        return self.next

    def head_rank(self) -> tuple[int, int]:
        """Return what orders the heads of a job's queues: returned tasks by their stamps, then new ones by creation."""
        return (0, self.returned[0][0]) if self.returned else (1, self.head())

    def take(self) -> int:
        """Remove and return the head."""
        self.size -= 1
        if self.returned:
            return self.returned.popleft()[1]
        if self.late and (self.next == self.end or self.late[0] < self.next):
            return heappop(self.late)
        task = self.next
        self.next = task + 1
        if self.next == self.end and self._ranges:
            self.next, self.end = self._ranges.popleft()
        return task

    def holds(self, task: int) -> bool:
        """Return whether the task is in the queue."""
        ranges = [(self.next, self.end), *self._ranges]
        return self._has_returned(task) or task in self.late or any(low <= task < high for low, high in ranges)

    def discard(self, task: int) -> None:
        """Remove a task wherever it is in the queue; it must be there."""
        self.size -= 1
        if self._has_returned(task):
            self.returned = deque(entry for entry in self.returned if entry[1] != task)
        elif task in self.late:
            self.late.remove(task)
            self.late.sort()
        else:
            kept: list[tuple[int, int]] = []
            for low, high in [(self.next, self.end), *self._ranges]:
                parts = [(low, task), (task + 1, high)] if low <= task < high else [(low, high)]
                kept += [(start, end) for start, end in parts if start < end]
            self._ranges = deque(kept)
            self.next, self.end = self._ranges.popleft() if self._ranges else (0, 0)

    def _has_returned(self, task: int) -> bool:
        return any(entry[1] == task for entry in self.returned)

    def tasks(self) -> list[int]:
        """Return all tasks in the order in which they would be taken."""
        twin = ReadyQueue.thaw(self.freeze())
        return [twin.take() for _ in range(self.size)]
