"""What the log tells of one node's directories: whose they are, and when the disk was wiped or an owner deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.paths import task_directory
from engine.base.terms import InstanceState, NodeState, TaskState
from engine.events.log import LogSubject

if TYPE_CHECKING:
    from engine import Simulation

_PREPARATION, _RELEASE = "JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged"
_STARTS = {
    "TaskStateChanged": TaskState.RUNNING,
    "SubtaskStateChanged": TaskState.RUNNING,
    _PREPARATION: InstanceState.RUNNING,
    _RELEASE: InstanceState.RUNNING,
}
# FILE-9, NOP-12: a node that goes into one of these states loses its disk; None is a node that has left.
WIPED_IN = (NodeState.REIMAGING, NodeState.DEALLOCATING, NodeState.PREEMPTED, NodeState.LEAVING_POOL, None)


class Process(NamedTuple):
    """Whose a directory is: a task's, or with ``task`` -1 that of a job's preparation or release.

    ``start_ms`` is when the process started there last, in ms since the start of the run.
    """

    start_ms: int
    job: int
    task: int
    is_release: bool


class NodeTraces:
    """What is known of one node from the log; each entry is read once, unless another moment is looked at."""

    def __init__(self, simulation: Simulation, node: int) -> None:
        """Of this node; empty until ``refresh``."""
        self._simulation = simulation
        self._node = node
        self._read_upto = (-1, 0)
        self.processes: dict[str, Process] = {}  # by the directory of each
        self.wipes: list[tuple[int, NodeState | None]] = []  # when the disk was wiped, and what the node became
        self.deleted_tasks: dict[int, int] = {}  # when
        self.deleted_jobs: dict[int, int] = {}

    def refresh(self) -> bool:
        """Read on; returns whether there was anything new that concerns the node."""
        simulation = self._simulation
        jumps, seen = self._read_upto
        is_other = jumps != simulation.jumps or seen > len(simulation.log)
        if is_other:
            seen = 0
            self.processes, self.wipes, self.deleted_tasks, self.deleted_jobs = {}, [], {}, {}
        self._read_upto = simulation.jumps, len(simulation.log)
        has_mine, has_deletions = self._read_mine(seen), self._read_deletions(seen)
        return is_other or has_mine or has_deletions

    def _read_mine(self, seen: int) -> bool:
        log = self._simulation.log
        mine = [at for at, node in enumerate(log.row_b[seen:], seen) if node == self._node]
        for at in mine:
            shape = log.shapes[log.shape_of[at]]
            if shape.subject is LogSubject.TASKS_ADDED:  # its second number counts tasks
                continue
            to = dict(shape.fields).get("to", shape)
            if shape.event == "NodeStateChanged" and (to is None or isinstance(to, NodeState)) and to in WIPED_IN:
                self.wipes.append((log.when[at], to))
            elif shape.event in _STARTS and to is _STARTS[shape.event]:
                self._enter(shape.event, log.when[at], log.row_a[at])
        return bool(mine)

    def _enter(self, event: str, when_ms: int, row: int) -> None:
        world = self._simulation.world
        if event not in (_PREPARATION, _RELEASE):
            job = world.jobs[world.tasks.block_of(row).job]
            process = Process(when_ms, job.row, row, is_release=False)
            self.processes[task_directory(job.id, world.tasks.task_id(row))] = process
            return
        job = world.jobs[row]
        is_release = event == _RELEASE
        hook = job.spec.job_release_task if is_release else job.spec.job_preparation_task
        assert hook is not None
        self.processes[task_directory(job.id, hook.id)] = Process(when_ms, row, -1, is_release)

    def _read_deletions(self, seen: int) -> bool:
        log = self._simulation.log
        ends = {number for number, shape in enumerate(log.shapes) if ("to", None) in shape.fields}
        found = [at for at, number in enumerate(log.shape_of[seen:], seen) if number in ends] if ends else []
        for at in found:
            subject = log.shapes[log.shape_of[at]].subject
            if subject is LogSubject.TASK:
                self.deleted_tasks[log.row_a[at]] = log.when[at]
            elif subject is LogSubject.JOB:
                self.deleted_jobs[log.row_a[at]] = log.when[at]
        return bool(found)


def last_directory(simulation: Simulation, task: int) -> tuple[int, str] | None:
    """The node on which a task started last, and its directory there; None if it has not started anywhere."""
    world, log = simulation.world, simulation.log
    shapes = {
        number
        for number, shape in enumerate(log.shapes)
        if shape.event == "TaskStateChanged" and ("to", TaskState.RUNNING) in shape.fields
    }
    for at in range(len(log) - 1, -1, -1):
        if log.row_a[at] == task and log.shape_of[at] in shapes:
            job = world.jobs[world.tasks.block_of(task).job]
            return log.row_b[at], task_directory(job.id, world.tasks.task_id(task))
    return None
