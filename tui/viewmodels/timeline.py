"""The timeline: which part of the run is shown how closely, and each line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from engine.views.lanes import Lanes
from tui.viewmodels.lane_rows import KINDS, Columns, LaneRows
from tui.viewmodels.text import Line, Role, Span, between, cut, fit, line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.viewmodels.session import Session
    from tui.viewmodels.subject import Subject

# How long a column lasts.
STEPS_MS = (
    *(seconds * SECOND_MS for seconds in (1, 5, 15, 30)),
    *(minutes * MINUTE_MS for minutes in (1, 5, 15)),
    *(hours * HOUR_MS for hours in (1, 6)),
    DAY_MS,
)
LABEL_CELLS = 10
_TICK = 12  # columns between two times on the axis
_SEEN_SHARE = 0.75  # of the columns show what has happened when the whole run is fitted in


class TimelineModel:
    """Rows over time, and the cell under the cursor."""

    def __init__(self, session: Session) -> None:
        """The timeline of this session; empty until ``refresh``."""
        self.session = session
        self._lanes = Lanes(session.simulation)
        self._kinds: tuple[LaneRows, ...] = tuple(kind(session, self._lanes) for kind in KINDS)
        self.rows = self._kinds[0]
        self.keys: Sequence[int] = ()
        self.only_failed = False
        self.cursor_ms: int | None = None  # None: the cursor stays at the present moment
        self._step = 0
        self._is_fitted = True
        self.columns = Columns(0, 1, STEPS_MS[0])

    def refresh(self, cells: int) -> None:
        """Look at the simulation again, with room for so many cells beside the label."""
        self._lanes.refresh()
        self.keys = self.rows.order(only_failed=self.only_failed)
        if self._is_fitted:
            wanted_ms = self.rows.recorded_ms / (cells * _SEEN_SHARE)
            self._step = next((at for at, step in enumerate(STEPS_MS) if step >= wanted_ms), len(STEPS_MS) - 1)
        step_ms = STEPS_MS[self._step]
        first = 0 if self._is_fitted else self.columns.first
        if self.columns.step_ms != step_ms or self.columns.number != cells:
            self.columns = Columns(first, cells, step_ms)
        self._keep_cursor_in_view()

    @property
    def cursor_column(self) -> int:
        """The column of the cursor, counted from the first one shown."""
        when_ms = self.session.now_ms if self.cursor_ms is None else self.cursor_ms
        return when_ms // self.columns.step_ms - self.columns.first

    def _keep_cursor_in_view(self) -> None:
        columns, at = self.columns, self.cursor_column
        if at < 0:
            self._show_from(columns.first + at)
        elif at >= columns.number:
            self._show_from(columns.first + at - columns.number + 1)

    def _show_from(self, first: int) -> None:
        self.columns = self.columns._replace(first=max(0, first))

    # -- moving --------------------------------------------------------------------------------------------------

    def move(self, columns: int) -> None:
        """Move the cursor by columns, and with it what is shown."""
        step_ms = self.columns.step_ms
        when_ms = self.session.now_ms if self.cursor_ms is None else self.cursor_ms
        self.cursor_ms = max(0, min((when_ms // step_ms + columns) * step_ms, self.session.simulation.end_ms))
        self._is_fitted = False
        self._keep_cursor_in_view()

    def move_to_column(self, column: int) -> None:
        """Put the cursor on a column that is shown."""
        self.move(column - self.cursor_column)

    def zoom(self, by: int) -> None:
        """Look closer (1) or from farther away (-1), with the cursor where it is on the screen."""
        at = self.cursor_column
        step = max(0, min(self._step - by, len(STEPS_MS) - 1))
        if step == self._step:
            return
        when_ms = self.session.now_ms if self.cursor_ms is None else self.cursor_ms
        self._step, self._is_fitted = step, False
        self.columns = Columns(max(0, when_ms // STEPS_MS[step] - at), self.columns.number, STEPS_MS[step])

    def fit(self) -> None:
        """Show the whole run again, with the cursor at the present moment."""
        self.cursor_ms, self._is_fitted = None, True

    def remembered(self) -> dict[str, Any]:
        """What was chosen, and not left to the timeline."""
        found: dict[str, Any] = {} if self.rows is self._kinds[0] else {"rows": self.rows.name}
        return found | ({} if self._is_fitted else {"zoom": self.columns.step_ms / SECOND_MS})

    def recall(self, values: Mapping[str, Any]) -> None:
        """Show the rows, and so many seconds in a column, as it was."""
        self.rows = next((kind for kind in self._kinds if kind.name == values.get("rows")), self._kinds[0])
        if "zoom" in values:
            wanted_ms = values["zoom"] * SECOND_MS
            self._step = next((at for at, step in enumerate(STEPS_MS) if step >= wanted_ms), len(STEPS_MS) - 1)
            self._is_fitted = False

    def next_rows(self) -> None:
        """Nodes, tasks, jobs, nodes again."""
        self.rows = self._kinds[(self._kinds.index(self.rows) + 1) % len(self._kinds)]

    # -- under the cursor ----------------------------------------------------------------------------------------

    def subject(self, index: int) -> Subject | None:
        """What the row at this place is about."""
        return self.rows.subject(self.keys[index]) if index < len(self.keys) else None

    def moment_ms(self, index: int) -> int | None:
        """The moment of the cell under the cursor; None where nothing is recorded."""
        begin_ms = self.columns.begin_ms(self.cursor_column)
        if self.cursor_ms is None or index >= len(self.keys):
            return self.session.now_ms
        when_ms = self.rows.moment_ms(self.keys[index], begin_ms, begin_ms + self.columns.step_ms)
        return when_ms if when_ms <= self.rows.recorded_ms else None

    # -- lines ---------------------------------------------------------------------------------------------------

    def title(self) -> str:
        """What the rows are, and how long a column lasts."""
        session = self.session
        whose = session.pool_id if self.rows.name == "nodes" else session.job_id if self.rows.name == "tasks" else ""
        which = " · only failed" if self.only_failed else ""
        return f"{self.rows.name} {whose}".rstrip() + f"{which} · one column is {_short_span(self.columns.step_ms)}"

    def axis(self) -> Line:
        """The times of day above the columns, and the present moment."""
        columns, glyphs = self.columns, self.session.glyphs
        now = self.session.now_ms // columns.step_ms - columns.first
        text = ""
        for at in range(0, columns.number, _TICK):
            time = self.session.clock(columns.begin_ms(at))
            text += fit("" if at <= now < at + len(time) else time, _TICK)
        text = text[: columns.number]
        spans = [Span(" " * LABEL_CELLS), Span(text, Role.DIM)]
        if 0 <= now < columns.number:
            spans[1:] = [Span(text[:now], Role.DIM), Span(glyphs.now, Role.STRONG), Span(text[now + 1 :], Role.DIM)]
        return tuple(spans)

    def row(self, index: int, *, is_cursor: bool) -> Line:
        """One row: its label and its cells; what is planned is drawn as a line."""
        key, columns, glyphs = self.keys[index], self.columns, self.session.glyphs
        label = fit(self.session.text(self.rows.label(key)), LABEL_CELLS - 1) + " "
        spans = [Span(label, Role.STRONG if is_cursor else Role.DIM)]
        cells = self.rows.cells(key, columns)
        drawn = [Span(glyphs.of(glyph), glyph.role) for glyph in cells]
        drawn += self._planned(key, len(cells))
        cursor = self.cursor_column
        if is_cursor and 0 <= cursor < len(drawn):  # as a letter: a block would hide the cursor
            drawn[cursor] = Span(cells[cursor].letter if cursor < len(cells) else " ", Role.CURSOR, is_fill=True)
        for span in drawn:
            if spans[-1][1:] == span[1:] and len(spans) > 1:
                spans[-1] = span._replace(text=spans[-1].text + span.text)
            else:
                spans.append(span)
        return tuple(spans)

    def _planned(self, key: int, recorded: int) -> list[Span]:
        """What comes after the present moment: as far as it is planned in the colour of work, then nothing known."""
        columns = self.columns
        planned_ms = None if self.session.is_past else self.rows.planned_ms(key)
        known = 0 if planned_ms is None else planned_ms // columns.step_ms + 1 - columns.first - recorded
        rest = max(0, columns.number - recorded)
        if self.rows.is_over(key) or (self.session.simulation.finished and not self.session.is_past):
            return [Span(" ", Role.OFF)] * rest
        known = max(0, min(known, rest))
        mark = self.session.glyphs.planned
        return [Span(mark, Role.RUNNING)] * known + [Span(mark, Role.OFF)] * (rest - known)

    def told(self, index: int, cells: int) -> Line:
        """What the cell under the cursor was."""
        when_ms = self.moment_ms(index)
        if index >= len(self.keys):
            return ()
        label = Span(f"{self.rows.label(self.keys[index])}  ", Role.STRONG)
        if when_ms is None:
            begin_ms = self.columns.begin_ms(self.cursor_column)
            return line(label, Span(f"{self.session.clock(begin_ms)} has not been reached yet", Role.DIM))
        clock = Span(f"{self.session.clock(when_ms)}  ", Role.DIM)
        return cut(line(label, clock, *self.rows.told(self.keys[index], when_ms)), cells)

    def legend(self, cells: int) -> Line:
        """What the cells mean."""
        spans: list[Span] = []
        for glyph in self.rows.legend:
            spans += [self.session.glyphs.span(glyph), Span(f" {glyph.name}  ", Role.DIM)]
        shown = f"{len(self.keys):,} {self.rows.name}"
        return between(tuple(spans), line(Span(shown, Role.DIM)), cells)

    def empty(self) -> Sequence[str]:
        """Why there are no rows."""
        if self.only_failed:
            return (f"None of the {self.rows.name} has failed.", "Press ! to see all.")
        return (f"There are no {self.rows.name} yet.", "Press space to let time go by, or . for one event.")


def _short_span(ms: int) -> str:
    """``30 s``, ``5 min``, ``6 h``, ``1 day``."""
    for unit_ms, name in ((DAY_MS, "day"), (HOUR_MS, "h"), (MINUTE_MS, "min")):
        if ms >= unit_ms:
            return f"{ms // unit_ms} {name}"
    return f"{ms // SECOND_MS} s"
