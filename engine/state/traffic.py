"""Bytes that move to, from and on nodes, for the metrics of pools that scale themselves (AS-41).

DECISION: what a task had begun to download when it was stopped moves on, as its file is on the disk already; what was
under way when a node was stopped, or when autoscale was switched on, is not counted.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple


class Traffic(Enum):
    """The way of some bytes."""

    DOWNLOAD = auto()  # from the network to the disk
    UPLOAD = auto()  # from the disk to the network
    WRITE = auto()  # from a program to the disk


class Transfer(NamedTuple):
    """Bytes that move evenly from ``begin_ms`` to ``end_ms``, or all at that moment if both are the same."""

    kind: Traffic
    begin_ms: int
    end_ms: int
    size: int

    def between(self, after_ms: int, until_ms: int) -> float:
        """Return the bytes that have moved later than ``after_ms``, and not later than ``until_ms``."""
        if self.begin_ms == self.end_ms:
            return self.size if after_ms < self.end_ms <= until_ms else 0
        shared_ms = min(self.end_ms, until_ms) - max(self.begin_ms, after_ms)
        return self.size * max(0, shared_ms) / (self.end_ms - self.begin_ms)


class TrafficTable:
    """The transfers of nodes in pools that scale themselves, until samples have counted them."""

    def __init__(self) -> None:
        """Make a table without transfers."""
        self._of: dict[int, tuple[Transfer, ...]] = {}

    def __getitem__(self, node: int) -> tuple[Transfer, ...]:
        return self._of.get(node, ())

    def __bool__(self) -> bool:
        return bool(self._of)

    def add(self, node: int, transfer: Transfer) -> None:
        """Remember a transfer, which may end later."""
        self._of[node] = (*self._of.get(node, ()), transfer)

    def forget(self, node: int, until_ms: int) -> None:
        """Forget what had moved by then."""
        known = self._of.get(node)
        if known is None:
            return
        kept = tuple(transfer for transfer in known if transfer.end_ms > until_ms)
        if kept:
            self._of[node] = kept
        else:
            del self._of[node]

    def forget_node(self, node: int) -> None:
        """Forget all transfers of a node whose processes have ended, or that nobody samples any more."""
        self._of.pop(node, None)

    def copy(self) -> dict[int, tuple[Transfer, ...]]:
        """Return a copy."""
        return self._of.copy()

    def restore(self, copy: dict[int, tuple[Transfer, ...]]) -> None:
        """Restore the transfers from a copy."""
        self._of = copy.copy()
