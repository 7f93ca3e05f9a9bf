"""Replacing the durations of single tasks by distributions: a long history becomes a page that can be varied.

The distribution that fits a sample best is chosen among those that a scenario can write. This needs scipy.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, stats

from engine.base.values import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    format_duration,
    parse_utc,
    shortened,
    text_at,
    walk,
)
from engine.histories.files import LATEST_MS, Imported, batch_id, seconds_of
from engine.scenario.conditions import parse_time as parse_moment
from engine.scenario.model import DEFAULT_START
from engine.specs.base import MOST_SIGMA, parse_time

_DIGITS = 4  # of a sigma, and of the statistic


class Fit(NamedTuple):
    """A distribution as ``simulate.duration`` writes it, and the Kolmogorov-Smirnov statistic of the sample (0 to 1).

    ``duration`` is in seconds. A smaller statistic is a better fit.
    """

    kind: str
    duration: object
    statistic: float


def best_fit(sample_ms: Sequence[int]) -> Fit:
    """Return the distribution whose Kolmogorov-Smirnov statistic is the smallest; a single value is a constant.

    Raises:
        ValueError: The sample is empty.
    """
    if not sample_ms:
        raise ValueError("a sample must not be empty")
    sample = np.sort(np.asarray(sample_ms, dtype=np.float64)) / SECOND_MS
    if sample[0] == sample[-1]:
        return Fit("constant", _rounded_seconds(sample[0]), 0.0)
    fits = (
        Fit(kind, {kind: values}, round(_statistic(sample, frozen), _DIGITS))
        for kind, values, frozen in _candidates(sample)
    )
    return min(fits, key=lambda fit: fit.statistic)  # of equal ones the first


def _candidates(sample: np.ndarray) -> Iterator[tuple[str, object, stats.rv_frozen]]:
    """Yield the distributions that a scenario can write, with their parameters fitted to a sample in order."""
    positive = sample[sample > 0]
    if positive[0] != positive[-1]:
        fitted_sigma, _, median = stats.lognorm.fit(positive, floc=0)
        sigma = round(float(fitted_sigma), _DIGITS)
        if 0 < sigma <= MOST_SIGMA:
            yield "lognormal", [_rounded_seconds(median), sigma], stats.lognorm(sigma, scale=median)
    mean, deviation = float(sample.mean()), float(sample.std())
    yield "exponential", _rounded_seconds(mean), stats.expon(scale=mean)
    low, high = float(sample[0]), float(sample[-1])
    yield "uniform", [_rounded_seconds(low), _rounded_seconds(high)], stats.uniform(low, high - low)
    width = float(sample[-1] - sample[0])
    found = optimize.minimize_scalar(
        lambda mode: _statistic(sample, stats.triang(mode, low, width)), bounds=(0, 1), method="bounded"
    )
    mode = low + float(found.x) * width
    times = [_rounded_seconds(low), _rounded_seconds(mode), _rounded_seconds(low + width)]
    yield "triangular", times, stats.triang(float(found.x), low, width)
    yield "normal", [_rounded_seconds(mean), _rounded_seconds(deviation)], stats.norm(mean, deviation)


def _statistic(sample: np.ndarray, frozen: stats.rv_frozen) -> float:
    """Return the largest distance between the sample's distribution and this one, below zero cut off as in a run."""
    return float(stats.kstest(sample, frozen.cdf, method="asymp").statistic)


def _rounded_seconds(seconds: float) -> float:
    """Return a time rounded to milliseconds, a whole number without a point."""
    return seconds_of(round(float(seconds) * SECOND_MS))


Body = Mapping[str, Any]

FEWEST = 3
"""The fewest tasks of a group; those of smaller groups keep their own durations."""

