"""A trial: what would follow, found out by doing it, going on for a while, and taking it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.views.tally import Columns, Measure, Tally, tally
from tui.viewmodels.text import Line, Role, Span, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import BatchError, Simulation
    from engine.specs.commands import Command
    from tui.viewmodels.session import Session

# How far a trial goes, in entries of the log. It is played three times at most, in a quarter of a second all in all.
_MOST_ENTRIES = 5_000
_SLICE = 256
_LABEL_CELLS = 36


class Trial(NamedTuple):
    """What a trial has shown up to ``until_ms``, beside what happens without the commands."""

    until_ms: int
    is_end: bool  # nothing more happens after that
    refused: tuple[tuple[Command, BatchError], ...]
    without: Tally
    given: Tally

    def differences(self) -> list[tuple[Measure, int, int]]:
        """The measures that differ: without the commands, and with them."""
        pairs = ((measure, self.without.counts[measure], self.given.counts[measure]) for measure in Measure)
        return [(measure, before, after) for measure, before, after in pairs if before != after]


class Trials:
    """Trials from one moment; what happens without any command is found out once."""

    def __init__(self, session: Session) -> None:
        """From the present moment of the session."""
        self._session = session
        self._untouched: tuple[int, bool, Tally] | None = None

    def of(self, commands: Sequence[Command]) -> Trial:
        """What would follow from these commands."""
        simulation = self._session.simulation
        if self._untouched is None:
            with simulation.trial():
                self._untouched = _played(simulation, len(simulation.log), simulation.end_ms)
        most_ms, is_end, _ = self._untouched
        with simulation.trial():
            mark = len(simulation.log)
            errors = simulation.submit_all(commands)
            until_ms, given_is_end, given = _played(simulation, mark, simulation.end_ms if is_end else most_ms)
        is_end = is_end and given_is_end
        without = self._untouched[2]
        if is_end:
            until_ms = max(until_ms, most_ms)
        elif until_ms < most_ms:
            with simulation.trial():
                mark = len(simulation.log)
                simulation.run_until(until_ms)
                without = _tally(simulation, mark)
        refused = tuple((command, error) for command, error in zip(commands, errors, strict=True) if error is not None)
        self._session.noted()
        return Trial(until_ms, is_end, refused, without, given)


def _played(simulation: Simulation, mark: int, until_ms: int) -> tuple[int, bool, Tally]:
    """Go on up to a moment, or until so much has happened: how far, whether that is the end, what happened."""
    while len(simulation.log) < mark + _MOST_ENTRIES and simulation.advance(until_ms, _SLICE):
        pass
    if simulation.finished:
        simulation.finish()
    return simulation.now_ms, simulation.finished, _tally(simulation, mark)


def _tally(simulation: Simulation, mark: int) -> Tally:
    log = simulation.log
    return tally(simulation, Columns(log.when, log.shape_of, log.row_a, log.row_b), mark)


def trial_lines(session: Session, trial: Trial, cells: int) -> list[Line]:
    """What a trial has shown: refusals with their codes, what differs, when jobs would be completed."""
    lines: list[Line] = []
    for command, error in trial.refused:
        said = f"{session.glyphs.bad} {whose(command)} refused: {error.status} {error.code} {reason(error)}".rstrip()
        lines += [line(Span(each, Role.FAILED)) for each in wrapped(said, cells)]
    label_cells = min(_LABEL_CELLS, cells // 2)
    for measure, before, after in trial.differences():
        label = Span(f"  {measure.value:<{label_cells}}", Role.DIM)
        lines.append(line(label, Span(f"{after:,}", Role.STRONG), Span(f"   without it {before:,}", Role.DIM)))
    for job_id, else_at, completed_at in _completions(session, trial):
        label = Span(f"  {job_id + ' completed':<{label_cells}}", Role.DIM)
        lines.append(line(label, Span(completed_at, Role.STRONG), Span(f"   without it {else_at}", Role.DIM)))
    if not lines:
        lines.append(line(Span(f"  nothing is different{'' if trial.is_end else ' so far'}", Role.DIM)))
    return lines


def _completions(session: Session, trial: Trial) -> list[tuple[str, str, str]]:
    """The jobs whose end differs."""
    jobs = sorted(trial.without.completed_ms.keys() | trial.given.completed_ms.keys())
    never = "never" if trial.is_end else "later"

    def clock(when_ms: int | None) -> str:
        return never if when_ms is None else session.clock(when_ms)

    pairs = ((job, trial.without.completed_ms.get(job), trial.given.completed_ms.get(job)) for job in jobs)
    return [(job, clock(before), clock(after)) for job, before, after in pairs if before != after]


def whose(command: Command) -> str:
    """What a command is about, as short as can be."""
    wire = command.wire()
    if "node" in wire:
        return f"n{wire['node']}"
    return next((str(wire[name]) for name in ("taskId", "jobId", "poolId") if name in wire), command.NAME)


def reason(error: BatchError) -> str:
    """Why the service refuses, in words."""
    return f"{error.message} {error.values.get('Reason', '')}".strip()
