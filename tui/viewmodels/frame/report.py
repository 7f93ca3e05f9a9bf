"""The report of a run: what ran, what it cost, what failed and why, what was expected, and what was done by hand."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.views.results.document import given_by_hand
from engine.views.results.report import summary
from tui.viewmodels.events.command_words import command_words
from tui.viewmodels.events.event_words import what
from tui.viewmodels.frame.notices import cause
from tui.viewmodels.frame.variant import variant_note
from tui.viewmodels.text import format as fmt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.run.expectations import Outcome
    from engine.views.results.report import Summary
    from tui.viewmodels.session.session import Session

_MOST_FAILURES = 5_000  # read, the newest
_MOST_CAUSES = 20
_MOST_NAMES = 3
_REFUSED = "CommandRefused"
_MOST_BY_HAND = 200


class Section(NamedTuple):
    """A part of the report: a heading with sentences, and a table, which may be empty."""

    title: str
    sentences: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def sections(session: Session) -> list[Section]:
    """Return the report up to the moment that is shown, without its pictures."""
    found = summary(session.simulation)
    parts = [_run(session, found), _pools(found), _jobs(found), _schedules(found), _failures(session)]
    parts += [_expectations(session, found), _refusals(session, found), _by_hand(session)]
    return [part for part in parts if part.sentences or part.rows]


def _run(session: Session, found: Summary) -> Section:
    tasks, scenario = found.tasks, session.simulation.scenario
    end = "The run is over." if session.is_over else "The run is not over yet."
    variant = variant_note(scenario)
    sentences = [
        *([f"This is {variant}."] if variant else []),
        f"{found.scenario} with seed {found.seed}, from {fmt.date_and_clock(found.start, 0)}"
        f" to {fmt.date_and_clock(found.start, found.end_ms)}, {fmt.span(found.end_ms)} in all. {end}",
        f"{tasks.succeeded:,} of {fmt.counted(tasks.total, 'task')} succeeded, {tasks.failed:,} failed,"
        f" {tasks.active:,} are not completed.",
        f"The nodes cost {fmt.dollars(found.cost_usd)}. {fmt.counted(found.events, 'event')} were logged.",
    ]
    return Section("Run", [scenario.description.strip(), *sentences] if scenario.description else sentences)


def _pools(found: Summary) -> Section:
    heads = ("Pool", "VM size", "State", "Nodes", "Node hours", "Cost", "Resize errors")
    rows = [
        (
            pool.pool_id,
            pool.vm_size,
            pool.state,
            f"{pool.nodes:,}",
            f"{pool.node_hours:,.2f}",
            fmt.dollars(pool.cost_usd),
            ", ".join(pool.resize_errors),
        )
        for pool in found.pools
    ]
    return Section("Pools", (), heads, rows)


def _jobs(found: Summary) -> Section:
    heads = ("Job", "State", "Reason", "Tasks", "Succeeded", "Failed", "Preparation", "Release")
    rows = [
        (
            job.job_id,
            job.state,
            job.reason or "",
            f"{job.tasks.total:,}",
            f"{job.tasks.succeeded:,}",
            f"{job.tasks.failed:,}",
            _runs(job.preparations.count, job.preparations.failed),
            _runs(job.releases.count, job.releases.failed),
        )
        for job in found.jobs
    ]
    return Section("Jobs", (), heads, rows)


def _runs(count: int, failed: int) -> str:
    """Return on how many nodes preparation or release ran, and failed."""
    said = f"on {fmt.counted(count, 'node')}" if count else ""
    return f"{said}, {failed:,} failed" if failed else said


def _schedules(found: Summary) -> Section:
    heads = ("Job schedule", "State", "Jobs created", "Occurrences missed", "Last job")
    rows = [
        (each.schedule_id, each.state, f"{each.jobs:,}", f"{each.missed:,}", each.recent_job)
        for each in found.job_schedules
    ]
    return Section("Job schedules", (), heads, rows)


def _failures(session: Session) -> Section:
    events = session.events
    failures = events.failures()
    if not failures:
        return Section("Failures", ["Nothing failed."])
    counts: Counter[str] = Counter()
    first_ms: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for number in failures[-_MOST_FAILURES:]:
        event = events.row(number)
        if event.event == _REFUSED:
            continue  # they have a table of their own
        why = cause(event)
        counts[why] += 1
        first_ms.setdefault(why, events.when_ms(number))
        known = names.setdefault(why, [])
        node = f"n{event.position}" if event.position is not None else None
        name = event.task_id or node or event.pool_id or event.job_id or what(event)
        if name and name not in known and len(known) < _MOST_NAMES:
            known.append(name)
    rows = [
        (why, f"{count:,}", session.clock(first_ms[why]), ", ".join(names[why]))
        for why, count in counts.most_common(_MOST_CAUSES)
    ]
    if not rows:
        return Section("Failures", ["Nothing failed."])
    said = [f"Of {len(failures):,} failures the newest {_MOST_FAILURES:,}."] if len(failures) > _MOST_FAILURES else []
    return Section("Failures by cause", said, ("Cause", "Number", "First", "For instance"), rows)


def _expectations(session: Session, found: Summary) -> Section:
    known: Sequence[Outcome] = found.expectations
    said = []
    if not known and session.ahead.expectations:
        known, said = session.ahead.expectations, ["At the simulated end of the run, if nothing more is done by hand."]
    rows = [
        (_written(each.written), "met" if each.met else "broken", _written(_asked_for(each.seen, each.written)))
        for each in known
    ]
    return Section("Expectations", said if rows else (), ("Expected", "Result", "Actual"), rows)


def _asked_for(seen: object, wanted: object) -> object:
    """Return those counts and properties of what was seen that the expectation names."""
    if not (isinstance(seen, dict) and isinstance(wanted, dict)):
        return seen
    return {name: _asked_for(value, wanted[name]) for name, value in seen.items() if name in wanted}


def _written(expected: object) -> str:
    """Return an expectation as it stands in the scenario, on one line."""
    if isinstance(expected, dict):
        return ", ".join(
            f"{name}: {{{_written(value)}}}" if isinstance(value, dict) else f"{name}: {value}"
            for name, value in expected.items()
        )
    return str(expected)


def _refusals(session: Session, found: Summary) -> Section:
    rows = [
        (session.clock(each.at_ms), each.command, each.subject, each.code, "yes" if each.announced else "no")
        for each in found.refused
    ]
    return Section("Refused commands", (), ("When", "Command", "Subject", "Code", "Expected"), rows)


def _by_hand(session: Session) -> Section:
    given = given_by_hand(session.simulation)
    rows = [(session.clock(when_ms), command_words(command)) for when_ms, command in given[:_MOST_BY_HAND]]
    rest = len(given) - len(rows)
    return Section("Done by hand", [f"And {rest:,} more."] if rest else [], ("When", "What"), rows)
