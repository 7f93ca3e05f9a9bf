"""Texts: a page with links, a text of any length, the line of messages, and the prompt.

On a page the arrow keys go from link to link, and scroll if none is near. A long text reads only the visible rows
from its model. The prompt at the bottom of a screen shows key hints, or takes a text that is typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.widgets import Input

from tui.saving.targets import TargetError
from tui.textual.screens import say
from tui.textual.views import LinesView, TextField, strip_of
from tui.viewmodels.frame import hints, message_lines, seconds_shown
from tui.viewmodels.text import Role, Span, cut, width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.strip import Strip
    from textual.timer import Timer

    from tui.viewmodels.file_browser import FilesModel, TextModel
    from tui.viewmodels.frame import Message as ShownMessage
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import ItemRef, Line


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
        places = ((y, at, span.leads_to) for y, spans in enumerate(page) for at, span in enumerate(spans))
        self._links = [_Link(y, at, leads_to) for y, at, leads_to in places if leads_to is not None]
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


_WHEEL_ROWS = 3


class TextView(ScrollView):
    """The file under the cursor of the tree, or a summary of a directory."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_by(-1)", "up", show=False, id="text.up"),
        Binding("down,j", "scroll_by(1)", "down", show=False, id="text.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="text.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="text.page-down"),
        Binding("home", "to_end(-1)", "first line", show=False, id="text.first"),
        Binding("end", "to_end(1)", "last line", show=False, id="text.last"),
        Binding("left", "scroll_by(0, -8)", "to the left", show=False, id="text.left"),
        Binding("right", "scroll_by(0, 8)", "to the right", show=False, id="text.right"),
    ]

    class Moved(Message):
        """Other lines are visible now."""

    def __init__(self, model: FilesModel) -> None:
        super().__init__(id="file-text")
        self.model = model
        self._rows: Sequence[Line] = ()

    @property
    def _text(self) -> TextModel:
        return self.model.text

    def update(self) -> None:
        """Draw the visible rows."""
        self._text.fit(self.size.width, self.size.height)
        self._rows = self.model.rows()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        return strip_of(self, self._rows[y] if y < len(self._rows) else ())

    def action_scroll_by(self, rows: int, columns: int = 0) -> None:
        """Scroll by rows, and by characters to the side."""
        self._text.scroll(rows, columns)
        self.update()
        self.post_message(self.Moved())

    def action_page(self, by: int) -> None:
        """Scroll by pages."""
        self.action_scroll_by(by * max(1, self.size.height - 1))

    def action_to_end(self, way: int) -> None:
        """Scroll to the begin of the first line, or to the last one."""
        self.action_scroll_by(way * self._text.total, min(0, way) * len(self._text.lines.text))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up."""
        event.stop()
        self.action_scroll_by(-_WHEEL_ROWS)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down."""
        event.stop()
        self.action_scroll_by(_WHEEL_ROWS)


class MessageLine(LinesView):
    """Shows the messages since the last key until the next one. It covers a border, so that no pane moves."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="message")
        self._session = session
        self._messages: list[ShownMessage] = []
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        self._show()

    def add(self, message: ShownMessage) -> None:
        """Show a message. One that is less serious than those shown is only counted."""
        self._messages.append(message)
        if self.is_mounted:
            self._show()

    def close(self) -> bool:
        """Hide the line; return whether it was visible."""
        was_visible = bool(self._messages)
        self._messages.clear()
        self.display = False
        return was_visible

    def _show(self) -> None:
        if not self._messages:
            self.display = False
            return
        self._lay_out()
        self.display = True
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(max(map(seconds_shown, self._messages)), self.close)

    def _lay_out(self) -> None:
        lines = message_lines(self._session, self._messages, self.screen.size.width)
        self.styles.height = len(lines)
        self.show(lines)

    def on_resize(self) -> None:
        """Use the new width."""
        if self._messages:
            self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Close the line."""
        event.stop()
        self.close()


