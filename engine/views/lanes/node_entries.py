"""The entries of the log that are about each node, found from the latest one back."""

from __future__ import annotations

from array import array
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NONE = -1


class NodeEntries:
    """The numbers of the entries that are about each node.

    Ten thousand nodes with a list each would be slow to write, as they lie apart in memory, and few are ever drawn. So
    each entry names the one before it about the same node, and a list is made of them when a node is asked for.
    """

    def __init__(self) -> None:
        """Begin before the first entry of the log, without nodes."""
        self._previous = array("i")  # by entry
        self._last = array("i")  # by node
        self._shared: dict[int, list[int]] = {}  # by node: entries about several nodes that are not in its list yet
        self._shares = 0
        self._lists: dict[int, array[int]] = {}  # by node

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self._last)

    def add_node(self) -> None:
        """Add the next node."""
        self._last.append(_NONE)

    def skip(self) -> None:
        """Take the next entry, which is about no node."""
        self._previous.append(_NONE)

    def add(self, node: int) -> None:
        """Take the next entry, which is about this node."""
        self._previous.append(self._last[node])
        self._last[node] = len(self._previous) - 1

    def add_pairs(self, nodes: Sequence[int]) -> None:
        """Take the next entries, two about each of these nodes."""
        last, append = self._last, self._previous.append
        for node, number in zip(nodes, count(len(self._previous), 2)):
            append(last[node])
            append(number)
            last[node] = number + 1

    def share(self, number: int, node: int) -> None:
        """Let an entry that is about no single node be about this one, too."""
        self._shared.setdefault(node, []).append(number)
        self._shares += 1

    def latest(self, nodes: Iterable[int]) -> object:
        """Return a value that differs when there are more entries about one of these nodes."""
        last, number = self._last, len(self._last)
        return self._shares, [last[node] if node < number else _NONE for node in nodes]

    def of(self, node: int) -> array[int]:
        """Return the entries about a node, in order. The list grows when it is asked for again."""
        found = self._lists.get(node)
        if found is None:
            found = self._lists[node] = array("I")
        known = found[-1] if found else _NONE
        number = self._last[node] if node < len(self._last) else _NONE
        if number > known or node in self._shared:
            new = self._shared.pop(node, [])
            while number > known:
                new.append(number)
                number = self._previous[number]
            found.extend(sorted(new))
        return found
