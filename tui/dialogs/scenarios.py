"""Dialogs that ask what to run: the scenario picker, and the form that asks what to study.

The picker filters bundled scenarios and files by typing, with a note of what each shows. The form asks for factors,
seeds, and a file for the results.
"""

from __future__ import annotations

from functools import partial
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input

from engine.base.errors import ScenarioError
from engine.scenario.locations import completions
from engine.scenario.tree import parse_valid
from engine.studies.runs import DEFAULT_SEEDS
from tui.dialogs.form_fields import FieldRow
from tui.dialogs.pickers import Finder
from tui.textual.screens import Frame, Modal
from tui.textual.views import LinesView, TextField
from tui.viewmodels.actions.action import Field
from tui.viewmodels.sheets import ScenarioEntry, offered, preview, scenario_line
from tui.viewmodels.study import (
    RESULTS,
    SEEDS,
    StudyRequest,
    factor_lines,
    field_of,
    plan,
    size_text,
)
from tui.viewmodels.text import Role, Span, clip, line, wrapped
from tui.widgets.rows import Choices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer

    from engine.scenario.model import Scenario
    from engine.studies.runs import Study
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.session import Session


_REST_S = 0.05


class ScenarioPicker(Finder[str | None]):
    """Returns the name or path of the scenario that was chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "take the name under the cursor", show=False, priority=True, id="scenarios.tab"),
    ]

    def __init__(self, glyphs: GlyphSet) -> None:
        hint = "part of a name, or a path such as ./mine.yaml"
        super().__init__("Open a scenario", hint, pointer=glyphs.cursor)
        self._entries: list[ScenarioEntry] = []
        self._rest: Timer | None = None  # until the cursor rests

    def compose(self) -> ComposeResult:
        with Frame(self._title, "type to filter, or a path  enter opens  esc close", id="scenarios"):
            yield self.entry("wanted")
            with Horizontal():
                yield self.found("offered")
                yield LinesView(id="about")

    @property
    def _entry(self) -> ScenarioEntry | None:
        number = self.query_one(Choices).number
        return self._entries[number] if 0 <= number < len(self._entries) else None

    def find(self, text: str) -> None:
        """List what fits a text, and what the first one shows."""
        self._entries = offered(text)
        lines = [(number, scenario_line(entry, self.cells)) for number, entry in enumerate(self._entries)]
        self.query_one(Choices).show(lines)
        self.on_choices_moved()

    def on_choices_moved(self) -> None:
        """Show what the scenario under the cursor is about, and its mistakes if the cursor rests there."""
        self._show_preview(checks=False)
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_REST_S, partial(self._show_preview, checks=True))

    def _show_preview(self, *, checks: bool) -> None:
        about = self.query_one("#about", LinesView)
        about.show(preview(self._entry, max(20, about.size.width - 2), checks=checks))

    def action_complete(self) -> None:
        """Put the name under the cursor into the text."""
        if self._entry is not None:
            self._type(self._entry.name)

    def on_input_submitted(self) -> None:
        """Return a path that is not listed; one that is listed is chosen."""
        if not self._entries and self.typed.strip():
            self.dismiss(self.typed.strip())

    def choose(self, number: int) -> None:
        """Return the scenario, or look into the directory."""
        entry = self._entries[number]
        if entry.is_directory:
            self._type(entry.name)
        else:
            self.dismiss(entry.name)

    def _type(self, text: str) -> None:
        entry = self.query_one(Input)
        entry.value = text
        entry.cursor_position = len(text)
        entry.focus()


_FACTORS = 4  # fields for factors, at least
_READ_AT_ONCE = 200_000  # characters of a scenario that is read at each key
_MOST_OFFERED = 12
_AROUND = 5  # lines: the frame, two gaps, and what can follow


class StudyForm(Modal[tuple[StudyRequest, "Study"] | None]):
    """Returns what is wanted and the study that it makes, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", id="study-form.close"),
        Binding("ctrl+s,ctrl+enter", "confirm", "begin the study", id="study-form.confirm"),
        Binding("tab", "complete", "complete the path, else the next line", priority=True, id="study-form.complete"),
        Binding("down", "app.focus_next", "next line", show=False, id="study-form.next"),
        Binding("up,shift+tab", "app.focus_previous", "previous line", show=False, id="study-form.before"),
    ]

    def __init__(self, session: Session, scenario: Scenario, request: StudyRequest) -> None:
        """Begin with an earlier request; ``scenario`` is the one to study, not a variant of it."""
        super().__init__()
        self._session = session
        self._scenario = scenario
        self._root = parse_valid(scenario.source.text)
        seeds = len(scenario.study.seeds or DEFAULT_SEEDS)
        count = max(_FACTORS, len(request.vary) + 1)
        factors = {f"factor-{at}": Field[Any](f"factor-{at}", f"Factor {at + 1}", "PATH=VALUES") for at in range(count)}
        fields = factors | {
            SEEDS: Field[Any](SEEDS, "Seeds", f"{seeds}; a number, or a range such as 1..20"),
            RESULTS: Field[Any](RESULTS, "Results file", "none; a file keeps what is played"),
        }
        texts = {f"factor-{at}": option for at, option in enumerate(request.vary)}
        texts |= {SEEDS: request.seeds, RESULTS: request.results}
        self._is_asked = False  # somebody has tried to begin: mistakes stand below their lines
        self._factors = list(factors)
        self._rows = {name: FieldRow(field, texts.get(name, ""), (), session.glyphs) for name, field in fields.items()}

    def compose(self) -> ComposeResult:
        title = f"Study {self._scenario.name}"
        with Frame(self._session.text(title), "enter begins  tab completes  esc close", id="study-form"):
            yield LinesView(id="study-about")
            yield from self._rows.values()
            yield LinesView(id="study-offer")

    def on_mount(self) -> None:
        empty = (row for row in self._rows.values() if not row.entry.value)
        next(empty, self._rows[SEEDS]).entry.focus()
        self.call_after_refresh(self.fill)

    # -- what is typed -------------------------------------------------------------------------------------------

    @property
    def _request(self) -> StudyRequest:
        vary = tuple(text for name in self._factors if (text := self._rows[name].entry.value.strip()))
        return StudyRequest(vary, *(self._rows[name].entry.value.strip() for name in (SEEDS, RESULTS)))

    def _read(self) -> tuple[Study | None, dict[str, str], list[str]]:
        """Return the study that was typed; else the mistake of each field, and those of none."""
        request, found, others = self._request, dict[str, str](), list[str]()
        try:
            return plan(self._scenario, request), {}, []
        except ScenarioError as error:
            used = [name for name in self._factors if self._rows[name].entry.value.strip()]
            for problem in error.problems:
                at = field_of(problem, request)
                if at is None:
                    others.append(str(problem))
                else:
                    found.setdefault(SEEDS if at == SEEDS else used[int(at)], problem.message)
        return None, found, others

    def on_input_changed(self) -> None:
        """Show what can follow, and how large the study would be."""
        if self._is_asked:
            self._show_problems(self._read()[1])
        self._show_offer()

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        """Show what can be typed into the line that has the focus now."""
        if self.is_attached:
            self._show_offer()

    def action_confirm(self) -> None:
        """Return the study, unless something typed is wrong."""
        study, found, others = self._read()
        if study is not None:
            self.dismiss((self._request, study))
            return
        self._is_asked = True
        self._show_problems(found)
        first = next((row for name, row in self._rows.items() if name in found), None)
        if first is not None:
            first.entry.focus()
        if others:
            self.notify(self._session.text(others[0]), severity="error")

    on_input_submitted = action_confirm

    def _show_problems(self, found: Mapping[str, str]) -> None:
        """Show each mistake below its line."""
        cells = self.query_one("#study-form").size.width - 2
        for name, row in self._rows.items():
            row.show_problem(self._session.text(found.get(name, "")), cells, is_warning=False)

    # -- completion ----------------------------------------------------------------------------------------------

    @property
    def _typed_path(self) -> str | None:
        """The path in the line that has the focus; None where there is none, or its values are being typed."""
        name = next((name for name, row in self._rows.items() if row.entry.has_focus), "")
        text = self._rows[name].entry.value if name in self._factors else "="
        return None if "=" in text else text

    def action_complete(self) -> None:
        """Complete the path, else go to the next line."""
        path = self._typed_path
        offered = [] if not path else completions(self._root, path)
        prefix = commonprefix(offered)  # noqa: RUF071  # paths of a document
        if len(offered) == 1:
            prefix += "." if completions(self._root, f"{prefix}.") else "="
        entry = self.focused
        if path and len(prefix) > len(path) and isinstance(entry, TextField):
            entry.value = prefix
            entry.cursor_position = len(prefix)
        else:
            self.focus_next()

    # -- drawing -------------------------------------------------------------------------------------------------

    def fill(self) -> None:
        view = self.query_one("#study-about", LinesView)
        cells = max(20, view.size.width - 1)
        said = ["Every combination of the values is a variant: a.b.c=1,2,4 or 10..80:10 or null."]
        known = factor_lines(self._scenario.study.factors)
        if known:
            said += ["The scenario varies these; the same path here replaces the values:", *known]
        lines = [line(Span(clip(each, cells), Role.DIM)) for text in said for each in wrapped(text, cells)[:2]]
        lines = lines[: max(1, self.size.height - len(self._rows) - _AROUND)]
        view.styles.height = len(lines)
        view.show(lines)
        for row in self._rows.values():
            row.show_label()
        self._show_offer()

    def _show_offer(self) -> None:
        view = self.query_one("#study-offer", LinesView)
        for row in self._rows.values():
            row.show_label()
        path = self._typed_path
        offered = [] if path is None else completions(self._root, path)[:_MOST_OFFERED]
        if offered:
            shown = (each.rpartition(".")[2] for each in offered)
            lines = [line(Span("tab ", Role.KEY), Span("  ".join(shown), Role.DIM))]
        elif len(self._scenario.source.text) <= _READ_AT_ONCE:
            study, found, others = self._read()
            said = size_text(study) if study is not None else next(iter([*found.values(), *others]))
            lines = [line(Span(self._session.text(said), Role.DERIVED if study is not None else Role.WARNING))]
        else:
            lines = [()]
        view.show(lines)
