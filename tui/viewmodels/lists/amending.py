"""A long list while time goes by: only the rows that may have changed are judged again and put in their places."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tui.viewmodels.lists.sorting import SortValues

    PlaceOf = Callable[[int], tuple[Any, ...]]  # by which rows are in order

LEAST_SHARE = 4  # with more than a quarter of all rows the list is read anew
_MOST_SHOWN = 500_000  # rows that are copied, in some 25 ms
# Places that are computed, in some 30 ms: those of a list's own order take less time than values of a column.
MOST_PLACES, MOST_PLACES_BY_VALUE = 100_000, 10_000


class ChangedRows(NamedTuple):
    """The rows that may have changed since a moment."""

    touched: Collection[int]  # with those that the list has no more, and perhaps some that it never had
    there: Sequence[int]  # those of them that the list has now

    def are_few(self, total: int) -> bool:
        """Return whether it is worth while to judge only these rows of so many."""
        return len(self.there) * LEAST_SHARE <= total


class _Falling(NamedTuple):
    """A value of a descending order."""

    value: Any

    def __lt__(self, other: tuple[Any]) -> bool:
        return bool(other[0] < self.value)


def place_by(values: SortValues, own_place: PlaceOf, *, is_descending: bool) -> PlaceOf:
    """Return the function that tells a row's place in a list that is sorted by a value, then by its own order."""

    def place_of(row: int) -> tuple[Any, ...]:
        (value,) = values((row,))
        return _Falling(value) if is_descending else value, own_place(row)

    return place_of


def amended(
    shown: Sequence[int],
    changed: ChangedRows,
    keep: Callable[[Sequence[int]], Sequence[int]] | None,
    place_of: PlaceOf,
    most_places: int,
) -> array[int] | None:
    """Return the rows that a list shows now; None if that would hold up keys.

    Args:
        shown: The rows that it has shown, in order.
        changed: The rows that may have changed since.
        keep: Keeps the rows that pass the filter.
        place_of: Tells the place of a row.
        most_places: The number of places that may be computed.
    """
    if len(shown) > _MOST_SHOWN:
        return None
    found = changed.there if keep is None else keep(changed.there)
    together, one_by_one = len(shown) + len(found), len(found) * len(shown).bit_length()
    if min(together, one_by_one) > most_places:
        return None
    staying = array("q", filterfalse(set(changed.touched).__contains__, shown))
    if together < one_by_one:
        return array("q", sorted([*staying, *found], key=place_of))  # a list would take four times the memory
    rows = array("q")
    before = 0
    for row in sorted(found, key=place_of):
        at = bisect_left(staying, place_of(row), before, key=place_of)
        rows += staying[before:at]
        rows.append(row)
        before = at
    return rows + staying[before:]
