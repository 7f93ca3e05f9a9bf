"""The arrangement of the panes in the Watch view: each gets rows by what it has to show."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


MUCH = 10_000  # rows; for panes that can use any number
WIDE, _BROAD = 100, 160  # cells; from there on two and three columns
HIGH = 36  # rows; in a lower narrow view the curves have no pane
_SLACK = 2  # rows that a pane may leave empty while it stays
_CALM = 3  # rows of attention, with its frame, that say that there is nothing
_HIDDEN = 4  # times the cost of a row that a pane lacks
# An arrangement stays, or the panes keep at least their places, until another one costs so many rows less.
_KEPT_ROWS, _KEPT_PLACES = 6, 18


class Wish(NamedTuple):
    """The rows that a pane can use, frame included: at least, for all that matters, and at most.

    Beyond its best it can use only whole steps, such as a line more for each of its cards.
    """

    least: int
    best: int
    most: int
    step: int = 1

    def unused(self, rows: int) -> int:
        """Return how many of so many rows stay empty."""
        return max(0, rows - self.most) + max(0, min(rows, self.most) - self.best) % self.step


class Region(NamedTuple):
    """A rectangle of cells."""

    x: int
    y: int
    width: int
    height: int


_Template = tuple[tuple[str, ...], ...]  # the panes of each column

STRIP, NODES, ATTENTION, CURVES = "strip", "map-pane", "attention", "curves"
LISTS, EVENTS, ABOUT = "job-lists", "recent", "about"

_ORDER = (STRIP, NODES, ATTENTION, CURVES, LISTS, ABOUT, EVENTS)  # from top to bottom
_OPTIONAL = (ABOUT, EVENTS)  # fill room that is left
_FILLING = (CURVES, ABOUT, EVENTS)  # get their best after the others
_WEIGHT = 3  # of a row that one of the others lacks


@cache
def _templates(columns: int, *, has_details: bool) -> tuple[_Template, ...]:
    """Return the ways to spread the panes over columns; the first one of equally good ways is taken."""
    if columns <= 1:
        panes = NODES, *((ATTENTION,) if columns else ()), LISTS, CURVES
        return (panes,), ((*panes, EVENTS),)
    found = []
    choices = product((columns - 1, 0), (None, *range(columns)), (*range(1, columns), 0), (None, *range(columns)))
    for lists, events, curves, about in choices:
        if about is not None and not has_details:
            continue
        at = {NODES: 0, ATTENTION: 0, CURVES: curves, LISTS: lists, ABOUT: about, EVENTS: events}
        spread = [tuple(name for name in _ORDER if at.get(name) == column) for column in range(columns)]
        if all(spread):
            found.append(tuple(spread))
    return tuple(found)


class Arrangement(NamedTuple):
    """The regions of the panes that are shown; panes without one are hidden."""

    width: int
    height: int
    columns: int  # 0 for a single one, where attention is beside the nodes
    regions: Mapping[str, Region]


_COST = itemgetter(1)

# By pane: its wish in one column, in two, in three, and in one where attention is beside the nodes.
_Asked = tuple[tuple[str, tuple[Wish | None, ...]], ...]


def arrange(
    width: int,
    height: int,
    wishes: Mapping[str, Callable[[int, int], Wish | None]],
    previous: Arrangement | None = None,
) -> Arrangement:
    """Divide the room among the panes so that as few rows as possible stay empty.

    Args:
        width: The cells of the view.
        height: The rows of the view.
        wishes: For each pane a function of its width and the height of the view; None hides the pane.
        previous: The arrangement that is shown, which stays unless another one is clearly better.
    """
    asked = _asked(width, height, wishes)
    wishes_now = dict(asked)
    attention = _wish_of(ATTENTION, 1, wishes_now)
    # Nodes give width only to problems, but go on to do so when these are gone.
    is_calm = attention is not None and attention.best <= _CALM and (previous is None or previous.columns > 0)
    found = [each for each in _arrangements(width, height, asked) if each[0].columns or not is_calm]
    best, cost = min(found, key=_COST)
    if previous is None or previous.width != width:
        return best
    row = width // max(1, best.columns)
    steady = [each for each in found if _has_places_of(each[0], previous)]
    near, cost_near = min(steady, key=_COST, default=(best, cost))
    if cost_near > cost + _KEPT_PLACES * row:
        return best
    may_stay = _may_stay(previous, near, wishes_now) and not _hides_less(near, previous, wishes_now)
    if previous.height == height and may_stay and _cost(previous, wishes_now) <= cost_near + _KEPT_ROWS * row:
        return previous
    return near


def _asked(width: int, height: int, wishes: Mapping[str, Callable[[int, int], Wish | None]]) -> _Asked:
    """Return the wishes of all panes. What many jobs need beyond their share, the others lack as in a lower view."""
    found, rows = [], height
    for name in (each for each in _ORDER if each in wishes):
        asked = _wishes_of(name, width, rows, wishes[name])
        if name == STRIP and (strip := asked[0]) is not None and strip.least * 3 > height:
            rows -= strip.least - height // 4
        found.append((name, asked))
    return tuple(found)


def _column_counts(width: int) -> tuple[int, ...]:
    """Return the numbers of columns that are tried, the best first."""
    return (1, 0) if width < WIDE else (2,) if width < _BROAD else (3, 2)


def _wishes_of(name: str, width: int, height: int, wish: Callable[[int, int], Wish | None]) -> tuple[Wish | None, ...]:
    """Return the wishes of a pane by the number of columns; only where it matters."""
    found: list[Wish | None] = [None, None, None, None]
    for columns in (1,) if name == STRIP else _column_counts(width):
        beside = {NODES: _nodes_cells(width), ATTENTION: width - _nodes_cells(width)}
        asked = wish(width // columns if columns else beside.get(name, width), height)
        # More than the height is the same to all: an arrangement is computed once however long the lists become.
        found[columns - 1] = asked._replace(most=min(asked.most, max(height, asked.best))) if asked else None
    return tuple(found)


def _nodes_cells(width: int) -> int:
    """Return the width of the nodes with attention beside them, whose sentences need more."""
    return width * 2 // 5


@lru_cache(maxsize=64)
def _arrangements(width: int, height: int, asked: _Asked) -> list[tuple[Arrangement, int]]:
    """Return all arrangements with their costs."""
    wishes = dict(asked)
    strip = wishes.get(STRIP, (None,))[0]
    top = 0 if strip is None else min(strip.best, max(strip.least, height // 4))
    found = []
    for columns in _column_counts(width):
        for template in _templates(columns, has_details=width >= _BROAD):
            regions = _placed(template, columns, width, top, height - top, wishes)
            if len({region.x for region in regions.values()}) >= columns:
                head = {} if strip is None else {STRIP: Region(0, 0, width, top)}
                found.append(Arrangement(width, height, columns, head | regions))
    return [(each, _cost(each, wishes)) for each in found]


def _has_places_of(new: Arrangement, previous: Arrangement) -> bool:
    """Return whether all panes that are in both are in the same columns, and none that fills room goes."""
    both, going = new.regions.keys() & previous.regions.keys(), previous.regions.keys() - new.regions.keys()
    return going.isdisjoint(_OPTIONAL) and all(new.regions[name][::2] == previous.regions[name][::2] for name in both)


def _wish_of(name: str, columns: int, wishes: Mapping[str, tuple[Wish | None, ...]]) -> Wish | None:
    return wishes[name][0 if name == STRIP else columns - 1] if name in wishes else None


def _may_stay(previous: Arrangement, new: Arrangement, wishes: Mapping[str, tuple[Wish | None, ...]]) -> bool:
    """Return whether an arrangement still fits the view and every pane in it."""
    coming = (new.regions.keys() - previous.regions.keys()).difference(_OPTIONAL)
    if coming or previous.regions.get(STRIP) != new.regions.get(STRIP):
        return False
    both = ((region.height, _wish_of(name, previous.columns, wishes)) for name, region in previous.regions.items())
    return all(wish and wish.least <= rows <= wish.most + max(_SLACK, rows // 4) for rows, wish in both)


def _hides_less(new: Arrangement, previous: Arrangement, wishes: Mapping[str, tuple[Wish | None, ...]]) -> bool:
    """Return whether a problem lacks rows that a new arrangement gives to it: they are not worth a calmer screen."""
    before, after = previous.regions.get(ATTENTION), new.regions.get(ATTENTION)
    wish = _wish_of(ATTENTION, previous.columns, wishes)
    return (
        before is not None and after is not None and wish is not None and before.height < min(wish.best, after.height)
    )


def _cost(arrangement: Arrangement, wishes: Mapping[str, tuple[Wish | None, ...]]) -> int:
    """Return the cells that stay empty, twice, and those that panes lack for all that matters."""
    cost = 0
    for name in wishes:
        wish, region = _wish_of(name, arrangement.columns, wishes), arrangement.regions.get(name)
        if wish is not None and region is not None:
            lacking = max(0, wish.best - region.height) * (1 if name in _FILLING else _WEIGHT)
            cost += region.width * (2 * wish.unused(region.height) + lacking)
        elif wish is not None and name not in _OPTIONAL:
            cost += arrangement.width // max(1, arrangement.columns) * wish.best * _HIDDEN
    return cost


def _placed(
    template: _Template,
    columns: int,
    width: int,
    top: int,
    height: int,
    wishes: Mapping[str, tuple[Wish | None, ...]],
) -> dict[str, Region]:
    """Return the regions of the panes in columns of equal width."""
    regions: dict[str, Region] = {}
    for at, column in enumerate(template):
        x, right = at * width // len(template), (at + 1) * width // len(template)
        rows = [(name, wish) for name in column if (wish := _row_wish(name, columns, wishes)) is not None]
        while len(rows) > 1 and sum(wish.least for _, wish in rows) > height:
            rows.remove(max(rows, key=lambda row: _IMPORTANT.index(row[0])))
        y = top
        heights = divide(height, [wish for _, wish in rows], [name in _FILLING for name, _ in rows])
        for (name, _), lines in zip(rows, heights, strict=True):
            regions[name] = Region(x, y, right - x, lines)
            y += lines
    if not columns and NODES in regions:
        x, y, _, lines = regions[NODES]
        cells = _nodes_cells(width)
        regions |= {NODES: Region(x, y, cells, lines), ATTENTION: Region(x + cells, y, width - cells, lines)}
    return regions


def _row_wish(name: str, columns: int, wishes: Mapping[str, tuple[Wish | None, ...]]) -> Wish | None:
    """Return the wish of a pane, or of the nodes with attention beside them."""
    wish, other = _wish_of(name, columns, wishes), _wish_of(ATTENTION, columns, wishes)
    return Wish(*map(max, wish, other)) if name == NODES and not columns and wish and other else wish


_IMPORTANT = (NODES, ATTENTION, LISTS, CURVES, EVENTS, ABOUT)  # the last one is dropped first


def divide(height: int, wishes: Sequence[Wish], is_filling: Sequence[bool] = ()) -> list[int]:
    """Return the rows of each pane in a column; together they are the whole height.

    All get their least first. Rows that remain bring each nearer to its best in proportion, panes that only fill the
    room after the others; what still remains is shared equally by those below their most. Rows beyond whole steps go
    to the others. If all have their most, the rest is divided in proportion to their rows.
    """
    if not wishes:
        return []
    lines = [wish.least for wish in wishes]
    for number in range(2):
        turns = is_filling or [False] * len(wishes)
        gaps = [
            max(0, wish.best - wish.least) if is_late == bool(number) else 0
            for wish, is_late in zip(wishes, turns, strict=True)
        ]
        shares = _in_proportion(min(height - sum(lines), sum(gaps)), gaps)
        lines = [at + share for at, share in zip(lines, shares, strict=True)]
    _grow(lines, height, wishes)
    for at, wish in enumerate(wishes):
        lines[at] -= wish.unused(lines[at]) if wish.step > 1 else 0
    _grow(lines, height, [Wish(1, 1, lines[at]) if wish.step > 1 else wish for at, wish in enumerate(wishes)])
    rest = height - sum(lines)
    if rest > 0:
        shares = [rest * at // sum(lines) for at in lines]
        lines = [at + share for at, share in zip(lines, shares, strict=True)]
        rest -= sum(shares)
    at = max(range(len(lines)), key=lines.__getitem__)
    lines[at] = max(1, lines[at] + rest)
    return lines


def _grow(lines: list[int], height: int, wishes: Sequence[Wish]) -> None:
    """Share the rows that remain equally among the panes that are below their most."""
    while growing := [at for at, wish in enumerate(wishes) if lines[at] < wish.most]:
        share, extra = divmod(height - sum(lines), len(growing))
        if share < 0 or not share + extra:
            break
        for number, at in enumerate(growing):
            lines[at] = min(wishes[at].most, lines[at] + share + (number < extra))


def _in_proportion(spare: int, gaps: Sequence[int]) -> list[int]:
    """Return ``spare`` rows, at most as many as the gaps together, divided in proportion to them."""
    total = sum(gaps)
    if spare <= 0 or not total:
        return [0] * len(gaps)
    shares = [spare * gap // total for gap in gaps]
    by_rest = sorted(range(len(gaps)), key=lambda at: -(spare * gaps[at] % total))
    for at in by_rest[: spare - sum(shares)]:
        shares[at] += 1
    return shares
