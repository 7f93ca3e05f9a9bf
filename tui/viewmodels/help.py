"""The help: the keys of what has the focus, what the view shows, and the table of states as it is drawn now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.glyphs import JOB, NODE, PREPARATION, RELEASE, TASK_GLYPHS
from tui.viewmodels.text import Line, Role, Span, fit, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tui.viewmodels.glyphs import Glyph, GlyphSet

_TABLES: tuple[tuple[str, Iterable[Glyph]], ...] = (
    ("Nodes", NODE.values()),
    ("Preparation tasks", PREPARATION.values()),
    ("Release tasks", RELEASE.values()),
    ("Tasks", TASK_GLYPHS),
    ("Jobs", JOB.values()),
)
_ENTRY_CELLS = 26


def help_lines(
    text: str, here: Sequence[tuple[str, str]], everywhere: Sequence[tuple[str, str]], glyphs: GlyphSet, cells: int
) -> list[Line]:
    """The keys of the focused pane, what is on the screen, the keys that work everywhere, the states."""
    lines = [*_keys("Keys here", here, cells)[1:], ()] if here else []
    lines += [line(each) for each in wrapped(text, cells)]
    lines += _keys("Keys everywhere", everywhere, cells)
    for title, table in _TABLES:
        lines += [(), line(Span(title, Role.STRONG))]
        entries = [(glyphs.span(glyph), Span(" " + fit(glyph.name, _ENTRY_CELLS - 2))) for glyph in table]
        lines += _columns(entries, max(1, cells // _ENTRY_CELLS))
    return lines


def _keys(title: str, pairs: Sequence[tuple[str, str]], cells: int) -> list[Line]:
    if not pairs:
        return []
    wide = 38
    entries = [(Span(fit(key, 12), Role.KEY), Span(fit(does, wide - 13) + " ")) for key, does in pairs]
    return [(), line(Span(title, Role.STRONG)), *_columns(entries, max(1, cells // wide))]


def _columns(entries: Sequence[Line], columns: int) -> list[Line]:
    rows = -(-len(entries) // columns)
    return [tuple(span for entry in entries[at::rows] for span in entry) for at in range(rows)]
