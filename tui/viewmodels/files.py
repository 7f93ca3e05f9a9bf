"""The files on a node at this moment: the tree, and the text of each file below its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.node_files import files_of
from tui.viewmodels.text import Line, Role, Span, fit, line, wrapped

if TYPE_CHECKING:
    from tui.viewmodels.session import Session

_MOST_LINES = 200  # of one file
_MOST_FILES = 2000


def file_lines(session: Session, node: int, cells: int) -> list[Line]:
    """Every file and directory of a node by its path below the node's root, with sizes and texts."""
    entries = files_of(session.simulation.world, node, session.now_ms)
    if not entries:
        return [line(Span("There are no files: the node has left the pool, or nothing has run on it yet.", Role.DIM))]
    lines: list[Line] = []
    for entry in entries[:_MOST_FILES]:
        if entry.is_directory:
            lines.append(line(Span(fit(f"{entry.path}/", cells), Role.DIM)))
            continue
        size = f"{entry.size:,} B"
        lines.append(line(Span(fit(entry.path, cells - len(size)), Role.STRONG), Span(size, Role.DIM)))
        if entry.text:
            texts = [each for text in entry.text.splitlines() for each in wrapped(_printable(text), cells, "    ")]
            lines += [line(Span(each, Role.DERIVED)) for each in texts[:_MOST_LINES]]
    return lines


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text.expandtabs())
