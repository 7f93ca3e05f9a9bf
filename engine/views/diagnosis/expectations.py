"""The expectations of the scenario at the moment that is shown: met, broken, or pending; broken ones are concerns."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import format_duration, format_money, format_time, quoted
from engine.run.conditions import Judgement
from engine.specs.conditions import Bounds, Verbatim, matches
from engine.views.diagnosis.model import Condition, Items, concern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.run.conditions import Outcome
    from engine.scenario.model import Expectation
    from engine.specs.command import Command
    from engine.specs.conditions import ConditionSubject, Wanted
    from engine.views.diagnosis.model import Finding

    _Text = Callable[[str, object], str]  # a value of a property in words


_MOST_NAMED = 3  # parts that differ


class ExpectationState(Enum):
    """The state of an expectation, in the order in which they are listed."""

    BROKEN = auto()
    PENDING = auto()
    MET = auto()


class ExpectationPart(NamedTuple):
    """One property that an expectation names, in words: wanted against seen."""

    name: str
    wanted: str
    seen: str
    is_met: bool
    is_late: bool = False  # as wanted, but after the moment


class ExpectationRow(NamedTuple):
    """An expectation. Times are ms since the start."""

    number: int  # from 1, in the order of the file; commands follow
    state: ExpectationState
    subject: str
    kind: str  # of the item that it is about: "job", "pool", "job schedule"; or "" for none
    item_id: str
    when: str  # the moment for which it is expected, in words
    decided_ms: int | None  # None while it is pending
    parts: tuple[ExpectationPart, ...]
    line: int  # in the scenario file; 0 where it is not known

    @property
    def differing(self) -> tuple[ExpectationPart, ...]:
        """The parts that are not as expected; all parts where there is none."""
        return tuple(part for part in self.parts if not part.is_met) or self.parts

    @property
    def difference(self) -> str:
        """The first differing parts in words: ``tasks running 1 instead of 2``, ``state completed, too late``."""
        parts = self.differing[:_MOST_NAMED]
        wanted = ("" if part.is_late else f" instead of {part.wanted}" for part in parts)
        return ", ".join(f"{part.name} {part.seen}{rest}" for part, rest in zip(parts, wanted, strict=True))

    @property
    def text(self) -> str:
        """The number, the item, the moment and what differs: ``expectation 3, job j at the end: state ...``."""
        return f"expectation {self.number:,}, {self.subject} {self.when}: {self.difference}"


def expectation_rows(simulation: Simulation) -> list[ExpectationRow]:
    """Return all expectations: those of ``expect``, then the refusals that are expected or happened.

    The cost may be that of all tasks and nodes: a pending one is observed anew.
    """
    rows = [row_of(simulation, judged) for judged in simulation.judgements()]
    return [*rows, *_commands(simulation, len(rows))]


def expectation_count(simulation: Simulation) -> int:
    """Return the number of ``expectation_rows``; nothing is observed for it."""
    return len(simulation.scenario.expect) + sum(1 for _ in _commands(simulation, 0))


def broken_rows(simulation: Simulation) -> list[ExpectationRow]:
    """Return the entries of ``expect`` that are broken: at the end of the run all that it has reached are decided.

    Pending ones are not observed.
    """
    rows = (row_of(simulation, each) for each in simulation.judgements(with_open=False))
    return [row for row in rows if row.state is ExpectationState.BROKEN]


def told_as_broken(simulation: Simulation, at_end: Sequence[Outcome]) -> tuple[list[str], list[str]]:
    """Return what is broken by now, refusals of commands included, and what ``foreseen`` finds, in words."""
    rows = [row_of(simulation, each) for each in simulation.judgements(with_open=False)]
    rows += _commands(simulation, len(simulation.scenario.expect))
    decided = [f"{row.subject} {row.when}: {row.difference}" for row in rows if row.state is ExpectationState.BROKEN]
    return decided, [f"{one.text.partition(': ')[2]} {one.effect}" for one in foreseen(simulation, at_end)]


def newly_broken(before: Iterable[ExpectationRow], after: Iterable[ExpectationRow]) -> tuple[ExpectationRow, ...]:
    """Return the expectations that are broken after a change and were not before."""
    known = {row.number for row in before}
    return tuple(row for row in after if row.number not in known)


def row_of(simulation: Simulation, judged: Judgement) -> ExpectationRow:
    """Return the row of one expectation."""
    one, outcome, decided_ms = judged
    kind, item_id = _item(one.condition.subject)
    return ExpectationRow(
        number=one.index + 1,
        state=_state(outcome.met, decided_ms),
        subject=one.condition.subject.called,
        kind=kind,
        item_id=item_id,
        when=_when(simulation, one) + ("" if outcome.is_reached else ", which is not reached"),
        decided_ms=decided_ms,
        parts=tuple(_parts(one, outcome, partial(_value, simulation.scenario.currency))),
        line=one.line,
    )


def _state(is_met: bool, decided_ms: int | None) -> ExpectationState:
    if decided_ms is None:
        return ExpectationState.PENDING
    return ExpectationState.MET if is_met else ExpectationState.BROKEN


def _when(simulation: Simulation, one: Expectation) -> str:
    start = simulation.scenario.start
    if one.at_ms is not None:
        return f"at {format_time(start, one.at_ms)}"
    if one.within_ms is not None:
        return f"by {format_time(start, one.within_ms)}"
    return "at the end"


# -- in words --------------------------------------------------------------------------------------------------------


def _item(subject: ConditionSubject) -> tuple[str, str]:
    """Return kind and id of the item to open; that of a task is its job, that of a node its pool."""
    ids = ("job", subject.job_id), ("pool", subject.pool_id), ("job schedule", subject.job_schedule_id)
    return next(((kind, item_id) for kind, item_id in ids if item_id is not None), ("", ""))


def _parts(one: Expectation, outcome: Outcome, text: _Text) -> Iterator[ExpectationPart]:
    seen = outcome.seen
    late = one.within_ms is not None and not outcome.met and matches(one.condition.wanted, seen)
    for name, wanted in one.condition.wanted.items():
        value = seen.get(name) if isinstance(seen, Mapping) else None
        for part in _flat(name, wanted, value, text):
            yield part._replace(is_met=False, is_late=True, seen=f"{part.seen}, too late") if late else part


def _flat(name: str, wanted: Wanted, seen: object, text: _Text) -> Iterator[ExpectationPart]:
    if isinstance(wanted, Mapping):
        for key, inner in wanted.items():
            yield from _flat(f"{name} {key}", inner, seen.get(key) if isinstance(seen, Mapping) else None, text)
    else:
        yield ExpectationPart(name, _wanted(name, wanted, text), text(name, seen), matches(wanted, seen))


def _wanted(name: str, wanted: Wanted, text: _Text) -> str:
    if isinstance(wanted, Bounds):
        low, high = wanted.at_least, wanted.at_most
        if low is not None and high is not None:
            return f"{text(name, low)} to {text(name, high)}"
        return f"at least {text(name, low)}" if low is not None else f"at most {text(name, high)}"
    if isinstance(wanted, Verbatim):
        return text(name, wanted.text)
    return text(name, wanted)


def _value(currency: str, name: str, value: object) -> str:
    """Return a value in words; ``makespan`` is in seconds, ``cost`` in ``currency``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, int | float | str | tuple | list):
        return quoted(value)
    if isinstance(value, str):
        return quoted(value) if name.startswith("file") else value
    if isinstance(value, tuple | list):
        return ", ".join(_value(currency, name, item) for item in value) or "none"
    if name == "makespan":
        return format_duration(round(value * 1000))
    if name == "cost":
        return format_money(value, currency)
    return f"{value:,}"


