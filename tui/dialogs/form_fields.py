"""The rows of a form: a label, what is typed or chosen, and the mistake in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message

from tui.viewmodels.text.styled import Role, Span, line, wrapped
from tui.widgets.cursor import CursorView
from tui.widgets.lines import LinesView, strip_of
from tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.strip import Strip

    from tui.viewmodels.actions.fields import Field
    from tui.viewmodels.text.glyphs import GlyphSet

LABEL_CELLS = 22
_DEFAULT = "default"  # the text of the option that leaves the property out


def _placeholder(hint: str) -> str:
    """Return the first part of a hint. In parentheses it is no value, even without colours."""
    return f"({hint.partition(';')[0]})" if hint else ""


class OptionField(CursorView):
    """One of several texts, chosen with the arrow keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "previous option", show=False, id="option.before"),
        Binding("right,space", "turn(1)", "next option", show=False, id="option.next"),
        Binding("enter", "submit", "next line", show=False, id="option.submit"),
    ]

    @dataclass
    class Changed(Message):
        """Another text was chosen."""

    @dataclass
    class Submitted(Message):
        """Enter was pressed."""

        field: OptionField

    def __init__(self, value: str, options: Sequence[str], glyphs: GlyphSet, *, id: str) -> None:  # noqa: A002  # Textual's own name
        """A value that is no option is one more of them."""
        super().__init__(id=id)
        self._glyphs = glyphs
        self._options = tuple(dict.fromkeys((*options, value)))
        self._value = value

    @property
    def value(self) -> str:
        """The chosen text."""
        return self._value

    @value.setter
    def value(self, value: str) -> None:
        self._options = tuple(dict.fromkeys((*self._options, value)))
        self._value = value
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if y:
            return strip_of(self, ())
        left, right = "<>"
        role = Role.KEY if self.has_focus else Role.DIM
        text = Span(f" {self._value or _DEFAULT} ", Role.STRONG if self.has_focus or self._value else Role.DIM)
        at = self._options.index(self._value) + 1
        count = Span(f"  {at} of {len(self._options)}", Role.DIM) if self.has_focus else Span("")
        return strip_of(self, line(Span(left, role), text, Span(right, role), count))

    def action_turn(self, by: int) -> None:
        """Choose the next or previous option."""
        at = (self._options.index(self._value) + by) % len(self._options)
        self._value = self._options[at]
        self.refresh()
        self.post_message(self.Changed())

    def action_submit(self) -> None:
        """Go on to the next line."""
        self.post_message(self.Submitted(self))

    def on_click(self, event: events.Click) -> None:
        """Choose the next option."""
        event.stop()
        self.action_turn(1)


class FieldRow(Vertical):
    """A field with its label; a mistake stands below it."""

    def __init__(self, field: Field[Any], value: str, options: Sequence[str], glyphs: GlyphSet) -> None:
        """``options`` are what can be chosen; without any a text is typed."""
        super().__init__(classes="field-row")
        self._field = field
        self._glyphs = glyphs
        identity = f"entry-{field.name.replace('.', '_')}"
        self.entry: TextField | OptionField = (
            OptionField(value, options, glyphs, id=identity)
            if options
            else TextField(value, id=identity, placeholder=_placeholder(field.hint), select_on_focus=True)
        )
        self._label = LinesView(classes="label")
        self._problem = LinesView(classes="problem")
        self._problem.display = False

    def compose(self) -> ComposeResult:
        with Horizontal(classes="field"):
            yield self._label
            yield self.entry
        yield self._problem

    def show_label(self) -> None:
        """Show the label, brighter while the field has the focus; a required field has a mark."""
        mark = Span(" *", Role.KEY) if self._field.is_required else Span("")
        role = Role.STRONG if self.entry.has_focus else Role.DIM
        self._label.show([line(Span(self._glyphs.text(self._field.label), role), mark)])

    def show_problem(self, problem: str, cells: int, *, is_warning: bool) -> None:
        """Show a mistake or a warning below the field; nothing if it is empty."""
        role = Role.WARNING if is_warning else Role.FAILED
        sign = "! " if is_warning else "^ " if self._glyphs.ascii_only else "↑ "
        texts = wrapped(problem, max(20, cells - LABEL_CELLS - 3)) if problem else []
        indents = [sign, *["  "] * len(texts)]
        self._problem.show([line(Span(f"{i}{each}", role)) for i, each in zip(indents, texts, strict=False)])
        self._problem.styles.height = max(1, len(texts))
        self._problem.display = bool(texts)
