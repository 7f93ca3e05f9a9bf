"""Parts of screens: messages to them, compositor, style sheet, and the base classes of dialogs and views.

Widgets and panes send messages to ask the main screen for something, and notify the user. The compositor arranges
the widgets of a screen once for each layout, and draws only the widgets that have changed. The main screen shows
faded through a dialog. One view at a time fills the main screen between the header and the hints. The style sheet is
parsed once for each set of colours. Calls that wait for a redraw are dropped if their widget has been removed by
then.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast
from weakref import WeakKeyDictionary

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import ChopsUpdate, Compositor, ReflowResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.message import Message
from textual.message_pump import MessagePump
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget, _RenderCache

from tui.textual.drawing import CellScrollBar, handles
from tui.textual.views import FramedView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from textual.color import Color
    from textual.css.styles import RulesMap
    from textual.dom import DOMNode
    from textual.geometry import Size

    from engine import Simulation
    from tui.viewmodels.frame import Severity
    from tui.viewmodels.lists.columns import Column
    from tui.viewmodels.text import ItemRef
    from tui.viewmodels.timeline.rows import Openable

    Pieces = dict[int, Strip | None]  # of a line, by their columns; None: not drawn yet


class ActsWhileShown(MessagePump):
    """A mixin of what may be removed, with all that is in it, before the screen is drawn again.

    Textual would call it all the same: the next screen does what waited for the one before.
    """

    def call_after_refresh(self, callback: Callable[..., object], *args: object, **kwargs: object) -> bool:
        """Call a function, that is not asynchronous, when the screen has been drawn, unless this is removed before."""
        return super().call_after_refresh(self._call_while_shown, partial(callback, *args, **kwargs))

    def _call_while_shown(self, callback: Callable[[], object]) -> None:
        if self.is_attached:
            callback()


@dataclass
class ShowView(Message):
    """Show a view, with the cursor on ``row`` if one is given: a node or task by row number, anything else by id.

    An item in ``focus`` gets the focus, or its job or pool does.
    """

    view_name: str
    row: int | str | None = None
    focus: ItemRef | None = None


@dataclass
class ShowSheet(Message):
    """Show a sheet of the go line."""

    name: str


@dataclass
class GoToFailure(Message):
    """Go to the next failure in time, or with ``by`` -1 to the previous one."""

    by: int


@dataclass
class GoToTime(Message):
    """Show the simulation at ``when_ms`` after the start."""

    when_ms: int


class OfferRestart(Message):
    """Offer what can be done when the run is over and time should go on."""


@dataclass
class ShowRun(Message):
    """Show another run in place of this one, in a view, from a moment on, and say something there."""

    simulation: Simulation
    at_ms: int = 0
    plays: bool = True
    view: str = "watch"
    said: str = ""


class StudyNews(Message):
    """There are new results of the study, or its state has changed. Posted by another thread."""


@dataclass
class StudyFormula(Message):
    """Study an autoscale formula of a pool against its present one."""

    pool_id: str
    formula: str


@dataclass
class OpenOneOf(Message):
    """Open the only choice, or let the user pick one of several."""

    choices: Sequence[Openable]


@dataclass
class OpenSubject(Message):
    """Open the detail page of a node, task, job or pool."""

    subject: ItemRef


@dataclass
class CreateItem(Message):
    """Open the form that creates something, one of ``menu.NEW``; if empty, what the list that is shown holds."""

    what: str


@dataclass
class OfferActions(Message):
    """Offer the actions that are possible on ``subjects``, all of one kind."""

    subjects: Sequence[ItemRef]


def say(widget: Widget, text: str, severity: Severity = "information") -> None:
    """Tell the user something in the line above the key hints."""
    widget.notify(text, severity=severity, markup=False)


class _PiecesUpdate(ChopsUpdate):
    """The pieces of lines to be written to the terminal. Each is written whole."""

    def render_segments(self, console: Console) -> str:
        """Return the pieces with the control sequences that put them in their places."""
        return "".join(
            f"\x1b[{y + 1};{x + 1}H{strip.render(console)}"
            for y, pieces in enumerate(self.chops)
            for x, strip in pieces.items()
            if strip is not None
        )


class ScreenCompositor(Compositor):
    """Knows the places of all widgets after a layout, until the next one, and draws none that others cover.

    Textual's own arranges them again when somebody asks for a size after hidden or new widgets were to be drawn; only
    a layout can show those. Then it has a message sent to each widget that has come or gone or has another size. It
    cuts all lines of covered widgets, and to draw changes it asks all widgets within the box around all of them.
    """

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Arrange all widgets. Return the changed ones that have a handler for the change."""
        hidden, shown, resized = super().reflow(parent, size)
        self._full_map_invalidated = False
        FramedView.layouts += 1
        return ReflowResult(
            hidden=set(filter(_acts_when_hidden, hidden)),
            shown=set(filter(_acts_when_shown, shown)),
            resized={widget for widget in shown | resized if handles(type(widget), events.Resize.handler_name)},
        )

    def update_widgets(self, widgets: set[Widget]) -> None:
        """Draw those of these widgets that are visible."""
        super().update_widgets(widgets & self.visible_widgets.keys())

    def render_partial_update(self) -> ChopsUpdate | None:
        """Return the pieces of lines between the edges of widgets that have changed; None if nothing has."""
        screen = self.size.region
        dirty, self._dirty_regions = self._dirty_regions, set()
        spans = list(self._regions_to_spans(region.intersection(screen) for region in dirty))
        if not spans:
            return None
        cuts = self.cuts
        lines: list[Pieces] = [{} for _ in cuts]
        for y, begin, end in spans:
            lines[y] |= {x: None for x, after in pairwise(cuts[y]) if x < end and after > begin}
        missing = [len(pieces) for pieces in lines]
        for widget, region, shown in self._from_front_to_back():
            first, end = shown.column_span
            wanted = [y for y in shown.line_range if missing[y] and _is_wanted(lines[y], first, end)]
            if wanted:
                part = Region(first, wanted[0], end - first, wanted[-1] + 1 - wanted[0])
                self._fill(lines, missing, part, widget.render_lines(part.translate(-region.offset)))
        return _PiecesUpdate(lines, spans, [])

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        """Return the pieces of each line by their columns."""
        lines: list[Pieces] = [dict.fromkeys(line[:-1]) for line in self.cuts]
        missing = [len(pieces) if is_rendered_line(y) else 0 for y, pieces in enumerate(lines)]
        for widget, region, shown in self._from_front_to_back():
            if crop.overlaps(shown):
                self._fill(lines, missing, shown, widget.render_lines(shown.translate(-region.offset)))
        return cast("Sequence[Mapping[int, Strip]]", lines)

    def _from_front_to_back(self) -> Iterator[tuple[Widget, Region, Region]]:
        """Yield the widgets that draw something, each with its region and the part of it that is visible."""
        for widget, (region, clip) in self.visible_widgets.items():
            if not isinstance(widget, CellScrollBar) or not widget.is_blank:
                yield widget, region, region.intersection(clip)

    def _fill(self, lines: list[Pieces], missing: list[int], shown: Region, strips: Iterable[Strip]) -> None:
        """Put the lines of a widget, which is ``shown`` there, where pieces are ``missing``, and count those."""
        first, end = shown.column_span
        for y, strip in zip(shown.line_range, strips, strict=False):
            pieces = lines[y]
            if not missing[y]:
                continue
            edges = [x for x in self.cuts[y] if first <= x <= end]
            for x, piece in zip(edges, strip.divide([x - first for x in edges[1:]]), strict=False):
                if x in pieces and pieces[x] is None:
                    pieces[x] = piece
                    missing[y] -= 1


