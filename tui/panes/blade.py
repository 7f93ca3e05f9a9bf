"""A blade: counts, the list, details of the row under the cursor, and what the rows have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import Horizontal

from tui.panes.view import View
from tui.viewmodels.text.blocks import block_lines
from tui.viewmodels.text.styled import Line, Span, between, cut
from tui.widgets.lines import LinesView
from tui.widgets.page import PageView
from tui.widgets.redraw import ResizeFilter, set_title
from tui.widgets.table import Table

_BLANK: Line = (Span(" "),)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult

    from tui.viewmodels.lists.rows import RowsModel


class Blade(ResizeFilter, View):
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
        self._table = Table(model)
        self._details = PageView(model.session.glyphs.cursor, classes="details")
        self._detailed: int | None = None  # the row whose details are shown
        self._cursor = self._wanted = ""  # the id of the row under the cursor, and of the one that was when it was left

    def compose(self) -> ComposeResult:
        """Counts above, list and details side by side, the common part below."""
        yield LinesView(classes="summary")
        with Horizontal(classes="body"):
            yield self._table
            yield self._details
        yield LinesView(classes="footing")

    def remembered(self) -> dict[str, Any]:
        """What was chosen here, and where the cursor is."""
        details = {"details": False} if self.has_class("-bare") else {}
        cursor = self._cursor or self._wanted
        return {**self.model.remembered(), **details, **({"cursor": cursor} if cursor else {})}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Be as it was left; the cursor goes to its row when rows are first seen."""
        self.model.recall(values)
        self.set_class(not values.get("details", True), "-bare")
        self._cursor, self._wanted = "", values.get("cursor", "")

    def on_mount(self) -> None:
        """Headings that do not change."""
        self._details.border_title = "Details"

    @property
    def table(self) -> Table:
        """The list."""
        return self._table

    @property
    def has_details(self) -> bool:
        """Whether there is room for the details beside the list."""
        return self._details.display

    def look(self) -> None:
        """Bring every part up to date."""
        self.table.look()
        self._return_to_row()
        summary = self.model.summary()
        lines = self.query_one(".summary", LinesView)
        lines.display = bool(summary)
        lines.show([(*_BLANK, *self._in_set(summary))])
        self._look_at_row()

    def _return_to_row(self) -> None:
        if not self._wanted or not self.model.count:
            return
        at, self._wanted = self.model.place_of(self._wanted), ""
        if at is not None:
            self.table.move_to(at)

    def _look_at_row(self) -> None:
        table = self.table
        shown = f" {self.model.count:,}" if self.model.count else ""
        set_title(table, f"{self.model.title}{shown}")
        key = table.key
        if key is not None and self.model.kind is not None:
            self._cursor = self.model.identity_of(key)
        details = self._details
        if details.display:
            blocks = [] if key is None else self.model.details(key)
            cells = max(10, details.size.width - PageView.MARGIN - 1)
            details.subject = table.subject
            lines = [self._in_set(each) for each in block_lines(blocks, cells)]
            details.show_page(lines, is_new=key != self._detailed)
            self._detailed = key
        footing = self.query_one(".footing", LinesView)
        cells = max(10, footing.size.width)
        is_narrow = not details.display
        lines = [] if is_narrow else [cut((*_BLANK, *each), cells) for each in self.model.footer()]
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
        if self.has_new_size(event):
            self.call_after_refresh(self.look)

    def focus_first(self) -> None:
        """The list has the focus."""
        self.table.focus()
