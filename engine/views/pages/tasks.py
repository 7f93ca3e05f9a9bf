"""The tasks of one job: an order that stays cheap for a million rows, and one row made when it is looked at."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from engine.state.tasks import ACTIVE, COMPLETED, GONE, NEVER_MS, PREPARING, RUNNING
from engine.terms import TaskResult, TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine import Simulation
    from engine.state.failures import FailureInfo

_FAILED = 9  # in the copy of the states: completed, and not well
_ORDER = (_FAILED, RUNNING, PREPARING, ACTIVE, COMPLETED)


class TaskRow(NamedTuple):
    """A task as the service shows it. Times are ms since the start."""

    task: int
    task_id: str
    job_id: str
    state: TaskState | None
    result: TaskResult | None
    node_id: str | None
    created_ms: int
    start_ms: int | None
    end_ms: int | None
    exit_code: int | None
    retry_count: int
    requeue_count: int
    attempts: int
    required_slots: int
    failure: FailureInfo | None
    command_line: str
    is_blocked: bool  # something it depends on is not satisfied yet (DEP-4)
    awaits_retry: bool


class TaskPage:
    """The tasks of one job that have not been deleted."""

    def __init__(self, simulation: Simulation, job_id: str) -> None:
        """Look at a job; the page is empty while there is no job of this id."""
        self._simulation = simulation
        self.job_id = job_id

    def order(self) -> Sequence[int]:
        """Failed tasks first, then running, preparing, active, completed; within these as they were added."""
        world = self._simulation.world
        job = world.jobs.find(self.job_id)
        if job is None:
            return ()
        tasks = world.tasks
        groups: dict[int, list[int]] = {state: [] for state in _ORDER}
        for number in job.blocks:
            block = tasks.blocks[number]
            rows = range(block.first, block.first + block.source.count)
            states = bytearray(tasks.state[rows.start : rows.stop].tobytes())
            for task in self._failed(rows):
                states[task - rows.start] = _FAILED
            for state, found in groups.items():
                found.extend(compress(rows, states.translate(_ONLY[state])))
        return [task for state in _ORDER for task in groups[state]]

    def failed(self) -> Sequence[int]:
        """The completed tasks that have failed, as they were added."""
        job = self._simulation.world.jobs.find(self.job_id)
        if job is None or not job.failed:
            return ()
        blocks = self._simulation.world.tasks.blocks
        ranges = (range(blocks[n].first, blocks[n].first + blocks[n].source.count) for n in job.blocks)
        return [task for rows in ranges for task in self._failed(rows)]

    def _failed(self, rows: range) -> list[int]:
        """What is beyond a first attempt that ends well stands in few places: look only there."""
        tasks = self._simulation.world.tasks
        return sorted(
            task for page in tasks.sparse for task in page if task in rows and tasks.result(task) is TaskResult.FAILURE
        )

    def sort_key(self, column: str) -> Callable[[int], int] | None:
        """What to sort by for a column whose values stand in the tables; None for any other."""
        tasks = self._simulation.world.tasks
        keys: dict[str, Callable[[int], int]] = {
            "Task": int,
            "Node": tasks.node.__getitem__,
            "Start time": tasks.started.__getitem__,
            "End time": tasks.ended.__getitem__,
            "State": tasks.state.__getitem__,
        }
        return keys.get(column)

    def id_of(self, task: int) -> str:
        """The task's id."""
        return self._simulation.world.tasks.task_id(task)

    def state_of(self, task: int) -> TaskState | None:
        """The task's state; None when it has been deleted."""
        return self._simulation.world.tasks.state_of(task)

    def row(self, task: int) -> TaskRow:
        """One task's row."""
        world = self._simulation.world
        tasks = world.tasks
        block = tasks.block_of(task)
        spec = tasks.spec(task)
        profile = tasks.profile_of(task)
        extra = tasks.extra(task)
        state = tasks.state_of(task)
        result = tasks.result(task)
        has_started = tasks.started[task] != NEVER_MS
        is_on_node = tasks.node[task] >= 0 and (has_started or state is TaskState.PREPARING)
        book = world.dependencies.get(block.job)
        return TaskRow(
            task=task,
            task_id=block.source.task_id(task - block.first),
            job_id=world.jobs[block.job].id,
            state=state,
            result=result,
            node_id=world.nodes[tasks.node[task]].id if is_on_node else None,
            created_ms=block.created_ms,
            start_ms=tasks.started[task] if has_started else None,
            end_ms=tasks.ended[task] if state is TaskState.COMPLETED else None,
            exit_code=0 if result is TaskResult.SUCCESS else extra.exit_code,
            retry_count=extra.retry_count,
            requeue_count=extra.requeue_count,
            attempts=extra.attempts,
            required_slots=profile.required_slots,
            failure=extra.failure,
            command_line=spec.command_line,
            is_blocked=state is TaskState.ACTIVE and book is not None and book.is_waiting(task),
            awaits_retry=extra.awaits_retry,
        )


_ONLY = {state: bytes(value == state for value in range(256)) for state in (*_ORDER, GONE)}
