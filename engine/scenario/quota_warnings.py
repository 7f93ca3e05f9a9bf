"""Pools that want more cores than the account has (ACC-6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.scenario.names import text_at
from engine.specs.catalogue import vm_size

if TYPE_CHECKING:
    from engine.scenario.document import DocumentPlace
    from engine.specs.account import Quotas

# Kinds of nodes: the word, a pool's target, and the account's quota.
_TARGETS = (
    ("dedicated", "targetDedicatedNodes", "dedicatedCores"),
    ("Spot", "targetLowPriorityNodes", "lowPriorityCores"),
)


def visit_targets(place: DocumentPlace, account: Quotas | None) -> None:
    """Warn of a pool that wants more cores than the account has for all pools together (ACC-6)."""
    size = vm_size(text_at(place.plain, "vmSize") or "")
    if account is None or size is None:
        return
    quotas = account.dedicated_cores, account.low_priority_cores
    for (kind, target, name), quota in zip(_TARGETS, quotas, strict=True):
        written = place.get(target)
        cores = written.plain * size.cores if written is not None and isinstance(written.plain, int) else 0
        if written is not None and cores > quota:
            written.warn(
                f"these nodes have {cores:,} cores, but the account's quota of {kind} cores is {quota:,}: no"
                f" more than {quota // size.cores:,} of them come (ACC-6). Write account: {{quotas: {{{name}:"
                f" {cores}}}}}"
            )
