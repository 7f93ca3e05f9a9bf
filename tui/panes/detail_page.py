"""The detail page of a node, pool, job or task: its tabs, a summary, and one of its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.panes.view import View
from tui.viewmodels.detail_pages import detail_model_of
from tui.viewmodels.detail_pages.page import tab_at, tab_bar
from tui.viewmodels.text.styled import ItemRef, Span, cut
from tui.widgets import palette
from tui.widgets.lines import LinesView
from tui.widgets.page import PageView
from tui.widgets.redraw import ResizeFilter, set_title

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui.viewmodels.detail_pages.page import DetailModel
    from tui.viewmodels.session.session import Session


class _Tabs(LinesView):
    def __init__(self) -> None:
        super().__init__(id="detail-tabs")
        self._titles: tuple[str, ...] = ()
        self._present = 0

    def show_tabs(self, titles: tuple[str, ...], present: int) -> None:
        self._titles, self._present = titles, present
        self.show([tab_bar(titles, present, self.size.width)])

    def on_click(self, event: events.Click) -> None:
        number = tab_at(self._titles, self._present, self.size.width, event.x)
        if number is not None:
            self.post_message(PageView.Turned(number - self._present))


class DetailPage(ResizeFilter, View):
    """A node, pool, job or task as a view, with its own tabs."""

    hints = (
        ("page.before page.next", "tabs"),
        ("page.open", "open"),
        ("row.links", "go to"),
        ("go.out", "back"),
    )

    def __init__(self, session: Session) -> None:
        """The page is empty until ``open``."""
        super().__init__(id="detail")
        self._session = session
        self._model: DetailModel | None = None
        self._is_new = True
        self.page = 0

    def compose(self) -> ComposeResult:
        yield _Tabs()
        yield LinesView(id="detail-head")
        yield PageView(self._session.glyphs.cursor, id="detail-page")

    def open(self, subject: ItemRef, page: int = 0) -> None:
        """Show this item from now on, at one of its pages."""
        if self._model is None or self._model.subject != subject:
            self._model = detail_model_of(self._session, subject)
        self.is_stale = True
        self._turn_to(page)

    def _turn_to(self, page: int) -> None:
        self.page, self._is_new = page, True

    @property
    def subject(self) -> ItemRef | None:
        """The item that is shown."""
        return None if self._model is None else self._model.subject

    @property
    def asked(self) -> ItemRef | None:
        """The item to explain: on some tabs that of the link at the cursor."""
        model, target = self._model, self.query_one(PageView).link
        if model is None or model.tabs[self.page] not in model.EXPLAINED or not isinstance(target, ItemRef):
            return self.subject
        return target

    @property
    def model(self) -> DetailModel | None:
        """The view model of the item."""
        return self._model

    @property
    def title(self) -> str:
        return "" if self._model is None else self._model.title

    @property
    def help_text(self) -> str:
        return "" if self._model is None else self._model.help_text

    @property
    def tab(self) -> str:
        return "" if self._model is None else self._model.view

    def update(self) -> None:
        model = self._model
        if model is None:
            return
        tabs, head, page = self.query_one(_Tabs), self.query_one("#detail-head", LinesView), self.query_one(PageView)
        tabs.show_tabs(model.tabs, self.page)
        lines = model.head(head.size.width - 2)
        head.styles.height = len(lines)
        head.show([(Span(" "), *each) for each in lines])
        set_title(page, f"{model.title}: {model.tabs[self.page]}")
        page.subject = model.subject if model.exists else None
        cells = max(20, page.size.width - PageView.MARGIN - 1)
        model.rows, model.has_grounds = max(1, page.size.height), palette.has_grounds(self.app.theme)
        shown = [cut(each, cells) for each in model.lines(self.page, cells)]
        page.show_page(shown, is_new=self._is_new)
        self._is_new = not page.size.width  # it is laid out only now

    def on_page_view_turned(self, message: PageView.Turned) -> None:
        """Turn to another tab."""
        message.stop()
        if self._model is not None:
            self._turn_to((self.page + message.by) % len(self._model.tabs))
            self.update()

    def on_resize(self, event: events.Resize) -> None:
        if self.has_new_size(event):
            self.call_after_refresh(self.update)

    @property
    def first_pane(self) -> PageView:
        return self.query_one(PageView)
