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
    "Rows are the nodes of the pool in focus, the tasks of the job in focus, the jobs, or that job's preparation or "
    "release tasks node by node (r); a column is a stretch of time (+ and -). o and O choose in which order they "
    "stand: by number, first start, busy share or trouble.\n"
    "A cell shows what filled most of it; a failure and the start of a preparation always show. Right of what is "
    "recorded a solid line goes as far as what runs now is planned to go on, a dotted one as far as is estimated; "
    "without an estimate it does not end.\n"
    "At the bottom stands what the pool had at most in each column: nodes, running tasks, nodes that prepare. Their "
    "numbers are those of the moment under the cursor.\n"
    "Arrows or a click move the cursor; the wheel scrolls, with shift it goes through time. Enter goes to the moment "
    "under the cursor, and once there opens what was there. w says why a node did what it did then, or why it did "
    "nothing. e draws all rows as a picture (SVG)."
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
        """Return the arrangement of the rows."""
        return self._model.remembered()

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the arrangement of the rows."""
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

    def update(self) -> None:
        """Bring the grid up to date."""
        self.grid.update()

    def focus_first(self) -> None:
        """Focus the grid."""
        self.grid.focus()
