"""Entries about tasks counted by the job of the task, in bulk."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from operator import sub
from typing import TYPE_CHECKING

from engine.base.byte_columns import bytes_above, equals, tally, where_set
from engine.views.log.reader import kinds_of

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Sequence

    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.task_records import TaskBlock
    from engine.state.tasks import TaskTable

PAGE_BYTES = 2  # tasks whose numbers differ in the lowest two bytes only are a page
PAGE = 1 << 8 * PAGE_BYTES
_MOST_PAGES = 255
_MOST_BLOCKS = 3  # of a page; of more it is quicker to look up each task
_FROM_ONE = bytes(range(1, 256)) + b"\0"  # 0 is for entries that are not counted


def count_by_job(
    simulation: Simulation, is_wanted: Callable[[Shape], bool], start: int, stop: int | None = None
) -> Counter[int]:
    """Count the entries of some shapes from ``start`` to before ``stop`` by the jobs of their tasks.

    Most tasks are added by thousands, so whole pages of them belong to one job or a few. Only the others are looked up
    one by one, which takes twenty times as long.
    """
    log, tasks = simulation.log, simulation.world.tasks
    flags = kinds_of(list(map(is_wanted, log.shapes)), log.shape_of[start:stop])
    rows = log.row_a[start:stop]
    jobs: Counter[int] = Counter()
    if tasks.length <= PAGE * _MOST_PAGES:
        pages = _pages(rows, flags)
        mixed = bytearray(256)
        for number in range(1, -(-tasks.length // PAGE) + 1):
            blocks = _blocks_of_page(tasks, number)
            if len(blocks) > _MOST_BLOCKS:
                mixed[number] = True
            else:
                for block, count in zip(blocks, _counts_in_page(rows, pages, number, blocks), strict=True):
                    jobs[block.job] += count
        flags = pages.translate(mixed)
    apart = slice(max(0, flags.find(1)), flags.rfind(1) + 1)  # a job's entries are near each other
    rest = map(tasks.profile.__getitem__, compress(rows[apart], flags[apart]))
    for profile, count in Counter(rest).items():
        jobs[tasks.profiles[profile].job] += count
    return jobs


def block_of_all(tasks: TaskTable, rows: array[int], flags: bytes) -> TaskBlock | None:
    """Return the block of all tasks in ``rows`` at whose places ``flags`` has one, if one block has all their pages."""
    if 1 not in flags or tasks.length > PAGE * _MOST_PAGES:
        return None
    numbers = tally(_pages(rows, flags).translate(None, b"\0"))
    block = tasks.block_of((min(numbers) - 1) * PAGE)
    return block if block is tasks.block_of(min(max(numbers) * PAGE, tasks.length) - 1) else None


def _blocks_of_page(tasks: TaskTable, number: int) -> list[TaskBlock]:
    """Return the blocks of the tasks of a page; of many only some."""
    found: list[TaskBlock] = []
    first, stop = (number - 1) * PAGE, min(number * PAGE, tasks.length)
    while first < stop and len(found) <= _MOST_BLOCKS:
        found.append(tasks.block_of(first))
        first = found[-1].rows.stop
    return found


def _counts_in_page(rows: array[int], pages: bytes, number: int, blocks: Sequence[TaskBlock]) -> list[int]:
    """Count the tasks of a page by block."""
    begin, end = max(0, pages.find(number)), pages.rfind(number) + 1  # its entries are near each other
    counts = [pages.count(number, begin, end)]
    if len(blocks) > 1:
        rows, flags = rows[begin:end], pages[begin:end].translate(equals(number))
        counts += [_count_from(rows, flags, block.first) for block in blocks[1:]]
    return list(map(sub, counts, [*counts[1:], 0]))


def _count_from(rows: array[int], flags: bytes, first: int) -> int:
    """Count the tasks of one page at places where ``flags`` has one whose rows are not below ``first``."""
    above, equal = 0, int.from_bytes(flags)
    for low_bytes in reversed(range(PAGE_BYTES)):
        digit, seen = first >> 8 * low_bytes & 255, bytes_above(rows, low_bytes)
        above |= equal & int.from_bytes(seen.translate(bytes(value > digit for value in range(256))))
        equal &= int.from_bytes(seen.translate(equals(digit)))
    return (above | equal).bit_count()


def _pages(rows: array[int], flags: bytes) -> bytes:
    """Return the number of the page of each task, from 1 on; 0 where ``flags`` has none."""
    return where_set(bytes_above(rows, PAGE_BYTES).translate(_FROM_ONE), flags)
