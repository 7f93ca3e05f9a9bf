"""Commands that show another run, or show a study and open its runs.

Another run is one from the start again, with another seed, after an edit, or of another scenario. A run that would be
lost with commands given by hand is asked about first.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from engine import Problem, ScenarioError, Simulation, load_scenario
from engine.base.values import quoted
from engine.scenario.text import DIGIT_LIMIT
from engine.studies.runs import chosen_again
from tui import dialogs, viewmodels, workers
from tui.dialogs.sheets import Pick, Sheet
from tui.textual.keys import Command
from tui.textual.screens import ShowRun, StudyNews, say
from tui.viewmodels.sheets import EMPTY_TEXT, NEW_EMPTY, problem_lines
from tui.widgets.texts import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine import Scenario
    from engine.scenario.model import ChosenVariant
    from engine.specs.prices import PriceFile
    from engine.studies.runs import Run, Study
    from tui.app.view_screen import ViewScreen
    from tui.viewmodels.study import StudyModel, StudyRequest


# -- the same scenario ---------------------------------------------------------------------------------------------


def _show_problems(main: ViewScreen, title: str, error: ScenarioError) -> None:
    """Show what is wrong with a scenario."""
    main.app.push_screen(Sheet(title, lambda cells: problem_lines(error.problems, cells)))


def offer_restart(main: ViewScreen) -> None:
    """Offer what can be done when the run is over."""
    playback, seed = main.playback, main.session.simulation.seed
    again = Pick("r", f"start again, with the same seed {seed}")
    following = Pick("n", f"run with the next seed, {seed + 1}")
    another = Pick("o", "open another scenario")
    stay = Pick("s", "stay at the end", also=" ")  # space comes twice where somebody does not see that time is over
    main.choose(
        "The run is over",
        (again, lambda: playback.seek(0, playback.play)),
        (following, partial(_run_with_seed, main, seed + 1)),
        (another, partial(_choose_scenario, main)),
        (stay, None),
    )


def _run_with_seed(main: ViewScreen, seed: int) -> None:
    """Run the scenario with another seed from its start."""
    scenario = main.session.simulation.scenario
    _leave_for(main, lambda: ShowRun(Simulation(scenario, seed=seed)))


def take_seed(main: ViewScreen, text: str) -> None:
    """Run with the seed that was typed; without one, with the next one. Raises AnswerError."""
    text = text.strip()
    if text and not (text.removeprefix("-").isdecimal() and len(text) <= DIGIT_LIMIT):
        raise AnswerError(f"{quoted(text)} is not a seed: must be a whole number.")
    _run_with_seed(main, int(text) if text else main.session.simulation.seed + 1)


def reload(main: ViewScreen) -> None:
    """Read the file of the scenario again, and go to this moment of its run."""
    simulation = main.session.simulation
    before = simulation.scenario.variant
    scenario = _load(main, simulation.scenario.source.path, before, simulation.scenario.source.prices)
    if scenario is None:
        return
    at_ms, view = main.session.now_ms, main.view.id or ""
    said = viewmodels.study.reloaded_note(before, scenario.variant)
    again = ShowRun(Simulation(scenario, seed=simulation.seed), at_ms, plays=False, view=view, said=said)
    _leave_for(main, lambda: again)


# -- another scenario --------------------------------------------------------------------------------------------


def _choose_scenario(main: ViewScreen) -> None:
    """Let the user choose a bundled scenario or a file, and open it."""
    main.playback.pause()
    main.app.push_screen(dialogs.pickers.ScenarioPicker(main.session.glyphs), partial(_open, main))


def open_named(main: ViewScreen, name: str) -> None:
    """Open the scenario with this name or path; without one, let the user choose."""
    if name.strip():
        _open(main, name.strip())
    else:
        _choose_scenario(main)


def _open(main: ViewScreen, name: str | None) -> None:
    scenario = None if name is None else _load(main, name)
    if scenario is not None:
        _leave_for(main, lambda: ShowRun(Simulation(scenario)))


def _load(
    main: ViewScreen, name: str, variant: ChosenVariant | None = None, prices: PriceFile | None = None
) -> Scenario | None:
    """Return a scenario, the same variant of it if there was one, or show what is wrong with it."""
    try:
        if os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name):  # nobody may wait for it here
            raise ScenarioError([Problem("is a pipe or a device, not a file", file=name)])
        scenario = load_scenario(name, text=EMPTY_TEXT if name == NEW_EMPTY else None, prices=prices)
        return scenario if variant is None else chosen_again(scenario, variant)
    except ScenarioError as error:
        count = len(error.problems)
        _show_problems(main, f"{count:,} mistakes, nothing has changed" if count > 1 else "Nothing has changed", error)
    return None


def _leave_for(main: ViewScreen, make: Callable[[], ShowRun]) -> None:
    """Show another run. If commands given by hand are not saved, ask what is to become of them."""
    main.playback.pause()

    def show() -> None:
        main.post_message(make())

    def save() -> None:
        say(main, main.recorder.save_somewhere())
        show()

    if not main.recorder.is_unsaved:
        show()
        return
    main.choose(
        "Commands given by hand are not saved",
        (Pick("s", "save what was done by hand as a scenario, then go on"), save),
        (Pick("d", "go on without saving it"), show),
    )


# -- showing a study ---------------------------------------------------------------------------------------------


def _study(main: ViewScreen) -> None:
    """Show the study that there is; without one, begin that of the scenario, or ask what to study."""
    if main.studies.shown is not None:
        _show_study(main)
        return
    scenario = viewmodels.study.without_variant(main.session.simulation.scenario)
    request = _last_request(main, scenario)
    if not (request.vary or scenario.study.factors):
        _ask_study(main, scenario, request)
        return
    try:
        begin_study(main, scenario, request, viewmodels.study.plan(scenario, request))
    except ScenarioError as error:
        _show_problems(main, "Nothing is studied", error)


def _last_request(main: ViewScreen, scenario: Scenario) -> StudyRequest:
    first = viewmodels.study.first_request(main.session.simulation.scenario)
    return main.studies.requests.get(scenario.source.path, first)


def _ask_again(main: ViewScreen) -> None:
    """Ask what to study of the scenario."""
    scenario = viewmodels.study.without_variant(main.session.simulation.scenario)
    _ask_study(main, scenario, _last_request(main, scenario))


def _ask_study(main: ViewScreen, scenario: Scenario, request: StudyRequest) -> None:
    def answered(answer: tuple[StudyRequest, Study] | None) -> None:
        if answer is not None:
            begin_study(main, scenario, *answer)

    main.playback.pause()
    main.app.push_screen(dialogs.study.StudyForm(main.session, scenario, request), answered)


def begin_study(main: ViewScreen, scenario: Scenario, request: StudyRequest, study: Study) -> None:
    """Begin a study in place of the present one; ask first if runs of that would be lost."""
    studies, app, before = main.studies, main.app, main.studies.shown
    studies.requests[scenario.source.path] = request

    def tell() -> None:
        with suppress(RuntimeError):  # the dashboard is closed
            app.post_message(StudyNews())

    def begin() -> None:
        after = None if studies.shown is None else studies.shown.background
        if after is not None:
            after.stop()
        background = workers.background.BackgroundStudy(study, tell, results=request.path, after=after)
        studies.shown = viewmodels.study.StudyModel(scenario, background)
        _show_study(main)
        if main.recorder.is_unsaved:
            say(app.screen, "The study plays the scenario without the commands given by hand.", "warning")

    if before is None or not before.would_be_lost:
        begin()
        return
    runs = f"{before.background.done:,} of {before.background.total:,} runs"
    main.choose(
        "The results are in no file",
        (Pick("y", f"yes, begin another study; {runs} are lost"), begin),
        (Pick("n", "no, keep them"), None),
    )


def _show_study(main: ViewScreen) -> None:
    """Show the study, above everything else."""
    shown = main.studies.shown
    assert shown is not None
    main.playback.pause()
    on_top = main.app.screen
    if isinstance(on_top, dialogs.study.StudyScreen):
        on_top.dismiss()
    actions = dialogs.study.StudyActions(partial(_open_run, main, shown), partial(_ask_again, main))
    main.app.push_screen(
        dialogs.study.StudyScreen(main.session, shown, main.keymap, actions), lambda _: main.update_header()
    )


def take_study_news(main: ViewScreen) -> None:
    """Take new results of the study, and say when it has ended while something else is shown."""
    shown = main.studies.shown
    if shown is None or main.is_left:
        return
    for screen in main.app.screen_stack:
        if isinstance(screen, dialogs.study.StudyScreen):
            screen.update()
            return
    shown.update()
    main.update_header()
    if not shown.background.is_under_way:
        say(main, viewmodels.study.end_note(shown, main.keymap.shown("study.show")))


def _open_run(main: ViewScreen, shown: StudyModel, run: Run) -> None:
    """Open a run of the study, as ``open --variant N --seed S`` does."""
    try:
        scenario = shown.played(run)
    except ScenarioError as error:  # it was valid when it was studied; a file that it names may be another one
        _show_problems(main, "Nothing has changed", error)
        return
    key = main.keymap.shown("study.show")
    values = shown.names.line_of(shown.tally.variant(run.variant))
    said = f"Variant {run.variant:,}{f' ({values})' if values else ''} with seed {run.seed}. {key} shows the study."
    _leave_for(main, lambda: ShowRun(Simulation(scenario, seed=run.seed), said=said))


RUNS: tuple[Command[ViewScreen], ...] = (
    Command("ctrl+o", "scenario.open", "open another scenario", _choose_scenario),
    Command("ctrl+r", "scenario.reload", "reload the scenario after an edit, at this moment", reload),
    Command("V", "study.show", "run a study of this scenario, or show it", _study),
)
VERBS: dict[str, Callable[[ViewScreen, str], object]] = {"open": open_named, "seed": take_seed}
