"""Many small numbers looked at together as bytes: a frame must not loop over ten thousand of them in Python."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array

_LOWEST = 0 if sys.byteorder == "little" else -1


def lowest_bytes(column: array[int]) -> bytes:
    """Return the byte of each number in which most of them differ."""
    return column.tobytes()[_LOWEST % column.itemsize :: column.itemsize]


def tally(values: bytes) -> dict[int, int]:
    """Return how often each value occurs, in ascending order. A set of ten thousand is slower."""
    found: dict[int, int] = {}
    rest = values
    while rest:
        found[rest[0]] = rest.count(rest[0])
        rest = rest.translate(None, rest[:1])
    return dict(sorted(found.items()))
