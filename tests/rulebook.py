"""Where rules are cited: ``python -m tests.rulebook`` rewrites the last column of engine/RULES.md from the source.

At most three modules are named for a rule: those that decide, in the order of ``FOLDERS``, and in a folder the one that
cites most rules of the chapter first. Tables of data (``TABLES``), files of values among them, come last in their
folder. Modules that describe or show something (``SHOWING``) are named only where nothing else cites the rule. A range
of ids ("AS-40 to AS-90") counts only where nothing cites the id alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base import rulebook

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
RULES = ROOT / "engine" / "RULES.md"
FOLDERS = (
    "engine/autoscale",
    "engine/rules/decisions",
    "engine/rules",
    "engine/executors",
    "engine/events",
    "engine/base",
    "engine/specs",
    "engine/state",
    "engine/world",
    "engine/run",
    "engine/scenario",
    "engine/views",
    "engine/rest",
    "tui",
)
SHOWING = ("engine/views/", "engine/rest/operations/", "tui/")
TABLES = ("reactions.py", "lifecycles.py", "terms.py", ".csv")
SUFFIXES = (".py", ".csv")
MOST_MODULES = 3


def ids_in(text: str) -> set[str]:
    """Return the ids that prose cites; ``PREP-24 to PREP-26`` includes the one between."""
    return _single_ids(text) | {rule_id for rule_ids in _ranges(text) for rule_id in rule_ids}


def _single_ids(text: str) -> set[str]:
    return set(re.findall(r"\b[A-Z]+-[1-9][0-9]*\b", text))


def _ranges(text: str) -> Iterator[list[str]]:
    for chapter, first, last in re.findall(r"\b([A-Z]+)-([0-9]+) to \1-([0-9]+)\b", text):
        yield [f"{chapter}-{number}" for number in range(int(first), int(last) + 1)]


@cache
def citations() -> dict[str, tuple[str, ...]]:
    """Return the modules of engine and tui that cite each id, the deciding one first."""
    cited: dict[str, set[str]] = defaultdict(set)
    cited_in_ranges: dict[str, set[str]] = defaultdict(set)
    of_chapter: Counter[tuple[str, str]] = Counter()
    files = (each for package in ("engine", "tui") for each in sorted((ROOT / package).rglob("*.*")))
    for path in (each for each in files if each.suffix in SUFFIXES):
        module, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        for rule_id in _single_ids(text):
            cited[rule_id].add(module)
            of_chapter[module, rule_id.partition("-")[0]] += 1
        for rule_id in (each for each_range in _ranges(text) for each in each_range):
            cited_in_ranges[rule_id].add(module)

    def in_order(rule_id: str, modules: set[str]) -> tuple[str, ...]:
        chapter = rule_id.partition("-")[0]
        return tuple(
            sorted(modules, key=lambda each: (_floor(each), each.endswith(TABLES), -of_chapter[each, chapter], each))
        )

    return {rule_id: in_order(rule_id, modules) for rule_id, modules in (cited_in_ranges | cited).items()}


def _floor(module: str) -> int:
    """Return the place of a module's folder in FOLDERS; a folder that is not in it comes last."""
    return next((number for number, folder in enumerate(FOLDERS) if module.startswith(f"{folder}/")), len(FOLDERS))


def modules_of(rule_id: str) -> tuple[str, ...]:
    """Return the modules that RULES.md names for a rule."""
    cited = citations().get(rule_id, ())
    deciding = tuple(module for module in cited if not module.startswith(SHOWING))
    return (deciding or cited)[:MOST_MODULES]


def rewritten(markdown: str) -> str:
    """Return the Markdown with the last column as the source has it; reasons why a rule needs no code stay."""
    lines = markdown.splitlines()
    for number, line in enumerate(lines):
        rule = rulebook.rules().get(line.split(" | ")[0].removeprefix("| "))
        if rule is not None and not rule.reason:
            named = ", ".join(f"`{module.removeprefix('engine/')}`" for module in modules_of(rule.id))
            before_last = line[: line.rindex("|", 0, -1)]
            lines[number] = f"{before_last}| {named} |"
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the column into RULES.md."""
    RULES.write_text(rewritten(RULES.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
