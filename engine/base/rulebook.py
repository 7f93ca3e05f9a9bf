"""The rulebook: the rules of the service, read from ``engine/RULES.md``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from engine.base.values import lazy_regex

SOURCES = ("documented", "recorded", "reported", "decided")
COLUMNS = ("Rule", "What it says", "Source", "Option", "Implemented in")
_CHAPTER = lazy_regex(r"## ([A-Z]+): (.+)")
_ID = lazy_regex(r"\b[A-Z]+-[1-9][0-9]*\b")
_SOURCE = lazy_regex(r"(\w+)(?: \(([^)]*)\))?")  # after "recorded" and "reported" come names in parentheses
_BAR = lazy_regex(r"(?<!\\)\|")  # between two cells; a bar inside a cell is written \|


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``text`` and ``option`` are Markdown: names stand in backticks.

    ``recordings`` name what was seen of the service behind the source "recorded": a file of recorded answers or a test
    against the service as owner/name:file, or an answer that somebody has published as owner/name#number. ``reports``
    are the public reports behind the source "reported", as owner/name#number.

    ``modules`` are paths from the root of the repository, the deciding one first. A rule that needs no code has
    none, and says in ``reason`` why.
    """

    id: str
    text: str
    sources: tuple[str, ...]
    recordings: tuple[str, ...]
    reports: tuple[str, ...]
    option: str
    modules: tuple[str, ...]
    reason: str

    @property
    def is_observed(self) -> bool:
        """True if the rule rests on a recording or report that is named, alone or beside other sources."""
        return bool(self.recordings or self.reports)


@dataclass(frozen=True, slots=True)
class Chapter:
    """The rules whose ids begin with ``prefix``, in the order of their numbers."""

    prefix: str
    title: str
    about: str
    rules: tuple[Rule, ...]


@cache
def chapters() -> tuple[Chapter, ...]:
    """Return the chapters in the order of the file."""
    return parse((Path(__file__).parents[1] / "RULES.md").read_text(encoding="utf-8"))


@cache
def rules() -> dict[str, Rule]:
    """Return all rules by their ids."""
    return {rule.id: rule for chapter in chapters() for rule in chapter.rules}


def find(name: str) -> Chapter | Rule | None:
    """Return the rule with this id, or the chapter with this prefix, without regard to case."""
    chapter = next((each for each in chapters() if each.prefix == name.upper()), None)
    return chapter or rules().get(name.upper())


def rules_in(text: str) -> list[Rule]:
    """Return the rules that ``text`` cites, each once, in the order of their first mention."""
    known = rules()
    return [known[cited] for cited in dict.fromkeys(_ID.findall(text)) if cited in known]


def nearest(name: str) -> str:
    """Return the id, or the prefix of a chapter, that is most like ``name``."""
    prefix, _, number = name.upper().partition("-")
    of_chapter = next((chapter.rules for chapter in chapters() if chapter.prefix == prefix), None)
    if of_chapter and number.isdecimal():
        return of_chapter[0 if int(number) < 1 else -1].id
    known = [*(chapter.prefix for chapter in chapters()), *rules()]
    return get_close_matches(name.upper(), known, n=1, cutoff=0)[0]


def parse(markdown: str) -> tuple[Chapter, ...]:
    """Read chapters from Markdown: a heading, a paragraph and a table for each.

    Raises:
        ValueError: A row does not have the five columns, or stands outside a chapter.
    """
    found = []
    for part in re.split(r"^(?=## )", markdown, flags=re.MULTILINE)[1:]:
        heading, *lines = part.splitlines()
        named = _CHAPTER.fullmatch(heading)
        if named is None:
            raise ValueError(f"{heading!r} is not a heading such as '## PREP: Job preparation task'")
        rows = [line for line in lines if line.startswith("|")]
        about = " ".join(line for line in lines if line and not line.startswith("|"))
        if rows and tuple(_cells(rows[0])) != COLUMNS:
            raise ValueError(f"the columns of {named[1]} are not {', '.join(COLUMNS)}")
        found.append(Chapter(named[1], named[2], about, tuple(_rule(row) for row in rows[2:])))
    return tuple(found)


def _rule(row: str) -> Rule:
    cells = _cells(row)
    if len(cells) != len(COLUMNS) or not _ID.fullmatch(cells[0]):
        raise ValueError(f"{row!r} is not the row of a rule: {' | '.join(COLUMNS)}")
    rule_id, text, sources, option, where = cells
    modules = tuple(map(_path, re.findall(r"`([^`]+)`", where))) if where.startswith("`") else ()
    named = {kind: tuple(names.split(", ")) if names else () for kind, names in _SOURCE.findall(sources)}
    recordings, reports = named.get("recorded", ()), named.get("reported", ())
    return Rule(rule_id, text, tuple(named), recordings, reports, option, modules, "" if modules else where)


def _cells(row: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(row.strip())[1:-1]]


def _path(module: str) -> str:
    """Return the path from the root of the repository; modules of the engine are written without ``engine/``."""
    return module if module.startswith("tui/") else f"engine/{module}"
