"""The dependencies of a task in both directions (DEP-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.state.tasks import GONE
from engine.views.pages.bulk import values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.world.world import World


_FEW = 8  # tasks of a range that are named one by one


class Parent(NamedTuple):
    """A task that another one names; ``task`` is None where there is none of this id."""

    task_id: str
    task: int | None


class ParentRange(NamedTuple):
    """The numbers from ``low`` to ``high``, and how many tasks with one of them are not satisfied."""

    low: int
    high: int
    missing: int
    tasks: Sequence[Parent] = ()  # if they are few


class Dependencies(NamedTuple):
    """The dependencies of a task in both directions; ``children`` are row numbers."""

    is_used: bool  # the job uses task dependencies (DEP-1)
    parents: Sequence[Parent] = ()
    ranges: Sequence[ParentRange] = ()
    children: Sequence[int] = ()


def dependencies_of(simulation: Simulation, task: int) -> Dependencies:
    """Return the dependencies of the task in this row."""
    world = simulation.world
    tasks = world.tasks
    job = world.jobs[tasks.block_of(task).job]
    book = world.dependencies.get(job.row)
    if not job.spec.uses_task_dependencies or book is None:
        return Dependencies(job.spec.uses_task_dependencies)
    wanted = tasks.spec(task).depends_on
    ids = () if wanted is None else wanted.task_ids
    spans = () if wanted is None else dict.fromkeys((part.start, part.end) for part in wanted.task_id_ranges)
    return Dependencies(
        is_used=True,
        parents=[Parent(task_id, tasks.find(job.row, task_id)) for task_id in ids],
        ranges=[
            ParentRange(
                low,
                high,
                book.missing_in(low, high),
                [Parent(str(number), tasks.find(job.row, str(number))) for number in range(low, high + 1)]
                if high - low < _FEW
                else (),
            )
            for low, high in spans
        ],
        children=_present(world, book.dependents_of(tasks.task_id(task))),
    )


def _present(world: World, tasks: list[int]) -> list[int]:
    """Return the tasks that have not been deleted; there may be many of them."""
    states = bytes(values(world.tasks.state, tasks)) if len(tasks) > 1 else b""
    return tasks if states and GONE not in states else [each for each in tasks if world.tasks.state[each] != GONE]
