"""Keys that show a study of the scenario, ask what to study, and open its runs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine import ScenarioError, Simulation
from tui.dialogs.picker import Pick, Picker
from tui.dialogs.sheet import Sheet
from tui.dialogs.study import StudyActions, StudyScreen
from tui.dialogs.study_form import StudyForm
from tui.screens.scenario_keys import ScenarioKeys
from tui.viewmodels.sheets.scenarios import problem_lines
from tui.viewmodels.study.formulas import formula_request
from tui.viewmodels.study.model import Studies, StudyModel, without_variant
from tui.viewmodels.study.request import StudyRequest, first_request, parse_request, plan
from tui.viewmodels.study.words import end_note, short_progress
from tui.widgets.messages import ShowRun, StudyFormula, StudyNews, say
from tui.widgets.prompt import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.scenario.model import Scenario
    from engine.studies.plan import Run, Study
    from tui.saving.recorder import Recorder
    from tui.settings.values import Settings
    from tui.viewmodels.session.session import Session


class StudyKeys(ScenarioKeys):
    """Begin a study, come back to it, and open one of its runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("V", "study", "run a study of this scenario, or show it", id="study.show"),
    ]

    def __init__(self, session: Session, recorder: Recorder, settings: Settings) -> None:
        super().__init__(session, recorder, settings)
        self.studies = Studies()  # the dashboard shares one among the screens of its runs

    # -- showing a study -----------------------------------------------------------------------------------------

    def action_study(self) -> None:
        """Show the study that there is; without one, begin that of the scenario, or ask what to study."""
        if self.studies.shown is not None:
            self._show_study()
        else:
            self.take_study("")

    def take_study(self, text: str) -> None:
        """Begin the study with the options in a line; without any, do as the key does. Raises AnswerError."""
        scenario = without_variant(self.session.simulation.scenario)
        shown = self.studies.shown
        if not text.strip() and shown is not None and shown.is_of(scenario):
            self._show_study()
            return
        before = self._last_request(scenario)
        try:
            request = parse_request(text, before)
            if not (request.vary or scenario.study.factors or text.strip()):
                self._ask_study(scenario, request)
                return
            self._begin_study(scenario, request, plan(scenario, request))
        except ScenarioError as error:
            problems = error.problems
            self.app.push_screen(Sheet("Nothing is studied", lambda cells: problem_lines(problems, cells)))
        except ValueError as error:
            if text.strip():
                raise AnswerError(str(error)) from None
            say(self, str(error), "error")

    def _last_request(self, scenario: Scenario) -> StudyRequest:
        first = first_request(self.session.simulation.scenario)
        return self.studies.requests.get(scenario.source.path, first)

    def ask_study(self) -> None:
        """Ask what to study of the scenario."""
        scenario = without_variant(self.session.simulation.scenario)
        self._ask_study(scenario, self._last_request(scenario))

    def _ask_study(self, scenario: Scenario, request: StudyRequest) -> None:
        def answered(answer: tuple[StudyRequest, Study] | None) -> None:
            if answer is not None:
                self._begin_study(scenario, *answer)

        self.playback.pause()
        self.app.push_screen(StudyForm(self.session, scenario, request), answered)

    def _begin_study(self, scenario: Scenario, request: StudyRequest, study: Study) -> None:
        """Begin a study in place of the present one; ask first if runs of that would be lost."""
        self.studies.requests[scenario.source.path] = request
        app = self.app

        def tell() -> None:
            with suppress(RuntimeError):  # the dashboard is closed
                app.post_message(StudyNews())

        def begin() -> None:
            before = self.studies.shown
            if before is not None:
                before.background.stop()
            after = None if before is None else before.background
            self.studies.shown = StudyModel(scenario, study, request, tell, after=after)
            self._show_study()
            if self.recorder.is_unsaved:
                say(self.app.screen, "The study plays the scenario without the commands given by hand.", "warning")

        self._unless_lost("begin another study", begin)

    def _unless_lost(self, what: str, then: Callable[[], object]) -> None:
        """Do something that ends the present study; ask first if its runs would be lost."""
        shown = self.studies.shown
        if shown is None or not shown.would_be_lost:
            then()
            return

        def answered(number: int | None) -> None:
            if number == 0:
                then()

        runs = f"{shown.background.done:,} of {shown.background.total:,} runs"
        picks = [Pick("y", f"yes, {what}; {runs} are lost"), Pick("n", "no, keep them")]
        self.app.push_screen(Picker("The results are in no file", picks, pointer=self.session.glyphs.cursor), answered)

    def _show_study(self) -> None:
        """Show the study, above everything else."""
        shown = self.studies.shown
        assert shown is not None
        self.playback.pause()
        on_top = self.app.screen
        if isinstance(on_top, StudyScreen):
            on_top.dismiss()
        actions = StudyActions(self._open_run, self.ask_study)
        self.app.push_screen(StudyScreen(self.session, shown, self.keymap, actions), lambda _: self.update_header())

    # -- while it is played --------------------------------------------------------------------------------------

    def take_study_news(self) -> None:
        """Take new results of the study, and say when it has ended while something else is shown."""
        shown = self.studies.shown
        if shown is None or self.is_left:
            return
        for screen in self.app.screen_stack:
            if isinstance(screen, StudyScreen):
                screen.update()
                return
        shown.update()
        self.update_header()
        if not shown.background.is_under_way:
            say(self, end_note(shown, self.keymap.shown("study.show")))

    def hints(self) -> list[tuple[str, str]]:
        """Return the hints, among them how far a study is that is under way."""
        found, under_way = super().hints(), self.studies.under_way
        return [*found[:1], ("study.show", short_progress(under_way)), *found[1:]] if under_way else found

    # -- opening a run -------------------------------------------------------------------------------------------

    def _open_run(self, run: Run) -> None:
        """Open a run of the study, as ``open --variant N --seed S`` does."""
        shown = self.studies.shown
        assert shown is not None
        try:
            scenario = shown.played(run)
        except ScenarioError as error:  # it was valid when it was studied; a file that it names may be another one
            problems = error.problems
            self.app.push_screen(Sheet("Nothing has changed", lambda cells: problem_lines(problems, cells)))
            return
        key = self.keymap.shown("study.show")
        values = shown.names.line_of(shown.tally.variant(run.variant))
        said = f"Variant {run.variant:,}{f' ({values})' if values else ''} with seed {run.seed}. {key} shows the study."
        opened = ShowRun(Simulation(scenario, seed=run.seed), said=said)
        self._leave_for(lambda: self.post_message(opened))

    # -- formulas ------------------------------------------------------------------------------------------------

    def on_study_formula(self, message: StudyFormula) -> None:
        """Study a formula against the present one of its pool, and against those that were studied before."""
        scenario = without_variant(self.session.simulation.scenario)
        known = self.studies.formulas.setdefault((scenario.source.path, message.pool_id), [])
        try:
            option = formula_request(scenario, self.session.simulation, message.pool_id, message.formula, known)
            request = StudyRequest((option,), self._last_request(scenario).seeds)
            self._begin_study(scenario, request, plan(scenario, request))
        except ScenarioError as error:
            problems = error.problems
            self.app.push_screen(Sheet("Nothing is studied", lambda cells: problem_lines(problems, cells)))
        except ValueError as error:
            say(self, str(error), "warning")
