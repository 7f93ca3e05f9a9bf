"""The targets of actions: items with their state and their part of a command's body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.terms import JobState
from engine.base.units import format_utc
from engine.views.pages.account import core_quotas
from engine.views.pages.autoscale import scale_page
from engine.views.pages.hook_status import HookStatus
from engine.views.pages.option_words import eligible_again
from tui.viewmodels.actions.on_account import ACCOUNT, AccountTarget
from tui.viewmodels.actions.on_jobs import JOB, JOB_SCHEDULE, TASK
from tui.viewmodels.actions.on_nodes import NODE, NodeTarget
from tui.viewmodels.actions.on_pools import POOL, PoolTarget

if TYPE_CHECKING:
    from tui.viewmodels.actions.action import ActionType
    from tui.viewmodels.actions.fields import Body
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef, Kind

ACTION_TYPES: dict[Kind, tuple[ActionType[Any], ...]] = {
    "node": NODE,
    "task": TASK,
    "job": JOB,
    "job schedule": JOB_SCHEDULE,
    "pool": POOL,
    "account": ACCOUNT,
}


class ActionTarget(NamedTuple):
    """An item as the target of an action: its name, its part of the body, and its row."""

    name: str
    body: Body
    row: object
    listed: object = None  # the item in the body's list, for one command on all


def target_of(session: Session, item: ItemRef) -> ActionTarget | None:
    """Return the target for an item, or None if it no longer exists."""
    match item.kind:
        case "node":
            return _node_case(session, int(item.key))
        case "task":
            task = session.tasks(session.job_id).row(int(item.key))
            body = {"jobId": task.job_id, "taskId": task.brief.task_id}
            return None if task.brief.state is None else ActionTarget(task.brief.task_id, body, task)
        case "job":
            job = session.job(str(item.key))
            return None if job is None else ActionTarget(job.job_id, {"jobId": job.job_id}, job)
        case "job schedule":
            one = session.schedule(str(item.key))
            return None if one is None else ActionTarget(one.schedule_id, {"jobScheduleId": one.schedule_id}, one)
        case "pool":
            pool = session.pool(str(item.key))
            if pool is None or pool.state is None:
                return None
            scale = scale_page(session.simulation, pool.pool_id)
            row = PoolTarget(pool, None if scale is None else scale.interval_ms, core_quotas(session.simulation))
            return ActionTarget(pool.pool_id, {"poolId": pool.pool_id}, row)
        case "account":
            page = session.account()
            return ActionTarget(page.name, {}, AccountTarget(page, core_quotas(session.simulation)))


def gone_note(session: Session, item: ItemRef) -> str:
    """Return since when an item is gone, so that nothing can be done with it; empty if that is not the reason."""
    after = "Nothing can be done with it any more."
    match item.kind:
        case "pool":
            pool = session.pool(str(item.key))
            if pool is not None and pool.state is None:
                return f"Pool {pool.pool_id} was deleted at {session.clock(pool.gone_ms)}. {after}"
        case "node":
            node = session.nodes().row(int(item.key))
            if node.state is None:
                return f"Node n{node.position} left its pool at {session.clock(node.since_ms)}. {after}"
        case "task":
            task = session.tasks(session.job_id).row(int(item.key))
            if task.brief.state is None:
                return f"Task {task.brief.task_id} was deleted. {after}"
        case _:
            pass
    return ""


_ENDING = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING)


def _node_case(session: Session, node: int) -> ActionTarget | None:
    page = session.nodes()
    row = page.row(node)
    if row.state is None:
        return None
    prepared, again, ineligible = [], [], []
    for on_node in page.jobs_on(node):
        job = session.job(on_node.job_id)
        if job is None or job.state in _ENDING:
            continue  # it needs no preparation any more
        prep = job.spec.job_preparation_task
        if on_node.prep is HookStatus.SUCCEEDED:
            prepared.append(job.job_id)
            again += [job.job_id] if prep is not None and prep.rerun_on_node_reboot_after_success else []
        ineligible += [job.job_id] if on_node.is_ineligible else []
    body = {"poolId": row.pool_id, "node": row.position}
    ends = eligible_again(session.options)
    began = format_utc(session.simulation.scenario.start, 0)
    target = NodeTarget(row, prepared, again, ineligible, began, ends)
    return ActionTarget(f"n{row.position}", body, target, row.position)
