"""A pool that is resized, and what it has come to."""

from __future__ import annotations

from tests.builders import READY_S, a_job, a_pool, do, node_rows, node_state, run, run_to, some_tasks


def pool(sim, pool_id="p"):
    return sim.world.pools.find(pool_id)


def allocation(sim):
    return pool(sim).allocation.wire


def errors(sim):
    return [error.code for error in pool(sim).resize_errors]


def targets(sim):
    return pool(sim).target_dedicated, pool(sim).target_spot


def here(sim):
    """The indexes of the nodes that are there and not leaving."""
    return [index for index in range(len(node_rows(sim))) if node_state(sim, index) not in (None, "leavingpool")]


def ready(start, *jobs, nodes=2, **pool_body):
    """A run whose first nodes have just become idle."""
    sim = start(*jobs, pool=a_pool(nodes=nodes, **pool_body))
    run_to(sim, seconds=READY_S)
    return sim


def resize(sim, nodes, **more):
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=nodes, **more)


def busy(start, tasks=2, **more):
    """Two nodes, a task on each."""
    sim = ready(start, a_job(tasks=some_tasks(tasks, 100)), **more)
    run(sim, seconds=1)
    return sim
