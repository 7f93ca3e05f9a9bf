"""Checkpoints of the tasks, of which there may be millions.

A task that has not begun is as it was added, and one that has ended changes no more. So a checkpoint keeps the tasks in
between, mostly as numbers of the log's entries; all others are read from the *latest* columns, those at the end of the
recording. Several checkpoints share one *base*, the tasks that ran at the first of them: the log says which have
started and ended since. Rows that change nevertheless (a completed task is reactivated or deleted, constraints are
updated) are kept before they change.
"""

from __future__ import annotations

import re
from array import array
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from engine.base.byte_columns import equals
from engine.state.columns import NEVER_MS, PAGE_BITS, PAGE_ROWS, Excerpt
from engine.state.tasks import ACTIVE, RUNNING

if TYPE_CHECKING:
    from engine.state.columns import AnyColumn
    from engine.state.task_records import TaskBlock, TaskExtra
    from engine.state.tasks import TaskTable

assert ACTIVE == 0
_ACTIVE_RUN = re.compile(rb"\0\0*")  # not `\0+`, which is searched for a hundred times slower
_IS_RUNNING = equals(RUNNING)

# A base is gathered anew after so many entries of the log, or more if many tasks run: reading them when time goes back
# takes as long as gathering a base.
MOST_SINCE_BASE = 1 << 14

# The columns that attempts change. The others change in rows of ``TaskTable.kept`` only.
_CHANGED_BY_ATTEMPTS = ("state", "satisfied", "node", "started", "ended", "start_entry")


class RunningTasks(NamedTuple):
    """The tasks that ran when the log had so many entries."""

    log_length: int
    starts: array[int]  # the entries of their starts


class TasksCopy(NamedTuple):
    """The tasks that have begun and not ended, and the position of those that have not begun."""

    length: int
    blocks: int
    kept: int  # how many rows had been kept because they changed after all
    active: array[int]  # beginnings and ends of the ranges of tasks in state active, in turns
    base: RunningTasks  # at this moment or before; the log has what has changed since
    whole: Excerpt[TaskExtra]  # the tasks in ``TaskTable.copied_whole``


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
        self._base: RunningTasks | None = None  # of the last copy

    def copy(self) -> TasksCopy:
        """Return the tasks as they are now."""
        tasks = self._tasks
        active = array("i")
        for match in _ACTIVE_RUN.finditer(tasks.state):
            active.extend(match.span())
        base = self._base
        if base is None or len(tasks.log) > base.log_length + max(MOST_SINCE_BASE, 2 * len(base.starts)):
            base = self._base = self._running_tasks()
        whole = Excerpt(tasks, _CHANGED_BY_ATTEMPTS)
        whole.keep(tasks, [*tasks.copied_whole])
        return TasksCopy(tasks.length, len(tasks.blocks), len(tasks.kept), active, base, whole)

    def _running_tasks(self) -> RunningTasks:
        """Return the tasks that run now; reads all states and the pages with running tasks."""
        tasks = self._tasks
        states, starts = tasks.state, array("i")
        first = states.find(RUNNING)
        while first >= 0:
            end = first + PAGE_ROWS
            starts.extend(compress(tasks.start_entry[first:end], states[first:end].translate(_IS_RUNNING)))
            first = states.find(RUNNING, end)
        return RunningTasks(len(tasks.log), starts)

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
        self._restore_running(self._starts_since(copy.base))
        self._base = copy.base
        copy.whole.put_back(tasks)
        tasks.copied_whole = set(copy.whole.rows)

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

    def _starts_since(self, base: RunningTasks) -> list[int]:
        """Return the entries of the log that have started the tasks that run now, later than the base."""
        log, first = self._tasks.log, base.log_length
        moves, starts = self._tasks.shapes_of_moves()
        is_move = list(map(moves.__contains__, log.shape_of[first:]))
        entries = compress(range(first, len(log)), is_move)
        last = dict(zip(compress(log.row_a[first:], is_move), entries, strict=True))
        still = [entry for entry in base.starts if log.row_a[entry] not in last]
        return still + [entry for entry in last.values() if log.shape_of[entry] in starts]

    def _restore_running(self, starts: list[int]) -> None:
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
