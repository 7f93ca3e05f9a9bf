"""Links from an item to its pool, node, job and tasks, each reached by one key."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.views.log.node_history import trigger_of
from engine.views.pages.instances import HookStatus
from tui.viewmodels.text.styled import ItemRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session.session import Session

_MOST_TASKS = 6


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