_MOST_WINDOWS = 120
_WINDOWS_MS = tuple(
    unit * number
    for unit, numbers in (
        (SECOND_MS, (1, 5, 15)),
        (MINUTE_MS, (1, 5, 15)),
        (HOUR_MS, (1, 6)),
        (DAY_MS, (1, 7, 30, 90, 360, 3600)),
    )
    for number in numbers
)
_NUMBER = re.compile(r"(\d+)", re.ASCII)
_NUMBERED_ID = re.compile(r"(.*?)(0|[1-9]\d{0,8})", re.ASCII)
_DROPPED = ("id", "displayName", "commandLine", "simulate")
_SIMULATE = {"duration", "exitCode"}
_LONGEST_PREFIX = 40


class _Added(NamedTuple):
    """A task, its job and when it is added: -1 is with the job, None when a condition holds."""

    job_id: str
    body: Body
    at_ms: int | None


class _Likeness(NamedTuple):
    """The properties that tasks of one group share: the job, the text of the body, and the words of the command.

    They differ in nothing but their ids, durations, exit codes and numbers in their command lines.
    """

    job_id: str
    body: str
    words: tuple[str, ...]


def fitted(imported: Imported) -> Imported:
    """Return the scenario with a task factory for each group of tasks that are alike, as far as that is possible.

    The share of each exit code stays. Tasks on which others depend, or that the timeline names, stay as they are.
    """
    document = _with_lists(imported.document)
    document["jobs"] = [_with_lists(job) for job in document.get("jobs", ())]
    fitting = _Fitting(document)
    if not fitting.groups:
        return imported._replace(
            document=document, assumptions=(*imported.assumptions, "Fitted: nothing, no three tasks are alike.")
        )
    changed = fitting.document_with_factories()
    return imported._replace(document=changed, assumptions=(*fitting.sentences, *imported.assumptions))


def _with_lists(job: Body) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, Iterator) else value for key, value in job.items()}


