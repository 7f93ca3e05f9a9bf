"""The history of one task: the states that it has come into, and its attempts on nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.failures import FailureInfo
from engine.base.paths import task_directory
from engine.base.terms import TaskState
from engine.events.log import LogSubject
from engine.state.tasks import COMPLETED
from engine.views.log.reader import latest_numbers_of, numbers_of
from engine.views.log.state_spans import StateSpan

if TYPE_CHECKING:
    from engine import Simulation


class TaskStep(NamedTuple):
    """A task comes into a state; None is deleted. ``when_ms`` is since the start."""

    when_ms: int
    state: TaskState | None
    node: int | None
    attempt: int
    exit_code: int | None
    failure: FailureInfo | None
    rule: str


class Attempt(NamedTuple):
    """A task on a node, from when it was assigned to it. Times are ms since the start."""

    number: int
    node: int
    placed_ms: int
    start_ms: int | None  # None: it has not started
    end_ms: int | None  # None: it is still there
    ended_as: TaskState | None  # active: it is to run again; None: it is still there, or was deleted
    exit_code: int | None
    failure: FailureInfo | None
    rule: str  # the rule that ended it; empty where it ended by itself


class TimeInState(NamedTuple):
    """When a task first came into a state, in ms since the start, how often it did, and the time spent in it in all."""

    entered_ms: int
    times: int
    spent_ms: int


class TaskHistory:
    """One task from its addition on."""

    def __init__(self, simulation: Simulation, task: int) -> None:
        """Read nothing yet of the task in this row."""
        self._simulation = simulation
        self._task = task

    def steps(self) -> list[TaskStep]:
        """Return every state that it has come into, in order."""
        log, tasks, task = self._simulation.log, self._simulation.world.tasks, self._task
        created_ms = tasks.block_of(task).created_ms
        until_ms = tasks.ended[task] if tasks.state[task] == COMPLETED else self._simulation.now_ms
        steps = [TaskStep(created_ms, TaskState.ACTIVE, None, 1, None, None, "")]
        for at in numbers_of(log.row_a, task, log.index_at(created_ms - 1), log.index_at(until_ms)):
            shape = log.shapes[log.shape_of[at]]
            if shape.subject is not LogSubject.TASK or shape.event != "TaskStateChanged":
                continue
            fields = dict(shape.fields)
            if fields["from"] is None:
                continue
            state, exit_code, failure = fields["to"], fields.get("exitCode"), fields.get("failureInfo")
            attempt, node = fields.get("attempt"), log.row_b[at]
            steps.append(
                TaskStep(
                    when_ms=log.when[at],
                    state=state if isinstance(state, TaskState) else None,
                    node=node if node >= 0 else None,
                    attempt=attempt if isinstance(attempt, int) else 0,
                    exit_code=exit_code if isinstance(exit_code, int) else None,
                    failure=failure if isinstance(failure, FailureInfo) else None,
                    rule=str(fields.get("rule", "")),
                )
            )
        return steps

    def attempts(self) -> list[Attempt]:
        """Return every assignment to a node, in order."""
        attempts: list[Attempt] = []
        is_there = False
        for step in self.steps():
            if step.state in (TaskState.PREPARING, TaskState.RUNNING) and step.node is not None:
                start_ms = step.when_ms if step.state is TaskState.RUNNING else None
                if is_there:
                    attempts[-1] = attempts[-1]._replace(start_ms=start_ms, number=step.attempt)
                else:
                    one = Attempt(step.attempt, step.node, step.when_ms, start_ms, None, None, None, None, "")
                    attempts.append(one)
                is_there = True
            elif is_there:
                attempts[-1] = attempts[-1]._replace(
                    end_ms=step.when_ms,
                    ended_as=step.state,
                    exit_code=step.exit_code,
                    failure=step.failure,
                    rule=step.rule,
                )
                is_there = False
        return attempts

    def times(self) -> dict[TaskState, TimeInState]:
        """Return the states in which it has been, and for how long."""
        steps = self.steps()
        ends = [step.when_ms for step in steps[1:]] + [self._simulation.now_ms]
        times: dict[TaskState, TimeInState] = {}
        for step, end_ms in zip(steps, ends, strict=True):
            if step.state is not None:
                first_ms, count, spent_ms = times.get(step.state, (step.when_ms, 0, 0))
                times[step.state] = TimeInState(first_ms, count + 1, spent_ms + end_ms - step.when_ms)
        return times

    def states(self) -> list[StateSpan[TaskState]]:
        """Return its states before it completed or was deleted, in order; one that goes on lasts until now."""
        steps = self.steps()
        ends = [step.when_ms for step in steps[1:]] + [self._simulation.now_ms]
        return [
            StateSpan(step.when_ms, end_ms, step.state)
            for step, end_ms in zip(steps, ends, strict=True)
            if step.state not in (None, TaskState.COMPLETED)
        ]


def last_directory(simulation: Simulation, task: int) -> tuple[int, str] | None:
    """Return the node on which a task started last, and its directory there; None if it has not started anywhere."""
    world, log = simulation.world, simulation.log
    for at in latest_numbers_of(log.row_a, task):
        shape = log.shapes[log.shape_of[at]]
        if shape.event == "TaskStateChanged" and ("to", TaskState.RUNNING) in shape.fields:
            job = world.jobs[world.tasks.block_of(task).job]
            return log.row_b[at], task_directory(job.id, world.tasks.task_id(task))
    return None
