"""The directories of processes on one node: their owners, and when the disk was wiped or an owner deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import WIPED_IN
from engine.base.paths import task_directory
from engine.base.terms import InstanceState, NodeState, TaskState
from engine.events.log import LogSubject
from engine.views.log.reader import LogReader, about, of_kind

if TYPE_CHECKING:
    from engine import Simulation
    from engine.events.log import Shape

_PREPARATION, _RELEASE = "JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged"
_STARTS = {
    "TaskStateChanged": TaskState.RUNNING,
    "SubtaskStateChanged": TaskState.RUNNING,
    _PREPARATION: InstanceState.RUNNING,
    _RELEASE: InstanceState.RUNNING,
}


class DirectoryOwner(NamedTuple):
    """The process that a directory belongs to: a task, or with ``task`` -1 a job's preparation or release.

    ``start_ms`` is when it last started there, in ms since the start of the run.
    """

    start_ms: int
    job: int
    task: int
    is_release: bool


class NodeDirectories:
    """The directories on one node, as the log tells of them."""

    def __init__(self, simulation: Simulation, node: int) -> None:
        """Begin with nothing read; ``update`` reads."""
        self._simulation = simulation
        self._on_node = LogReader(simulation, about("row_b", node))
        self._deletions = LogReader(simulation, of_kind(_is_deletion))
        self.owners: dict[str, DirectoryOwner] = {}  # by directory
        self.wipes: list[tuple[int, NodeState | None]] = []  # when the disk was wiped, and the node's new state
        self.deleted_tasks: dict[int, int] = {}  # when
        self.deleted_jobs: dict[int, int] = {}

    def update(self) -> bool:
        """Read on. Return whether anything new concerns the node."""
        is_other, mine = self._on_node.news()
        is_cut, deletions = self._deletions.news()
        if is_other:
            self.owners, self.wipes = {}, []
        if is_cut:
            self.deleted_tasks, self.deleted_jobs = {}, {}
        for at in mine:
            self._take(at)
        log = self._simulation.log
        for at in deletions:
            is_task = log.shapes[log.shape_of[at]].subject is LogSubject.TASK
            (self.deleted_tasks if is_task else self.deleted_jobs)[log.row_a[at]] = log.when[at]
        return is_other or is_cut or bool(mine) or bool(deletions)

    def _take(self, at: int) -> None:
        log = self._simulation.log
        shape, when_ms = log.shapes[log.shape_of[at]], log.when[at]
        to = dict(shape.fields).get("to", shape)
        if shape.subject is LogSubject.TASKS_ADDED:  # its second number counts tasks
            return
        if shape.event == "NodeStateChanged" and (to is None or isinstance(to, NodeState)) and to in (*WIPED_IN, None):
            self.wipes.append((when_ms, to))
        elif shape.event in _STARTS and to is _STARTS[shape.event]:
            directory, owner = self._started(shape.event, when_ms, log.row_a[at])
            self.owners[directory] = owner

    def _started(self, event: str, when_ms: int, row: int) -> tuple[str, DirectoryOwner]:
        world = self._simulation.world
        if event not in (_PREPARATION, _RELEASE):
            job = world.jobs[world.tasks.block_of(row).job]
            return task_directory(job.id, world.tasks.task_id(row)), DirectoryOwner(when_ms, job.row, row, False)
        job = world.jobs[row]
        is_release = event == _RELEASE
        hook = job.spec.job_release_task if is_release else job.spec.job_preparation_task
        assert hook is not None
        return task_directory(job.id, hook.id), DirectoryOwner(when_ms, row, -1, is_release)


def _is_deletion(shape: Shape) -> bool:
    return ("to", None) in shape.fields and shape.subject in (LogSubject.TASK, LogSubject.JOB)
