"""Expectations of a scenario, compared with the state of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.run.observe import observe
from engine.scenario.expect import matches

if TYPE_CHECKING:
    from engine.base.errors import BatchError
    from engine.base.terms import Plain
    from engine.scenario.model import Expectation
    from engine.specs.command import Command
    from engine.world.world import World


class Outcome(NamedTuple):
    """One expectation: as written, whether it is met, and the actual value."""

    written: dict[str, Plain]
    met: bool
    seen: object


class RefusedCommand(NamedTuple):
    """A command that the service refused."""

    when_ms: int
    command: Command
    error: BatchError
    announced: bool  # the entry has `refused: CODE` with this code


class ExpectationsCopy(NamedTuple):
    """The results of expectations up to a moment."""

    settled: dict[int, Outcome]
    commands: tuple[Outcome, ...]


class Expectations:
    """The expectations of one run. Those with ``at`` or ``within`` are checked while it runs, others at its end."""

    def __init__(self, expected: tuple[Expectation, ...]) -> None:
        """Begin without results."""
        self._expected = expected
        self._settled: dict[int, Outcome] = {}
        self._commands: tuple[Outcome, ...] = ()
        self.outcomes: list[Outcome] = []

    @property
    def watching(self) -> bool:
        """True if an expectation may be decided before the end."""
        return any(
            one.index not in self._settled and (one.at_ms is not None or one.within_ms is not None)
            for one in self._expected
        )

    def check(self, world: World, *, has_changed: bool) -> None:
        """Decide what can be decided after an instant; ``has_changed`` tells whether anything was logged in it."""
        now_ms = world.now_ms
        upcoming = world.calendar.peek_ms()
        for one in self._expected:
            if one.index in self._settled:
                continue
            if has_changed and one.within_ms is not None and now_ms <= one.within_ms:
                outcome = _compare(world, one, now_ms)
                if outcome.met:
                    self._settled[one.index] = outcome
            elif one.at_ms is not None and now_ms <= one.at_ms and (upcoming is None or upcoming > one.at_ms):
                self._settled[one.index] = _compare(world, one, one.at_ms)

    def refused(self, command: Command, wanted: str | None, seen: str) -> None:
        """Record the outcome of a command that was refused, or expected to be, as an expectation of its own."""
        written: dict[str, Plain] = {command.NAME: command.wire(), "refused": wanted}
        self._commands += (Outcome(written, wanted == seen, seen),)

    @property
    def commands(self) -> tuple[Outcome, ...]:
        """The outcomes of inputs that were refused or expected to be."""
        return self._commands

    def settle(self, world: World, now_ms: int) -> None:
        """Decide the remaining expectations at the end of the run."""
        self.outcomes = [self._settled.get(one.index) or _settle(world, one, now_ms) for one in self._expected]

    def copy(self) -> ExpectationsCopy:
        """Return the results so far."""
        return ExpectationsCopy(dict(self._settled), self._commands)

    def restore(self, copy: ExpectationsCopy) -> None:
        """Restore the results to those of ``copy``."""
        self._settled = dict(copy.settled)
        self._commands = copy.commands
        self.outcomes = []


def _compare(world: World, one: Expectation, now_ms: int) -> Outcome:
    seen = observe(world, one.condition.subject, one.condition.wanted, now_ms)
    return Outcome(one.as_written, matches(one.condition.wanted, seen), seen)


def _settle(world: World, one: Expectation, now_ms: int) -> Outcome:
    outcome = _compare(world, one, now_ms)
    if one.within_ms is not None and now_ms > one.within_ms:
        return outcome._replace(met=False)
    return outcome
