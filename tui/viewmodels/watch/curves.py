"""Several charts that share the room: side by side and below one another, the least important left out first."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from engine.views.resources.jobs import pool_ids, pool_of_job
from tui.viewmodels import format as fmt
from tui.viewmodels.text import Line, Role, Span, between, cut, squeeze, width
from tui.viewmodels.watch.charts import Style, charts_of, nice_top, plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session import Session
    from tui.viewmodels.watch.charts import Chart, Layer, Reading


_SIDE_BY_SIDE_FROM, _THREE_FROM = 76, 168  # cells
_KEPT = 64  # titles, and plots, which have the same columns until one more is complete
_CHARTS = 5  # before the first drawing
_CHART_ROWS, _LEAST_ROWS = 4, 2  # a title and three rows of plot, or one where there are no others
_GOOD_ROWS, _HIGH_ROWS = 6, 9
_FEW = 4  # charts, which are drawn however low they are; more of them only in good height
_GAP = 2  # cells between charts side by side
_LEAST_PLOT = 8  # cells
_AIR = 1.25  # times the highest value is the top of a scale at least
_SCALE_CELLS = 5  # of most scales, beside a plot
_MOST_NAME = 24  # cells of an id in the title
_NO_TIME = " no time has gone by yet"


class CurvesModel:
    """The curves of the pool and the job in focus."""

    def __init__(self, session: Session) -> None:
        """Show the pool and the job in focus."""
        self._session = session
        self.has_grounds = True
        self._count = _CHARTS  # drawn last
        self._key: tuple[object, ...] = ()
        self._lines: list[Line] = []
        self._drawn_ms = 0

    @property
    def title(self) -> str:
        """The title of the pane; it names job and pool where there are others, whose curves it could show."""
        session = self._session
        if not session.has_several_jobs and len(pool_ids(session.simulation)) < 2:
            return "Curves"
        ran_here = pool_of_job(session.simulation, session.job_id) == session.pool_id
        names = [squeeze(each, _MOST_NAME) for each in (session.job_id, session.pool_id) if each]
        named = (" on " if ran_here else " and ").join(names)
        return session.text(f"Curves: {named}")

    def subtitle(self, *, names_moment: bool = False) -> str:
        """Return the last moment that is shown where other panes show another one; else nothing."""
        return f"up to {self._session.clock(self._drawn_ms)}" if names_moment else ""

    @property
    def is_empty(self) -> bool:
        """True until there is a pool or a job."""
        session = self._session
        return session.pool(session.pool_id) is None and session.job(session.job_id) is None and not session.cost()

    def best_rows(self, cells: int) -> int:
        """Return the rows in which the most important charts are well drawn, in a room of this width."""
        return -(-min(self._count, _FEW) // _columns(cells)) * _GOOD_ROWS + 1

    @property
    def is_behind(self) -> bool:
        """True while more has happened than was read at once; ``go_on`` reads more."""
        return self._session.series.is_behind

    @property
    def _is_late(self) -> bool:
        """True after a jump, until the curves reach the moment of the other panes: then a frame shows one moment."""
        return self.is_behind and not self._session.is_playing

    def go_on(self) -> None:
        """Read more of what has happened."""
        self._session.series.go_on()

    def lines(self, cells: int, rows: int) -> Sequence[Line]:
        """Return the drawing for so much room."""
        session = self._session
        simulation = session.simulation
        moment = *simulation.moment, session.series.until_ms
        view = session.time_format, session.glyphs.ascii_only, self.has_grounds
        key = (cells, rows, *moment, *view, session.pool_id, session.job_id, session.ahead.generation)
        if key != self._key and not self._is_late:
            self._key, self._lines, self._drawn_ms = key, self._draw(cells, rows), session.series.until_ms
        if self._is_late:
            said = f" Counting what has happened: up to {session.clock(session.series.until_ms)} so far"
            return [(Span(squeeze(said, cells), Role.DIM),)]
        return self._lines

    def _draw(self, cells: int, rows: int) -> list[Line]:
        if rows < _LEAST_ROWS or cells < _LEAST_PLOT:
            return []
        session = self._session
        columns = _columns(cells)
        wide = (cells - _GAP * (columns - 1)) // columns
        room = max(_LEAST_PLOT, wide - _SCALE_CELLS)
        charts: list[Chart] = []
        for chart in charts_of(session, session.pool_id, session.job_id, room):
            charts.append(chart)
            if sum(each.top > 0 for each in charts) >= max(_FEW, _layers(columns, rows) * columns):
                break  # the others have no room
        if not charts:
            return [(Span("There is no pool and no job yet.", Role.DIM),)]
        # A flat line at zero would take room for little; but few charts would be too high for what they say.
        flat = [chart for chart in charts if not chart.top]
        self._count = len(charts) - len(flat) or len(charts)
        flat = flat[: max(0, columns * (rows // _HIGH_ROWS) - self._count)] if self._count < len(charts) else flat
        charts = [chart for chart in charts if chart.top or chart in flat]
        style = Style(session.glyphs.ascii_only, self.has_grounds)
        return self._small_multiples(charts, cells, rows, columns, style)

    def _small_multiples(
        self, charts: Sequence[Chart], cells: int, rows: int, columns: int, style: Style
    ) -> list[Line]:
        has_axis = rows > _CHART_ROWS
        room = rows - has_axis
        layers = min(-(-len(charts) // columns), _layers(columns, room))
        charts = charts[: layers * columns]
        in_rows = [charts[at * columns : (at + 1) * columns] for at in range(layers)]
        weights = [1 + any(chart.top for chart in row) for row in in_rows]  # flat ones need less height
        heights = [room * weight // sum(weights) for weight in weights]
        rest = room - sum(heights)
        lines: list[Line] = []
        # The charts of a row share its width; the last row may have fewer of them.
        label_cells = max(len(label) for chart in charts for label in _scale(chart))
        for at, (row, height) in enumerate(zip(in_rows, heights, strict=True)):
            widths = _widths(cells, len(row))
            drawn = [
                _drawn(chart, wide, height + (at < rest), label_cells, style, gap)
                for chart, wide, gap in zip(row, widths, _gaps(widths), strict=True)
            ]
            lines += [tuple(chain.from_iterable(parts)) for parts in zip(*drawn, strict=True)]
        if has_axis:
            widths = _widths(cells, len(charts) - (layers - 1) * columns)
            lines += _side_by_side([[self._times(charts[0], wide, label_cells)] for wide in widths], widths)
        return lines

    def _times(self, chart: Chart, cells: int, label_cells: int) -> Line:
        """Return the axis of times: as many round moments as have room, each below its place in the plot."""
        clock, begin_ms, until_ms = self._session.clock, chart.axis.begin_ms, self._session.series.until_ms
        room, span_ms = cells - label_cells - 1, max(1, until_ms - begin_ms)
        apart, text = len(clock(until_ms)) * 3 // 2 + _GAP, ""  # the first and the last one are not centred
        for when_ms in fmt.round_moments(begin_ms, until_ms + 1, span_ms * apart // max(1, room)):
            label = clock(when_ms)
            first = max(0, min((when_ms - begin_ms) * room // span_ms - len(label) // 2, room - len(label)))
            text = text.ljust(first) + label
        return Span(" " * (label_cells + 1)), Span(text[:room].ljust(room), Role.DIM)


def _layers(columns: int, room: int) -> int:
    """Return how many charts stand below one another at most, in so many rows."""
    return max(1, min(-(-_FEW // columns), room // _CHART_ROWS), room // _GOOD_ROWS)


def _columns(cells: int) -> int:
    return 1 if cells < _SIDE_BY_SIDE_FROM else 2 if cells < _THREE_FROM else 3


def _widths(cells: int, count: int) -> list[int]:
    """Return the widths of charts side by side."""
    room = cells - _GAP * (count - 1)
    return [room // count + (at < room % count) for at in range(count)]


def _side_by_side(blocks: Sequence[Sequence[Line]], widths: Sequence[int]) -> list[Line]:
    gaps = _gaps(widths)
    return [tuple(chain.from_iterable(map(_padded, parts, widths, gaps))) for parts in zip(*blocks, strict=True)]


def _gaps(widths: Sequence[int]) -> list[int]:
    """Return the cells behind each of these parts of a line."""
    return [_GAP] * (len(widths) - 1) + [0]


def _padded(part: Line, cells: int, gap: int) -> Line:
    """Return a part of a line in so many cells, and the ``gap`` behind it."""
    return (*part, Span(" " * (cells - width(part) + gap)))


def top_of(chart: Chart) -> float:
    """Return the top of the scale, at least a quarter above the curve: two tenths of the height stay free."""
    return nice_top(chart.top * _AIR, is_count=chart.is_count)


def _drawn(chart: Chart, cells: int, rows: int, label_cells: int, style: Style, gap: int) -> tuple[Line, ...]:
    """Return a chart with a ``gap`` on its right: a title with the values of now, and the plot with its scale."""
    top = top_of(chart)
    upper, *half = _scale(chart)
    labels = {0: upper, rows - 2: "0"}
    middle = (rows - 2) / 2
    if rows >= _GOOD_ROWS and middle % 1 == 0 and half:
        labels[int(middle)] = half[0]
    written = tuple(f"{labels.get(at, ''):>{label_cells}}" for at in range(rows - 1))
    if chart.axis.edges:
        plotted = _plotted(chart.layers, chart.line, top, written, cells, style, gap)
    else:
        note = cut((Span(_NO_TIME, Role.DIM),), max(1, cells - label_cells - 1))
        empty = [note if at == (rows - 1) // 2 else () for at in range(rows - 1)]
        plotted = _framed(empty, written, cells, style, gap)
    return _title(chart.title, chart.readings, chart.layers, chart.line, cells, style, gap), *plotted


@lru_cache(maxsize=_KEPT)
def _plotted(
    layers: tuple[Layer, ...],
    line: Layer | None,
    top: float,
    labels: tuple[str, ...],
    cells: int,
    style: Style,
    gap: int,
) -> list[Line]:
    """Return the plot of a chart behind the labels of its scale, which are all equally wide."""
    picture = plot(layers, line, top, max(1, cells - len(labels[0]) - 1), len(labels), style)
    return _framed(picture, labels, cells, style, gap)


def _framed(picture: Sequence[Line], labels: Sequence[str], cells: int, style: Style, gap: int) -> list[Line]:
    tick, rail = ("+", "|") if style.ascii_only else ("┤", "│")
    scales = (Span(f"{label}{tick if label.strip() else rail}", Role.DIM) for label in labels)
    return [_padded((scale, *spans), cells, gap) for scale, spans in zip(scales, picture, strict=True)]


def _scale(chart: Chart) -> list[str]:
    """Return the label of the top, and of half of it if that is round, too; it may be longer: $0.10 and $0.050."""
    top = top_of(chart)
    has_half = nice_top(top / 2, is_count=chart.is_count) == top / 2
    return [chart.label(top), *([chart.label(top / 2)] if has_half else [])]


@lru_cache(maxsize=_KEPT)
def _title(
    name: str,
    readings: tuple[Reading, ...],
    layers: tuple[Layer, ...],
    line: Layer | None,
    cells: int,
    style: Style,
    gap: int,
) -> Line:
    """Return the title at the left, and readings at the right edge, with a ``gap`` behind them.

    Where not all have room, those that are zero are left out, then the last ones.
    """
    shown = [reading for reading in readings if reading.text != "0"]
    forms = (readings, *(shown[:number] for number in range(len(shown), -1, -1)))
    lines = (_joined([_reading(each, layers, line, style) for each in form]) for form in forms)
    said = next(each for each in lines if not each or width(each) + len(name) + _GAP <= cells)
    return _padded(between((Span(name, Role.STRONG),), said, cells), cells, gap)


def _joined(parts: Sequence[Line]) -> Line:
    """Return readings beside one another."""
    return tuple(chain.from_iterable((Span(" " * _GAP), *part) if at else part for at, part in enumerate(parts)))


def _reading(reading: Reading, layers: Sequence[Layer], line: Layer | None, style: Style) -> Line:
    said = f"{reading.text} {reading.name}"
    if reading.layer is None:
        return (Span(said, Role.DIM),)
    if reading.layer < 0:
        assert line is not None
        return Span("- " if style.ascii_only else "─ ", line.role), Span(said)
    if len(layers) == 1:
        return (Span(said, layers[0].role),)
    mark = "■" if style.has_grounds and not style.ascii_only else style.texture(reading.layer)
    return Span(f"{mark} ", layers[reading.layer].role), Span(said)
