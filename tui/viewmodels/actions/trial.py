"""Trials: commands are submitted, the run goes on for a while, and everything is undone."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import SECOND_MS, called, shortened
from engine.views.diagnosis.expectations import broken_rows, newly_broken
from engine.views.diagnosis.model import listed
from engine.views.log.tally import Measure, Tally, leaving_since, shortfalls_since, tally_since
from engine.views.resources.jobs import cost_an_hour, cost_so_far
from tui.viewmodels import format as fmt
from tui.viewmodels.text import Line, Role, Span, fit, line, paragraph, squeeze

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from engine import BatchError, Simulation
    from engine.specs.command import Command
    from engine.views.diagnosis.expectations import ExpectationRow
    from tui.viewmodels.session import Session

# The length of a trial in log entries: at first in a moment, and then, if that is not to the end of the run, farther.
# Each runs at most three times. A quarter of a second altogether is enough for the first.
MOST_ENTRIES = (5_000, 80_000)
_MOST_S = 0.4  # wall time of one course, where single instants take long
SLICE = 256
_LABEL_CELLS, _LEAST_LABEL = 36, 12
_MOST_TOLD = 3

_Row = tuple[str, str, str]  # name, value with the commands, value without them; empty if there can be none


class EngineError(NamedTuple):
    """An exception of the engine during a trial, and the moment when it was raised."""

    text: str
    when_ms: int


class Course(NamedTuple):
    """The events in a part of a run."""

    until_ms: int
    is_end: bool  # nothing more can happen after it
    tally: Tally
    leaving_ms: dict[int, int]  # when nodes began to leave their pool, by node
    short: dict[tuple[str, str], str]  # why resizes fell short, by pool and code
    cost: float  # of the whole run up to then
    hourly_cost: float  # of the VMs that the pools have and await once the commands are given
    broken: tuple[ExpectationRow, ...]
    mistake: EngineError | None = None


class TrialResult(NamedTuple):
    """The result of a trial up to ``until_ms``, beside the result without the commands.

    Of a run that has ended each figure is that at its own end, as everywhere.
    """

    began_ms: int
    until_ms: int
    is_end: bool  # nothing more can happen after it
    commands: int
    refused: tuple[tuple[Command, BatchError], ...]
    without: Course
    given: Course
    leaving: tuple[str, ...]  # nodes that leave their pool, or leave it sooner, because of the commands
    short: tuple[str, ...]  # why resizes fall short because of the commands
    broken: tuple[ExpectationRow, ...] = ()  # expectations that the commands break

    def differences(self) -> list[tuple[Measure, int, int]]:
        """Return the measures that differ: without the commands, and with them."""
        pairs = ((measure, self.without.tally.counts[measure], self.given.tally.counts[measure]) for measure in Measure)
        return [(measure, before, after) for measure, before, after in pairs if before != after]


class Trials:
    """Trials from one moment. The courses without commands are computed once."""

    def __init__(self, session: Session) -> None:
        """Start at the present moment of the session."""
        self._session = session
        self._untouched: dict[int, Course] = {}  # by the most entries

    def steps(self, commands: Sequence[Command]) -> Iterator[TrialResult | None]:
        """Yield None after each part of a trial, in which everything has been undone, and each result.

        A later result goes farther. It replaces the one before.
        """
        until_ms = -1
        for most_entries in MOST_ENTRIES:
            result = yield from self._parts(commands, most_entries)
            if result.is_end or result.until_ms > until_ms:  # a busy machine may end a longer trial earlier
                yield result
            until_ms = result.until_ms
            if result.is_end or result.given.mistake is not None or len(result.refused) == len(commands):
                return

    def _parts(self, commands: Sequence[Command], most_entries: int) -> Generator[None, None, TrialResult]:
        """Yield after each part of a trial of so many entries, and return its result."""
        simulation = self._session.simulation
        if most_entries not in self._untouched:
            self._untouched[most_entries], _ = _course(simulation, (), simulation.end_ms, most_entries)
            yield
        without = self._untouched[most_entries]
        most_ms = simulation.end_ms if without.is_end else without.until_ms
        given, errors = _course(simulation, commands, most_ms, most_entries)
        is_end, until_ms = without.is_end and given.is_end, given.until_ms
        if not is_end and until_ms < without.until_ms:
            yield
            without, _ = _course(simulation, (), until_ms)
        refused = tuple((command, error) for command, error in zip(commands, errors, strict=True) if error is not None)
        self._session.update()
        nodes = self._session.nodes()
        sooner = (node for node, ms in given.leaving_ms.items() if ms < without.leaving_ms.get(node, simulation.end_ms))
        leaving = tuple(f"n{nodes.position_of(node)}" for node in sorted(sooner))
        return TrialResult(
            simulation.now_ms,
            until_ms,
            is_end,
            len(commands),
            refused,
            without,
            given,
            leaving,
            tuple(
                f"{called('pool', pool_id)} gets too few nodes: {code}, {why}"
                for (pool_id, code), why in given.short.items()
                if (pool_id, code) not in without.short
            ),
            # Without its end, the course without the commands does not say what is broken at the end anyway.
            newly_broken(without.broken, given.broken) if without.is_end or not given.is_end else (),
        )


def _course(
    simulation: Simulation, commands: Sequence[Command], until_ms: int, most_entries: int | None = None
) -> tuple[Course, list[BatchError | None]]:
    """Submit the commands, go on to ``until_ms`` or for ``most_entries`` log entries, then undo everything."""
    errors: list[BatchError | None] = [None] * len(commands)
    mistake = None
    hourly_cost = 0.0
    with simulation.trial():
        log, first = simulation.log, len(simulation.log)
        try:
            if commands:
                errors = simulation.submit_all(commands)
            stop_s = time.perf_counter() + _MOST_S
            while simulation.advance(simulation.now_ms, SLICE) and time.perf_counter() < stop_s:
                pass  # nodes are requested at the end of this instant
            hourly_cost = cost_an_hour(simulation)
            # What the commands do at once, however much it is, leaves the time after it as long.
            stop_s = time.perf_counter() + _MOST_S
            most = None if most_entries is None else len(log) + most_entries
            while (most is None or (len(log) < most and time.perf_counter() < stop_s)) and simulation.advance(
                until_ms, SLICE
            ):
                pass
            if simulation.finished:
                simulation.finish()
        except Exception as error:  # the trial is undone in any case; the sheet shows the error
            mistake = EngineError(f"{type(error).__name__}: {error}", simulation.entry_ms)
        is_end = simulation.finished and mistake is None
        course = Course(
            simulation.now_ms,
            is_end,
            tally_since(simulation, first),
            leaving_since(simulation, first),
            shortfalls_since(simulation, first),
            cost_so_far(simulation),
            hourly_cost,
            tuple(broken_rows(simulation)),
            mistake,
        )
    return course, errors


def heading(session: Session, trial: TrialResult) -> str:
    """Return how far a trial went, and that no more was looked at."""
    until = f"until {session.clock(trial.until_ms)}"
    if trial.given.mistake is not None:
        return f"Simulated {until}"
    if trial.is_end:
        return f"Simulated {until}, the end of the run"
    return f"Simulated {_far(trial)}, {until}; farther was not looked at"


def _far(trial: TrialResult) -> str:
    far_ms = trial.until_ms - trial.began_ms
    return f"the next {fmt.short_span(far_ms) if far_ms >= SECOND_MS else f'{far_ms} ms'} of the run"


def trial_lines(session: Session, trial: TrialResult, cells: int) -> list[Line]:
    """Return the result of a trial: refusals with their codes, differences, and ends of jobs."""
    lines: list[Line] = []
    if trial.given.mistake is not None:
        when = session.clock(trial.given.mistake.when_ms)
        said = f"{session.glyphs.bad} internal error at {when}: {trial.given.mistake.text}. The run is unchanged."
        lines += paragraph(said, cells, Role.FAILED)
    if trial.refused and trial.commands > 1:
        changed = trial.commands - len(trial.refused)
        lines.append(line(Span(f"{changed:,} of {trial.commands:,} change", Role.STRONG)))
    for text in (*refusal_lines(trial.refused), *trial.short):
        lines += paragraph(f"{session.glyphs.bad} {session.text(text)}", cells, Role.FAILED)
    rows: list[_Row] = [(each.value, f"{after:,}", f"{before:,}") for each, before, after in trial.differences()]
    rows += _completions(session, trial)
    if not rows and not lines and not trial.leaving and not trial.broken:
        said = "accepted; no other difference" + ("" if trial.is_end else f" in {_far(trial)}")
        lines += paragraph(said, cells, Role.DIM, "  ")
    rows = [*_money_rows(session, trial), *_end_row(session, trial), *rows]  # the cost is seen without scrolling
    label_cells = min(max((len(label) for label, _, _ in rows), default=0), _LABEL_CELLS, cells // 2)
    value_cells = max((len(after) for _, after, before in rows if before), default=0)
    before_cells = max((len(before) for _, after, before in rows if before != after), default=0)
    gap, room = "  ", cells - len("  otherwise ") - value_cells - before_cells
    if before_cells and label_cells + 2 * len(gap) > room:
        gap = " "
        label_cells = min(label_cells, max(_LEAST_LABEL, room - 2 * len(gap)))
    for label, after, before in rows:
        begin = Span(f"  {fit(squeeze(label, label_cells), label_cells)}{gap}", Role.DIM)
        otherwise = f"{gap}{f'otherwise {before}' if before != after else 'no difference'}" if before else ""
        lines.append(line(begin, Span(f"{after:<{value_cells}}", Role.STRONG), Span(otherwise, Role.DIM)))
    if trial.broken:
        rest = len(trial.broken) - _MOST_TOLD
        told = [f"breaks {row.text}" for row in trial.broken[:_MOST_TOLD]]
        told += [f"breaks {rest:,} more"] if rest > 0 else []
        lines += [each for text in told for each in paragraph(session.text(text), cells, Role.FAILED, "  ")]
    if trial.leaving:
        lines += paragraph(f"nodes that leave: {listed(trial.leaving, 3 * _MOST_TOLD)}", cells, indent="  ")
    return lines


def _end_row(session: Session, trial: TrialResult) -> list[_Row]:
    """Return the ends of both runs, up to which they cost, where these differ."""
    before, after = (session.clock(one.until_ms) if one.is_end else "later" for one in (trial.without, trial.given))
    return [("end of the run", after, before)] if before != after else []


def _money_rows(session: Session, trial: TrialResult) -> list[_Row]:
    """Return the cost of an hour from now on and that until the end of the trial; nothing if nothing costs."""
    until = "cost in all" if trial.is_end else "cost by then"
    without, given = trial.without, trial.given
    hourly_cost, cost = (without.hourly_cost, given.hourly_cost), (without.cost, given.cost)
    if len(trial.refused) == trial.commands or not any((*hourly_cost, *cost)):
        return []
    rows: list[_Row] = []
    for name, (before, after) in (("cost an hour", hourly_cost), (until, cost)):
        otherwise, said, more = fmt.compared_money(before, after, session.simulation.scenario.currency)
        rows.append((name, f"{said} ({more})" if more else said, otherwise))
    return rows


def refusal_lines(refused: Sequence[tuple[Command, BatchError]]) -> list[str]:
    """Return the refusals with code and reason. Equal reasons are counted on one line."""
    names: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for command, error in refused:
        why = f"{error.status} {error.code}. {reason(error)}".rstrip()
        counts[why] += 1
        names.setdefault(why, []).append(whose(command))
    told = []
    for why, number in counts.most_common(_MOST_TOLD):
        some = ", ".join(names[why][:_MOST_TOLD]) + (" …" if number > _MOST_TOLD else "")
        told.append(f"{some} refused: {why}" if number == 1 else f"{number:,} × refused ({some}): {why}")
    rest = len(counts) - _MOST_TOLD
    return [*told, f"and {rest:,} other reasons"] if rest > 0 else told


def _completions(session: Session, trial: TrialResult) -> list[_Row]:
    """Return the jobs whose end differs, in the order of their ends; jobs that the commands create in one row."""
    without, given = trial.without.tally.completed_ms, trial.given.tally.completed_ms
    changed = [job for job in {**without, **given} if without.get(job) != given.get(job)]
    changed.sort(key=lambda job: given.get(job, without.get(job, 0)))
    new = [job for job in changed if job not in without and session.progress(job) is None]
    clock, never = session.clock, "never" if trial.is_end else "later"
    known = (job for job in changed if job in without or session.progress(job) is not None)
    rows = [(f"{job} completed", clock(given.get(job)) or never, clock(without.get(job)) or never) for job in known]
    if new:
        first, last = clock(given[new[0]]), clock(given[new[-1]])
        name, when = (f"{len(new):,} new jobs", f"{first} to {last}") if len(new) > 1 else (new[0], first)
        rows.append((f"{name} completed", when, ""))
    return rows


def whose(command: Command) -> str:
    """Return the item that a command concerns, as short as possible."""
    wire = command.wire()
    if "node" in wire:
        return f"n{wire['node']}"
    names = ("taskId", "jobId", "poolId", "id")
    return next((shortened(str(wire[name])) for name in names if name in wire), command.NAME)


def reason(error: BatchError) -> str:
    """Return the reason of a refusal, in words."""
    name, why = error.values.get("PropertyName", ""), error.values.get("Reason", "")
    return f"{error.message} {name} {why}" if name else f"{error.message} {why[:1].upper()}{why[1:]}".strip()
