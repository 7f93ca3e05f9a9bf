"""The study of a scenario: its variants, the runs of one, of which any is opened, and the form that asks what to study.

The variants stand in a table above the plot of end against cost, while runs are played.
"""

from __future__ import annotations

from os.path import commonprefix
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content

from engine.base.errors import ScenarioError
from engine.base.values import SECOND_MS
from engine.scenario.locations import completions
from engine.scenario.tree import parse_valid
from engine.studies.measures import may_go_on
from engine.studies.outcome import deadline_s
from engine.studies.runs import DEFAULT_SEEDS, Run
from tui.dialogs.form_fields import FieldRow
from tui.dialogs.pickers import NameFinder
from tui.dialogs.sheets import HelpScreen, Sheet
from tui.textual.overrides import set_subtitle, set_title
from tui.textual.screens import Frame, Modal, say
from tui.textual.views import LinesView, TextField
from tui.viewmodels import format as fmt
from tui.viewmodels.actions.action import Field
from tui.viewmodels.sheets import HelpPage, problem_lines
from tui.viewmodels.study import (
    RESULTS,
    SEEDS,
    StudyRequest,
    factor_lines,
    field_of,
    legend_line,
    plan,
    progress_line,
    said_lines,
    size_text,
)
from tui.viewmodels.study_results import VariantsModel, dots_of, run_texts, scatter_lines
from tui.viewmodels.text import Role, Span, block_lines, clip, line, wrapped
from tui.widgets.table import Table
from tui.widgets.texts import Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from textual import events
    from textual.app import ComposeResult

    from engine.scenario.model import Scenario
    from engine.studies.runs import Study
    from tui.textual.keys import Keymap
    from tui.viewmodels.session import Session
    from tui.viewmodels.study import StudyModel
    from tui.viewmodels.text import Line


_CLOCK_S = 1.0  # between two updates without news
_MOST_SAID = 4  # lines below table and plot, unless the recommendation needs more
_FRAME = 2  # lines


class StudyActions(NamedTuple):
    """The actions of the main screen that this dialog needs."""

    open_run: Callable[[Run], object]
    ask: Callable[[], object]  # what to study


