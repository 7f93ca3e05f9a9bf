"""The tasks of a run as comma-separated values, one line a task, for spreadsheets and pandas."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from engine.base.terms import TaskState
from engine.base.units import SECOND_MS
from engine.state.columns import NEVER_MS
from engine.state.tasks import COMPLETED, GONE, PREPARING, RUNNING
from engine.views.rest.common import utc
from engine.views.rest.tasks import execution_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engine import Simulation
    from engine.state.jobs import Job
    from engine.world.world import World

COLUMNS = (
    "jobId",
    "taskId",
    "state",
    "result",
    "exitCode",
    "poolId",
    "nodeId",
    "node",
    "creationTime",
    "startTime",
    "endTime",
    "waitSeconds",
    "runSeconds",
    "retryCount",
    "requeueCount",
)
_WIRE = tuple(state.wire for state in TaskState)


class _Line:
    """A file that returns what is written to it: each row of a csv writer is one text."""

    def write(self, text: str) -> str:
        return text


def task_table_lines(simulation: Simulation) -> Iterator[str]:
    """Yield the header, then a line for each task in the order of the state as JSON, without line ends.

    Cells of what is not there are empty. ``waitSeconds`` is from the creation of a task to its latest start, and
    ``runSeconds`` from there to its end; ``node`` is the index of the node in its pool.
    """
    # ``writerow`` returns what ``write`` returns.
    line: Callable[[Any], str] = csv.writer(_Line(), lineterminator="").writerow
    yield line(COLUMNS)
    world = simulation.world
    for job in world.jobs.present():
        yield from map(line, _rows(world, job))


def _rows(world: World, job: Job) -> Iterator[tuple[object, ...]]:
    tasks = world.tasks
    for number in job.blocks:
        block = tasks.blocks[number]
        created = utc(world, block.created_ms)
        for ordinal in range(block.source.count):
            task = block.first + ordinal
            if tasks.state[task] == GONE:
                continue
            info = execution_info(world, task)
            yield (
                job.id,
                block.source.task_id(ordinal),
                _WIRE[tasks.state[task]],
                info.get("result", ""),
                info.get("exitCode", ""),
                *_place(world, task),
                created,
                info.get("startTime", ""),
                info.get("endTime", ""),
                *_times(world, task, block.created_ms),
                info["retryCount"],
                info["requeueCount"],
            )


def _place(world: World, task: int) -> tuple[object, ...]:
    """Return pool, node and the node's index where the task runs or ran last (TASK-11)."""
    if world.tasks.state[task] != PREPARING and world.tasks.started[task] == NEVER_MS:
        return "", "", ""
    record = world.nodes[world.tasks.node[task]]
    return world.pools[record.pool].id, record.id, record.position


def _times(world: World, task: int, created_ms: int) -> tuple[str, str]:
    state, started_ms = world.tasks.state[task], world.tasks.started[task]
    if state not in (RUNNING, COMPLETED) or started_ms == NEVER_MS:
        return "", ""
    waited = _seconds(started_ms - created_ms)
    return waited, _seconds(world.tasks.ended[task] - started_ms) if state == COMPLETED else ""


def _seconds(ms: int) -> str:
    """Return seconds with as many decimals as they have, at most three."""
    whole, fraction = divmod(ms, SECOND_MS)
    return f"{whole}.{fraction:03d}".rstrip("0") if fraction else str(whole)
