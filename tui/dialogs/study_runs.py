"""The dialog with the runs of a variant, one of which is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from tui.dialogs.modal import Frame, Modal
from tui.viewmodels.study.runs import RunsModel
from tui.viewmodels.text.styled import Role, Span, line, wrapped
from tui.widgets.lines import LinesView
from tui.widgets.table import Table

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.study.model import StudyModel

_AROUND = 8  # lines: the frames, the head, and two lines of the screen below
_MOST_VALUES = 4


class VariantRuns(Modal[int | None]):
    """Returns the seed of the run that was chosen, or None. The cursor begins on the median one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "close", id="runs.close")]

    def __init__(self, session: Session, study: StudyModel, variant: int) -> None:
        super().__init__()
        self._session = session
        self._study = study
        self._variant = variant
        self._model = RunsModel(session, study, variant)

    def compose(self) -> ComposeResult:
        keys = "enter opens the run  o sorts  home best  end worst  esc close"
        with Frame(f"Runs of variant {self._variant:,}", keys, id="runs"):
            yield LinesView(id="run-values")
            with Horizontal(classes="body"):
                yield Table(self._model)

    def on_mount(self) -> None:
        self.query_one(Table).focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        table = self.query_one(Table)
        table.update()
        self._fit()
        median = self._study.median_seed(self._variant)
        if median is not None:
            table.move_to_key(median)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Say the values of the variant, and make the dialog as high as its runs."""
        view = self.query_one("#run-values", LinesView)
        values = self._session.text(self._study.names.line_of(self._study.tally.variant(self._variant)))
        texts = wrapped(values, max(20, view.size.width - 2)) if values else []
        view.show([line(Span(f" {each}", Role.DIM)) for each in texts[:_MOST_VALUES]])
        view.styles.height = len(texts[:_MOST_VALUES])
        lines = self._model.count + len(texts) + _AROUND
        self.query_one("#runs").styles.height = min(lines, self.size.height)

    def on_table_arranged(self, message: Table.Arranged) -> None:
        """Show the runs in their new order."""
        message.stop()
        self.query_one(Table).update()

    def on_table_moved(self, message: Table.Moved) -> None:
        """Stay: nothing else depends on the cursor."""
        message.stop()

    def on_table_opened(self, message: Table.Opened) -> None:
        """Return the seed under the cursor."""
        message.stop()
        self.dismiss(message.key)
