"""What needs somebody: failures and delays that are still there, grouped by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.state.nodes import GONE
from engine.terms import JobState, NodeState
from engine.views.pages.instances import Hook
from engine.views.sweep import places, values

if TYPE_CHECKING:
    from engine import Simulation
    from engine.views.pages.instances import InstancePage
    from engine.views.pages.tasks import TaskPage

_BAD_STATES = (NodeState.UNUSABLE, NodeState.START_TASK_FAILED, NodeState.UNKNOWN, NodeState.PREEMPTED)
_MOST_TASKS = 2000  # looked at for their exit codes; there may be a million


class Concern(NamedTuple):
    """Nodes, tasks, a job or a pool that share one trouble."""

    kind: str  # preparation, release, node, task, pool, job
    text: str
    effect: str  # what that holds up, and what would help; empty where nothing is to be said
    size: int
    nodes: tuple[int, ...]
    since_ms: int


def concerns_of(
    simulation: Simulation, pool_id: str, preparation: InstancePage, release: InstancePage, tasks: TaskPage
) -> list[Concern]:
    """What is wrong with a job and its pool now: what bars nodes first, then nodes, pool, release, tasks."""
    job_id = preparation.job_id
    return [
        *_stuck(simulation, job_id),
        *_hooks(preparation),
        *_nodes(simulation, pool_id),
        *_pool(simulation, pool_id),
        *_hooks(release),
        *_tasks(simulation, tasks),
    ]


def _stuck(simulation: Simulation, job_id: str) -> list[Concern]:
    """PREP-11: preparation has failed on every node that could take a task."""
    world = simulation.world
    job = world.jobs.find(job_id)
    if job is None or job.pool < 0 or job.state is not JobState.ACTIVE or not job.counts[0] or job.busy:
        return []
    pool = world.pools[job.pool]
    present = [node for node in pool.nodes if world.nodes.state[node] != GONE]
    if not present or any(not job.barred >> world.nodes[node].position & 1 for node in present):
        return []
    effect = "tasks stay active: reimage a node or add one (PREP-11)"
    return [Concern("job", "preparation failed on every node", effect, len(present), tuple(present), job.since_ms)]


def _hooks(page: InstancePage) -> list[Concern]:
    hook = page.hook
    groups: dict[str, list[int]] = {}
    since: dict[str, int] = {}
    barred = False
    for failed in page.failures():
        code = "" if failed.failure is None else failed.failure.code
        cause = f"exit code {failed.exit_code}" if code in ("", "FailureExitCode") else code
        groups.setdefault(cause, []).append(failed.node)
        since[cause] = max(since.get(cause, 0), failed.end_ms)
        barred = barred or failed.is_barred
    is_over = page.job_state not in (JobState.ACTIVE, JobState.DISABLING, JobState.DISABLED, JobState.ENABLING)
    effect = "barred from this job until reimaged (PREP-9)" if barred else "the job completes all the same (REL-7)"
    if hook is Hook.PREPARATION and not barred:
        effect = "no influence on scheduling (PREP-13)"
    if hook is Hook.PREPARATION and is_over:
        effect = ""
    return [
        Concern(
            hook.value.lower(), f"{hook.value.lower()} task {cause}", effect, len(nodes), tuple(nodes), since[cause]
        )
        for cause, nodes in sorted(groups.items(), key=lambda item: -since[item[0]])
    ]


def _nodes(simulation: Simulation, pool_id: str) -> list[Concern]:
    table = simulation.world.nodes
    pool = simulation.world.pools.find(pool_id)
    every = () if pool is None else pool.nodes
    states = bytes(values(table.state, every))
    found = []
    for state in _BAD_STATES:
        nodes = tuple(every[at] for at in places(states, state))
        if nodes:
            since_ms = max(table.since[node] for node in nodes)
            found.append(Concern("node", _NODE_TEXTS[state], _NODE_EFFECTS[state], len(nodes), nodes, since_ms))
    return found


_NODE_TEXTS = {
    NodeState.UNUSABLE: "unusable",
    NodeState.START_TASK_FAILED: "start task failed",
    NodeState.UNKNOWN: "contact lost",
    NodeState.PREEMPTED: "preempted",
}
_NODE_EFFECTS = {
    NodeState.UNUSABLE: "no tasks come here: reboot, reimage or remove",
    NodeState.START_TASK_FAILED: "no tasks come here: reboot or reimage",
    NodeState.UNKNOWN: "its tasks wait until contact is back",
    NodeState.PREEMPTED: "Spot capacity is refilled when there is some",
}


def _pool(simulation: Simulation, pool_id: str) -> list[Concern]:
    pool = simulation.world.pools.find(pool_id)
    if pool is None:
        return []
    since_ms = pool.allocation_since_ms
    return [Concern("pool", f"resize: {error.code}", error.message, 1, (), since_ms) for error in pool.resize_errors]


def _tasks(simulation: Simulation, page: TaskPage) -> list[Concern]:
    tasks = simulation.world.tasks
    failed = page.failed()
    groups: dict[str, int] = {}
    since: dict[str, int] = {}
    for task in failed[-_MOST_TASKS:]:
        extra = tasks.extra(task)
        code = "" if extra.failure is None else extra.failure.code
        cause = f"exit code {extra.exit_code}" if code in ("", "FailureExitCode") else code
        groups[cause] = groups.get(cause, 0) + 1
        since[cause] = max(since.get(cause, 0), tasks.ended[task])
    return [
        Concern("task", f"task {cause}", "", count, (), since[cause])
        for cause, count in sorted(groups.items(), key=lambda item: (-item[1], item[0]))
    ]
