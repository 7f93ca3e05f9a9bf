"""Files in which the dashboard keeps a session: commands given by hand as a scenario, and the user's settings.

The settings file is TOML in the user's configuration directory. Comments and order are kept.
"""

from __future__ import annotations

import tempfile
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import platformdirs

from engine.base.values import lazy_regex, value_at, with_short_words
from engine.scenario.record import with_prices, with_settings
from engine.scenario.text import content_of
from engine.specs.commands import CreateJob, CreatePool
from engine.views.diagnosis.expectations import broken_expectations, foreseen
from engine.views.results import given_by_hand, recorded
from tui.saving.settings import MOST_TOLD, OPTIONS, UNSAVED, Settings, parse_settings
from tui.saving.targets import FileLines, NewLines, TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence

    from engine import Simulation
    from engine.run.conditions import Outcome
    from engine.specs.command import Command


_MOST_BROKEN = 2  # expectations that are told to be broken
_UNSAFE = lazy_regex(r"[^\w.-]+")
NEW_EMPTY = "New, empty"
"""The path of a scenario that was begun from nothing: it gets the name of the file in which it is saved."""


def broken_note(simulation: Simulation, at_end: Sequence[Outcome] = ()) -> str:
    """Return a sentence about expectations that a replay of the session will report as broken; empty if there are none.

    Args:
        simulation: The run.
        at_end: The outcomes of the expectations at the end of the run, if it has been played ahead.
    """
    broken = [*broken_expectations(simulation), *foreseen(simulation, at_end)]
    if not broken:
        return ""
    told = "; ".join(f"{one.text.partition(': ')[2]} {one.effect}" for one in broken[:_MOST_BROKEN])
    more = f"; and {len(broken) - _MOST_BROKEN:,} more" if len(broken) > _MOST_BROKEN else ""
    are = "1 expectation is" if len(broken) == 1 else f"{len(broken):,} expectations are"
    return f"{are} broken: {told}{more}"


class Recorder:
    """Saves the commands given by hand, and remembers which of them are saved."""

    def __init__(
        self, simulation: Simulation, directory: Path | None = None, text: Callable[[Simulation], str] = recorded
    ) -> None:
        """Files are written to ``directory``, by default the current one; ``text`` returns the session."""
        self._simulation = simulation
        self._text = text
        self._directory = directory
        self._saved: list[tuple[int, Command]] = []
        self.reports: list[str] = []  # one for each rescued session

    def proposal(self, directory: Path | None = None) -> Path:
        """Return a file name that is not taken yet."""
        scenario = self._simulation.scenario
        name, suffix = (self._first_created(), "") if self._is_unnamed else (scenario.name, "-session")
        stem = _UNSAFE.sub("-", name).strip("-") or "scenario"
        stem += f"-variant-{scenario.variant.number}" if scenario.variant is not None else ""
        parent = directory or self._directory or Path()
        candidates = (parent / f"{stem}{suffix}{number or ''}.yaml" for number in range(10_000))
        return next(path for path in candidates if not path.exists())

    def save(self, target: FileLines) -> None:
        """Write the whole session as a scenario. Raises TargetError, and then writes nothing."""
        with target:
            text = with_prices(self._text(self._simulation), self._simulation.scenario.prices, target.path.parent)
            if self._is_unnamed:
                text = with_settings(text, {"scenario": target.path.stem})
            target.write(text.splitlines())
            target.keep()
        self._saved = given_by_hand(self._simulation)

    @property
    def _is_unnamed(self) -> bool:
        return self._simulation.scenario.source.path == NEW_EMPTY

    def _first_created(self) -> str:
        """Return the id of the first job that was created by hand, else of the first pool; empty if there is none."""
        given = [command for _, command in given_by_hand(self._simulation)]
        return next((each.id for kind in (CreateJob, CreatePool) for each in given if isinstance(each, kind)), "")

    def rescue(self) -> str:
        """Save the session where there is room, unless it is saved already; return a report, empty if it was."""
        if not self.is_unsaved:
            return ""
        self.reports.append(self.save_somewhere())
        return self.reports[-1]

    def save_somewhere(self) -> str:
        """Save the session under a new name where there is room, and return a report."""
        self._saved = given_by_hand(self._simulation)
        errors = []
        for directory in self._directories():
            try:
                path = self.proposal(directory)
                self.save(NewLines(path))
            except (OSError, TargetError) as error:
                errors.append(str(error))
            else:
                said = f"The session is saved in {path}; batchdeck run {path} replays it."
                note = broken_note(self._simulation)
                return "\n".join((*errors, said, *([f"{note}."] if note else [])))
        return "\n".join((*errors, "The session cannot be saved anywhere. This is it:", self._text(self._simulation)))

    @property
    def is_unsaved(self) -> bool:
        """True if a command was given by hand since the session was saved."""
        commands = given_by_hand(self._simulation)
        return bool(commands) and commands != self._saved

    def _directories(self) -> Iterator[Path]:
        """Yield the directories to try: the recorder's own, the home directory, the one for temporary files."""
        yield self._directory or Path()
        with suppress(RuntimeError):
            yield Path.home()
        with suppress(OSError):
            yield Path(tempfile.gettempdir())


