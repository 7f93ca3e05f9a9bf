"""The list of the scenario's expectations, also as a sheet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.views.pages.expectations import ExpectationState, expectation_rows
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import RowsModel
from tui.viewmodels.text.blocks import Block, row
from tui.viewmodels.text.glyphs import EXPECTATION
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, between, line, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.expectations import ExpectationPart, ExpectationRow
    from tui.viewmodels.session.session import Session

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
    help_text = (
        "The scenario says with expect: what must be true at the end, at a time, or within a time. "
        "batchdeck run checks the same.\n"
        "Pending ones show how it stands now. Refused commands are listed too."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._rows: Sequence[ExpectationRow] = ()
        self._moment: tuple[int, int, int] | None = None
        self._next_s = 0.0

    def order(self) -> Sequence[int]:
        """Return the expectations, read anew at another moment; less often if reading takes long while time passes."""
        simulation = self.session.simulation
        moment = simulation.jumps, len(simulation.log), simulation.now_ms
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

    def summary(self) -> Line:
        counts = ((EXPECTATION[state], sum(one.state is state for one in self._rows)) for state in ExpectationState)
        return self.session.glyphs.counts(counts)

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
    if part.is_met:
        return Role.OK
    return Role.FAILED if one.state is ExpectationState.BROKEN else Role.WARNING


def _compared(part: ExpectationPart) -> str:
    return part.seen if part.is_met else f"{part.seen}, wanted {part.wanted}"


def expectation_lines(model: ExpectationsModel, cells: int) -> list[Line]:
    """Return all expectations with all their parts, for a sheet."""
    model.update()
    if not model.count:
        return [line(Span(each, Role.DIM)) for text in model.empty() for each in wrapped(text, cells)]
    lines: list[Line] = [model.summary(), ()]
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
