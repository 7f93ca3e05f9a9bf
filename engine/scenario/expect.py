"""Comparison of expected with actual values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

from engine.specs.conditions import Bounds, Verbatim, Wanted


def matches(wanted: Wanted, seen: object) -> bool:
    """Return whether ``seen`` satisfies ``wanted``.

    Text is compared without regard to case like the service's values (GEN-5), except ``Verbatim``. Numbers are compared
    exactly, or with ``Bounds`` including both ends, up to rounding. A mapping needs all wanted parts, where an absent
    part counts as None; a list needs all items in order. None matches only None.
    """
    if isinstance(wanted, Bounds):
        return _within(wanted, seen)
    if isinstance(wanted, str):
        return isinstance(seen, str) and wanted.casefold() == seen.casefold()
    if isinstance(wanted, Verbatim):
        return isinstance(seen, str) and _lines(wanted.text) == _lines(seen)
    if isinstance(wanted, bool) or wanted is None:
        return seen is wanted
    if isinstance(wanted, int | float):
        return _within(Bounds(wanted, wanted), seen)
    if isinstance(wanted, tuple):
        if not isinstance(seen, Sequence) or isinstance(seen, str):
            return False
        return len(wanted) == len(seen) and all(map(matches, wanted, seen))
    return isinstance(seen, Mapping) and all(matches(inner, seen.get(key)) for key, inner in wanted.items())


def _within(bounds: Bounds, seen: object) -> bool:
    if isinstance(seen, bool) or not isinstance(seen, int | float):
        return False
    low, high = bounds.at_least, bounds.at_most
    reaches = low is None or seen >= low or _rounds_to(low, seen)
    return reaches and (high is None or seen <= high or _rounds_to(high, seen))


def _rounds_to(bound: float, seen: float) -> bool:
    """Return whether both differ by rounding only, which needs a number that is not whole."""
    return not (isinstance(bound, int) and isinstance(seen, int)) and isclose(seen, bound)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\n")
