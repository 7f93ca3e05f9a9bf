"""The inputs of a form: fields, or the body as a whole.

Each row has a label, the typed or chosen value, and the mistake in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from tui.textual.views import CursorView, LinesView, TextField, strip_of
from tui.viewmodels.actions.action import AnyField, Body
from tui.viewmodels.actions.forms import FormMistake, FormResult, text_of
from tui.viewmodels.text import Role, Span, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.strip import Strip

    from tui.viewmodels.actions.action import Field
    from tui.viewmodels.actions.menu import Action
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.session import Session


LABEL_CELLS = 22
_DEFAULT = "default"  # the text of the option that leaves the property out


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

        @property
        def control(self) -> OptionField:
            """The field in which it was pressed."""
            return self.field

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
        at = (self._options.index(self._value) + by) % len(self._options)
        self._value = self._options[at]
        self.refresh()
        self.post_message(self.Changed())

    def action_submit(self) -> None:
        """Go on to the next line."""
        self.post_message(self.Submitted(self))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_turn(1)


class FieldRow(Vertical):
    """A field with its label; a mistake stands below it."""

    def __init__(self, field: Field[Any], value: str, options: Sequence[str], glyphs: GlyphSet) -> None:
        """``options`` are what can be chosen; without any a text is typed."""
        super().__init__(classes="field-row")
        self._field = field
        self._glyphs = glyphs
        # In parentheses it is no value, even without colours.
        placeholder = f"({field.hint.partition(';')[0]})" if field.hint else ""
        identity = f"entry-{field.name.replace('.', '_')}"
        self.entry: TextField | OptionField = (
            OptionField(value, options, glyphs, id=identity)
            if options
            else TextField(value, id=identity, placeholder=placeholder, select_on_focus=True)
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


_SECTION_LINES = 2  # an empty one and the heading


class FormInputs(Vertical):
    """The inputs of an action. The fields and the editor of the body take turns; each keeps what the other says."""

    @dataclass
    class Changed(Message):
        """Something was typed or chosen."""

    @dataclass
    class Submitted(Message):
        """Enter was pressed in the last input."""

    def __init__(self, session: Session, action: Action) -> None:
        """Begin with the defaults of the action."""
        super().__init__(id="form-side")
        self._session = session
        self._action = action
        self._rows = {
            entry.name: FieldRow(entry, action.defaults[entry.name], action.options[entry.name], session.glyphs)
            for entry in action.type.fields
        }
        self.shows_body = False
        self._base = action.document.start
        self._text = self._shown_text = ""  # of the body: as it was left, and as it was shown last
        self._text_body: Body | None = None  # what the text says

    def compose(self) -> ComposeResult:
        with Vertical(id="fields"):
            for entry in self._action.type.fields:
                if entry.section:
                    yield Static(Content(entry.section), classes="section")
                yield self._rows[entry.name]
        body = TextArea("", show_line_numbers=True, compact=True, id="body")
        body.cursor_blink = False
        body.display = False
        yield body

    @property
    def _editor(self) -> TextArea:
        return self.query_one("#body", TextArea)

    def focus_first(self) -> bool:
        """Put the cursor into the first input; return False if there is none."""
        if self._rows:
            next(iter(self._rows.values())).entry.focus()
        return bool(self._rows)

    @property
    def line_count(self) -> int:
        """The number of lines that the fields take."""
        sections = sum(_SECTION_LINES for entry in self._action.type.fields if entry.section)
        return sum(max(1, row.size.height) for row in self._rows.values()) + sections

    @property
    def focused_field(self) -> tuple[AnyField, str] | None:
        """The field that has the focus, and its text; None if another widget has it."""
        for entry in self._action.type.fields:
            widget = self._rows[entry.name].entry
            if widget.has_focus:
                return entry, widget.value
        return None

    @property
    def confirms_on_enter(self) -> bool:
        """True if the last input has the focus, where Enter confirms instead of going on."""
        return any(self._is_last(row.entry) and row.entry.has_focus for row in self._rows.values())

    def _is_last(self, entry: Input | OptionField) -> bool:
        return entry is self._rows[self._action.type.fields[-1].name].entry

    # -- reading -------------------------------------------------------------------------------------------------

    def _texts(self) -> dict[str, str]:
        return {name: row.entry.value for name, row in self._rows.items()}

    def read(self) -> FormResult:
        """Return what is typed as commands, or its mistakes."""
        if self.shows_body:
            return self._action.read_body(self._editor.text)
        return self._action.read_fields(self._texts(), self._base)

    @property
    def has_changes(self) -> bool:
        """True if something was typed that is not what the form began with."""
        if self._base != self._action.document.start:
            return True
        if self.shows_body:
            return self._editor.text != self._shown_text
        return self._texts() != self._action.defaults

    # -- fields and body -----------------------------------------------------------------------------------------

    def toggle_body(self) -> str:
        """Show the body in place of the fields, or the fields in place of the body; return why that is impossible."""
        return self._show_fields() if self.shows_body else self._show_body()

    def _show_body(self) -> str:
        texts = self._texts()
        body, mistakes = self._action.body_of(self._base, texts)
        unread = next((each for each in mistakes if texts[each.name].strip()), None)
        if unread is not None:
            self._rows[unread.name].entry.focus()
            return unread.sentence
        if body != self._text_body:
            self._text = text_of(body)
        self._base = body
        self._editor.text = self._shown_text = self._text
        self._switch(shows_body=True)
        self._editor.focus()
        return ""

    def _show_fields(self) -> str:
        text = self._editor.text
        base = self._action.base_for(text)
        if isinstance(base, str):
            return base
        self._base = self._text_body = dict(base)
        self._text = text
        for name, value in self._action.texts_of(base).items():
            self._rows[name].entry.value = value
        self._switch(shows_body=False)
        self.focus_first()
        return ""

    def _switch(self, *, shows_body: bool) -> None:
        self.shows_body = shows_body
        self._editor.display = shows_body
        self.query_one("#fields").display = not shows_body

    # -- drawing -------------------------------------------------------------------------------------------------

    def show(self, result: FormResult, *, shows_missing: bool) -> None:
        """Show each mistake below its field, those of empty fields only if ``shows_missing``.

        Where there is no mistake a warning is shown.
        """
        cells = self.query_one("#fields").size.width - 2
        found: dict[str, str] = {}
        warned = {each.name: each.message for each in reversed(result.warnings)}
        for each in (*result.mistakes, *result.refusals):
            is_missing = each.name in self._rows and not self._rows[each.name].entry.value.strip()
            if shows_missing or not is_missing:
                found.setdefault(each.name, each.message)
        for name, row in self._rows.items():
            said = self._session.text(found.get(name) or warned.get(name, ""))
            row.show_problem(said, cells, is_warning=name not in found)

    def show_labels(self) -> None:
        """Show the labels, that of the field with the focus brighter."""
        for row in self._rows.values():
            row.show_label()

    def go_to(self, mistake: FormMistake) -> None:
        """Put the cursor where a mistake is."""
        if self.shows_body:
            if mistake.line:
                self._editor.move_cursor((mistake.line - 1, mistake.column - 1))
        elif mistake.name in self._rows:
            self._rows[mistake.name].entry.focus()

    # -- messages of the inputs ----------------------------------------------------------------------------------

    @on(Input.Changed)
    @on(OptionField.Changed)
    def _take(self, message: Message) -> None:
        """Take what is typed or chosen so far."""
        message.stop()
        self.post_message(self.Changed())

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.shows_body:
            self.post_message(self.Changed())

    @on(Input.Submitted)
    @on(OptionField.Submitted)
    def _go_on(self, message: Input.Submitted | OptionField.Submitted) -> None:
        """Go to the next input, or on after the last one."""
        message.stop()
        if not self._is_last(message.control):
            self.screen.focus_next()
        else:
            self.post_message(self.Submitted())
