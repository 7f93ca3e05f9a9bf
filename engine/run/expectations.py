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


class Judgement(NamedTuple):
    """An expectation at a moment: its outcome, and since when that is final, in ms since the start, or None."""

    expected: Expectation
    outcome: Outcome
    decided_ms: int | None


class _Settled(NamedTuple):
    outcome: Outcome
    when_ms: int


class RefusedCommand(NamedTuple):
    """A command that the service refused."""

    when_ms: int
    command: Command
    error: BatchError
    announced: bool  # the entry has `refused: CODE` with this code


class ExpectationsCopy(NamedTuple):
    """The results of expectations up to a moment."""

    settled: dict[int, _Settled]
    commands: tuple[Outcome, ...]


class Expectations:
    """The expectations of one run. Those with ``at`` or ``within`` are checked while it runs, others at its end."""

    def __init__(self, expected: tuple[Expectation, ...]) -> None:
        """Begin without results."""
        self._expected = expected
        self._settled: dict[int, _Settled] = {}
        self._commands: tuple[Outcome, ...] = ()
        self.outcomes: list[Outcome] = []

    def is_watching(self, now_ms: int) -> bool:
        """Return whether an expectation may be decided, or decided otherwise, before the end."""
        return any(
            self._decided(one, now_ms) is None and (one.at_ms is not None or one.within_ms is not None)
            for one in self._expected
        )

    def _decided(self, one: Expectation, now_ms: int) -> _Settled | None:
        """Return the result of an expectation, if it is final.

        One with ``at`` is compared early if nothing is due before; a command given by hand can still change it.
        """
        settled = self._settled.get(one.index)
        return settled if settled is not None and settled.when_ms <= now_ms else None

    def check(self, world: World, *, has_changed: bool) -> None:
        """Decide what can be decided after an instant; ``has_changed`` if anything was logged in it."""
        now_ms = world.now_ms
        upcoming = world.calendar.peek_ms()
        for one in self._expected:
            if self._decided(one, now_ms) is not None:
                continue
            if has_changed and one.within_ms is not None and now_ms <= one.within_ms:
                outcome = _compare(world, one, now_ms)
                if outcome.met:
                    self._settled[one.index] = _Settled(outcome, now_ms)
            elif one.at_ms is not None and now_ms <= one.at_ms and (upcoming is None or upcoming > one.at_ms):
                self._settled[one.index] = _Settled(_compare(world, one, one.at_ms), one.at_ms)

    def refused(self, command: Command, wanted: str | None, seen: str) -> None:
        """Record the outcome of a command that was refused, or expected to be, as an expectation of its own."""
        written: dict[str, Plain] = {command.NAME: command.masked(), "refused": wanted}
        self._commands += (Outcome(written, wanted == seen, seen),)

    @property
    def commands(self) -> tuple[Outcome, ...]:
        """The outcomes of inputs that were refused or expected to be."""
        return self._commands

    def settle(self, world: World, now_ms: int) -> None:
        """Decide the remaining expectations at the end of the run."""
        self.outcomes = [judged.outcome for judged in self.judge(world, now_ms, is_over=True)]

    def judge(self, world: World, now_ms: int, *, is_over: bool, with_open: bool = True) -> list[Judgement]:
        """Return what is known of each expectation now, in the order of the file.

        Args:
            world: The world at this moment.
            now_ms: The moment.
            is_over: The run has ended, which decides the expectations about its end.
            with_open: Observe the world for expectations that are not decided; without, leave those out.
        """
        found = []
        for one in self._expected:
            settled = self._settled.get(one.index) if is_over else self._decided(one, now_ms)
            too_late = one.within_ms is not None and now_ms > one.within_ms
            if settled is not None:
                found.append(Judgement(one, settled.outcome, settled.when_ms))
            elif is_over or too_late:
                decided_ms = one.within_ms if too_late else now_ms
                found.append(Judgement(one, _settle(world, one, now_ms), decided_ms))
            elif with_open:
                found.append(Judgement(one, _compare(world, one, now_ms), None))
        return found

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
