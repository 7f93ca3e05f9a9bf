"""The change of focus that opening an item causes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.nodes import pool_of_node
from engine.views.pages.tasks import job_of_task

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef


def focus_on(session: Session, subject: ItemRef) -> None:
    """Put a job or pool itself in focus, or a node's pool, or a task's job. Ignore an item that does not exist yet."""
    key = subject.key
    match subject.kind:
        case "job":
            session.focus_job(str(key))
        case "pool":
            session.focus_pool(str(key))
        case "node":
            pool_id = pool_of_node(session.simulation, int(key))
            if pool_id and pool_id != session.pool_id:
                session.focus_pool(pool_id)
        case "task":
            job_id = job_of_task(session.simulation, int(key))
            if job_id and job_id != session.job_id:
                session.focus_job(job_id)
        case "job schedule":
            schedule = session.schedule(str(key))
            if schedule is not None and schedule.recent_job:
                session.focus_job(schedule.recent_job)
