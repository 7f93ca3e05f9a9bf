"""Blocks of properties, and their layout as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.shortening import shortened
from tui.viewmodels.text.styled import Line, Role, Span, beside, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.base.failures import FailureInfo

_MOST_LABEL = 22
_LEAST_COLUMN, _COLUMN_GAP = 36, 3  # cells of blocks beside one another
_LONGEST_VALUE = 2_000  # characters; Y copies the whole value


class Block(NamedTuple):
    """A heading with the label and value of each property."""

    title: str
    rows: tuple[tuple[str, Span], ...]


def row(label: str, value: object, role: Role = Role.PLAIN) -> tuple[str, Span]:
    """Return a property of a block. None and empty text are shown as a dash."""
    return label, Span("–" if value is None or value == "" else str(value), role if value is not None else Role.DIM)


def block_of(title: str, rows: Iterable[tuple[str, Span]]) -> list[Block]:
    """Return a block with these rows; nothing without rows."""
    kept = tuple(rows)
    return [Block(title, kept)] if kept else []


def failure_rows(info: FailureInfo | None) -> list[tuple[str, Span]]:
    """Return the service's category, code, message and details; nothing without a failure."""
    if info is None:
        return []
    said = [row("Category", info.category.value), row("Code", info.code, Role.FAILED), row("Message", info.message)]
    return said + [row(name, value) for name, value in info.details]


def error_blocks(title: str, errors: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]) -> list[Block]:
    """Return code, message and values of each error; nothing if there is none."""
    rows = []
    for code, message, values in errors:
        rows += [row(code, message, Role.FAILED), *(row(f"  {name}", value) for name, value in values)]
    return block_of(title, rows)


def block_lines(blocks: Iterable[Block], cells: int) -> list[Line]:
    """Return the blocks below one another. Long values continue on the next line, very long ones are shortened."""
    lines: list[Line] = []
    for block in blocks:
        if lines:
            lines.append(())
        lines.append(line(Span(block.title, Role.STRONG)))
        longest = max((len(label) for label, _ in block.rows), default=0)
        label_cells = min(longest, _MOST_LABEL, cells * 3 // 5)
        for label, value in block.rows:
            indent = label_cells + 2 if longest else 2
            heading = f"{label} ".ljust(indent)
            texts = wrapped(shortened(value.text, _LONGEST_VALUE), max(8, cells - len(heading)))
            lines.append(line(Span(heading, Role.DIM), value._replace(text=texts[0])))
            lines += [line(" " * indent, value._replace(text=rest)) for rest in texts[1:]]
    return lines


def block_columns(blocks: Sequence[Block], cells: int) -> list[Line]:
    """Return the blocks in as many columns of about the same height as there is room for."""
    number = max(1, min(len(blocks), (cells + _COLUMN_GAP) // (_LEAST_COLUMN + _COLUMN_GAP)))
    width = (cells - _COLUMN_GAP * (number - 1)) // number
    drawn = [[*block_lines([block], width), ()] for block in blocks]
    columns: list[list[Line]] = [[]]
    left = sum(map(len, drawn))
    for lines in drawn:
        rest = number - len(columns)
        if columns[-1] and rest and len(columns[-1]) + len(lines) // 2 > (left + len(columns[-1])) / (rest + 1):
            columns.append([])
        columns[-1] += lines
        left -= len(lines)
    found = columns[-1]
    for column in reversed(columns[:-1]):
        found = beside(column, found, width, _COLUMN_GAP)
    return found
