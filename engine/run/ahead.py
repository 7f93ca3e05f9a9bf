"""Playing ahead: the rest of a run on a second simulation, so that its ends are known before they come.

The second simulation has the same scenario, seed and inputs, so it has the same log; the first one is never touched.
It costs the time and memory of another run, and so it is given up for a run that is too large. In the same way a run
is played again from its start, to look at each moment of it.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from engine.base.values import SECOND_MS
from engine.run.journal import common_inputs
from engine.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.run.conditions import Outcome
    from engine.run.journal import Input
    from engine.scenario.model import Scenario

MOST_TASKS = 300_000  # of the scenario: beyond, a second run takes many seconds and a hundred megabytes
MOST_ENTRIES = 3_000_000  # of the log
_MOST_SPARSE = 100_000  # entries of a log that may have long stretches without any
_MOST_TRIED = 512  # entries of the calendar


class Ahead:
    """The future of a run, as far as it has been played.

    ``generation`` changes with everything that is known: ends read at another generation are obsolete.
    """

    def __init__(
        self, simulation: Simulation, *, most_tasks: int = MOST_TASKS, most_entries: int = MOST_ENTRIES
    ) -> None:
        """Prepare to play ahead of a simulation; nothing is played before ``advance``."""
        self._present = simulation
        self._most_entries = most_entries
        self._future: Simulation | None = None
        self._inputs: list[Input] = []  # those given by hand that the future has, as the present's journal holds them
        self._seen_changes = -1
        self._reached_end = False
        never = simulation.awaits_commands or simulation.scenario.executes
        self.is_given_up = never or _tasks_of(simulation.scenario) > most_tasks
        self.generation = 0

    # -- playing -------------------------------------------------------------------------------------------------

    def advance(self, max_entries: int) -> bool:
        """Process at most so many calendar entries of the future; return whether there are more.

        An error of the engine ends playing ahead; it will be reported when the run itself comes to it.
        """
        if self.is_given_up:
            return False
        try:
            return self._advance(max_entries)
        except Exception:  # whatever fails in the future is not to end the present
            self._give_up()
            return False

    def _advance(self, max_entries: int) -> bool:
        future = self._future
        if future is None:
            future = self._future = Simulation(self._present.scenario, self._present.seed)
        self._follow(future)
        if self._reached_end:
            return False
        wanted = self._present.journal.by_hand()
        upcoming = wanted[len(self._inputs)] if len(self._inputs) < len(wanted) else None
        has_more = future.advance(future.end_ms if upcoming is None else upcoming.when_ms - 1, max_entries)
        if len(future.log) > self._most_entries:
            self._give_up()
            return False
        if has_more:
            return True
        if upcoming is not None:
            together = [one for one in wanted[len(self._inputs) :] if one.when_ms == upcoming.when_ms]
            future.adopt(together)
            self._inputs += together
            return True
        future.finish()
        self._reached_end = True
        self.generation += 1
        return False

    def _follow(self, future: Simulation) -> None:
        """Take the future back to where the commands given by hand differ, if they do."""
        journal = self._present.journal
        if journal.changes == self._seen_changes:
            return
        self._seen_changes = journal.changes
        wanted = journal.by_hand()
        common = common_inputs(self._inputs, wanted)
        other = [*self._inputs[common:], *wanted[common:]]
        if not other:
            return
        differs_ms = min(one.when_ms for one in other)
        if self._reached_end or len(self._inputs) > common or differs_ms <= future.now_ms:
            future.approach(min(differs_ms, future.now_ms) - 1)
            future.branch()
            self._inputs = wanted[: len(future.journal.by_hand())]
        self._reached_end = False
        self.generation += 1

    def _give_up(self) -> None:
        self.is_given_up = True
        self._future = None
        self._reached_end = False
        self.generation += 1

    # -- what is known -------------------------------------------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """True if the run has been played to its end, with all commands that have been given."""
        if not self._reached_end:
            return False
        journal = self._present.journal
        return journal.changes == self._seen_changes or self._inputs == journal.by_hand()

    @property
    def future(self) -> Simulation | None:
        """The simulation at the end of the run, to be read only; None until ``is_complete``."""
        return self._future if self.is_complete else None

    @property
    def end_ms(self) -> int | None:
        """The end of the run, in ms since the start; None until it is known."""
        future = self.future
        return None if future is None else future.now_ms

    def next_event_ms(self) -> int | None:
        """Return the next moment after now at which something happens; None if nothing will, or it is not known."""
        future = self.future
        if future is None:
            return None
        when, at = future.log.when, future.log.index_at(self._present.now_ms)
        return when[at] if at < len(when) else None

    def quiet_ms(self) -> list[int]:
        """Return the lengths of the stretches without events over the whole run that last more than a second."""
        future = self.future
        if future is None or len(future.log) > _MOST_SPARSE:
            return []
        moments = [0, *sorted({when - when % SECOND_MS for when in future.log.when}), future.now_ms]
        return [later - earlier for earlier, later in pairwise(moments) if later - earlier > SECOND_MS]

    @property
    def expectations(self) -> Sequence[Outcome]:
        """The outcomes of the scenario's expectations at the end; empty until they are known."""
        future = self.future
        return () if future is None else future.expectations


class Replay:
    """A run that is played again on a second simulation, ``twin``, with what was done by hand, as far as it is shown.

    The first simulation may go on meanwhile.
    """

    def __init__(self, run: Simulation, *, is_over: bool) -> None:
        """Prepare to play up to the moment that is shown, after which nothing more can happen if it ``is_over``."""
        self.twin = Simulation(run.scenario, run.seed, can_go_back=False)
        self._until_ms, self._is_over = run.now_ms, is_over
        given = [one for one in run.journal.from_outside() if one.when_ms <= run.now_ms]
        self._given = {when_ms: list(inputs) for when_ms, inputs in groupby(given, lambda one: one.when_ms)}

    def play(self, moments_ms: Sequence[int]) -> Iterator[bool]:
        """Play the run; yield True at each of these rising moments, and False after each slice of work."""
        twin, moments = self.twin, set(moments_ms)
        for stop_ms in sorted({*moments, *(when_ms - 1 for when_ms in self._given)}):
            while twin.advance(stop_ms):
                yield False
            twin.adopt(self._given.get(stop_ms + 1, ()))
            if stop_ms == self._until_ms and self._is_over:
                twin.run_until(twin.end_ms)  # what is due now changes nothing
                twin.finish()
            if stop_ms in moments:
                yield True


def next_event_ms(simulation: Simulation) -> int | None:
    """Return the next moment at which something happens or may happen, found by a trial; None if nothing ever will.

    Raises:
        BatchError: An earlier moment is shown.
    """
    log, calendar = simulation.log, simulation.world.calendar
    before = len(log)
    with simulation.trial():
        for _ in range(_MOST_TRIED):
            if not simulation.step():
                return None
            if len(log) > before:
                return log.when[before]
        return calendar.peek_ms()


def _tasks_of(scenario: Scenario) -> int:
    jobs = sum(len(job.tasks) + (job.factory.count if job.factory else 0) for job in scenario.jobs)
    return jobs + sum(len(one.tasks) + (one.factory.count if one.factory else 0) for one in scenario.timeline)
