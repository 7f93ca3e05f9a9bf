"""What comes before a process: found out when it starts, kept with its node until it ends (TASK-7, RETRY-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.state.failures import FailureInfo


class Setup(NamedTuple):
    """How long until everything a process needs is on its node, in ms, and why it never will be."""

    delay_ms: int = 0
    failure: FailureInfo | None = None


READY = Setup()
