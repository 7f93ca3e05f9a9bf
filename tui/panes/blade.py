"""A blade: counts, the list, details of the row under the cursor, and what the rows have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Container, Horizontal

from tui.viewmodels.details import block_lines
from tui.viewmodels.text import Line, Span, between, cut
from tui.widgets.lines import LinesView
from tui.widgets.resized import Resized
from tui.widgets.table import Table
from tui.widgets.title import entitle

_BLANK: Line = (Span(" "),)

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui.viewmodels.lists import RowsModel


class Blade(Resized, Container):
    """One of the lists, full screen."""

    hints: ClassVar[tuple[tuple[str, str], ...]] = (
        ("table.open", "open"),
        ("list.filter", "filter"),
        ("table.sort", "sort"),
        ("table.failed", "only failed"),
    )

    def __init__(self, model: RowsModel, *, id: str) -> None:  # noqa: A002  # Textual's own name
        """The blade of a list."""
        super().__init__(id=id, classes="blade")
        self.model = model
        self.title = model.title
        self.help_text = model.help_text

    def compose(self) -> ComposeResult:
        """Counts above, list and details side by side, the common part below."""
        yield LinesView(classes="summary")
        with Horizontal(classes="body"):
            yield Table(self.model)
            yield LinesView(classes="details panel")
        yield LinesView(classes="footing")

    def on_mount(self) -> None:
        """Headings that do not change."""
        self.query_one(".details").border_title = "Details"

    @property
    def table(self) -> Table:
        """The list."""
        return self.query_one(Table)

    def look(self) -> None:
        """Bring every part up to date."""
        self.table.look()
        summary = self.model.summary()
        lines = self.query_one(".summary", LinesView)
        lines.display = bool(summary)
        lines.show([(*_BLANK, *self._in_set(summary))])
        self._look_at_row()

    def _look_at_row(self) -> None:
        table = self.table
        shown = f" {self.model.count:,}" if self.model.count else ""
        entitle(table, f"{self.model.title}{shown}")
        key = table.key
        details = self.query_one(".details", LinesView)
        if details.display:
            blocks = [] if key is None else self.model.details(key)
            details.show([self._in_set(each) for each in block_lines(blocks, max(10, details.size.width - 1))])
        footing = self.query_one(".footing", LinesView)
        cells = max(10, footing.size.width)
        is_narrow = not details.display
        lines: list[Line] = [] if is_narrow else [cut((*_BLANK, *each), cells) for each in self.model.footer()]
        sentence = () if key is None or not is_narrow else self.model.sentence(key)
        lines.append(
            between((*_BLANK, *sentence), self.model.arrangement() if not is_narrow or not sentence else (), cells)
        )
        footing.styles.height = len(lines)
        footing.show([self._in_set(each) for each in lines])

    def _in_set(self, spans: Line) -> Line:
        return tuple(span._replace(text=self.model.session.text(span.text)) for span in spans)

    def on_table_moved(self) -> None:
        """Another row is under the cursor."""
        self._look_at_row()

    def on_resize(self, event: events.Resize) -> None:
        """Details may have come or gone."""
        if self.has_other_size(event):
            self.call_after_refresh(self.look)

    def focus_first(self) -> None:
        """The list has the focus."""
        self.table.focus()
