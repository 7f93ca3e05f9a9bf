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
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.css.stylesheet import Stylesheet
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from tui.textual.overrides import HeldScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual.css.styles import RulesMap
    from textual.dom import DOMNode

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


class Frame(Vertical):
    """A frame with a title and a hint about keys."""

    def __init__(self, title: str, keys: str, *, id: str = "actions", classes: str = "") -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self.border_title = Content(title)
        self.border_subtitle = Content(keys)


class Modal(ActsWhileShown, HeldScreen, ModalScreen[ResultT]):
    """A dialog. The main screen is drawn below it in every frame."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "app.interrupt", "quit", show=False, id="dialog.interrupt"),
    ]

    def update(self) -> None:
        """Bring the dialog up to date. Most dialogs show one moment and have nothing to do."""


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
