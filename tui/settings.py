"""What a user has chosen and need not choose again: one TOML file in the user's configuration directory."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from tui.nearest import nearest
from tui.palette import DARK, THEME_NAMES
from tui.targets import FileLines

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADER = """\
# How batchdeck's dashboard looks: written when it is left after something was changed.
# Options of the command line win. Remove a line, or the file, to have the default again.
"""
_SAID = {
    "theme": f"one of {', '.join(THEME_NAMES)}",
    "ascii": "true draws with the characters of ASCII only",
    "speed": "simulated seconds per real second; 0 is as fast as it can",
}


@dataclass
class ListSettings:
    """How one list is shown. ``columns`` None is the list's own choice by the room there is."""

    columns: list[str] | None = None
    sort: str | None = None
    descending: bool = False


@dataclass
class Settings:
    """All that is remembered."""

    theme: str = DARK
    ascii: bool = False
    speed: float = 60
    lists: dict[str, ListSettings] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)  # other keys than those declared, by the ids of bindings

    def of(self, name: str) -> ListSettings:
        """The settings of one list."""
        return self.lists.setdefault(name, ListSettings())


class SettingsFile:
    """Reads and writes the file. One that cannot be read is told of, and left as it is."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` None is the user's own file."""
        self.path = path or Path(platformdirs.user_config_dir("batchdeck", appauthor=False)) / "settings.toml"
        self._can_write = True
        self._as_read = ""

    def read(self) -> tuple[Settings, list[str]]:
        """The settings, and what is wrong with the file in words; defaults stand in for what is."""
        settings, wrong = Settings(), []
        try:
            found = tomllib.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = {}
        except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
            wrong = [f"{self.path}: {error}. The defaults are used, and the file is left as it is."]
            found, self._can_write = {}, False
        wrong += [f"{self.path}: {each}" for each in _take(settings, found)]
        self._as_read = _written(settings)
        return settings, wrong

    def write(self, settings: Settings) -> bool:
        """Write what has changed since it was read; returns whether anything has. Raises OSError, TargetError."""
        text = _written(settings)
        if not self._can_write or text == self._as_read:
            return False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLines(self.path) as target:
            target.write(text.splitlines())
            target.keep()
        self._as_read = text
        return True


def _take(settings: Settings, found: Mapping[str, object]) -> list[str]:
    """Take over what is right; returns what is wrong."""
    wrong = []
    for name, value in found.items():
        if name == "theme" and value in THEME_NAMES:
            settings.theme = str(value)
        elif name == "ascii" and isinstance(value, bool):
            settings.ascii = value
        elif name == "speed" and isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            settings.speed = value
        elif name == "lists" and isinstance(value, dict):
            wrong += _take_lists(settings, value)
        elif name == "keys" and isinstance(value, dict):
            settings.keys = {identity: str(keys) for identity, keys in value.items()}
        elif name in _SAID:
            wrong.append(f"{name} should be {_SAID[name]}, not {value!r}")
        else:
            wrong.append(f"{name} is not known{nearest(name, (*_SAID, 'lists', 'keys'))}")
    return wrong


def _take_lists(settings: Settings, found: Mapping[str, object]) -> list[str]:
    wrong = []
    for name, values in found.items():
        entries = values if isinstance(values, dict) else {"": values}
        for key, value in entries.items():
            one = settings.of(name)
            if key == "columns" and isinstance(value, list) and all(isinstance(each, str) for each in value):
                one.columns = value
            elif key == "sort" and isinstance(value, str):
                one.sort = value
            elif key == "descending" and isinstance(value, bool):
                one.descending = value
            else:
                wrong.append(f"lists.{name}: {key} = {value!r} is not understood: columns, sort and descending are")
    return wrong


def _written(settings: Settings) -> str:
    """The file's text."""
    lines = [_HEADER]
    for name, said in _SAID.items():
        lines.append(f"{name} = {_toml(getattr(settings, name))}  # {said}")
    for name, one in sorted(settings.lists.items()):
        values = [(key, value) for key, value in asdict(one).items() if value not in (None, False)]
        if values:
            lines += ["", f"[lists.{name}]", *(f"{key} = {_toml(value)}" for key, value in values)]
    if settings.keys:
        lines += ["", "[keys]", *(f'"{identity}" = {_toml(keys)}' for identity, keys in settings.keys.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"
