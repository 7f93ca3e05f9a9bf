"""Jobs of a history: their tasks are added, prepared for, ended and released when they really were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from engine.base.units import SECOND_MS, format_duration
from engine.histories.bodies import created
from engine.histories.checks import epoch_ms
from engine.histories.history import Record
from engine.histories.occupancy import Occupancy
from engine.histories.pools import Event
from engine.histories.processes import ENDED, Outcome, on_nodes, outcome
from engine.histories.tasks import TOGETHER_MS, Setting, TaskStory, task_stories
from engine.specs.catalogue import PREP_RELEASE_DURATION_MS
from engine.specs.distributions import parse_time
from engine.specs.job import JobSpec
from engine.specs.refusals.job import COLLECTION_MAX_TASKS

_ALL_COMPLETED = frozenset({"AllTasksCompleted", "AllTasksComplete"})
_BY_ITSELF = _ALL_COMPLETED | {"JMComplete", "MaxWallClockTimeExpiry", "TaskFailed"}
_DEFAULT_REASON = "UserTerminate"
_LATE_MS = 10 * SECOND_MS  # a job that ends so long after its last task does not end because of it
_LONGER_MS = 3600 * SECOND_MS  # what a process that was ended would still have taken
_HOOKS = {
    "jobPreparationTask": "jobPreparationTaskExecutionInfo",
    "jobReleaseTask": "jobReleaseTaskExecutionInfo",
}


class JobStory(NamedTuple):
    """The story of a job: its id in the history, its creation, its body with the first tasks, and what came later."""

    job_id: str
    created_ms: int
    body: dict[str, Any]
    events: tuple[Event, ...]


def created_ms(job: Record, tasks: Sequence[Record]) -> int | None:
    """Return when a job was created: at the latest with its first task."""
    own = epoch_ms(job.body.get("creationTime"))
    if own is not None:
        return own
    added = (epoch_ms(task.body.get("creationTime")) for task in tasks)
    started = (epoch_ms(task.body.get("executionInfo", {}).get("startTime")) for task in tasks)
    return min((moment for moment in (*added, *started) if moment is not None), default=None)


def job_story(
    job: Record, tasks: Sequence[Record], instances: Sequence[Record], indexes: Mapping[str, int], occupancy: Occupancy
) -> JobStory:
    """Return the story of a job; ``indexes`` are those of the nodes by id."""
    body = job.body
    job_id = str(body["id"])
    begin_ms = created_ms(job, tasks) or 0
    ending_ms = _ending_ms(body, instances)
    retries = body.get("constraints", {}).get("maxTaskRetryCount", 0)
    setting = Setting(
        begin_ms,
        ending_ms,
        retries if isinstance(retries, int) else 0,
        partial(occupancy.free_from, job_id),
        partial(occupancy.assigned, job_id),
        occupancy.out_of_turn(instances),
    )
    stories = task_stories(tasks, setting)
    new = created(body, JobSpec)
    manager = new.get("jobManagerTask")
    if manager is not None:
        own = next((story for story in stories if story.task_id == manager.get("id")), None)
        if own is not None:
            stories.remove(own)
            manager["simulate"] = _outlasting(own, stories)
        else:
            manager["simulate"] = {"duration": format_duration(PREP_RELEASE_DURATION_MS), "exitCode": 0}
    for name, info in _HOOKS.items():
        if name in new:
            new[name]["simulate"] = _hook(instances, info, indexes)
    by_itself_ms = ending_ms if body.get("executionInfo", {}).get("terminateReason") in _ALL_COMPLETED else None
    events = list(_additions(job_id, stories, new, begin_ms, by_itself_ms))
    events += _ends(job_id, body, stories, ending_ms)
    return JobStory(job_id, begin_ms, new, tuple(events))


def _outlasting(manager: TaskStory, tasks: Sequence[TaskStory]) -> dict[str, Any]:
    """Return the ``simulate`` of a job manager that has waited for tasks, so that they end before the job does.

    A job manager that waits for the last task ends in the same millisecond. Its end terminates the job (JM-4), and in a
    replay, where the end of neither causes that of the other, it could come first.
    """
    simulate: dict[str, Any] = manager.body["simulate"]
    if not manager.ended_ms or manager.ended_ms != max((task.ended_ms for task in tasks), default=0):
        return simulate
    return simulate | {"duration": format_duration(parse_time(simulate["duration"]) + 1)}


def _hook(instances: Sequence[Record], name: str, indexes: Mapping[str, int]) -> dict[str, Any]:
    """Return the ``simulate`` of a preparation or release task."""
    outcomes: dict[int, Outcome] = {}
    for record in instances:
        info = record.body.get(name)
        one = outcome(info) if info is not None else None
        index = indexes.get(record.body["nodeId"])
        if info is None or one is None or index is None:
            continue
        failure = info.get("failureInfo")
        if isinstance(failure, dict) and failure.get("code") == ENDED:
            one = Outcome(one.run_ms + _LONGER_MS, failed_attempts=one.failed_attempts)
        outcomes[index] = one
    return on_nodes(outcomes) or {"duration": format_duration(PREP_RELEASE_DURATION_MS), "exitCode": 0}


def _additions(
    job_id: str, stories: Sequence[TaskStory], new: dict[str, Any], begin_ms: int, ending_ms: int | None
) -> list[Event]:
    """Add the first tasks to the body of the job, and return what adds the others.

    A job that ends when its tasks are completed must not do so before the last one is there.
    """
    first = [story for story in stories if story.added_ms - begin_ms <= TOGETHER_MS]
    later = stories[len(first) :]
    new["tasks"] = [story.body for story in first]
    events: list[Event] = []
    for story in later:
        last = events[-1] if events else None
        if last is not None and last.at_ms == story.added_ms and len(last.body["tasks"]) < COLLECTION_MAX_TASKS:
            last.body["tasks"].append(story.body)
        else:
            events.append(Event(story.added_ms, "addTasks", {"jobId": job_id, "tasks": [story.body]}))
    if new.get("onAllTasksComplete") == "terminatejob":
        at_ms = later[-1].added_ms if later else None
        if ending_ms is not None and stories and ending_ms - max(story.ended_ms for story in stories) > _LATE_MS:
            at_ms = ending_ms  # it was told so only then, or had tasks that are deleted
        if at_ms is not None:
            new["onAllTasksComplete"] = "noaction"
            events.append(Event(at_ms, "updateJob", {"jobId": job_id, "onAllTasksComplete": "terminatejob"}))
    return events


def _ending_ms(body: Mapping[str, Any], instances: Sequence[Record]) -> int | None:
    """Return when a job began to end, None if it has not."""
    if body.get("state") in ("terminating", "deleting"):
        return epoch_ms(body.get("stateTransitionTime"))
    end = epoch_ms(body.get("executionInfo", {}).get("endTime"))
    if body.get("state") != "completed" or end is None:
        return None
    if body.get("previousState") == "terminating":
        began = epoch_ms(body.get("previousStateTransitionTime"))
        if began is not None:
            return began
    releases = (record.body.get("jobReleaseTaskExecutionInfo", {}) for record in instances)
    starts = (epoch_ms(info.get("startTime")) for info in releases)
    return min((moment for moment in starts if moment is not None), default=end)


def _ends(job_id: str, body: Mapping[str, Any], stories: Sequence[TaskStory], ending_ms: int | None) -> list[Event]:
    """Return the commands that ended tasks or the job."""
    events = [
        Event(story.ended_by_user_ms, "terminateTask", {"jobId": job_id, "taskId": story.task_id})
        for story in stories
        if story.ended_by_user_ms is not None
    ]
    changed = epoch_ms(body.get("stateTransitionTime"))
    if body.get("state") in ("disabled", "disabling") and changed is not None:
        events.append(Event(changed, "disableJob", {"jobId": job_id, "disableTasks": "requeue"}))
    if ending_ms is None:
        return events
    reason = body.get("executionInfo", {}).get("terminateReason", _DEFAULT_REASON)
    if body.get("state") == "deleting":
        events.append(Event(ending_ms, "deleteJob", {"jobId": job_id}))
    elif reason not in _BY_ITSELF:
        command = {"jobId": job_id} | ({} if reason == _DEFAULT_REASON else {"terminateReason": str(reason)})
        events.append(Event(ending_ms, "terminateJob", command))
    return events
