"""Needs attention: the failures that persist, grouped by cause, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.attention import Concern, concerns_of
from tui.viewmodels.sheets.warnings import warning_note
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session.session import Session

_VIEWS = {
    "preparation": "preparation",
    "release": "release",
    "task": "tasks",
    "pool": "pools",
    "job schedule": "schedules",
}
_MOST_NAMED = 3


class AttentionModel:
    """The concerns of the job and pool in focus."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.concerns: list[Concern] = []

    def update(self) -> None:
        """Read the simulation again."""
        session = self.session
        preparation, release = session.pages(session.job_id)
        tasks = session.tasks(session.job_id)
        self.concerns = concerns_of(session.simulation, session.pool_id, preparation, release, tasks)

    def lines(self, cells: int) -> list[tuple[int, Line]]:
        """Return number and text of each concern, with its effect."""
        text = self.session.text
        note = warning_note(self.session.simulation.scenario)
        warned = [(-1, line(Span(each, Role.DIM))) for each in wrapped(note, cells)] if note is not None else []
        if not self.concerns:
            good = Span(f"{self.session.glyphs.good} ", Role.OK)
            return [(-1, line(good, Span("Nothing needs attention.", Role.DIM))), *warned]
        found: list[tuple[int, Line]] = []
        for number, concern in enumerate(self.concerns):
            sign = self.session.glyphs.bad if concern.kind != "node" else "!"
            first, *rest = wrapped(text(self.text_of(concern)), cells - 2)
            found.append((number, line(Span(f"{sign} {first}", Role.FAILED))))
            found += [(number, line(Span(f"  {each}", Role.FAILED))) for each in rest]
            if concern.effect:
                effect = wrapped(text(concern.effect), cells - 2)
                found += [(number, line(Span(f"  {each}", Role.DERIVED))) for each in effect]
        return [*found, *warned]

    def text_of(self, concern: Concern) -> str:
        """Return number of items, cause, and the names of a few nodes."""
        said = concern.text
        if concern.nodes:
            said = f"{fmt.counted(concern.size, 'node')}: {said}"
        elif concern.tasks:
            said = f"{fmt.counted(concern.size, 'task')}: {said}"
        if concern.kind == "node":
            said = f"{said} since {self.session.clock(concern.since_ms)}"
        if 0 < len(concern.nodes) <= _MOST_NAMED:
            preparation, _ = self.session.pages(self.session.job_id)
            said += "  " + " ".join(f"n{preparation.position_of(node)}" for node in concern.nodes)
        return said

    def subjects(self, number: int) -> Sequence[ItemRef]:
        """Return all items of a concern, for an action on the group."""
        if not 0 <= number < len(self.concerns):
            return ()
        concern = self.concerns[number]
        if concern.nodes:
            return [ItemRef("node", node) for node in concern.nodes]
        if concern.tasks:
            return [ItemRef("task", task) for task in concern.tasks]
        if concern.schedule_id:
            return [ItemRef("job schedule", concern.schedule_id)]
        return [ItemRef("pool", concern.pool_id) if concern.kind == "pool" else ItemRef("job", self.session.job_id)]

    def destination(self, number: int) -> tuple[str, int | None]:
        """Return the view of a concern, and the first of its nodes or tasks."""
        concern = self.concerns[number]
        view = "nodes" if concern.nodes else "jobs"
        return _VIEWS.get(concern.kind, view), next(iter(concern.nodes or concern.tasks), None)
