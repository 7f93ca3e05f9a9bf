"""Entries about tasks counted by the job of the task, in bulk."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING

from engine.base.byte_columns import bytes_above, tally, where_set
from engine.views.log.reader import kinds_of

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable

    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.task_records import TaskBlock
    from engine.state.tasks import TaskTable

_PAGE_BYTES = 2  # tasks whose numbers differ in the lowest two bytes only are a page
_PAGE = 1 << 8 * _PAGE_BYTES
_MOST_PAGES = 255
_FROM_ONE = bytes(range(1, 256)) + b"\0"  # 0 is for entries that are not counted


def count_by_job(
    simulation: Simulation, is_wanted: Callable[[Shape], bool], start: int, stop: int | None = None
) -> Counter[int]:
    """Count the entries of some shapes from ``start`` to before ``stop`` by the jobs of their tasks.

    Most tasks are added by thousands, so whole pages of them belong to one job. Only the others are looked up one by
    one, which takes twenty times as long.
    """
    log, tasks = simulation.log, simulation.world.tasks
    flags = kinds_of(list(map(is_wanted, log.shapes)), log.shape_of[start:stop])
    rows = log.row_a[start:stop]
    jobs: Counter[int] = Counter()
    if tasks.length <= _PAGE * _MOST_PAGES:
        pages = _pages(rows, flags)
        mixed = bytearray(256)
        for number, count in tally(pages).items():
            first = (number - 1) * _PAGE
            if number and tasks.block_of(first) is tasks.block_of(min(first + _PAGE, tasks.length) - 1):
                jobs[tasks.block_of(first).job] += count
            elif number:
                mixed[number] = True
        flags = pages.translate(mixed)
    apart = slice(max(0, flags.find(1)), flags.rfind(1) + 1)  # a job's entries are near each other
    rest = map(tasks.profile.__getitem__, compress(rows[apart], flags[apart]))
    for profile, count in Counter(rest).items():
        jobs[tasks.profiles[profile].job] += count
    return jobs


def block_of_all(tasks: TaskTable, rows: array[int], flags: bytes) -> TaskBlock | None:
    """Return the block of all tasks in ``rows`` at whose places ``flags`` has one, if one block has all their pages."""
    if 1 not in flags or tasks.length > _PAGE * _MOST_PAGES:
        return None
    numbers = tally(_pages(rows, flags).translate(None, b"\0"))
    block = tasks.block_of((min(numbers) - 1) * _PAGE)
    return block if block is tasks.block_of(min(max(numbers) * _PAGE, tasks.length) - 1) else None


def _pages(rows: array[int], flags: bytes) -> bytes:
    """Return the number of the page of each task, from 1 on; 0 where ``flags`` has none."""
    return where_set(bytes_above(rows, _PAGE_BYTES).translate(_FROM_ONE), flags)