_HEADER = """\
# Settings of batchdeck's dashboard, written when it is left; comments are kept.
# Options of the command line win. Remove a line, or the file, to restore the defaults.
#
"""
_OUTLINE = "# [views.tasks] and so on hold how a view was left; [keys] gives bindings other keys, by id.\n"

_LARGEST = 1 << 20  # bytes
Path_ = tuple[str, ...]
_MISSING = object()
_NO_PLACE = "it is written in a way to which nothing can be added"


class SettingsFile:
    """Reads and writes the settings file. A file that cannot be read is reported and never overwritten."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` defaults to the file in the user's configuration directory."""
        self.path = path or Path(platformdirs.user_config_dir("batchdeck", appauthor=False)) / "settings.toml"
        self._can_write = True
        self._as_read: dict[Path_, object] = {}

    def read(self, view_names: tuple[str, ...]) -> tuple[Settings, list[str]]:
        """Return the settings and a list of problems. Defaults replace what is not valid."""
        problems = []
        try:
            found = tomllib.loads(self._content())
        except FileNotFoundError:
            found = {}
        except (OSError, ValueError, RecursionError) as error:  # numbers of too many digits are no TOMLDecodeError
            wrong = "it is nested too deeply" if isinstance(error, RecursionError) else with_short_words(str(error))
            problems = [f"{self.path}: {wrong}. The defaults are used, and the file is left as it is."]
            found, self._can_write = {}, False
        settings, invalid = parse_settings(found, view_names)
        views = {name: values for name in view_names if isinstance(values := value_at(found, "views", name), dict)}
        old: dict[Path_, object] = {
            ("views", name, key): values[key] for name, values in views.items() for key in UNSAVED if key in values
        }
        self._as_read = {**_flat(settings.as_remembered()), **old}  # written by earlier versions, and so removed
        if invalid:
            more = [f"and {len(invalid) - MOST_TOLD:,} more"] if len(invalid) > MOST_TOLD else []
            problems.append("\n".join((f"{self.path}:", *invalid[:MOST_TOLD], *more)))
        return settings, problems

    def write(self, settings: Settings) -> bool:
        """Write what has changed since ``read``; return whether anything has. Raises OSError, TargetError.

        Other changes of the file stay: another dashboard may have made them.
        """
        wanted = _flat(settings.as_remembered())
        before, every = self._as_read, {**self._as_read, **wanted}
        paths = [path for path in every if before.get(path, _MISSING) != wanted.get(path, _MISSING)]
        if not self._can_write or not paths:
            return False
        try:
            text = _changed(self._text(), {path: wanted.get(path, _MISSING) for path in paths})
        except (ValueError, RecursionError) as error:  # the file has become invalid since it was read
            raise TargetError(self.path, with_short_words(str(error))) from None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLines(self.path) as target:
            target.write(text.splitlines())
            target.keep()
        self._as_read = wanted
        return True

    def _content(self) -> str:
        """Return the text of the file. Raises OSError, and ValueError if it is no text or far too long."""
        content = content_of(self.path, _LARGEST)
        if len(content) > _LARGEST:
            raise ValueError("it is larger than 1 MB, which no settings are")
        return content.decode("utf-8-sig")

    def _text(self) -> str:
        """Return the text of the file, or the beginning of a new one."""
        try:
            return self._content()
        except FileNotFoundError:
            options = (f"#   {option.name:<13} {option.choice}: {option.about}\n" for option in OPTIONS.values())
            return f"{_HEADER}{''.join(options)}{_OUTLINE}\n"


