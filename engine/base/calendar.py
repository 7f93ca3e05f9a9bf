"""The calendar: a ``simpy.Environment`` that knows everything that will happen.

Only this module knows SimPy. An entry is plain data (kind, key, token), and no generator is ever suspended, so the
pending entries can be read, copied and restored. The ends of tasks have a heap of their own: there may be as many as
slots, they change most often, and whoever reads the other entries need not look through them.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import chain, count
from typing import NamedTuple, cast

import simpy


class DueKind(IntEnum):
    """The kinds of entries. The number is SimPy's priority and orders the entries of the same millisecond."""

    TASK_ENDED = 0
    GANG_STEP = 1
    PREPARATION_ENDED = 2
    RELEASE_ENDED = 3
    START_TASK_ENDED = 4
    NODE_STEP = 5
    NODE_ALLOCATED = 6
    FAILURE = 7
    EVICTION_NOTICE = 8
    EVICTION = 9
    FAULT = 10
    COMMAND = 11
    ACT = 12
    JOB_STEP = 13
    POOL_STEP = 14
    CERTIFICATE_STEP = 15
    JOB_TIMEOUT = 16
    RESIZE_TIMEOUT = 17
    RELEASE_TIMEOUT = 18
    SCHEDULE_STEP = 19
    OCCURRENCE_LOST = 20
    DATA_EXPIRED = 21
    LIFETIME_OVER = 22
    SPOT_REFILL = 23
    AUTOSCALE_SAMPLE = 24
    AUTOSCALE = 25
    NODES_WANTED = 26
    TASKS_READY = 27
    STARVING = 28
    PASS = 29


# Kinds of entries of which there may always be another one; they keep no run alive (NODE-18, SPOT-10).
ENDLESS = frozenset({DueKind.FAILURE, DueKind.EVICTION_NOTICE, DueKind.OCCURRENCE_LOST})


class Due:
    """An entry of the calendar: ``key`` is the row it concerns; a stale ``token`` makes it void."""

    __slots__ = ("key", "kind", "token")

    kind: DueKind
    key: int
    token: int


class Pending(NamedTuple):
    """An entry of the calendar as data."""

    when_ms: int
    kind: DueKind
    key: int
    token: int


