"""The band above the timeline's rows: nodes, running tasks and preparing nodes of the pool in focus."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tui.viewmodels.text.styled import Line, Role, Span, fit

if TYPE_CHECKING:
    from engine.views.lanes.lanes import Lanes
    from engine.views.lanes.totals import Peak
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.timeline.columns import TimeColumns

_NEVER_MS = 1 << 62
BAND = (("nodes", Role.QUIET), ("running", Role.RUNNING), ("preparing", Role.PREPARING))


class PoolBand:
    """Three lines of bars. The height of a bar is the highest number during its column."""

    def __init__(self, session: Session, lanes: Lanes) -> None:
        self._session = session
        self._lanes = lanes
        self._over: dict[int, tuple[int, list[int]]] = {}  # by line: the first column, and the numbers from there on
        self._tops: dict[int, Peak] = {}
        self._valid: object = None

    def values(self, columns: TimeColumns, known_ms: int) -> list[list[int]]:
        """Return for each line the highest number in each column that has begun. Columns that are over are cached."""
        valid = self._session.pool_id, self._lanes.version, columns.step_ms
        if valid != self._valid:
            self._over.clear()
            self._tops.clear()
            self._valid = valid
        found, step_ms = [], columns.step_ms
        stop = columns.first + columns.begun(known_ms)
        for number, counts in enumerate(self._lanes.in_pool(self._session.pool_id)):
            first, over = self._over.get(number, (columns.first, []))
            if not first <= columns.first <= first + len(over):
                first, over = columns.first, []
            new = range(first + len(over), min(stop, known_ms // step_ms))
            over += [counts.highest(column * step_ms, (column + 1) * step_ms)[0] for column in new]
            self._over[number] = first, over
            shown = over[columns.first - first : stop - first]
            last = range(columns.first + len(shown), stop)
            found.append(shown + [counts.highest(at * step_ms, (at + 1) * step_ms)[0] for at in last])
        return found

    def tops(self) -> list[int]:
        """Return for each line the highest number in the part of the log that has been read."""
        found = []
        for number, counts in enumerate(self._lanes.in_pool(self._session.pool_id)):
            top, self._tops[number] = counts.highest(0, _NEVER_MS, self._tops.get(number))
            found.append(top)
        return found

    def numbers(self, when_ms: int) -> list[int]:
        """Return for each line its number at a moment."""
        return [counts.at(when_ms) for counts in self._lanes.in_pool(self._session.pool_id)]

    def lines(
        self, columns: TimeColumns, known_ms: int, when_ms: int | None, label_cells: int, each: int = 1
    ) -> list[Line]:
        """Return the lines, ``each`` of a curve so many, with its number at a moment on the right, if it is known."""
        lines: list[Line] = []
        is_known = when_ms is not None and when_ms <= known_ms
        numbers = [f" {number:,}" if is_known else "" for number in self.numbers(when_ms or 0)]
        values = self.values(columns, known_ms)
        for (name, role), line, top, number in zip(BAND, values, self.tops(), numbers, strict=True):
            shown = line[: max(0, columns.number - len(number))]
            for at in range(each):
                bars = _bars(tuple(shown), max(1, top), each - 1 - at, each, self._session.glyphs.densities)
                label, text = (name, number) if not at else ("", "")
                label = f"{top:,}".rjust(label_cells - 1) if at == 1 else label
                rest = columns.number - len(bars) - len(text)
                spans = Span(fit(label, label_cells), Role.DIM), Span(bars, role), Span(text, Role.STRONG)
                lines.append((*spans, Span(" " * rest)))
        return lines


@lru_cache(maxsize=64)
def _bars(values: tuple[int, ...], top: int, level: int, levels: int, densities: str) -> str:
    """Return one line of bars, counted from the lowest one; together they are as high as ``top``."""
    steps = len(densities) - 1
    heights = (-(-value * steps * levels // top) - level * steps for value in values)
    return "".join(densities[max(0, min(steps, height))] for height in heights)
