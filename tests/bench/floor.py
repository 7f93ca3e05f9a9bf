"""The floor: the cheapest honest SimPy programs for the benchmarks' work.

No names, no states, no log, no limits: an event per slot, a queue of task numbers, start and end in arrays. What the
engine costs beyond this is what it knows beyond this.
"""

from __future__ import annotations

from array import array
from collections import deque

import simpy

from tests.bench.answer import Answer


class Entry:
    """All that ``Environment.step()`` needs of an event; armed again for every task of its slot."""

    __slots__ = ("_ok", "_value", "callbacks", "job", "node", "task")

    def __init__(self, node: int) -> None:
        self.node = node
        self.task = -1
        self.job = -1
        self._ok = True
        self._value = None


def plain(ready_ms: int, nodes: int, slots: int, durations: array[int]) -> Answer:
    """Tasks first in, first out, on ``nodes`` × ``slots`` that are all ready at ``ready_ms``."""
    env = simpy.Environment(initial_time=ready_ms)
    schedule = env.schedule
    count = len(durations)
    start, end, where = array("q", [0]) * count, array("q", [0]) * count, array("i", [0]) * count
    ready = deque(range(count))

    def done(entry: Entry) -> None:
        now = env.now
        end[entry.task] = now
        if ready:
            entry.task = task = ready.popleft()
            start[task], where[task] = now, entry.node
            entry.callbacks = on_done  # step() took the list away; give it back
            schedule(entry, delay=durations[task])

    on_done = [done]
    for number in range(min(nodes * slots, count)):
        entry = Entry(number % nodes)
        entry.task = task = ready.popleft()
        start[task], where[task] = ready_ms, entry.node
        entry.callbacks = on_done
        schedule(entry, delay=durations[task])
    env.run()
    return Answer(tasks=count, makespan_ms=max(end), start_sum_ms=sum(start), busy_ms=sum(end) - sum(start))


def prepared(
    ready_ms: int, nodes: int, slots: int, jobs: list[tuple[array[int], array[int]]], prep_ms: int, release_ms: int
) -> Answer:
    """Jobs that take turns, each with a preparation task per node, retries in place, and a release task per node.

    A job is what its tasks cost over all attempts and how many attempts each needs. A task that waits for the
    preparation keeps its slot; the release of a job starts on all its nodes when its last task has ended.
    """
    env = simpy.Environment(initial_time=ready_ms)
    schedule = env.schedule
    starts = [array("q", [0]) * len(costs) for costs, _ in jobs]
    ends = [array("q", [0]) * len(costs) for costs, _ in jobs]
    attempts = [bytearray(needed) for _, needed in jobs]  # still to come
    left = [len(costs) for costs, _ in jobs]
    turns = deque((job, deque(range(len(costs)))) for job, (costs, _) in enumerate(jobs))
    has_prep = [bytearray(nodes) for _ in jobs]  # 0 never, 1 running, 2 done
    waiting: dict[tuple[int, int], list[Entry]] = {}
    counted = [0, 0, 0]  # preparations, releases, busy milliseconds

    def go(entry: Entry) -> None:
        job, task = entry.job, entry.task
        starts[job][task] = env.now
        costs, needed = jobs[job]
        duration = costs[task] // needed[task]
        if attempts[job][task] == 1:
            duration += costs[task] % needed[task]
        counted[2] += duration
        entry.callbacks = on_done
        schedule(entry, delay=duration)

    def assign(entry: Entry) -> None:
        if not turns:
            return
        job, queue = turns.popleft()
        entry.job, entry.task = job, queue.popleft()
        if queue:
            turns.append((job, queue))
        state = has_prep[job][entry.node]
        if state == 2:
            go(entry)
        elif state == 1:
            waiting[job, entry.node].append(entry)
        else:
            has_prep[job][entry.node] = 1
            waiting[job, entry.node] = [entry]
            counted[0] += 1
            prep = Entry(entry.node)
            prep.job = job
            prep.callbacks = on_prepared
            schedule(prep, delay=prep_ms)

    def prep_done(prep: Entry) -> None:
        has_prep[prep.job][prep.node] = 2
        for entry in waiting.pop((prep.job, prep.node)):
            go(entry)

    def done(entry: Entry) -> None:
        job, task = entry.job, entry.task
        attempts[job][task] -= 1
        if attempts[job][task]:
            go(entry)
            return
        ends[job][task] = env.now
        left[job] -= 1
        if not left[job]:
            for node in range(nodes):
                if has_prep[job][node]:
                    release = Entry(node)
                    release.callbacks = on_released
                    schedule(release, delay=release_ms)
        assign(entry)

    def release_done(_: Entry) -> None:
        counted[1] += 1

    on_done, on_prepared, on_released = [done], [prep_done], [release_done]
    for number in range(nodes * slots):
        assign(Entry(number % nodes))
    env.run()
    return Answer(
        tasks=sum(map(len, ends)),
        makespan_ms=max(map(max, ends)),
        start_sum_ms=sum(map(sum, starts)),
        busy_ms=counted[2],
        preparations=counted[0],
        releases=counted[1],
    )
