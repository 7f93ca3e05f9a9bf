"""The timeline: the part of the run it shows, its cursor, and its lines."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from engine.base.values import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from engine.views.log.lanes import Lanes
from engine.views.log.reader import Kept
from engine.views.resources.jobs import job_ids
from tui.viewmodels.glyphs import NODE, PREPARATION, RELEASE
from tui.viewmodels.text import Line, Role, Span, cut, line
from tui.viewmodels.timeline.kinds import JobRows, NodeRows, TaskRows
from tui.viewmodels.timeline.lines import Frame, PoolBand, RowLines, axis, legend_line
from tui.viewmodels.timeline.rows import ROUND_STEPS_MS, Height, TimeColumns, fitted, height_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.viewmodels.glyphs import Glyph
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import ItemRef
    from tui.viewmodels.timeline.rows import Openable, TimelineRows

LABEL_CELLS, _WITH_NOTES = 10, 14  # of a label, and with a state such as ``left the pool`` below it
_KINDS: tuple[type[TimelineRows], ...] = (NodeRows, TaskRows, JobRows)
_SEEN_SHARE = 0.75  # share of the columns before the present moment when it comes into view
_LEAST_CONTEXT = 3  # lines
_MOST_LABELS = 500  # rows whose names decide on the width of the labels
PIECE = 10_000  # log entries that are read in one go


_STATES = {glyph: at for at, glyph in enumerate((*PREPARATION.values(), *RELEASE.values(), *NODE.values()))}


def _rank(glyph: Glyph) -> tuple[bool, int, str]:
    return glyph.role is not Role.FAILED, _STATES.get(glyph, len(_STATES)), glyph.name


class TimelineModel:
    """Rows over time, and the cell under the cursor."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lanes = Lanes(session.simulation)
        self._kinds: tuple[TimelineRows, ...] = tuple(kind(session, self.lanes) for kind in _KINDS)
        (self._jobs,) = (rows for rows in self._kinds if isinstance(rows, JobRows))
        self.rows = self._kinds[0]
        self.keys: Sequence[int] = ()  # the rows, in order
        self.only_failed = False
        self.cursor_ms: int | None = None  # None: the present moment
        self.columns = TimeColumns(0, 1, SECOND_MS)
        self._is_fitted = True
        self.label_cells = LABEL_CELLS
        self.height = Height(1, 1, 0)
        self.pool_band = PoolBand(session, self.lanes)
        self._lines = RowLines(session)
        self._all_read: object = None  # what was recorded of the visible rows when all of it had been read
        self._drawn: tuple[object, Sequence[Line]] = (None, ())  # from what the rows were drawn, and their lines
        self._longest: Kept[int] = Kept()  # label, in cells
        self._below: Sequence[int] = ()  # the jobs below the nodes
        self._symbols: Kept[list[Glyph]] = Kept()
        self._legend: Kept[Line] = Kept()

    # -- looking -------------------------------------------------------------------------------------------------

    def update(self, cells: int, lines: int = 1) -> None:
        """Read the simulation again.

        Args:
            cells: The cells beside a label of ``LABEL_CELLS``; a wider label takes some of them.
            lines: The lines for the rows.
        """
        self.lanes.update(PIECE)
        self.keys = self.rows.order(only_failed=self.only_failed)
        self.height = height_of(len(self.keys), lines, self.rows.tracks_wanted())
        self.label_cells = self._label_cells(cells + LABEL_CELLS)
        self._choose_columns(max(1, cells + LABEL_CELLS - self.label_cells))

    def _choose_columns(self, cells: int) -> None:
        shown = self.columns
        if self._is_fitted and self.cursor_ms is None:
            self.columns = fitted(self.rows.extent(), cells)
            return
        first = max(0, shown.first + shown.number - cells)  # the last column stays the last
        self.columns = TimeColumns(first, cells, shown.step_ms)
        self._keep_cursor_in_view()

    def _label_cells(self, cells: int) -> int:
        """Return the width of the labels: whole names, but at most a fifth of the width."""
        session, keys = self.session, self.keys[:_MOST_LABELS]
        jobs = job_ids(session.simulation) if self.has_jobs_below and self.height.lines > 1 else []
        sources = self.rows, session.job_id, session.pool_id, session.simulation.jumps, list(keys), jobs
        labels = chain(map(self.rows.label, keys), jobs)
        longest = self._longest.get(sources, lambda: max(map(cell_len, labels), default=0))
        least = _WITH_NOTES if self.height.body > 1 else LABEL_CELLS
        return max(min(least, cells // 5), min(longest + 1, cells // 5), LABEL_CELLS)

    def is_behind(self, seen: Sequence[int]) -> bool:
        """Return True if reading must go on before these rows are complete."""
        return self.lanes.unread_from_ms() is not None or not self._are_read(seen)

    def _are_read(self, keys: Sequence[int]) -> bool:
        """Return whether all that is recorded of these rows has been read; read on otherwise."""
        recorded = self.rows.recorded_of(keys)
        if recorded is None or recorded != self._all_read:
            if not all(map(self.rows.is_read, keys)):
                return False
            self._all_read = recorded
        return True

    def go_on(self, seen: Sequence[int]) -> bool:
        """Read for a few milliseconds. Return True if there is more to do for these rows."""
        self.lanes.update(PIECE)
        return self.is_behind(seen)

    @property
    def when_ms(self) -> int:
        """The moment of the cursor, in ms since the start."""
        return self.session.now_ms if self.cursor_ms is None else self.cursor_ms

    @property
    def cursor_column(self) -> int:
        """The column of the cursor, counted from the first one shown."""
        return self.columns.column_at(self.when_ms)

    def _keep_cursor_in_view(self) -> None:
        columns, at = self.columns, self.cursor_column
        if at < 0:
            self._show_from(columns.first + at)
        elif at >= columns.number:  # leave room for what follows the present moment
            last = columns.number - 1 if self.cursor_ms is not None else int(columns.number * _SEEN_SHARE)
            self._show_from(columns.first + at - last)

    def _show_from(self, first: int) -> None:
        self.columns = self.columns._replace(first=max(0, first))

    # -- moving --------------------------------------------------------------------------------------------------

    def move(self, columns: int) -> None:
        """Move the cursor by columns; scroll if necessary."""
        step_ms = self.columns.step_ms
        last_ms = self.columns.begin_ms(self.columns.number - 1)  # the first move begins on the screen
        begin = min(self.when_ms, last_ms) if self.cursor_ms is None else self.when_ms
        self.cursor_ms = max(0, min((begin // step_ms + columns) * step_ms, self.session.simulation.end_ms))
        self._is_fitted = False
        self._keep_cursor_in_view()

    def zoom(self, by: int) -> None:
        """Zoom in (1) or out (-1): a column lasts half or twice as long, a round duration, up to a day."""
        at, present = min(self.cursor_column, self.columns.number - 1), self.columns.step_ms
        steps = [each for each in ROUND_STEPS_MS if (2 * each <= present if by > 0 else 2 * present <= each <= DAY_MS)]
        if not steps:
            return
        step = steps[-1] if by > 0 else steps[0]
        self._is_fitted = False
        self.columns = TimeColumns(max(0, self.when_ms // step - at), self.columns.number, step)

    def follow(self) -> None:
        """Put the cursor back on the present moment, after a move in time."""
        self.cursor_ms = None

    def fit(self) -> None:
        """Show the whole run again, with the cursor at the present moment."""
        self.cursor_ms, self._is_fitted = None, True

    def remembered(self) -> dict[str, Any]:
        """Return the user's choices, for another run."""
        return {"rows": self._kinds.index(self.rows), "step_ms": None if self._is_fitted else self.columns.step_ms}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choices."""
        self.rows, self.keys, step_ms = self._kinds[values.get("rows", 0)], (), values.get("step_ms")
        if step_ms is not None:
            self.columns, self._is_fitted = self.columns._replace(step_ms=step_ms), False

    def next_rows(self) -> None:
        """Show the next kind of rows: nodes, tasks, jobs."""
        self.rows, self.keys = self._kinds[(self._kinds.index(self.rows) + 1) % len(self._kinds)], ()

    # -- under the cursor ----------------------------------------------------------------------------------------

    def subject(self, index: int) -> ItemRef | None:
        """Return the item of the row at an index."""
        return self.rows.subject(self.keys[index]) if index < len(self.keys) else None

    def moment_ms(self, index: int) -> int | None:
        """Return the moment of the cell under the cursor, or None if it is not recorded."""
        if self.cursor_ms is None or index >= len(self.keys):
            return self.session.now_ms
        begin_ms = self.columns.begin_ms(self.cursor_column)
        when_ms = self.rows.moment_ms(self.keys[index], begin_ms, begin_ms + self.columns.step_ms)
        return when_ms if when_ms <= self.rows.recorded_ms else None

    def item_to_explain(self, index: int) -> ItemRef | None:
        """Return the item to explain for the cell under the cursor."""
        when_ms = self.moment_ms(index)
        if index >= len(self.keys) or when_ms is None:
            return self.subject(index)
        return self.rows.item_to_explain(self.keys[index], when_ms)

    def openables(self, index: int) -> list[Openable]:
        """Return what can be opened of the cell under the cursor, at the present moment."""
        return self.rows.openables(self.keys[index], self.session.now_ms) if index < len(self.keys) else []

    # -- lines ---------------------------------------------------------------------------------------------------

    def title(self) -> str:
        """Return kind and number of the rows, and the duration of a column."""
        rows = self.rows
        parts = [f"{rows.name} {rows.whose}".rstrip(), f"{len(self.keys):,}"]
        parts += ["only failed"] if self.only_failed else []
        parts.append(f"one column is {_duration(self.columns.step_ms)}")
        if self.lanes.unread_from_ms() is not None:
            parts.append(f"{self.lanes.progress:.0%} read")
        return f" {self.session.glyphs.dot} ".join(parts)

    def axis(self) -> Line:
        """Return the times of day above the columns, with the present moment."""
        return axis(self.session, self.columns, self.label_cells)

    def lines(self, shown: range, at: int) -> Sequence[Line]:
        """Return the lines of these rows; ``at`` is the one under the cursor."""
        rows, frame, keys = self.rows, self._frame(self.height), self.keys[shown.start : shown.stop]
        recorded = rows.recorded_of(keys) if self.height.body == 1 and not self.height.track else None
        cursor = (at, self.cursor_column) if at in shown else None
        drawn_from = recorded, frame, cursor, rows.ends_of(keys, self.columns) if recorded is not None else None
        if recorded is None or drawn_from != self._drawn[0]:
            lines = [each for index in shown for each in self.row_lines(index, is_cursor=index == at, frame=frame)]
            self._drawn = drawn_from if self._are_read(keys) else None, lines
        return self._drawn[1]

    def row_lines(self, index: int, *, is_cursor: bool, frame: Frame | None = None) -> list[Line]:
        """Return the lines of a row: its label and its cells. The planned part is drawn as a line."""
        frame = frame or self._frame(self.height)
        column = self.cursor_column if is_cursor else None
        is_beside = column is not None and not 0 <= column < frame.columns.number
        return self._lines.of(self.rows, self.keys[index], frame, -1 if is_beside else column)

    def _frame(self, height: Height) -> Frame:
        return Frame(self.columns, self.label_cells, height, self.session.glyphs.ascii_only, self.is_finished)

    @property
    def is_finished(self) -> bool:
        """True if nothing follows what is recorded."""
        return self.session.is_over and not self.session.is_past

    @property
    def has_jobs_below(self) -> bool:
        """True if the rows are those of nodes: the jobs stand below them."""
        return self.rows is self._kinds[0]

    def context(self, lines: int) -> list[Line]:
        """Return the jobs of the pool, as far as there are lines for them below the nodes, in the same columns."""
        jobs, self._below = self._jobs, ()
        if not self.has_jobs_below or lines < _LEAST_CONTEXT:
            return []
        keys = jobs.of_pool()
        height = height_of(min(len(keys), lines - 1), lines - 1, 1)
        height = height._replace(track=min(2, height.track), body=min(2, height.body))
        self._below = shown = keys[: (lines - 1) // height.lines]
        found: list[Line] = [(Span("jobs", Role.STRONG), Span(" " * (self.label_cells + self.columns.number - 4)))]
        frame = self._frame(height)
        for key in shown:
            found += self._lines.of(jobs, key, frame, None)
        return found[:lines] if keys else []

    def band(self, index: int, lines: int = 1) -> list[Line]:
        """Return the pool band, each curve in some lines, with the numbers of the moment under the cursor."""
        known_ms = self.rows.known_ms()
        return self.pool_band.lines(self.columns, known_ms, self.moment_ms(index), self.label_cells, lines)

    def cursor_line(self, index: int, cells: int) -> Line:
        """Return what the cell under the cursor shows."""
        if index >= len(self.keys):
            return ()
        when_ms, key = self.moment_ms(index), self.keys[index]
        label = Span(f"{self.rows.label(key)}  ", Role.STRONG)
        if when_ms is None:
            begin_ms = self.columns.begin_ms(self.cursor_column)
            return cut(line(label, Span(f"{self.session.clock(begin_ms)} is not simulated yet", Role.DIM)), cells)
        clock = Span(f"{self.session.clock(when_ms)}  ", Role.DIM)
        unread_ms = self.rows.unread_from_ms(key)
        if unread_ms is not None and when_ms >= unread_ms:
            return cut(line(label, clock, Span(f"read up to {self.session.clock(unread_ms)}", Role.DIM)), cells)
        return cut(line(label, clock, *self.rows.description_at(key, when_ms)), cells)

    def symbols(self, shown: range) -> list[Glyph]:
        """Return the glyphs in these rows and in the jobs below them, trouble first."""
        seen = self._lines.glyphs_of(self.rows, self.keys[shown.start : shown.stop])
        seen |= self._lines.glyphs_of(self._jobs, self._below)
        return self._symbols.get(seen, lambda: sorted(seen, key=_rank))

    def legend(self, cells: int, shown: range) -> Line:
        """Return the meaning of what stands in these rows, and in the jobs below them."""
        named, glyphs = self.symbols(shown), self.session.glyphs
        return self._legend.get((named, glyphs.ascii_only, cells), lambda: legend_line(named, glyphs, cells))

    def empty(self) -> Sequence[str]:
        """Return the reason why there are no rows."""
        if self.only_failed:
            return (f"None of the {self.rows.name} has failed.", "Press ! to see all.")
        return self.session.none_yet(self.rows.name.removesuffix("s"))


def _duration(ms: int) -> str:
    """Return the duration of a column: ``30 s``, ``5 min``, ``6 h``, ``1 day``, ``4.2 s``."""
    for unit_ms, name in ((DAY_MS, "day"), (HOUR_MS, "h"), (MINUTE_MS, "min")):
        if ms >= unit_ms:
            return f"{round(ms / unit_ms, 1):g} {name}"
    return f"{round(ms / SECOND_MS, 1 if ms >= SECOND_MS else 2):g} s"