def _acts_when_hidden(widget: Widget) -> bool:
    """Return whether a widget has something to do when it is hidden; without a handler, to release focus or mouse."""
    has_mouse = isinstance(widget, ScrollBar) and widget.grabbed is not None
    return widget.has_focus or has_mouse or handles(type(widget), events.Hide.handler_name, (Widget, ScrollBar))


def _acts_when_shown(widget: Widget) -> bool:
    """Return whether a widget has something to do when it is shown. Textual's handler only informs scrollbars."""
    is_stale = isinstance(widget, FramedView) and not widget.looks_right
    return is_stale or handles(type(widget), events.Show.handler_name, (Widget, FramedView))


def _is_wanted(pieces: Pieces, first: int, end: int) -> bool:
    """Return whether a piece from ``first`` to before ``end`` has not been drawn yet."""
    return any(piece is None and first <= x < end for x, piece in pieces.items())


class ParsedOnce(Stylesheet):
    """A stylesheet that keeps what it has parsed for as long as its variables are the same.

    Textual's own forgets all rules at every refresh, so that it parses them four times before the first paint.
    """

    _given: ClassVar[WeakKeyDictionary[DOMNode, RulesMap]] = WeakKeyDictionary()

    def __init__(self, variables: dict[str, str]) -> None:
        """Create the stylesheet with these variables."""
        super().__init__(variables=variables)
        self._parsed_with = variables

    def set_variables(self, variables: dict[str, str]) -> None:
        """Take the variables; rules that are parsed already stay valid if none of them has changed."""
        if variables != self._parsed_with:
            super().set_variables(variables)
            self._parsed_with = variables

    def reparse(self) -> None:
        """Parse what is new, or everything with new variables."""
        self.parse()

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Give a node these rules. Textual's own sets those that are the same, too, and draws scrollbars again."""
        before, cls._given[node] = cls._given.get(node), rules
        if before is None or "transitions" in rules:
            super().replace_rules(node, rules, animate)
            return
        names = before.keys() | rules.keys()
        changes = {name: rules.get(name) for name in names if before.get(name) != rules.get(name)}
        for name, value in changes.items():
            setattr(node.styles.base, name, value)
        if changes:
            node.notify_style_update()


