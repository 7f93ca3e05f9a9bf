"""The Timeline view: what each node did when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tui.panes.view import View
from tui.viewmodels.timeline import TimelineModel
from tui.widgets.timeline import TimelineGrid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from tui.viewmodels.session import Session

HELP = (
    "Rows are the nodes of the pool in focus, its tasks or the jobs (r); a column is a stretch of time (+ and -).\n"
    "A cell shows what filled most of it; a failure and the start of a preparation always show. Right of what is "
    "recorded a line shows how long that which runs now is planned to go on.\n"
    "Arrows move the cursor, enter goes to its moment, w says why the node did what it did then."
)


class Timeline(View):
    """The pool in focus over time."""

    title = "Timeline"
    help_text = HELP
    hints: ClassVar[tuple[tuple[str, str], ...]] = (
        ("timeline.closer timeline.farther", "zoom"),
        ("timeline.go", "go there"),
        ("timeline.rows", "rows"),
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
    def moment_ms(self) -> int | None:
        """The moment under the cursor; None where nothing is recorded."""
        return self.query_one(TimelineGrid).moment_ms

    def look(self) -> None:
        """Bring the grid up to date."""
        self.query_one(TimelineGrid).look()

    def focus_first(self) -> None:
        """The grid has the focus."""
        self.query_one(TimelineGrid).focus()