def _flat(nested: Mapping[str, Any], above: Path_ = ()) -> dict[Path_, object]:
    """Return each value by its path of names."""
    flat: dict[Path_, object] = {}
    for name, value in nested.items():
        flat |= _flat(value, (*above, name)) if isinstance(value, dict) else {(*above, name): value}
    return flat


def _changed(text: str, changes: Mapping[Path_, object]) -> str:
    """Return the text with the changed values. Raises ValueError if it is not valid, or cannot be changed."""
    is_whole = (path for path, value in changes.items() if isinstance(value, float) and value.is_integer())
    wanted = {**changes, **{path: int(cast("float", changes[path])) for path in is_whole}}
    for as_lines in (True, False):  # where a table is written in a line, or by dotted names, it can have no header
        made = _with_changes(text, wanted, as_lines=as_lines)
        with suppress(tomllib.TOMLDecodeError):
            found = tomllib.loads(made)
            if all(value is _MISSING or value_at(found, *path) == value for path, value in wanted.items()):
                return made
    raise ValueError(_NO_PLACE)


def _with_changes(text: str, changes: Mapping[Path_, object], *, as_lines: bool) -> str:
    """Return the text with the changed values. New ones are lines of their own below the header of their table."""
    import tomlkit

    document = tomlkit.parse(text)
    new = []
    for path, value in changes.items():
        table = _table(document, path[:-1])
        if table is not None and path[-1] in table:
            if value is _MISSING:
                del table[path[-1]]
            else:
                table[path[-1]] = value
        elif value is not _MISSING and as_lines:
            new.append((path[:-1], f"{tomlkit.key(path[-1]).as_string()} = {tomlkit.item(value).as_string()}"))
        elif value is not _MISSING:
            inner: MutableMapping[str, Any] = document
            for name in path[:-1]:
                inner = inner.setdefault(name, {})
                if not isinstance(inner, dict):
                    raise ValueError(_NO_PLACE)
            inner[path[-1]] = value
    lines = tomlkit.dumps(document).splitlines()
    for table_path, line in new:
        _insert(lines, table_path, line)
    return "\n".join(lines)


def _table(document: MutableMapping[str, Any], path: Path_) -> MutableMapping[str, Any] | None:
    for name in path:
        if not isinstance(document.get(name), dict):
            return None
        document = document[name]
    return document


def _insert(lines: list[str], table: Path_, line: str) -> None:
    """Insert a line after the last value of a table, ahead of comments that may belong to the next one.

    TOML Kit would insert it after the comments.
    """
    headers = [(-1, ()), *((at, path) for at, each in enumerate(lines) if (path := _header(each)) is not None)]
    found = [number for number, (_, path) in enumerate(headers) if path == table]
    if not found:
        lines += ["", f"[{'.'.join(table)}]", line]
        return
    first = headers[found[0]][0] + 1
    stop = headers[found[0] + 1][0] if found[0] + 1 < len(headers) else len(lines)
    values = [at for at in range(first, stop) if lines[at].strip() and not lines[at].lstrip().startswith("#")]
    if not values and not table:
        values = [at for at in range(first, stop) if not lines[at].strip()][:1]  # below the heading of the file
    lines.insert(values[-1] + 1 if values else first, line)


def _header(line: str) -> Path_ | None:
    """Return the path of the table that begins with this line, None if none does."""
    if not line.lstrip().startswith("["):
        return None
    try:
        nested: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while nested:
        name, nested = next(iter(nested.items()))
        path.append(name)
    return tuple(path)
