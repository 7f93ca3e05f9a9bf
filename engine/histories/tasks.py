"""Tasks of a history: when each was added, what it did, and what ended it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from statistics import median
from typing import Any, NamedTuple

from engine.base.units import HOUR_MS, MINUTE_MS, SECOND_MS, format_duration, parse_duration
from engine.histories.bodies import created
from engine.histories.checks import epoch_ms
from engine.histories.history import Record
from engine.histories.processes import ENDED, Outcome, outcome, retries, simulated
from engine.specs.catalogue import PROCESS_START_MS, SCHEDULING_LATENCY_MS, TASK_DURATION_MS
from engine.specs.task import TaskSpec

TOGETHER_MS = 200
"""Tasks that were added within this time of each other are added together."""
_MISPLACED_SHARE = 0.2  # of tasks that get nodes out of turn
_NUMBERS = re.compile(r"([0-9]{1,18})", re.ASCII)
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

    ``created_ms`` is its creation, ``ending_ms`` the moment at which it began to end. ``free_from`` tells from when on
    the node of a task had room for it, ``assigned`` when a task that first started at a moment had got its node. So
    many tasks as ``out_of_turn`` may have lost a node to a failed preparation; None if that is not known.
    """

    created_ms: int
    ending_ms: int | None
    max_retries: int
    free_from: Callable[[Record], int | None]
    assigned: Callable[[Record, int], int]
    out_of_turn: int | None


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

    Then nearly all of them got nodes in this order: only what went wrong lets one come later. A list that is sorted by
    the text of ids, 1, 10, 2, is in no such order.
    """
    ids = [story.task_id for story in group]
    if ids == sorted(ids) and ids != sorted(ids, key=_natural):
        return False
    longest: list[float] = []  # at each place the least last value of a growing part with so many values
    for moment in map(_assigned, group):
        place = bisect_right(longest, moment)
        longest[place : place + 1] = [moment]
    return len(group) - len(longest) <= out_of_turn + len(group) * _MISPLACED_SHARE


def _natural(task_id: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in ids by their value."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBERS.split(task_id)]


def _outcome(record: Record) -> Outcome | None:
    return outcome(record.body.get("executionInfo", {}))


def _story(record: Record, setting: Setting, usual_ms: int) -> TaskStory:
    body = record.body
    info: Mapping[str, Any] = body.get("executionInfo", {})
    start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
    added_ms = epoch_ms(body.get("creationTime"))
    if added_ms is None:
        added_ms = setting.created_ms if start is None else min(setting.created_ms, start)
    new = created(body, TaskSpec)
    one = _outcome(record)
    code = info.get("failureInfo", {}).get("code") if isinstance(info.get("failureInfo"), dict) else None
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
        one = Outcome(one.run_ms + _LONGER_MS, failed_attempts=one.failed_attempts)
    first_ms = start
    attempt_ms = None
    if one.failed_attempts and start is not None:
        first_ms, attempt_ms = _first_start(record, start, one, setting)
    new["simulate"] = simulated(one, attempt_ms)
    _set_gang(new, one)
    _set_retries(new, body, one, setting.max_retries)
    assigned_ms = setting.assigned(record, first_ms) if first_ms is not None else None
    return TaskStory(added_ms, assigned_ms, str(body["id"]), new, end or 0, by_user_ms)


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
    free_ms = setting.free_from(record)
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
    if allowed != max_retries:
        kept["maxTaskRetryCount"] = allowed
    new.pop("constraints", None)
    if kept:
        new["constraints"] = kept
