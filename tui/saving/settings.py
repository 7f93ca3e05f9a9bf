"""The settings of the dashboard: options with their defaults, their values, and the source of each value.

The command line loads this module at every start. Reading and writing the settings file is in ``session_files``.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import quoted, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping


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
        Option("time", "clock", "moments by the clock, since the start, or from now", ("clock", "elapsed", "relative")),
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
    "details": bool,
    "lens": str,
    "rows": str,
    "zoom": float,  # seconds in a column
}
_DIGITS = range(10)  # which are keys too
MOST_TOLD = 10
"""The most values of a file that are told to be wrong."""
UNSAVED = ("filter", "cursor")  # kept while one scenario is shown: they are about its rows
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
    from engine.scenario.text import did_you_mean  # noqa: PLC0415 - it loads YAML, which no start should wait for

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
    from engine.scenario.text import did_you_mean  # noqa: PLC0415 - as above

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
