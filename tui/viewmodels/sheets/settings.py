"""The settings as lines: options, saved views and keys, each with its value and source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from engine.base.lazy import lazy_regex
from tui.settings.options import OPTIONS, Value
from tui.settings.values import Source
from tui.viewmodels.text.styled import Line, Role, Span, fit, line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tui.settings.values import Settings, ViewValue

_PART = lazy_regex(r"(?=; | \()")  # ahead of each further part of a purpose
_WIDE = 90  # cells; narrower lists leave out where a value comes from
_NAME_CELLS, _VALUE_CELLS, _SOURCE_CELLS = 24, 16, 14


class SettingEntry(NamedTuple):
    """A setting: its kind and name, its value with the source of it, and its purpose."""

    kind: Literal["option", "view", "key"]
    name: str
    value: str
    source: str
    said: str


def entries(
    settings: Settings, keys: Iterable[tuple[str, str, str]], speed_now: float | None = None
) -> list[SettingEntry]:
    """Return options, saved views and keys.

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
    for view, values in sorted(settings.views.items()):
        if values:
            said = "; ".join(f"{name} {_value(value)}" for name, value in values.items())
            found.append(SettingEntry("view", view, ", ".join(values), "last used", said))
    for identity, key, does in keys:
        source = Source.FILE if identity in settings.keys else Source.DEFAULT
        found.append(SettingEntry("key", identity, key, source.value, does))
    return found


def _value(value: ViewValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, int | float) else value


_HEADINGS = {"option": "Options", "view": "Views: saved choices", "key": "Keys"}


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
        source = (
            [] if is_narrow else [Span(fit(entry.source, _SOURCE_CELLS) + " ", Role.DIM if is_default else Role.PLAIN)]
        )
        rest = max(0, cells - _NAME_CELLS - _VALUE_CELLS - 2 - (0 if is_narrow else _SOURCE_CELLS + 1))
        spans = [
            Span(fit(entry.name, _NAME_CELLS) + " "),
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
