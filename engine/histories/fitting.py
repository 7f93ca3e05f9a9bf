"""Replacing the durations of single tasks by distributions: a long history becomes a page that can be varied.

The distribution that fits a sample best is chosen among those that a scenario can write. This needs scipy.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
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


class _Likeness(NamedTuple):
    """The properties that tasks of one group share: the job, the text of the body, and the words of the command."""

    job_id: str
    body: str
    words: tuple[str, ...]


@dataclass(slots=True)
class _Group:
    """Tasks that differ in nothing but their ids, durations, exit codes and numbers in their command lines.

    ``added_ms`` are the times at which they are added; -1 is with the job.
    """

    likeness: _Likeness
    template: dict[str, Any]
    words: list[str]
    varying: set[int] = field(default_factory=set)
    durations_ms: array[int] = field(default_factory=lambda: array("q"))
    codes: Counter[int] = field(default_factory=Counter)
    added_ms: array[int] = field(default_factory=lambda: array("q"))
    ids: list[str] = field(default_factory=list)

    def add(self, task: Body, words: list[str], added_ms: int) -> None:
        """Add a task that is like the others."""
        self.varying |= {at for at, word in enumerate(words) if word != self.words[at]}
        self.durations_ms.append(parse_time(task["simulate"]["duration"]))
        self.codes[task["simulate"].get("exitCode", 0)] += 1
        self.added_ms.append(added_ms)
        self.ids.append(task["id"])


def fitted(imported: Imported) -> Imported:
    """Return the scenario with a task factory for each group of tasks that are alike, as far as that is possible.

    The share of each exit code stays. Tasks on which others depend, or that the timeline names, stay as they are.
    """
    document = _with_lists(imported.document)
    document["jobs"] = [_with_lists(job) for job in document.get("jobs", ())]
    fitting = _Fitting(document)
    fitting.collect()
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
        self._document = document
        text = document.get("startTime")
        self._start = parse_utc(text) if isinstance(text, str) else DEFAULT_START
        self._timeline: list[dict[str, Any]] = list(document.get("timeline", ()))
        self._named = _named_tasks(document, self._timeline)
        self._all: dict[_Likeness, _Group] = {}
        self._kept_ids: set[str] = set()
        self.groups: list[_Group] = []
        self.sentences: list[str] = []

    def collect(self) -> None:
        """Find the groups."""
        for job in self._document["jobs"]:
            for task in job.get("tasks", ()):
                self._take(job["id"], task, -1)
        for job_id, task, added_ms in self._added():
            self._take(job_id, task, added_ms)
        self.groups = [group for group in self._all.values() if len(group.ids) >= FEWEST]

    def document_with_factories(self) -> dict[str, Any]:
        """Return the document with a factory in place of each group's tasks."""
        self._all = {group.likeness: group for group in self.groups}
        jobs = [self._without_groups(job) for job in self._document["jobs"]]
        by_id = {job["id"]: job for job in jobs}
        entries: list[tuple[int, dict[str, Any]]] = []
        prefixes: set[str] = set()
        window_ms = self._window_ms()
        for group in self.groups:
            prefix, number = self._numbering(group, prefixes)
            fit = best_fit(group.durations_ms)
            self.sentences.append(_sentence(group, fit))
            for added_ms, count in _windows(group, window_ms):
                factory = _factory(group, fit, prefix, range(number, number + count))
                number += count
                job = by_id.get(group.likeness.job_id)
                if added_ms < 0 and job is not None and "taskFactory" not in job:
                    job["taskFactory"] = factory
                else:
                    at_ms = self._moment(job.get("at", 0)) if added_ms < 0 and job is not None else added_ms
                    body = {"jobId": group.likeness.job_id, "taskFactory": factory}
                    entries.append((at_ms, {"at": seconds_of(at_ms), "addTasks": body}))
        if any(at_ms >= 0 for group in self.groups for at_ms in group.added_ms) and window_ms > SECOND_MS:
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

    def _added(self) -> Iterator[tuple[str, Body, int]]:
        """Yield the tasks that the timeline adds, each with its job and time."""
        for entry in self._timeline:
            added = entry.get("addTasks")
            if added is not None and "at" in entry:
                at_ms = self._moment(entry["at"])
                for task in added.get("tasks", ()):
                    yield added["jobId"], task, at_ms

    def _take(self, job_id: str, task: Body, added_ms: int) -> None:
        found = self._likeness(job_id, task)
        if found is None:
            return
        words = _NUMBER.split(task["commandLine"])
        group = self._all.get(found)
        if group is None:
            template = {key: value for key, value in task.items() if key not in _DROPPED}
            group = self._all[found] = _Group(found, template, words)
        group.add(task, words, added_ms)

    def _likeness(self, job_id: str, task: Body) -> _Likeness | None:
        """Return the group of a task; None if it must stay as it is."""
        simulate = task.get("simulate")
        if not isinstance(simulate, Mapping) or not simulate.keys() <= _SIMULATE or "dependsOn" in task:
            return None
        duration, code = simulate.get("duration"), simulate.get("exitCode", 0)
        if not isinstance(duration, str | int | float) or not isinstance(code, int):
            return None
        task_id, ranges = task["id"], self._named.get((job_id.casefold(), ""), ())
        is_in_range = task_id.isdecimal() and any(int(task_id) in one for one in ranges)
        if (job_id.casefold(), task_id.casefold()) in self._named or is_in_range:
            return None
        rest = {key: value for key, value in task.items() if key not in _DROPPED}
        return _Likeness(job_id, json.dumps(rest, sort_keys=True), tuple(_NUMBER.split(task["commandLine"])[::2]))

    def _stays(self, job_id: str, task: Body) -> bool:
        found = self._likeness(job_id, task)
        stays = found is None or found not in self._all
        if stays:
            self._kept_ids.add(task["id"].casefold())
        return stays

    def _without_groups(self, job: Body) -> dict[str, Any]:
        if "tasks" not in job:
            return dict(job)
        kept = [task for task in job["tasks"] if self._stays(job["id"], task)]
        rest = {key: value for key, value in job.items() if key != "tasks"}
        return rest | ({"tasks": kept} if kept else {})

    def _merged(self, entries: list[tuple[int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
        """Yield the entries of the timeline in the order of their times, and then those with conditions."""
        timed = list(entries)
        for entry in self._timeline:
            added = entry.get("addTasks")
            if added is not None and "tasks" in added and "at" in entry:
                kept = [task for task in added["tasks"] if self._stays(added["jobId"], task)]
                if not kept and "taskFactory" not in added:
                    continue
                entry = entry | {"addTasks": added | {"tasks": kept}}  # noqa: PLW2901 - the same entry with fewer tasks
            if "at" in entry:
                timed.append((self._moment(entry["at"]), entry))
        yield from (entry for _, entry in sorted(timed, key=lambda one: one[0]))
        yield from (entry for entry in self._timeline if "at" not in entry)

    def _numbering(self, group: _Group, prefixes: set[str]) -> tuple[str, int]:
        """Return what the ids of the group's tasks begin with, and their first number. They keep ids that count up."""
        matches = [_NUMBERED_ID.fullmatch(task_id) for task_id in group.ids]
        starts = {match[1] for match in matches if match is not None}
        if None not in matches and len(starts) == 1:
            numbers = {int(match[2]) for match in matches if match is not None}
            (prefix,) = starts
            key = f"{group.likeness.job_id}/{prefix}".casefold()
            if max(numbers) - min(numbers) + 1 == len(numbers) == len(group.ids) and key not in prefixes:
                prefixes.add(key)
                return prefix, min(numbers)
        name = batch_id(group.words[0].split(" ")[0].rpartition("/")[2])[:_LONGEST_PREFIX] or "task"
        number, prefix = 1, f"{name}-"
        while f"{group.likeness.job_id}/{prefix}".casefold() in prefixes or self._is_taken(prefix):
            number += 1
            prefix = f"{name}-{number}-"
        prefixes.add(f"{group.likeness.job_id}/{prefix}".casefold())
        return prefix, 1

    def _is_taken(self, prefix: str) -> bool:
        folded = prefix.casefold()
        return any(task_id.startswith(folded) for task_id in self._kept_ids)

    def _window_ms(self) -> int:
        """Return the time within which tasks are added together: the shortest that makes no more than a page."""
        every = [at_ms for group in self.groups for at_ms in group.added_ms if at_ms >= 0]
        if len(set(every)) <= _MOST_WINDOWS:
            return 1
        span = max(every) - min(every)
        return next((window for window in _WINDOWS_MS if span / window < _MOST_WINDOWS), _WINDOWS_MS[-1])


def _named_tasks(document: Body, timeline: Iterable[Body]) -> dict[tuple[str, str], list[range]]:
    """Return the tasks that others depend on or that the timeline names, by job and id; ranges have no id."""
    found: dict[tuple[str, str], list[range]] = {}

    def depend(job_id: str, task: Body) -> None:
        needed = task.get("dependsOn") or {}
        found.update({(job_id.casefold(), name.casefold()): [] for name in needed.get("taskIds", ())})
        ranges = [range(one["start"], one["end"] + 1) for one in needed.get("taskIdRanges", ())]
        if ranges:
            found.setdefault((job_id.casefold(), ""), []).extend(ranges)

    for job in document["jobs"]:
        for task in job.get("tasks", ()):
            depend(job["id"], task)
    for entry in timeline:
        added = entry.get("addTasks")
        if added is None:
            for _, body in walk(entry):
                job_id, task_id = text_at(body, "jobId"), text_at(body, "taskId")
                if job_id is not None and task_id is not None:
                    found[job_id.casefold(), task_id.casefold()] = []
            continue
        for task in added.get("tasks", ()):
            depend(added["jobId"], task)
    return found


def _windows(group: _Group, window_ms: int) -> Iterator[tuple[int, int]]:
    """Yield the mean time and the number of the tasks of each window; the time is -1 for those added with the job."""
    for key, times in groupby(sorted(group.added_ms), key=lambda at_ms: -1 if at_ms < 0 else at_ms // window_ms):
        within = list(times)
        mean_ms = sum(within) // len(within)
        yield -1 if key < 0 else mean_ms // SECOND_MS * SECOND_MS, len(within)


def _factory(group: _Group, fit: Fit, prefix: str, numbers: range) -> dict[str, Any]:
    line = "".join("{0}" if at in group.varying else _literal(word) for at, word in enumerate(group.words))
    simulate: dict[str, object] = {"duration": fit.duration}
    if len(group.codes) > 1:
        simulate["exitCode"] = {str(code): count for code, count in sorted(group.codes.items())}
    elif 0 not in group.codes:
        simulate["exitCode"] = next(iter(group.codes))
    template = _escaped(group.template)
    repeated = {"id": f"{_literal(prefix)}{{0}}", "commandLine": line, "simulate": simulate, **template}
    return {
        "type": "parametricSweep",
        "parameterSets": [{"start": numbers[0], "end": numbers[-1]}],
        "repeatTask": repeated,
    }


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _escaped(value: Any) -> Any:  # noqa: ANN401 - whatever a body has
    """Return a value of a template whose braces are no placeholders."""
    if isinstance(value, str):
        return _literal(value)
    if isinstance(value, Mapping):
        return {key: _escaped(inner) for key, inner in value.items()}
    return [_escaped(inner) for inner in value] if isinstance(value, list | tuple) else value


def _sentence(group: _Group, fit: Fit) -> str:
    failed = sum(count for code, count in group.codes.items() if code)
    ended = f", {failed:,} of them failed" if failed else ""
    command = shortened("#".join(group.likeness.words), 60)
    return (
        f"Fitted: {len(group.ids):,} tasks '{command}' of job {group.likeness.job_id}{ended}: {fit.kind},"
        f" Kolmogorov-Smirnov statistic {fit.statistic:.4f}."
    )
