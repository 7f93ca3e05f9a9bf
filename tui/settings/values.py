"""What a user has chosen and need not choose again, and where each value comes from."""

from __future__ import annotations

from copy import deepcopy
from enum import Enum
from typing import TYPE_CHECKING

from tui.settings.nearest import nearest
from tui.settings.options import OPTIONS, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

ViewValue = str | float | bool | list[str]

# What is remembered of a view, and of what type it is.
VIEW_VALUES: dict[str, type] = {
    "columns": list,
    "sort": str,
    "descending": bool,
    "filter": str,
    "only_failed": bool,
    "cursor": str,
    "details": bool,
    "lens": str,
    "rows": str,
    "zoom": float,  # seconds in a column
}
_TYPES = {list: "a list of names", str: "a text", bool: "true or false", float: "a number"}


class Source(Enum):
    """Where a value comes from."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"
    HERE = "chosen here"


class Settings:
    """Values of options, how each view is shown, and keys; what is not chosen is not there.

    A value from the environment or the command line holds for this run, ahead of what is remembered, until another
    is chosen.
    """

    def __init__(
        self,
        options: Mapping[str, Value] | None = None,
        views: Mapping[str, Mapping[str, ViewValue]] | None = None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        """As they are remembered."""
        self.options = dict(options or {})
        self.views = {name: dict(values) for name, values in (views or {}).items()}
        self.keys = dict(keys or {})
        self._for_now: dict[str, tuple[Value, Source]] = {}
        self._chosen_here: set[str] = set()

    def value(self, name: str) -> Value:
        """The value of an option as it is now."""
        if name in self._for_now:
            return self._for_now[name][0]
        return self.options.get(name, OPTIONS[name].default)

    def text(self, name: str) -> str:
        """The value of an option that is a text."""
        return str(self.value(name))

    def number(self, name: str) -> float:
        """The value of an option that is a number."""
        return float(self.value(name))

    def source(self, name: str) -> Source:
        """Where the value of an option comes from."""
        if name in self._for_now:
            return self._for_now[name][1]
        if name not in self.options:
            return Source.DEFAULT
        return Source.HERE if name in self._chosen_here else Source.FILE

    def use(self, name: str, value: Value, source: Source) -> None:
        """Take a value for this run."""
        self._for_now[name] = value, source

    def choose(self, name: str, value: Value) -> None:
        """Take a value from now on, and remember it."""
        self._for_now.pop(name, None)
        self.options[name] = value
        self._chosen_here.add(name)

    def forget(self, name: str) -> None:
        """Take the default of an option."""
        self._for_now.pop(name, None)
        self.options.pop(name, None)

    def of(self, view: str) -> dict[str, ViewValue]:
        """What is remembered of a view; what is entered there is remembered."""
        return self.views.setdefault(view, {})

    def as_remembered(self) -> dict[str, object]:
        """All that is to be in the file."""
        views = {name: values for name, values in self.views.items() if values}
        parts = (("views", views), ("keys", self.keys))
        return deepcopy({**self.options, **{name: part for name, part in parts if part}})


def take(found: Mapping[str, object], view_names: tuple[str, ...]) -> tuple[Settings, list[str]]:
    """The settings that a file holds, and in words what of it is not understood."""
    settings, wrong = Settings(), []
    for name, value in found.items():
        if name in OPTIONS and OPTIONS[name].takes(value):
            assert isinstance(value, str | int | float)
            settings.options[name] = value
        elif name in OPTIONS:
            wrong.append(f"{name} should be {OPTIONS[name].choice}, not {_written(value)}")
        elif name == "views" and isinstance(value, dict):
            wrong += _take_views(settings, value, view_names)
        elif name == "keys" and isinstance(value, dict):
            settings.keys = {identity: str(keys) for identity, keys in value.items()}
        else:
            wrong.append(f"{name} is not known{nearest(name, (*OPTIONS, 'views', 'keys'))}")
    return settings, wrong


def _take_views(settings: Settings, found: Mapping[str, object], view_names: tuple[str, ...]) -> list[str]:
    wrong = []
    for name, values in found.items():
        if name not in view_names or not isinstance(values, dict):
            wrong.append(f"views.{name} is no view{nearest(name, view_names)}")
            continue
        for key, value in values.items():
            if key not in VIEW_VALUES:
                wrong.append(f"views.{name}.{key} is not known{nearest(key, VIEW_VALUES)}")
            elif _is_of(VIEW_VALUES[key], value):
                settings.of(name)[key] = value
            else:
                wrong.append(f"views.{name}.{key} should be {_TYPES[VIEW_VALUES[key]]}, not {_written(value)}")
    return wrong


def _is_of(wanted: type, value: object) -> bool:
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, wanted) and (not isinstance(value, list) or all(isinstance(each, str) for each in value))


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
