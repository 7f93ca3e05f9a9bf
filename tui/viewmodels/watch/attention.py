"""Needs attention: the concerns of the whole run, grouped by cause, the worst and newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.views.attention.concern import Severity
from tui.viewmodels.sheets.warnings import warning_note
from tui.viewmodels.text.glyphs import NODE
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, between, line, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.views.attention.concern import Concern
    from tui.viewmodels.session.session import Session

CALM = "Nothing needs attention."
_INDENT = 2  # cells of the symbol and the space after it
_WITH_CLOCK = 40  # cells; narrower panes leave out the time
_ROLES = {
    Severity.STANDSTILL: Role.FAILED,
    Severity.FAILURE: Role.FAILED,
    Severity.SHORTAGE: Role.WARNING,
    Severity.NOTICE: Role.OFF,
}
_VIEWS = {
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


class Destination(NamedTuple):
    """The target of a concern: a view or sheet, the row in it, and the job or pool that gets the focus."""

    view: str
    row: int | str | None
    focus: ItemRef | None

    @property
    def is_sheet(self) -> bool:
        """True if it is no view of its own."""
        return self.view in SHEETS.values()


class AttentionModel:
    """The concerns of all jobs, pools and job schedules."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.concerns: Sequence[Concern] = ()
        # By width and settings: the concerns, and by what they say the lines of each one's cause, effect and remedy.
        self._parts: dict[tuple[object, ...], tuple[object, dict[object, Sequence[Sequence[Line]]]]] = {}

    def update(self) -> None:
        """Read the simulation again; it answers anew only for another moment."""
        self.concerns = self.session.concerns()

    @property
    def role(self) -> Role:
        """The role of the worst concern."""
        return _ROLES[self.concerns[0].severity] if self.concerns else Role.OK

    @property
    def worst(self) -> ItemRef | None:
        """The first item of the worst concern; None while nothing has failed and no job stands still."""
        has_failed = bool(self.concerns) and self.concerns[0].severity <= Severity.FAILURE
        return self.subject(0) if has_failed else None

    def lines(self, cells: int, rows: int | None = None) -> Sequence[tuple[int, Line]]:
        """Return number and text of each concern.

        Args:
            cells: The width.
            rows: The height. Where it is too low for everything, causes come first, then effects, then remedies.
        """
        note = warning_note(self.session.simulation.scenario)
        warned = [(-1, line(Span(each, Role.DIM))) for each in (wrapped(note, cells) if note is not None else ())]
        if not self.concerns:
            good = Span(f"{self.session.glyphs.good} ", Role.OK)
            return [(-1, line(good, Span(CALM, Role.DIM))), *warned]
        parts = [list(lines) for lines in zip(*self._parts_in(cells), strict=True)]
        room = None if rows is None else rows - len(warned) - sum(map(len, parts[0]))
        for lines in parts[1:]:
            for number, drawn in enumerate(lines):
                if room is not None:
                    lines[number] = drawn if len(drawn) <= room else []
                    room -= len(lines[number])
        found = [
            (number, each) for number, of_it in enumerate(zip(*parts, strict=True)) for part in of_it for each in part
        ]
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

    def _cause(self, concern: Concern, cells: int) -> Iterator[Line]:
        """Yield what is wrong, with the time at the right."""
        role, text = _ROLES[concern.severity], self.session.text
        said, when = text(self.text_of(concern)), self.session.clock(concern.since_ms)
        clock = (Span(when, Role.DIM),) if cells >= _WITH_CLOCK and when not in said else ()
        first = wrapped(said, cells - _INDENT - (width(clock) + 1 if clock else 0))[0]
        rest = wrapped(said[len(first) :].strip(), cells - _INDENT) if len(first) < len(said) else []
        head = line(Span(f"{self._symbol(concern)} {first}", role))
        yield between(head, clock, cells) if clock else head
        for each in rest:
            yield line(Span(f"  {each}", role))

    def _effect(self, concern: Concern, cells: int) -> Iterator[Line]:
        """Yield what follows from it."""
        text = self.session.text
        if concern.effect:
            for each in wrapped(text(concern.effect), cells - _INDENT):
                yield line(Span(f"  {each}", Role.DERIVED))

    def _remedy(self, concern: Concern, cells: int) -> Iterator[Line]:
        """Yield the key that helps. The colon keeps it from being read as an article where there are no colours."""
        text = self.session.text
        if concern.remedy:
            key, *more = wrapped(text(f"a: {concern.remedy}"), cells - _INDENT)
            yield line("  ", Span("a", Role.KEY), Span(key[1:], Role.DIM))
            for each in more:
                yield line(Span(f"  {each}", Role.DIM))

    def _symbol(self, concern: Concern) -> str:
        glyphs = self.session.glyphs
        if concern.state is not None:
            return glyphs.of(NODE[concern.state])
        return glyphs.bad if concern.severity <= Severity.FAILURE else "!"

    def text_of(self, concern: Concern) -> str:
        """Return the cause, and the names of a few nodes or tasks."""
        size = len(concern.tasks) or len(concern.nodes)
        names = ", ".join(concern.names)
        return f"{concern.text}  {names}{' …' if len(concern.names) < size else ''}" if names else concern.text

    def subject(self, number: int) -> ItemRef | None:
        """Return the first item of a concern."""
        return next(self._items(number), None)

    def subjects(self, number: int) -> Sequence[ItemRef]:
        """Return all items of a concern, for an action on the group."""
        return list(self._items(number))

    def _items(self, number: int) -> Iterator[ItemRef]:
        if not 0 <= number < len(self.concerns):
            return
        concern = self.concerns[number]
        if concern.kind != "job" and (concern.nodes or concern.tasks):
            yield from (ItemRef("node", node) for node in concern.nodes)
            yield from (ItemRef("task", task) for task in concern.tasks)
        elif concern.jobs:
            yield from (ItemRef("job", job_id) for job_id in concern.jobs)
        elif concern.schedules:
            yield from (ItemRef("job schedule", schedule_id) for schedule_id in concern.schedules)
        else:
            yield from (ItemRef("pool", pool_id) for pool_id in concern.pools)

    def destination(self, number: int) -> Destination:
        """Return where a concern leads."""
        concern = self.concerns[number]
        view = SHEETS.get(concern.kind) or _VIEWS[concern.kind]
        first: int | str | None = next(iter(concern.nodes or concern.tasks), None)
        focus = ItemRef("pool", concern.pools[0]) if concern.pools else None
        if concern.jobs:
            focus = ItemRef("job", concern.jobs[0])
        if view in ("jobs", "pools", "schedules"):
            first = next(iter({"jobs": concern.jobs, "pools": concern.pools}.get(view, concern.schedules)), None)
        return Destination(view, first, focus)


def _told(concern: Concern) -> tuple[object, ...]:
    """Return what decides on the lines of a concern, beside the time."""
    number = len(concern.tasks) or len(concern.nodes)
    return concern.severity, concern.text, concern.names, number, concern.state, concern.effect, concern.remedy
