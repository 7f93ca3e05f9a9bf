"""The settings of the dashboard: options with their defaults, their values, the source of each value, and their file.

The file is TOML in the user's configuration directory. Comments and order are kept. The command line loads this module
at every start, and none of what reads and writes the file.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.values import quoted, shortened, value_at, with_short_words
from tui.saving.targets import FileLines, TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping


DARK, LIGHT, CONTRAST, ANSI, NO_COLOUR = "dark", "light", "high-contrast", "ansi", "no-colour"
THEME_NAMES = (DARK, LIGHT, CONTRAST, ANSI, NO_COLOUR)

Value = str | float | bool
MOST = 1e9
"""The largest number of a setting. Simulated times end within a century, of three times as many seconds."""


class Option(NamedTuple):
    """An option. Without ``values`` it is true or false, or any number from 0 on, depending on its default."""

    name: str
    default: Value
    about: str
    values: tuple[str, ...] = ()

    def takes(self, value: object) -> bool:
        """Return True if this is a possible value."""
        if self.values:
            return value in self.values
        if isinstance(self.default, bool) or isinstance(value, bool):
            return isinstance(self.default, bool) and isinstance(value, bool)
        return isinstance(value, int | float) and 0 <= value <= MOST

    @property
    def choice(self) -> str:
        """The possible values in words."""
        if self.values:
            return ", ".join(self.values)
        return "true, false" if isinstance(self.default, bool) else "a number"


OPTIONS = {
    option.name: option
    for option in (
        Option("theme", DARK, "colours; ansi takes the terminal's own sixteen", THEME_NAMES),
        Option("glyphs", "auto", "characters to draw with; auto asks the terminal", ("auto", "unicode", "ascii")),
        Option("time", "clock", "moments by the clock, or since the start", ("clock", "elapsed")),
        Option(
            "speed", 60.0, "simulated seconds per real second; 0 is as fast as possible; unset: a run takes a minute"
        ),
        Option("cross_quiet", True, "cross stretches in which nothing happens at once"),
        Option("confirm_quit", True, "q asks before it leaves the dashboard"),
        Option("introduction", True, "show the introduction for new users at the next start"),
    )
}


ViewValue = str | float | bool | list[str]

# The choices in a view that are saved, with their types.
VIEW_VALUES: dict[str, type] = {
    "columns": list,
    "sort": str,
    "descending": bool,
    "rows": str,
    "zoom": float,  # seconds in a column
}
_DIGITS = range(10)  # which are keys too
MOST_TOLD = 10
"""The most values of a file that are told to be wrong."""
UNSAVED = ("filter", "cursor", "lens", "details")  # kept while one scenario is shown, and what earlier versions wrote
_TYPES = {list: "a list of names", str: "a text", bool: "true or false", float: "a number"}


class Source(Enum):
    """The source of a value."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"
    HERE = "chosen here"


