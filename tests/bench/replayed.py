"""What a replayed simulation found out, read from its log as data."""

from __future__ import annotations

from array import array

from engine.base.log import EventLog, LogSubject
from engine.base.terms import InstanceState, TaskState
from tests.bench.answer import Answer, Work


def read(log: EventLog, tasks: int) -> tuple[Work, Answer]:
    """What each of the ``tasks`` cost, and the answer of the run."""
    started, total_ms, attempts = array("q", [0]) * tasks, array("q", [0]) * tasks, array("B", [0]) * tasks
    ready_ms, makespan_ms, start_sum_ms, completed = -1, 0, 0, 0
    instances = {"JobPreparationTaskStateChanged": 0, "JobReleaseTaskStateChanged": 0}
    fields = [dict(shape.fields) for shape in log.shapes]
    numbers = {id(shape): number for number, shape in enumerate(log.shapes)}
    for entry in log.entries():
        moved = fields[numbers[id(entry.shape)]]
        if entry.shape.event == "TaskStateChanged" and entry.shape.subject is LogSubject.TASK:
            if moved["to"] is TaskState.RUNNING:
                ready_ms = entry.t_ms if ready_ms < 0 else ready_ms
                started[entry.row_a] = entry.t_ms
                attempts[entry.row_a] += 1
            elif moved["from"] is TaskState.RUNNING:
                total_ms[entry.row_a] += entry.t_ms - started[entry.row_a]
                if moved["to"] is TaskState.COMPLETED:
                    completed += 1
                    makespan_ms = entry.t_ms
                    start_sum_ms += started[entry.row_a]
        elif entry.shape.event in instances and moved["to"] is InstanceState.COMPLETED:
            instances[entry.shape.event] += 1
    answer = Answer(completed, makespan_ms, start_sum_ms, sum(total_ms), *instances.values())
    return Work(ready_ms, total_ms, attempts), answer
