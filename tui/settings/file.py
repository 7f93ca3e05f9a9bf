"""The settings file: TOML in the user's configuration directory. Comments and order are kept."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from tui.saving.targets import FileLines, TargetError
from tui.settings.options import OPTIONS
from tui.settings.values import UNSAVED, Settings, parse_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping


_HEADER = """\
# Settings of batchdeck's dashboard, written when it is left; comments are kept.
# Options of the command line win. Remove a line, or the file, to restore the defaults.
#
"""
_OUTLINE = "# [views.tasks] and so on hold how a view was left; [keys] gives bindings other keys, by id.\n"

Path_ = tuple[str, ...]
_MISSING = object()


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
            found = tomllib.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = {}
        except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
            problems = [f"{self.path}: {error}. The defaults are used, and the file is left as it is."]
            found, self._can_write = {}, False
        settings, invalid = parse_settings(found, view_names)
        old = {path: value for path, value in _flat(found).items() if path[0] == "views" and path[-1] in UNSAVED}
        self._as_read = {**_flat(settings.as_remembered()), **old}  # written by earlier versions, and so removed
        if invalid:
            problems.append("\n".join((f"{self.path}:", *invalid)))
        return settings, problems

    def write(self, settings: Settings) -> bool:
        """Write what has changed since ``read``; return whether anything has. Raises OSError, TargetError.

        Other changes of the file stay: another dashboard may have made them.
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
        except ValueError as error:  # the file has become invalid since it was read
            raise TargetError(self.path, str(error)) from None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLines(self.path) as target:
            target.write(text.splitlines())
            target.keep()
        self._as_read = wanted
        return True

    def _text(self) -> str:
        """Return the text of the file, or the beginning of a new one."""
        try:
            return self.path.read_text(encoding="utf-8")
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
    """Return the text with the changed values."""
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