@dataclass(eq=False)
class Settings:
    """Values of options, choices in views, and keys; only what the user has chosen is stored.

    A value from the environment or the command line overrides the stored one in this run, until another is chosen.
    """

    options: dict[str, Value] = field(default_factory=dict)
    views: dict[str, dict[str, ViewValue]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    _for_now: dict[str, tuple[Value, Source]] = field(default_factory=dict, init=False)
    _chosen_here: set[str] = field(default_factory=set, init=False)

    def value(self, name: str) -> Value:
        """Return the present value of an option."""
        if name in self._for_now:
            return self._for_now[name][0]
        return self.options.get(name, OPTIONS[name].default)

    def text(self, name: str) -> str:
        """Return the value of an option that is a text."""
        return str(self.value(name))

    def number(self, name: str) -> float:
        """Return the value of an option that is a number."""
        return float(self.value(name))

    def source(self, name: str) -> Source:
        """Return the source of the value of an option."""
        if name in self._for_now:
            return self._for_now[name][1]
        if name not in self.options:
            return Source.DEFAULT
        return Source.HERE if name in self._chosen_here else Source.FILE

    def use(self, name: str, value: Value, source: Source) -> None:
        """Use a value in this run only."""
        self._for_now[name] = value, source

    def choose(self, name: str, value: Value) -> None:
        """Use a value from now on, and store it."""
        self._for_now.pop(name, None)
        self.options[name] = value
        self._chosen_here.add(name)

    def forget(self, name: str) -> None:
        """Use the default of an option."""
        self._for_now.pop(name, None)
        self.options.pop(name, None)

    def of(self, view: str) -> dict[str, ViewValue]:
        """Return the stored choices of a view; the caller may change them."""
        return self.views.setdefault(view, {})

    def forget_rows(self) -> None:
        """Forget the choices in all views that are about the rows of one scenario."""
        for values in self.views.values():
            for name in UNSAVED:
                values.pop(name, None)

    def as_remembered(self) -> dict[str, object]:
        """Return everything that the settings file holds."""
        views: dict[str, object] = {}
        for name, values in self.views.items():
            if kept := {key: value for key, value in values.items() if key not in UNSAVED}:
                views[name] = kept
        parts = (("views", views), ("keys", self.keys))
        return deepcopy({**self.options, **{name: part for name, part in parts if part}})


def parse_settings(found: Mapping[str, object], view_names: tuple[str, ...]) -> tuple[Settings, list[str]]:
    """Return the settings in a parsed file, and a message for each value that is not valid."""
    from engine.scenario.text import did_you_mean

    settings, problems = Settings(), list[str]()
    for name, value in found.items():
        if name in OPTIONS and OPTIONS[name].takes(value):
            assert isinstance(value, str | int | float)
            settings.options[name] = value
        elif name in OPTIONS:
            problems.append(f"{name} should be {OPTIONS[name].choice}, not {_as_toml(value)}")
        elif name == "views" and isinstance(value, dict):
            problems += _parse_views(settings, value, view_names)
        elif name == "keys" and isinstance(value, dict):
            for identity, keys in value.items():
                if isinstance(keys, str) or keys in _DIGITS:
                    settings.keys[identity] = str(keys)
                else:
                    problems.append(f"keys.{shortened(identity)} should be a key in quotes, not {_as_toml(keys)}")
        else:
            near = did_you_mean(name, (*OPTIONS, "views", "keys")) if len(problems) < MOST_TOLD else ""
            problems.append(f"{shortened(name)} is not known{near}")
    return settings, problems


def _parse_views(settings: Settings, found: Mapping[str, object], view_names: tuple[str, ...]) -> list[str]:
    from engine.scenario.text import did_you_mean

    problems: list[str] = []
    for name, values in found.items():
        if name not in view_names or not isinstance(values, dict):
            near = did_you_mean(name, view_names) if len(problems) < MOST_TOLD else ""
            problems.append(f"views.{shortened(name)} is not a view{near}")
            continue
        for key, value in values.items():
            if key in UNSAVED:
                continue  # earlier versions wrote it
            if key not in VIEW_VALUES:
                near = did_you_mean(key, VIEW_VALUES) if len(problems) < MOST_TOLD else ""
                problems.append(f"views.{name}.{shortened(key)} is not known{near}")
            elif _is_of(VIEW_VALUES[key], value):
                settings.of(name)[key] = value
            else:
                problems.append(f"views.{name}.{key} should be {_TYPES[VIEW_VALUES[key]]}, not {_as_toml(value)}")
    return problems


def _is_of(wanted: type, value: object) -> bool:
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST
    return isinstance(value, wanted) and (not isinstance(value, list) or all(isinstance(each, str) for each in value))


def _as_toml(value: object) -> str:
    try:
        return quoted(value)
    except (RecursionError, ValueError):  # a number of so many digits that Python refuses to write it
        return "such a value"


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
        import platformdirs

        self.path = path or Path(platformdirs.user_config_dir("batchdeck", appauthor=False)) / "settings.toml"
        self._can_write = True
        self._as_read: dict[Path_, object] = {}

    def read(self, view_names: tuple[str, ...]) -> tuple[Settings, list[str]]:
        """Return the settings and a list of problems. Defaults replace what is not valid."""
        import tomllib

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
        from engine.scenario.text import content_of

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
    import tomlkit

    document = tomlkit.parse(text)
    for path, value in changes.items():
        table: MutableMapping[str, Any] = document
        for name in path[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ValueError(_NO_PLACE)
        if value is _MISSING:
            table.pop(path[-1], None)
        else:
            table[path[-1]] = int(value) if isinstance(value, float) and value.is_integer() else value
    made = tomlkit.dumps(document)
    found = tomlkit.parse(made)
    if any(value is not _MISSING and value_at(found, *path) != value for path, value in changes.items()):
        raise ValueError(_NO_PLACE)  # what TOML Kit makes of some tables in a line
    return made
