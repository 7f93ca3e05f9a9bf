"""Needs attention: the concerns of the whole run, warnings, expectations, and ends to come.

Concerns are grouped by cause, the worst and newest first. Warnings about the scenario stand in the order of the file.
The list of the scenario's expectations is also a sheet. Ends of preparation, tasks and job are in words. They are
derived: the service reports none of them. They are simulated if the run has been played ahead to its end, and estimated
until then.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.base.terms import JobState
from engine.run.agenda import basis_words
from engine.views.diagnosis.concerns import CALM
from engine.views.diagnosis.expectations import ExpectationState, expectation_rows
from engine.views.diagnosis.model import Severity
from engine.views.resources.instances import unfinished
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import EXPECTATION, JOB, NODE, glyph_of_job
from tui.viewmodels.items import Destination
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import RowsModel
from tui.viewmodels.text import WHOLE, Block, ItemRef, Line, Role, Span, between, line, row, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine import Scenario
    from engine.views.diagnosis.expectations import ExpectationPart, ExpectationRow
    from engine.views.diagnosis.model import Finding
    from engine.views.resources.jobs import JobRow
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Kind


_WARNING_INDENT = "  "


def warning_note(scenario: Scenario) -> str | None:
    """Return the sentence that says how many warnings there are; None without any."""
    count = len(scenario.warnings)
    return f"The scenario has {fmt.counted(count, 'warning')}; :warnings lists them." if count else None


def warning_lines(scenario: Scenario, cells: int) -> list[Line]:
    """Return the warnings in the order of the file, each below its place."""
    if not scenario.warnings:
        return [line(Span("The scenario has no warnings.", Role.DIM))]
    lines: list[Line] = []
    for warning in scenario.warnings:
        place = f"line {warning.line}, column {warning.column}  {warning.path}"
        lines += [line(Span(each, Role.DIM)) for each in wrapped(place, cells)]
        lines += [line(_WARNING_INDENT + each) for each in wrapped(warning.message, cells - len(_WARNING_INDENT))]
    return lines


_INDENT = 2  # cells of the symbol and the space after it
_WITH_CLOCK = 46  # cells; narrower panes leave out the time
_ROLES = {
    Severity.STANDSTILL: Role.FAILED,
    Severity.FAILURE: Role.FAILED,
    Severity.SHORTAGE: Role.WARNING,
    Severity.NOTICE: Role.OFF,
}
VIEWS = {
    "preparation": "preparation",
    "release": "release",
    "node": "nodes",
    "task": "tasks",
    "pool": "pools",
    "job": "jobs",
    "job schedule": "schedules",
    "command": "events",
}
SHEETS = {"certificate": "account", "expectation": "expectations"}


class AttentionModel:
    """The concerns of all jobs, pools and job schedules."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.concerns: Sequence[Finding] = ()
        # By width and settings: the concerns, and by what they say the lines of each one's cause, effect and remedy.
        self._parts: dict[tuple[object, ...], tuple[object, dict[object, Sequence[Sequence[Line]]]]] = {}

    def update(self) -> None:
        """Read the simulation again; it answers anew only for another moment."""
        self.concerns = self.session.concerns()

    @property
    def worst(self) -> ItemRef | None:
        """The first item of the worst concern; None while nothing has failed and no job stands still."""
        has_failed = bool(self.concerns) and self.concerns[0].severity <= Severity.FAILURE
        return self.subject(0) if has_failed else None

    def lines(self, cells: int, rows: int | None = None) -> Sequence[tuple[int, Line]]:
        """Return number and text of each concern.

        Args:
            cells: The width.
            rows: The height. Where it is too low for everything, causes come first, then remedies, then effects.
        """
        note = warning_note(self.session.simulation.scenario)
        warned = [(-1, line(Span(each, Role.DIM))) for each in (wrapped(note, cells) if note is not None else ())]
        if not self.concerns:
            good = Span(f"{self.session.glyphs.good} ", Role.OK)
            return [(-1, line(good, Span(CALM, Role.DIM))), *warned]
        parts = [list(lines) for lines in zip(*self._parts_in(cells), strict=True)]
        room = None if rows is None else rows - len(warned) - sum(map(len, parts[0]))
        for lines in parts[:0:-1]:
            for number, drawn in enumerate(lines):
                if room is not None:
                    lines[number] = drawn if len(drawn) <= room else []
                    room -= len(lines[number])
        by_concern = enumerate(zip(*parts, strict=True))
        found = [(number, each) for number, of_it in by_concern for part in of_it for each in part]
        return [*found, *warned]

    def _parts_in(self, cells: int) -> Sequence[Sequence[Sequence[Line]]]:
        """Return for each concern the lines of its cause, of its effect and of its remedy."""
        session, concerns = self.session, self.concerns
        key = cells, session.time_format, session.glyphs.ascii_only
        before, kept = self._parts.get(key, (None, {}))
        said = [(*_told(each), session.clock(each.since_ms)) for each in concerns]
        if before is not concerns:
            kept = {
                told: kept.get(told) or [list(part(each, cells)) for part in (self._cause, self._effect, self._remedy)]
                for told, each in zip(said, concerns, strict=True)
            }
            self._parts[key] = concerns, kept
        return [kept[told] for told in said]

    def _cause(self, concern: Finding, cells: int) -> Iterator[Line]:
        """Yield what is wrong, with the time at the right."""
        role, text = _ROLES[concern.severity], self.session.text
        said, when = text(concern.full_text), self.session.clock(concern.since_ms)
        clock = (Span(when, Role.DIM),) if cells >= _WITH_CLOCK and when not in said else ()
        first = wrapped(said, cells - _INDENT - (width(clock) + 1 if clock else 0))[0]
        rest = wrapped(said[len(first) :].strip(), cells - _INDENT) if len(first) < len(said) else []
        told = Role.STRONG if role is Role.FAILED else Role.PLAIN
        head = line(Span(f"{self._symbol(concern)} ", role), Span(first, told))
        yield between(head, clock, cells) if clock else head
        for each in rest:
            yield line(Span(f"  {each}", told))

    def _effect(self, concern: Finding, cells: int) -> Iterator[Line]:
        """Yield what follows from it."""
        text = self.session.text
        if concern.effect:
            for each in wrapped(text(concern.effect), cells - _INDENT):
                yield line(Span(f"  {each}", Role.DERIVED))

    def _remedy(self, concern: Finding, cells: int) -> Iterator[Line]:
        """Yield the key that helps. The colon keeps it from being read as an article where there are no colours."""
        text = self.session.text
        if concern.remedy:
            key, *more = wrapped(text(f"a: {concern.remedy}"), cells - _INDENT)
            yield line("  ", Span("a", Role.KEY), Span(key[1:], Role.DIM))
            for each in more:
                yield line(Span(f"  {each}", Role.DIM))

    def _symbol(self, concern: Finding) -> str:
        glyphs = self.session.glyphs
        if concern.state is not None:
            return glyphs.of(NODE[concern.state])
        return glyphs.bad if concern.severity <= Severity.FAILURE else "!"

    def subject(self, number: int) -> ItemRef | None:
        """Return the first item of a concern."""
        return next(iter(self.subjects(number)), None)

    def subjects(self, number: int) -> Sequence[ItemRef]:
        """Return all items of a concern, for an action on the group."""
        return subjects_of(self.concerns[number]) if 0 <= number < len(self.concerns) else ()

    def destination(self, number: int) -> Destination:
        """Return where a concern leads."""
        kind, items = self.concerns[number].about, self.concerns[number].items
        view = SHEETS.get(kind) or VIEWS[kind]
        first: int | str | None = next(iter(items.nodes or items.tasks), None)
        focus = ItemRef("pool", items.pools[0]) if items.pools else None
        if items.jobs:
            focus = ItemRef("job", items.jobs[0])
        if view in ("jobs", "pools", "schedules"):
            first = next(iter({"jobs": items.jobs, "pools": items.pools}.get(view, items.schedules)), None)
        return Destination(view, first, focus)


