"""The help: keys, and for each view its columns, its states as drawn now, and what is derived."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import NodeState
from tui.viewmodels.text.glyphs import JOB, JOB_SCHEDULE, NODE, POOL_GLYPHS, PREPARATION, RELEASE, TASK_GLYPHS
from tui.viewmodels.text.styled import Line, Role, Span, fit, labelled, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tui.viewmodels.lists.columns import Column
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_TABLES: dict[str, Iterable[Glyph]] = {
    "Nodes": NODE.values(),
    "Preparation tasks": PREPARATION.values(),
    "Release tasks": RELEASE.values(),
    "Tasks": TASK_GLYPHS,
    "Jobs": JOB.values(),
    "Pools": POOL_GLYPHS,
    "Job schedules": JOB_SCHEDULE.values(),
}
_FIRST = {"Watch": ("Preparation tasks", "Release tasks", "Nodes"), "Timeline": ("Nodes", "Preparation tasks", "Tasks")}
_REMARKS = {
    NODE[state]: remark
    for state, remark in {
        NodeState.CREATING: "the VM is being allocated",
        NodeState.WAITING_FOR_START_TASK: "no tasks until the start task succeeds",
        NodeState.START_TASK_FAILED: "reboot, reimage, or fix the start task",
        NodeState.RUNNING: "in the slots lens a digit counts used slots",
        NodeState.REIMAGING: "makes the node eligible again",
        NodeState.OFFLINE: "scheduling is disabled and nothing runs",
        NodeState.PREEMPTED: "Spot nodes only",
        NodeState.UNKNOWN: "contact is lost",
    }.items()
}
_ENTRY_CELLS = 26
_KEY_CELLS = 12


class HelpPage(NamedTuple):
    """The help on a view: its title, a text, and the columns of its list."""

    title: str
    text: str
    columns: Sequence[Column] = ()


def key_lines(here: Sequence[tuple[str, str]], everywhere: Sequence[tuple[str, str]], cells: int) -> list[Line]:
    """Return the keys of the focused pane, and those that work everywhere."""
    lines: list[Line] = []
    for title, pairs in (("Keys here", here), ("Keys everywhere", everywhere)):
        if pairs:
            lines += [(), line(Span(title, Role.STRONG))] if lines else [line(Span(title, Role.STRONG))]
        for key, does in pairs:
            lines += labelled(Span(key, Role.KEY), _KEY_CELLS, does, cells)
    return lines


def page_lines(page: HelpPage, glyphs: GlyphSet, cells: int) -> list[Line]:
    """Return the help on a view: text, columns, its own states, then all other states."""
    lines = [line(glyphs.text(each)) for each in wrapped(page.text, cells)]
    if any(column.name for column in page.columns):
        heading = line(Span("Columns", Role.STRONG), Span("   in italics: derived by batchdeck", Role.DIM))
        lines += [(), heading]
        name_cells = max(len(column.name) for column in page.columns) + 2
        for column in filter(lambda column: column.name, page.columns):
            name = Span(column.name, Role.DERIVED if column.is_derived else Role.PLAIN)
            lines += labelled(name, name_cells, glyphs.text(column.help_text), cells)
    first = _FIRST.get(page.title, (page.title,))
    for title in sorted(_TABLES, key=lambda each: first.index(each) if each in first else len(first)):
        lines += [(), line(Span(title, Role.STRONG)), *_states(_TABLES[title], glyphs, cells, has_room=title in first)]
    return lines


def _states(table: Iterable[Glyph], glyphs: GlyphSet, cells: int, *, has_room: bool) -> list[Line]:
    """Return each state with its glyph. With ``has_room`` each is on a line of its own, with its remark."""
    entries = [(glyphs.span(glyph), Span(" " + fit(glyph.name, _ENTRY_CELLS - 2))) for glyph in table]
    if has_room and any(glyph in _REMARKS for glyph in table):
        rest = cells - _ENTRY_CELLS
        return [
            (*entry, Span(fit(_REMARKS.get(glyph, ""), rest), Role.DIM))
            for entry, glyph in zip(entries, table, strict=True)
        ]
    columns = max(1, cells // _ENTRY_CELLS)
    rows = -(-len(entries) // columns)
    return [tuple(span for entry in entries[at::rows] for span in entry) for at in range(rows)]
