"""Preparation and release instances: one row for each job and node that needed one (PREP-1, PREP-25).

They are not tasks of the job: lists and counters of tasks leave them out (PREP-27). As with tasks, the end column holds
the planned end while an instance runs.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

from engine.base.errors import FailureInfo, end_fields, result_of
from engine.base.log import EventLog, LogSubject
from engine.base.terms import InstanceState, TaskResult
from engine.state.tables import (
    NEVER_MS,
    PAGE_BITS,
    PAGE_ROWS,
    TIME,
    ColumnsCopy,
    PagedColumns,
    byte_column,
    column,
    filled,
)

ABSENT = 0
_NO_ROWS = array("i")
_new_rows = partial(array, "i")


class PrepFlag:
    """Bits about a job on a node that the scheduler needs; plain integers, since they are read often."""

    VALID = 1  # a success that still counts: tasks may run (PREP-7)
    RAN = 2  # a task of the job reached `running` here since the last image (REL-3)
    INELIGIBLE = 4  # preparation failed for good: no task of the job may come here (PREP-9)
    PREPARED_ONCE = 8  # preparation has completed since the last image, or begun if that is enough (REL-3)
    RELEASE_OWED = 16  # release must run, or run again, once the node is ready (REL-10, REL-13)


class Ending(NamedTuple):
    """The end of a process; without an exit code it never ran."""

    exit_code: int | None = None
    failure: FailureInfo | None = None


ENDED_WELL = Ending(0)


class InstanceView(NamedTuple):
    """An instance as the service shows it (PREP-24, REL-15)."""

    state: InstanceState
    start_ms: int
    end_ms: int | None
    exit_code: int | None
    failure: FailureInfo | None
    retry_count: int
    runs: int

    @property
    def result(self) -> TaskResult | None:
        """Success or failure once completed."""
        if self.state is InstanceState.RUNNING:
            return None
        return result_of(self.exit_code, self.failure)


# The groups of columns: job and node, flags, and the two processes, which run at different times.
_WHOSE, FLAGS, PREP, _RELEASE = range(4)
_PREPARATION, _RELEASING = "JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged"
_RUNNING, _COMPLETED = InstanceState.RUNNING, InstanceState.COMPLETED


class InstanceTable(PagedColumns[Ending]):
    """All instances; ``sparse`` holds the endings that are no plain success, under 2 * row + (1 for release)."""

    job = column("I", _WHOSE)
    node = column("I", _WHOSE)
    flags = byte_column(FLAGS)
    prep_state = byte_column(PREP)
    prep_first = column(TIME, PREP)  # the first start ever on this node, which orders the status (PREP-25)
    prep_start = column(TIME, PREP)
    prep_end = column(TIME, PREP)
    prep_retries = column("I", PREP)
    prep_runs = column("I", PREP)  # starts ever on this node, for `simulate.attempts`
    release_state = byte_column(_RELEASE)
    release_start = column(TIME, _RELEASE)
    release_end = column(TIME, _RELEASE)
    release_runs = column("I", _RELEASE)

    def __init__(self, log: EventLog, time_code: str) -> None:
        """Create an empty table."""
        super().__init__(time_code)
        self.log = log
        self.rows: dict[int, array[int]] = {}  # job -> row by node, -1 where there is none
        self._of_job: dict[int, array[int]] = defaultdict(_new_rows)  # in the order in which they were made
        self._of_node: dict[int, array[int]] = defaultdict(_new_rows)
        self._blank = [
            (values, filled(values, PAGE_ROWS, NEVER_MS if declared.code == TIME else 0))
            for values, declared in zip(self.columns, self.DECLARED.values(), strict=True)
        ]
        self._shape = cache(self._make_shape)
        self.first_prep_start = self._shape(_PREPARATION, _RUNNING, 1, None, "PREP-3")
        self.first_prep_success = self._shape(_PREPARATION, _COMPLETED, 1, ENDED_WELL, "PREP-5")
        # The exit code of the run before each retry, by the number of the retry's log entry. The log does not say it.
        # What a branch cuts off is written anew, so no copy is kept of this.
        self.retried_code: dict[int, int] = {}

    def row(self, job: int, node: int) -> int:
        """Return the row of the job on the node; -1 if it never needed one."""
        rows = self.rows.get(job)
        return rows[node] if rows is not None and node < len(rows) else -1

    def rows_on_nodes(self, job: int, nodes: Sequence[int]) -> list[int]:
        """Return the row of the job on each of these nodes; -1 where it never needed one."""
        rows = self.rows.get(job, _NO_ROWS)
        known = len(rows)
        return [rows[node] if node < known else -1 for node in nodes]

    def rows_of_job(self, job: int) -> Sequence[int]:
        """Return all rows of a job, in the order in which they were made."""
        return self._of_job.get(job, _NO_ROWS)[:]

    def rows_on(self, node: int) -> Sequence[int]:
        """Return all rows of a node, in the order in which they were made, including those of deleted jobs."""
        return self._of_node.get(node, _NO_ROWS)[:]

    def need(self, job: int, node: int) -> int:
        """Return the row of the job on the node, made if it is new."""
        rows = self.rows.get(job)
        if rows is not None and node < len(rows) and rows[node] >= 0:
            return rows[node]
        row = self._grow(1)
        if row == len(self.job):  # rows are made a page at a time, blank beyond ``length``
            for values, blank in self._blank:
                values.extend(blank)
        self.job[row] = job
        self.node[row] = node
        self._enter(row, job, node)
        return row

    def set_flags(self, row: int, flags: int) -> None:
        """Set one or several flags."""
        self.flags[row] |= flags
        self.touch(row, FLAGS)

    def clear_flags(self, row: int, flags: int) -> None:
        """Clear one or several flags."""
        self.flags[row] &= ~flags
        self.touch(row, FLAGS)

    def remember_run(self, row: int) -> None:
        """Remember that a task of the job has run on the node: half of what release asks (REL-3)."""
        if not self.flags[row] & PrepFlag.RAN:
            self.set_flags(row, PrepFlag.RAN)

    def move_end(self, row: int, end_ms: int, *, is_release: bool) -> None:
        """Move the planned end of the running preparation or release task."""
        (self.release_end if is_release else self.prep_end)[row] = end_ms
        self.touch(row, _RELEASE if is_release else PREP)

    # -- preparation ---------------------------------------------------------------------------------------------

    def prep_start_run(self, now_ms: int, row: int, end_ms: int, rule: str, *, failed_code: int | None = None) -> None:
        """Start the preparation's process, which will end at ``end_ms``.

        A retry counts on (PREP-12); ``failed_code`` is the exit code of the run before it.
        """
        self.prep_runs[row] = run = self.prep_runs[row] + 1
        if run == 1:
            self.prep_first[row] = now_ms
        else:
            self.prep_retries[row] = 0 if failed_code is None else self.prep_retries[row] + 1
            self._page(row).pop(2 * row, None)  # how the run before this one ended
        self.prep_state[row] = _RUNNING
        self.prep_start[row] = now_ms
        self.prep_end[row] = end_ms
        self.touch(row, PREP)
        if failed_code is not None:
            self.retried_code[len(self.log)] = failed_code
        self._log(now_ms, _PREPARATION, row, _RUNNING, run, None, rule)

    def prep_complete(self, now_ms: int, row: int, ending: Ending, rule: str, flags: int = 0) -> None:
        """Complete the preparation, successfully or not (PREP-5); release asks no more of it (REL-3).

        ``flags`` are set for the job's tasks.
        """
        self.prep_state[row] = _COMPLETED
        self.prep_end[row] = now_ms
        self.flags[row] |= PrepFlag.PREPARED_ONCE | flags
        self.touch(row, PREP)
        self.touch(row, FLAGS)
        self._set_ending(2 * row, row >> PAGE_BITS, ending)
        self._log(now_ms, _PREPARATION, row, _COMPLETED, self.prep_runs[row], ending, rule)

    def prep(self, row: int) -> InstanceView | None:
        """Return the preparation's record; None if it never ran."""
        state, start_ms, end_ms = self.prep_state[row], self.prep_start[row], self.prep_end[row]
        return self._view(2 * row, state, start_ms, end_ms, self.prep_retries[row], self.prep_runs[row])

    # -- release -------------------------------------------------------------------------------------------------

    def release_start_runs(self, now_ms: int, rows: Sequence[int], end_ms: int, rule: str) -> None:
        """Start the release task's process on several nodes, where it will end at ``end_ms``."""
        states, starts, ends, runs = self.release_state, self.release_start, self.release_end, self.release_runs
        dirty = self.dirty[_RELEASE]
        for row in rows:
            states[row] = _RUNNING
            starts[row] = now_ms
            ends[row] = end_ms
            runs[row] += 1
            dirty[row >> PAGE_BITS] = 1
        self.changes += 1
        self._log_releases(now_ms, rows, _RUNNING, None, rule)

    def release_complete(self, now_ms: int, rows: Sequence[int], ending: Ending, rule: str) -> None:
        """Complete the release task on several nodes, successfully or not (REL-7)."""
        states, ends, dirty = self.release_state, self.release_end, self.dirty[_RELEASE]
        for row in rows:
            states[row] = _COMPLETED
            ends[row] = now_ms
            page = row >> PAGE_BITS
            dirty[page] = 1
            self._set_ending(2 * row + 1, page, ending)
        self.changes += 1
        self._log_releases(now_ms, rows, _COMPLETED, ending, rule)

    def release(self, row: int) -> InstanceView | None:
        """Return the release task's record; None if it never ran."""
        state, start_ms, end_ms = self.release_state[row], self.release_start[row], self.release_end[row]
        return self._view(2 * row + 1, state, start_ms, end_ms, 0, self.release_runs[row])

    # -- endings -------------------------------------------------------------------------------------------------

    def _view(self, key: int, state: int, start: int, end: int, retries: int, runs: int) -> InstanceView | None:
        if state == ABSENT:
            return None
        if state == _RUNNING:
            return InstanceView(_RUNNING, start, None, None, None, retries, runs)
        ending = self._page(key >> 1).get(key, ENDED_WELL)
        return InstanceView(_COMPLETED, start, end, ending.exit_code, ending.failure, retries, runs)

    def _page(self, row: int) -> dict[int, Ending]:
        return self.sparse[row >> PAGE_BITS]

    def _set_ending(self, key: int, page: int, ending: Ending) -> None:
        if ending != ENDED_WELL:
            self.sparse[page][key] = ending
        elif self.sparse[page]:
            self.sparse[page].pop(key, None)

    def _log(
        self, now_ms: int, event: str, row: int, to: InstanceState, attempt: int, ending: Ending | None, rule: str
    ) -> None:
        self.log.append(now_ms, self._shape(event, to, attempt, ending, rule), self.job[row], self.node[row])

    def _log_releases(
        self, now_ms: int, rows: Sequence[int], to: InstanceState, ending: Ending | None, rule: str
    ) -> None:
        runs = [self.release_runs[row] for row in rows]
        shape_of_run = {run: self._shape(_RELEASING, to, run, ending, rule) for run in set(runs)}
        self.log.extend(
            [now_ms] * len(rows),
            [shape_of_run[run] for run in runs],
            [self.job[row] for row in rows],
            [self.node[row] for row in rows],
        )

    def _make_shape(self, event: str, to: InstanceState, attempt: int, ending: Ending | None, rule: str) -> int:
        fields = (("to", to), ("attempt", attempt), *(end_fields(*ending) if ending is not None else ()))
        return self.log.shape(event, LogSubject.INSTANCE, *fields, ("rule", rule))

    def restore(self, copy: ColumnsCopy[Ending]) -> None:
        """Make the instances as they were when ``copy`` was taken."""
        self._leave(copy.length)
        present = self.length
        super().restore(copy)
        for row in range(present, self.length):
            self._enter(row, self.job[row], self.node[row])

    def _enter(self, row: int, job: int, node: int) -> None:
        """Index a row by job and node."""
        rows = self.rows.get(job)
        if rows is None:
            rows = self.rows[job] = array("i")
        if node >= len(rows):
            rows.extend(array("i", [-1]) * (node + 1 - len(rows)))
        rows[node] = row
        self._of_job[job].append(row)
        self._of_node[node].append(row)

    def _leave(self, first: int) -> None:
        """Remove the rows from ``first`` on from the index."""
        for row in range(first, self.length):
            self.rows[self.job[row]][self.node[row]] = -1
        for rows in (*self._of_job.values(), *self._of_node.values()):
            del rows[bisect_left(rows, first) :]
