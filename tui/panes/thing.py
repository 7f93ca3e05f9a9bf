"""A blade of one thing: its tabs, how it is doing, and one of its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tui.panes.view import View
from tui.viewmodels.detail_pages import thing_of
from tui.viewmodels.detail_pages.page import tab_at, tab_bar
from tui.viewmodels.text.styled import Line, Span, cut
from tui.widgets.lines import LinesView
from tui.widgets.page import PageView
from tui.widgets.redraw import ResizeFilter, set_title

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult

    from tui.viewmodels.detail_pages.page import Thing
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef


class _Tabs(LinesView):
    def __init__(self) -> None:
        super().__init__(id="thing-tabs")
        self._titles: tuple[str, ...] = ()
        self._present = 0

    def show_tabs(self, titles: tuple[str, ...], present: int) -> None:
        self._titles, self._present = titles, present
        self.show([tab_bar(titles, present)])

    def on_click(self, event: events.Click) -> None:
        number = tab_at(self._titles, event.x)
        if number is not None:
            self.post_message(PageView.Turned(number - self._present))


class ThingPane(ResizeFilter, View):
    """A node, pool, job or task, full screen."""

    hints: ClassVar[tuple[tuple[str, str], ...]] = (
        ("page.before page.next", "tabs"),
        ("page.open", "open"),
        ("row.links", "go to"),
        ("go.out", "back"),
    )

    def __init__(self, session: Session) -> None:
        """A blade of nothing, until ``open``."""
        super().__init__(id="thing")
        self._session = session
        self._thing: Thing | None = None
        self._is_new = True
        self.page = 0

    def compose(self) -> ComposeResult:
        """Tabs, head, page."""
        yield _Tabs()
        yield LinesView(id="thing-head")
        yield PageView(self._session.glyphs.cursor, id="thing-page")

    def open(self, subject: ItemRef, page: int = 0) -> None:
        """Show this thing from now on, at one of its pages."""
        if self._thing is None or self._thing.subject != subject:
            self._thing = thing_of(self._session, subject)
        self._turn_to(page)

    def _turn_to(self, page: int) -> None:
        self.page, self._is_new = page, True

    @property
    def subject(self) -> ItemRef | None:
        """The thing that is shown."""
        return None if self._thing is None else self._thing.subject

    @property
    def thing(self) -> Thing | None:
        """All that is to be said of it."""
        return self._thing

    @property
    def title(self) -> str:
        """What the thing is called."""
        return "" if self._thing is None else self._thing.title

    @property
    def help_text(self) -> str:
        """What its pages show."""
        return "" if self._thing is None else self._thing.help_text

    @property
    def tab(self) -> str:
        """The list to which the thing belongs."""
        return "" if self._thing is None else self._thing.view

    def look(self) -> None:
        """Bring every part up to date."""
        thing = self._thing
        if thing is None:
            return
        text = self._session.text
        tabs, head, page = self.query_one(_Tabs), self.query_one("#thing-head", LinesView), self.query_one(PageView)
        tabs.show_tabs(thing.tabs, self.page)
        lines = thing.head(head.size.width - 2)
        head.styles.height = len(lines)
        head.show([_in_set((Span(" "), *each), text) for each in lines])
        set_title(page, f"{thing.title}: {thing.tabs[self.page]}")
        page.subject = thing.subject if thing.is_there else None
        cells = max(20, page.size.width - PageView.MARGIN - 1)
        shown = [_in_set(cut(each, cells), text) for each in thing.lines(self.page, cells)]
        page.show_page(shown, is_new=self._is_new)
        self._is_new = not page.size.width  # it is laid out only now

    def on_page_view_turned(self, message: PageView.Turned) -> None:
        """Another page."""
        message.stop()
        if self._thing is not None:
            self._turn_to((self.page + message.by) % len(self._thing.tabs))
            self.look()

    def on_resize(self, event: events.Resize) -> None:
        """There is more or less room."""
        if self.has_new_size(event):
            self.call_after_refresh(self.look)

    def focus_first(self) -> None:
        """The page has the focus."""
        self.query_one(PageView).focus()


def _in_set(spans: Line, text: Callable[[str], str]) -> Line:
    return tuple(span._replace(text=text(span.text)) for span in spans)
