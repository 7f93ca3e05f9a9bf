"""Critical paths: the chain of tasks that decides when a task could begin, or when a job ends (DEP-2)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from engine.state.columns import NEVER_MS
from engine.state.dependencies import number_of
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.pages.bulk import places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine import Simulation
    from engine.state.tasks import TaskTable

_LONGEST_CHAIN = 200
_MOST_LOOKED_UP = 2_000  # numbers of a range, one by one
_RANKS = {RUNNING: 1, PREPARING: 2, ACTIVE: 3, COMPLETED: 4}  # of tasks that do not satisfy their dependents yet


class Link(NamedTuple):
    """A task of a critical path. Times are ms since the start; None where they are still to come."""

    task: int
    ready_ms: int | None  # when the task before it ended, or when it was added if there is none
    start_ms: int | None
    end_ms: int | None


def deciding_parent(simulation: Simulation, task: int) -> int | None:
    """Return the task whose end decides when this one can begin; None if it depends on none.

    Of parents that are not satisfied it is the one that is farthest from its end; else it is the one that ended last.
    """
    found = max(_parents(simulation, task), default=None)
    return None if found is None else found[2]


def critical_path(simulation: Simulation, task: int) -> list[Link]:
    """Return the chain of deciding parents that ends with this task, the first one first."""
    chain = [task]
    while len(chain) < _LONGEST_CHAIN:
        parent = deciding_parent(simulation, chain[-1])
        if parent is None or parent in chain:
            break
        chain.append(parent)
    tasks = simulation.world.tasks
    links: list[Link] = []
    before: int | None = None
    for each in reversed(chain):
        started, state = tasks.started[each], tasks.state[each]
        has_run = state in (RUNNING, COMPLETED) and started != NEVER_MS
        ready_ms = max(tasks.block_of(each).created_ms, tasks.ended[before]) if before is not None else None
        is_over = before is None or tasks.state[before] == COMPLETED
        links.append(
            Link(
                each,
                (tasks.block_of(each).created_ms if before is None else ready_ms) if is_over else None,
                started if has_run else None,
                tasks.ended[each] if state == COMPLETED else None,
            )
        )
        before = each
    return links


def deciding_task(simulation: Simulation, job_id: str) -> int | None:
    """Return the task that ended last in a job; while some have not ended, the one that is to end last.

    Of tasks that run it is the one with the latest planned end, of those that wait the last one. None without tasks.
    """
    world = simulation.world
    job = world.jobs.find(job_id)
    if job is None:
        return None
    tasks, best = world.tasks, None
    for number in job.blocks:
        block = world.tasks.blocks[number]
        rows = block.rows
        found = _last_of(tasks, rows)
        best = found if best is None else best if found is None else max(best, found)
    return None if best is None else best[2]


_Rank = tuple[int, int, int]  # how far from its end, its end, the task


def _last_of(tasks: TaskTable, rows: range) -> _Rank | None:
    """Return the last of some tasks in a row, by whole columns."""
    states, ends = tasks.state[rows.start : rows.stop], tasks.ended[rows.start : rows.stop]
    waiting = states.rfind(ACTIVE)
    if waiting >= 0:
        return 3, 0, rows[waiting]
    preparing = states.rfind(PREPARING)
    if preparing >= 0:
        return 2, 0, rows[preparing]
    running = places(states, RUNNING)
    if running:
        return max((1, ends[at], rows[at]) for at in running)
    last_ms = max(ends, default=NEVER_MS)
    return (0, last_ms, rows[ends.index(last_ms)]) if COMPLETED in states else None


def _parents(simulation: Simulation, task: int) -> Iterator[_Rank]:
    """Yield candidates for the deciding parent; ranges yield only their most important ones."""
    world = simulation.world
    tasks = world.tasks
    job = world.jobs[tasks.block_of(task).job]
    wanted = tasks.spec(task).depends_on if job.spec.uses_task_dependencies else None
    if wanted is None:
        return
    yield from _ranked(tasks, (tasks.find(job.row, task_id) for task_id in wanted.task_ids))
    for part in wanted.task_id_ranges:
        rows = _rows_between(tasks, job.row, part.start, part.end)
        if rows is None:
            numbers = range(part.start, min(part.end + 1, part.start + _MOST_LOOKED_UP))
            yield from _ranked(tasks, (tasks.find(job.row, str(number)) for number in numbers))
            continue
        unmet = places(tasks.satisfied[rows.start : rows.stop], 0)
        if unmet:
            yield from _ranked(tasks, (rows[at] for at in islice(unmet, _MOST_LOOKED_UP)))
            continue
        ends = tasks.ended[rows.start : rows.stop]
        last_ms = max(ends)
        yield 0, last_ms, rows[ends.index(last_ms)]


def _ranked(tasks: TaskTable, rows: Iterable[int | None]) -> Iterator[_Rank]:
    for row in rows:
        if row is None:
            continue
        if tasks.satisfied[row]:
            yield 0, tasks.ended[row], row
        else:
            state = tasks.state[row]
            yield _RANKS.get(state, 0), tasks.ended[row] if state in (RUNNING, COMPLETED) else 0, row


def _rows_between(tasks: TaskTable, job: int, low: int, high: int) -> range | None:
    """Return the rows of the tasks with these numbers as ids if they stand one after the other, else None."""
    first, last = tasks.find(job, str(low)), tasks.find(job, str(high))
    if first is None or last is None or last - first != high - low:
        return None
    middle = (first + last) // 2
    return range(first, last + 1) if number_of(tasks.task_id(middle)) == low + middle - first else None
