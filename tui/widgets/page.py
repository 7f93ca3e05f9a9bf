"""A page of text with links. The arrow keys go from link to link, and scroll if none is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.viewmodels.text.styled import Role, Span, width
from tui.widgets.lines import LinesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from tui.viewmodels.text.styled import ItemRef, Line


class _Link(NamedTuple):
    """A link, by its line and its span in the line."""

    y: int
    at: int
    leads_to: ItemRef | str


class PageView(LinesView):
    """Lines with links; the one that Enter follows has a pointer."""

    MARGIN = 2  # cells before every line, for the pointer
    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False, id="page.up"),
        Binding("down,j", "move(1)", "down", show=False, id="page.down"),
        Binding("pageup", "page_up", "page up", show=False, id="page.page-up"),
        Binding("pagedown", "page_down", "page down", show=False, id="page.page-down"),
        Binding("home", "scroll_home", "top", show=False, id="page.top"),
        Binding("end", "scroll_end", "bottom", show=False, id="page.bottom"),
        Binding("left,h", "turn(-1)", "the previous tab", id="page.before"),
        Binding("right", "turn(1)", "the next tab", id="page.next"),
        Binding("enter", "follow", "open the link", id="page.open"),
    ]

    @dataclass
    class Followed(Message):
        """A link was followed, to an item or to an action of the main screen."""

        target: ItemRef | str

    @dataclass
    class Turned(Message):
        """The tab ``by`` positions to the right was asked for."""

        by: int

    def __init__(self, pointer: str, *, id: str | None = None, classes: str = "") -> None:  # noqa: A002  # Textual's own
        """The page is empty until ``show_page``; ``pointer`` is drawn beside the link that Enter follows."""
        super().__init__(id=id, classes=f"panel {classes}")
        self._pointer = pointer
        self._page: Sequence[Line] = ()
        self._links: list[_Link] = []
        self._at = 0
        self.subject: ItemRef | None = None

    @property
    def link(self) -> ItemRef | str | None:
        """The target of the link that Enter follows, None on a page without links."""
        return self._links[self._at].leads_to if self._links else None

    def show_page(self, page: Sequence[Line], *, is_new: bool) -> None:
        """Show these lines. The pointer stays at its link unless the page ``is_new``."""
        if page == self._page and not is_new:
            return
        target = None if is_new else self.link
        self._page = page
        self._links = [
            _Link(y, at, span.leads_to)
            for y, spans in enumerate(page)
            for at, span in enumerate(spans)
            if span.leads_to is not None
        ]
        same = (number for number, link in enumerate(self._links) if link.leads_to == target)
        self._at = next(same, 0 if is_new else min(self._at, max(0, len(self._links) - 1)))
        if is_new:
            self.scroll_to(y=0, animate=False, immediate=True)
        self._draw()

    def _draw(self) -> None:
        marked = self._links[self._at] if self._links and self.has_focus else None
        lines: list[Line] = []
        for y, spans in enumerate(self._page):
            if marked is None or y != marked.y:
                lines.append((Span(" " * self.MARGIN), *spans))
                continue
            own = spans[marked.at]._replace(role=Role.KEY, is_fill=True)
            mark = Span(self._pointer.ljust(self.MARGIN), Role.STRONG)
            lines.append((mark, *spans[: marked.at], own, *spans[marked.at + 1 :]))
        self.show(lines)

    def redraw_cursor(self) -> None:
        """Show the pointer while the page has the focus."""
        self._draw()

    # -- moving --------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Go to the link above or below if it is visible or in the next line, else scroll by a line."""
        top, last = int(self.scroll_offset.y), int(self.scroll_offset.y) + self.size.height - 1
        ahead = self._ahead(by, top, last)
        if ahead is None:
            self.scroll_relative(y=by, animate=False, immediate=True)
            return
        self._at = ahead
        y = self._links[ahead].y
        if y < top or y > last:
            self.scroll_relative(y=by, animate=False, immediate=True)
        self._draw()

    def _ahead(self, by: int, top: int, last: int) -> int | None:
        """Return the next link in this direction that is visible now or after scrolling by a line."""
        present = self._links[self._at].y if self._links else -1
        is_seen = top <= present <= last
        numbers = range(len(self._links))
        for number in numbers if by > 0 else reversed(numbers):
            is_ahead = (number - self._at) * by > 0 if is_seen else True
            if is_ahead and top - (by < 0) <= self._links[number].y <= last + (by > 0):
                return number
        return None

    def action_turn(self, by: int) -> None:
        """Ask for another tab."""
        self.post_message(self.Turned(by))

    def action_follow(self) -> None:
        """Follow the link at the pointer, if it is visible."""
        top = int(self.scroll_offset.y)
        if self.link is not None and top <= self._links[self._at].y < top + self.size.height:
            self.post_message(self.Followed(self.link))

    def on_click(self, event: events.Click) -> None:
        """Follow the link under the mouse."""
        place = event.get_content_offset(self)
        if place is None:
            return
        y = place.y + int(self.scroll_offset.y)
        for number, link in enumerate(self._links):
            if link.y != y:
                continue
            first = self.MARGIN + width(self._page[y][: link.at])
            if first <= place.x < first + width([self._page[y][link.at]]):
                self._at = number
                self._draw()
                self.action_follow()
                return
