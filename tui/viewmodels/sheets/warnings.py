"""The warnings about a scenario, as the dashboard shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span, line, wrapped

if TYPE_CHECKING:
    from engine import Scenario

_INDENT = "  "


def warning_note(scenario: Scenario) -> str | None:
    """Return the sentence that says how many warnings there are; None without any."""
    count = len(scenario.warnings)
    return f"The scenario has {fmt.counted(count, 'warning')}; :warnings lists them." if count else None


def warning_lines(scenario: Scenario, cells: int) -> list[Line]:
    """Return the warnings in the order of the file, each below its place."""
    if not scenario.warnings:
        return [line(Span("The scenario has no warnings.", Role.DIM))]
    lines: list[Line] = []
    for warning in scenario.warnings:
        place = f"line {warning.line}, column {warning.column}  {warning.path}"
        lines += [line(Span(each, Role.DIM)) for each in wrapped(place, cells)]
        lines += [line(_INDENT + each) for each in wrapped(warning.message, cells - len(_INDENT))]
    return lines
