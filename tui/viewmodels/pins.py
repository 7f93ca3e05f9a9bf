"""Pins: nodes, jobs and tasks that stay in the Watch view, whatever is in focus and whatever moment is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import format as fmt
from tui.viewmodels.blocks.job import glyph_of
from tui.viewmodels.glyphs import NODE, phase_glyph, task_glyph
from tui.viewmodels.subject import Subject
from tui.viewmodels.text import Line, Role, Span, cut, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session import Session

PINNED = ("node", "job", "task")


class Pins:
    """What is pinned, in the order in which that was done."""

    def __init__(self, session: Session) -> None:
        """Nothing is pinned yet."""
        self._session = session
        self._identities: dict[Subject, str] = {}  # rows are numbered anew in a branch: the id tells what was meant

    @property
    def subjects(self) -> Sequence[Subject]:
        """What is pinned."""
        return list(self._identities)

    def turn(self, subject: Subject) -> bool:
        """Pin it, or unpin it; returns whether it is pinned now."""
        if self._identities.pop(subject, None) is not None:
            return False
        self._identities[subject] = self._identity(subject)
        return True

    def refresh(self) -> None:
        """Drop what is not known any more; in the past it is only not there yet."""
        if not self._session.is_past:
            self._identities = {each: name for each, name in self._identities.items() if self._is_known(each)}

    def _is_known(self, subject: Subject) -> bool:
        return self._identity(subject) == self._identities[subject]

    def _identity(self, subject: Subject) -> str:
        """The id of what is pinned, that of its job included; empty where there is nothing of this row or id."""
        session, key = self._session, subject.key
        match subject.kind:
            case "node":
                page = session.nodes()
                return page.id_of(int(key)) if page.has(int(key)) else ""
            case "task":
                tasks = session.tasks(session.job_id)
                return "/".join(tasks.job_and_id(int(key))) if tasks.has(int(key)) else ""
            case _:
                return str(key) if session.job(str(key)) is not None else ""

    def lines(self, cells: int) -> list[tuple[int, Line]]:
        """Each in one line of so many cells, with its number."""
        drawn = (self._line(each) if self._is_known(each) else self._missing(each) for each in self._identities)
        return [(number, cut(each, cells)) for number, each in enumerate(drawn)]

    def _missing(self, subject: Subject) -> Line:
        name = self._identities[subject]
        name = fmt.short_node(name) if subject.kind == "node" else name
        return line(Span(self._session.text(f"  {name} is not there yet"), Role.DIM))

    def _line(self, subject: Subject) -> Line:
        match subject.kind:
            case "node":
                return self._node(int(subject.key))
            case "task":
                return self._task(int(subject.key))
            case _:
                return self._job(str(subject.key))

    def _node(self, node: int) -> Line:
        row, glyphs = self._session.nodes().row(node), self._session.glyphs
        state, phase = NODE[row.state], phase_glyph(row.prep, row.release)
        return line(
            glyphs.span(state),
            Span(self._session.text(f" {fmt.node_name(row.position, row.node_id)}  "), Role.STRONG),
            Span(f"{state.name}  ", state.role),
            Span(f"{row.used_slots}/{row.slots} slots  "),
            Span(phase.name, phase.role),
        )

    def _task(self, task: int) -> Line:
        row = self._session.tasks(self._session.job_id).row(task)
        glyph = task_glyph(
            row.state, row.result, is_blocked=row.is_blocked, awaits_retry=row.awaits_retry, was_ended=False
        )
        where = "" if row.node is None else f" on n{self._session.nodes().row(row.node).position}"
        code = "" if row.exit_code is None else f"  exit {row.exit_code}"
        return line(
            self._session.glyphs.span(glyph),
            Span(f" {row.task_id}  ", Role.STRONG),
            Span(f"{glyph.name}{where}{code}", glyph.role),
            Span(f"  {row.job_id}", Role.DIM),
        )

    def _job(self, job_id: str) -> Line:
        job = self._session.job(job_id)
        assert job is not None
        tasks, glyph = job.phases.tasks, glyph_of(job)
        failed = f" {self._session.glyphs.bad}{tasks.failed:,}" if tasks.failed else ""
        return line(
            self._session.glyphs.span(glyph),
            Span(f" {job_id}  ", Role.STRONG),
            Span(f"{glyph.name}  ", glyph.role),
            Span(f"tasks {tasks.succeeded + tasks.failed:,}/{tasks.total:,}{failed}"),
        )
