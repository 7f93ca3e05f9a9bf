"""The fields for the usual properties of jobs and tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.views.pages.jobs import pool_ids
from tui.viewmodels.actions.fields import (
    DISPLAY_NAME,
    DURATION,
    ID,
    AnyField,
    Field,
    duration,
    duration_or_value,
    one_of,
    whole,
    whole_or_value,
    words,
    yes_no_options,
    yes_or_no,
)
from tui.viewmodels.actions.many_tasks import COUNT, EACH, FIRST_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session.session import Session


def _pools(session: Session) -> Sequence[str]:
    return pool_ids(session.simulation)


PRIORITY = Field[Any]("priority", "Priority", "-1000 to 1000; 0 if empty", read=whole)
_PARALLEL = Field[Any]("maxParallelTasks", "Parallel tasks", "at most so many at once; no limit if empty", read=whole)
ALL_COMPLETE = Field[Any](
    "onAllTasksComplete",
    "When all are complete",
    "terminatejob ends the job, and then its release tasks run",
    options=one_of("", "noaction", "terminatejob"),
)
_JOB_RETRIES = Field[Any]("constraints.maxTaskRetryCount", "Retries of tasks", "0 if empty; -1 is no limit", read=whole)
_JOB_LIMIT = Field[Any](
    "constraints.maxWallClockTime", "Time limit", f"the job is terminated after it; {DURATION}", read=duration
)


def _hook_fields(body: str, section: str, when: str) -> tuple[AnyField, ...]:
    """Return the fields of a preparation or release task."""
    return (
        Field(f"{body}.commandLine", "Command line", when, section=section),
        Field(f"{body}.simulate.duration", "Runs for", f"{DURATION}; in the simulation", read=duration_or_value),
        Field(f"{body}.simulate.exitCode", "Exit code", "0 if empty; {0: 0.9, 1: 0.1} draws one", read=whole_or_value),
    )


PREPARATION = (
    *_hook_fields(
        "jobPreparationTask", "Preparation task", "runs ahead of tasks; before the job's first task on a node"
    ),
    Field[Any]("jobPreparationTask.constraints.maxTaskRetryCount", "Retries", "0 if empty; -1 is no limit", read=whole),
    Field[Any](
        "jobPreparationTask.waitForSuccess",
        "Wait for success",
        "yes if empty: no task starts on a node before it has succeeded",
        read=yes_or_no,
        options=yes_no_options,
    ),
    Field[Any](
        "jobPreparationTask.rerunOnNodeRebootAfterSuccess",
        "Again after a reboot",
        "yes if empty",
        read=yes_or_no,
        options=yes_no_options,
    ),
)
RELEASE = _hook_fields("jobReleaseTask", "Release task", "runs at the end of the job; on each node where its tasks ran")


def _count(text: str) -> int:
    number = whole(text)
    if not 1 <= number <= MOST_NEW_TASKS:
        raise ValueError(f"{number:,} must be between 1 and {MOST_NEW_TASKS:,}")
    return number


MOST_NEW_TASKS = 1_000_000

_TASK = (
    Field[Any](f"{EACH}.id", "Id", "its name in the job; several tasks get a number as well", is_required=True),
    Field[Any](COUNT, "How many", f"1 to {MOST_NEW_TASKS:,}; several are a task factory", read=_count),
    Field[Any](
        f"{EACH}.commandLine", "Command line", "what runs; of several, {0} is the task's number", is_required=True
    ),
    Field[Any](f"{EACH}.simulate.duration", "Runs for", f"{DURATION}; in the simulation", read=duration_or_value),
    Field[Any](f"{EACH}.simulate.exitCode", "Exit code", "0 if empty; {0: 0.9, 1: 0.1} draws one", read=whole_or_value),
    Field[Any](f"{EACH}.requiredSlots", "Required slots", "1 if empty; task slots on the node", read=whole),
    Field[Any](f"{EACH}.dependsOn.taskIds", "Depends on", "ids of tasks; separated by blanks", read=words),
    Field[Any](f"{EACH}.constraints.maxTaskRetryCount", "Retries", "the job's if empty; -1 is no limit", read=whole),
    Field[Any](f"{EACH}.constraints.maxWallClockTime", "Time limit", f"no limit if empty; {DURATION}", read=duration),
)
TASK_FIELDS: tuple[AnyField, ...] = _TASK

JOB_FIELDS: tuple[AnyField, ...] = (
    ID,
    Field("poolInfo.poolId", "Pool", "where its tasks run; an auto pool in the body", options=_pools, is_required=True),
    PRIORITY,
    ALL_COMPLETE,
    *PREPARATION,
    *RELEASE,
    Field(f"{EACH}.id", "Id", f"{FIRST_ID} if empty; several tasks get a number as well", section="Tasks"),
    _TASK[1],
    Field(f"{EACH}.commandLine", "Command line", "what runs; of several, {0} is the task's number"),
    *_TASK[3:7],
    replace(_PARALLEL, section="Limits"),
    _JOB_RETRIES,
    _JOB_LIMIT,
    Field(
        "usesTaskDependencies",
        "Dependencies",
        "yes: tasks may depend on others",
        read=yes_or_no,
        options=yes_no_options,
    ),
    DISPLAY_NAME,
)
JOB_CHANGES: tuple[AnyField, ...] = (
    PRIORITY,
    Field("poolInfo.poolId", "Pool", "another one only while the job is disabled", options=_pools),
    _PARALLEL,
    ALL_COMPLETE,
    _JOB_RETRIES,
    _JOB_LIMIT,
    Field(
        "allowTaskPreemption",
        "May be preempted",
        "by jobs of a higher priority",
        read=yes_or_no,
        options=yes_no_options,
    ),
)
TASK_CHANGES: tuple[AnyField, ...] = (
    Field("constraints.maxTaskRetryCount", "Retries", "the job's if empty; -1 is no limit", read=whole),
    Field("constraints.maxWallClockTime", "Time limit", f"no limit if empty; {DURATION}", read=duration),
    Field("constraints.retentionTime", "Files are kept", f"P7D if empty; {DURATION}", read=duration),
)
