"""Jobs and tasks of a history: added, prepared for, run, ended and released when they really were.

A task that was retried starts again when its node has room, which depends on the work of each node over time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from statistics import median
from typing import Any, NamedTuple

from engine.base.values import HOUR_MS, MINUTE_MS, SECOND_MS, format_duration, natural_key, parse_duration
from engine.histories.files import created
from engine.histories.history import HOOK_INFOS, Kind, Record, epoch_ms, span_of, subject
from engine.histories.nodes import (
    ENDED,
    UNKNOWN,
    Outcome,
    Untold,
    code_of,
    on_nodes,
    outcome,
    pool_of,
    retries,
    simulated,
)
from engine.histories.pools import Event, Occupancy
from engine.specs.base import parse_time
from engine.specs.bodies import JobSpec, TaskSpec
from engine.specs.catalogue import PROCESS_START_MS, SCHEDULING_LATENCY_MS, TASK_DURATION_MS
from engine.specs.job_refusals import COLLECTION_MAX_TASKS

TOGETHER_MS = 200
"""Tasks that were added within this time of each other are added together."""
_MISPLACED_SHARE = 0.2  # of tasks that get nodes out of turn
_LONGER_MS = HOUR_MS  # what a process that was ended would still have taken


class TaskStory(NamedTuple):
    """A task: when it was added, got its node and ended, in milliseconds since 1970, and its body.

    It never ended if ``ended_ms`` is 0. ``ended_by_user_ms`` is when somebody ended it.
    """

    added_ms: int
    assigned_ms: int | None
    task_id: str
    body: dict[str, Any]
    ended_ms: int = 0
    ended_by_user_ms: int | None = None


class Setting(NamedTuple):
    """Facts about the job that decide what its tasks could do.

    ``created_ms`` is its creation, ``ending_ms`` the moment at which it began to end. As many tasks as ``out_of_turn``
    may have lost a node to a failed preparation; None if that is not known. ``untold`` takes what is assumed of tasks.
    """

    job_id: str
    created_ms: int
    ending_ms: int | None
    max_retries: int
    occupancy: Occupancy
    out_of_turn: int | None
    untold: Untold


def task_stories(records: Sequence[Record], setting: Setting) -> list[TaskStory]:
    """Return the tasks of a job in the order in which they were added."""
    ended = [one.run_ms for record in records if (one := _outcome(record)) is not None and one.found]
    usual_ms = round(median(ended)) if ended else TASK_DURATION_MS + PROCESS_START_MS
    stories = [_story(record, setting, usual_ms) for record in records]
    stories.sort(key=lambda story: story.added_ms)
    return _in_order(stories, setting.out_of_turn)


def _in_order(stories: Iterable[TaskStory], out_of_turn: int | None) -> list[TaskStory]:
    """Return tasks with those that were added together in the order in which they were added."""
    groups: list[list[TaskStory]] = []
    for story in stories:
        if not groups or story.added_ms - groups[-1][0].added_ms > TOGETHER_MS:
            groups.append([])
        groups[-1].append(story)
    found: list[TaskStory] = []
    for group in groups:
        added_ms = group[0].added_ms
        if out_of_turn is None or not _is_as_added(group, out_of_turn):
            group.sort(key=_assigned)
        found += [story._replace(added_ms=added_ms) for story in group]
    return found


def _assigned(story: TaskStory) -> float:
    return story.assigned_ms if story.assigned_ms is not None else inf


def _is_as_added(group: Sequence[TaskStory], out_of_turn: int) -> bool:
    """Return whether a list has the order in which its tasks were added.

    If it has, nearly all of them got nodes in this order: only a failure delays a task. A list that is sorted by the
    text of ids, 1, 10, 2, is in no such order.
    """
    ids = [story.task_id for story in group]
    if ids == sorted(ids) and ids != sorted(ids, key=natural_key):
        return False
    longest: list[float] = []  # at each place the least last value of a growing part with so many values
    for moment in map(_assigned, group):
        place = bisect_right(longest, moment)
        longest[place : place + 1] = [moment]
    return len(group) - len(longest) <= out_of_turn + len(group) * _MISPLACED_SHARE


def _outcome(record: Record) -> Outcome | None:
    return outcome(record.body.get("executionInfo", {}))


def _story(record: Record, setting: Setting, usual_ms: int) -> TaskStory:
    body = record.body
    info: Mapping[str, Any] = body.get("executionInfo", {})
    start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
    added_ms = epoch_ms(body.get("creationTime"))
    new = created(body, TaskSpec)
    one = _outcome(record)
    for what in _assumed(record, one, added_ms):
        setting.untold.note(what, subject(Kind.TASK, record.id, setting.job_id))
    if added_ms is None:
        added_ms = setting.created_ms if start is None else min(setting.created_ms, start)
    code = code_of(info)
    limit_ms = _limit_ms(body)
    by_user_ms = None
    if one is None:
        passed_ms = setting.ending_ms - start if start is not None and setting.ending_ms is not None else 0
        one = Outcome(max(usual_ms, passed_ms), failed_attempts=retries(info))
        if code == ENDED and end is not None and not _is_end_of_job(end, setting):
            by_user_ms = end
    elif code == ENDED and limit_ms is not None and one.run_ms >= limit_ms:
        one = Outcome(limit_ms + MINUTE_MS + PROCESS_START_MS, failed_attempts=one.failed_attempts)
    elif code == ENDED:
        by_user_ms = None if end is None or _is_end_of_job(end, setting) else end
        one = one.longer(_LONGER_MS)
    first_ms, attempt_ms = start, None
    if one.failed_attempts and start is not None:
        first_ms, attempt_ms = _first_start(record, start, one, setting)
    new["simulate"] = simulated(one, attempt_ms)
    _set_gang(new, one)
    _set_retries(new, body, one, setting.max_retries)
    assigned_ms = None if first_ms is None else setting.occupancy.assigned(setting.job_id, record, first_ms)
    return TaskStory(added_ms, assigned_ms, record.id, new, end or 0, by_user_ms)


_USUAL = (
    f"takes as long as others of its job, {format_duration(TASK_DURATION_MS)} without any, and ends with exit code 0"
)


def _assumed(record: Record, one: Outcome | None, added_ms: int | None) -> Iterator[str]:
    """Yield what is assumed of a task, since its body does not tell it."""
    info = record.body.get("executionInfo", {})
    if added_ms is None:
        yield "a task of which nothing tells the creation is added with its job"
    if record.body.get("state") == "completed" and one is None:
        yield f"a task of which nothing tells when it ran {_USUAL}"
    elif one is None:
        yield f"a task that has not {'ended' if 'startTime' in info else 'started'} {_USUAL}"
    elif "exitCode" not in info and "result" not in info and one.found:
        yield "a task of which nothing tells the exit code ends with exit code 0"


def _is_end_of_job(end_ms: int, setting: Setting) -> bool:
    return setting.ending_ms is not None and end_ms >= setting.ending_ms - SECOND_MS


def _limit_ms(body: Mapping[str, Any]) -> int | None:
    """Return the time limit of a task, None without one."""
    given = body.get("constraints", {}).get("maxWallClockTime")
    try:
        return parse_duration(given) if isinstance(given, str) else None
    except ValueError:
        return None


def _first_start(record: Record, start_ms: int, one: Outcome, setting: Setting) -> tuple[int, int]:
    """Return when the first attempt started and how long each failed one took.

    The history tells the last attempt only. The others had the time from when its node had room for the task. If that
    is not known, they took as long as the last one.
    """
    count = one.failed_attempts
    free_ms = setting.occupancy.free_from(setting.job_id, record)
    first_ms = free_ms if free_ms is not None else start_ms - count * one.run_ms
    added_ms = epoch_ms(record.body.get("creationTime"))
    if added_ms is not None:
        first_ms = max(first_ms, added_ms + SCHEDULING_LATENCY_MS)
    first_ms = min(first_ms, start_ms - count * PROCESS_START_MS)
    return first_ms, (start_ms - first_ms) // count


def _set_gang(new: dict[str, Any], one: Outcome) -> None:
    """Let the coordination command of a multi-instance task take no time beyond its start."""
    settings = new.get("multiInstanceSettings")
    if isinstance(settings, dict):
        settings["simulate"] = {"duration": format_duration(0), "exitCode": 0}
        duration_ms = max(0, one.run_ms - 2 * PROCESS_START_MS)
        new["simulate"]["duration"] = format_duration(duration_ms)


def _set_retries(new: dict[str, Any], body: Mapping[str, Any], one: Outcome, max_retries: int) -> None:
    """Set how often the task may be retried: as it says, unless it says otherwise than it was."""
    constraints = new.get("constraints", {})
    allowed = constraints.get("maxTaskRetryCount", max_retries)
    if not isinstance(allowed, int):
        allowed = max_retries
    is_final = one.exit_code != 0 and one.found and body.get("state") == "completed"
    too_many = is_final and (allowed < 0 or allowed > one.failed_attempts)
    if too_many or 0 <= allowed < one.failed_attempts:
        allowed = one.failed_attempts
    kept = {name: value for name, value in constraints.items() if name != "maxTaskRetryCount"}
    kept |= {"maxTaskRetryCount": allowed} if allowed != max_retries else {}
    new.pop("constraints", None)
    if kept:
        new["constraints"] = kept


HOOKS = ("jobPreparationTask", "jobReleaseTask")
_ALL_COMPLETED = frozenset({"AllTasksCompleted", "AllTasksComplete"})
_BY_ITSELF = _ALL_COMPLETED | {"JMComplete", "MaxWallClockTimeExpiry", "TaskFailed"}
_DEFAULT_REASON = "UserTerminate"
_LATE_MS = 10 * SECOND_MS  # a job that ends so long after its last task does not end because of it


class JobStory(NamedTuple):
    """The story of a job: its creation, its body with the first tasks, and what came later."""

    job: Record
    created_ms: int
    body: dict[str, Any]
    events: tuple[Event, ...]

    @property
    def task_lists(self) -> list[list[dict[str, Any]]]:
        """The lists of its tasks: the first ones, and those that were added later."""
        return [self.body["tasks"], *(event.body["tasks"] for event in self.events if event.command == "addTasks")]


def created_ms(job: Record, tasks: Sequence[Record]) -> int | None:
    """Return when a job was created: at the latest with its first task."""
    own = epoch_ms(job.body.get("creationTime"))
    if own is not None:
        return own
    added = (epoch_ms(task.body.get("creationTime")) for task in tasks)
    started = (epoch_ms(task.body.get("executionInfo", {}).get("startTime")) for task in tasks)
    return min((moment for moment in (*added, *started) if moment is not None), default=None)


def job_story(
    job: Record,
    tasks: Sequence[Record],
    instances: Sequence[Record],
    indexes: Mapping[str, int],
    occupancy: Occupancy,
    untold: Untold,
) -> JobStory:
    """Return the story of a job; ``indexes`` are those of the nodes by id, ``untold`` takes what is assumed."""
    body, job_id = job.body, job.id
    begin_ms = created_ms(job, tasks) or 0
    ending_ms = _ending_ms(body, instances)
    retries = body.get("constraints", {}).get("maxTaskRetryCount", 0)
    max_retries = retries if isinstance(retries, int) else 0
    setting = Setting(job_id, begin_ms, ending_ms, max_retries, occupancy, occupancy.out_of_turn(instances), untold)
    stories = task_stories(tasks, setting)
    new = created(body, JobSpec)
    for what in _assumed_of_job(job, tasks, instances, new, ending_ms):
        untold.note(what, subject(Kind.JOB, job_id))
    manager = new.get("jobManagerTask")
    if manager is not None:
        own = next((story for story in stories if story.task_id == manager.get("id")), None)
        if own is not None:
            stories.remove(own)
        manager["simulate"] = dict(UNKNOWN) if own is None else _outlasting(own, stories)
    for name, info in zip(HOOKS, HOOK_INFOS, strict=True):
        if name in new:
            new[name]["simulate"] = _hook(instances, info, indexes)
    by_itself_ms = ending_ms if body.get("executionInfo", {}).get("terminateReason") in _ALL_COMPLETED else None
    events = list(_additions(job_id, stories, new, begin_ms, by_itself_ms))
    events += _ends(job_id, body, stories, ending_ms)
    return JobStory(job, begin_ms, new, tuple(events))


def _assumed_of_job(
    job: Record, tasks: Sequence[Record], instances: Sequence[Record], new: dict[str, Any], ending_ms: int | None
) -> Iterator[str]:
    """Add to the new body what its status and tasks show that it had, and yield what is assumed."""
    infos = [[record.body[name] for record in instances if name in record.body] for name in HOOK_INFOS]
    for name, own, ran in zip(HOOKS, infos, (any(infos), infos[1]), strict=True):
        if ran and name not in new:
            new[name] = {"commandLine": "unknown"}
            yield f"a job with preparation and release status has a {name}, of unknown command line"
        if name in new and not any(map(span_of, own)):
            yield f"a {name} of which no status tells takes {UNKNOWN['duration']} and succeeds"
    if not new.get("usesTaskDependencies") and any("dependsOn" in task.body for task in tasks):
        new["usesTaskDependencies"] = True
        yield "a job with tasks that depend on others uses task dependencies"
    if not tasks and new.get("onAllTasksComplete") == "terminatejob":
        yield "a job of which no task is listed ends when it did, or not at all"
    if pool_of(job.body) is None and "autoPoolSpecification" not in job.body.get("poolInfo", {}):
        yield "a job of which nothing tells the pool has one of its own"
    if epoch_ms(job.body.get("creationTime")) is None:
        yield "a job of which nothing tells the creation is created with its first task"
    if ending_ms is None and job.body.get("state") not in (None, "active", "disabled", "disabling", "enabling"):
        yield "a job of which nothing tells the end does not end"


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
        info = record.body.get(name, {})
        one, index = outcome(info), indexes.get(record.body["nodeId"])
        if one is not None and index is not None:
            outcomes[index] = one.longer(_LONGER_MS) if code_of(info) == ENDED else one
    return on_nodes(outcomes) or dict(UNKNOWN)


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
        ended_ms = max((story.ended_ms for story in stories), default=begin_ms)
        if ending_ms is not None and ending_ms - ended_ms > _LATE_MS:
            at_ms = ending_ms  # it was told so only then, or had tasks that are deleted or not listed
        if at_ms is not None or (ending_ms is None and not stories):
            new["onAllTasksComplete"] = "noaction"
        if at_ms is not None:
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
    releases = (record.body.get(HOOK_INFOS[1], {}) for record in instances)
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
