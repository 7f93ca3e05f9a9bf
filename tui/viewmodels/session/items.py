"""Items of the run: their focus, REST body, and links to their pool, node, job and tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.views.log.node_history import trigger_of
from engine.views.pages.hook_status import HookStatus
from engine.views.pages.nodes import pool_of_node
from engine.views.pages.tasks import job_of_task
from engine.views.rest import lookup
from tui.viewmodels.text.styled import ItemRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session.session import Session

_MOST_TASKS = 6


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


def rest_body(session: Session, subject: ItemRef) -> dict[str, Any] | None:
    """Return the REST body of an item, or None if it does not exist now."""
    simulation, key = session.simulation, subject.key
    match subject.kind:
        case "account":
            return lookup.account_wire(simulation)
        case "pool":
            return lookup.pool_wire(simulation, str(key))
        case "job":
            return lookup.job_wire(simulation, str(key))
        case "job schedule":
            return lookup.schedule_wire(simulation, str(key))
        case "node":
            return lookup.node_wire(simulation, int(key))
        case "task":
            return lookup.task_wire(simulation, int(key))


def as_json(body: dict[str, Any]) -> str:
    """Return the body as indented JSON."""
    return json.dumps(body, indent=2, ensure_ascii=False)


class Link(NamedTuple):
    """A link: the letter that follows it, its text, and the item that it opens."""

    letter: str
    text: str
    subject: ItemRef


def links_of(session: Session, subject: ItemRef) -> Sequence[Link]:
    """Return the links of an item; those of a pool are its jobs."""
    match subject.kind:
        case "node":
            return _of_node(session, int(subject.key))
        case "task":
            return _of_task(session, int(subject.key))
        case "job":
            job = session.job(str(subject.key))
            return [_pool(job.pool_id)] if job is not None and job.pool_id else []
        case "pool":
            pool = session.pool(str(subject.key))
            return [] if pool is None else [_job(job_id) for job_id in pool.jobs]
        case _:
            return []


def links_of_instance(session: Session, node: int) -> Sequence[Link]:
    """Return the links of a preparation or release of the job in focus, among them the task that triggered it."""
    links = [Link("n", f"node n{session.nodes().row(node).position}", ItemRef("node", node))]
    task = trigger_of(session.simulation, session.job_id, node)
    if task is not None:
        task_id = session.tasks(session.job_id).id_of(task)
        links.append(Link("t", f"task {task_id}, which triggered it", ItemRef("task", task)))
    return [*links, *_of_node(session, node)]


def _pool(pool_id: str) -> Link:
    return Link("p", f"pool {pool_id}", ItemRef("pool", pool_id))


def _job(job_id: str) -> Link:
    return Link("j", f"job {job_id}", ItemRef("job", job_id))


def _of_node(session: Session, node: int) -> list[Link]:
    page = session.nodes()
    jobs = [job.job_id for job in page.jobs_on(node) if job.prep is not HookStatus.NOT_NEEDED]
    tasks = [
        Link("t", f"task {task_id} of {job_id}", ItemRef("task", task)) for task, job_id, task_id in page.tasks_on(node)
    ]
    return [_pool(page.row(node).pool_id), *map(_job, jobs), *tasks[:_MOST_TASKS]]


def _of_task(session: Session, task: int) -> list[Link]:
    row = session.tasks(session.job_id).row(task)
    found = [_job(row.job_id)]
    if row.node is not None:
        found.append(Link("n", f"node n{session.nodes().row(row.node).position}", ItemRef("node", row.node)))
    job = session.job(row.job_id)
    return [*found, _pool(job.pool_id)] if job is not None and job.pool_id else found
