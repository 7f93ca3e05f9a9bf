"""Cautions about a new job: what the service accepts, though it is probably not meant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.base.terms import OnAllTasksComplete, PoolState
from engine.views.pages.jobs import users_pool_ids
from tui.viewmodels.actions.fields import property_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.viewmodels.actions.action import Caution
    from tui.viewmodels.actions.fields import Body
    from tui.viewmodels.session.session import Session


def pool_for_jobs(session: Session) -> str:
    """Return the pool to propose for a job: the one in focus, or the newest one with nodes if that gets none."""
    pools = users_pool_ids(session.simulation)
    with_nodes = [pool_id for pool_id in pools if _gets_nodes(session, pool_id)]
    if session.pool_id in (with_nodes or pools):
        return session.pool_id
    return (with_nodes or pools or [""])[-1]


def cautions_about_job(session: Session, body: Body, prefix: str = "") -> list[Caution]:
    """Return the cautions about a job, or about the jobs of a schedule if their properties follow ``prefix``."""
    return [*_about_release(body, prefix), *_about_pool(session, body, prefix)]


def cautions_about_schedule(session: Session, body: Body) -> list[Caution]:
    """Return the cautions about the jobs of a schedule; without a job manager task nobody gives them tasks."""
    prefix = "jobSpecification."
    found = []
    if property_at(body, f"{prefix}jobManagerTask") is None:
        text = "its jobs have no tasks unless others add them: a job manager task does (JM-3)"
        found.append((f"{prefix}jobManagerTask.commandLine", text))
    return [*found, *cautions_about_job(session, body, prefix)]


def cautions_about_tasks(session: Session, job_id: str) -> list[Caution]:
    """Return the cautions about tasks that are added to a job."""
    job = session.job(job_id)
    return [] if job is None else _about_pool_of(session, job.pool_id, "")


def _about_release(body: Body, prefix: str) -> Iterator[Caution]:
    """Yield that the release task will not run, since nothing but a user ends the job."""
    if property_at(body, f"{prefix}jobReleaseTask.commandLine") is None or _ends_by_itself(body, prefix):
        return
    text = "the release task never runs unless a user ends the job; choose terminatejob above (JOB-7)"
    yield f"{prefix}jobReleaseTask.commandLine", text


def _ends_by_itself(body: Body, prefix: str) -> bool:
    on_complete = property_at(body, f"{prefix}onAllTasksComplete")
    manager = property_at(body, f"{prefix}jobManagerTask")
    return (
        str(on_complete).lower() == OnAllTasksComplete.TERMINATE_JOB.value
        or property_at(body, f"{prefix}constraints.maxWallClockTime") is not None
        or (isinstance(manager, Mapping) and manager.get("killJobOnCompletion") is not False)
        or "terminateJob" in json.dumps(body)  # a process of the job gives the command (JM-11)
    )


def _about_pool(session: Session, body: Body, prefix: str) -> list[Caution]:
    pool_id = property_at(body, f"{prefix}poolInfo.poolId")
    return _about_pool_of(session, pool_id, f"{prefix}poolInfo.poolId") if isinstance(pool_id, str) else []


def _about_pool_of(session: Session, pool_id: str, path: str) -> list[Caution]:
    """Return that there is no such pool, or that it has no nodes and gets none."""
    pool = session.pool(pool_id)
    if pool is None and pool_id:
        return [(path, f"no task runs until somebody creates the pool {pool_id} (POOL-18)")]
    if pool is None or _gets_nodes(session, pool_id):
        return []
    is_active = pool.state is PoolState.ACTIVE
    why = (
        "has no nodes, and its target is 0" if is_active else "is deleted" if pool.state is None else "is being deleted"
    )
    return [(path, f"no task runs there: pool {pool_id} {why}")]


def _gets_nodes(session: Session, pool_id: str) -> bool:
    """Return whether a pool has nodes, or will have some unless they cannot be allocated."""
    pool = session.pool(pool_id)
    if pool is None or pool.state is not PoolState.ACTIVE:
        return False
    return bool(pool.nodes or pool.target_dedicated or pool.target_spot or pool.auto_scale)