def subjects_of(concern: Finding) -> list[ItemRef]:
    """Return the items that a concern is about: of a job itself, else nodes and tasks before what they belong to."""
    items, is_of_job = concern.items, concern.about == "job"
    kinds: tuple[tuple[Kind, Sequence[int | str]], ...] = (
        ("node", () if is_of_job else items.nodes),
        ("task", () if is_of_job else items.tasks),
        ("job", items.jobs),
        ("job schedule", items.schedules),
        ("pool", items.pools),
    )
    return next(([ItemRef(kind, key) for key in keys] for kind, keys in kinds if keys), [])


def _told(concern: Finding) -> tuple[object, ...]:
    """Return what decides on the lines of a concern, beside the time."""
    number = len(concern.items.tasks) or len(concern.items.nodes)
    return concern.severity, concern.text, concern.names, number, concern.state, concern.effect, concern.remedy


_REST = 20  # times the time that reading takes, until it is read again
_LEAST_TEXT = 20  # cells


class ExpectationsModel(RowsModel):
    """Expectations, broken ones first."""

    title = "Expectations"
    own_order = "broken ones first"
    columns = (
        Column("", 1),
        Column("Expectation", 16, "what it is about", stretch=True, is_id=True),
        Column("Property", 14, "what is compared; the first that differs, if several are"),
        Column("Wanted", 12, "the value that the scenario expects"),
        Column("Now", 12, "the value at this moment, or when it was decided"),
        Column("When", 13, "the moment for which it is expected", from_width=70),
        Column("Decided", 8, "when it was met or broken; empty while it is open", from_width=84, is_whole=True),
    )
    help_text = fmt.help_on("Expectations")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._rows: Sequence[ExpectationRow] = ()
        self._moment: tuple[int, int, int] | None = None
        self._next_s = 0.0

    def order(self) -> Sequence[int]:
        """Return the expectations, read anew at another moment; less often if reading takes long while time passes."""
        simulation = self.session.simulation
        moment = simulation.moment
        begin_s = time.monotonic()
        has_jumped = self._moment is None or self._moment[0] != moment[0]
        if moment != self._moment and (has_jumped or simulation.finished or begin_s >= self._next_s):
            self._rows = sorted(expectation_rows(simulation), key=lambda each: (each.state.value, each.number))
            self._moment = moment
            self._next_s = begin_s + _REST * (time.monotonic() - begin_s)
        return range(len(self._rows))

    def row(self, key: int) -> ExpectationRow:
        """Return an expectation."""
        return self._rows[key]

    def cells(self, key: int) -> tuple[Span, ...]:
        one = self._rows[key]
        glyph = EXPECTATION[one.state]
        part, more = one.differing[0], len(one.differing) - 1
        seen = Span(part.seen, _role(one, part))
        return (
            self.session.glyphs.span(glyph),
            Span(one.subject),
            Span(f"{part.name}{f' +{more}' if more else ''}"),
            Span(part.wanted),
            seen,
            Span(one.when),
            Span("" if one.decided_ms is None else self.session.clock(one.decided_ms)),
        )

    def identity_of(self, key: int) -> str:
        return f"{self._rows[key].number} {self._rows[key].subject}"

    def is_failed(self, key: int) -> bool:
        return self._rows[key].state is ExpectationState.BROKEN

    def empty(self) -> Sequence[str]:
        return ("The scenario expects nothing. expect: in its file says what must be true at the end.",)

    def summary(self, cells: int = WHOLE) -> Line:
        counts = ((EXPECTATION[state], sum(one.state is state for one in self._rows)) for state in ExpectationState)
        return self.session.glyphs.counts(counts, "expectation", cells)

    def subject_of(self, key: int) -> ItemRef | None:
        one = self._rows[key]
        match one.kind:
            case "job" | "pool" | "job schedule" as kind:
                return ItemRef(kind, one.item_id)
        return None

    def sentence(self, key: int) -> Line:
        one = self._rows[key]
        said = "; ".join(f"{part.name} {part.wanted}, now {part.seen}" for part in one.differing)
        return line(Span(f"{one.subject} {one.when}: {said}", Role.DERIVED))

    def details(self, key: int) -> Sequence[Block]:
        one = self._rows[key]
        glyph = EXPECTATION[one.state]
        state = (
            row("State", glyph.name, glyph.role),
            row("Expected", one.when),
            row("Decided", None if one.decided_ms is None else self.session.clock(one.decided_ms)),
            row("Line in the file", f"{one.line:,}" if one.line else None),
        )
        parts = (row(part.name, _compared(part), _role(one, part)) for part in one.parts)
        return Block(one.subject, state), Block("Wanted and seen", tuple(parts))


