"""Keys that move simulated time, show another run, or show a study and open its runs.

Another run is one from the start again, with another seed, after an edit, or of another scenario.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine import ScenarioError, Simulation, load_scenario
from engine.base.values import quoted
from engine.pacing import FASTEST
from engine.studies.runs import chosen_again
from tui.app.view_screen import ViewScreen
from tui.dialogs.scenarios import ScenarioPicker, StudyForm
from tui.dialogs.sheets import Pick, Picker, Sheet
from tui.dialogs.study import StudyActions, StudyScreen
from tui.saving.session_files import NEW_EMPTY
from tui.textual.screens import GoToFailure, GoToTime, OfferRestart, ShowRun, StudyFormula, StudyNews, say
from tui.viewmodels import format as fmt
from tui.viewmodels.autoscale import formula_request
from tui.viewmodels.moments import Bookmarks, compare_lines
from tui.viewmodels.report import reloaded_note
from tui.viewmodels.sheets import EMPTY_TEXT, problem_lines
from tui.viewmodels.study import (
    Studies,
    StudyModel,
    StudyRequest,
    end_note,
    first_request,
    parse_request,
    plan,
    short_progress,
    without_variant,
)
from tui.widgets.texts import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine import Scenario
    from engine.scenario.model import ChosenVariant
    from engine.studies.runs import Run, Study
    from tui.saving.session_files import Recorder
    from tui.saving.settings import Settings
    from tui.viewmodels.session import Session


class TimeKeys(ViewScreen):
    """Play, step, seek, search, speed, branches and bookmarks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "run or pause simulated time", id="time.play"),
        Binding("full_stop", "step", "one event forward", id="time.step"),
        Binding("comma", "back", "one event back", id="time.back"),
        Binding("i", "finish_instant", "to the end of this instant", id="time.instant"),
        Binding("semicolon", "next_event", "to the next event of the row", id="time.row"),
        Binding("right_square_bracket", "faster", "faster", id="time.faster"),
        Binding("left_square_bracket", "slower", "slower", id="time.slower"),
        Binding("equals_sign", "set_speed(1)", "speed 1x", id="time.real"),
        Binding("right_curly_bracket", "set_speed(0)", "as fast as possible", id="time.max"),
        Binding("Z", "cross_quiet", "cross stretches without events at once, or play them", id="time.cross"),
        Binding("t", "ask_time", "go to a time", id="time.go"),
        Binding("G,ctrl+end", "go_to_end", "go to the end of the run", id="time.end"),
        Binding("b", "branch", "branch here", id="time.branch"),
        Binding("B", "bookmark", "bookmark this moment", id="time.bookmark"),
        Binding("c", "compare", "compare with a bookmark or an earlier run", id="time.compare"),
    ]

    def __init__(self, session: Session, recorder: Recorder, settings: Settings) -> None:
        super().__init__(session, recorder, settings)
        self.bookmarks = Bookmarks(session)

    def action_play(self) -> None:
        """Play, or pause whatever is going on."""
        self.playback.play()

    def action_step(self) -> None:
        """Let one event happen."""
        self.playback.step()

    def action_back(self) -> None:
        """Go to the moment of the previous event."""
        self.playback.back()

    def action_finish_instant(self) -> None:
        """Let everything happen that is due at this moment."""
        self.playback.finish_instant()

    def action_next_event(self) -> None:
        """Go on until something happens to the subject under the cursor."""
        subject, events = self.under_cursor, self.session.events
        if subject is None:
            say(self, "; goes to the next event of a row: put the cursor on one.")
        else:
            self.playback.search(lambda index: events.is_about(index, *subject), "Nothing more happens to it.")

    def on_go_to_failure(self, message: GoToFailure) -> None:
        """Go to the next or the previous failure."""
        self.playback.seek_failure(message.by)

    def on_go_to_time(self, message: GoToTime) -> None:
        """Go to a moment that was clicked."""
        self.playback.seek(message.when_ms)

    def action_ask_time(self) -> None:
        """Ask for a moment to go to."""
        self.ask("go to: +5m, -30s, 10:42, PT5M, start, end, failure", self.go_to_time)

    def action_go_to_end(self) -> None:
        """Go to the end of the run, or in the past to the newest moment."""
        self.playback.seek_end()

    def go_to_time(self, text: str) -> None:
        """Go to the moment that was typed. Raises AnswerError."""
        session, simulation = self.session, self.session.simulation
        match text.strip():
            case "start":
                self.playback.seek(0)
            case "end":
                self.playback.seek_end()
            case "failure" | "next failure":
                self.playback.seek_failure(1)
            case typed:
                try:
                    when_ms = fmt.parse_moment(
                        typed, simulation.scenario.start, simulation.now_ms, session.last_known_ms
                    )
                except ValueError as error:
                    raise AnswerError(str(error)) from None
                self.playback.seek(max(0, when_ms), partial(self._say_if_outside, when_ms))

    def _say_if_outside(self, when_ms: int) -> None:
        """Say that the run has no such moment if it begins later or has ended before."""
        session = self.session
        if when_ms < 0:
            say(self, f"The run begins here, at {session.clock(0)}: nothing happens earlier.")
        elif session.is_over and session.now_ms < when_ms:
            say(self, f"The run ends here, at {session.clock(session.now_ms)}: nothing happens later.")

    # -- speed ---------------------------------------------------------------------------------------------------

    def action_faster(self) -> None:
        """Take the next higher speed."""
        self.playback.choose_speed(self.playback.pacer.faster())
        self.update_header()

    def action_slower(self) -> None:
        """Take the next lower speed."""
        self.playback.choose_speed(self.playback.pacer.slower())
        self.update_header()

    def action_set_speed(self, speed: float) -> None:
        """Take a speed; 0 is as fast as possible."""
        self.playback.choose_speed(speed or None)
        self.update_header()
        if not speed and not self.playback.pacer.playing:
            end, play = self.keymap.shown("time.end"), self.keymap.shown("time.play")
            say(self, f"As fast as possible: {play} runs, {end} goes to the end.")

    def action_cross_quiet(self) -> None:
        """Cross stretches in which nothing happens at once, or play them."""
        crosses = not self.settings.value("cross_quiet")
        self.settings.choose("cross_quiet", crosses)
        self.playback.pacer.crosses_quiet = crosses
        self.playback.take_usual_speed()
        say(self, "Stretches without events are crossed at once." if crosses else "Every stretch of time is played.")
        self.update_header()

    def take_speed(self, text: str) -> None:
        """Take the speed that was typed. Raises AnswerError."""
        try:
            speed = float(text.strip().lower().lstrip("x").replace("max", "0"))
        except ValueError:
            speed = -1
        if not 0 <= speed <= FASTEST:
            raise AnswerError(f"{quoted(text)} is not a speed: must be a number, or max.")
        self.action_set_speed(speed)

    # -- branches and bookmarks ----------------------------------------------------------------------------------

    def action_branch(self) -> None:
        """Make the moment that is shown the present."""
        self.playback.stop_seeking()
        if not self.session.is_past:
            say(self, "This is the present; , goes back.")
            return
        self.bookmarks.keep_run()
        undone = len(self.session.simulation.branch())
        now_ms, crossed = self.session.now_ms, self.session.crossed
        crossed[:] = [stretch for stretch in crossed if stretch[1] <= now_ms]
        loss = f" {fmt.counted(undone, 'later command')} {'is' if undone == 1 else 'are'} undone." if undone else ""
        say(self, f"Branched: time goes on from here.{loss} c compares with the run that was left.")
        self.update()

    def action_bookmark(self) -> None:
        """Remember the present moment."""
        number = self.bookmarks.add()
        say(self, f"Bookmark {number}: {self.session.clock(self.session.now_ms)}. ' goes there, c compares.")

    def action_compare(self) -> None:
        """Compare the present moment with a bookmark, or with a run that was left."""
        self.playback.pause()
        session, here, others = self.session, self.bookmarks.here(), self.bookmarks.others()

        def show(number: int) -> None:
            other = others[number]
            self.app.push_screen(Sheet("Compare", lambda cells: compare_lines(session, here, other, cells)))

        nothing = "There is nothing to compare with yet: B bookmarks a moment, b branches from one."
        self.pick("Compare this moment with", [other.name for other in others], show, nothing)


