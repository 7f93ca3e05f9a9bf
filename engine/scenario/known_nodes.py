"""The nodes on which tasks run, as the bodies of pools and jobs tell of them."""

from __future__ import annotations

from typing import NamedTuple

from engine.base.terms import OsFamily, Plain
from engine.scenario.names import text_at
from engine.specs.catalogue import os_of


class PoolNodes(NamedTuple):
    """The nodes of a pool, as its body tells of them."""

    os: OsFamily
    slots: int  # of each node


class NodeOwner(NamedTuple):
    """The owner of the nodes on which a task runs: a pool, the pool of a job, or the job with a pool of its own."""

    pool_id: str | None = None
    job_id: str | None = None
    nodes: PoolNodes | None = None


class KnownNodes:
    """The nodes of all pools and jobs that have been read."""

    def __init__(self) -> None:
        self._pools: dict[str, PoolNodes] = {}
        self._jobs: dict[str, NodeOwner] = {}
        self._moves: dict[str, list[NodeOwner]] = {}

    def add_pool(self, pool_id: str, nodes: PoolNodes) -> None:
        """Note the nodes of a pool. An update may give them more slots: the largest number counts."""
        known = self._pools.setdefault(pool_id.casefold(), nodes)
        self._pools[pool_id.casefold()] = known._replace(slots=max(known.slots, nodes.slots))

    def add_job(self, job_id: str, owner: NodeOwner) -> None:
        """Note where the tasks of a job, or of the jobs of a job schedule, run."""
        self._jobs[job_id.casefold()] = owner

    def move_job(self, job_id: str, pool_id: str) -> None:
        """Note another pool to which a job is moved (JOB-14)."""
        self._moves.setdefault(job_id.casefold(), []).append(NodeOwner(pool_id))

    def most_slots(self, owner: NodeOwner) -> int | None:
        """Return the most slots of a node on which a task may ever run; None if some pool is not known."""
        moves = self._moves.get((owner.job_id or "").casefold(), ())
        found = [nodes.slots for each in (owner, *moves) if (nodes := self.of(each)) is not None]
        return max(found) if len(found) > len(moves) else None

    def of(self, owner: NodeOwner) -> PoolNodes | None:
        """Return the nodes of an owner; None if nothing that has been read yet tells of them."""
        if owner.pool_id is None and owner.nodes is None and owner.job_id is not None:
            job_id = owner.job_id.casefold()
            owner = self._jobs.get(job_id) or self._jobs.get(job_id.rpartition(":")[0]) or NodeOwner()
        return owner.nodes or self._pools.get((owner.pool_id or "").casefold())


def nodes_in(body: Plain) -> PoolNodes:
    """Return what a pool's body tells of its nodes, as written."""
    cloud_service = isinstance(body, dict) and body.get("cloudServiceConfiguration") is not None
    agent = text_at(body, "virtualMachineConfiguration", "nodeAgentSKUId")
    slots = body.get("taskSlotsPerNode", body.get("maxTasksPerNode")) if isinstance(body, dict) else None
    os = os_of(node_agent_sku_id=agent, cloud_service=cloud_service)
    return PoolNodes(os, slots if isinstance(slots, int) else 1)


def owner_in(specification: Plain) -> NodeOwner:
    """Return the owner of the nodes on which the tasks of a job with this body run."""
    info = specification.get("poolInfo") if isinstance(specification, dict) else None
    automatic = info.get("autoPoolSpecification") if isinstance(info, dict) else None
    pool = automatic.get("pool") if isinstance(automatic, dict) else None
    return NodeOwner(text_at(info, "poolId"), nodes=nodes_in(pool) if isinstance(pool, dict) else None)
