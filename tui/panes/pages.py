"""The list page and the detail page.

A list page has counts, the list, details of the row under the cursor, and the properties that all rows share. The
detail page of a node, pool, job or task has tabs, a summary, and one of its pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from textual.containers import Horizontal

from engine.views.log.reader import Kept
from tui.textual import views
from tui.textual.overrides import set_title
from tui.textual.screens import View
from tui.textual.views import LinesView, ResizeFilter, entitle
from tui.viewmodels.detail_model import tab_bar
from tui.viewmodels.detail_pages import detail_model_of
from tui.viewmodels.items import VIEW_OF
from tui.viewmodels.sheets import states_of
from tui.viewmodels.text import ItemRef, Line, Role, Span, between, block_columns, clip, cut, link_at, width, wrapped
from tui.widgets.charts import Curves
from tui.widgets.table import Table
from tui.widgets.texts import PageView

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from textual import events
    from textual.widget import Widget

    from tui.viewmodels.detail_model import DetailModel
    from tui.viewmodels.glyphs import Glyph
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session import Session


_BLANK: Line = (Span(" "),)
_GAP = "   "
_MOST_LINES = 3  # of a sentence below the list
_DETAILS_CELLS, _FRAME_AND_SCROLLBAR = 42, 3
_FRAME, _LEAST_ROWS, _FRAME_AND_HEAD, _LEAST_DETAILS, _LEAST_CURVES = 2, 3, 3, 7, 8  # lines
_WITH_CURVES = ("pool", "node", "job", "task")
_TITLE_ENDS = 6  # cells of the frame around a title
_FEW_SHARE = 0.4  # of the height that few rows take at most where details have room beside them


class ListPage(ResizeFilter, View):
    """One of the lists as a view."""

    hints = (("table.open", "open"),)

    def __init__(self, model: RowsModel, *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes="list-page")
        self.model = model
        self.columns = model.columns
        self.table = Table(model, on_moved=self.show_row)
        self.table.follows = bool(model.only_order)  # a list in the order of time begins at the present
        self._details = PageView(model.session.glyphs.cursor, classes="details")
        self._summary, self._footing = LinesView(classes="summary"), LinesView(classes="footing")
        self._body = Horizontal(classes="body")
        self._curves = Curves(model.session, id=f"{id}-curves")
        self._detailed: int | None = None  # the row whose details are shown
        self._details_page: Kept[list[Line]] = Kept()
        self._footer: Kept[list[Line]] = Kept()  # what applies to all rows
        self._details_cells = _DETAILS_CELLS - _FRAME_AND_SCROLLBAR
        self._room_below = 0  # lines that few rows leave
        self._sizes: dict[
            tuple[Widget, str], int | None
        ] = {}  # what was set last: setting it again would lay out the screen
        self._cursor_id = self._recalled_id = ""  # of the row under the cursor, now and when the list was left

    @property
    def title(self) -> str:
        return self.model.title

    @property
    def help_text(self) -> str:
        return self.model.help_text

    @property
    def symbols(self) -> Iterable[Glyph]:
        glyphs, top = self.model.session.glyphs, self.table.top_line
        places = range(top, min(top + self.table.visible_lines, self.model.count))
        seen = {span.text for place in places for span in self.model.cells(self.model.key(place))}
        return (glyph for glyph in states_of(self.title) if glyphs.of(glyph) in seen)

    @property
    def _keys(self) -> Sequence[tuple[str, str]]:
        """The keys that the list has, without that for its order if it stands in one only."""
        sort = () if self.model.only_order else (("table.sort", "sort"),)
        return ("list.filter", "filter"), *sort, ("table.failed", "only failed")

    def fill(self) -> None:
        self.mount(self._summary, self._body, self._footing)
        self._body.mount(self.table, self._details, self._curves)

    def remembered(self) -> dict[str, Any]:
        return {**self.model.remembered(), "cursor": self._cursor_id or self._recalled_id}

    def recall(self, values: Mapping[str, Any]) -> None:
        self.model.recall(values)
        self._cursor_id, self._recalled_id = "", values.get("cursor", "")

    def clear_filter(self) -> bool:
        return self.model.clear_filter()

    def on_mount(self) -> None:
        self._details.border_title = "Details"

    @property
    def is_busy(self) -> bool:
        return self.model.is_sorting

    @property
    def has_details(self) -> bool:
        """True if the details have room beside the list."""
        return self._details.display

    def update(self) -> None:
        self.table.update()
        self._return_to_row()
        self._update_summary()
        self._update_row()

    def _update_summary(self) -> None:
        """Show the counts of the list, if it has any."""
        counts = self.model.summary(self.size.width - width(_BLANK))
        self._summary.display = bool(counts)
        self._summary.show([(*_BLANK, *counts)])

    def _return_to_row(self) -> None:
        if not self._recalled_id or not self.model.count:
            return
        at, self._recalled_id = self.model.place_of(self._recalled_id), ""
        if at is not None:
            self.table.move_to(at)

    def go_to(self, key: int) -> None:
        """Move the cursor to a row that the user asks for, rather than to the one where it was left."""
        self._recalled_id = ""
        self.table.go_to(key)

    def _divide(self, footing: int) -> None:
        """Divide the room: few rows have their details below them; else the details take what the list leaves.

        ``footing`` is the number of lines that stand below them where there are details.
        """
        body, count = self._body.size, self.model.count
        # Counted together, as one takes what the other leaves: what is decided here must not change what it rests on.
        room = body.height + self._footing.size.height - footing
        lines = max(count, _LEAST_ROWS) + _FRAME_AND_HEAD
        is_narrow = self.screen.has_class("-narrow") or self.screen.has_class("-tiny")
        has_room = (is_narrow or lines <= room * _FEW_SHARE) and room - lines >= _LEAST_DETAILS
        is_few = count > 0 and has_room
        self.set_class(is_few, "-few")
        self.set_class(not count, "-empty")
        natural_width = self.table.natural_width
        left = body.width - natural_width
        wide = max(_DETAILS_CELLS, min(left, body.width // 2)) if natural_width else _DETAILS_CELLS
        self._details_cells = (body.width if is_few else wide) - _FRAME_AND_SCROLLBAR
        self._room_below = room - lines if is_few else 0
        self._set_size(self.table, "height", lines if is_few else None)
        self._set_size(self._details, "width", None if is_few or wide == _DETAILS_CELLS else wide)

    def _set_size(self, widget: Widget, side: Literal["width", "height"], cells: int | None) -> None:
        if self._sizes.get((widget, side)) != cells:
            self._sizes[widget, side] = cells
            setattr(widget.styles, side, cells)

    def _share_with_curves(self, lines: int) -> None:
        """Show the curves of the pool and the job in focus in the room that details of so many lines leave."""
        has_curves = self.model.kind in _WITH_CURVES and self._room_below - lines >= _LEAST_CURVES
        if has_curves and not self.has_class("-curves"):
            self.call_after_refresh(self._curves.update)  # which has no size before
        self.set_class(has_curves, "-curves")
        self._set_size(self._details, "height", lines if has_curves else None)
        if has_curves:
            self._curves.update()

    def _update_row(self) -> None:
        table = self.table
        with_details = self._said_below(has_details=True)
        self._divide(len(with_details))
        shown = f" {self.model.count:,}" if self.model.count or self.model.hidden else ""
        if self.model.hidden:
            shown += f" of {self.model.count + self.model.hidden:,}"
        shown += ", only failed" if self.model.only_failed else ""
        if self.model.filter_text and table.key is not None and not self._details.display:  # not said below the list
            shown += f", filter {self.model.filter_text}"
        hidden = table.hidden_columns if self.model.count else 0
        columns = "column" if hidden == 1 else "columns"
        title = clip(f"{self.model.title}{shown}", max(0, table.outer_size.width - _TITLE_ENDS))
        entitle(table, title, self._keys, f"{hidden} more {columns}, C" if hidden else "")
        key = table.key
        if key is not None and self.model.kind is not None:
            self._cursor_id = "" if table.chosen_key is None or table.follows else self.model.identity_of(key)
        details = self._details
        if details.display:
            blocks = [] if key is None else self.model.details(key)
            cells = max(10, self._details_cells - PageView.MARGIN - 1)
            details.subject = table.subject
            page = self._details_page.get((blocks, cells), lambda: block_columns(blocks, cells))
            self._share_with_curves(len(page) + _FRAME)
            details.show_page(page, is_new=key != self._detailed)
            self._detailed = key
        lines = with_details if details.display else self._said_below(has_details=False)
        self._footing.styles.height = len(lines)
        self._footing.show(lines)

    def _said_below(self, *, has_details: bool) -> list[Line]:
        """Return what stands below the list: without details a sentence about the row under the cursor."""
        cells = max(10, self.size.width)
        footer = self.model.footer() if has_details else ()

        def below() -> list[Line]:
            return [cut((*_BLANK, *part), cells) for each in footer for part in _in_lines(each, cells - 1)]

        lines = self._footer.get((footer, cells), below)
        key = self.table.key
        sentence = () if key is None or has_details else self.model.sentence(key)
        if len(sentence) == 1 and width(sentence) >= cells:  # the end of a text is worth more lines
            texts = wrapped(sentence[0].text, cells - 1)
            kept = [*texts[: _MOST_LINES - 1], " ".join(texts[_MOST_LINES - 1 :])]
            return lines + [cut((*_BLANK, sentence[0]._replace(text=each)), cells) for each in kept if each]
        arrangement = self.model.arrangement() if has_details or not sentence else ()
        return [*lines, between((*_BLANK, *sentence), arrangement, cells)]

    def show_row(self) -> None:
        """Show the details of the row under the cursor, and what the list leaves out at its size.

        Where the cursor chooses the focus, the screen updates all that is shown, this page too.
        """
        if self.model.key_in_focus() is None:
            self._update_summary()
            self._update_row()

    def resized(self) -> None:
        self.call_after_refresh(self.update)

    @property
    def first_pane(self) -> Table:
        return self.table


def _in_lines(spans: Line, cells: int) -> list[Line]:
    """Return labels, which are dim, and their values in as few lines as have room for them."""
    parts: list[list[Span]] = []
    for span in spans:
        if parts and parts[-1][-1].role is Role.DIM:
            parts[-1].append(span)
        else:
            parts.append([span])
    lines: list[list[Span]] = []
    for part in parts:
        if lines and width(lines[-1]) + len("".join(span.text for span in part).rstrip()) <= cells:
            lines[-1] += part
        else:
            lines.append(part)
    return [tuple(each) for each in lines]


class _Tabs(LinesView):
    def __init__(self) -> None:
        super().__init__(id="detail-tabs")
        self._present = 0

    def show_tabs(self, titles: tuple[str, ...], present: int) -> None:
        self._present = present
        self.show([tab_bar(titles, present, self.size.width)])

    def on_click(self, event: events.Click) -> None:
        number = link_at(self.lines[0], event.x)
        if isinstance(number, str):
            self.post_message(PageView.Turned(int(number) - self._present))


class DetailPage(ResizeFilter, View):
    """A node, pool, job or task as a view, with its own tabs."""

    hints = (("page.before page.next", "tabs"), ("page.open", "open"), ("go.out", "back"))

    def __init__(self, session: Session) -> None:
        """The page is empty until ``open``."""
        super().__init__(id="detail")
        self._session = session
        self.model: DetailModel | None = None
        self._is_new = True
        self.page = 0
        self._tabs, self._head = _Tabs(), LinesView(id="detail-head")
        self._text = PageView(session.glyphs.cursor, id="detail-page")

    def fill(self) -> None:
        self.mount(self._tabs, self._head, self._text)

    def open(self, subject: ItemRef, page: int = 0) -> None:
        """Show this item from now on, at one of its pages."""
        if self.model is None or self.model.subject != subject:
            self.model = detail_model_of(self._session, subject)
        self.is_stale = True
        self._turn_to(page)

    def _turn_to(self, page: int) -> None:
        self.page, self._is_new = page, True

    @property
    def subject(self) -> ItemRef | None:
        """The item that is shown."""
        return None if self.model is None else self.model.subject

    @property
    def asked(self) -> ItemRef | None:
        """The item to explain: on some tabs that of the link at the cursor."""
        model, target = self.model, self._text.link
        if model is None or model.tabs[self.page] not in model.EXPLAINED or not isinstance(target, ItemRef):
            return self.subject
        return target

    @property
    def title(self) -> str:
        return "" if self.model is None else self.model.title

    @property
    def help_text(self) -> str:
        return "" if self.model is None else self.model.help_text

    @property
    def tab(self) -> str:
        return "" if self.model is None else VIEW_OF.get(self.model.kind, self.model.kind)

    def update(self) -> None:
        model = self.model
        if model is None:
            return
        tabs, head, page = self._tabs, self._head, self._text
        tabs.show_tabs(model.tabs, self.page)
        lines = model.head(head.size.width - 2)
        head.styles.height = len(lines)
        head.show([(Span(" "), *each) for each in lines])
        set_title(page, f"{model.title}: {model.tabs[self.page]}")
        page.subject = model.subject if model.exists else None
        cells = max(20, page.size.width - PageView.MARGIN - 1)
        model.rows, model.has_grounds = max(1, page.size.height), views.has_grounds(self.app.theme)
        shown = [cut(each, cells) for each in model.lines(self.page, cells)]
        page.show_page(shown, is_new=self._is_new)
        self._is_new = not page.size.width  # it is laid out only now

    def on_page_view_turned(self, message: PageView.Turned) -> None:
        """Turn to another tab."""
        if self.model is not None:
            self._turn_to((self.page + message.by) % len(self.model.tabs))
            self.update()

    def resized(self) -> None:
        self.call_after_refresh(self.update)

    @property
    def first_pane(self) -> PageView:
        return self._text
