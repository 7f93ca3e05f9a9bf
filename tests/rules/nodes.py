"""The first node of a pool, idle or with a task."""

from __future__ import annotations

from tests.builders import READY_S, a_job, a_pool, a_task, node_state, run_to, task_state

ON_NODE = {"poolId": "p", "node": 0}
SPOT = a_pool(targetDedicatedNodes=0, targetLowPriorityNodes=1)


def idle(start, *jobs, **scenario):
    """A run whose nodes are idle, with nothing to do."""
    sim = start(*jobs, **scenario)
    run_to(sim, seconds=READY_S)
    return sim


def busy(start, *more, seconds=600, **scenario):
    """A run whose first node has been running a task for ten seconds."""
    sim = start(a_job(tasks=[a_task(seconds=seconds)]), *more, **scenario)
    run_to(sim, seconds=READY_S + 10)
    assert (node_state(sim), task_state(sim)) == ("running", "running")
    return sim
