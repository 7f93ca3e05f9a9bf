"""Tasks: one row each, in columns. A task's state changes only here.

The end of a task is known when it starts, so ``ended`` holds the planned end while it runs. An entry of the calendar
that falls due at another moment, or when the task does not run, is void.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from functools import cache, lru_cache
from itertools import compress
from typing import TYPE_CHECKING

from engine.base.errors import FailureInfo, end_fields, result_of
from engine.base.lifecycles import TASK
from engine.base.log import EventLog, LogSubject
from engine.base.terms import TaskResult, TaskState
from engine.base.values import equals, picked, values, values_above
from engine.state.tables import (
    NEVER_MS,
    PAGE_BITS,
    PAGE_ROWS,
    SPAN,
    TIME,
    BrokenInvariant,
    ColumnsCopy,
    PagedColumns,
    byte_column,
    column,
)
from engine.state.task_records import PLAIN, UNTRIED, ListedTasks, TaskBlock, TaskExtra, TaskProfile, TaskSource

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from engine.specs.bodies import TaskSpec
    from engine.state.jobs import JobTable

ACTIVE, PREPARING, RUNNING, COMPLETED = (int(state) for state in TaskState)
GONE = 4  # deleted: the row stays, the task does not

_BEGUN = frozenset((RUNNING, COMPLETED))
_STATES = tuple(TaskState)  # by value: an index is cheaper than a call of the enum
# _LEGAL[old * 4 + new]: lifecycles.TASK as bytes, which are read faster.
_LEGAL = bytes((old, new) in TASK for old in TaskState for new in TaskState)

# In the column of exit codes: the first attempt runs into its time limit.
TIME_LIMIT_CODE = -(2**31)

# A job with more blocks of tasks than this has an index of listed ones.
_MOST_BLOCKS = 8

_MOST_SPECS = 8192  # bodies that are kept

_ENDED_WELL = end_fields(0, None)

# The groups of columns: those that change with each attempt, and those that only updates change.
_ATTEMPT, _PLAN = range(2)


class TaskTable(PagedColumns[TaskExtra]):
    """All tasks of all jobs, in the order in which they were added."""

    state = byte_column(_ATTEMPT)
    satisfied = byte_column(_ATTEMPT)  # DEP-4: dependents need not wait for it
    profile = column("I", _PLAN)
    node = column("i", _ATTEMPT)
    started = column(TIME, _ATTEMPT)
    ended = column(TIME, _ATTEMPT)
    # The log's entry of the latest start, it orders ends of the same millisecond, or of a later return to the queue.
    start_entry = column("i", _ATTEMPT)
    planned = column(SPAN, _PLAN)  # how long the first attempt takes
    code = column("i", _PLAN)  # the exit code of the first attempt

    def __init__(self, log: EventLog, jobs: JobTable, time_code: str) -> None:
        """Create an empty table."""
        super().__init__(time_code)
        self.log = log
        self.jobs = jobs
        self.profiles: list[TaskProfile] = []
        # What the fast paths ask of each profile, as tuples, which are unpacked faster than attributes are read.
        self.briefs: list[tuple[int, int, bool, bool]] = []
        self._profile_numbers: dict[TaskProfile, int] = {}
        # A factory makes a body anew each time, and the same body is asked for when a task starts and when it ends.
        self.spec = lru_cache(_MOST_SPECS)(self._read_spec)
        self.blocks: list[TaskBlock] = []
        self._firsts: list[int] = []
        # Of jobs whose tasks came in many blocks: how many blocks were read, the listed tasks by id, other blocks.
        self._listed: dict[int, tuple[int, dict[str, int], list[int]]] = {}
        self._recorded: list[TaskBlock] = []  # with those that were added after the shown moment
        self._seen = 0  # entries of the log whose changes are marked in ``dirty``
        new = (("from", None), ("to", TaskState.ACTIVE), ("attempt", 1))
        self._added = log.shape("TaskStateChanged", LogSubject.TASKS_ADDED, *new)
        self._shape = cache(self._make_shape)
        self._begin_shape = cache(self._make_begin_shape)
        self.first_start = self._begin_shape(ACTIVE, RUNNING, 1, "SCHED-7")
        self.first_wait = self._begin_shape(ACTIVE, PREPARING, 1, "PREP-6")
        self.first_prepared_start = self._begin_shape(PREPARING, RUNNING, 1, "PREP-7")
        self.first_success = self.success_shape(1)

    # -- identity ------------------------------------------------------------------------------------------------

    def block_of(self, task: int) -> TaskBlock:
        """Return the block that the task was added with."""
        return self.blocks[bisect_right(self._firsts, task) - 1]

    def ranges_of(self, blocks: Iterable[int]) -> list[range]:
        """Return the rows of each of these blocks, deleted tasks included."""
        return [self.blocks[number].rows for number in blocks]

    def modified_ms(self, task: int) -> int:
        """Return the time of the task's last modification: its creation or an update, runs do not count (GEN-6)."""
        updated_ms = self.profile_of(task).modified_ms
        return self.block_of(task).created_ms if updated_ms is None else updated_ms

    def task_id(self, task: int) -> str:
        """Return the task's id as the user spells it."""
        block = self.block_of(task)
        return block.source.task_id(task - block.first)

    def texts_of(self, tasks: Sequence[int], of_block: Callable[[TaskBlock, list[int]], list[str]]) -> list[str]:
        """Return a text of each of many tasks; ``of_block`` makes those of some ordinals of a block together."""
        if not tasks:
            return []
        is_one = len(self.blocks) == 1  # mostly all were added together, and need not be in order
        block = self.blocks[0] if is_one else self.block_of(min(tasks))
        if is_one or max(tasks) < block.rows.stop:
            first = block.first
            return of_block(block, [task - first for task in tasks])
        rows = sorted(set(tasks))
        found: dict[int, str] = {}
        at = 0
        while at < len(rows):
            block = self.block_of(rows[at])
            after = bisect_left(rows, block.rows.stop, at)
            ordinals = [task - block.first for task in rows[at:after]]
            found.update(zip(rows[at:after], of_block(block, ordinals), strict=True))
            at = after
        return list(map(found.__getitem__, tasks))

    def task_ids(self, tasks: Sequence[int]) -> list[str]:
        """Return the ids of many tasks as the user spells them."""
        return self.texts_of(tasks, lambda block, ordinals: block.source.task_ids(ordinals))

    def command_lines(self, tasks: Sequence[int]) -> list[str]:
        """Return the command lines of many tasks; those of one block are found together."""
        return self.texts_of(tasks, lambda block, ordinals: block.source.command_lines(ordinals))

    def _read_spec(self, task: int) -> TaskSpec:
        """Return the task's body as it was added; its constraints may have changed since, see ``profile_of``."""
        block = self.block_of(task)
        return block.source.spec(task - block.first)

    def profile_of(self, task: int) -> TaskProfile:
        """Return the properties of the task that the scheduler needs."""
        return self.profiles[self.profile[task]]

    def extra(self, task: int) -> TaskExtra:
        """Return attempts, retries and failure; ``UNTRIED`` for a task that has never started."""
        found = self.sparse_of(task)
        if found is not None:
            return found
        return PLAIN if self.started[task] != NEVER_MS else UNTRIED

    def begun_ms(self, task: int) -> int | None:
        """Return when the present or last attempt began; None while a task waits, or if it was ended then (TASK-13)."""
        is_told = self.state[task] in _BEGUN and not self.extra(task).ended_waiting
        return self.started[task] if is_told and self.started[task] != NEVER_MS else None

    def begun(self, rows: Sequence[int]) -> Sequence[int]:
        """Return ``begun_ms`` of each of many tasks, ``NEVER_MS`` for None."""
        read = values if isinstance(rows, range) else picked
        states, started = read(self.state, rows), read(self.started, rows)
        pages = self.sparse[min(rows, default=0) >> PAGE_BITS : (max(rows, default=0) >> PAGE_BITS) + 1]
        if len(rows) < len(pages):  # they are far apart
            waited = {row for row in rows if self.extra(row).ended_waiting}
        else:
            waited = {row for page in pages for row, extra in page.items() if extra.ended_waiting}
        if not waited and _BEGUN.issuperset(states):
            return started
        each = zip(rows, states, started, strict=True)
        return [ms if state in _BEGUN and row not in waited else NEVER_MS for row, state, ms in each]

    def set_extra(self, task: int, extra: TaskExtra) -> None:
        """Replace what ``extra`` returns."""
        self.sparse[task >> PAGE_BITS][task] = extra

    def state_of(self, task: int) -> TaskState | None:
        """Return the task's state; None if it has been deleted."""
        state = self.state[task]
        return None if state == GONE else TaskState(state)

    def find(self, job: int, task_id: str) -> int | None:
        """Return the row of a job's task; None if there is none. Case is ignored (GEN-1)."""
        numbers: Sequence[int] = self.jobs.rows[job].blocks
        if len(numbers) > _MOST_BLOCKS:
            listed, numbers = self._listed_of(job, numbers)
            row = listed.get(task_id.lower())
            if row is not None and self.state[row] != GONE:
                return row
        for number in reversed(numbers):
            block = self.blocks[number]
            ordinal = block.source.ordinal_of(task_id)
            if ordinal is not None and self.state[block.first + ordinal] != GONE:
                return block.first + ordinal
        return None

    def _listed_of(self, job: int, numbers: Sequence[int]) -> tuple[dict[str, int], Sequence[int]]:
        """Return the latest row of each listed task of a job by its id in lower case, and the job's other blocks."""
        read, listed, others = self._listed.get(job, (0, {}, []))
        for number in numbers[read:]:
            first, source = self.blocks[number].first, self.blocks[number].source
            if isinstance(source, ListedTasks):
                for task_id, ordinal in source.ordinals.items():
                    listed[task_id] = first + ordinal
            else:
                others.append(number)
        self._listed[job] = len(numbers), listed, others
        return listed, others

    def rows_of(self, job: int) -> Iterator[int]:
        """Yield the rows of all tasks that the job ever had, in creation order."""
        for number in self.jobs.rows[job].blocks:
            yield from self.blocks[number].rows

    def on_nodes(self, job: int) -> list[int]:
        """Return the job's running and preparing tasks in creation order."""
        if not self.jobs.rows[job].busy:
            return []
        return [task for task in self.rows_of(job) if self.state[task] in (PREPARING, RUNNING)]

    def result(self, task: int) -> TaskResult | None:
        """Return success or failure of a completed task (RETRY-11); None before."""
        if self.state[task] != COMPLETED:
            return None
        extra = self.extra(task)
        return result_of(extra.exit_code, extra.failure)

    def is_particular(self, task: int, profile: TaskProfile) -> bool:
        """Return whether the task may prefer a node."""
        return profile.affinity is not None or task in self.sparse[task >> PAGE_BITS]

    def end_token(self, task: int) -> int:
        """Return the token of the calendar's entry for the task's end: 0 if nothing follows from its success.

        That holds for the first attempt of a plain task (see rules/fast_path.py).
        """
        return 0 if self.profiles[self.profile[task]].ends_plainly and task not in self.sparse[task >> PAGE_BITS] else 1

    def profile_number(self, profile: TaskProfile) -> int:
        """Return the number of a profile, which is added if it is new."""
        number = self._profile_numbers.get(profile)
        if number is None:
            number = self._profile_numbers[profile] = len(self.profiles)
            self.profiles.append(profile)
            self.briefs.append((profile.job, profile.required_slots, profile.ends_plainly, profile.outputs is not None))
        return number

    # -- changes -------------------------------------------------------------------------------------------------

    def add_block(
        self, now_ms: int, job: int, source: TaskSource, profiles: array[int], planned_ms: array[int], codes: array[int]
    ) -> TaskBlock:
        """Add tasks, all ``active``, with columns of their profiles, first durations and first exit codes (TASK-3)."""
        count = len(profiles)
        zeros, nowhere = bytes(count), array("i", [-1]) * count
        self.state.extend(zeros)
        self.satisfied.extend(zeros)
        self.profile.extend(profiles)
        self.node.extend(nowhere)
        self.start_entry.extend(nowhere)
        never = array(self.started.typecode, [NEVER_MS]) * count
        self.started.extend(never)
        self.ended.extend(never)
        self.planned.extend(planned_ms)
        self.code.extend(codes)
        block = TaskBlock(self._grow(count), job, now_ms, source)
        self.blocks.append(block)
        self._recorded += self.blocks[len(self._recorded) :]
        self._firsts.append(block.first)
        record = self.jobs.edit(job)
        record.blocks.append(len(self.blocks) - 1)
        record.counts[ACTIVE] += count
        record.count_tasks(count)
        self.log.append_tasks_added(now_ms, self._added, block.first, count)
        return block

    def start(self, now_ms: int, task: int, node: int, end_ms: int, rule: str = "SCHED-7") -> None:
        """Start the task on the node; it will end at ``end_ms`` unless it is stopped before."""
        old = self.state[task]
        if self.started[task] == NEVER_MS and task not in self.sparse[task >> PAGE_BITS]:
            shape = self._begin_shape(old, RUNNING, 1, rule)
        else:
            shape = self._restart(now_ms, task, node, old, rule)
        self._move(task, old, RUNNING)
        self.node[task] = node
        self.started[task] = now_ms
        self.ended[task] = end_ms
        self.start_entry[task] = len(self.log.when)
        self.log.append(now_ms, shape, task, node)

    def _restart(self, now_ms: int, task: int, node: int, old: int, rule: str) -> int:
        self._count_on_node(task, node)
        extra = self.extra(task)
        if extra == UNTRIED:
            return self._begin_shape(old, RUNNING, 1, rule)
        retry_ms = now_ms if extra.awaits_retry else extra.last_retry_ms
        extra = extra._replace(attempts=extra.attempts + 1, last_retry_ms=retry_ms, awaits_retry=False)
        self.set_extra(task, extra)
        rule = "RETRY-5" if retry_ms == now_ms else rule
        return self._begin_shape(old, RUNNING, extra.attempts, rule)

    def _count_on_node(self, task: int, node: int) -> None:
        """Count the retries of the service anew on another node (RETRY-7)."""
        extra = self.extra(task)
        if extra.node_retries and node != self.node[task]:
            self.set_extra(task, extra._replace(node_retries=0))

    def prepare(self, now_ms: int, task: int, node: int) -> None:
        """Let the task wait on the node for the job's preparation (PREP-6)."""
        self._move(task, self.state[task], PREPARING)
        attempt = 1
        if self.started[task] != NEVER_MS or task in self.sparse[task >> PAGE_BITS]:
            self._count_on_node(task, node)
            attempt = self.extra(task).attempts + 1
        self.node[task] = node
        shape = self._begin_shape(ACTIVE, PREPARING, attempt, "PREP-6")
        self.log.append(now_ms, shape, task, node)

    def succeed(self, now_ms: int, task: int, node: int) -> None:
        """Complete the running task with exit code 0 and without failure."""
        extra = self.sparse_of(task)
        if extra is None:
            shape = self.first_success
        else:
            shape = self.success_shape(extra.attempts)
            self.set_extra(task, extra._replace(exit_code=0, failure=None))
        self._move(task, RUNNING, COMPLETED)
        self.ended[task] = now_ms
        self.log.append(now_ms, shape, task, node)

    def fail(
        self, now_ms: int, task: int, exit_code: int | None, failure: FailureInfo | None, rule: str, node: int = -1
    ) -> None:
        """Complete the task as failed; without an exit code its process never ran (RETRY-11)."""
        old = self.state[task]
        extra = self.extra(task)
        if old == PREPARING and self.started[task] == NEVER_MS:
            extra = UNTRIED
        waited = old != RUNNING
        extra = extra._replace(exit_code=exit_code, failure=failure, awaits_retry=False, ended_waiting=waited)
        self.set_extra(task, extra)
        self._move(task, old, COMPLETED)
        self.ended[task] = now_ms
        fields = (*end_fields(exit_code, failure), ("rule", rule))
        shape = self._shape(old, TaskState.COMPLETED, extra.attempts, *fields)
        self.jobs.edit(self.profile_of(task).job).failed += 1
        self.log.append(now_ms, shape, task, node)

    def back_to_active(self, now_ms: int, task: int, extra: TaskExtra, rule: str, exit_code: int | None = None) -> None:
        """Make the task active again: a retry, a requeue, a lost node, a failed preparation, a reactivation."""
        old = self.state[task]
        node = self.node[task] if old != COMPLETED else -1
        job = self.jobs.edit(self.profile_of(task).job)
        if old == COMPLETED:
            job.failed -= self.result(task) is TaskResult.FAILURE
        if extra == UNTRIED:  # it has only been preparing, or was ended before it ran: its first start is still to come
            self.sparse[task >> PAGE_BITS].pop(task, None)
        else:
            self.set_extra(task, extra)
        self._move(task, old, ACTIVE)
        self.ended[task], self.start_entry[task] = NEVER_MS, len(self.log)
        code = () if exit_code is None else (("exitCode", exit_code),)
        shape = self._shape(old, TaskState.ACTIVE, extra.attempts, *code, ("rule", rule))
        self.log.append(now_ms, shape, task, node)

    def delete(self, now_ms: int, task: int, rule: str) -> None:
        """Delete the task (TASK-14, JOB-16)."""
        old = self.state[task]
        job = self.jobs.edit(self.profile_of(task).job)
        result = self.result(task)
        job.deleted[result] = job.deleted.get(result, 0) + 1
        if result is TaskResult.FAILURE:
            job.failed -= 1
        job.counts[old] -= 1
        job.count_tasks(-1)
        self.state[task] = GONE
        shape = self._shape(old, None, self.extra(task).attempts, ("rule", rule))
        self.log.append(now_ms, shape, task)

    def log_not_scheduled(self, now_ms: int, task: int, why: FailureInfo, rule: str, node: int = -1) -> None:
        """Log why a task finds no node, or may not run on this one (PREP-10, SCHED-10, SCHED-11)."""
        fields = (("category", why.category), ("code", why.code), ("message", why.message), ("rule", rule))
        self.log.append(now_ms, self.log.shape("TaskScheduleFail", LogSubject.TASK, *fields), task, node)

    def set_profile(self, task: int, profile: TaskProfile) -> None:
        """Replace the task's profile after an update of its constraints (TASK-12)."""
        self.touch(task, _PLAN)
        self.profile[task] = self.profile_number(profile)

    def plan(self, task: int, total_ms: int, code: int) -> None:
        """Replace how long the first attempt takes, and its exit code."""
        self.touch(task, _PLAN)
        self.planned[task], self.code[task] = total_ms, code

    def move_end(self, task: int, end_ms: int) -> None:
        """Move the planned end of the running attempt."""
        self.ended[task] = end_ms
        self.touch(task, _ATTEMPT)

    def set_satisfied(self, task: int) -> None:
        """Note that dependents need not wait for the task any more (DEP-4)."""
        self.satisfied[task] = 1
        self.touch(task, _ATTEMPT)

    def _move(self, task: int, old: int, new: int) -> None:
        if not _LEGAL[old * 4 + new]:
            raise BrokenInvariant(f"task {self.task_id(task)}: {old} -> {new} is no legal move")
        counts = self.jobs.rows[self.profiles[self.profile[task]].job].counts
        counts[old] -= 1
        counts[new] += 1
        self.state[task] = new

    # -- shapes --------------------------------------------------------------------------------------------------

    def _make_begin_shape(self, old: int, new: int, attempt: int, rule: str) -> int:
        return self._shape(old, TaskState(new), attempt, ("rule", rule))

    def success_shape(self, attempt: int) -> int:
        """Return the shape of the success of an attempt."""
        return self._shape(RUNNING, TaskState.COMPLETED, attempt, *_ENDED_WELL)

    def retry_shapes(self, exit_code: int) -> tuple[int, int]:
        """Return the shapes of a first attempt that ends with such a code to be made again, and of the second start."""
        end = self._shape(RUNNING, TaskState.ACTIVE, 1, ("exitCode", exit_code), ("rule", "RETRY-5"))
        return end, self._begin_shape(ACTIVE, RUNNING, 2, "RETRY-5")

    def _make_shape(self, old: int, new: TaskState | None, attempt: int, *more: tuple[str, Hashable]) -> int:
        move = (("from", _STATES[old]), ("to", new), ("attempt", max(attempt, 1)))
        return self.log.shape("TaskStateChanged", LogSubject.TASK, *move, *more)

    # -- looking over all ----------------------------------------------------------------------------------------

    def rows_in(self, state: int) -> list[int]:
        """Return all tasks in a state in creation order; reads every page."""
        states = self.state
        wanted = equals(state)
        rows: list[int] = []
        first = states.find(state)
        while first >= 0:
            end = min(first + PAGE_ROWS, self.length)
            rows.extend(compress(range(first, end), states[first:end].translate(wanted)))
            first = states.find(state, end)
        return rows

    # -- checkpoints -------------------------------------------------------------------------------------------------

    def mark_logged(self) -> None:
        """Mark the pages of the tasks of new entries of the log, with which nearly all changes come."""
        dirty = self.dirty[_ATTEMPT]
        for rows in values_above(self.log.row_a[self._seen :], 1):  # those of other tables are among them
            if rows >> PAGE_BITS - 8 < len(dirty):
                dirty[rows >> PAGE_BITS - 8] = 1
        self._seen = len(self.log)

    def copy(self) -> ColumnsCopy[TaskExtra]:
        """Return the tasks as they are now."""
        self.mark_logged()
        return super().copy()

    def restore(self, copy: ColumnsCopy[TaskExtra]) -> None:
        """Make the tasks as they were when ``copy`` was taken; the log has been moved before, profiles stay."""
        super().restore(copy)
        self._seen = len(self.log)
        self.spec.cache_clear()
        self.blocks = self._recorded[: bisect_left(self._recorded, self.length, key=lambda block: block.first)]
        self._firsts = [block.first for block in self.blocks]
        self._listed.clear()

    def forget_future(self) -> None:
        """Forget what was recorded after the present moment."""
        del self._recorded[len(self.blocks) :]
