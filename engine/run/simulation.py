"""The simulation: a scenario, a seed and a journal, run forward, inspected, and moved back in time.

All state is in the world. This module drives it: calendar entries, inputs, conditions, expectations and checkpoints.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from engine.base import runtime
from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, raise_refusal
from engine.base.log import json_lines
from engine.base.values import LONGEST_RUN_MS
from engine.rules import commands, reactions
from engine.rules.commands import Extras
from engine.rules.processes import execution
from engine.run.conditions import Expectations, Judgement, Outcome, RefusedCommand, has_work, observe
from engine.run.journal import (
    Checkpoint,
    Checkpoints,
    Input,
    Journal,
    Origin,
    ProcessEnded,
    RowNames,
    common_inputs,
)
from engine.scenario.commands import processes_wait
from engine.scenario.timeline import factory_of
from engine.specs import commands as c
from engine.specs.conditions import matches
from engine.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.base.log import EventLog
    from engine.run.journal import Pace
    from engine.scenario.model import Scenario, TimelineEntry
    from engine.shell.protocol import Executed, Seen
    from engine.specs.command import Command

# Calendar entries between two checks for a checkpoint.
SLICE = 2048


def differing(some: Sequence[Input], others: Sequence[Input]) -> tuple[Sequence[Input], Sequence[Input]]:
    """Return the inputs of each from the first one on that is not the same in both."""
    common = common_inputs(some, others)
    return some[common:], others[common:]


class Undone(NamedTuple):
    """The inputs given by hand that a branch at a moment has dropped."""

    branched_ms: int
    inputs: tuple[Input, ...]


class Simulation:
    """One run of a scenario. ``now_ms`` is the moment that is shown, in ms since the scenario's start."""

    def __init__(self, scenario: Scenario, seed: int | None = None, *, can_go_back: bool = True) -> None:
        """Begin a run with ``seed``, or the scenario's own. Without ``can_go_back`` no checkpoints are kept."""
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        self.end_ms = LONGEST_RUN_MS if scenario.until_ms is None else scenario.until_ms
        self.now_ms = 0
        self.awaits_commands = False  # clients may act at any moment, so that the run is not over when nothing is due
        self.present_ms = 0  # how far the run has come elsewhere, see engine.rest.present
        self.undone: list[Undone] = []  # by branches, oldest first
        self.jumps = 0  # count of moves in time: anything read before the last one is obsolete
        self.refusals: list[RefusedCommand] = []
        self.world = World(scenario, self.seed, self.end_ms)
        self.pace: Pace | None = None
        self.executed: dict[int, Executed] = {}  # by the numbers of their starts
        self.names = RowNames(self.world)
        self.journal = Journal()
        self._inputs_entered: list[tuple[int, DueKind]] = []  # those in the calendar, the next one last
        self._expectations = Expectations(scenario.expect, scenario.until_ms)
        self._waiting = [entry for entry in scenario.timeline if entry.when is not None]
        self._acts_wait = scenario.acts_wait  # processes may wait for conditions
        self._checked_length = 0  # length of the log when conditions were last checked
        self._checked_moves = -1  # how often jobs had changed their states by then; -1: to be checked
        self._enter_rules()
        with runtime.gc_paused():
            self._enter_scenario()
        self._can_go_back = can_go_back
        self.checkpoints = Checkpoints()
        self.checkpoints.add(self._checkpoint())

    # -- going forward -------------------------------------------------------------------------------------------

    @property
    def log(self) -> EventLog:
        """The event log up to ``now_ms``."""
        return self.world.log

    @property
    def moment(self) -> tuple[int, int, int]:
        """A value that differs when anything may have changed: the moves in time, the length of the log, and now."""
        return self.jumps, len(self.log), self.now_ms

    @property
    def entry_ms(self) -> int:
        """The moment of the calendar entry handled last, in ms since the start, even if it raised an exception."""
        return self.world.now_ms

    @property
    def finished(self) -> bool:
        """True at the end of the run: at ``until``, or if nothing more can happen in a run without it."""
        if self.now_ms >= self.end_ms:
            return True
        is_real = self.scenario.executes and bool(self.world.acting.executing())
        if self.awaits_commands or not self._ends_by_itself or is_real:
            return False
        return self.world.calendar.peek_ms() is None or self._only_endless_is_left

    @property
    def last_ms(self) -> int:
        """The end of the run once it is ``finished``: its ``until``, or its last event."""
        return self.log.last_ms if self._ends_by_itself else self.end_ms

    def run_until(self, until_ms: int) -> None:
        """Process everything up to and including ``until_ms``, at most to the end of the run."""
        while self.advance(until_ms, SLICE):
            pass

    def advance(self, until_ms: int, max_events: int = SLICE) -> bool:
        """Process at most ``max_events`` calendar entries; return whether more are due up to ``until_ms``.

        Where programs really run, ``pace`` lets time go on only as far as they have come.
        """
        until_ms = min(until_ms, self.end_ms)
        if self.pace is not None and not self.is_past and not self.journal.has_ends_ahead:
            return self.pace.advance(until_ms, max_events)
        return self.advance_freely(until_ms, max_events)

    def advance_freely(self, until_ms: int, max_events: int = SLICE) -> bool:
        """Advance whatever really runs."""
        calendar = self.world.calendar
        watches = bool(self._waiting) or self._expectations.is_watching(self.now_ms) or self._acts_wait
        more = (self._advance_watching if watches else self._advance)(until_ms, max_events)
        self.now_ms = max(self.now_ms, calendar.now_ms) if more else max(self.now_ms, until_ms)
        if self._can_go_back and self.checkpoints.is_due(len(self.log)):
            self.checkpoints.add(self._checkpoint())
        return more

    def _advance(self, until_ms: int, max_events: int) -> bool:
        """Advance; a run that ends by itself does not go on with what is endless alone."""
        calendar = self.world.calendar
        if not self._ends_by_itself:
            return calendar.advance(until_ms, max_events)
        if calendar.advance(until_ms, max_events, before_endless=True):
            return True
        next_ms = calendar.peek_ms()
        if next_ms is None or next_ms > until_ms or self._only_endless_is_left:
            return False
        calendar.advance_instant()
        return True

    def _advance_watching(self, until_ms: int, max_events: int) -> bool:
        """Advance while conditions or expectations must be checked after each instant."""
        calendar = self.world.calendar
        while max_events > 0:
            when_ms = calendar.peek_ms()
            if when_ms is None or when_ms > until_ms or self._only_endless_is_left:
                return False
            max_events -= calendar.advance_instant(max_events)
            if calendar.instant_is_over():
                self._check_instant()
        return True

    def step(self) -> bool:
        """Process the next calendar entry; return whether there was one whose time has come."""
        when_ms = self.world.calendar.peek_ms()
        if when_ms is None or when_ms > self.end_ms or self._only_endless_is_left:
            return False
        self.advance(when_ms, 1)
        return self.now_ms >= when_ms

    @property
    def _only_endless_is_left(self) -> bool:
        """True if only what is endless could go on, in a run that ends by itself (NODE-18, SPOT-10, JS-15)."""
        calendar = self.world.calendar
        if not self._ends_by_itself or not calendar.instant_is_over():
            return False
        endless_ms = calendar.next_endless_ms()
        return endless_ms is not None and endless_ms == calendar.peek_ms() and not has_work(self.world)

    @property
    def _ends_by_itself(self) -> bool:
        return self.scenario.until_ms is None

    def finish(self) -> None:
        """End the run: compare what was expected with what is."""
        self.now_ms = min(self.now_ms, self.last_ms)
        self._expectations.settle(self.world, self.now_ms)
        self._record_missing_refusals()

    @property
    def expectations(self) -> list[Outcome]:
        """The outcomes of the scenario's expectations; complete after ``finish``."""
        return self._expectations.outcomes

    def judgements(self, *, with_open: bool = True) -> list[Judgement]:
        """Return what is known of each expectation at this moment; at the end they are those of ``expectations``.

        Args:
            with_open: Observe the run for expectations that are not decided; without, leave those out.
        """
        is_over = self.finished
        now_ms = min(self.now_ms, self.last_ms) if is_over else self.now_ms
        return self._expectations.judge(self.world, now_ms, is_over=is_over, with_open=with_open)

    # -- inputs --------------------------------------------------------------------------------------------------

    @property
    def awaited_entries(self) -> Sequence[TimelineEntry]:
        """The entries of the timeline whose condition has not held yet."""
        return self._waiting

    def submit(self, command: Command) -> None:
        """Submit a command. It takes effect in the next millisecond, so that it replays exactly.

        Raises:
            BatchError: The service refuses the command, which is logged, or the past is shown: ``branch`` first.
        """
        raise_refusal(self.submit_all((command,))[0])

    def submit_all(self, given: Sequence[Command]) -> list[BatchError | None]:
        """Submit several commands that take effect together; return for each the reason of its refusal, or None.

        Raises:
            BatchError: An earlier moment is shown.
            ScenarioError: The ``does`` or ``until`` of a process in a command has mistakes, or its task factory.
        """
        if self.is_past:
            raise BatchError("OperationInvalidForCurrentState", "this is the past: branch here first")
        when_ms = self.now_ms + 1
        waits = [processes_wait(command) for command in given]  # all are checked
        extras = [_extras_of(command) for command in given]
        self._acts_wait |= any(waits)
        for command, added in zip(given, extras, strict=True):
            self._add_input(Input(when_ms, self.journal.next_number(), Origin.HAND, command, added))
        before = len(self.refusals)
        self._pass_to(when_ms)
        refused = {id(refusal.command): refusal.error for refusal in self.refusals[before:]}
        return [refused.get(id(command)) for command in given]

    def end_process(self, start: int, seen: Seen) -> None:
        """Let the process of a start end in the next millisecond, as it was seen to: the program that ran has ended."""
        when_ms = self.now_ms + 1
        ended = ProcessEnded(start=start, seen=seen)
        self.executed[start] = self.executed[start]._replace(seen=seen)
        self._add_input(Input(when_ms, self.journal.next_number(), Origin.PROCESS, ended))
        self._pass_to(when_ms)

    def _pass_to(self, when_ms: int) -> None:
        while self.advance_freely(when_ms):
            pass

    def adopt(self, inputs: Sequence[Input]) -> None:
        """Take inputs of another simulation of this scenario. They take effect at their times, which lie ahead."""
        self._acts_wait |= any(processes_wait(one.command) for one in inputs)
        for one in inputs:
            self._add_input(one._replace(number=self.journal.next_number()))

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Undo at the end of the ``with`` block everything that happened in it.

        Raises:
            BatchError: An earlier moment is shown.
        """
        if self.is_past:
            raise BatchError("OperationInvalidForCurrentState", "this is the past: branch here first")
        here, pace = self._checkpoint(), self.pace
        self.pace = None
        try:
            yield
        finally:
            self.pace = pace
            self._restore(here)
            self._forget_future()

    def _enter_scenario(self) -> None:
        scenario = self.scenario
        for pool in scenario.pools:
            self._enter(pool.at_ms, c.CreatePool.model_construct(pool.spec.model_fields_set, **vars(pool.spec)))
        for job in scenario.jobs:
            self._enter(job.at_ms, c.CreateJob.of(job.spec), Extras(job.tasks, job.factory))
        for schedule in scenario.job_schedules:
            of_schedule = c.CreateJobSchedule.model_construct(schedule.spec.model_fields_set, **vars(schedule.spec))
            self._enter(schedule.at_ms, of_schedule)
        for entry in scenario.timeline:
            if entry.at_ms is not None:
                self.journal.add(self._input_of(entry, entry.at_ms, Origin.SCENARIO))
        self._enter_next_input()

    @property
    def by_hand(self) -> list[Input]:
        """The inputs given by hand, in order, with those that lie ahead of the shown moment."""
        return self.journal.by_hand()

    def _enter(self, when_ms: int, command: Command, extras: Extras = commands.NOTHING) -> None:
        self.journal.add(Input(when_ms, self.journal.next_number(), Origin.SCENARIO, command, extras))

    def _input_of(self, entry: TimelineEntry, when_ms: int, origin: Origin) -> Input:
        extras = Extras(entry.tasks, entry.factory)
        return Input(when_ms, self.journal.next_number(), origin, entry.command, extras, entry.refused)

    def _add_input(self, one: Input) -> None:
        self.journal.add(one)
        self._enter_next_input()

    def _enter_next_input(self) -> None:
        """Enter the next input into the calendar, which so needs no room for all that are still to come."""
        upcoming = self.journal.upcoming
        if upcoming is not None and not (self._inputs_entered and self._inputs_entered[-1] <= upcoming):
            self._inputs_entered.append(upcoming)
            self.world.calendar.at(*upcoming)

    def _inputs_due(self, due: Due) -> None:
        self._inputs_entered.pop()
        for one in self.journal.take_due(self.world.now_ms, due.kind):
            self._execute(one)
        self._enter_next_input()

    def _execute(self, one: Input) -> None:
        """Execute one input, and record whether the service refused it, as was expected or not."""
        if isinstance(one.command, ProcessEnded):
            if self.world.acting.get(one.command.start) is not None:
                execution.end_wait(self.world, one.command.start, one.command.seen)
            return
        refused = commands.give(self.world, one.command, one.extras)
        if refused is not None or one.refused is not None:
            seen = "accepted" if refused is None else refused.code
            error = refused or BatchError("OperationInvalidForCurrentState", f"{one.refused} was expected")
            self.refusals.append(RefusedCommand(self.world.now_ms, one.command, error, seen, seen == one.refused))

    def _record_missing_refusals(self) -> None:
        """Record once the expected refusals that never came because their commands were not given."""
        pending = [(one.when_ms, one.command, one.refused) for one in self.journal.pending()]
        waiting = [(self.now_ms, entry.command, entry.refused) for entry in self._waiting]
        for when_ms, command, code in pending + waiting:
            if code is None or any(known.command is command for known in self.refusals):
                continue
            error = BatchError("OperationInvalidForCurrentState", f"{code} was expected")
            self.refusals.append(RefusedCommand(when_ms, command, error, "never given", announced=False))

    def _check_instant(self) -> None:
        """Check conditions and expectations after an instant."""
        world = self.world
        has_changed = len(world.log) != self._checked_length
        has_moved = world.jobs.moves != self._checked_moves
        self._checked_length, self._checked_moves = len(world.log), world.jobs.moves
        for entry in list(self._waiting) if has_changed else ():
            assert entry.when is not None
            if entry.when.needs_job_move and not has_moved:
                continue
            seen = observe(world, entry.when.subject, entry.when.wanted, world.now_ms)
            if matches(entry.when.wanted, seen):
                self._waiting.remove(entry)
                self._add_input(self._input_of(entry, world.now_ms + entry.after_ms, Origin.CONDITION))
        for awaited in list(commands.awaited(world)) if has_changed and self._acts_wait else ():
            if matches(awaited.wanted, observe(world, awaited.subject, awaited.wanted, world.now_ms)):
                commands.has_come_true(world, awaited)
        if has_changed and self._acts_wait:
            commands.instant_over(world)
        # Also without a change: the next entry may lie after the moment of an `at`.
        self._expectations.check(world, has_changed=has_changed)

    # -- going back ----------------------------------------------------------------------------------------------

    @property
    def is_past(self) -> bool:
        """True if a moment is shown after which more has been recorded, here or elsewhere."""
        return self.world.log.has_future or self.now_ms < self.present_ms

    def seek(self, when_ms: int) -> None:
        """Move to another moment of this run, earlier or later. Commands given by hand stay in the journal."""
        self.run_until(self.approach(when_ms))

    def approach(self, when_ms: int) -> int:
        """Move to the last known moment before ``when_ms``, which is kept within the run; return ``when_ms``."""
        when_ms = max(0, min(when_ms, self.end_ms))
        if self.awaits_commands and when_ms < self.now_ms:
            self.present_ms = max(self.present_ms, self.now_ms)  # time has passed for clients, if nothing else
        best = self.checkpoints.nearest(when_ms)
        if when_ms < self.now_ms or best.now_ms > self.now_ms:
            self._restore(best)
        return when_ms

    @property
    def real_speed(self) -> float | None:
        """Simulated seconds per real second while programs run in the moment that is shown; None otherwise."""
        return None if self.pace is None or self.is_past else self.pace.speed

    @property
    def has_really_run(self) -> bool:
        """True if programs run, or have begun since the moment that is shown: that cannot be undone."""
        return any(one.seen is None or one.started_ms > self.now_ms for one in self.executed.values())

    def branch(self) -> tuple[Input, ...]:
        """Make the shown moment the present: discard what was recorded after it.

        Return the inputs given by hand that this undoes; they are kept in mind in ``undone``.

        Raises:
            BatchError: Programs run, or have begun since.
        """
        if self.has_really_run:
            raise BatchError("OperationInvalidForCurrentState", "what has really run since cannot be undone")
        dropped = self._forget_future()
        if dropped:
            self.undone.append(Undone(self.now_ms, dropped))
        return dropped

    def give_instead(self, inputs: Sequence[Input], present_ms: int) -> None:
        """Go back to where the inputs given by hand differ from these, branch there, and give these.

        Args:
            inputs: Inputs that were given by hand to this simulation before; they take effect when they did then.
            present_ms: How far the run had come with them, which makes what is shown the past.
        """
        dropped, added = differing(self.by_hand, inputs)
        if dropped or added:
            self.seek(min(one.when_ms for one in (*dropped, *added)) - 1)
            self.branch()
        for one in added:
            self._add_input(one)
        if not self.awaits_commands:  # for clients what is shown is the present at once
            self.present_ms = present_ms

    def _forget_future(self) -> tuple[Input, ...]:
        """Discard what was recorded after the shown moment; return the inputs given by hand among it."""
        self.present_ms = 0
        self.world.forget_future()
        self.names.forget()
        dropped = self.journal.forget_future()
        self.checkpoints.forget_after(self.now_ms)
        return dropped

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
        with runtime.gc_paused():
            self.world.restore(checkpoint.world)
        self.journal.rewind(checkpoint.done, checkpoint.conditions)
        self._inputs_entered.clear()
        self._enter_next_input()
        self._waiting = list(checkpoint.waiting)
        self.refusals = list(checkpoint.refusals)
        self._expectations.restore(checkpoint.expectations)
        self._checked_length = checkpoint.world.log_length
        self._checked_moves = -1
        self.now_ms = checkpoint.now_ms

    def json_lines(self) -> Iterator[str]:
        """Yield the event log so far as JSON Lines, without line ends."""
        return json_lines(self.log, self.names)

    def _enter_rules(self) -> None:
        reactions.install(self.world)
        self.world.calendar.on(DueKind.FAULT, self._inputs_due)
        self.world.calendar.on(DueKind.COMMAND, self._inputs_due)


def _extras_of(command: Command) -> Extras:
    """Return the tasks that a command brings: listed ones, and those of its factory.

    Raises:
        ScenarioError: The task factory has mistakes.
    """
    tasks, body = getattr(command, "tasks", ()), getattr(command, "task_factory", None)
    if body is None:
        return Extras(tasks)
    factory, listed = factory_of(body)
    return Extras((*tasks, *listed), factory)
