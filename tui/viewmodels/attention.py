"""Needs attention: the failures that are still there, one group for each cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.attention import Concern, concerns_of
from tui.viewmodels.text import Line, Role, Span, line, wrapped

if TYPE_CHECKING:
    from tui.viewmodels.session import Session

_NOUNS = {"preparation": "node", "release": "node", "node": "node", "task": "task", "pool": "pool", "job": "node"}


class AttentionModel:
    """The concerns of the job and pool in focus."""

    def __init__(self, session: Session) -> None:
        """No concerns until ``refresh``."""
        self.session = session
        self.concerns: list[Concern] = []

    def refresh(self) -> None:
        """Look at the simulation again."""
        session = self.session
        preparation, release = session.pages(session.job_id)
        tasks = session.tasks(session.job_id)
        self.concerns = concerns_of(session.simulation, session.pool_id, preparation, release, tasks)

    def lines(self, cells: int) -> list[tuple[int, Line]]:
        """Number of the concern and text in so many cells, with what follows from it."""
        if not self.concerns:
            return [
                (-1, line(Span(f"{self.session.glyphs.good} ", Role.OK), Span("Nothing needs attention.", Role.DIM)))
            ]
        found: list[tuple[int, Line]] = []
        for number, concern in enumerate(self.concerns):
            mark = self.session.glyphs.bad if concern.kind != "node" else "!"
            noun = _NOUNS[concern.kind]
            counted = f"{concern.size:,} {noun}{'' if concern.size == 1 else 's'}: "
            first, *rest = wrapped(counted + concern.text, cells - 2)
            found.append((number, line(Span(f"{mark} {first}", Role.FAILED))))
            found += [(number, line(Span(f"  {each}", Role.FAILED))) for each in rest]
            if concern.effect:
                effect = wrapped(self.session.text(concern.effect), cells - 2)
                found += [(number, line(Span(f"  {each}", Role.DERIVED))) for each in effect]
        return found

    def place(self, number: int) -> tuple[str, int | None]:
        """Where a concern is looked at: the view's name, and the first of its nodes."""
        concern = self.concerns[number]
        view = {"preparation": "preparation", "release": "release", "task": "tasks", "pool": "pools"}.get(
            concern.kind, "nodes"
        )
        return view, concern.nodes[0] if concern.nodes else None
