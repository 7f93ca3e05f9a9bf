"""An autoscale formula as lines: highlighted, numbered, and with a caret at its error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from engine.autoscale import METRICS, OPTION, TARGETS
from engine.base.lazy import lazy_regex
from tui.viewmodels.text.styled import Line, Role, Span, wrapped

if TYPE_CHECKING:
    from engine.base.errors import Position

_PIECE = lazy_regex(
    r"(?P<comment>//.*)"
    r'|(?P<string>"[^"]*"?)'
    r"|(?P<called>[A-Za-z_]\w*(?=\s*\())"
    r"|(?P<name>\$?[A-Za-z_]\w*)"
    r"|(?P<other>\s+|[0-9.]+|.)",
    re.ASCII,
)
_WORD = lazy_regex(r"\s+|\S+")
_ROLES = {"comment": Role.DIM, "string": Role.OK, "called": Role.DERIVED, "other": Role.PLAIN}
_NUMBER_CELLS = 4


def coloured(text: str) -> Line:
    """Return a line of a formula with comments, strings, calls and the service's names highlighted."""
    return tuple(Span(found[0], _role(found)) for found in _PIECE.finditer(printable(text)))


def _role(found: re.Match[str]) -> Role:
    kind = found.lastgroup or "other"
    if kind == "name":
        name = found[0]
        return Role.KEY if name in METRICS or name in TARGETS or name == OPTION else Role.PLAIN
    return _ROLES[kind]


def printable(text: str) -> str:
    """Return a line with one cell for each character; what cannot be shown becomes a space."""
    return "".join(character if character.isprintable() else " " for character in text)


def around(text: str, position: Position, widest: int) -> tuple[str, int]:
    """Return the part of a line around a column, and the cell of that column in it."""
    lines = text.split("\n")
    line = printable(lines[position.line - 1].rstrip("\r")) if position.line <= len(lines) else ""
    column = position.column - 1
    first = max(0, column - widest // 2) if len(line) > widest else 0
    return line[first : first + widest], cell_len(line[first:column]) + max(0, column - len(line))


def numbered(text: str, cells: int, fault: tuple[Position, str] | None = None) -> list[Line]:
    """Return a formula with line numbers, long lines wrapped, and a caret and message at its error."""
    room = max(8, cells - _NUMBER_CELLS)
    lines: list[Line] = []
    for number, each in enumerate(text.rstrip().split("\n"), 1):
        if fault is not None and fault[0].line == number:
            lines += _faulty(text, number, fault, room)
            continue
        lead = f"{number:>{_NUMBER_CELLS - 1}} "
        for piece in _broken(coloured(each.rstrip()), room):
            lines.append((Span(lead, Role.DIM), *piece))
            lead = " " * _NUMBER_CELLS
    return lines


def _broken(spans: Line, room: int) -> list[Line]:
    """Return a line in pieces of at most ``room`` cells, each as many whole names, numbers and words as fit."""
    pieces: list[list[Span]] = [[]]
    left = room
    for span in spans:
        for word in _WORD.findall(span.text):
            if cell_len(word) > left and left < room:
                pieces.append([])
                left = room
            whole, *parts = chop_cells(word, left) if cell_len(word) > left else [word]
            pieces[-1].append(span._replace(text=whole))
            pieces += [[span._replace(text=part)] for part in parts]
            left = (room if parts else left) - cell_len(parts[-1] if parts else whole)
    return [tuple(piece) for piece in pieces]


def _faulty(text: str, number: int, fault: tuple[Position, str], room: int) -> list[Line]:
    position, reason = fault
    shown, at = around(text, position, room)
    lead = Span(" " * _NUMBER_CELLS)
    lines: list[Line] = [(Span(f"{number:>{_NUMBER_CELLS - 1}} ", Role.FAILED), *coloured(shown))]
    lines.append((lead, Span(" " * at + "^", Role.FAILED)))
    return lines + [(lead, Span(each, Role.FAILED)) for each in wrapped(reason, room)]
