"""Parts of screens: messages to them, compositor, style sheet, and the base classes of dialogs and views.

Widgets and panes send messages to ask the main screen for something, and notify the user. The compositor arranges
the widgets of a screen once for each layout, and draws only the widgets that have changed. The main screen shows
faded through a dialog. One view at a time fills the main screen between the header and the hints. The style sheet is
parsed once for each set of colours. Calls that wait for a redraw are dropped if their widget has been removed by
then.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast
from weakref import WeakKeyDictionary

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import ChopsUpdate, Compositor, ReflowResult  # what a screen draws with has no public name
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.containers import Container, Vertical
from textual.content import Content
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region, Size
from textual.message import Message
from textual.message_pump import MessagePump
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from engine.base.values import visible
from tui.textual.overrides import CellScrollBar, LightStrip, QuietView, handles, is_displayed, set_subtitle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from textual.color import Color
    from textual.css.model import RuleSet
    from textual.css.styles import RulesMap
    from textual.dom import DOMNode
    from textual.screen import Screen

    from engine import Simulation
    from tui.viewmodels.frame import Severity
    from tui.viewmodels.glyphs import Glyph
    from tui.viewmodels.lists.columns import Column
    from tui.viewmodels.text import ItemRef
    from tui.viewmodels.timeline.rows import Openable

    _Screen = Screen[Any]
    Pieces = dict[int, Strip | None]  # of a line, by their columns; None: not drawn yet
else:
    _Screen = MessagePump  # Textual reads the style sheets of the first base class that is a widget


_MOST_SOURCES = 256  # of style sheets: one for each class of widgets, and of screens


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
    """Show a view or a sheet, with the cursor on ``row`` if one is given: a node or task by number, others by id.

    An item in ``focus`` gets the focus, or its job or pool does.
    """

    view_name: str
    row: int | str | None = None
    focus: ItemRef | None = None


@dataclass
class GoToTime(Message):
    """Show the simulation at ``when_ms`` after the start."""

    when_ms: int


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
class OpenOneOf(Message):
    """Open the only choice, or let the user pick one of several."""

    choices: Sequence[Openable]


@dataclass
class OpenSubject(Message):
    """Open the detail page of a node, task, job or pool."""

    subject: ItemRef


@dataclass
class OfferActions(Message):
    """Offer the actions that are possible on ``subjects``, all of one kind."""

    subjects: Sequence[ItemRef]


def say(widget: Widget, text: str, severity: Severity = "information") -> None:
    """Tell the user something in the line above the key hints."""
    widget.notify(text, severity=severity, markup=False)


class ParsedOnce(Stylesheet):
    """A stylesheet that keeps what it has parsed with each set of variables, for all applications of the process.

    Textual's own forgets all rules at every refresh, so that it parses them four times before the first paint.
    """

    _given: ClassVar[WeakKeyDictionary[DOMNode, RulesMap]] = WeakKeyDictionary()
    _parsed: ClassVar[dict[frozenset[tuple[str, str]], LRUCache[tuple[object, ...], list[RuleSet]]]] = {}

    def __init__(self, variables: dict[str, str]) -> None:
        """Create the stylesheet with these variables."""
        super().__init__()
        self.set_variables(variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        """Take the variables; rules that were parsed with the same ones stay valid."""
        if variables != self._variables:
            self._parse_cache = LRUCache(_MOST_SOURCES)  # the present one is cleared
            super().set_variables(variables)
            self._parse_cache = self._parsed.setdefault(frozenset(variables.items()), self._parse_cache)

    reparse = Stylesheet.parse  # what is new, or everything with new variables

    def update_nodes(self, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        """Style nodes again. Those that are still being made have no parent yet, and get their styles with it."""
        super().update_nodes((node for node in nodes if node.parent is not None or node.is_dom_root), animate)

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


class _PiecesUpdate(ChopsUpdate):
    """The pieces of lines to be written to the terminal. Each is written whole."""

    def render_segments(self, console: Console) -> str:
        """Return the pieces with the control sequences that put them in their places."""
        return "".join(
            [
                f"\x1b[{y + 1};{x + 1}H{strip.render(console)}"
                for y, pieces in enumerate(self.chops)
                for x, strip in pieces.items()
                if strip is not None
            ]
        )


class ScreenCompositor(Compositor):
    """Draws no widgets that others cover, and tells only those of a layout that have something to do then.

    Textual's own has a message sent to each widget that has come or gone or has another size. It cuts all lines of
    covered widgets, and to draw changes it asks all widgets within the box around all of them.
    """

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Arrange all widgets. Return the changed ones that have a handler for the change."""
        hidden, shown, resized = super().reflow(parent, size)
        QuietView.layouts += 1
        self._full_map_invalidated = False  # else the next question for a size arranges all widgets again
        return ReflowResult(
            hidden=set(filter(_acts_when_hidden, hidden)),
            shown=set(filter(_acts_when_shown, shown)),
            resized={widget for widget in shown | resized if handles(type(widget), events.Resize.handler_name)},
        )

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
        missing = list(map(sorted, lines))
        for widget, region, shown in self._from_front_to_back():
            first, end = shown.column_span
            wanted = [y for y in shown.line_range if bisect_left(missing[y], first) < bisect_left(missing[y], end)]
            if wanted:
                part = Region(first, wanted[0], end - first, wanted[-1] + 1 - wanted[0])
                self._fill(lines, missing, part, widget.render_lines(part.translate(-region.offset)))
        return _PiecesUpdate(lines, spans, [])

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        """Return the pieces of each line by their columns."""
        lines: list[Pieces] = [dict.fromkeys(line[:-1]) for line in self.cuts]
        missing = [line[:-1] if is_rendered_line(y) else [] for y, line in enumerate(self.cuts)]
        for widget, region, shown in self._from_front_to_back():
            if crop.overlaps(shown):
                self._fill(lines, missing, shown, widget.render_lines(shown.translate(-region.offset)))
        return cast("Sequence[Mapping[int, Strip]]", lines)

    def _from_front_to_back(self) -> Iterator[tuple[Widget, Region, Region]]:
        """Yield the widgets that draw something, each with its region and the part of it that is visible."""
        for widget, (region, clip) in self.visible_widgets.items():
            if not isinstance(widget, CellScrollBar) or not widget.is_blank:
                yield widget, region, region.intersection(clip)

    def _fill(self, lines: list[Pieces], missing: list[list[int]], shown: Region, strips: Iterable[Strip]) -> None:
        """Put the lines of a widget, which is ``shown`` there, in the columns that are ``missing`` until now."""
        first, end = shown.column_span
        for y, drawn in zip(shown.line_range, strips, strict=False):
            if not missing[y]:
                continue
            strip = drawn if isinstance(drawn, LightStrip) else _safe(drawn)
            pieces, edges = lines[y], [x for x in self.cuts[y] if first <= x <= end]
            divided = (strip,) if len(edges) == 2 else strip.divide([x - first for x in edges[1:]])
            for x, piece in zip(edges, divided, strict=False):
                if x in pieces and pieces[x] is None:
                    pieces[x] = piece
                    missing[y].remove(x)


