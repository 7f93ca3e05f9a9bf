"""The present work of a node: its tasks, the preparation and release of a job there, and the last lines of output."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.paths import name_of, parent
from engine.base.terms import TaskState
from engine.rules.processes.directories import OUTPUTS
from engine.views.pages.hook_status import Hook, HookStatus
from engine.views.pages.instances import InstancePage
from engine.world.agenda import task_end_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine import Simulation

_MOST_CHARACTERS = 4_000  # of an output file, from its end


class TaskOnNode(NamedTuple):
    """A task that runs or prepares on a node. Times are ms since the start; None where they are not known."""

    task: int
    job_id: str
    task_id: str
    state: TaskState
    start_ms: int | None
    planned_ms: int | None


class HookOnNode(NamedTuple):
    """The preparation or release of a job on a node. Times are ms since the start; None where they are not known."""

    hook: Hook
    status: HookStatus
    start_ms: int | None
    end_ms: int | None
    planned_ms: int | None
    exit_code: int | None


class LastOutput(NamedTuple):
    """The last lines of the output file that a process wrote last on a node, with the process's directory name."""

    process: str
    lines: tuple[str, ...]


def tasks_on(simulation: Simulation, node: int, most: int) -> list[TaskOnNode]:
    """Return the tasks that run or prepare on a node, at most so many, in the order of their creation."""
    world = simulation.world
    tasks, found = world.tasks, []
    for task in world.nodes.tasks_on(node)[:most]:
        state = tasks.state_of(task)
        assert state is not None
        is_running, job = state is TaskState.RUNNING, world.jobs[tasks.block_of(task).job]
        start_ms = tasks.started[task] if is_running else None
        end_ms = task_end_ms(world, task) if is_running else None
        planned_ms = end_ms if end_ms is not None and world.is_known(end_ms) else None
        found.append(TaskOnNode(task, job.id, tasks.task_id(task), state, start_ms, planned_ms))
    return found


def count_tasks(simulation: Simulation, nodes: Iterable[int]) -> list[int]:
    """Return the number of tasks that run or prepare on each of some nodes."""
    return [len(simulation.world.nodes.tasks_on(node)) for node in nodes]


def hooks_on(simulation: Simulation, pages: Sequence[InstancePage], node: int) -> list[HookOnNode]:
    """Return the preparation and the release of these pages that have a record on a node."""
    world, found = simulation.world, []
    for page in pages:
        status = page.status_of(node)
        if status in (HookStatus.NOT_NEEDED, HookStatus.WILL_RUN, HookStatus.SKIPPED):
            continue
        job = world.jobs.find(page.job_id)
        assert job is not None
        row = world.instances.row(job.row, node)
        view = world.instances.prep(row) if page.hook is Hook.PREPARATION else world.instances.release(row)
        if view is not None:
            planned_ms = page.planned_end_ms(node)
            found.append(HookOnNode(page.hook, status, view.start_ms, view.end_ms, planned_ms, view.exit_code))
    return found


def last_output(simulation: Simulation, node: int, most_lines: int) -> LastOutput | None:
    """Return the end of the output that was written last on a node; None without any text (FILE-4).

    Output appears when its process ends. ``stderr.txt`` comes before ``stdout.txt`` of the same process.
    Only the newest files are looked at, so this takes no longer on a full disk.
    """
    if simulation.world.nodes.state_of(node) is None:
        return None
    newest = simulation.world.disks.newest_text(node, OUTPUTS)
    if newest is None:
        return None
    path, text = newest
    lines = [each.rstrip() for each in text[-_MOST_CHARACTERS:].split("\n") if each.strip()]
    return LastOutput(name_of(parent(path)), tuple(lines[-most_lines:]))
