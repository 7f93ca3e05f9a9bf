"""The bodies with which forms begin: new items, copies of present ones, and what can change of these."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from engine.views.pages.account import account_in_force
from engine.views.pages.creation import (
    job_as_created,
    pool_as_created,
    schedule_as_created,
    task_as_created,
    task_constraints,
    tasks_as_created,
)
from engine.views.pages.job_schedules import schedule_ids
from engine.views.pages.jobs import job_ids, pool_ids
from tui.viewmodels.actions.action import Document
from tui.viewmodels.actions.cautions import (
    cautions_about_job,
    cautions_about_schedule,
    cautions_about_tasks,
    pool_for_jobs,
)
from tui.viewmodels.actions.fields import with_property
from tui.viewmodels.actions.many_tasks import COUNT, EACH, FIRST_ID, fold_tasks, unfold_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tui.viewmodels.actions.fields import Body
    from tui.viewmodels.session.session import Session

_DEFAULT_SIZE = "standard_d2s_v3"
_POOL_CHANGES = (
    "displayName",
    "taskSlotsPerNode",
    "taskSchedulingPolicy",
    "targetNodeCommunicationMode",
    "enableInterNodeCommunication",
    "startTask",
    "applicationPackageReferences",
    "certificateReferences",
    "metadata",
)
_POOL_PROPERTIES = (
    "startTask",
    "applicationPackageReferences",
    "certificateReferences",
    "metadata",
    "targetNodeCommunicationMode",
)
_JOB_CHANGES = (
    "priority",
    "poolInfo",
    "maxParallelTasks",
    "onAllTasksComplete",
    "constraints",
    "allowTaskPreemption",
    "networkConfiguration",
    "metadata",
)
_SCHEDULE_CHANGES = ("schedule", "jobSpecification", "metadata")


# -- ids


def free_id(taken: Sequence[str], stem: str) -> str:
    """Return the first id that is not taken: ``pool-1``, ``pool-2`` and so on."""
    known = {each.lower() for each in taken}
    number = 1
    while f"{stem}-{number}".lower() in known:
        number += 1
    return f"{stem}-{number}"


def taken_ids(session: Session) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Return the ids of pools, jobs and job schedules."""
    simulation = session.simulation
    return pool_ids(simulation), job_ids(simulation), schedule_ids(simulation)


def with_id(body: Body, new_id: str) -> dict[str, Any]:
    """Return a body under another id."""
    return {"id": new_id, **{name: value for name, value in with_property(body, "id", None).items() if name != "id"}}


def _some(body: Body | None, names: Iterable[str]) -> dict[str, Any]:
    return {name: body[name] for name in names if name in body} if body is not None else {}


# -- new items


def new_pool(session: Session, beginning: Body | None = None) -> Document:
    """Return the body of a new pool of two nodes, or of one like ``beginning``."""
    pools, _, _ = taken_ids(session)
    start: Body = beginning or {"id": free_id(pools, "pool"), "vmSize": _DEFAULT_SIZE, "targetDedicatedNodes": 2}
    return Document(start, account=account_in_force(session.simulation))


def new_job(session: Session, pool_id: str = "") -> Document:
    """Return the body of a new job in this pool, else in the one in focus."""
    _, jobs, schedules = taken_ids(session)
    pool = pool_id or pool_for_jobs(session)
    start: dict[str, Any] = {"id": free_id((*jobs, *schedules), "job")}
    return _job(session, {**start, **({"poolInfo": {"poolId": pool}} if pool else {})})


def _job(session: Session, start: Body) -> Document:
    return Document(
        start,
        unfold=unfold_tasks,
        fold=partial(fold_tasks, default_id=FIRST_ID),
        cautions=lambda body: cautions_about_job(session, body),
    )


def new_tasks(session: Session, job_id: str, beginning: Body | None = None) -> Document:
    """Return the body that adds a task to a job."""
    page = session.tasks(job_id)
    stem = "task"
    while page.find(f"{stem}-1") is not None or page.find(stem) is not None:
        stem += "-new"
    task = beginning or {"id": stem, "commandLine": "work", "simulate": {"duration": "PT1M"}}
    return Document(
        {"tasks": [task]},
        unfold=unfold_one_task,
        fold=fold_tasks,
        cautions=lambda _: cautions_about_tasks(session, job_id),
    )