def _safe(strip: Strip) -> Strip:
    """Return a strip of one of Textual's own widgets, a title or an input, with control characters as escapes."""
    if all(segment.text.isprintable() for segment in strip):
        return strip
    segments = (each if each.control else each._replace(text=visible(each.text)) for each in strip)
    return Strip(segments).adjust_cell_length(strip.cell_length)


def _acts_when_hidden(widget: Widget) -> bool:
    """Return whether a widget has something to do when it is hidden; without a handler, to release focus or mouse."""
    has_mouse = isinstance(widget, ScrollBar) and widget.grabbed is not None
    return widget.has_focus or has_mouse or handles(type(widget), events.Hide.handler_name, (Widget, ScrollBar))


def _acts_when_shown(widget: Widget) -> bool:
    """Return whether a widget has something to do when it is shown. Textual's handler only informs scrollbars."""
    is_stale = isinstance(widget, QuietView) and not widget.looks_right
    return is_stale or handles(type(widget), events.Show.handler_name, (Widget, QuietView))


@lru_cache(maxsize=1024)
def _faded(style: Style | None, color: Color, base: Style) -> Style:
    """Return a style as it shows through this colour, on a base style."""
    if color.a == 0:  # the terminal's own colours cannot be mixed
        return base + (style or Style()) + Style(dim=True)
    segments = BackgroundScreen.process_segments([Segment(" ", style)], color)
    return base + next(segment.style for segment in segments)


