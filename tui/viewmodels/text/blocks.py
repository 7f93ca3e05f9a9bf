"""Blocks of properties, and their layout as lines."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engine.base.shortening import shortened
from tui.viewmodels.text.styled import Line, Role, Span, beside, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.base.failures import FailureInfo

_MOST_LABEL = 22
_LEAST_COLUMN, _COLUMN_GAP = 36, 3  # cells of blocks beside one another
_MOST_BESIDE = 2  # lines of a value beside its label
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
    """Return the blocks below one another.

    Long values continue on the next line, or stand below their label if that takes fewer lines. Very long ones are
    shortened.
    """
    lines: list[Line] = []
    for block in blocks:
        if lines:
            lines.append(())
        lines.append(line(Span(block.title, Role.STRONG)))
        longest = max((len(label) for label, _ in block.rows), default=0)
        label_cells = min(longest, _MOST_LABEL, cells * 3 // 5)
        indent = label_cells + 2 if longest else 2
        for label, value in block.rows:
            lines += _row_lines(label, value, indent, cells)
    return lines


@lru_cache(maxsize=1024)
def _row_lines(label: str, value: Span, indent: int, cells: int) -> Sequence[Line]:
    """Return the lines of a property; of one block few change from frame to frame."""
    heading = f"{label} ".ljust(indent)
    text = shortened(value.text, _LONGEST_VALUE)
    texts = wrapped(text, max(8, cells - len(heading)))
    if len(texts) > _MOST_BESIDE and len(below := wrapped(text, max(8, cells - 2))) + 1 < len(texts):
        texts, indent = ["", *below], 2
    first = line(Span(heading, Role.DIM), value._replace(text=texts[0]))
    return first, *(line(" " * indent, value._replace(text=rest)) for rest in texts[1:])


def block_columns(blocks: Sequence[Block], cells: int) -> list[Line]:
    """Return the blocks in as many columns of about the same height as there is room for.

    Columns are equally wide unless one of them has longer values: it gets what the others do not need.
    """
    number = max(1, min(len(blocks), (cells + _COLUMN_GAP) // (_LEAST_COLUMN + _COLUMN_GAP)))
    if number == 1:
        return block_lines(blocks, cells)
    equal = (cells - _COLUMN_GAP * (number - 1)) // number
    heights = [len(block_lines([block], equal)) + 1 for block in blocks]
    columns: list[list[Block]] = [[]]
    height, left = 0, sum(heights)
    for block, lines in zip(blocks, heights, strict=True):
        rest = number - len(columns)
        if columns[-1] and rest and height + lines // 2 > (left + height) / (rest + 1):
            columns.append([])
            height = 0
        columns[-1].append(block)
        height, left = height + lines, left - lines
    widths = _shared(cells - _COLUMN_GAP * (len(columns) - 1), [max(map(_natural_width, each)) for each in columns])
    found: list[Line] = []
    for column, width in zip(reversed(columns), reversed(widths), strict=True):
        lines_of_it = block_lines(column, width)
        found = beside(lines_of_it, found, width, _COLUMN_GAP) if found else lines_of_it
    return found


def _natural_width(block: Block) -> int:
    """Return the cells of a block in which no value continues on another line."""
    label_cells = min(max((len(label) for label, _ in block.rows), default=0), _MOST_LABEL)
    return max((max(label_cells, len(label)) + 2 + cell_len(value.text) for label, value in block.rows), default=0)


def _shared(cells: int, needs: Sequence[int]) -> list[int]:
    """Return the width of each column: equal ones, but those that need less leave it to the others."""
    widths = [0] * len(needs)
    by_need = sorted(range(len(needs)), key=needs.__getitem__)
    is_tight = max(needs) > cells // len(needs)
    for number, at in enumerate(by_need):
        share = (cells - sum(widths)) // (len(needs) - number)
        widths[at] = min(needs[at], share) if is_tight and number + 1 < len(needs) else share
    return widths
