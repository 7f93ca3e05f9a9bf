"""Commands that lead to another view, page, pane or moment, choose the focus, and lead out of the dashboard.

Among them are all that move simulated time: play, step, seek, search, speed, branches and bookmarks.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.base.values import quoted
from engine.pacing import FASTEST
from engine.views.resources.jobs import job_ids, pool_ids
from engine.views.results import end_of_run
from tui.dialogs.sheets import Pick, Sheet, details_sheet
from tui.textual.keys import Command
from tui.textual.screens import say
from tui.viewmodels import format as fmt
from tui.viewmodels.go_line import LISTS, TABS
from tui.viewmodels.items import focus_on
from tui.viewmodels.moments import compare_lines
from tui.viewmodels.text import ItemRef
from tui.widgets.texts import AnswerError, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine import Simulation
    from tui.app.view_screen import ViewScreen
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.moments import LeftRun
    from tui.viewmodels.text import Kind
    from tui.viewmodels.timeline.rows import Openable


def open_row(main: ViewScreen, model: RowsModel, key: int) -> bool:
    """Open the detail page of a row, or watch the last job of a schedule; return False if there is none."""
    subject = model.subject_of(key)
    if subject is None:
        return False
    if subject.kind != "job schedule":
        main.open_subject(subject)
        return True
    schedule = main.session.schedule(str(subject.key))
    if schedule is None or not schedule.recent_job:
        return False
    focus_on(main.session, subject)
    main.show_view("watch")
    return True


def open_one_of(main: ViewScreen, choices: Sequence[Openable]) -> None:
    """Open a detail page or the details of a row; of several let the user pick one."""

    def show(number: int) -> None:
        _, subject, view = choices[number]
        model = LISTS.get(view)
        if model is None:
            main.open_subject(subject)
        else:
            main.app.push_screen(details_sheet(model(main.session), int(subject.key)))

    if len(choices) == 1:
        show(0)
    else:
        main.pick("Open", [choice.text for choice in choices], show, "There was nothing here at this moment.")


def _choose_focus(kind: Kind, read: Callable[[Simulation], Sequence[str]], main: ViewScreen) -> None:
    """Let the user choose the job or pool in focus; if the detail page of another one is open, open that of this."""
    ids = read(main.session.simulation)

    def focus(number: int) -> None:
        subject, page = ItemRef(kind, ids[number]), main.detail_page
        focus_on(main.session, subject)
        if page is not None and page.subject is not None and page.subject.kind == kind:
            main.open_subject(subject)
        main.update()

    main.pick(f"{kind.capitalize()} in focus", ids, focus, f"There is no {kind} yet.")


def _zoom(main: ViewScreen) -> None:
    """Maximise the focused pane, or restore it."""
    if main.maximized is not None:
        main.minimize()
    elif main.focused is not None:
        main.maximize(main.focused)
    main.call_after_refresh(main.update)


def _jump(main: ViewScreen) -> None:
    """Go to a bookmark, or open a run that was left."""
    kept, clock = main.bookmarks, main.session.clock
    names = [clock(one.shown_ms) + (", in a run that was left" * (not kept.is_here(one))) for one in kept.moments]
    names += [run.name for run in kept.runs]
    places = [*map(kept.run_of, kept.moments), *(run.left for run in kept.runs)]

    def go(number: int) -> None:
        if number < len(kept.moments) and kept.is_here(places[number]):
            main.playback.seek(places[number].shown_ms)
        else:
            _open_run(main, places[number], f"This is {names[number]}.")

    main.pick("Go to", names, go, "There is no bookmark yet: B sets one.")


def _go_out(main: ViewScreen) -> None:
    """Stop a seek, else close a maximised pane, a filter, marks, or the view."""
    if main.playback.stop_seeking():
        return
    if main.maximized is not None:
        _zoom(main)
    elif main.view.clear_filter():
        main.update()
    elif main.session.marks:
        main.session.marks.clear()
        main.update()
    else:
        main.visit(-1)


def _leave(main: ViewScreen) -> None:
    """Leave a detail page; from any other view the dashboard, by default after a question."""
    if main.detail_page is not None:
        main.visit(-1)
        return
    if not main.settings.value("confirm_quit"):
        main.app.exit()
        return
    main.playback.pause()
    shown = main.studies.shown
    kept = "; what was done by hand is saved" if main.recorder.is_unsaved else ""
    kept += "; the runs of the study are lost" if shown is not None and shown.would_be_lost else ""
    yes, no = Pick("y", f"yes, leave the dashboard{kept}", also="q"), Pick("n", "no, stay")
    main.choose("Leave?", (yes, main.app.exit), (no, None))


def _quit(main: ViewScreen) -> None:
    """Leave the dashboard."""
    main.playback.pause()
    main.app.exit()


# -- time --------------------------------------------------------------------------------------------------------


def go_to_time(main: ViewScreen, text: str) -> None:
    """Go to the moment that was typed. Raises AnswerError."""
    session, simulation, playback = main.session, main.session.simulation, main.playback
    match text.strip():
        case "start":
            playback.seek(0)
        case "end":
            playback.seek_end()
        case "failure" | "next failure":
            playback.seek_failure()
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
        say(main, f"The run ends here, at {session.clock(session.now_ms)}: {end_of_run(session.simulation)}.")


def _set_speed(main: ViewScreen, speed: float | None) -> None:
    """Take a speed; None is as fast as possible."""
    _change_speed(main, speed)
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
    main.playback.take_usual_speed(anew=True)
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


_RAN = "Programs have really run since, which cannot be undone."


def branch(main: ViewScreen) -> None:
    """Make the moment that is shown the present."""
    main.playback.stop_seeking()
    if main.session.is_past and main.session.simulation.has_really_run:
        say(main, _RAN)
    elif main.session.is_past:
        _branch(main, main.session.now_ms, "Branched: time goes on from here.")
    else:
        say(main, "This is the present; , goes back.")


def _branch(main: ViewScreen, shown_ms: int, said: str) -> None:
    """Make the moment that is shown the present, and say so; ``shown_ms`` was shown last in the run that is left."""
    undone = main.bookmarks.branch(shown_ms)
    are = "is" if undone == 1 else "are"
    loss = f" {fmt.counted(undone, 'later command')} {are} undone." if undone else ""
    again = "U and ' go back to it" if undone else "' goes back to it"
    say(main, f"{said}{loss} c compares with the run that was left, {again}.")
    main.update()


def undo(main: ViewScreen) -> None:
    """Take back what was given last by hand. If that undoes more, or time goes back, show it and ask first."""
    main.playback.pause()
    main.session.update()
    session, last = main.session, main.bookmarks.last()
    if last is None:
        say(main, "Nothing was done by hand up to this moment, so there is nothing to take back.")
        return
    if session.simulation.has_really_run:
        say(main, _RAN)
        return
    done = last.summary(session)

    def go() -> None:
        shown_ms = session.now_ms
        main.playback.seek(last.to_ms, lambda: taken_back(shown_ms))

    def taken_back(shown_ms: int) -> None:
        main.bookmarks.branch(shown_ms)
        say(main, f"Taken back: {done}. U does it again, c compares with the run that was left.")

    _ask_if_lost(main, f"Take back: {done}?", "u", last.losses(session), go)


def redo(main: ViewScreen) -> None:
    """Do again what was taken back last; if that undoes something, show it and ask first."""
    main.playback.pause()
    run = main.bookmarks.taken_back
    if run is None:
        say(main, "There is nothing to do again: u takes back what was done by hand.")
    else:
        lost = main.bookmarks.lost_by_opening(run)
        _ask_if_lost(main, "Do it again?", "U", lost, partial(_open_run, main, run, "Done again. u takes it back."))


def _ask_if_lost(main: ViewScreen, title: str, key: str, lost: Sequence[str], go: Callable[[], None]) -> None:
    """Do something at once, or after a question if something is lost; the same key says yes."""
    if lost:
        main.choose(title, (Pick(key, "yes", also="y"), go), (Pick("n", "no, leave it as it is"), None), about=lost)
    else:
        go()


def _open_run(main: ViewScreen, run: LeftRun, said: str) -> None:
    """Go on in a run that was left, at the moment that was shown last in it."""
    with main.playback.guard():
        main.bookmarks.open(run)
        main.playback.seek(run.shown_ms, lambda: say(main, said))


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


def _show_view(name: str, main: ViewScreen) -> None:
    """Show a view."""
    main.show_view(name)


NAVIGATION: tuple[Command[ViewScreen], ...] = (
    *(Command(tab.key, f"view.{tab.name}", tab.title, partial(_show_view, tab.name)) for tab in TABS),
    Command("escape", "go.out", "close, or go back", _go_out),
    Command("q", "quit.ask", "leave the page, or quit after a question", _leave),
    Command("ctrl+q", "quit", "quit", _quit),
    Command("less_than_sign", "go.back", "back through the views visited", lambda main: main.visit(-1)),
    Command("greater_than_sign", "go.forward", "forward through the views visited", lambda main: main.visit(1)),
    Command("z", "pane.zoom", "maximise or restore the pane", _zoom),
    Command("tab", "pane.next", "next pane", lambda main: main.focus_next(), show=False),
    Command("shift+tab", "pane.before", "previous pane", lambda main: main.focus_previous(), show=False),
    Command("apostrophe", "go.jump", "go to a bookmark, or open a run that was left", _jump),
    Command("J", "focus.job", "choose the job in focus", partial(_choose_focus, "job", job_ids)),
    Command("P", "focus.pool", "choose the pool in focus", partial(_choose_focus, "pool", pool_ids)),
)
_ASKED = "go to: +5m, -30s, 10:42, PT5M, start, end, failure"
TIME: tuple[Command[ViewScreen], ...] = (
    Command("space", "time.play", "run or pause simulated time", lambda main: main.playback.play()),
    Command("full_stop", "time.step", "to the next moment", lambda main: main.playback.step()),
    Command("comma", "time.back", "to the previous moment", lambda main: main.playback.back()),
    Command(
        "right_square_bracket", "time.faster", "faster", lambda main: _change_speed(main, main.playback.pacer.faster())
    ),
    Command(
        "left_square_bracket", "time.slower", "slower", lambda main: _change_speed(main, main.playback.pacer.slower())
    ),
    Command("equals_sign", "time.real", "speed 1x", lambda main: _set_speed(main, 1)),
    Command("right_curly_bracket", "time.max", "as fast as possible", lambda main: _set_speed(main, None)),
    Command("Z", "time.cross", "cross stretches without events at once, or play them", _cross_quiet),
    Command("t", "time.go", "go to a time", lambda main: main.ask(Question(_ASKED, partial(go_to_time, main)))),
    Command("G,ctrl+end", "time.end", "go to the end of the run", lambda main: main.playback.seek_end()),
    Command("b", "time.branch", "branch here", branch),
    Command("B", "time.bookmark", "bookmark this moment", _bookmark),
    Command("c", "time.compare", "compare with a bookmark or an earlier run", _compare),
)
VERBS: dict[str, Callable[[ViewScreen, str], object]] = {"time": go_to_time, "speed": take_speed}
