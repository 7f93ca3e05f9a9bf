"""Parts of a pool's record: errors of resizes, requests that will fail, and the state of autoscale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.autoscale import joined

if TYPE_CHECKING:
    from engine.autoscale import RunError


class ResizeError(NamedTuple):
    """A reason for which a resize fell short (ERR-R)."""

    code: str
    message: str
    values: tuple[tuple[str, str], ...] = ()

    def wire(self) -> dict[str, object]:
        """Return the error as the service writes it."""
        body: dict[str, object] = {"code": self.code, "message": self.message}
        if self.values:
            body["values"] = [{"name": name, "value": value} for name, value in self.values]
        return body


class FailingRequest(NamedTuple):
    """A request for nodes of one kind that will fail: how many, and what the service will report (RSZ-16)."""

    dedicated: bool
    nodes: int
    errors: tuple[ResizeError, ...]


class AutoScaleRun(NamedTuple):
    """An evaluation of a formula (AS-67), with its targets and the nodes at that moment."""

    when_ms: int
    items: tuple[tuple[str, str], ...]  # of the results string
    error: RunError | None
    target_dedicated: int
    target_spot: int
    current_dedicated: int
    current_spot: int

    @property
    def results(self) -> str:
        """The results string of the service (AS-68)."""
        return joined(self.items)


class Sampling(NamedTuple):
    """The moment of a pool's next sample, and its ``busy_slot_ms`` at the last one (AS-52, AS-53)."""

    next_ms: int
    busy_slot_ms: int


class Scaling(NamedTuple):
    """The autoscale settings of a pool (AS-83), its next evaluation and sample, and its last evaluations in order."""

    formula: str
    interval_ms: int
    next_ms: int
    sampling: Sampling
    runs: tuple[AutoScaleRun, ...] = ()

    @property
    def run(self) -> AutoScaleRun | None:
        """The last evaluation."""
        return self.runs[-1] if self.runs else None
