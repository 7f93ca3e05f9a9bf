"""What will happen: a SimPy environment whose heap is the one and only list of due entries.

This is the only module that knows SimPy. A due entry is plain data (kind, key, token) in a small
event object; no generator is ever suspended, so what is pending can be read, copied and put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

import simpy


class DueKind(IntEnum):
    """What falls due. The number is SimPy's priority: the order of what happens in the same millisecond."""

    TASK_ENDED = 0
    GANG_STEP = 1
    PREPARATION_ENDED = 2
    RELEASE_ENDED = 3
    START_TASK_ENDED = 4
    NODE_STEP = 5
    NODE_ALLOCATED = 6
    EVICTION = 7
    FAULT = 8
    COMMAND = 9
    JOB_STEP = 10
    POOL_STEP = 11
    CERTIFICATE_STEP = 12
    JOB_TIMEOUT = 13
    RESIZE_TIMEOUT = 14
    RELEASE_TIMEOUT = 15
    SCHEDULE_STEP = 16
    DATA_EXPIRED = 17
    LIFETIME_OVER = 18
    SPOT_REFILL = 19
    AUTOSCALE_SAMPLE = 20
    AUTOSCALE = 21
    NODES_WANTED = 22
    TASKS_READY = 23
    STARVING = 24
    PASS = 25


class Due:
    """One due entry. ``key`` says whose it is, ``token`` tells whether it is still wanted."""

    __slots__ = ("callbacks", "key", "kind", "token")

    # All that SimPy asks of an event that has not failed.
    _ok = True

    callbacks: list[Callable[[Due], None]]
    kind: DueKind
    key: int
    token: int


class Pending(NamedTuple):
    """A due entry as data."""

    when_ms: int
    kind: DueKind
    key: int
    token: int


class Calendar:
    """The due entries and the current moment, in whole milliseconds since the scenario's start."""

    def __init__(self) -> None:
        """Make an empty calendar at time 0."""
        # The hot path (rules/hand_over.py) reads the clock here: SimPy's property costs a call.
        self.env = simpy.Environment(initial_time=0)
        self._rules: list[list[Callable[[Due], None]]] = [[] for _ in DueKind]

    @property
    def now_ms(self) -> int:
        """The time of the entry that happened last."""
        return self.env._now  # type: ignore[return-value]  # SimPy's `now` property costs a call on the hot path

    def on(self, kind: DueKind, rule: Callable[[Due], None]) -> None:
        """Let ``rule`` act whenever an entry of ``kind`` falls due."""
        self._rules[kind][:] = [rule]

    def at(self, when_ms: int, kind: DueKind, key: int = 0, token: int = 0) -> None:
        """Add an entry for ``when_ms``, which must not lie in the past."""
        due = Due()
        due.callbacks = self._rules[kind]
        due.kind = kind
        due.key = key
        due.token = token
        env = self.env
        env.schedule(due, kind, when_ms - env._now)  # type: ignore[arg-type]

    def rules_for(self, kind: DueKind) -> list[Callable[[Due], None]]:
        """What acts when an entry of ``kind`` falls due, as SimPy wants it: a list that stays the same one."""
        return self._rules[kind]

    def peek_ms(self) -> int | None:
        """When the next entry falls due; None if nothing is pending."""
        queue = self.env._queue
        return queue[0][0] if queue else None  # type: ignore[return-value]

    def instant_is_over(self) -> bool:
        """Whether nothing more is due at the present millisecond."""
        queue = self.env._queue
        return not queue or queue[0][0] > self.env._now

    def step(self) -> None:
        """Let the next entry happen."""
        self.env.step()

    def run(self, until_ms: int, most: int) -> bool:
        """Let at most so many entries happen, up to and including ``until_ms``; returns whether more is due then."""
        queue, step = self.env._queue, self.env.step
        for _ in range(most):
            if not queue or queue[0][0] > until_ms:
                return False
            step()
        return bool(queue) and queue[0][0] <= until_ms

    def pending(self) -> list[Pending]:
        """What is due in order, void entries included, ends of tasks left out: those stand with the tasks."""
        entries: list[Any] = sorted(filter(itemgetter(1), self.env._queue))
        return [Pending(when_ms, kind, due.key, due.token) for when_ms, kind, _, due in entries]

    def upcoming(self) -> Iterator[Pending]:
        """What is due in order, ends of tasks and void entries included; costs what is taken of it."""
        queue: list[Any] = self.env._queue
        front = [(queue[0], 0)] if queue else []
        while front:
            (when_ms, kind, _, due), at = heappop(front)
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(queue):
                    heappush(front, (queue[child], child))
            yield Pending(when_ms, DueKind(kind), due.key, due.token)

    def __len__(self) -> int:
        return len(self.env._queue)

    def restore(self, now_ms: int, ends: Iterable[tuple[int, int, int, int]], others: Iterable[Pending]) -> None:
        """Put entries back as of ``now_ms``.

        An end of a task is (when in ms, a number that orders ends of the same millisecond, task, token).
        """
        env = self.env
        env.__init__(initial_time=now_ms)  # type: ignore[misc]  # others hold on to this very environment
        queue, last = env._queue, 0
        kind = DueKind.TASK_ENDED
        rules = self._rules[kind]
        for when_ms, number, task, token in ends:
            due = Due()
            due.callbacks = rules
            due.kind = kind
            due.key = task
            due.token = token
            queue.append((when_ms, kind, number, due))  # type: ignore[arg-type]
            last = number if number > last else last
        heapify(queue)
        env._eid = count(last + 1)
        for entry in others:
            self.at(*entry)
