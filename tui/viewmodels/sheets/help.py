"""The help: keys, and for each view its columns, its states as drawn now, and what is derived."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import NodeState
from tui.viewmodels.text.glyphs import (
    JOB,
    JOB_SCHEDULE,
    NODE,
    POOL_GLYPHS,
    PREPARATION,
    RELEASE,
    TASK_GLYPHS,
    VARIANT_GLYPHS,
)
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
_ALONE: dict[str, Iterable[Glyph]] = {"Study": VARIANT_GLYPHS}  # pages that need no other states
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
_KEY_CELLS = 9
_LEAST_TEXT = 10


class HelpPage(NamedTuple):
    """The help on a view: its title, a text, and the columns of its list."""

    title: str
    text: str
    columns: Sequence[Column] = ()


class KeyEntry(NamedTuple):
    """A line of the help on keys: the keys, what they do, when to use them, and the heading that it stands under."""

    keys: str
    does: str
    when: str = ""
    group: str = ""


def key_lines(here: Sequence[KeyEntry], everywhere: Sequence[KeyEntry], cells: int) -> list[Line]:
    """Return the keys of the focused pane, and those that work everywhere, by group."""
    groups = {"In this pane": list(here)}
    for entry in everywhere:
        groups.setdefault(entry.group, []).append(entry)
    lines: list[Line] = []
    for title, entries in groups.items():
        if not entries:
            continue
        lines += [()] if lines else []
        lines.append(line(Span(title, Role.STRONG)))
        for entry in entries:
            lines += _key_entry(entry, cells)
    return lines


def _key_entry(entry: KeyEntry, cells: int) -> list[Line]:
    """Return what a key does, and dimmed after it when to use it."""
    does = entry.does[:1].upper() + entry.does[1:] + "."
    key_cells = max(_KEY_CELLS, len(entry.keys) + 1)
    room = len(does)  # characters that are not dimmed
    lines: list[Line] = []
    for number, text in enumerate(wrapped(f"{does} {entry.when}".strip(), max(_LEAST_TEXT, cells - key_cells))):
        key = Span(fit(entry.keys if number == 0 else "", key_cells), Role.KEY)
        lines.append(line(key, text[: max(0, room)], Span(text[max(0, room) :], Role.DIM)))
        room -= len(text) + 1
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
    if page.title in _ALONE:
        return [*lines, (), *_states(_ALONE[page.title], glyphs, cells, has_room=False)]
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