class HeldScreen(_Screen):
    """A mixin of screens that draw nothing while frames are held: Textual would show each step of a layout."""

    _holds = 0  # reasons not to draw
    _below: tuple[Sequence[Strip], Color | None] | None = None  # while lines are drawn: of the screen below, its veil

    def __init__(self) -> None:
        super().__init__()
        self._compositor = ScreenCompositor()  # Textual asks for no other one

    @property
    def is_held(self) -> bool:
        """True while nothing is drawn."""
        return bool(self._holds)

    def hold_frames(self) -> None:
        """Draw nothing until ``draw_frames`` or ``draw_now``."""
        self._holds += 1

    def draw_frames(self, part: Widget) -> None:
        """Draw what has changed meanwhile in this part, unless frames are held for another reason, too."""
        self._holds -= 1
        part.refresh(Region(0, 0, 1, 1))
        self._dirty_widgets.add(part)  # the part itself would say so perhaps only after the screen has drawn
        self.check_idle()

    def draw_now(self) -> None:
        """Draw the whole screen, for whatever reason frames were held."""
        self._holds = 0
        self.refresh()
        self._on_timer_update()  # else it waits for the next tick of a timer

    async def _compose(self) -> None:
        """Take the classes of this size first. Textual does so when all is mounted, and styles everything again."""
        for cells, limits in zip(self.app.size, (self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS), strict=True):
            self.add_class(*self._get_breakpoint_classes(cells, limits or []))
        await super()._compose()

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """Keep the styles: all parts have just got theirs."""
        event.refresh_styles = False

    def _screen_resized(self, size: Size) -> None:
        """Lay the screen out. Textual does so with the screens below, too, when a dialog opens."""
        if self.is_active or size != self._compositor.size:
            super()._screen_resized(size)

    def _compositor_refresh(self) -> None:
        """Write what has changed to the terminal, as Textual does, unless frames are held."""
        if not self.is_held:
            super()._compositor_refresh()

    def _update_focus_styles(self, focused: Widget | None = None, blurred: Widget | None = None) -> None:
        """Style panes anew in which the focus has come or gone. Textual does so with all that is in them, too."""
        widgets = (widget for widget in (focused, blurred) if widget is not None)
        panes = {pane for widget in widgets for pane in widget.ancestors_with_self if pane._has_focus_within}
        self.app.stylesheet.update_nodes(set(filter(is_displayed, panes)), animate=True)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._below = None
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Draw a line of the screen below, faded, if this is a dialog. Textual's own has Rich draw it cell by cell."""
        if self._below is None:
            below = self.render()  # which gives the screen below once a drawing
            self._below = (), None
            if isinstance(below, BackgroundScreen):
                self._below = below.screen._compositor.render_strips(), below.color
        strips, color = self._below
        if color is None:
            return super().render_line(y)
        base = self.visual_style.rich_style
        if y >= len(strips):  # the terminal has grown, and the screen below has not been laid out yet
            return Strip.blank(self.size.width, base)
        faded = [Segment(text, _faded(style, color, base)) for text, style, _ in strips[y]]
        return LightStrip(faded, strips[y].cell_length)


ResultT = TypeVar("ResultT")


class Frame(Vertical):
    """A frame with a title and a hint about keys."""

    def __init__(self, title: str, keys: str, *, id: str = "actions", classes: str = "") -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self.border_title = Content(title)
        self._keys = keys

    def name_keys(self, keys: str) -> None:
        """Name these keys from now on, as far as there is room."""
        self._keys = keys
        set_subtitle(self, keys)

    def on_resize(self) -> None:
        set_subtitle(self, self._keys)


class Modal(ActsWhileShown, HeldScreen, ModalScreen[ResultT]):
    """A dialog. The main screen is drawn below it in every frame."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "app.interrupt", "quit", show=False, id="dialog.interrupt")
    ]

    def on_resize(self) -> None:
        self.call_after_refresh(self.fill)

    def fill(self) -> None:
        """Fill the dialog for the size that it has now."""

    def update(self) -> None:
        """Bring the dialog up to date. Most dialogs show one moment and have nothing to do."""


class View(ActsWhileShown, Container):
    """A view. It is updated when it is shown, because only then its panes have a size."""

    BLANK = True  # panes cover it: Textual need not draw lines of its own
    columns: Sequence[Column[Any]] = ()
    is_stale = True  # its panes may show something else than they should
    is_filled = True  # false while panes stand in new places, for which they have not been filled

    @property
    @abstractmethod
    def title(self) -> str:
        """The title in the header."""

    @property
    @abstractmethod
    def help_text(self) -> str:
        """The text of the help, a paragraph a line."""

    @property
    def symbols(self) -> Iterable[Glyph]:
        """The glyphs on the screen, for the help."""
        return ()

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
        """Return the user's choices in this view, for another run."""
        return {}

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choices."""

    def clear_filter(self) -> bool:
        """Show everything that a filter hides or dims; return whether there was a filter."""
        return False

    def build(self, switcher: Widget) -> None:
        """Mount the view with all that is in it, unless that is done: most views are not shown in most sessions."""
        if not self.is_attached:
            self.display = False
            switcher.mount(self)
            self.fill()

    def fill(self) -> None:
        """Mount what is in a view that is mounted when it is first shown."""

    def on_show(self) -> None:
        """Update the view, unless nothing has changed since it was shown last."""
        if self.is_stale:
            self.is_stale = False
            self.update()