class StudyScreen(Modal[None]):
    """Table and plot of a study, with its progress and its recommendation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,V", "dismiss", "close; the study goes on", id="study.close"),
        Binding("f", "ask", "other factors and seeds", id="study.ask"),
        Binding("c", "stop", "stop the study, or continue it", id="study.stop"),
        Binding("d", "details", "everything about the variant", id="study.details"),
        Binding("question_mark,f1", "help", "help", id="study.help"),
    ]
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("table.open", "open a run"),
        ("study.stop", "stop"),
        ("study.ask", "factors"),
        ("study.details", "details"),
        ("table.sort", "sort"),
        ("study.help", "help"),
        ("study.close", "close"),
    )
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-short"), (30, "-tall")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, study: StudyModel, keymap: Keymap, actions: StudyActions) -> None:
        super().__init__()
        self.study = study
        self._session = session
        self._keymap = keymap
        self._actions = actions
        self._model = VariantsModel(session, study)
        self._divided: int | str = 0  # the height of the table
        self._shown_problems = False

    def compose(self) -> ComposeResult:
        with Container(id="study"):
            yield LinesView(id="study-progress")
            with Vertical(id="study-panes", classes="body"):
                yield Table(self._model)
                yield LinesView(id="study-plot", classes="panel")
            yield LinesView(id="study-said")
            yield Prompt()

    def on_mount(self) -> None:
        scenario = self.study.scenario.name
        self.query_one("#study").border_title = Content(self._session.text(f"Study of {scenario}"))
        until = " until done" if may_go_on(self.study.scenario) else ""
        self.query_one("#study-plot").border_title = f"End against cost{until}"
        self.query_one(Table).focus()
        self.call_after_refresh(self._begin)
        self._clock = self.set_interval(_CLOCK_S, self._tick)

    def _begin(self) -> None:
        """Show the study, with the cursor where it was left."""
        self.update()
        if self.study.cursor is not None:
            self.query_one(Table).move_to_key(self.study.cursor)

    def _point_out(self, table: Table) -> None:
        """Move the cursor once to the recommended variant, unless the user has moved it."""
        best = self.study.summary.recommended if self.study.is_complete else None
        if best is not None and self.study.cursor is None and table.chosen_key is None:
            self.study.cursor = best
            table.move_to_key(best)

    def _tick(self) -> None:
        """Show how the time goes by, until the study has ended."""
        if not self.study.background.is_under_way:
            self._clock.stop()
        self.update()

    def on_unmount(self) -> None:
        self.study.arrangement = self._model.remembered()

    # -- drawing -------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Show the results so far."""
        if not self.is_mounted or not self.size.width:
            return
        self.study.update()
        table = self.query_one(Table)
        table.update()
        self._point_out(table)
        self._divide(table)
        self._show_lines(table)
        problems = self.study.background.problems
        if problems and not self._shown_problems:
            self._shown_problems = True
            self.app.push_screen(Sheet("The study cannot be played", lambda cells: problem_lines(problems, cells)))

    fill = update

    def _divide(self, table: Table) -> None:
        """Give the table its lines above the plot, at most half of the height. On a low screen there is no plot."""
        lines = min(self._model.count + 1 + _FRAME, self.query_one("#study-panes").size.height // 2)
        height = "1fr" if self.has_class("-low") else lines
        if height != self._divided:
            self._divided = height
            table.styles.height = height
            self.call_after_refresh(self.update)

    def _show_lines(self, table: Table) -> None:
        study, session = self.study, self._session
        stop_key = self._keymap.shown("study.stop")
        self.query_one("#study-progress", LinesView).show([progress_line(study, session.glyphs, stop_key)])
        hidden = table.hidden_columns if self._model.count else 0
        more = f"{hidden} more column{'s' * (hidden > 1)}, {self._keymap.shown('study.details')}" if hidden else ""
        set_title(table, f"Variants {self._model.count:,}", more)
        set_subtitle(self.query_one("#study"), size_text(study.study))
        plot = self.query_one("#study-plot", LinesView)
        plot.show(self._plot_lines(*plot.size) if plot.size.area else ())
        view = self.query_one("#study-said", LinesView)
        most = _MOST_SAID - self.has_class("-short") - 2 * self.has_class("-low")
        lines = said_lines(study, table.key, session.glyphs, max(20, self.size.width - 4), most)
        view.styles.height = max(1, len(lines))
        view.show(lines)
        is_over = not study.background.is_under_way
        said = {"stop": "continue"} if is_over else {}
        hints = [(self._keymap.shown(identity), said.get(does, does)) for identity, does in self._hints()]
        self.query_one(Prompt).show_hints(hints)

    def _hints(self) -> list[tuple[str, str]]:
        can_stop = self.study.background.is_under_way or self.study.background.can_go_on
        return [hint for hint in self.HINTS if hint[0] != "study.stop" or can_stop]

    def _plot_lines(self, cells: int, rows: int) -> list[Line]:
        """Return the plot with its legend."""
        glyphs = self._session.glyphs
        due_s = deadline_s(self.study.scenario.expect)
        clock = "" if due_s is None else self._session.clock(round(due_s * SECOND_MS))
        plot = scatter_lines(dots_of(self.study), self.query_one(Table).key, cells, rows - 1, glyphs, due_s, clock)
        return [*plot, *[()] * (rows - 1 - len(plot)), legend_line(self.study, glyphs)]

    # -- messages of the table -----------------------------------------------------------------------------------

    on_table_arranged = on_screen_resume = update

    def on_table_moved(self) -> None:
        """Highlight the variant under the cursor."""
        table = self.query_one(Table)
        if table.chosen_key is not None:
            self.study.cursor = table.chosen_key
        self._divide(table)  # it may have been too small before to know what it needs
        self._show_lines(table)

    def on_table_opened(self, message: Table.Opened) -> None:
        """List the runs of a variant, and open the one that is chosen."""
        self.study.cursor, results = message.key, self.study.results_by_end(message.key)

        def opened(at: int | None) -> None:
            if at is not None:
                self._actions.open_run(Run(message.key, results[at]["seed"]))

        texts = run_texts(self.study, message.key, self._session.glyphs)
        if texts:
            finder = NameFinder(f"Runs of variant {message.key:,}", texts, pointer=self._session.glyphs.cursor)
            self.app.push_screen(finder, opened)
        else:
            say(self, f"No run has ended yet of variant {message.key:,}.")

    # -- keys ----------------------------------------------------------------------------------------------------

    def action_ask(self) -> None:
        self._actions.ask()

    def action_stop(self) -> None:
        """Stop the study; the results are kept, and it can be continued."""
        background = self.study.background
        if background.is_under_way:
            background.stop()
            self.update()
            say(self, f"Stopping. {self._keymap.shown('study.stop')} continues.")
        elif background.can_go_on:
            background.go_on()
            self._clock = self.set_interval(_CLOCK_S, self._tick)
            self.update()
        else:
            say(self, f"All is played. {self._keymap.shown('study.ask')} begins another study.")

    def action_details(self) -> None:
        """Show the whole values and all measures of the variant under the cursor."""
        key = self.query_one(Table).key
        if key is not None:
            blocks = self._model.blocks(key)
            self.app.push_screen(Sheet(f"Variant {key:,}", lambda cells: block_lines(blocks, cells)))

    def action_help(self) -> None:
        about, pane = HelpPage("Study", fmt.help_on("Study"), self._model.columns), self.query_one(Table)
        self.app.push_screen(HelpScreen(about, self._keymap, self._session.glyphs, pane, StudyScreen))


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
