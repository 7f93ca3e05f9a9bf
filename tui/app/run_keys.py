"""Commands that move simulated time, show another run, or show a study and open its runs.

Another run is one from the start again, with another seed, after an edit, or of another scenario. A run that would be
lost with commands given by hand is asked about first.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from engine import ScenarioError, Simulation, load_scenario
from engine.base.values import quoted
from engine.pacing import FASTEST
from engine.studies.runs import chosen_again
from tui.dialogs.scenarios import ScenarioPicker, StudyForm
from tui.dialogs.sheets import Pick, Sheet
from tui.dialogs.study import StudyActions, StudyScreen
from tui.saving.session_files import NEW_EMPTY
from tui.textual.keys import Command
from tui.textual.screens import ShowRun, StudyNews, say
from tui.viewmodels import format as fmt
from tui.viewmodels.autoscale import formula_request
from tui.viewmodels.moments import compare_lines
from tui.viewmodels.report import reloaded_note
from tui.viewmodels.sheets import EMPTY_TEXT, problem_lines
from tui.viewmodels.study import StudyModel, StudyRequest, end_note, first_request, parse_request, plan, without_variant
from tui.widgets.texts import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine import Scenario
    from engine.scenario.model import ChosenVariant
    from engine.studies.runs import Run, Study
    from tui.app.view_screen import ViewScreen
    from tui.textual.screens import StudyFormula


def go_to_time(main: ViewScreen, text: str) -> None:
    """Go to the moment that was typed. Raises AnswerError."""
    session, simulation, playback = main.session, main.session.simulation, main.playback
    match text.strip():
        case "start":
            playback.seek(0)
        case "end":
            playback.seek_end()
        case "failure" | "next failure":
            playback.seek_failure(1)
        case typed:
            try:
                when_ms = fmt.parse_moment(typed, simulation.scenario.start, simulation.now_ms, session.last_known_ms)
            except ValueError as error:
                raise AnswerError(str(error)) from None
            playback.seek(max(0, when_ms), partial(_say_if_outside, main, when_ms))


def _say_if_outside(main: ViewScreen, when_ms: int) -> None:
    """Say that the run has no such moment if it begins later or has ended before."""
    session = main.session
    if when_ms < 0:
        say(main, f"The run begins here, at {session.clock(0)}: nothing happens earlier.")
    elif session.is_over and session.now_ms < when_ms:
        say(main, f"The run ends here, at {session.clock(session.now_ms)}: nothing happens later.")


def _next_event(main: ViewScreen) -> None:
    """Go on until something happens to the subject under the cursor."""
    subject, events = main.under_cursor, main.session.events
    if subject is None:
        say(main, "; goes to the next event of a row: put the cursor on one.")
    else:
        main.playback.search(lambda index: events.is_about(index, *subject), "Nothing more happens to it.")


def _set_speed(main: ViewScreen, speed: float | None) -> None:
    """Take a speed; None is as fast as possible."""
    main.playback.choose_speed(speed)
    main.update_header()
    if not speed and not main.playback.pacer.playing:
        end, play = main.keymap.shown("time.end"), main.keymap.shown("time.play")
        say(main, f"As fast as possible: {play} runs, {end} goes to the end.")


def _change_speed(main: ViewScreen, speed: float | None) -> None:
    """Take the next higher or lower speed."""
    main.playback.choose_speed(speed)
    main.update_header()


def _cross_quiet(main: ViewScreen) -> None:
    """Cross stretches in which nothing happens at once, or play them."""
    crosses = not main.settings.value("cross_quiet")
    main.settings.choose("cross_quiet", crosses)
    main.playback.pacer.crosses_quiet = crosses
    main.playback.take_usual_speed()
    say(main, "Stretches without events are crossed at once." if crosses else "Every stretch of time is played.")
    main.update_header()


def take_speed(main: ViewScreen, text: str) -> None:
    """Take the speed that was typed. Raises AnswerError."""
    try:
        speed = float(text.strip().lower().lstrip("x").replace("max", "0"))
    except ValueError:
        speed = -1
    if not 0 <= speed <= FASTEST:
        raise AnswerError(f"{quoted(text)} is not a speed: must be a number, or max.")
    _set_speed(main, speed or None)


def branch(main: ViewScreen) -> None:
    """Make the moment that is shown the present."""
    main.playback.stop_seeking()
    session = main.session
    if not session.is_past:
        say(main, "This is the present; , goes back.")
        return
    main.bookmarks.keep_run()
    undone = len(session.simulation.branch())
    session.crossed[:] = [stretch for stretch in session.crossed if stretch[1] <= session.now_ms]
    loss = f" {fmt.counted(undone, 'later command')} {'is' if undone == 1 else 'are'} undone." if undone else ""
    say(main, f"Branched: time goes on from here.{loss} c compares with the run that was left.")
    main.update()


def _bookmark(main: ViewScreen) -> None:
    """Remember the present moment."""
    number = main.bookmarks.add()
    say(main, f"Bookmark {number}: {main.session.clock(main.session.now_ms)}. ' goes there, c compares.")


def _compare(main: ViewScreen) -> None:
    """Compare the present moment with a bookmark, or with a run that was left."""
    main.playback.pause()
    session, here, others = main.session, main.bookmarks.here(), main.bookmarks.others()

    def show(number: int) -> None:
        main.app.push_screen(Sheet("Compare", lambda cells: compare_lines(session, here, others[number], cells)))

    nothing = "There is nothing to compare with yet: B bookmarks a moment, b branches from one."
    main.pick("Compare this moment with", [other.name for other in others], show, nothing)


# -- the same scenario ---------------------------------------------------------------------------------------------


def _show_problems(main: ViewScreen, title: str, error: ScenarioError) -> None:
    """Show what is wrong with a scenario."""
    main.app.push_screen(Sheet(title, lambda cells: problem_lines(error.problems, cells)))


def offer_restart(main: ViewScreen) -> None:
    """Offer what can be done when the run is over."""
    playback, seed = main.playback, main.session.simulation.seed
    again = Pick("r", f"start again, with the same seed {seed}", also=" ")
    following = Pick("n", f"run with the next seed, {seed + 1}")
    another = Pick("o", "open another scenario")
    main.choose(
        "The run is over",
        (again, lambda: playback.seek(0, playback.play)),
        (following, partial(_run_with_seed, main, seed + 1)),
        (another, partial(_choose_scenario, main)),
    )


def _run_with_seed(main: ViewScreen, seed: int) -> None:
    """Run the scenario with another seed from its start."""
    scenario = main.session.simulation.scenario
    _leave_for(main, lambda: ShowRun(Simulation(scenario, seed=seed)))


def take_seed(main: ViewScreen, text: str) -> None:
    """Run with the seed that was typed; without one, with the next one. Raises AnswerError."""
    text = text.strip()
    if text and not text.lstrip("-").isdecimal():
        raise AnswerError(f"{quoted(text)} is not a seed: must be a whole number.")
    _run_with_seed(main, int(text) if text else main.session.simulation.seed + 1)


def reload(main: ViewScreen) -> None:
    """Read the file of the scenario again, and go to this moment of its run."""
    simulation = main.session.simulation
    before = simulation.scenario.variant
    scenario = _load(main, simulation.scenario.source.path, before)
    if scenario is None:
        return
    at_ms, view = main.session.now_ms, main.view.id or ""
    said = reloaded_note(before, scenario.variant)
    again = ShowRun(Simulation(scenario, seed=simulation.seed), at_ms, plays=False, view=view, said=said)
    _leave_for(main, lambda: again)


# -- another scenario --------------------------------------------------------------------------------------------


def _choose_scenario(main: ViewScreen) -> None:
    """Let the user choose a bundled scenario or a file, and open it."""
    main.playback.pause()
    main.app.push_screen(ScenarioPicker(main.session.glyphs), partial(_open, main))


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


def _load(main: ViewScreen, name: str, variant: ChosenVariant | None = None) -> Scenario | None:
    """Return a scenario, the same variant of it if there was one, or show what is wrong with it."""
    try:
        scenario = load_scenario(name, text=EMPTY_TEXT if name == NEW_EMPTY else None)
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
    else:
        take_study(main, "")


def take_study(main: ViewScreen, text: str) -> None:
    """Begin the study with the options in a line; without any, do as the key does. Raises AnswerError."""
    scenario, shown = without_variant(main.session.simulation.scenario), main.studies.shown
    if not text.strip() and shown is not None and shown.is_of(scenario):
        _show_study(main)
        return
    try:
        request = parse_request(text, _last_request(main, scenario))
        if not (request.vary or scenario.study.factors or text.strip()):
            _ask_study(main, scenario, request)
            return
        _begin_study(main, scenario, request, plan(scenario, request))
    except ScenarioError as error:
        _show_problems(main, "Nothing is studied", error)
    except ValueError as error:
        if text.strip():
            raise AnswerError(str(error)) from None
        say(main, str(error), "error")


def _last_request(main: ViewScreen, scenario: Scenario) -> StudyRequest:
    first = first_request(main.session.simulation.scenario)
    return main.studies.requests.get(scenario.source.path, first)


def _ask_again(main: ViewScreen) -> None:
    """Ask what to study of the scenario."""
    scenario = without_variant(main.session.simulation.scenario)
    _ask_study(main, scenario, _last_request(main, scenario))


def _ask_study(main: ViewScreen, scenario: Scenario, request: StudyRequest) -> None:
    def answered(answer: tuple[StudyRequest, Study] | None) -> None:
        if answer is not None:
            _begin_study(main, scenario, *answer)

    main.playback.pause()
    main.app.push_screen(StudyForm(main.session, scenario, request), answered)


def _begin_study(main: ViewScreen, scenario: Scenario, request: StudyRequest, study: Study) -> None:
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
        studies.shown = StudyModel(scenario, study, request, tell, after=after)
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
    if isinstance(on_top, StudyScreen):
        on_top.dismiss()
    actions = StudyActions(partial(_open_run, main, shown), partial(_ask_again, main))
    main.app.push_screen(StudyScreen(main.session, shown, main.keymap, actions), lambda _: main.update_header())


def take_study_news(main: ViewScreen) -> None:
    """Take new results of the study, and say when it has ended while something else is shown."""
    shown = main.studies.shown
    if shown is None or main.is_left:
        return
    for screen in main.app.screen_stack:
        if isinstance(screen, StudyScreen):
            screen.update()
            return
    shown.update()
    main.update_header()
    if not shown.background.is_under_way:
        say(main, end_note(shown, main.keymap.shown("study.show")))


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


def study_formula(main: ViewScreen, message: StudyFormula) -> None:
    """Study a formula against the present one of its pool, and against those that were studied before."""
    scenario = without_variant(main.session.simulation.scenario)
    known = main.studies.formulas.setdefault((scenario.source.path, message.pool_id), [])
    try:
        option = formula_request(scenario, main.session.simulation, message.pool_id, message.formula, known)
        request = StudyRequest((option,), _last_request(main, scenario).seeds)
        _begin_study(main, scenario, request, plan(scenario, request))
    except ScenarioError as error:
        _show_problems(main, "Nothing is studied", error)
    except ValueError as error:
        say(main, str(error), "warning")


RUNS: tuple[Command[ViewScreen], ...] = (
    Command("ctrl+o", "scenario.open", "open another scenario", _choose_scenario),
    Command("ctrl+r", "scenario.reload", "reload the scenario after an edit, at this moment", reload),
    Command("V", "study.show", "run a study of this scenario, or show it", _study),
)


# -- the commands ------------------------------------------------------------------------------------------------

_ASKED = "go to: +5m, -30s, 10:42, PT5M, start, end, failure"
TIME: tuple[Command[ViewScreen], ...] = (
    Command("space", "time.play", "run or pause simulated time", lambda main: main.playback.play()),
    Command("full_stop", "time.step", "one event forward", lambda main: main.playback.step()),
    Command("comma", "time.back", "one event back", lambda main: main.playback.back()),
    Command("i", "time.instant", "to the end of this instant", lambda main: main.playback.finish_instant()),
    Command("semicolon", "time.row", "to the next event of the row", _next_event),
    Command(
        "right_square_bracket", "time.faster", "faster", lambda main: _change_speed(main, main.playback.pacer.faster())
    ),
    Command(
        "left_square_bracket", "time.slower", "slower", lambda main: _change_speed(main, main.playback.pacer.slower())
    ),
    Command("equals_sign", "time.real", "speed 1x", lambda main: _set_speed(main, 1)),
    Command("right_curly_bracket", "time.max", "as fast as possible", lambda main: _set_speed(main, None)),
    Command("Z", "time.cross", "cross stretches without events at once, or play them", _cross_quiet),
    Command("t", "time.go", "go to a time", lambda main: main.ask(_ASKED, partial(go_to_time, main))),
    Command("G,ctrl+end", "time.end", "go to the end of the run", lambda main: main.playback.seek_end()),
    Command("b", "time.branch", "branch here", branch),
    Command("B", "time.bookmark", "bookmark this moment", _bookmark),
    Command("c", "time.compare", "compare with a bookmark or an earlier run", _compare),
)
