"""Checkpoints of the tasks, of which there may be millions.

A task that has not begun is as it was added, and one that has ended changes no more. So a checkpoint keeps the tasks in
between, mostly as numbers of the log's entries; all others are read from the *latest* columns, those at the end of the
recording. Rows that change nevertheless (a completed task is reactivated or deleted, constraints are updated) are kept
before they change.
"""

from __future__ import annotations

import re
from array import array
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from engine.state.columns import PAGE_BITS, PAGE_ROWS, Excerpt
from engine.state.tasks import ACTIVE, NEVER_MS, RUNNING

if TYPE_CHECKING:
    from engine.state.columns import AnyColumn
    from engine.state.task_records import TaskBlock, TaskExtra
    from engine.state.tasks import TaskTable

assert ACTIVE == 0
_ACTIVE_RUN = re.compile(rb"\0\0*")  # not `\0+`, which is searched for a hundred times slower
_IS_RUNNING = bytes(state == RUNNING for state in range(256))


class TasksCopy(NamedTuple):
    """The tasks that have begun and not ended, and the position of those that have not begun."""

    length: int
    blocks: int
    kept: int  # how many rows had been kept because they changed after all
    active: array[int]  # beginnings and ends of the ranges of tasks in state active, in turns
    starts: array[int]  # of the running tasks: the entries of the log
    apart: Excerpt[TaskExtra]  # see TaskTable.apart


class _Latest(NamedTuple):
    """The tasks at the end of the recording."""

    log_length: int
    columns: list[AnyColumn]
    sparse: list[dict[int, TaskExtra]]
    blocks: list[TaskBlock]
    kept: Excerpt[TaskExtra]


class TaskPast:
    """Moves the tasks to an earlier or later copy of the same recording."""

    def __init__(self, tasks: TaskTable) -> None:
        """Make a past without copies."""
        self._tasks = tasks
        self._latest: _Latest | None = None

    def copy(self) -> TasksCopy:
        """Return the tasks as they are now; reads all states and the pages with running tasks."""
        tasks = self._tasks
        states = tasks.state
        active = array("i")
        for match in _ACTIVE_RUN.finditer(states):
            active.extend(match.span())
        starts = array("i")
        first = states.find(RUNNING)
        while first >= 0:
            end = first + PAGE_ROWS
            starts.extend(compress(tasks.start_entry[first:end], states[first:end].translate(_IS_RUNNING)))
            first = states.find(RUNNING, end)
        apart = Excerpt(tasks)
        apart.keep(tasks, sorted(tasks.apart))
        return TasksCopy(
            tasks.length,
            len(tasks.blocks),
            len(tasks.kept),
            active,
            starts,
            apart,
        )

    def remember_latest(self) -> None:
        """Keep the present, which is the end of the recording, before ``restore`` leaves it."""
        tasks = self._tasks
        log_length = len(tasks.log)
        if self._latest is None or self._latest.log_length != log_length:
            columns = [column[:] for column in tasks.columns]
            sparse = tasks.sparse.copy()  # the pages go over to us: ``restore`` gives the table others
            self._latest = _Latest(log_length, columns, sparse, tasks.blocks.copy(), tasks.kept.first(len(tasks.kept)))

    def forget_latest(self) -> None:
        """Forget everything that was recorded after the present."""
        self._latest = None

    def restore(self, copy: TasksCopy) -> None:
        """Make the tasks as they were when ``copy`` was taken; the log has been moved before, profiles stay."""
        tasks, latest = self._tasks, self._latest
        assert latest is not None
        for column, values in zip(tasks.columns, latest.columns, strict=True):
            here = values if copy.length == len(values) else values[: copy.length]
            column[:] = here  # type: ignore[assignment]  # of the same type
        tasks.sparse[:] = [page.copy() for page in latest.sparse]
        tasks.cut(copy.length, latest.blocks[: copy.blocks])
        latest.kept.put_back(tasks, copy.kept)
        tasks.kept = latest.kept.first(copy.kept)
        self._restore_active(copy.active)
        self._restore_running(copy.starts)
        copy.apart.put_back(tasks)
        tasks.apart = set(copy.apart.rows)

    def _restore_active(self, ranges: array[int]) -> None:
        tasks = self._tasks
        for first, end in zip(ranges[::2], ranges[1::2], strict=True):
            for column in (tasks.state, tasks.satisfied):
                column[first:end] = bytes(end - first)
            for numbers in (tasks.node, tasks.start_entry, tasks.started, tasks.ended):
                numbers[first:end] = array(numbers.typecode, [NEVER_MS]) * (end - first)
            for page in tasks.sparse[first >> PAGE_BITS : ((end - 1) >> PAGE_BITS) + 1]:
                for task in [task for task in page if first <= task < end]:
                    del page[task]

    def _restore_running(self, starts: array[int]) -> None:
        tasks, log = self._tasks, self._tasks.log
        state, satisfied, node, planned = tasks.state, tasks.satisfied, tasks.node, tasks.planned
        started, ended = tasks.started, tasks.ended
        when, row_a, row_b, start_entry, sparse = log.when, log.row_a, log.row_b, tasks.start_entry, tasks.sparse
        for entry in starts:
            task = row_a[entry]
            state[task] = RUNNING
            satisfied[task] = 0
            ended[task] = when[entry] + planned[task]
            node[task] = row_b[entry]  # it may have been assigned to another one since, without a start
            if start_entry[task] != entry:  # another attempt has followed
                started[task] = when[entry]
                start_entry[task] = entry
            if task in sparse[task >> PAGE_BITS]:
                del sparse[task >> PAGE_BITS][task]