class ScenarioKeys(TimeKeys):
    """Start again, open, reload. A run that would be lost with commands given by hand is asked about first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "open_scenario", "open another scenario", id="scenario.open"),
        Binding("ctrl+r", "reload", "reload the scenario after an edit, at this moment", id="scenario.reload"),
    ]

    # -- the same scenario ---------------------------------------------------------------------------------------

    def on_offer_restart(self, _: OfferRestart) -> None:
        """Offer what can be done when the run is over."""
        seed = self.session.simulation.seed
        offers: list[tuple[Pick, Callable[[], None]]] = [
            (Pick("r", f"start again, with the same seed {seed}", also=" "), self.restart),
            (Pick("n", f"run with the next seed, {seed + 1}"), partial(self.run_with_seed, seed + 1)),
            (Pick("o", "open another scenario"), self.action_open_scenario),
        ]

        def do(number: int | None) -> None:
            if number is not None:
                offers[number][1]()

        self.app.push_screen(
            Picker("The run is over", [pick for pick, _ in offers], pointer=self.session.glyphs.cursor), do
        )

    def restart(self) -> None:
        """Play the run again from its start, with the commands given by hand."""
        self.playback.seek(0, self.playback.play)

    def run_with_seed(self, seed: int) -> None:
        """Run the scenario with another seed from its start."""
        scenario = self.session.simulation.scenario
        self._leave_for(lambda: self.post_message(ShowRun(Simulation(scenario, seed=seed))))

    def take_seed(self, text: str) -> None:
        """Run with the seed that was typed; without one, with the next one. Raises AnswerError."""
        text = text.strip()
        if text and not text.lstrip("-").isdecimal():
            raise AnswerError(f"{quoted(text)} is not a seed: must be a whole number.")
        self.run_with_seed(int(text) if text else self.session.simulation.seed + 1)

    def action_reload(self) -> None:
        """Read the file of the scenario again, and go to this moment of its run."""
        simulation = self.session.simulation
        before = simulation.scenario.variant
        scenario = self._load(simulation.scenario.source.path, before)
        if scenario is None:
            return
        at_ms, view = self.session.now_ms, self.view.id or ""
        said = reloaded_note(before, scenario.variant)
        again = ShowRun(Simulation(scenario, seed=simulation.seed), at_ms, plays=False, view=view, said=said)
        self._leave_for(lambda: self.post_message(again))

    # -- another scenario ----------------------------------------------------------------------------------------

    def action_open_scenario(self) -> None:
        """Let the user choose a bundled scenario or a file, and open it."""
        self.playback.pause()
        self.app.push_screen(ScenarioPicker(self.session.glyphs), self._open)

    def open_named(self, name: str) -> None:
        """Open the scenario with this name or path; without one, let the user choose."""
        if name.strip():
            self._open(name.strip())
        else:
            self.action_open_scenario()

    def _open(self, name: str | None) -> None:
        scenario = None if name is None else self._load(name)
        if scenario is not None:
            self._leave_for(lambda: self.post_message(ShowRun(Simulation(scenario))))

    def _load(self, name: str, variant: ChosenVariant | None = None) -> Scenario | None:
        """Return a scenario, the same variant of it if there was one, or show what is wrong with it."""
        try:
            scenario = load_scenario(name, text=EMPTY_TEXT if name == NEW_EMPTY else None)
            return scenario if variant is None else chosen_again(scenario, variant)
        except ScenarioError as error:
            problems = error.problems
            title = f"{len(problems):,} mistakes, nothing has changed" if len(problems) > 1 else "Nothing has changed"
            self.app.push_screen(Sheet(title, lambda cells: problem_lines(problems, cells)))
        return None

    # -- leaving this run ----------------------------------------------------------------------------------------

    def _leave_for(self, show: Callable[[], object]) -> None:
        """Show another run. If commands given by hand are not saved, ask what is to become of them."""
        self.playback.pause()
        if not self.recorder.is_unsaved:
            show()
            return

        def answered(number: int | None) -> None:
            if number == 0:
                say(self, self.recorder.save_somewhere())
            if number is not None:
                show()

        picks = [
            Pick("s", "save what was done by hand as a scenario, then go on"),
            Pick("d", "go on without saving it"),
        ]
        self.app.push_screen(
            Picker("Commands given by hand are not saved", picks, pointer=self.session.glyphs.cursor), answered
        )


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
