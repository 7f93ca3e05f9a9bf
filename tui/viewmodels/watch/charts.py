"""The charts of a pool and a job: what they show, with the values of this moment, and the drawing of one chart.

A chart is drawn as stacked areas of braille dots, the upper edge of each bright and the rest pale, with a line above
them. No terminal shows seams between dots, as many do between block characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import SECOND_MS, lazy_regex
from engine.views.hook_status import HookStatus
from engine.views.log.changes import Measure, kind_of_node
from engine.views.resources.jobs import has_had_several_pools
from tui.viewmodels import format as fmt
from tui.viewmodels.text import Line, Role, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from engine.views.log.series import Axis, PoolSeries
    from tui.viewmodels.session import Session


_DOTS = 4  # one above another in a cell
_BRAILLE = 0x2800  # without dots
_LEFT, _RIGHT = (0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08)  # the dots from below
_PATTERNS = (0xFF, 0x95, 0x47, 0xD2)  # dots of the layers where there are no colours
_ASCII_TEXTURES = "#:.="
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
_LOOKS = tuple(product(Role, (False, True)))  # of a cell: the role of its text, and whether it is pale
_CODES = {look: chr(number) for number, look in enumerate(_LOOKS)}
_ALIKE = lazy_regex(r"(?s:(.)\1*)")  # characters that are equal
KEPT_COLUMNS, _KEPT_ROWS = 4096, 1024
_NO_LINE = -1  # in place of a row
_Ends = tuple[int, ...]  # of the layers, in dots
_Key = tuple[_Ends, _Ends, int]  # of a column


class Style(NamedTuple):
    """The means of drawing: ASCII or braille characters, and layers told apart by colours or by patterns."""

    ascii_only: bool = False
    has_grounds: bool = True

    def texture(self, layer: int) -> str:
        """Return the character that fills a cell of a layer."""
        if self.ascii_only:
            return _ASCII_TEXTURES[layer % len(_ASCII_TEXTURES)]
        return chr(_BRAILLE + self.pattern(layer))

    def pattern(self, layer: int) -> int:
        """Return the dots that fill a cell of a layer."""
        return _PATTERNS[0 if self.has_grounds else layer % len(_PATTERNS)]


class Layer(NamedTuple):
    """One of the areas that stand on each other, or a line: a value for each column of time."""

    name: str
    role: Role
    values: Sequence[float]


class _Cell(NamedTuple):
    text: str
    role: Role = Role.PLAIN
    is_pale: bool = False


_EMPTY = _Cell(" ")


@lru_cache(maxsize=64)
def nice_top(value: float, *, is_count: bool) -> float:
    """Return a round number that is not below a value, for the top of a scale; a count's top is a whole number."""
    if value <= 0 or (is_count and value < 1):
        return 1
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    tops = (step * power for step in _STEPS)
    return next((top for top in tops if top >= value * 0.999 and not (is_count and top % 1)), power * 10)


