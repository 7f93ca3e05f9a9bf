"""The region of the account: how many nodes of a size it can still give, and the outages of its storage.

Both are as the faults of the scenario have set them; without those everything can be had at any time.
"""

from __future__ import annotations

from typing import NamedTuple


class Capacity(NamedTuple):
    """The number of nodes of a VM size that can still be had, and the error code of a request for more (RSZ-12)."""

    nodes: int
    code: str


class RegionCopy(NamedTuple):
    """A copy of the region."""

    capacity: dict[str, Capacity]
    outages: tuple[tuple[int, int | None], ...]


class Region:
    """The limits and outages of this moment."""

    def __init__(self) -> None:
        """Begin without limits and outages."""
        self._capacity: dict[str, Capacity] = {}  # by VM size in lower case
        self._outages: tuple[tuple[int, int | None], ...] = ()  # beginnings and ends in ms; None: the end of the run

    def capacity_of(self, vm_size: str) -> Capacity | None:
        """Return what is left of a VM size; None if it is not limited."""
        return self._capacity.get(vm_size.lower())

    def set_capacity(self, vm_size: str, nodes: int, code: str) -> None:
        """Limit how many nodes of a VM size can still be had; ``code`` says why not more (RSZ-12)."""
        self._capacity[vm_size.lower()] = Capacity(nodes, code)

    def use_capacity(self, vm_size: str, count: int) -> None:
        """Take nodes of a VM size from what can still be had."""
        left = self.capacity_of(vm_size)
        if left is not None:
            self._capacity[vm_size.lower()] = left._replace(nodes=left.nodes - count)

    def add_outage(self, now_ms: int, for_ms: int | None) -> None:
        """Begin a storage outage, in which no download begins (RETRY-1); None: until the end of the run."""
        self._outages = (*self._outages, (now_ms, None if for_ms is None else now_ms + for_ms))

    @property
    def has_had_outages(self) -> bool:
        """True from the first storage outage on."""
        return bool(self._outages)

    def is_out(self, now_ms: int) -> bool:
        """Return whether storage does not answer at this moment."""
        return any(start <= now_ms and (end is None or now_ms < end) for start, end in self._outages)

    def copy(self) -> RegionCopy:
        """Return a copy of the region."""
        return RegionCopy(self._capacity.copy(), self._outages)

    def restore(self, copy: RegionCopy) -> None:
        """Make the region as it was when ``copy`` was taken."""
        self._capacity, self._outages = copy.capacity.copy(), copy.outages
