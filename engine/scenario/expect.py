"""Comparing what was expected with what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

from engine.scenario.model import Bounds, Verbatim, Wanted


def matches(wanted: Wanted, seen: object) -> bool:
    """Whether ``seen`` is what was wanted.

    Text is compared without regard to case, as the service's values are (GEN-5), except ``Verbatim``; numbers
    exactly, or within ``Bounds`` with both ends included, rounding aside. Of a mapping every part asked for must
    match and an absent part counts as None; a list must match item by item in order. None matches only None.
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
    """Whether only rounding lies between them; between whole numbers, exit codes of a billion too, lies no rounding."""
    return not (isinstance(bound, int) and isinstance(seen, int)) and isclose(seen, bound)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\n")
