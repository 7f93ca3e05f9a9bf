"""The change that something waits for, found by playing on for a while and taking that back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import READY
from engine.base.terms import AllocationState, TaskState
from engine.events.log import plain
from engine.run.planned import PlannedInputs, subjects_of
from engine.views.explain.explanation import name_of
from engine.views.log.reader import matching

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from engine import Simulation
    from engine.run.planned import PlannedInput
    from engine.world.world import World

# The most entries of the log that are played.
MOST_ENTRIES = 5_000
_SLICE = 256


class Expected(NamedTuple):
    """A change, when it happens (ms since the start), and by which rule; ``rule`` is empty where nothing happened.

    ``basis`` are the commands and faults of the timeline that come before it.
    """

    text: str
    when_ms: int
    rule: str = ""
    basis: Sequence[PlannedInput] = ()


class _Wait(NamedTuple):
    """An event to wait for: its name, the rows that it must have, and what its new state means; empty if nothing."""

    event: str
    row_a: int | None
    row_b: int | None
    meaning: Callable[[Hashable, int], str]  # its arguments are the new state and row_b


def expected(simulation: Simulation, kind: str, key: int | str) -> Expected | None:
    """Find out what a task, node, pool or job waits for.

    Return None where it waits for nothing, or while the past is shown. Tasks and nodes are named by row number, the
    others by id.
    """
    wait = _wait(simulation.world, kind, key)
    if wait is None or simulation.is_past:
        return None
    now_ms, subjects = simulation.now_ms, subjects_of(simulation.world, kind, key)
    with simulation.trial():
        log = simulation.log
        at, last, has_more = len(log), len(log) + MOST_ENTRIES, True
        while has_more and at < last:
            has_more = simulation.advance(simulation.end_ms, _SLICE)
            found = _first(simulation, wait, at)
            if found is not None:
                basis = PlannedInputs(simulation).between(subjects, now_ms, found.when_ms)
                return found._replace(basis=basis)
            at = len(log)
        until = f"in the next {MOST_ENTRIES:,} events" if has_more else "until the end of the run"
        return Expected(f"no change {until}", log.last_ms)


def _first(simulation: Simulation, wait: _Wait, start: int) -> Expected | None:
    """Return the first entry from this number on that is waited for."""
    log = simulation.log
    for at in matching(log, lambda shape: shape.event == wait.event, start):
        if wait.row_a in (None, log.row_a[at]) and wait.row_b in (None, log.row_b[at]):
            fields = dict(log.shapes[log.shape_of[at]].fields)
            text = wait.meaning(fields.get("to"), log.row_b[at])
            if text:
                return Expected(text, log.when[at], str(fields.get("rule", "SCHED-15")))
    return None


def _wait(world: World, kind: str, key: int | str) -> _Wait | None:
    match kind:
        case "task" if world.tasks.state_of(int(key)) in (TaskState.ACTIVE, TaskState.PREPARING):
            return _Wait("TaskStateChanged", int(key), None, partial(_of_task, world))
        case "node" if world.nodes.state_of(int(key)) not in (None, *READY):
            return _Wait("NodeStateChanged", None, int(key), _of_node)
        case "job" if (job := world.jobs.find(str(key))) is not None and job.end_ms is None:
            return _Wait("JobStateChanged", job.row, None, _of_job)
        case "pool" if (
            pool := world.pools.find(str(key))
        ) is not None and pool.allocation is not AllocationState.STEADY:
            return _Wait("PoolAllocationStateChanged", pool.row, None, _of_pool)
    return None


def _of_task(world: World, new: Hashable, node: int) -> str:
    if new is TaskState.RUNNING:
        return f"it starts on {name_of(world, node)}"
    if new is TaskState.COMPLETED:
        return "it is completed without running"
    return "it is deleted" if new is None else ""


def _of_node(new: Hashable, _: int) -> str:
    return "it has left the pool" if new is None else f"it is {plain(new)}" if new in READY else ""


def _of_job(new: Hashable, _: int) -> str:
    return "it is deleted" if new is None else f"it is {plain(new)}"


def _of_pool(new: Hashable, _: int) -> str:
    return "it is steady" if new is AllocationState.STEADY else ""
