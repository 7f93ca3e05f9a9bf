"""Reasons peculiar to multi-instance tasks: where they can run, and what they wait for on their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import InstanceState
from engine.state.columns import NEVER_MS
from engine.state.instances import PrepFlag
from engine.views.explain.explanation import Check, Next, answer, moment, name_of, task_name

if TYPE_CHECKING:
    from engine.state.gangs import Gang
    from engine.state.pools import Pool
    from engine.views.explain.explanation import Explanation
    from engine.world.world import World


def pool_check(pool: Pool) -> Check:
    """Check that multi-instance tasks can run in the pool (MI-2)."""
    if not pool.spec.enable_inter_node_communication:
        value = f"{pool.id} has no inter-node communication: it never runs there"
    elif pool.slots > 1:
        value = f"{pool.id} has {pool.slots} task slots per node instead of 1: it never runs there"
    else:
        value = f"{pool.id} has inter-node communication, and 1 task slot per node"
    return Check("multi-instance", pool.hosts_gangs, value, "MI-2")


def why_preparing(world: World, task: int, gang: Gang) -> Explanation:
    """Explain why a task with all of its nodes does not run: it waits for the last preparation (PREP-6)."""
    instances, job = world.instances, world.tasks.profile_of(task).job
    rows = [instances.row(job, node) for node in gang.nodes]
    prepared = [row for row in rows if instances.flags[row] & PrepFlag.VALID]
    running = [row for row in rows if instances.prep_state[row] == InstanceState.RUNNING]
    last = max(running, key=lambda row: (instances.prep_end[row], row))
    checks = (
        Check("nodes", True, f"assigned to {_names(world, gang.nodes)}", "MI-3"),
        Check("preparation on all nodes", False, f"done on {len(prepared)} of {len(rows)}", "PREP-6"),
    )
    ending = f"preparation ends on {name_of(world, instances.node[last])}, the last of them"
    following = Next(ending, instances.prep_end[last], "PREP-7")
    return answer(world, f"Why is {task_name(world, task)} preparing?", checks, next_change=following)


def running_checks(world: World, task: int, gang: Gang) -> tuple[Check, ...]:
    """Return the progress of a running multi-instance task (MI-4)."""
    since = moment(world, world.tasks.started[task])
    returned = sum(gang.has_returned(subtask) for subtask in range(len(gang.nodes)))
    begun = gang.application_ms != NEVER_MS
    application = f"on the primary since {moment(world, gang.application_ms)}" if begun else "not started"
    return (
        Check("nodes", True, f"{_names(world, gang.nodes)} since {since}, the first is the primary", "MI-3"),
        Check("coordination command", begun, f"returned on {returned} of {len(gang.nodes)} nodes", "MI-5"),
        Check("application command", begun, application, "MI-4"),
    )


def next_step(world: World, gang: Gang) -> Next:
    """Return the next event of a running multi-instance task."""
    if gang.application_ms != NEVER_MS or gang.due_ms not in gang.returns_ms:
        return Next("it ends", gang.due_ms, "TASK-7")
    where = name_of(world, gang.nodes[gang.returns_ms.index(gang.due_ms)])
    return Next(f"the coordination command returns on {where}", gang.due_ms, "MI-4")


def _names(world: World, nodes: tuple[int, ...]) -> str:
    return ", ".join(name_of(world, node) for node in nodes)
