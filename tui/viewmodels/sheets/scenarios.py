"""Scenarios to open: the bundled ones and files, with what they show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.scenario.files import SUFFIXES, bundled, headline, listed
from tui.saving.recorder import NEW_EMPTY
from tui.viewmodels.text.styled import Line, Role, Span, fit, line, squeeze, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.errors import Problem

EMPTY_TEXT = "scenario: new\n"
_ABOUT_NEW = "Nothing in it: build pools and jobs by hand"
_NAME_CELLS = 38  # beside a description
_LEAST_ABOUT = 40  # cells; a shorter part of a description says nothing


class ScenarioEntry(NamedTuple):
    """Something that can be chosen: a scenario by its name or path, or a directory to look into."""

    name: str
    about: str = ""
    is_directory: bool = False


def offered(text: str) -> list[ScenarioEntry]:
    """Return what fits a text that was typed.

    A text with a slash is a path: the directories and scenario files there are offered. Any other text filters the
    files of the current directory and the bundled scenarios, by their names and descriptions. What is called like the
    text comes first, because Enter opens the first.
    """
    text = text.strip()
    if "/" in text or text.startswith(("~", ".")):
        return _at_path(text)
    here = [ScenarioEntry(f"./{name}") for name in listed(Path())]
    shipped = [ScenarioEntry(name, _bundled_headline(name)[0]) for name in bundled()]
    words = text.casefold().split()
    new = ScenarioEntry(NEW_EMPTY, _ABOUT_NEW)
    every = ((entry, f"{entry.name} {entry.about}".casefold()) for entry in (new, *here, *shipped))
    found = [entry for entry, searched in every if all(word in searched for word in words)]
    return sorted(found, key=lambda entry: _rank(entry, words)) if words else found


def _rank(entry: ScenarioEntry, words: list[str]) -> int:
    """Return how far a name is from words that were typed: the same, a new scenario, one that begins so, any other."""
    wanted, name = " ".join(words), entry.name.removeprefix("./").casefold()
    if wanted in (name, name.rpartition(".")[0]):
        return 0
    begins = name.replace(",", "").startswith(wanted.replace(",", ""))
    return 3 - begins - (begins and entry.name == NEW_EMPTY)


def _at_path(text: str) -> list[ScenarioEntry]:
    path = Path(text).expanduser()
    parent, begun = (path, "") if text.endswith("/") else (path.parent, path.name)
    shown = text[: text.rfind("/") + 1] if "/" in text else ""
    try:
        found = sorted(parent.iterdir(), key=lambda each: each.name)
    except OSError:
        return []
    named = [each for each in found if each.name.startswith(begun) and (begun or not each.name.startswith("."))]
    folders = [ScenarioEntry(f"{shown}{each.name}/", is_directory=True) for each in named if each.is_dir()]
    return folders + [ScenarioEntry(f"{shown}{each.name}") for each in named if each.suffix in SUFFIXES]


_headlines: dict[str, tuple[str, list[str]]] = {}


def _bundled_headline(name: str) -> tuple[str, list[str]]:
    if name not in _headlines:
        _headlines[name] = headline(bundled()[name].read_text(encoding="utf-8"))
    return _headlines[name]


def entry_line(entry: ScenarioEntry, cells: int) -> Line:
    """Return an entry as a line of the list."""
    has_about = cells - _NAME_CELLS >= _LEAST_ABOUT
    name_cells = _NAME_CELLS if has_about else cells
    parts = entry.name.rstrip("/").split("/")
    name = parts[-1] + ("/" if entry.is_directory else "")
    about = f" {entry.about}"[: cells - name_cells] if has_about else ""
    return line(Span(fit(squeeze(name, name_cells), name_cells), Role.PLAIN), Span(about, Role.DIM))


def preview(entry: ScenarioEntry | None, cells: int) -> list[Line]:
    """Return what a scenario shows, and what to look at in it."""
    if entry is None:
        return [line(Span("No scenario fits.", Role.DIM))]
    if entry.is_directory:
        return [line(Span("A directory: enter lists it.", Role.DIM))]
    if entry.name == NEW_EMPTY:
        about, comments = f"{_ABOUT_NEW}.", ["ctrl+n creates a pool or a job, and R saves what was done as a scenario."]
    elif entry.name in bundled():
        about, comments = _bundled_headline(entry.name)
    else:
        try:
            about, comments = headline(Path(entry.name).expanduser().read_text(encoding="utf-8"))
        except (OSError, UnicodeError) as error:
            return [line(Span(each, Role.FAILED)) for each in wrapped(f"It cannot be read: {error}", cells)]
    found = [line(Span(each, Role.STRONG)) for each in wrapped(about or "It has no description.", cells)]
    return [*found, (), *(line(Span(each, Role.DIM)) for text in comments for each in wrapped(text, cells) or [""])]


def problem_lines(problems: Sequence[Problem], cells: int) -> list[Line]:
    """Return the mistakes of a scenario with their places, as ``batchdeck check`` prints them."""
    return [line(Span(each, Role.FAILED)) for problem in problems for each in wrapped(str(problem), cells)]
