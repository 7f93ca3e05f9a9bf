"""The inputs of a run in the order in which they take effect: the scenario's own, and what is given by hand.

A run is a scenario, a seed and this journal. All commands of one millisecond are carried out together, in
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
    from engine.specs.commands import Command


class Origin(Enum):
    """Where an input comes from."""

    SCENARIO = auto()
    CONDITION = auto()  # a `when` of the scenario has come true
    HAND = auto()


class Input(NamedTuple):
    """A command or fault and when it takes effect, in ms since the scenario's start."""

    when_ms: int
    number: int  # the order of inputs of the same millisecond
    origin: Origin
    command: Command
    extras: Extras = NOTHING
    refused: str | None = None  # the code with which the service is expected to refuse it
    entry: int | None = None  # the timeline entry it comes from

    @property
    def kind(self) -> DueKind:
        """Faults come before commands of the same millisecond."""
        return DueKind.FAULT if isinstance(self.command, FAULTS) else DueKind.COMMAND

    @property
    def order(self) -> tuple[int, int, int]:
        """When it takes effect among all inputs."""
        return self.when_ms, self.kind, self.number


class Journal:
    """All inputs in order; the first ``done`` of them have taken effect."""

    def __init__(self) -> None:
        """Make an empty journal."""
        self.inputs: list[Input] = []
        self.done = 0
        self._next_number = 0

    def next_number(self) -> int:
        """A number behind all given so far."""
        self._next_number += 1
        return self._next_number

    def add(self, new: Input) -> None:
        """Enter an input that has not taken effect yet."""
        at = bisect_right(self.inputs, new.order, key=lambda one: one.order)
        self.inputs.insert(max(at, self.done), new)

    def take_due(self, now_ms: int, kind: DueKind) -> list[Input]:
        """The inputs of this kind that take effect now, in order; they count as done."""
        due: list[Input] = []
        while self.done < len(self.inputs):
            first = self.inputs[self.done]
            if first.when_ms > now_ms or first.kind > kind:
                break
            due.append(first)
            self.done += 1
        return due

    def pending(self) -> list[Input]:
        """The inputs that have not taken effect."""
        return self.inputs[self.done :]

    def by_hand(self) -> list[Input]:
        """What was given by hand, in order: what a saved scenario adds to the original."""
        return [one for one in self.inputs if one.origin is Origin.HAND]

    def rewind(self, done: int, conditions: tuple[Input, ...]) -> None:
        """Time goes back: of what conditions brought about only ``conditions`` stay; the other inputs all stay."""
        kept = [one for one in self.inputs if one.origin is not Origin.CONDITION] + list(conditions)
        self.inputs = sorted(kept, key=lambda one: one.order)
        self.done = done

    def conditions(self) -> tuple[Input, ...]:
        """What conditions have brought about so far."""
        return tuple(one for one in self.inputs if one.origin is Origin.CONDITION)

    def forget_future(self) -> None:
        """What was to take effect later by hand is forgotten: the past becomes the present."""
        self.inputs = self.inputs[: self.done] + [
            one for one in self.inputs[self.done :] if one.origin is not Origin.HAND
        ]
