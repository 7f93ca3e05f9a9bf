"""A run: a scenario, a seed and a journal, played forward, looked at, and taken back.

Everything that changes is in the world; here is what drives it: the entries of the calendar, inputs as they
take effect, conditions as they come true, expectations, and checkpoints.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.base import gc_pause
from engine.base.errors import BatchError
from engine.base.units import DAY_MS
from engine.events.calendar import Due, DueKind
from engine.events.log import Json, LogSubject, to_json
from engine.rules import commands, reactions
from engine.rules.commands import Extras
from engine.run.checkpoints import Checkpoint, Checkpoints
from engine.run.expectations import Expectations, Outcome, RefusedCommand
from engine.run.journal import Input, Journal, Origin
from engine.run.names import RowNames
from engine.run.observe import observe
from engine.scenario.expect import matches
from engine.specs import commands as c
from engine.world.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.events.log import EventLog
    from engine.scenario.model import Scenario, TimelineEntry
    from engine.specs.commands import Command

# A run without `until` ends at the latest then.
LONGEST_RUN_MS = 7 * DAY_MS

# How many entries of the calendar happen between two looks at the checkpoints.
_SLICE = 512


class Simulation:
    """One run of a scenario.

    ``now_ms`` is the moment that is looked at, in ms since the scenario's start.
    """

    def __init__(self, scenario: Scenario, seed: int | None = None, *, can_go_back: bool = True) -> None:
        """Begin a run; ``seed`` None is the scenario's own. Without ``can_go_back`` no checkpoints are kept."""
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        self.end_ms = LONGEST_RUN_MS if scenario.until_ms is None else scenario.until_ms
        self.now_ms = 0
        self.jumps = 0  # how often another moment was looked at: what has been read of this one is then of no use
        self.refusals: list[RefusedCommand] = []
        self.world = World(scenario, self.seed, self.end_ms)
        self.names = RowNames(self.world)
        self.journal = Journal()
        self._expectations = Expectations(scenario.expect)
        self._waiting = [entry for entry in scenario.timeline if entry.when is not None]
        self._looked_at = 0  # length of the log when conditions were last looked at
        self._enter_rules()
        self._enter_scenario()
        self._can_go_back = can_go_back
        self.checkpoints = Checkpoints()
        self.checkpoints.add(self._checkpoint())

    # -- going forward -------------------------------------------------------------------------------------------

    @property
    def log(self) -> EventLog:
        """What has happened up to ``now_ms``."""
        return self.world.log

    @property
    def entry_ms(self) -> int:
        """The moment of the calendar entry handled last, in ms since the start, even if it raised an exception."""
        return self.world.now_ms

    @property
    def finished(self) -> bool:
        """Whether nothing more can happen, or the end of the run is reached."""
        return self.now_ms >= self.end_ms or not self._something_is_due()

    def run_until(self, until_ms: int) -> None:
        """Let everything happen up to and including ``until_ms``, at the latest to the end of the run."""
        while self.advance(until_ms, _SLICE):
            pass

    def advance(self, until_ms: int, max_events: int = _SLICE) -> bool:
        """Let at most ``max_events`` entries happen; returns whether more is due up to ``until_ms``."""
        until_ms = min(until_ms, self.end_ms)
        calendar = self.world.calendar
        watches = bool(self._waiting) or self._expectations.watching
        more = (self._advance_watching if watches else calendar.advance)(until_ms, max_events)
        self.now_ms = max(self.now_ms, calendar.now_ms) if more else max(self.now_ms, until_ms)
        if self._can_go_back and self.checkpoints.is_due(len(self.log)):
            self.checkpoints.add(self._checkpoint())
        return more

    def _advance_watching(self, until_ms: int, max_events: int) -> bool:
        """The same while conditions or expectations must be looked at after each instant."""
        calendar = self.world.calendar
        for _ in range(max_events):
            when_ms = calendar.peek_ms()
            if when_ms is None or when_ms > until_ms:
                return False
            calendar.step()
            if calendar.instant_is_over():
                self._look()
        return True

    def step(self) -> bool:
        """Let the next entry of the calendar happen; returns whether there was one before the end of the run."""
        when_ms = self.world.calendar.peek_ms()
        if when_ms is None or when_ms > self.end_ms:
            return False
        self.advance(when_ms, 1)
        self.now_ms = when_ms
        return True

    def finish(self) -> None:
        """Settle the end of the run: what was expected is compared with what is."""
        if self.scenario.until_ms is None:
            self.now_ms = min(self.now_ms, self.log.last_ms)
        self._expectations.settle(self.world, self.now_ms)
        self._miss_refusals()

    @property
    def expectations(self) -> list[Outcome]:
        """What was expected, what was seen, and whether it is met; complete after ``finish``."""
        return self._expectations.outcomes

    @property
    def command_outcomes(self) -> tuple[Outcome, ...]:
        """For each of ``refusals`` whether it came as announced: commands refused, or to be refused and taken."""
        return self._expectations.commands

    def _something_is_due(self) -> bool:
        return self.world.calendar.peek_ms() is not None

    # -- inputs --------------------------------------------------------------------------------------------------

    def submit(self, command: Command) -> None:
        """Give a command by hand. It takes effect in the next millisecond, so that it replays exactly.

        Raises BatchError when the service refuses it, which is logged. Commands given while the past is looked at are
        refused: ``branch`` first.
        """
        refused = self.submit_all((command,))[0]
        if refused is not None:
            raise refused

    def submit_all(self, given: Sequence[Command]) -> list[BatchError | None]:
        """Give several commands by hand, which take effect together; returns for each why it was refused, if it was.

        Raises BatchError while the past is looked at.
        """
        if self.is_past:
            raise BatchError("OperationInvalidForCurrentState", "this is the past: branch here first")
        when_ms = self.now_ms + 1
        for command in given:
            extras = Extras(getattr(command, "tasks", ()))
            self._add_input(Input(when_ms, self.journal.next_number(), Origin.HAND, command, extras))
        before = len(self.refusals)
        self.run_until(when_ms)
        refused = {id(refusal.command): refusal.error for refusal in self.refusals[before:]}
        return [refused.get(id(command)) for command in given]

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Whatever happens within the ``with`` is taken back at its end, as if it had never been.

        Raises BatchError while the past is looked at.
        """
        if self.is_past:
            raise BatchError("OperationInvalidForCurrentState", "this is the past: branch here first")
        here = self._checkpoint()
        try:
            yield
        finally:
            self._restore(here)
            self.branch()

    def _enter_scenario(self) -> None:
        scenario = self.scenario
        for pool in scenario.pools:
            command: Command = c.CreatePool.from_wire(pool.spec.written())
            self._enter(pool.at_ms, command)
        for job in scenario.jobs:
            command = c.CreateJob.from_wire(job.spec.written())
            self._enter(job.at_ms, command, Extras(job.tasks, job.factory))
        for schedule in scenario.job_schedules:
            self._enter(schedule.at_ms, c.CreateJobSchedule.from_wire(schedule.spec.written()))
        for entry in scenario.timeline:
            if entry.at_ms is not None:
                self._enter_entry(entry, entry.at_ms, Origin.SCENARIO)

    def _enter(self, when_ms: int, command: Command, extras: Extras = commands.NOTHING) -> None:
        self._add_input(Input(when_ms, self.journal.next_number(), Origin.SCENARIO, command, extras))

    def _enter_entry(self, entry: TimelineEntry, when_ms: int, origin: Origin) -> None:
        extras = Extras(entry.tasks, entry.factory)
        number = self.journal.next_number()
        self._add_input(Input(when_ms, number, origin, entry.command, extras, entry.refused, entry.index))

    def _add_input(self, one: Input) -> None:
        self.journal.add(one)
        self.world.calendar.at(one.when_ms, one.kind)

    def _inputs_due(self, due: Due) -> None:
        for one in self.journal.take_due(self.world.now_ms, due.kind):
            self._carry_out(one)

    def _carry_out(self, one: Input) -> None:
        """One input takes effect, or is refused; either is logged."""
        world = self.world
        body = Json(to_json(one.command.wire()))
        event = "FaultInjected" if one.kind is DueKind.FAULT else "CommandAccepted"
        rule = () if one.command.RULE is None else (("rule", one.command.RULE),)
        shape = world.log.shape(event, LogSubject.RUN, ("command", one.command.NAME), ("body", body), *rule)
        mark = len(world.log)
        world.log.append(world.now_ms, shape)
        refused: BatchError | None = None
        try:
            commands.execute(world, one.command, one.extras)
        except BatchError as refusal:
            refused = refusal
            # What is refused whole leaves no trace but its refusal; of a collection some tasks may be in (TASK-3).
            if not isinstance(refusal, commands.PartlyRefused) or len(world.log) == mark + 1:
                world.log.cut(mark)
            self._log_refusal(one, refusal, body)
        if refused is not None or one.refused is not None:
            announced = refused is not None and one.refused == refused.code
            error = refused or BatchError("OperationInvalidForCurrentState", f"{one.refused} was expected")
            self.refusals.append(RefusedCommand(world.now_ms, one.command, error, announced))
            self._expectations.refused(one.command, one.refused, "accepted" if refused is None else refused.code)

    def _miss_refusals(self) -> None:
        """What was to be refused and never had its turn is a failure too; said once, however often the run ends."""
        pending = [(one.when_ms, one.command, one.refused) for one in self.journal.pending()]
        waiting = [(self.now_ms, entry.command, entry.refused) for entry in self._waiting]
        for when_ms, command, code in pending + waiting:
            if code is None or any(known.command is command for known in self.refusals):
                continue
            error = BatchError("OperationInvalidForCurrentState", f"{code} was expected")
            self.refusals.append(RefusedCommand(when_ms, command, error, announced=False))
            self._expectations.refused(command, code, "never given")

    def _log_refusal(self, one: Input, error: BatchError, body: Json) -> None:
        shape = self.world.log.shape(
            "CommandRefused",
            LogSubject.RUN,
            ("command", one.command.NAME),
            ("body", body),
            ("code", error.code),
            ("message", error.message),
        )
        self.world.log.append(self.world.now_ms, shape)

    def _look(self) -> None:
        """An instant is over: have conditions come true, have expectations been met?"""
        world = self.world
        has_changed = len(world.log) != self._looked_at
        self._looked_at = len(world.log)
        for entry in list(self._waiting) if has_changed else ():
            assert entry.when is not None
            seen = observe(world, entry.when.subject, entry.when.wanted, world.now_ms)
            if matches(entry.when.wanted, seen):
                self._waiting.remove(entry)
                self._enter_entry(entry, world.now_ms + entry.after_ms, Origin.CONDITION)
        # Also when nothing has changed: what follows may lie after the moment of an `at`.
        self._expectations.look(world, has_changed=has_changed)

    # -- going back ----------------------------------------------------------------------------------------------

    @property
    def is_past(self) -> bool:
        """Whether a moment is looked at after which more has been recorded."""
        return self.world.log.has_future

    def seek(self, when_ms: int) -> None:
        """Look at another moment of this run, earlier or later; what was given by hand stays in the journal."""
        self.run_until(self.approach(when_ms))

    def approach(self, when_ms: int) -> int:
        """Look at the last moment known from which ``advance`` leads to this one; returns it, kept within the run."""
        when_ms = max(0, min(when_ms, self.end_ms))
        best = self.checkpoints.nearest(when_ms)
        if when_ms < self.now_ms or best.now_ms > self.now_ms:
            self._restore(best)
        return when_ms

    def branch(self) -> None:
        """Make the moment that is looked at the present: what was recorded after it is forgotten."""
        self.world.forget_future()
        self.names.forget()
        self.journal.forget_future()
        self.checkpoints.forget_after(self.now_ms)

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            self.now_ms,
            self.world.copy(),
            self.journal.done,
            self.journal.conditions(),
            tuple(self._waiting),
            tuple(self.refusals),
            self._expectations.copy(),
        )

    def _restore(self, checkpoint: Checkpoint) -> None:
        self.jumps += 1
        with gc_pause.paused():
            self.world.restore(checkpoint.world)
        self.journal.rewind(checkpoint.done, checkpoint.conditions)
        for one in self.journal.pending():
            self.world.calendar.at(one.when_ms, one.kind)
        self._waiting = list(checkpoint.waiting)
        self.refusals = list(checkpoint.refusals)
        self._expectations.restore(checkpoint.expectations)
        self._looked_at = checkpoint.world.log_length
        self.now_ms = checkpoint.now_ms

    def json_lines(self) -> Iterator[str]:
        """The event log so far as JSON Lines, without line ends."""
        return self.log.json_lines(self.names)

    def _enter_rules(self) -> None:
        reactions.install(self.world)
        self.world.calendar.on(DueKind.FAULT, self._inputs_due)
        self.world.calendar.on(DueKind.COMMAND, self._inputs_due)
