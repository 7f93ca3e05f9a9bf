"""The settings of the dashboard: options with their defaults, their values, the source of each value, and their file.

The file is TOML in the user's configuration directory. Comments and order are kept. The command line loads this module
at every start, and none of what reads and writes the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.values import quoted, shortened, with_short_words
from tui.saving.targets import FileLines, TargetError

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
        Option("time", "clock", "moments by the clock, or since the start", ("clock", "elapsed")),
        Option(
            "speed", 60.0, "simulated seconds per real second; 0 is as fast as possible; unset: a run takes a minute"
        ),
        Option("cross_quiet", True, "cross stretches in which nothing happens at once"),
        Option("confirm_quit", True, "q asks before it leaves the dashboard"),
        Option("introduction", True, "show the introduction for new users at the next start"),
    )
}


_DIGITS = range(10)  # which are keys too
MOST_TOLD = 10
"""The most values of a file that are told to be wrong."""
_OF_ROWS = ("filter", "cursor", "lens")  # choices in views that hold while one scenario is shown


class Source(Enum):
    """The source of a value."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"
    HERE = "chosen here"


@dataclass(eq=False)
class Settings:
    """Values of options, keys, and choices in views, which hold until the dashboard is left.

    A value from the environment or the command line overrides that of the file in this run, until another is chosen.
    """

    options: dict[str, Value] = field(default_factory=dict)
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
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

    def of(self, view: str) -> dict[str, Any]:
        """Return the choices in a view."""
        return self.views.get(view, {})

    def forget_rows(self) -> None:
        """Forget the choices in all views that are about the rows of one scenario."""
        for values in self.views.values():
            for name in _OF_ROWS:
                values.pop(name, None)


def parse_settings(found: Mapping[str, object]) -> tuple[Settings, list[str]]:
    """Return the settings in a parsed file, and a message for each value that is not valid."""
    from engine.scenario.text import did_you_mean

    settings, problems = Settings(), list[str]()
    for name, value in found.items():
        if name in OPTIONS and OPTIONS[name].takes(value):
            assert isinstance(value, str | int | float)
            settings.options[name] = value
        elif name in OPTIONS:
            problems.append(f"{name} should be {OPTIONS[name].choice}, not {_as_toml(value)}")
        elif name == "keys" and isinstance(value, dict):
            for identity, keys in value.items():
                if isinstance(keys, str) or keys in _DIGITS:
                    settings.keys[identity] = str(keys)
                else:
                    problems.append(f"keys.{shortened(identity)} should be a key in quotes, not {_as_toml(keys)}")
        elif name != "views":  # in which earlier versions kept how a view was left
            near = did_you_mean(name, (*OPTIONS, "keys")) if len(problems) < MOST_TOLD else ""
            problems.append(f"{shortened(name)} is not known{near}")
    return settings, problems


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
_OUTLINE = "# [keys] gives bindings other keys, by id.\n"

_LARGEST = 1 << 20  # bytes


class SettingsFile:
    """Reads and writes the settings file. A file that cannot be read is reported and never overwritten."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` defaults to the file in the user's configuration directory."""
        import platformdirs

        self.path = path or Path(platformdirs.user_config_dir("batchdeck", appauthor=False)) / "settings.toml"
        self._can_write = True
        self._as_read: dict[str, Value] = {}

    def read(self) -> tuple[Settings, list[str]]:
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
        settings, invalid = parse_settings(found)
        self._as_read = dict(settings.options)
        if invalid:
            more = [f"and {len(invalid) - MOST_TOLD:,} more"] if len(invalid) > MOST_TOLD else []
            problems.append("\n".join((f"{self.path}:", *invalid[:MOST_TOLD], *more)))
        return settings, problems

    def write(self, settings: Settings) -> bool:
        """Write the options that have changed since ``read``; return whether any has. Raises OSError, TargetError.

        Other changes of the file stay: another dashboard may have made them.
        """
        wanted, before = settings.options, self._as_read
        names = [name for name in {**before, **wanted} if before.get(name) != wanted.get(name)]
        if not self._can_write or not names:
            return False
        try:
            text = _changed(self._text(), {name: wanted.get(name) for name in names})
        except (ValueError, RecursionError) as error:  # the file has become invalid since it was read
            raise TargetError(self.path, with_short_words(str(error))) from None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLines(self.path) as target:
            target.write(text.splitlines())
            target.keep()
        self._as_read = dict(wanted)
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


def _changed(text: str, changes: Mapping[str, Value | None]) -> str:
    """Return the text with the changed values, without those that are None. Raises ValueError if it is not valid."""
    import tomlkit

    document = tomlkit.parse(text)
    for name, value in changes.items():
        if value is None:
            document.pop(name, None)
        else:
            document[name] = int(value) if isinstance(value, float) and value.is_integer() else value
    return tomlkit.dumps(document)
