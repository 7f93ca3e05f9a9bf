"""The pool that stands for the machines of a log or workflow: nodes that are there from the start."""

from __future__ import annotations

from typing import NamedTuple

from engine.base.units import DAY_MS
from engine.rules.decisions.quotas import MAX_COMMUNICATING
from engine.specs.account import PoolAllocationMode, Quotas

POOL = "cluster"
SLOT_LIMIT = 256
"""The most task slots of a node, of any size (ACC-5)."""

GANG_NODE_LIMIT = MAX_COMMUNICATING[PoolAllocationMode.BATCH_SERVICE]
"""The most nodes of a pool that has multi-instance tasks (ACC-5)."""

LATEST_MS = 99 * 366 * DAY_MS
"""The latest end of a run: a scenario has no times beyond a century."""

_CORES = (2, 4, 8, 16, 32, 48, 64)


class Machines(NamedTuple):
    """Nodes and their task slots; ``gangs`` is true if multi-instance tasks run on them, which need single slots."""

    nodes: int
    slots: int
    gangs: bool = False

    @property
    def widest(self) -> int:
        """The most processors that one task can have."""
        return self.nodes if self.gangs else self.slots

    @property
    def cores(self) -> int:
        """The cores of a node: one per slot, as far as there is such a size."""
        return 1 if self.slots == 1 else next((cores for cores in _CORES if cores >= self.slots), _CORES[-1])

    @property
    def vm_size(self) -> str:
        """The VM size of a node."""
        return "standard_d1_v2" if self.cores == 1 else f"standard_d{self.cores}s_v3"

    def account(self) -> dict[str, object]:
        """Return the account of a scenario, with quotas for the nodes; empty if the default ones are enough."""
        needed = self.nodes * self.cores
        return {} if needed <= Quotas().dedicated_cores else {"account": {"quotas": {"dedicatedCores": needed}}}

    def pool(self) -> dict[str, object]:
        """Return the body of the pool."""
        body: dict[str, object] = {
            "id": POOL,
            "vmSize": self.vm_size,
            "targetDedicatedNodes": self.nodes,
            "taskSlotsPerNode": self.slots,
        }
        if self.gangs:
            body["enableInterNodeCommunication"] = True
        if self.slots > 1:
            body["taskSchedulingPolicy"] = {"nodeFillType": "pack"}
        return body


NODES_ARE_READY: dict[str, object] = {"nodes": dict.fromkeys(("allocation", "starting", "ready", "removal"), 0)}
"""The ``simulate`` of a scenario in which nodes come and go at once."""
