"""The file with the settings: TOML in the user's configuration directory, with the user's comments and order."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from tui.saving.targets import FileLines, TargetError
from tui.settings.options import OPTIONS
from tui.settings.values import Settings, take

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping


_HEADER = """\
# How batchdeck's dashboard looks. What is changed there is written here when it is left; comments are kept.
# Options of the command line win. Remove a line, or the file, to have the default again.
#
"""
_OUTLINE = "# [views.tasks] and so on hold how a view was left; [keys] gives bindings other keys by their ids.\n"

Path_ = tuple[str, ...]
_MISSING = object()


class SettingsFile:
    """Reads and writes the file. One that cannot be read is told of, and left as it is."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` None is the user's own file."""
        self.path = path or Path(platformdirs.user_config_dir("batchdeck", appauthor=False)) / "settings.toml"
        self._can_write = True
        self._as_read: dict[Path_, object] = {}

    def read(self, view_names: tuple[str, ...]) -> tuple[Settings, list[str]]:
        """The settings, and what is wrong with the file in words; defaults stand in for what is."""
        wrong = []
        try:
            found = tomllib.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = {}
        except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
            wrong = [f"{self.path}: {error}. The defaults are used, and the file is left as it is."]
            found, self._can_write = {}, False
        settings, misunderstood = take(found, view_names)
        self._as_read = _flat(settings.as_remembered())
        if misunderstood:
            wrong.append("\n".join((f"{self.path}:", *misunderstood)))
        return settings, wrong

    def write(self, settings: Settings) -> bool:
        """Write what has changed since it was read; returns whether anything has. Raises OSError, TargetError.

        What has changed in the file since then stays, for another dashboard may have written it.
        """
        wanted = _flat(settings.as_remembered())
        paths = [
            path
            for path in {**self._as_read, **wanted}
            if self._as_read.get(path, _MISSING) != wanted.get(path, _MISSING)
        ]
        if not self._can_write or not paths:
            return False
        try:
            text = _changed(self._text(), {path: wanted.get(path, _MISSING) for path in paths})
        except ValueError as error:  # somebody has written something else there since
            raise TargetError(self.path, str(error)) from None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLines(self.path) as target:
            target.write(text.splitlines())
            target.keep()
        self._as_read = wanted
        return True

    def _text(self) -> str:
        """What is in the file now; what a new one begins with."""
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            said = (f"#   {option.name:<13} {option.choice}: {option.said}\n" for option in OPTIONS.values())
            return f"{_HEADER}{''.join(said)}{_OUTLINE}\n"


def _flat(nested: Mapping[str, Any], above: Path_ = ()) -> dict[Path_, object]:
    """Each value by the names that lead to it."""
    flat: dict[Path_, object] = {}
    for name, value in nested.items():
        flat |= _flat(value, (*above, name)) if isinstance(value, dict) else {(*above, name): value}
    return flat


def _changed(text: str, changes: Mapping[Path_, object]) -> str:
    """The text with other values, everything else as it was."""
    import tomlkit

    document = tomlkit.parse(text)
    new = []
    for path, given in changes.items():
        value = int(given) if isinstance(given, float) and given.is_integer() else given
        table = _table(document, path[:-1])
        if table is not None and path[-1] in table:
            if value is _MISSING:
                del table[path[-1]]
            else:
                table[path[-1]] = value
        elif value is not _MISSING:
            new.append((path[:-1], f"{tomlkit.key(path[-1]).as_string()} = {tomlkit.item(value).as_string()}"))
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
    """Put a line after the last value of a table, ahead of comments that may belong to what follows.

    TOML Kit would put it behind them.
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
    """The table that begins with this line; None where none does."""
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