def _role(one: ExpectationRow, part: ExpectationPart) -> Role:
    if part.is_met:  # which says nothing yet before its moment
        return Role.PLAIN if one.state is ExpectationState.PENDING else Role.OK
    return Role.FAILED if one.state is ExpectationState.BROKEN else Role.WARNING


def _compared(part: ExpectationPart) -> str:
    return part.seen if part.is_met else f"{part.seen}, wanted {part.wanted}"


def expectation_lines(model: ExpectationsModel, cells: int) -> list[Line]:
    """Return all expectations with all their parts, for a sheet."""
    model.update()
    if not model.count:
        return [line(Span(each, Role.DIM)) for text in model.empty() for each in wrapped(text, cells)]
    lines: list[Line] = [model.summary(cells), ()]
    session = model.session
    for at in range(model.count):
        one = model.row(model.key(at))
        glyph = EXPECTATION[one.state]
        decided = "" if one.decided_ms is None else f" {session.clock(one.decided_ms)}"
        state = line(Span(f"{glyph.name}{decided}", glyph.role))
        heading, *rest = wrapped(session.text(f"{one.subject} {one.when}"), max(_LEAST_TEXT, cells - width(state) - 3))
        lines.append(between(line(session.glyphs.span(glyph), Span(f" {heading}", Role.STRONG)), state, cells))
        lines += [line(Span(f"  {each}", Role.STRONG)) for each in rest]
        for part in one.parts:
            said = f"{part.name}: {part.seen}" + ("" if part.is_met else f", wanted {part.wanted}")
            lines += [line(Span(f"  {each}", _role(one, part))) for each in wrapped(session.text(said), cells - 2)]
    return lines


