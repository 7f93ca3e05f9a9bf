"""Values that are kept as long as what they were made from stays the same.

What a value is made from is told by anything that can be compared: a moment of the run, numbers of log entries, or the
settings of a picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

ValueT = TypeVar("ValueT")

_NOTHING = object()


class Kept(Generic[ValueT]):
    """One value, made again when it is asked for with other sources."""

    def __init__(self) -> None:
        """Begin without a value."""
        self._sources: object = _NOTHING
        self._value: ValueT

    def get(self, sources: object, make: Callable[[], ValueT]) -> ValueT:
        """Return the value; call ``make`` if it was made from other sources."""
        if self._sources != sources:
            self._value = make()
            self._sources = sources
        return self._value


class KeptByKey(Generic[ValueT]):
    """Several values by key, all of which are forgotten when their common sources differ."""

    def __init__(self) -> None:
        """Begin without values."""
        self._sources: object = _NOTHING
        self._values: dict[Hashable, ValueT] = {}

    def at(self, sources: object) -> dict[Hashable, ValueT]:
        """Return the values that were made from these sources, to be read and added to."""
        if self._sources != sources:
            self._sources, self._values = sources, {}
        return self._values

    def get(self, sources: object, key: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """Return the value of a key; call ``make`` if there is none from these sources."""
        values = self.at(sources)
        if key not in values:
            values[key] = make()
        return values[key]
