"""The results of a study: one JSON object a line, in any order, checked before they are used again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from engine.base.errors import Problem
from engine.studies.plan import Identity, Run

if TYPE_CHECKING:
    from engine.base.terms import Plain
    from engine.studies.plan import Study

BEGINNING = '{"variant": '
"""Every line begins so."""


class Result(TypedDict):
    """The result of a run. ``summary`` is None, and ``error`` says why, if it failed."""

    variant: int
    values: dict[str, Plain]
    seed: int
    expectations: list[bool]
    summary: dict[str, float | None] | None
    jobs: dict[str, dict[str, float | None]]
    error: str | None


@dataclass(frozen=True, slots=True)
class Kept:
    """The results in a file, and its length in bytes without a half-written last line.

    ``ends_open`` says that the last line lacks its line end.
    """

    lines: dict[Run, str]
    length: int
    ends_open: bool = False


class NoResults(Exception):
    """A file that does not hold results of this study. ``problem`` says what is wrong, and where."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def read(line: str) -> Result:
    """Return the result in a line that this version has written."""
    result: Result = json.loads(line)
    return result


def kept(content: bytes, study: Study, file: str) -> Kept:
    """Return the results of earlier runs in a file; a last line that is half written is dropped.

    Raises:
        NoResults: The file holds something else, or results of another study.
    """
    found: dict[Run, str] = {}
    length = 0
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, raw in enumerate(lines, start=1):
        result = _result(raw)
        if result is not None:
            if problem := _foreign(result, study):
                raise NoResults(Problem(f"{problem}; name another file, or delete this one", "", number, 1, file))
            found.setdefault(Run(result["variant"], result["seed"]), raw.decode())
        elif number == len(lines) and _may_be_cut(raw):
            break
        elif raw.strip():
            raise NoResults(Problem("is not a result of a study", "", number, 1, file))
        length += len(raw) + 1
    return Kept(found, min(length, len(content)), ends_open=length > len(content))


def _result(raw: bytes) -> dict[str, Any] | None:
    """Return what is in a line; None if it is not a whole result."""
    try:
        result = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(result, dict) or not Result.__annotations__.keys() <= result.keys():
        return None
    return result if isinstance(result["variant"], int) and isinstance(result["seed"], int) else None


def _may_be_cut(raw: bytes) -> bool:
    """Return whether a line may be the beginning of a result."""
    beginning = BEGINNING.encode()
    return raw.startswith(beginning) or beginning.startswith(raw)


def _foreign(result: dict[str, Any], study: Study) -> str:
    """Return why a result is none of this study's; empty if it is one."""
    own, other = study.identity, result.get("study")
    if not isinstance(other, dict) or not set(Identity._fields) <= other.keys():
        return "does not say of which study it is a result"
    if other["version"] != own.version:
        return f"is a result of version {other['version']} of batchdeck, this is {own.version}"
    if other["scenario"] != own.scenario:
        return "is a result of another scenario text"
    if other["factors"] != own.factors or not 1 <= result["variant"] <= study.variants:
        return "is a result of other factors"
    if result["values"] != study.values(result["variant"]):
        return "is a result of other factors"
    return ""
