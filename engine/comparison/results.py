"""The figures of a file of results, which ``batchdeck run --output json`` has written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.errors import Problem, ScenarioError
from engine.base.shortening import quoted
from engine.comparison.collected import Collected
from engine.comparison.figures import Figures, figures
from engine.histories.checks import Checks, epoch_ms
from engine.histories.reading import objects_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from engine.histories.reading import Found, Source

_NUMBERS = ("makespanSeconds", "costUsd", "nodeHours", "slotUtilization")
_COUNTS = {"tasks": ("total", "succeeded", "failed"), "preparationTasks": ("failed",), "releaseTasks": ("failed",)}
_ANSWER = "value"  # the list in an answer of the service, which is no state document


class StateDocument(NamedTuple):
    """What a JSON file holds: figures of a run if it has a summary, else None; its name is that of the scenario."""

    scenario: str
    seed: int | None
    figures: Figures | None
    warnings: tuple[Problem, ...]


def read_state(path: Path) -> StateDocument | None:
    """Return the state document in a JSON file; None if it holds something else.

    Raises:
        ScenarioError: The file cannot be read, is not JSON, or its summary has mistakes.
    """
    reader = _Reader()
    for found in objects_in(path):
        if found.list_name == _ANSWER or (found.parent is None and found.source.path):
            return None  # a list of objects
        if found.parent is None:
            return reader.state(found) if "scenario" in found.body else None
        reader.take(found)
    return None


class _Reader:
    def __init__(self) -> None:
        self._collected = Collected()
        self._warnings: list[Problem] = []
        self._checks = Checks(self._warnings.append)

    def take(self, found: Found) -> None:
        """Take an object of the document, which has the names of the REST API."""
        match found.list_name:
            case "tasks":
                self._checks.check(found.body, found.source)
                self._collected.take_task(found.body)
            case "jobPreparationAndReleaseTaskStatus":
                self._checks.check(found.body, found.source)
                self._collected.take_instance(found.body)
            case "jobs" if "id" in found.body:
                self._checks.check(found.body, found.source)
                self._collected.take_job(found.body)
            case _:
                pass

    def state(self, root: Found) -> StateDocument:
        """Return the document, of which everything else has been taken."""
        body, seed = root.body, root.body.get("seed")
        summary = body.get("summary")
        found = None
        if summary is not None:
            problems = list(_mistakes(body, root.source))
            if problems:
                raise ScenarioError(problems)
            start_ms = epoch_ms(body["startTime"])
            found = figures(summary, self._collected.times(), self._collected.job_ends(start_ms))
        seed = seed if isinstance(seed, int) else None
        return StateDocument(str(body["scenario"]), seed, found, tuple(self._warnings))


def _mistakes(body: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    """Yield what is wrong with the start and the summary of a run."""
    if epoch_ms(body.get("startTime")) is None:
        yield _mistake(source, body.get("startTime"), "a UTC time such as 2026-01-05T08:00:00Z", "startTime")
    summary = body["summary"]
    if not isinstance(summary, dict):
        yield _mistake(source, summary, "an object", "summary")
        return
    for name in _NUMBERS:
        if not _is_number(summary.get(name)):
            yield _mistake(source, summary.get(name), "a number", "summary", name)
    for name, parts in _COUNTS.items():
        counts = summary.get(name)
        for part in parts:
            value = counts.get(part) if isinstance(counts, dict) else counts
            if not isinstance(counts, dict) or not _is_number(value):
                yield _mistake(source, value, "a number", "summary", name, part)


def _mistake(source: Source, value: object, wanted: str, *path: str) -> Problem:
    if value is None:
        return source.problem(f"is missing: must be {wanted}; write the file anew with `run --output json`", *path)
    return source.problem(f"must be {wanted}, not {quoted(str(value))}", *path)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
