"""A block of properties."""

from __future__ import annotations

from typing import NamedTuple

from tui.viewmodels.text import Role, Span


class Block(NamedTuple):
    """Details under a heading: label and value of each property."""

    title: str
    rows: tuple[tuple[str, Span], ...]


def row(label: str, value: object, role: Role = Role.PLAIN) -> tuple[str, Span]:
    """A property of a block; None is shown as a dash."""
    return label, Span("–" if value is None or value == "" else str(value), role if value is not None else Role.DIM)