END_WORDS = ("est. ", "ends ")  # before an end that is estimated, and before one that is simulated


def estimates(session: Session, job: JobRow) -> tuple[Line, Line, Line]:
    """Return the ends of preparation, tasks and job, one for each line of the rail; empty if unknown."""
    forecast, clock = session.forecast(), session.clock
    if job.record.end_ms is not None:
        return (), (), line(Span(f"ended {clock(job.record.end_ms)}", glyph_of_job(job).role))
    how, moments = END_WORDS[forecast.is_simulated], (forecast.preparation_ms, forecast.tasks_ms, forecast.job_ms)
    first, second, third = (
        () if end_ms is None else line(Span(f"{how}{clock(end_ms)}", Role.DERIVED)) for end_ms in moments
    )
    return first, second, third


def estimate_line(session: Session, job: JobRow, cells: int) -> Line:
    """Return the ends of all phases, and how long the oldest task has been waiting, or when other jobs come."""
    wait_ms = job.phases.tasks.oldest_wait_ms
    wait = f"oldest wait {fmt.span(wait_ms)}" if wait_ms is not None else ""
    wait = session.coming_jobs if job.record.end_ms is not None else wait
    whole, brief = ends(session, job, has_basis=False), ends(session, job, is_brief=True, has_basis=False)
    with_basis = [ends(session, job), ends(session, job, is_brief=True)] if session.forecast().basis else []
    forms = [(each, said) for each in with_basis for said in (wait, "")]
    forms += [(whole, wait), (brief, wait), (brief, "")]
    told, wait = next((form for form in forms if width(form[0]) + 1 + len(form[1]) <= cells), forms[-1])
    return between(told, line(Span(wait, Role.DERIVED)) if wait else (), cells)


def ends(session: Session, job: JobRow, *, is_brief: bool = False, has_basis: bool = True) -> Line:
    """Return the ends of preparation, tasks and job, known or estimated; a brief text names only the phases.

    With ``has_basis`` simulated ends name the commands and faults of the timeline that they rest on.
    """
    end, verb, ended = ("", "", "") if is_brief else (" end", " ends", " ended")
    clock, forecast = session.clock, session.forecast()
    if job.record.end_ms is not None:
        after = fmt.span(job.record.end_ms - job.record.created_ms)
        return line(Span(f"Ended {clock(job.record.end_ms)}, {after} after it was added", glyph_of_job(job).role))
    until_ms = session.simulation.scenario.until_ms
    if session.is_over and not session.is_past and until_ms is not None and session.now_ms >= until_ms:
        said, cut = f"still {JOB[job.state].name}", unfinished([job.phases])
        whole = f"The run ends here, as its until says; the job is {said}{cut and f', with {cut}'}"
        return line(Span(f"{said} at the end" if is_brief else whole, Role.WARNING))
    known, estimated = [], []
    never_ends = forecast.stays_active and job.record.on_all_tasks_complete.value == "terminatejob"
    if forecast.prepared_ms is not None:
        known.append(f"Preparation{ended} {clock(forecast.prepared_ms)}")
    if forecast.preparation_ms is not None:
        estimated.append(f"preparation{verb} {clock(forecast.preparation_ms)}")
    if forecast.tasks_ms is not None:
        last = "no task left" if forecast.tasks_are_deleted else f"tasks{end}"
        estimated.append(f"{last} {clock(forecast.tasks_ms)}")
    if forecast.job_ms is not None:
        estimated.append(f"job{verb} {clock(forecast.job_ms)}")
    if estimated:
        how = "Simulated" if forecast.is_simulated else "Estimated"
        basis = basis_words(forecast.basis, clock) if has_basis else ""
        known.append(", ".join(filter(None, (f"{how}: {session.text(' · ').join(estimated)}", basis))))
    elif session.awaits_end:
        known.append("Simulating the rest of the run")
    elif job.state is JobState.ACTIVE and job.phases.tasks.open and not (forecast.is_simulated or never_ends):
        least = forecast.least_done
        none_yet = f"No estimate before {fmt.counted(least, 'completed task')}" if least else "No estimate yet"
        known.append(none_yet if job.phases.tasks.running else "No estimate: no task runs")
    if forecast.stays_active and job.state is JobState.ACTIVE:
        until = "no task is left or it is terminated" if never_ends else "it is terminated"
        known.append("job stays active" if is_brief else f"the job stays active until {until}")
    return line(Span("   ".join(known), Role.DERIVED))