def unfold_one_task(body: Body) -> Body:
    """Return a body that adds tasks with its task as a description; one without any describes none yet."""
    found = unfold_tasks(body)
    return found if EACH in found or {"tasks", "taskFactory"} & set(found) else {**found, EACH: {}, COUNT: 1}


def new_schedule(session: Session) -> Document:
    """Return the body of a new job schedule whose jobs run in the pool in focus."""
    _, jobs, schedules = taken_ids(session)
    pool_id = pool_for_jobs(session)
    pool = {"poolInfo": {"poolId": pool_id}} if pool_id else {}
    return _schedule(
        session,
        {
            "id": free_id((*schedules, *jobs), "schedule"),
            "schedule": {"recurrenceInterval": "PT1H"},
            "jobSpecification": {**pool, "onAllTasksComplete": "terminatejob"},
        },
    )


def _schedule(session: Session, start: Body) -> Document:
    return Document(start, cautions=lambda body: cautions_about_schedule(session, body))


# -- copies


def _copy_id(taken: Iterable[str], old: str) -> str:
    known = {each.lower() for each in taken}
    new, number = f"{old}-copy", 2
    while new.lower() in known:
        new, number = f"{old}-copy-{number}", number + 1
    return new


def pool_like(session: Session, pool_id: str) -> Document:
    """Return the body of a pool like this one, under a new id."""
    body = pool_as_created(session.simulation, pool_id) or {}
    return new_pool(session, with_id(body, _copy_id(taken_ids(session)[0], pool_id)))


def job_like(session: Session, job_id: str) -> Document:
    """Return the body of a job like this one, with the tasks that it was created with, under a new id."""
    _, jobs, schedules = taken_ids(session)
    body = job_as_created(session.simulation, job_id) or {}
    start = with_id(body, _copy_id((*jobs, *schedules), job_id)) | tasks_as_created(session.simulation, job_id)
    return _job(session, start)


def task_like(session: Session, job_id: str, task: int) -> Document:
    """Return the body that adds a task like this one, under a new id."""
    page = session.tasks(job_id)
    body = task_as_created(session.simulation, task) or {}
    old = str(body.get("id", "task"))
    new, number = f"{old}-copy", 2
    while page.find(new) is not None:
        new, number = f"{old}-copy-{number}", number + 1
    return new_tasks(session, job_id, with_id(body, new))


def schedule_like(session: Session, schedule_id: str) -> Document:
    """Return the body of a job schedule like this one, under a new id."""
    _, jobs, schedules = taken_ids(session)
    body = schedule_as_created(session.simulation, schedule_id) or {}
    return _schedule(session, with_id(body, _copy_id((*schedules, *jobs), schedule_id)))


# -- changes


def changes_of_pool(session: Session, pool_id: str) -> Document:
    """Return what can change of a pool; what differs is sent."""
    return Document(_some(pool_as_created(session.simulation, pool_id), _POOL_CHANGES), is_patch=True)


def properties_of_pool(session: Session, pool_id: str) -> Document:
    """Return the properties of a pool that are replaced as a whole."""
    return Document(_some(pool_as_created(session.simulation, pool_id), _POOL_PROPERTIES))


def changes_of_job(session: Session, job_id: str) -> Document:
    """Return what can change of a job; what differs is sent."""
    return Document(_some(job_as_created(session.simulation, job_id), _JOB_CHANGES), is_patch=True)


def changes_of_task(session: Session, task: int) -> Document:
    """Return the constraints of a task, which are replaced as a whole."""
    limits = task_constraints(session.simulation, task)
    shown = {name: value for name, value in limits.items() if not str(value).startswith("P10675199D")}
    return Document({"constraints": shown})


def changes_of_schedule(session: Session, schedule_id: str) -> Document:
    """Return what can change of a job schedule; what differs is sent."""
    return Document(_some(schedule_as_created(session.simulation, schedule_id), _SCHEDULE_CHANGES), is_patch=True)