class _Fitting:
    """The groups of one document."""

    def __init__(self, document: dict[str, Any]) -> None:
        """Find the groups."""
        self._document = document
        text = document.get("startTime")
        self._start = parse_utc(text) if isinstance(text, str) else DEFAULT_START
        self._timeline: list[dict[str, Any]] = list(document.get("timeline", ()))
        self.sentences: list[str] = []
        every = list(self._tasks())
        named = _named_tasks(every, self._timeline)
        found: dict[_Likeness | None, list[_Added]] = {}
        for one in every:
            found.setdefault(_likeness(one, named), []).append(one)
        self.groups = {likeness: group for likeness, group in found.items() if likeness and len(group) >= FEWEST}
        self._grouped = {id(one.body) for group in self.groups.values() for one in group}
        self._kept_ids = {one.body["id"].casefold() for one in every if id(one.body) not in self._grouped}

    def _tasks(self) -> Iterator[_Added]:
        for job in self._document["jobs"]:
            yield from (_Added(job["id"], task, -1) for task in job.get("tasks", ()))
        for entry in self._timeline:
            if (added := entry.get("addTasks")) is not None:
                at_ms = self._moment(entry["at"]) if "at" in entry else None
                yield from (_Added(added["jobId"], task, at_ms) for task in added.get("tasks", ()))

    def document_with_factories(self) -> dict[str, Any]:
        """Return the document with a factory in place of each group's tasks."""
        jobs = [{key: value for key, value in job.items() if key != "tasks"} for job in self._document["jobs"]]
        for job, before in zip(jobs, self._document["jobs"], strict=True):
            if kept := self._kept(before.get("tasks", ())):
                job["tasks"] = kept
        by_id = {job["id"]: job for job in jobs}
        entries: list[tuple[int, dict[str, Any]]] = []
        prefixes: set[str] = set()
        times = [[one.at_ms or 0 for one in group] for group in self.groups.values()]
        later = [at_ms for each in times for at_ms in each if at_ms >= 0]
        window_ms = _window_ms(later)
        for group, added in zip(self.groups.values(), times, strict=True):
            job_id, codes = group[0].job_id, Counter(one.body["simulate"].get("exitCode", 0) for one in group)
            prefix, number = self._numbering(group, prefixes)
            fit = best_fit([parse_time(one.body["simulate"]["duration"]) for one in group])
            self.sentences.append(_sentence(group, fit, codes))
            repeated = _repeated(group, f"{_literal(prefix)}{{0}}", fit, codes)
            for added_ms, tasks in _windows(added, window_ms):
                numbers = {"start": number, "end": number + tasks - 1}
                factory = {"type": "parametricSweep", "parameterSets": [numbers], "repeatTask": repeated}
                number += tasks
                owner = by_id.get(job_id)
                if added_ms < 0 and owner is not None and "taskFactory" not in owner:
                    owner["taskFactory"] = factory
                else:
                    at_ms = self._moment(owner.get("at", 0)) if added_ms < 0 and owner is not None else added_ms
                    body = {"jobId": job_id, "taskFactory": factory}
                    entries.append((at_ms, {"at": seconds_of(at_ms), "addTasks": body}))
        if later and window_ms > SECOND_MS:
            length = format_duration(window_ms)
            self.sentences.append(f"Assumed: tasks that were added within {length} are added together, at their mean.")
        document = self._document | {"jobs": jobs}
        timeline = list(self._merged(entries))
        if timeline:
            document["timeline"] = timeline
        until = document.get("until")
        if until is not None:
            document["until"] = min(2 * self._moment(until), LATEST_MS) // SECOND_MS  # other durations may last longer
        return document

    def _moment(self, at: str | float) -> int:
        return parse_moment(at, self._start)

    def _kept(self, tasks: Iterable[Body]) -> list[Body]:
        return [task for task in tasks if id(task) not in self._grouped]

    def _merged(self, entries: list[tuple[int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
        """Yield the entries of the timeline in the order of their times, and then those with conditions."""
        timed = list(entries)
        for entry in self._timeline:
            added = entry.get("addTasks")
            if added is not None and "tasks" in added and "at" in entry:
                kept = self._kept(added["tasks"])
                if not kept and "taskFactory" not in added:
                    continue
                entry = entry | {"addTasks": added | {"tasks": kept}}  # noqa: PLW2901 - the same entry with fewer tasks
            if "at" in entry:
                timed.append((self._moment(entry["at"]), entry))
        yield from (entry for _, entry in sorted(timed, key=lambda one: one[0]))
        yield from (entry for entry in self._timeline if "at" not in entry)

    def _numbering(self, group: Sequence[_Added], prefixes: set[str]) -> tuple[str, int]:
        """Return what the ids of the group's tasks begin with, and their first number. They keep ids that count up."""
        job_id = group[0].job_id.casefold()
        matches = [_NUMBERED_ID.fullmatch(one.body["id"]) for one in group]
        starts = {match[1] for match in matches if match is not None}
        if None not in matches and len(starts) == 1:
            numbers = {int(match[2]) for match in matches if match is not None}
            (prefix,) = starts
            key = f"{job_id}/{prefix.casefold()}"
            if max(numbers) - min(numbers) + 1 == len(numbers) == len(group) and key not in prefixes:
                prefixes.add(key)
                return prefix, min(numbers)
        program = _NUMBER.split(group[0].body["commandLine"])[0].split(" ")[0]
        name = batch_id(program.rpartition("/")[2])[:_LONGEST_PREFIX] or "task"
        for number in count(1):
            prefix = f"{name}-" if number == 1 else f"{name}-{number}-"
            folded = prefix.casefold()
            if f"{job_id}/{folded}" not in prefixes and not any(each.startswith(folded) for each in self._kept_ids):
                prefixes.add(f"{job_id}/{folded}")
                break
        return prefix, 1


def _likeness(one: _Added, named: Mapping[tuple[str, str], Iterable[range]]) -> _Likeness | None:
    """Return the group of a task; None if it must stay as it is."""
    task, job_id = one.body, one.job_id.casefold()
    simulate = task.get("simulate")
    if not isinstance(simulate, Mapping) or not simulate.keys() <= _SIMULATE or "dependsOn" in task:
        return None
    duration, code = simulate.get("duration"), simulate.get("exitCode", 0)
    if one.at_ms is None or not isinstance(duration, str | int | float) or not isinstance(code, int):
        return None
    is_in_range = task["id"].isdecimal() and any(int(task["id"]) in each for each in named.get((job_id, ""), ()))
    if (job_id, task["id"].casefold()) in named or is_in_range:
        return None
    body = json.dumps(_template(task), sort_keys=True)
    return _Likeness(one.job_id, body, tuple(_NUMBER.split(task["commandLine"])[::2]))


def _template(task: Body) -> dict[str, Any]:
    return {key: value for key, value in task.items() if key not in _DROPPED}


def _line(group: Iterable[_Added]) -> str:
    """Return the command line of a group, with a placeholder for the numbers in which its tasks differ."""
    columns = zip(*(_NUMBER.split(one.body["commandLine"]) for one in group), strict=True)
    return "".join("{0}" if len(set(column)) > 1 else _literal(column[0]) for column in columns)


def _window_ms(times_ms: Sequence[int]) -> int:
    """Return the time within which tasks are added together: the shortest that makes no more than a page."""
    if len(set(times_ms)) <= _MOST_WINDOWS:
        return 1
    span = max(times_ms) - min(times_ms)
    return next((window for window in _WINDOWS_MS if span / window < _MOST_WINDOWS), _WINDOWS_MS[-1])


def _named_tasks(every: Iterable[_Added], timeline: Iterable[Body]) -> dict[tuple[str, str], list[range]]:
    """Return the tasks that others depend on or that the timeline names, by job and id; ranges have no id."""
    found: dict[tuple[str, str], list[range]] = {}
    for one in every:
        job_id, needed = one.job_id.casefold(), one.body.get("dependsOn") or {}
        found.update({(job_id, name.casefold()): [] for name in needed.get("taskIds", ())})
        ranges = [range(each["start"], each["end"] + 1) for each in needed.get("taskIdRanges", ())]
        if ranges:
            found.setdefault((job_id, ""), []).extend(ranges)
    for _, body in walk([entry for entry in timeline if "addTasks" not in entry]):
        job, task = text_at(body, "jobId"), text_at(body, "taskId")
        if job is not None and task is not None:
            found[job.casefold(), task.casefold()] = []
    return found


def _windows(times_ms: Iterable[int], window_ms: int) -> Iterator[tuple[int, int]]:
    """Yield the mean time and the number of the tasks of each window; the time is -1 for those added with the job."""
    for key, times in groupby(sorted(times_ms), key=lambda at_ms: -1 if at_ms < 0 else at_ms // window_ms):
        within = list(times)
        mean_ms = sum(within) // len(within)
        yield -1 if key < 0 else mean_ms // SECOND_MS * SECOND_MS, len(within)


def _repeated(group: Sequence[_Added], task_id: str, fit: Fit, codes: Counter[int]) -> dict[str, Any]:
    """Return the template of the tasks of a group."""
    simulate: dict[str, object] = {"duration": fit.duration}
    if len(codes) > 1:
        simulate["exitCode"] = {str(code): times for code, times in sorted(codes.items())}
    elif 0 not in codes:
        simulate["exitCode"] = next(iter(codes))
    head = {"id": task_id, "commandLine": _line(group), "simulate": simulate}
    return {**head, **_escaped(_template(group[0].body))}


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _escaped(value: Any) -> Any:  # noqa: ANN401 - whatever a body has
    """Return a value of a template whose braces are no placeholders."""
    if isinstance(value, str):
        return _literal(value)
    if isinstance(value, Mapping):
        return {key: _escaped(inner) for key, inner in value.items()}
    return [_escaped(inner) for inner in value] if isinstance(value, list | tuple) else value


def _sentence(group: Sequence[_Added], fit: Fit, codes: Counter[int]) -> str:
    failed = sum(times for code, times in codes.items() if code)
    ended = f", {failed:,} of them failed" if failed else ""
    command = shortened("#".join(_NUMBER.split(group[0].body["commandLine"])[::2]), 60)
    return (
        f"Fitted: {len(group):,} tasks '{command}' of job {group[0].job_id}{ended}: {fit.kind},"
        f" Kolmogorov-Smirnov statistic {fit.statistic:.4f}."
    )
