"""Pins: nodes, jobs and tasks that stay in the Watch view while the focus and the moment change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import NODE, glyph_of_job, glyph_of_task, phase_glyph
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, cut, line

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session

PINNED = ("node", "job", "task")


def toggle_pin(session: Session, item: ItemRef) -> bool:
    """Pin the item, or unpin it. Return whether it is pinned now."""
    if session.pins.pop(item, None) is not None:
        return False
    session.pins[item] = _identity(session, item)
    return True


def drop_unknown_pins(session: Session) -> None:
    """Unpin what no longer exists in this branch. In the past, keep what has not been added yet."""
    if not session.is_past:
        session.pins = {each: name for each, name in session.pins.items() if _identity(session, each) == name}


def pin_lines(session: Session, cells: int) -> list[tuple[int, Line]]:
    """Return one line of at most ``cells`` cells for each pin, with its number."""
    return [(number, cut(_line(session, *pin), cells)) for number, pin in enumerate(session.pins.items())]


def _identity(session: Session, item: ItemRef) -> str:
    """Return the id of an item, with its job's id for a task; empty if there is none.

    A branch numbers its rows anew, so only the id says which item was pinned.
    """
    match item.kind:
        case "node":
            page = session.nodes()
            return page.id_of(int(item.key)) if page.has(int(item.key)) else ""
        case "task":
            tasks = session.tasks(session.job_id)
            return "/".join(tasks.job_and_id(int(item.key))) if tasks.has(int(item.key)) else ""
        case _:
            return str(item.key) if session.job(str(item.key)) is not None else ""


def _line(session: Session, item: ItemRef, identity: str) -> Line:
    if _identity(session, item) != identity:
        name = fmt.short_node(identity) if item.kind == "node" else identity
        return line(Span(session.text(f"  {name} does not exist yet"), Role.DIM))
    match item.kind:
        case "node":
            return _node(session, int(item.key))
        case "task":
            return _task(session, int(item.key))
        case _:
            return _job(session, str(item.key))


def _node(session: Session, node: int) -> Line:
    row = session.nodes().row(node)
    state, phase = NODE[row.state], phase_glyph(row.prep, row.release)
    return line(
        session.glyphs.span(state),
        Span(session.text(f" {fmt.node_name(row.position, row.node_id)}  "), Role.STRONG),
        Span(f"{state.name}  ", state.role),
        Span(f"{row.used_slots}/{row.slots} slots  "),
        Span(phase.name, phase.role),
    )


def _task(session: Session, task: int) -> Line:
    row = session.tasks(session.job_id).row(task)
    glyph = glyph_of_task(row.brief)
    where = "" if row.node is None else f" on n{session.nodes().row(row.node).position}"
    code = "" if row.brief.exit_code is None else f"  exit {row.brief.exit_code}"
    return line(
        session.glyphs.span(glyph),
        Span(f" {row.brief.task_id}  ", Role.STRONG),
        Span(f"{glyph.name}{where}{code}", glyph.role),
        Span(f"  {row.job_id}", Role.DIM),
    )


def _job(session: Session, job_id: str) -> Line:
    job = session.job(job_id)
    assert job is not None
    tasks, glyph = job.phases.tasks, glyph_of_job(job)
    failed = f" {session.glyphs.bad}{tasks.failed:,}" if tasks.failed else ""
    return line(
        session.glyphs.span(glyph),
        Span(f" {job_id}  ", Role.STRONG),
        Span(f"{glyph.name}  ", glyph.role),
        Span(f"tasks {tasks.succeeded + tasks.failed:,}/{tasks.total:,}{failed}"),
    )