ResultT = TypeVar("ResultT")


@lru_cache(maxsize=1024)
def _faded(style: Style | None, color: Color, base: Style) -> Style:
    """Return a style as it shows through this colour, on a base style."""
    if color.a == 0:  # the terminal's own colours cannot be mixed
        return base + (style or Style()) + Style(dim=True)
    segments = BackgroundScreen.process_segments([Segment(" ", style)], color)
    return base + next(segment.style for segment in segments)


class Frame(Vertical):
    """A frame with a title and a hint about keys."""

    def __init__(self, title: str, keys: str, *, id: str = "actions", classes: str = "") -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self.border_title = Content(title)
        self.border_subtitle = Content(keys)


class Modal(ActsWhileShown, ModalScreen[ResultT]):
    """A dialog. The main screen is drawn below it in every frame, so fading it must be quick."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "app.interrupt", "quit", show=False, id="dialog.interrupt"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._compositor = ScreenCompositor()

    def update(self) -> None:
        """Bring the dialog up to date. Most dialogs show one moment and have nothing to do."""

    def _render_content(self) -> None:
        """Draw the screen below, faded. Textual's own has Rich draw it cell by cell."""
        below = self.render()
        if not isinstance(below, BackgroundScreen):
            super()._render_content()
            return
        base, color = self.visual_style.rich_style, below.color
        self._render_cache = _RenderCache(
            self.size,
            [
                Strip([Segment(text, _faded(style, color, base)) for text, style, _ in strip], strip.cell_length)
                for strip in below.screen._compositor.render_strips()
            ],
        )
        self._dirty_regions.clear()


class View(ActsWhileShown, Container):
    """A view. It is updated when it is shown, because only then its panes have a size."""

    BLANK = True  # panes cover it: Textual need not draw lines of its own
    columns: Sequence[Column[Any]] = ()
    is_stale = True  # its panes may show something else than they should

    @property
    @abstractmethod
    def title(self) -> str:
        """The title in the header."""

    @property
    @abstractmethod
    def help_text(self) -> str:
        """The text of the help, a paragraph a line."""

    @property
    @abstractmethod
    def hints(self) -> Sequence[tuple[str, str]]:
        """Pairs of binding ids and what they do in a word."""

    @property
    def tab(self) -> str:
        """The name of the tab that the header highlights."""
        return self.id or ""

    @property
    def is_busy(self) -> bool:
        """True while it is found out in slices what to show."""
        return False

    @abstractmethod
    def update(self) -> None:
        """Bring everything that is shown up to date."""

    @property
    @abstractmethod
    def first_pane(self) -> Widget:
        """The pane that has the focus at first."""

    def remembered(self) -> dict[str, Any]:
        """Return the user's choices in this view, for the settings."""
        return {}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choices from the settings."""

    def clear_filter(self) -> bool:
        """Show everything that a filter hides or dims; return whether there was a filter."""
        return False

    def on_show(self) -> None:
        """Update the view, unless nothing has changed since it was shown last."""
        if self.is_stale:
            self.is_stale = False
            self.update()
