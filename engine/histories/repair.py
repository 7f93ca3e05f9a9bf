"""Making a scenario acceptable: what it cannot have is taken out of the bodies of a history, and named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.base.errors import Problem, ScenarioError
from engine.scenario.document import format_path
from engine.scenario.load import load
from engine.scenario.record import document_text

_PART = re.compile(r'\[(?P<index>\d+)\]|\["(?P<quoted>[^"]*)"\]|\.?(?P<name>[A-Za-z_$][\w$-]*)')
_KEPT = frozenset({"id", "commandLine", "poolInfo", "vmSize", "pools", "jobs", "tasks", "simulate"})
_ROUNDS = 40


def acceptable(document: dict[str, Any], stand_ins: Mapping[str, Sequence[str]]) -> list[str]:
    """Take out of a document what ``check --strict`` does not accept, and return a sentence for each such thing.

    A required property is replaced by the first of its stand-ins that is accepted.

    Raises:
        ScenarioError: Something that is needed cannot be accepted.
    """
    sentences: list[str] = []
    for _ in range(_ROUNDS):
        problems = _problems(document)
        if not problems:
            return sentences
        taken = {path for problem in problems if (path := _take_out(document, _steps(problem.path), stand_ins))}
        if not taken:
            raise ScenarioError(problems)
        sentences += [f"A scenario cannot have it, so it is {words}." for words in sorted(taken)]
    raise ScenarioError(_problems(document))


def _problems(document: dict[str, Any]) -> list[Problem]:
    try:
        load("the imported scenario", text=document_text(document), strict=True)
    except ScenarioError as error:
        return error.problems
    return []


def _steps(path: str) -> tuple[str | int, ...]:
    found = (match for match in _PART.finditer(path))
    return tuple(int(match["index"]) if match["index"] else match["quoted"] or match["name"] for match in found)


def _take_out(
    document: dict[str, Any], steps: tuple[str | int, ...], stand_ins: Mapping[str, Sequence[str]]
) -> str | None:
    """Take out the value at a path, or the nearest one around it that is not needed; return what was done."""
    for length in range(len(steps), 2, -1):
        *way, last = steps[:length]
        place: Any = document
        for part in way:
            known = isinstance(place, dict) and part in place
            listed = isinstance(place, list) and isinstance(part, int) and part < len(place)
            place = place[part] if known or listed else None
        if not isinstance(place, dict) or last not in place:
            continue
        others = stand_ins.get(str(last), ())
        others = others[others.index(place[last]) + 1 :] if place[last] in others else others
        if others:
            place[last] = others[0]
            return f"replaced by {others[0]}: {format_path(steps[:length])}"
        if last in _KEPT:
            continue
        del place[last]
        return f"left out: {format_path(steps[:length])}"
    return None