# -- commands --------------------------------------------------------------------------------------------------------


def _commands(simulation: Simulation, number: int) -> Iterator[ExpectationRow]:
    """Yield the refusals that the scenario expects, and those that it does not; not those of commands given by hand."""
    announced = [entry for entry in simulation.scenario.timeline if entry.refused is not None]
    refusals = {id(one.command): (one.when_ms, one.seen, one.announced) for one in simulation.refusals}
    others = (simulation.now_ms, "never given", False) if simulation.finished else (None, "not given yet", False)
    for entry in announced:
        number += 1
        decided_ms, seen, is_met = refusals.get(id(entry.command), others)
        part = ExpectationPart("refused", str(entry.refused), seen, is_met)
        yield _command_row(number, entry.command, decided_ms, part, entry.line)
    known = {id(entry.command) for entry in announced}
    known |= {id(one.command) for one in simulation.journal.by_hand()} if simulation.refusals else set()
    for refusal in simulation.refusals:
        if id(refusal.command) not in known:
            number += 1
            when_ms, seen, _ = refusals[id(refusal.command)]
            yield _command_row(number, refusal.command, when_ms, ExpectationPart("outcome", "accepted", seen, False))


def _command_row(
    number: int, command: Command, decided_ms: int | None, part: ExpectationPart, line: int = 0
) -> ExpectationRow:
    state, subject = _state(part.is_met, decided_ms), f"command {command.NAME}"
    return ExpectationRow(number, state, subject, "", "", "when it is given", decided_ms, (part,), line)


def broken_expectations(simulation: Simulation) -> list[Finding]:
    """Return the expectations that are decided and broken."""
    return [_concern(row) for row in broken_rows(simulation)]


def foreseen(
    simulation: Simulation, at_end: Sequence[Outcome], *, end_ms: int | None = None, is_over: bool = False
) -> list[Finding]:
    """Return the expectations that will be broken, as playing ahead has shown, without those that are decided.

    If the run ``is_over`` they are broken: only the end decides them. If its end is known, ``end_ms``, each has the
    moment at which it will be decided; else that of now.
    """
    known = {judged.expected.index for judged in simulation.judgements(with_open=False)}
    found = []
    for one, outcome in zip(simulation.scenario.expect, at_end, strict=False):
        if not outcome.met and one.index not in known:
            row = row_of(simulation, Judgement(one, outcome, None))
            is_coming, when_ms = not is_over and end_ms is not None, simulation.now_ms
            if is_coming:
                limit_ms = one.within_ms if one.at_ms is None else one.at_ms
                when_ms = min(ms for ms in (limit_ms, end_ms) if ms is not None)
            condition = Condition.EXPECTATION_BROKEN if is_over else Condition.EXPECTATION_FAILING
            found.append(_concern(row, condition)._replace(since_ms=when_ms, is_coming=is_coming))
    return found


def _concern(row: ExpectationRow, condition: Condition = Condition.EXPECTATION_BROKEN) -> Finding:
    verb = "is broken" if condition is Condition.EXPECTATION_BROKEN else "will be broken"
    return concern(
        condition,
        f"expectation {row.number} {verb}: {row.subject}",
        row.decided_ms or 0,
        f"{row.when}: {row.difference}",
        items=Items.of_kind(row.kind, row.item_id)._replace(expectations=(row.number,)),
    )
