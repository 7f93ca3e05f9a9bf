"""The sheets that open above a view: help, scenarios, settings, and the blobs in storage.

The help has keys, and for each view its columns, its states as drawn now, and what is derived. Scenarios to open are
the bundled ones and files. A setting, a saved view or a key is shown with its value and source.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from engine import load_scenario
from engine.base.errors import ScenarioError
from engine.base.terms import NodeState
from engine.base.values import called, lazy_regex
from engine.scenario.text import bundled, content_of, decode, headline, listed
from engine.views.resources.account import bytes_of_run
from tui.saving.settings import OPTIONS, Source, Value
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import (
    JOB,
    JOB_SCHEDULE,
    NODE,
    POOL_GLYPHS,
    PREPARATION,
    RELEASE,
    TASK_GLYPHS,
    VARIANT_GLYPHS,
)
from tui.viewmodels.text import (
    Block,
    ItemRef,
    Line,
    Role,
    Span,
    block_lines,
    cut,
    fit,
    labelled,
    line,
    link,
    row,
    squeeze,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine.base.errors import Problem
    from engine.views.resources.account import StoredBlob
    from tui.saving.settings import Settings
    from tui.viewmodels.glyphs import Glyph, GlyphSet
    from tui.viewmodels.lists.columns import Column
    from tui.viewmodels.session import Session


_TABLES: dict[str, Iterable[Glyph]] = {
    "Nodes": NODE.values(),
    "Preparation tasks": PREPARATION.values(),
    "Release tasks": RELEASE.values(),
    "Tasks": TASK_GLYPHS,
    "Jobs": JOB.values(),
    "Pools": POOL_GLYPHS,
    "Job schedules": JOB_SCHEDULE.values(),
}
_ALONE: dict[str, Iterable[Glyph]] = {"Study": VARIANT_GLYPHS}  # pages that need no other states
_FIRST = {"Watch": ("Preparation tasks", "Release tasks", "Nodes"), "Timeline": ("Nodes", "Preparation tasks", "Tasks")}
_REMARKS = {
    NODE[state]: remark
    for state, remark in {
        NodeState.CREATING: "the VM is being allocated",
        NodeState.WAITING_FOR_START_TASK: "no tasks until the start task succeeds",
        NodeState.START_TASK_FAILED: "reboot, reimage, or fix the start task",
        NodeState.REIMAGING: "makes the node eligible again",
        NodeState.OFFLINE: "scheduling is disabled and nothing runs",
        NodeState.PREEMPTED: "Spot nodes only",
        NodeState.UNKNOWN: "contact is lost",
    }.items()
}
_ENTRY_CELLS = 26
_KEY_CELLS, _TERM_CELLS = 9, 11
_LEAST_TEXT = 10


class HelpPage(NamedTuple):
    """The help on a view: its title, a text, the columns of its list, and the symbols on the screen."""

    title: str
    text: str
    columns: Sequence[Column[Any]] = ()
    symbols: Iterable[Glyph] = ()


class KeyEntry(NamedTuple):
    """A line of the help on keys: the keys, what they do, when to use them, and the heading that it stands under."""

    keys: str
    does: str
    when: str = ""
    group: str = ""


def states_of(title: str) -> Iterable[Glyph]:
    """Return the states of the items in the list with this title."""
    return _TABLES.get(title) or _ALONE.get(title, ())


def symbol_lines(symbols: Iterable[Glyph], glyphs: GlyphSet, cells: int) -> list[Line]:
    """Return the meaning of the symbols on the screen, with a heading; nothing without any."""
    found = list({(glyphs.of(each), each.name): each for each in symbols}.values())  # what looks the same stands once
    heading = line(Span("On the screen now", Role.STRONG))
    return [heading, *_states(found, glyphs, cells, has_room=False), ()] if found else []


HERE = "In this pane"


def key_lines(entries: Sequence[KeyEntry], cells: int) -> list[Line]:
    """Return the keys by group: the first ones to know, those of the focused pane, and those that work everywhere."""
    lines: list[Line] = []
    for title in dict.fromkeys([entries[0].group, HERE, *(entry.group for entry in entries)]):
        told = [each for entry in entries if entry.group == title for each in _key_entry(entry, cells)]
        if told:
            lines += [*([()] if lines else []), line(Span(title, Role.STRONG)), *told]
    return lines


def _key_entry(entry: KeyEntry, cells: int) -> list[Line]:
    """Return what a key does, and dimmed after it when to use it."""
    does = entry.does[:1].upper() + entry.does[1:] + "."
    key_cells = max(_KEY_CELLS, len(entry.keys) + 1)
    room = len(does)  # characters that are not dimmed
    lines: list[Line] = []
    for number, text in enumerate(wrapped(f"{does} {entry.when}".strip(), max(_LEAST_TEXT, cells - key_cells))):
        key = Span(fit(entry.keys if number == 0 else "", key_cells), Role.KEY)
        lines.append(line(key, text[: max(0, room)], Span(text[max(0, room) :], Role.DIM)))
        room -= len(text) + 1
    return lines


def page_lines(page: HelpPage, glyphs: GlyphSet, cells: int) -> list[Line]:
    """Return the help on a view: text, with its terms in a column, columns, its own states, then all other states."""
    lines: list[Line] = []
    for text in glyphs.text(page.text).splitlines():
        term, is_about, said = text.removeprefix("**").partition("** ")
        told = labelled(Span(term, Role.KEY), _TERM_CELLS, said, cells) if is_about else map(line, wrapped(text, cells))
        lines += told
    if any(column.name for column in page.columns):
        heading = line(Span("Columns", Role.STRONG), Span("   in italics: derived by batchdeck", Role.DIM))
        lines += [(), heading]
        name_cells = max(len(column.name) for column in page.columns) + 2
        for column in filter(lambda column: column.name, page.columns):
            name = Span(column.name, Role.DERIVED if column.is_derived else Role.PLAIN)
            lines += labelled(name, name_cells, glyphs.text(column.help_text), cells)
    first = _FIRST.get(page.title, (page.title,))
    if page.title in _ALONE:
        return [*lines, (), *_states(_ALONE[page.title], glyphs, cells, has_room=False)]
    for title in sorted(_TABLES, key=lambda each: first.index(each) if each in first else len(first)):
        lines += [(), line(Span(title, Role.STRONG)), *_states(_TABLES[title], glyphs, cells, has_room=title in first)]
    return lines


def _states(table: Iterable[Glyph], glyphs: GlyphSet, cells: int, *, has_room: bool) -> list[Line]:
    """Return each state with its glyph. With ``has_room`` each is on a line of its own, with its remark."""
    entry_cells = max([_ENTRY_CELLS, *(len(glyph.name) + 3 for glyph in table)])
    entries = [(glyphs.span(glyph), Span(" " + fit(glyph.name, entry_cells - 2))) for glyph in table]
    if has_room and any(glyph in _REMARKS for glyph in table):
        rest = cells - entry_cells
        remarks = (Span(fit(_REMARKS.get(glyph, ""), rest), Role.DIM) for glyph in table)
        return [(*entry, remark) for entry, remark in zip(entries, remarks, strict=True)]
    columns = max(1, cells // entry_cells)
    rows = -(-len(entries) // columns)
    return [tuple(span for entry in entries[at::rows] for span in entry) for at in range(rows)]


_HEAD = 16_384  # bytes of a file that tell what it is
_MOST_DIRECTORIES = 16  # of which the scenarios are known
_YAML_KEY = lazy_regex(r"^\ufeff?[\"']?(?:scenario|pools)[\"']?[ ]*:", re.MULTILINE)
_OTHER_KEY = lazy_regex(r"^(?:apiVersion|resources|services)[ ]*:", re.MULTILINE)
_JSON_KEY = lazy_regex(r"[\"']?\b(?:scenario|pools)[\"']?\s*:")
_RESULT_KEY = lazy_regex(r"\"(?:endTime|summary|resources|\$schema)\"\s*:")  # `run` writes a scenario too
EMPTY_TEXT = "scenario: new\n"
NEW_EMPTY = "New, empty"
"""The path of a scenario that was begun from nothing: it gets the name of the file in which it is saved."""
_ABOUT_NEW = "Nothing in it: build pools and jobs by hand"
_READ_AT_ONCE = 50_000  # characters of a scenario that is read when the cursor rests on it
_SCENARIO_CELLS = 38  # beside a description
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
    here = [ScenarioEntry(f"./{name}") for name in _scenarios_in(Path.cwd())]
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
    files = (name for name in _scenarios_in(parent.absolute()) if name.startswith(begun))
    return folders + [ScenarioEntry(f"{shown}{name}") for name in files if begun or not name.startswith(".")]


def _scenarios_in(directory: Path) -> Sequence[str]:
    """Return the names of the scenarios in a directory, also of those with mistakes; a key does not read them again."""
    try:
        return _read_names(directory, directory.stat().st_mtime_ns)
    except OSError:
        return ()


@lru_cache(_MOST_DIRECTORIES)
def _read_names(directory: Path, _changed_ns: int) -> Sequence[str]:
    return [name for name in listed(directory) if _is_scenario(directory / name)]


def _is_scenario(path: Path) -> bool:
    """Return whether the beginning of a file has a key that only a scenario has, and none that only others have."""
    try:
        head = content_of(path, _HEAD).decode("utf-8", "replace")
    except OSError:
        return False
    is_json = head.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    own, others = (_JSON_KEY, _RESULT_KEY) if is_json else (_YAML_KEY, _OTHER_KEY)
    return bool(own.search(head)) and not others.search(head)


@cache
def _bundled_headline(name: str) -> tuple[str, list[str]]:
    return headline(bundled()[name].read_text(encoding="utf-8"))


def scenario_line(entry: ScenarioEntry, cells: int) -> Line:
    """Return an entry as a line of the list."""
    has_about = cells - _SCENARIO_CELLS >= _LEAST_ABOUT
    name_cells = _SCENARIO_CELLS if has_about else cells
    parts = entry.name.rstrip("/").split("/")
    name = parts[-1] + ("/" if entry.is_directory else "")
    about = f" {entry.about}"[: cells - name_cells] if has_about else ""
    return line(Span(fit(squeeze(name, name_cells), name_cells), Role.PLAIN), Span(about, Role.DIM))


def preview(entry: ScenarioEntry | None, cells: int, *, checks: bool = False) -> list[Line]:
    """Return what a scenario shows, and what to look at in it; with ``checks`` the mistakes of a file that has some."""
    if entry is None:
        return [line(Span("No scenario fits.", Role.DIM))]
    if entry.is_directory:
        return [line(Span("A directory: enter lists it.", Role.DIM))]
    if entry.name == NEW_EMPTY:
        about, comments = f"{_ABOUT_NEW}.", ["ctrl+n creates a pool or a job, and R saves what was done as a scenario."]
    elif entry.name in bundled():
        about, comments = _bundled_headline(entry.name)
    else:
        path = Path(entry.name).expanduser()
        try:
            text = decode(content_of(path), entry.name)
            about, comments = headline(text)
            if checks and len(text) <= _READ_AT_ONCE:
                load_scenario(str(path), text=text)
        except OSError as error:
            return [line(Span(each, Role.FAILED)) for each in wrapped(f"It cannot be read: {error}", cells)]
        except ScenarioError as error:
            broken = wrapped(f"It is broken: {fmt.counted(len(error.problems), 'mistake')}.", cells)
            return [*(line(Span(each, Role.FAILED)) for each in broken), (), *problem_lines(error.problems, cells)]
    found = [line(Span(each, Role.STRONG)) for each in wrapped(about or "It has no description.", cells)]
    return [*found, (), *(line(Span(each, Role.DIM)) for text in comments for each in wrapped(text, cells) or [""])]


def problem_lines(problems: Sequence[Problem], cells: int) -> list[Line]:
    """Return the mistakes of a scenario with their places, as ``batchdeck check`` prints them."""
    return [line(Span(each, Role.FAILED)) for problem in problems for each in wrapped(str(problem), cells)]


_PART = lazy_regex(r"(?=; | \()")  # ahead of each further part of a purpose
_WIDE = 90  # cells; narrower lists leave out where a value comes from
_SETTING_CELLS, _VALUE_CELLS, _SOURCE_CELLS = 24, 16, 14


class SettingEntry(NamedTuple):
    """A setting: its kind and name, its value with the source of it, and its purpose."""

    kind: Literal["option", "key"]
    name: str
    value: str
    source: str
    said: str


def entries(
    settings: Settings, keys: Iterable[tuple[str, str, str]], speed_now: float | None = None
) -> list[SettingEntry]:
    """Return options and keys.

    Args:
        settings: The settings.
        keys: Id, key and purpose of each binding.
        speed_now: The speed of playback, which follows from the length of the run while none is set.
    """
    found = []
    for name, option in OPTIONS.items():
        said, source = f"{option.about} ({option.choice})", settings.source(name)
        is_unset = name == "speed" and source is Source.DEFAULT and speed_now is not None
        value = f"unset, {speed_now:g} now" if is_unset else _value(settings.value(name))
        found.append(SettingEntry("option", name, value, source.value, said))
    for identity, key, does in keys:
        source = Source.FILE if identity in settings.keys else Source.DEFAULT
        found.append(SettingEntry("key", identity, key, source.value, does))
    return found


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, int | float) else value


_HEADINGS = {"option": "Options", "key": "Keys"}


def entry_lines(found: Sequence[SettingEntry], cells: int) -> list[tuple[int, Line]]:
    """Return a line for each setting with its number, below headings."""
    lines: list[tuple[int, Line]] = []
    kind = ""
    for number, entry in enumerate(found):
        if entry.kind != kind:
            kind = entry.kind
            lines += [(-1, ())] if lines else []
            lines.append((-1, line(Span(_HEADINGS[kind], Role.STRONG))))
        is_default, is_narrow = entry.source == Source.DEFAULT.value, cells < _WIDE
        role = Role.DIM if is_default else Role.PLAIN
        source = [] if is_narrow else [Span(fit(entry.source, _SOURCE_CELLS) + " ", role)]
        rest = max(0, cells - _SETTING_CELLS - _VALUE_CELLS - 2 - (0 if is_narrow else _SOURCE_CELLS + 1))
        spans = [
            Span(fit(entry.name, _SETTING_CELLS) + " "),
            Span(fit(entry.value, _VALUE_CELLS) + " ", Role.KEY),
            *source,
            Span(fit(_in_short(entry, rest), rest), Role.DIM),
        ]
        lines.append((number, line(*spans)))
    return lines


def _in_short(entry: SettingEntry, cells: int) -> str:
    """Return a purpose as far as whole parts of it have room; the rest is told once the cursor is there."""
    parts = _PART.split(entry.said)
    found = parts[0]
    for part in parts[1:]:
        if len(found) + len(part) > cells:
            break
        found += part
    return found


def next_value(name: str, value: Value, by: int, speeds: Sequence[float]) -> Value:
    """Return the next (``by`` 1) or previous (-1) value of an option, wrapping around."""
    option = OPTIONS[name]
    values: Sequence[Value] = option.values or ((False, True) if isinstance(option.default, bool) else speeds)
    if value not in values:
        return option.default
    return values[(list(values).index(value) + by) % len(values)]


MOST_BLOBS = 2_000  # in the list: the latest uploads
_SIZE_CELLS, _TIME_CELLS = 8, 10
_LEAST_NAME = 20


def storage_lines(session: Session, cells: int) -> list[Line]:
    """Return the containers at the displayed moment, each with its blobs; of very many blobs the latest uploads."""
    found = session.blobs()
    if not found:
        return [line(Span("There is no blob that has been named or uploaded.", Role.DIM))]
    shown = _latest(found)
    lines = [line(Span(_summary(session, found, len(shown))))]
    for container, blobs in groupby(shown, key=lambda blob: blob.place.container):
        lines += [(), *_container(session, container, list(blobs), cells)]
    return lines


def _latest(found: list[StoredBlob]) -> list[StoredBlob]:
    if len(found) <= MOST_BLOBS:
        return found
    by_time = sorted(found, key=lambda blob: -1 if blob.when_ms is None else blob.when_ms)
    return sorted(by_time[-MOST_BLOBS:], key=lambda blob: blob.place)


def _summary(session: Session, found: Sequence[StoredBlob], shown: int) -> str:
    transferred = bytes_of_run(session.simulation)
    said = f"{fmt.counted(len(found), 'blob')}, {fmt.size(sum(blob.size for blob in found))}"
    if any(transferred):
        said += f"; {fmt.size(transferred.downloaded)} downloaded, {fmt.size(transferred.uploaded)} uploaded"
    return f"{said}; the latest {shown:,} are listed" if shown < len(found) else said


def _container(session: Session, container: str, blobs: Sequence[StoredBlob], cells: int) -> Iterator[Line]:
    """Yield a heading for the container, and a row for each blob."""
    total = f"  {fmt.counted(len(blobs), 'blob')}, {fmt.size(sum(blob.size for blob in blobs))}"
    name = squeeze(container.removeprefix("https://"), max(_LEAST_NAME, cells - len(total)))
    yield line(Span(session.text(name), Role.STRONG), Span(total, Role.DIM))
    widest = max(len(_name(blob)) for blob in blobs)
    for blob in blobs:
        yield cut(_row(session, blob, cells, widest), cells)


def _name(blob: StoredBlob) -> str:
    return blob.place.name or blob.url


def _row(session: Session, blob: StoredBlob, cells: int, name_cells: int) -> Line:
    """Return a blob's size, time of upload, name as a link to its text, and what uploaded it.

    ``name_cells`` is the width of the longest name, so that the uploaders stand in a column if there is room.
    """
    when = session.clock(blob.when_ms) if blob.when_ms is not None else "scenario"
    by = f"  {_uploader(blob)}" if blob.is_uploaded else ""
    by = squeeze(by, max(_LEAST_NAME, cells // 3))
    room = max(_LEAST_NAME, cells - _SIZE_CELLS - _TIME_CELLS - 4 - len(by))
    name = squeeze(_name(blob), room)
    gap = max(0, min(name_cells, room) - len(name)) if by else 0
    uploader = Span(session.text(by), Role.DERIVED)
    if blob.task is not None:
        uploader = uploader._replace(leads_to=ItemRef("task", blob.task))
    return line(
        Span(f"{fmt.size(blob.size):>{_SIZE_CELLS}}  "),
        Span(f"{when:<{_TIME_CELLS}}", Role.DIM),
        link(session.text(name), f"blob({blob.url!r})", Role.PLAIN),
        Span(" " * gap),
        uploader,
    )


def blob_lines(session: Session, blob: StoredBlob, cells: int) -> list[Line]:
    """Return everything about a blob, and its text."""
    rows = [row("URL", blob.url), row("Size", f"{blob.size:,} bytes")]
    if blob.when_ms is None:
        rows.append(row("From", "the scenario"))
    else:
        rows += [row("Uploaded", session.clock(blob.when_ms)), row("By", _uploader(blob))]
    lines = [*block_lines([Block("Blob", tuple(rows))], cells), (), line(Span("Text", Role.STRONG))]
    if blob.text is None:
        return [*lines, line(Span("Only the size is known.", Role.DIM))]
    texts = (piece for each in blob.text.splitlines() or ["(empty)"] for piece in wrapped(each, cells))
    return [*lines, *(line(Span(each)) for each in texts)]


def _uploader(blob: StoredBlob) -> str:
    return f"{called('task', blob.task_id)} of {blob.job_id}" if blob.task is not None else "logs of a node"
