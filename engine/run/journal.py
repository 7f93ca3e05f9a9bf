"""The journal: all inputs of a run in the order in which they take effect, from the scenario and by hand.

A run is determined by a scenario, a seed and this journal. All commands of one millisecond are executed together, in
the order of their numbers, so that a command given by hand replays exactly from a saved scenario.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from engine.events.calendar import DueKind
from engine.rules.commands import NOTHING, Extras
from engine.specs.commands import FAULTS

if TYPE_CHECKING:
    from engine.specs.command import Command


class Origin(Enum):
    """The origin of an input."""

    SCENARIO = auto()
    CONDITION = auto()  # a `when` of the scenario became true
    HAND = auto()


class Input(NamedTuple):
    """A command or fault and the time at which it takes effect, in ms since the scenario's start."""

    when_ms: int
    number: int  # orders inputs of the same millisecond
    origin: Origin
    command: Command
    extras: Extras = NOTHING
    refused: str | None = None  # the code with which the service is expected to refuse it

    @property
    def kind(self) -> DueKind:
        """The kind of its calendar entry: faults precede commands of the same millisecond."""
        return DueKind.FAULT if isinstance(self.command, FAULTS) else DueKind.COMMAND

    @property
    def order(self) -> tuple[int, int, int]:
        """The sort key among all inputs."""
        return self.when_ms, self.kind, self.number


class Journal:
    """All inputs in order; the first ``done`` of them have taken effect.

    ``changes`` counts the additions and removals of inputs given by hand.
    """

    def __init__(self) -> None:
        """Create an empty journal."""
        self.inputs: list[Input] = []
        self.done = 0
        self.changes = 0
        self._next_number = 0

    def next_number(self) -> int:
        """Return the next free number."""
        self._next_number += 1
        return self._next_number

    def add(self, new: Input) -> None:
        """Add an input that has not taken effect yet."""
        if not self.inputs or self.inputs[-1].order <= new.order:  # a scenario is in order, mostly
            self.inputs.append(new)
        else:
            at = bisect_right(self.inputs, new.order, key=lambda one: one.order)
            self.inputs.insert(max(at, self.done), new)
        self.changes += new.origin is Origin.HAND

    @property
    def upcoming(self) -> tuple[int, DueKind] | None:
        """When the next input takes effect, in ms since the start, and its kind; None if none is left."""
        if self.done == len(self.inputs):
            return None
        first = self.inputs[self.done]
        return first.when_ms, first.kind

    def take_due(self, now_ms: int, kind: DueKind) -> list[Input]:
        """Return the inputs of this kind that are due, in order, and count them as done."""
        due: list[Input] = []
        while self.done < len(self.inputs):
            first = self.inputs[self.done]
            if first.when_ms > now_ms or first.kind > kind:
                break
            due.append(first)
            self.done += 1
        return due

    def pending(self) -> list[Input]:
        """Return the inputs that have not taken effect."""
        return self.inputs[self.done :]

    def by_hand(self) -> list[Input]:
        """Return the inputs given by hand, which a saved scenario adds to the original."""
        return [one for one in self.inputs if one.origin is Origin.HAND]

    def rewind(self, done: int, conditions: tuple[Input, ...]) -> None:
        """Return to an earlier time: keep only ``conditions`` of the inputs made by conditions, and all others."""
        kept = [one for one in self.inputs if one.origin is not Origin.CONDITION] + list(conditions)
        self.inputs = sorted(kept, key=lambda one: one.order)
        self.done = done

    def conditions(self) -> tuple[Input, ...]:
        """Return the inputs made by conditions so far."""
        return tuple(one for one in self.inputs if one.origin is Origin.CONDITION)

    def forget_future(self) -> tuple[Input, ...]:
        """Drop the future inputs given by hand, so that the past becomes the present; return those."""
        future = self.pending()
        dropped = tuple(one for one in future if one.origin is Origin.HAND)
        self.inputs = self.inputs[: self.done] + [one for one in future if one.origin is not Origin.HAND]
        self.changes += len(dropped)
        return dropped
