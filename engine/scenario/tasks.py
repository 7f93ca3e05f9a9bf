"""The tasks of a scenario's job: listed ones, and those of its factory."""

from __future__ import annotations

from engine.base.shortening import quoted
from engine.scenario.bodies import report_refusals
from engine.scenario.document import DocumentPlace
from engine.scenario.factory import TaskFactory
from engine.scenario.names import Ids
from engine.scenario.sweep import read_factory, read_tasks
from engine.specs.job import JobSpec
from engine.specs.refusals.job import task_refusals
from engine.specs.task import TaskSpec

Listed = tuple[tuple[DocumentPlace, TaskSpec], ...]

# Reported for all tasks of a factory at once, by their ids.
_SAME_ID = ("TaskIdSameAsJobPreparationTask", "TaskIdSameAsJobReleaseTask")


def read_job_tasks(place: DocumentPlace, spec: JobSpec | None) -> tuple[tuple[TaskSpec, ...], TaskFactory | None]:
    """Return the listed tasks and the sweep of a job; some checks need ``spec``, which is None for a malformed job."""
    listed_place, factory_place = place.get("tasks"), place.get("taskFactory")
    listed = read_tasks(listed_place) if listed_place is not None else ()
    factory = None
    if factory_place is not None:
        factory, collected = read_factory(factory_place)
        listed += collected
    ids = _check_listed(listed, spec)
    if factory is not None and factory_place is not None:
        _check_factory(factory_place, factory, ids, spec)
    return tuple(task for _, task in listed), factory


def _check_listed(listed: Listed, spec: JobSpec | None) -> list[tuple[str, str]]:
    """Report mistakes in listed tasks; return the taken ids and their owners."""
    own = _special_ids(spec) if spec is not None else []
    taken = Ids()
    if spec is not None and spec.job_manager_task is not None:
        taken.take(spec.job_manager_task.id, "the job manager task")
    owned = [(task.id, f"the task in line {place.line}") for place, task in listed]
    for (place, task), owner in zip(listed, owned, strict=True):
        problem = taken.take(*owner)
        if problem is not None:
            (place.get("id") or place).report(problem)
        if spec is not None:
            report_refusals(place, TaskSpec, task_refusals(task, spec))
    return own + owned


def _check_factory(
    place: DocumentPlace, factory: TaskFactory, taken: list[tuple[str, str]], spec: JobSpec | None
) -> None:
    template = place.get("repeatTask") or place
    for task_id, what in taken:
        k = factory.ordinal_of(task_id)
        if k is not None:
            at = template.get("id") or template
            at.report(f"task {k} of the factory has the id {quoted(factory.task_id(k))}, which is taken by {what}")
    if spec is None:
        return
    for k in factory.samples():
        refusals = [refusal for refusal in task_refusals(factory.spec(k), spec) if refusal.code not in _SAME_ID]
        report_refusals(template, TaskSpec, refusals)
        if refusals:
            return


def _special_ids(spec: JobSpec) -> list[tuple[str, str]]:
    """Return the ids of the job's special tasks, which its tasks may not have, with their owners."""
    special = (
        (spec.job_preparation_task, "the job preparation task"),
        (spec.job_release_task, "the job release task"),
        (spec.job_manager_task, "the job manager task"),
    )
    return [(task.id, what) for task, what in special if task is not None]
