"""The states of a job, node or task over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from engine.base.terms import JobState, NodeState, TaskState
from engine.views.log.reader import LogReader, about

if TYPE_CHECKING:
    from engine import Simulation

StateT = TypeVar("StateT", JobState, NodeState, TaskState)


class StateSpan(NamedTuple, Generic[StateT]):
    """A state from ``begin_ms`` until ``end_ms`` (ms since the start); None is deleted, or gone."""

    begin_ms: int
    end_ms: int
    state: StateT | None


def state_spans(simulation: Simulation, reader: LogReader, event: str, states: type[StateT]) -> list[StateSpan[StateT]]:
    """Return the states that the events of this name tell of, in order; the last one lasts until now."""
    log = simulation.log
    changes = [(log.when[at], dict(shape.fields)["to"]) for at, shape in reader if shape.event == event]
    ends = [when_ms for when_ms, _ in changes[1:]] + [simulation.now_ms]
    return [
        StateSpan(begin_ms, end_ms, state if isinstance(state, states) else None)
        for (begin_ms, state), end_ms in zip(changes, ends, strict=False)
    ]


class JobHistory:
    """One job from its addition on."""

    def __init__(self, simulation: Simulation, job: int) -> None:
        """Read the log for the job in this row."""
        self._simulation = simulation
        self._reader = LogReader(simulation, about("row_a", job))

    def states(self) -> list[StateSpan[JobState]]:
        """Return its states, in order."""
        return state_spans(self._simulation, self._reader, "JobStateChanged", JobState)
