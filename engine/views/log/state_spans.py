"""The states of a job, node or task over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from engine.base.terms import JobState, NodeState, TaskState
from engine.views.log.reader import LogReader, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine import Simulation
    from engine.events.log import Shape

_JOB_EVENT = "JobStateChanged"
StateT = TypeVar("StateT", JobState, NodeState, TaskState)


class StateSpan(NamedTuple, Generic[StateT]):
    """A state from ``begin_ms`` until ``end_ms`` (ms since the start); None is deleted, or gone."""

    begin_ms: int
    end_ms: int
    state: StateT | None


def state_spans(
    simulation: Simulation, entries: Iterable[tuple[int, Shape]], event: str, states: type[StateT]
) -> list[StateSpan[StateT]]:
    """Return the states that the entries of this event tell of, in order; the last one lasts until now."""
    log = simulation.log
    changes = [(log.when[at], dict(shape.fields)["to"]) for at, shape in entries if shape.event == event]
    ends = [when_ms for when_ms, _ in changes[1:]] + [simulation.now_ms]
    return [
        StateSpan(begin_ms, end_ms, state if isinstance(state, states) else None)
        for (begin_ms, state), end_ms in zip(changes, ends, strict=False)
    ]


class JobHistory:
    """One job from its addition on."""

    def __init__(self, simulation: Simulation, job: int) -> None:
        """Read the log for the job in this row: a job has an entry for each of its nodes, but few of its own."""
        self._simulation = simulation
        self._job = job
        self._reader = LogReader(simulation, of_kind(_changes_job))

    def states(self) -> list[StateSpan[JobState]]:
        """Return its states, in order."""
        rows = self._simulation.log.row_a
        own = ((at, shape) for at, shape in self._reader if rows[at] == self._job)
        return state_spans(self._simulation, own, _JOB_EVENT, JobState)


def _changes_job(shape: Shape) -> bool:
    return shape.event == _JOB_EVENT