def stretched(layers: Sequence[Sequence[float]], cells: int) -> Sequence[Sequence[float]]:
    """Return a value of each layer for each cell: values are repeated if they are too few.

    Of too many those count that have the highest sum: what stands on one another is of one moment.
    """
    count = max(map(len, layers), default=0)
    if count in (0, cells):
        return layers
    if count < cells:
        places = _places(count, cells)
    else:
        sums = list(map(sum, zip(*filter(None, layers), strict=True)))
        stretches = (range(at * count // cells, (at + 1) * count // cells) for at in range(cells))
        places = [max(stretch, key=sums.__getitem__) for stretch in stretches]
    return [list(map(values.__getitem__, places)) if values else values for values in layers]


@lru_cache(maxsize=64)
def _places(count: int, cells: int) -> list[int]:
    return [at * count // cells for at in range(cells)]


def plot(
    layers: Sequence[Layer], over: Layer | None, top: float, cells: int, rows: int, style: Style
) -> list[tuple[Span, ...]]:
    """Return the rows of a chart, the highest values first.

    Args:
        layers: The areas, the lowest first.
        over: A line that is drawn above them.
        top: The value at the upper edge.
        cells: The width.
        rows: The height.
        style: The means of drawing.
    """
    layers = layers or (Layer("", Role.PLAIN, ()),)
    if style.has_grounds and not style.ascii_only:  # a pattern tells the number of its layer, a colour does not
        layers = [layer for layer in layers if any(layer.values)] or layers[:1]
    heights = _heights(stretched([layer.values for layer in layers], cells), top, rows, cells)
    if over is not None and over.values:
        line_role, crossed = over.role, _crossed(stretched([over.values], cells)[0], top, rows)
    else:
        line_role, crossed = None, [_NO_LINE] * cells
    columns = _columns(rows, tuple(layer.role for layer in layers), line_role, style)
    keys = zip((heights[0], *heights[:-1]), heights, crossed, strict=True)
    picture = "".join(map(columns.__getitem__, keys))
    return [_row(picture[at :: 2 * rows], picture[rows + at :: 2 * rows]) for at in range(rows)]


class _Columns(dict[_Key, str]):
    """The columns of charts of one height and one look, each drawn when it is asked for first.

    The key of a column is the upper ends of the layers in the column before it and in this one, and the row of the
    line. A column is the characters of its cells from the top down, followed by the codes of their looks: so the
    characters of a row, and their codes, are slices of the joined columns.
    """

    def __init__(self, rows: int, roles: tuple[Role, ...], line_role: Role | None, style: Style) -> None:
        super().__init__()
        self._lows = range((rows - 1) * _DOTS, -1, -_DOTS)
        self._roles, self._line_role, self._style = roles, line_role, style
        self._draw = _textures if style.ascii_only else _curves

    def __missing__(self, key: _Key) -> str:
        if len(self) >= KEPT_COLUMNS:
            self.clear()
        before, here, line_row = key
        cells = [self._draw(before, here, low, self._roles, self._style) for low in self._lows]
        if self._line_role is not None and ord(cells[line_row].text) < _BRAILLE:  # the edges of areas hide it
            cells[line_row] = _Cell("-" if self._style.ascii_only else "─", self._line_role)
        self[key] = column = "".join([cell.text for cell in cells] + [_CODES[cell[1:]] for cell in cells])
        return column


_columns = lru_cache(maxsize=64)(_Columns)


def _heights(layers: Sequence[Sequence[float]], top: float, rows: int, cells: int) -> list[_Ends]:
    """Return for each column the upper ends of its layers in dots; what is not zero is visible where there is room.

    The highest end is that of the sum. Ends above the chart are not cut.
    """
    scale = rows * _DOTS / top
    totals: Sequence[float] = (0.0,) * cells
    below: Sequence[int] = (0,) * cells
    tops = below
    found = []
    for values in layers:
        if values:
            totals = list(map(add, totals, values))
            tops = [round(total * scale) for total in totals]
            each = zip(tops, below, values, strict=True)
            below = [max(end, under + (value > 0)) for end, under, value in each]
        found.append(below)
    columns = list(zip(*found, strict=True))
    if below == tops:
        return columns
    return [ends if ends[-1] == top else _lowered(ends, max(1, top)) for ends, top in zip(columns, tops, strict=True)]


def _lowered(ends: _Ends, top: int) -> _Ends:
    """Return the ends with the highest one at ``top``: the layers below the small ones give them their dots."""
    lowered = list(ends)
    for at in range(len(ends) - 1, -1, -1):
        if ends[at] <= top:
            break
        lowered[at] = top
        top -= bool(top and at and ends[at] > ends[at - 1])
    return tuple(lowered)


def _curves(before: _Ends, here: _Ends, low: int, roles: Sequence[Role], style: Style) -> _Cell:
    """Return a cell: dots up to the highest edge, of the layer that has most of them; pale if its edge is higher."""
    lefts, rights = (
        [(one + other) // 2 - low for one, other in zip(before, here, strict=True)],
        [end - low for end in here],
    )
    if max(lefts[-1], rights[-1]) <= 0:
        return _EMPTY
    filled = [_within(left) + _within(right) for left, right in zip(lefts, rights, strict=True)]
    at = max(range(len(filled)), key=lambda at: (filled[at] - (filled[at - 1] if at else 0), at))
    if min(lefts[at], rights[at]) > _DOTS:
        return _Cell(chr(_BRAILLE + style.pattern(at)), roles[at], is_pale=True)
    dots = sum(_LEFT[: _within(lefts[-1])]) + sum(_RIGHT[: _within(rights[-1])])
    return _Cell(chr(_BRAILLE + (dots & style.pattern(at) or dots)), roles[at])


def _within(dots: int) -> int:
    """Return how many of so many dots are within a cell."""
    return min(max(0, dots), _DOTS)


def _textures(before: _Ends, here: _Ends, low: int, roles: Sequence[Role], style: Style) -> _Cell:  # noqa: ARG001
    """Return a whole cell with the texture of the layer in its middle, or an empty one; what is not zero is visible."""
    middle = low + _DOTS // 2 if low else 1
    at = next((at for at, end in enumerate(here) if end >= middle), None)
    return _EMPTY if at is None else _Cell(style.texture(at), roles[at])


def _crossed(values: Sequence[float], top: float, rows: int) -> list[int]:
    """Return the row in which a line has each value."""
    row_of = {
        value: rows - 1 - min(rows - 1, max(0, -(-round(value * rows * 100 / top) // 100) - 1)) for value in set(values)
    }
    return list(map(row_of.__getitem__, values))


@lru_cache(maxsize=_KEPT_ROWS)
def _row(text: str, codes: str) -> Line:
    """Return a row with a span for each stretch of equally coloured characters."""
    spans = []
    for alike in _ALIKE.finditer(codes):
        role, is_pale = _LOOKS[ord(alike[1])]
        spans.append(Span(text[slice(*alike.span())], role, is_pale=is_pale))
    return tuple(spans)


_KEPT = 64  # sets of layers
_LEAST_USD = 1e-6  # less is an error of rounding
_RUNS = (HookStatus.RUNNING, HookStatus.RETRYING)


def compact(value: float) -> str:
    """Return a number in at most five characters: ``12``, ``0.5``, ``1.2k``, ``35k``, ``1.2M``."""
    if value and value < 1:
        return f"{value:.2g}"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.3g}{unit}"
    return f"{value:,.0f}" if value >= 100 or value % 1 == 0 else f"{value:.3g}"


class Reading(NamedTuple):
    """A value at this moment; ``layer`` is the number of its area, -1 is the line, None stands for neither."""

    text: str
    name: str
    layer: int | None = None


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart over time."""

    title: str
    axis: Axis
    layers: tuple[Layer, ...]
    line: Layer | None
    readings: tuple[Reading, ...]
    is_count: bool = True  # of things: the scale has whole numbers only
    label: Callable[[float], str] = compact
    now: float = 0  # the value at this moment, which may be above all columns: these are means

    @cached_property
    def top(self) -> float:
        """The highest value that is drawn or read."""
        return max(self.now, _highest(self.layers, self.line))


@lru_cache(maxsize=_KEPT)
def _highest(layers: tuple[Layer, ...], line: Layer | None) -> float:
    sums = map(sum, zip(*(layer.values for layer in layers), strict=True))
    return max(max(sums, default=0), max(line.values, default=0) if line else 0)


def charts_of(session: Session, pool_id: str, job_id: str, columns: int) -> Iterator[Chart]:
    """Yield the charts of a pool and a job on it, the most important first.

    Those of all pools stand in for a pool, and those of all jobs for a job, if there is none.
    """
    has_pool = session.pool(pool_id) is not None
    if has_pool:
        yield _nodes_of_pool(session, pool_id, columns)
    else:
        yield from _nodes_of_all(session, columns)
    if session.job(job_id) is not None:
        yield from _of_job(session, job_id, columns)
    elif not has_pool:
        yield from _of_all_jobs(session, columns)
    yield from _cost(session, pool_id, columns)


class _Area(NamedTuple):
    """A layer with its value at this moment, empty to leave that out; ``said`` is its name there if it is another."""

    name: str
    role: Role
    values: Sequence[float]
    now: str
    said: str = ""


def _chart(
    title: str,
    axis: Axis,
    areas: Sequence[_Area],
    *others: Reading,
    line: Layer | None = None,
    now: float = 0,
    label: Callable[[float], str] | None = None,
) -> Chart:
    """Return a chart of areas, with their readings before the ``others``. Without a ``label`` it counts things."""
    layers = tuple([Layer(each.name, each.role, tuple(each.values)) for each in areas])
    readings = [Reading(each.now, each.said or each.name, at) for at, each in enumerate(areas) if each.now]
    return Chart(title, axis, layers, line, (*readings, *others), label is None, label or compact, now)


def _of_all_jobs(session: Session, columns: int) -> list[Chart]:
    """Return the charts of all jobs that there were, once they have been deleted."""
    tasks = session.series.of_job(None, columns)
    if not any(tasks.running) and not any(tasks.waiting):
        return []
    return [
        _chart("Running tasks", tasks.axis, [_Area("running", Role.RUNNING, tasks.running, "0")]),
        _chart("Waiting tasks", tasks.axis, [_Area("waiting", Role.OFF, tasks.waiting, "0")]),
    ]


_KINDS = (
    ("running", Role.RUNNING, Measure.NODES_RUNNING),
    ("idle", Role.QUIET, Measure.NODES_IDLE),
    ("starting", Role.TRANSITION, Measure.NODES_STARTING),
    ("down", Role.OFF, Measure.NODES_DOWN),
)


def _areas_of_nodes(values: PoolSeries, numbers: Mapping[Measure, int] | None = None) -> list[_Area]:
    """Return nodes by kind with their present ``numbers``, without those as many as in the last column."""
    areas = []
    each_of = zip(_KINDS, (values.running, values.idle, values.starting, values.down), strict=True)
    for (name, role, kind), each in each_of:
        number = 0 if numbers is None else numbers[kind]
        text = compact(round(each[-1])) if numbers is None and any(each) else f"{number:,}"
        areas.append(_Area(name, role, each, text if number or any(each) else ""))
    return areas


def _nodes_of_all(session: Session, columns: int) -> list[Chart]:
    """Return the chart of the nodes of all pools, deleted ones included."""
    values = session.series.of_pool(None, columns)
    areas = _areas_of_nodes(values)
    return [_chart("Nodes of all pools", values.axis, areas)] if any(any(each.values) for each in areas) else []


def _nodes_of_pool(session: Session, pool_id: str, columns: int) -> Chart:
    values, pool = session.series.of_pool(pool_id, columns), session.pool(pool_id)
    assert pool is not None
    numbers = dict.fromkeys(Measure, 0)
    for state, number in pool.node_counts:
        numbers[kind_of_node(state)] += number
    areas, target = _areas_of_nodes(values, numbers), pool.target_dedicated + pool.target_spot
    aim = Reading("pool", "deleted") if pool.state is None else Reading(f"{target:,}", "target", -1)
    line = Layer("target", Role.STRONG, tuple(values.target))
    now = max(target, sum(numbers[kind] for _, _, kind in _KINDS))
    return _chart("Nodes", values.axis, areas, aim, line=line, now=now)


def _cost(session: Session, pool_id: str, columns: int) -> list[Chart]:
    """Return the chart of the cost of a pool on top of that of the other pools, or of all pools without one."""
    has_pool = session.pool(pool_id) is not None
    has_others = has_pool and has_had_several_pools(session.simulation)
    whole = session.series.of_pool(None if has_others or not has_pool else pool_id, columns)
    if not has_pool and not any(whole.usd):
        return []
    in_all, later = session.cost(), session.cost_by_the_end()
    areas = [_Area("so far", Role.KEY, whole.usd, session.money(in_all))]
    if has_others:
        own, own_usd = session.series.of_pool(pool_id, columns).usd, session.cost(pool_id)
        others = [max(0.0, all_ - one) for all_, one in zip(whole.usd, own, strict=True)]
        areas = [
            _Area("this pool", Role.KEY, own, session.money(own_usd)),
            _Area("other pools", Role.OFF, others, session.money(max(0.0, in_all - own_usd))),
        ]
    told = [] if later is None else [Reading(session.money(later), "by the end")]
    an_hour = session.cost_an_hour()
    if an_hour > _LEAST_USD:
        told.append(Reading(session.money(an_hour), "an hour" if in_all else "an hour once nodes start"))
    return [_chart("Cost", whole.axis, areas, *told, label=session.money)]


def _of_job(session: Session, job_id: str, columns: int) -> Iterator[Chart]:
    values, job = session.series.of_job(job_id, columns), session.job(job_id)
    assert job is not None
    axis, tasks, others, all_running = values.axis, job.phases.tasks, list[float](), job.phases.tasks.running
    if not has_had_several_pools(session.simulation):  # else most of the other jobs run elsewhere
        everything, all_running = session.series.running_of_all(columns), session.series.running_tasks()
        others = [max(0.0, all_ - own) for all_, own in zip(everything, values.running, strict=True)]
    running = [_Area("running", Role.RUNNING, values.running, f"{tasks.running:,}")]
    if any(others):
        running.append(_Area("of other jobs", Role.OFF, others, f"{all_running - tasks.running:,}"))
    yield _chart("Running tasks", axis, running, now=all_running)
    active, preparing = (tasks.active, tasks.preparing) if job.record.end_ms is None else (0, 0)
    waits = [max(0.0, all_ - some) for all_, some in zip(values.waiting, values.preparing, strict=True)]
    waiting = [_Area("waiting", Role.OFF, waits, f"{active:,}")]
    if preparing or any(values.preparing):
        waiting.append(_Area("preparing", Role.PREPARING, values.preparing, f"{preparing:,}"))
    yield _chart("Waiting tasks", axis, waiting, now=active + preparing)
    if job.phases.preparation.is_specified:
        spent_ms, count = session.series.preparation_ms(job_id), sum(job.phases.preparation[each] for each in _RUNS)
        noun = "node" if count == 1 else "nodes"
        nodes = [_Area("preparing", Role.PREPARING, values.preparing_nodes, f"{count:,}", noun)]
        in_all = Reading(fmt.span(spent_ms // SECOND_MS * SECOND_MS), "in all")
        yield _chart("Preparing nodes", axis, nodes, in_all, now=count)
    rate = session.series.succeeded_in_a_minute(job_id)
    now, said = compact(round(rate, 1)), "a minute"
    if not job.is_live or session.is_over:  # a rate would be that of some stretch before the end
        rate, now, said = 0.0, f"{tasks.succeeded:,}", "succeeded in all"
    done = [_Area("succeeded", Role.OK, values.succeeded_a_minute, now, said)]
    if tasks.failed or any(values.failed_a_minute):
        done.append(_Area("failed", Role.FAILED, values.failed_a_minute, f"{tasks.failed:,}", "failed in all"))
    yield _chart("Tasks done a minute", axis, done, now=rate)