class Calendar(simpy.Environment):
    """The pending entries and the current time, in whole milliseconds since the scenario's start.

    The attributes without an underscore are for the rule for ends of tasks, which processes entries itself.
    """

    now_ms: int
    """The time of the entry that was processed last."""

    ends: list[tuple[int, int, int, int]]
    """Time, number, task and token of each pending end of a task, as a heap; always the same list."""

    others: list[tuple[int, int, int, Due]]
    """Time, kind, number and entry of all else that is pending, as a heap; always the same list."""

    limit_ms: int
    """No entry is processed that is due later."""

    left: int
    """The number of entries that may still be processed."""

    next_number: Callable[[], int]
    """Returns the number of the next entry, which orders entries of the same millisecond and kind."""

    def __init__(self) -> None:
        """Create an empty calendar at time 0."""
        super().__init__(initial_time=0)
        self.now_ms = self.limit_ms = self.left = 0
        self.ends = []
        # The only private name of SimPy (read in 4.1.1): the heap, to which ``schedule`` would add events, not data.
        self.others = cast("list[tuple[int, int, int, Due]]", self._queue)
        self.next_number = count().__next__
        self.endless_kinds = ENDLESS  # those whose entries are added with ``at_endless``
        self._endless: list[int] = []  # the times of endless entries, as a heap
        self._stops_before_endless = False
        self._rules: dict[int, Callable[[Due], None]] = {}
        self._end_tasks: Callable[[], None]

    @property
    def now(self) -> int:
        """The time of the entry that was processed last, as SimPy names it."""
        return self.now_ms

    def on(self, kind: DueKind, rule: Callable[[Due], None]) -> None:
        """Call ``rule`` for every entry of ``kind``."""
        self._rules[kind] = rule

    def on_task_ends(self, rule: Callable[[], None]) -> None:
        """Call ``rule`` when the end of a task comes first. It processes that entry, and as many more as it likes."""
        self._end_tasks = rule

    def at_task_end(self, when_ms: int, task: int, token: int) -> None:
        """Add the end of a task, which must not lie in the past."""
        heappush(self.ends, (when_ms, self.next_number(), task, token))

    def at(self, when_ms: int, kind: DueKind, key: int = 0, token: int = 0) -> None:
        """Add an entry of another kind for ``when_ms``, which must not lie in the past."""
        due = Due()
        due.kind = kind
        due.key = key
        due.token = token
        heappush(self.others, (when_ms, kind, self.next_number(), due))  # as Environment.schedule does

    def peek_ms(self) -> int | None:
        """Return the time of the next entry, or None if nothing is pending."""
        return min([heap[0][0] for heap in (self.ends, self.others) if heap], default=None)

    def at_endless(self, when_ms: int, kind: DueKind, key: int = 0, token: int = 0) -> None:
        """Add an entry of a kind that can go on for ever (``endless_kinds``)."""
        self.at(when_ms, kind, key, token)
        heappush(self._endless, when_ms)
        if self._stops_before_endless and when_ms > self.now_ms:
            self.limit_ms = min(self.limit_ms, when_ms - 1)

    def enter(self, when_ms: int, kind: DueKind, key: int = 0, token: int = 0) -> None:
        """Add an entry of any kind, with ``at_endless`` if the kind is endless in this run."""
        (self.at_endless if kind in self.endless_kinds else self.at)(when_ms, kind, key, token)

    def next_endless_ms(self) -> int | None:
        """Return the time of the next endless entry, or None if none is pending."""
        endless = self._endless
        while endless and (endless[0] < self.now_ms or (endless[0] == self.now_ms and self.instant_is_over())):
            heappop(endless)
        return endless[0] if endless else None

    def unordered(self) -> Iterator[Pending]:
        """Yield all entries in any order, void ones included."""
        yield from (Pending(when_ms, DueKind.TASK_ENDED, task, token) for when_ms, _, task, token in self.ends)
        yield from (Pending(when_ms, due.kind, due.key, due.token) for when_ms, _, _, due in self.others)

    def instant_is_over(self) -> bool:
        """Return whether nothing more is due at the current millisecond."""
        next_ms = self.peek_ms()
        return next_ms is None or next_ms > self.now_ms

    def advance_instant(self, most: int = sys.maxsize) -> int:
        """Process at most ``most`` entries of the next millisecond at which anything is due; return how many."""
        next_ms = self.peek_ms()
        assert next_ms is not None
        self.limit_ms = next_ms
        return self._process(most)

    def advance(self, until_ms: int, most: int, *, before_endless: bool = False) -> bool:
        """Process at most ``most`` entries up to and including ``until_ms``; return whether more are due by then.

        With ``before_endless`` it stops before the instant of the next endless entry, also of one that is added now.
        """
        self.limit_ms, self._stops_before_endless = until_ms, before_endless
        if before_endless:
            endless_ms = self.next_endless_ms()
            if endless_ms is not None and endless_ms > self.now_ms:
                self.limit_ms = min(until_ms, endless_ms - 1)
        self._process(most)
        next_ms = self.peek_ms()
        return next_ms is not None and next_ms <= self.limit_ms

    def _process(self, most: int) -> int:
        """Process at most ``most`` entries up to the limit; return how many."""
        ends, others, rules = self.ends, self.others, self._rules
        self.left = most
        while self.left:
            if ends and ends[0][0] <= self.limit_ms and not (others and others[0][0] < ends[0][0]):
                self._end_tasks()
            elif others and others[0][0] <= self.limit_ms:
                due = self.take()
                rules[due.kind](due)
            else:
                break
        return most - self.left

    def take_task_end(self) -> int:
        """Remove the first end of a task and return the task; its time becomes the current one."""
        self.now_ms, _, task, _ = heappop(self.ends)
        self.left -= 1
        return task

    def take(self) -> Due:
        """Remove the first entry of another kind and return it; its time becomes the current one.

        It does what ``Environment.step`` does, without events that can fail.
        """
        self.now_ms, _, _, due = heappop(self.others)
        self.left -= 1
        return due

    def take_alike(self, due: Due, belongs: Callable[[int], bool]) -> list[int]:
        """Remove the entries that follow ``due`` in the same millisecond and are of its kind; return their keys.

        It ends at the first one whose key does not belong to the others, or that may not be processed any more.
        """
        others, now_ms, kind = self.others, self.now_ms, due.kind
        keys: list[int] = []
        while self.left and others and others[0][0] == now_ms and others[0][1] == kind:
            key = others[0][3].key
            if not belongs(key):
                break
            heappop(others)
            self.left -= 1
            keys.append(key)
        return keys

    def pending(self) -> list[Pending]:
        """Return the entries in order, void ones included, without the ends of tasks, which the task table holds."""
        return [Pending(when_ms, due.kind, due.key, due.token) for when_ms, _, _, due in sorted(self.others)]

    def copy(self) -> array[int]:
        """Return the fields of the entries in order, without the ends of tasks: there may be many."""
        fields = [(when_ms, kind, due.key, due.token) for when_ms, kind, _, due in sorted(self.others)]
        return array("q", chain.from_iterable(fields))

    def task_ends(self) -> Iterator[tuple[int, int]]:
        """Yield time and task of the ends of tasks in order, void ones included; it costs what is consumed."""
        ends = self.ends
        front = [(ends[0], 0)] if ends else []
        while front:
            (when_ms, _, task, _), at = heappop(front)
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(ends):
                    heappush(front, (ends[child], child))
            yield when_ms, task

    def __len__(self) -> int:
        return len(self.ends) + len(self.others)

    def restore(
        self,
        now_ms: int,
        ends: Iterable[tuple[int, int, int, int]],
        others: array[int],
        *,
        leaving_out: Collection[DueKind] = (),
    ) -> None:
        """Replace all entries by those pending at ``now_ms``.

        Args:
            now_ms: The new current time.
            ends: The ends of tasks: time in ms, a number that orders ends of the same millisecond, task, token.
            others: All other entries, as ``copy`` has returned them.
            leaving_out: Kinds of entries that do not come back.
        """
        self.ends[:] = ends
        heapify(self.ends)
        self.others.clear()
        self.now_ms = now_ms
        self.next_number = count(max([number for _, number, _, _ in self.ends], default=0) + 1).__next__
        self._endless = []
        fields = iter(others)
        for when_ms, number, key, token in zip(fields, fields, fields, fields, strict=True):
            kind = DueKind(number)
            if kind not in leaving_out:
                self.enter(when_ms, kind, key, token)
