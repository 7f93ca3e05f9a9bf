"""The Timeline view: what each node did when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

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
    hints: ClassVar[tuple[tuple[str, str], ...]] = (
        ("timeline.closer timeline.farther", "zoom"),
        ("timeline.go", "go there"),
        ("timeline.rows", "rows"),
        ("timeline.sort", "order"),
        ("timeline.failed", "only failed"),
        ("timeline.fit", "now"),
    )

    def __init__(self, session: Session) -> None:
        """A view of this session."""
        super().__init__(id="timeline")
        self._model = TimelineModel(session)

    def compose(self) -> ComposeResult:
        """One grid."""
        yield TimelineGrid(self._model, id="lanes")

    def remembered(self) -> dict[str, Any]:
        """What was chosen here."""
        return self._model.remembered()

    def recall(self, values: Mapping[str, Any]) -> None:
        """Be as it was left."""
        self._model.recall(values)

    @property
    def grid(self) -> TimelineGrid:
        """Where the rows are."""
        return self.query_one(TimelineGrid)

    @property
    def moment_ms(self) -> int | None:
        """The moment under the cursor; None where nothing is recorded."""
        return self.grid.moment_ms

    @property
    def asked(self) -> ItemRef | None:
        """What is to be explained about the cell under the cursor."""
        return self.grid.asked

    @property
    def asked_as(self) -> str:
        """As a row of which view that is asked."""
        return self._model.rows.view

    def follow(self) -> None:
        """Somebody goes to another moment: the cursor comes along."""
        self._model.follow()

    def look(self) -> None:
        """Bring the grid up to date."""
        self.grid.look()

    def focus_first(self) -> None:
        """The grid has the focus."""
        self.grid.focus()
