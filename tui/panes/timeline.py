"""The Timeline view, which shows what each node, task or job did when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tui.panes.view import View
from tui.viewmodels.timeline.timeline import TimelineModel
from tui.widgets.timeline import TimelineGrid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef

HELP = (
    "r chooses the rows: nodes, tasks, jobs, preparation tasks or release tasks. "
    "They belong to the pool and job in focus. "
    "A column is a span of time: + and - change it. Until you zoom or move the cursor, the columns show the whole run. "
    "o and O choose the order: number, first start, busy share or failures.\n"
    "A bar is a task, an attempt, or a phase of a job. "
    "The phases are preparation, tasks and release. Few rows have several lines, one for each slot. "
    "Where bars have no room, a cell shows its longest state. "
    "Failures and starts of preparation are always shown.\n"
    "Right of the recorded events a solid line is planned, a dotted one estimated. "
    "Without an estimate the line does not end.\n"
    "The curves on top show the pool's maximum in each column. "
    "Their numbers are those of the moment under the cursor. Below few nodes stand the jobs.\n"
    "Arrow keys or a click move the cursor. The wheel scrolls; with shift it moves through time. "
    "Enter goes to the moment under the cursor. Pressed again, it opens what was there. "
    "w explains the state of a node at that moment. e draws all rows as a picture (SVG)."
)


class Timeline(View):
    """The pool in focus over time."""

    title = "Timeline"
    help_text = HELP
    hints = (
        ("timeline.closer timeline.farther", "zoom"),
        ("timeline.go", "go there"),
        ("timeline.rows", "rows"),
        ("timeline.sort", "order"),
        ("timeline.failed", "only failed"),
        ("timeline.fit", "now"),
    )

    def __init__(self, session: Session) -> None:
        super().__init__(id="timeline")
        self._model = TimelineModel(session)

    def compose(self) -> ComposeResult:
        yield TimelineGrid(self._model, id="lanes")

    def remembered(self) -> dict[str, Any]:
        return self._model.remembered()

    def recall(self, values: Mapping[str, Any]) -> None:
        self._model.recall(values)

    @property
    def grid(self) -> TimelineGrid:
        """The grid of rows."""
        return self.query_one(TimelineGrid)

    @property
    def moment_ms(self) -> int | None:
        """The moment under the cursor; None where nothing is recorded."""
        return self.grid.moment_ms

    @property
    def asked(self) -> ItemRef | None:
        """The item to explain for the cell under the cursor."""
        return self.grid.asked

    @property
    def asked_as(self) -> str:
        """The view whose rows are like those of the timeline."""
        return self._model.rows.view

    def follow(self) -> None:
        """Have the cursor follow the present moment again."""
        self._model.follow()

    @property
    def is_busy(self) -> bool:
        return self.grid.is_behind

    def update(self) -> None:
        self.grid.update()

    @property
    def first_pane(self) -> TimelineGrid:
        return self.grid
