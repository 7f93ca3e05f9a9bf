"""The end of a job's tasks, if attempts go on as they did so far: as long, as many at once, and retried as often."""

from __future__ import annotations

from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, NamedTuple

from engine.state.task_records import PLAIN
from engine.state.tasks import COMPLETED, RUNNING
from engine.views.pages.bulk import every_row_in_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.world.world import World

MOST_SEEN = 2048  # tasks whose attempts are looked at
MOST_BLOCKS = 256  # of tasks that were added together
_MOST_SLOTS = 256  # that are played; more stand for each other
_MOST_RETRIES = 16  # of one task, that are expected
_LEAST_RETRIES = 0.7  # on average: then at least one is more likely than none
_GOLDEN = 0.618  # multiples of it lie scattered between whole numbers


class Slot(NamedTuple):
    """A slot in which an attempt runs, and the number of retries before that attempt."""

    end_ms: int  # of the attempt, in ms since the start
    retries: int


class Attempts(NamedTuple):
    """The attempts of a job's tasks so far; of a large job, those of every so many tasks."""

    durations_ms: Sequence[int]  # of the latest attempts of tasks, in order
    retried: float  # the share of the attempts that have ended after which the task was retried
    most_retries: int  # of one task
    worked_ms: float  # for a task that has begun

    def spread(self, count: int) -> list[int]:
        """Return so many durations, as different as those that were seen, and in mixed order."""
        found = self.durations_ms
        mixed = sorted(range(count), key=lambda at: (at * _GOLDEN + 0.5) % 1)
        return [found[(2 * at + 1) * len(found) // (2 * count)] for at in mixed]


def attempts_seen(world: World, ranges: Sequence[range]) -> Attempts:
    """Return what the attempts of tasks in these rows were like.

    An attempt that runs counts as long as planned, but no longer than the longest that has ended, or than three
    quarters of those that run: a single long task is not expected to be followed by others like it.
    """
    tasks, now_ms = world.tasks, world.now_ms
    begun = [_begun(tasks.state, rows) for rows in ranges[:: _step(len(ranges), MOST_BLOCKS)]]
    step = _step(sum(map(len, begun)), MOST_SEEN)
    ended_ms: list[int] = []
    running: list[tuple[int, int]] = []  # start and planned end
    retries = most_retries = 0
    for rows in begun:
        chosen, part = rows[::step], slice(rows.start, rows.stop, step)
        for state, began_ms, end_ms in zip(tasks.state[part], tasks.started[part], tasks.ended[part], strict=True):
            if state == RUNNING:
                running.append((began_ms, end_ms))
            elif state == COMPLETED and 0 <= began_ms < end_ms:
                ended_ms.append(end_ms - began_ms)
        for extra in filter(None, map(tasks.sparse_of, chosen)):
            retries += extra.retry_count
            most_retries = max(most_retries, extra.retry_count)
    begun_tasks = len(ended_ms) + len(running)
    worked_ms: float = sum(ended_ms) + sum(now_ms - began_ms for began_ms, _ in running)
    retried = retries / (1 + len(ended_ms) + retries)  # as if one more had ended well, since one is not enough to judge
    planned_ms = sorted(end_ms - began_ms for began_ms, end_ms in running if world.is_known(end_ms))
    if planned_ms:
        most_ms = max(planned_ms[(len(planned_ms) - 1) * 3 // 4], max(ended_ms, default=0))
        ended_ms += [min(each, most_ms) for each in planned_ms]
    worked_ms /= max(1, begun_tasks) * (1 - retried)
    return Attempts(sorted(ended_ms), retried, most_retries, worked_ms)


def _begun(states: bytearray, rows: range) -> range:
    """Return these rows without those after the last task that has begun."""
    last = max(states.rfind(state, rows.start, rows.stop) for state in (RUNNING, COMPLETED))
    return range(rows.start, max(rows.start, last + 1))


def _step(count: int, most: int) -> int:
    """Return the step that leaves about ``most`` of so many.

    It is a power of two: what was looked at stays among it as more are added.
    """
    return 1 << ((count - 1) // most).bit_length()


def slots_of(world: World, ranges: Sequence[range], running: int) -> list[Slot]:
    """Return the slots in which tasks of these rows run, as far as their ends are known; of many, every so many.

    Args:
        world: The state of the run.
        ranges: The rows of a job's tasks.
        running: The number of those that run.
    """
    tasks = world.tasks
    chosen = every_row_in_state(tasks.state, ranges, RUNNING, 1 + running // _MOST_SLOTS)
    return [
        Slot(tasks.ended[task], (tasks.sparse_of(task) or PLAIN).retry_count)
        for task in chosen
        if world.is_known(tasks.ended[task])
    ]


def last_end_ms(seen: Attempts, slots: list[Slot], running: int, waiting: int) -> int:
    """Return when the last of a job's tasks ends, in ms since the start.

    A task that waits begins where another attempt ends, and so does one that is retried. Once none waits, the
    retries that are expected begin at ends in the last round, and no task is retried more often than one was so far.

    Args:
        seen: The attempts so far; some must have ended.
        slots: Slots that stand for all; there must be one.
        running: The number of all slots.
        waiting: The number of tasks that wait.
    """
    stands_for = running / len(slots)
    left = round(waiting / (1 - seen.retried) / stands_for)
    mean_ms = sum(seen.durations_ms) / len(seen.durations_ms)
    # Whole rounds are taken together, and the last ones are played. A slot that is free only later takes no part.
    rounds_end_ms = min(slots).end_ms + left * mean_ms / len(slots)
    taking_part = sum(slot.end_ms <= rounds_end_ms for slot in slots)
    rounds = max(0, left // taking_part - 1)
    slots = [
        Slot(slot.end_ms + round(rounds * mean_ms), 0) if rounds and slot.end_ms <= rounds_end_ms else slot
        for slot in slots
    ]
    heapify(slots)
    for duration_ms in seen.spread(left - rounds * taking_part):
        heapreplace(slots, Slot(slots[0].end_ms + duration_ms, 0))
    latest_ms = 0
    for _ in range(_MOST_RETRIES + 1):
        latest_ms = max(latest_ms, max(slots).end_ms)
        slots = sorted(slot for slot in slots if slot.retries < seen.most_retries)
        expected = stands_for * len(slots) * seen.retried
        if expected < _LEAST_RETRIES:
            break
        played = min(max(1, round(expected)), _MOST_SLOTS)
        stands_for = expected / played
        again = [slots[(2 * at + 1) * len(slots) // (2 * played)] for at in range(played)]
        durations = seen.spread(played)
        slots = [Slot(slot.end_ms + ms, slot.retries + 1) for slot, ms in zip(again, durations, strict=True)]
    return latest_ms
