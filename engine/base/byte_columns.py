"""Many small numbers looked at together as bytes: a frame must not loop over ten thousand of them in Python."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array

_LOWEST = 0 if sys.byteorder == "little" else -1
_ALL_BITS = bytes(255 * (flag == 1) for flag in range(256))


def equals(value: int) -> bytes:
    """Return a table that translates this value to 1 and all others to 0."""
    return bytes(value) + b"\1" + bytes(255 - value)


def lowest_bytes(column: array[int]) -> bytes:
    """Return the byte of each number in which most of them differ."""
    return column.tobytes()[_LOWEST % column.itemsize :: column.itemsize]


def bytes_above(column: array[int], low_bytes: int) -> bytes:
    """Return the byte of each number above so many low ones."""
    return column.tobytes()[abs(_LOWEST % column.itemsize - low_bytes) :: column.itemsize]


def where_set(values: bytes, flags: bytes) -> bytes:
    """Return the values at places where ``flags`` has one, and 0 at those where it has 0."""
    return (int.from_bytes(values) & int.from_bytes(flags.translate(_ALL_BITS))).to_bytes(len(values))


def may_exceed(column: array[int], flags: bytes | bytearray, most: int) -> bool:
    """Return False if no number exceeds ``most`` at a place where ``flags`` has one; none of them is negative.

    True may be wrong for numbers that have as many bytes as ``most``: only the highest byte of each is looked at.
    """
    data, kept = column.tobytes(), int.from_bytes(flags.translate(_ALL_BITS))
    for low_bytes in range(max(0, most.bit_length() - 1) // 8, column.itemsize):
        seen = data[abs(_LOWEST % column.itemsize - low_bytes) :: column.itemsize]
        seen = (int.from_bytes(seen) & kept).to_bytes(len(seen))
        if seen.translate(None, bytes(range(max(1, most >> 8 * low_bytes)))):
            return True
    return False


def tally(values: bytes) -> dict[int, int]:
    """Return how often each value occurs, in ascending order. A set of ten thousand is slower."""
    found: dict[int, int] = {}
    rest = values
    while rest:
        found[rest[0]] = rest.count(rest[0])
        rest = rest.translate(None, rest[:1])
    return dict(sorted(found.items()))