class AnswerError(Exception):
    """A typed text that cannot be used; the message is a sentence for the user."""


class _PromptInput(TextField):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "leave", show=False, id="prompt.leave"),
        Binding("tab", "complete", "complete", show=False, id="prompt.complete"),
    ]

    def action_cancel(self) -> None:
        self.query_ancestor(Prompt).cancel()

    def action_complete(self) -> None:
        self.query_ancestor(Prompt).complete()


class Question(NamedTuple):
    """A text that is asked for.

    If ``on_answer`` raises AnswerError, or TargetError because of a file that was named, the message is shown and the
    text can be changed.
    """

    label: str  # ahead of the input
    on_answer: Callable[[str], object]  # called with the text when Enter is pressed
    text: str = ""  # to begin with
    on_typed: Callable[[str], object] = lambda _: None  # called with the text after each change
    on_cancel: Callable[[], object] = lambda: None  # called when Escape is pressed


class Prompt(Vertical):
    """Shows key hints until a text is asked for; an extra line above the input offers completions."""

    BLANK = True  # its children cover it

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self._question: Question | None = None
        self._offered: Sequence[str] = ()
        self._left = LinesView(id="hints")  # the hints, or the label of the input
        self._hinted: tuple[Sequence[tuple[str, str]], int, int] | None = None  # what was shown, and how wide

    def compose(self) -> ComposeResult:
        offer = LinesView(id="offer")
        offer.display = False
        yield offer
        with Horizontal(id="question"):
            yield self._left
            entry = _PromptInput(id="entry")
            entry.display = False
            yield entry

    def show_hints(self, pairs: Sequence[tuple[str, str]], last: int = 2) -> None:
        """Show keys and what they do, always the ``last`` ones, unless a text is being typed."""
        cells = self.size.width
        if self._question is None and self._hinted != (pairs, last, cells):
            self._hinted = pairs, last, cells
            self._left.show([hints(pairs, cells, last)])

    def ask(self, question: Question) -> None:
        """Ask for a text."""
        self._question = question
        label = (Span(f" {question.label} ", Role.KEY, is_fill=True), Span(" "))
        self._left.styles.width = width(label)
        self._left.show([label])
        self._hinted = None
        entry = self.query_one(Input)
        entry.value = question.text
        entry.cursor_position = len(question.text)
        entry.display = True
        self.screen.set_focus(entry)  # at once: the next key may be there already

    def offer(self, offer: Line, completions: Sequence[str] = ()) -> None:
        """Show a line above the input and keep the completions for Tab. An empty line takes no room."""
        self._offered = completions
        lines = self.query_one("#offer", LinesView)
        lines.display = bool(offer)
        lines.show([cut(offer, self.size.width)])

    def complete(self) -> None:
        """Complete the text to the common prefix of the completions, else to the first of them."""
        entry = self.query_one(Input)
        prefix = commonprefix(self._offered)  # noqa: RUF071  # texts, not paths
        entry.value = prefix if len(prefix) > len(entry.value) else next(iter(self._offered), entry.value)
        entry.cursor_position = len(entry.value)

    def cancel(self) -> None:
        """Close the input without an answer."""
        if question := self._close():
            question.on_cancel()

    def _close(self) -> Question | None:
        """Close the input, and return what was asked."""
        question, self._question = self._question, None
        self._left.styles.width = "1fr"
        self.offer(())
        self.query_one(Input).display = False
        return question

    def on_input_changed(self, event: Input.Changed) -> None:
        """Report the text so far."""
        event.stop()
        if self._question is not None:
            self._question.on_typed(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close the input and report the answer; open it again with a text that cannot be used."""
        event.stop()
        question = self._close()
        if question is None:
            return
        try:
            question.on_answer(event.value)
        except (AnswerError, TargetError) as error:
            say(self, f"{error}." if isinstance(error, TargetError) else str(error), "error")
            self.ask(question._replace(text=event.value))
