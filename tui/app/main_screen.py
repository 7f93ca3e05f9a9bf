"""The main screen with all commands and the views of one simulation, the go line, and the command palette.

The go line takes a view, an id, or a verb with its argument. The palette offers the commands of keys, pages, sheets,
options and help.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from engine.base import rulebook
from engine.base.values import quoted, read_table
from engine.pacing import DRAWING_S
from tui import dialogs, viewmodels, workers
from tui.app import item_keys, list_keys, navigation_keys, run_keys
from tui.app.view_screen import ViewScreen
from tui.dialogs.sheets import RuleSheet, Sheet
from tui.panes.timeline import TimelineGrid
from tui.saving.settings import OPTIONS
from tui.textual.keys import Command, start_work, when_of, words_of
from tui.textual.screens import say
from tui.viewmodels import actions
from tui.viewmodels import format as fmt
from tui.viewmodels.detail_pages import CRITICAL_PATH_TAB, STATISTICS_TAB
from tui.viewmodels.go_line import (
    TABS,
    VIEW_NAMES,
    VIEWS,
    PaletteEntry,
    completions,
    find,
    line_hint,
    not_found,
    offered_actions,
    written_out,
)
from tui.viewmodels.items import focus_on
from tui.viewmodels.pool_pages import ACCOUNT_ITEM
from tui.viewmodels.sheets import NEW_EMPTY, blob_lines
from tui.viewmodels.text import ItemRef
from tui.viewmodels.watch.attention import ExpectationsModel, expectation_lines, warning_lines
from tui.widgets.charts import NodeMap
from tui.widgets.table import Table
from tui.widgets.texts import AnswerError, PageView, Prompt, Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual import events
    from textual.app import App
    from textual.binding import Binding, BindingType
    from textual.geometry import Size

    from tui.app.process import Recorder, Studies
    from tui.saving.settings import Settings
    from tui.textual import screens
    from tui.viewmodels.session import Session


# -- the go line -------------------------------------------------------------------------------------------------


def _ask_line(main: ViewScreen) -> None:
    """Ask for a line, which is completed while it is typed."""

    def complete(text: str) -> None:
        columns = main.list_page.model.column_names if main.list_page is not None else ()
        offered = completions(main.session, text, columns)
        main.query_one(Prompt).offer(line_hint(text, offered), offered)

    main.ask(Question(":", partial(go_to, main), on_typed=complete))
    complete("")


def go_to(main: ViewScreen, text: str) -> None:
    """Carry out a line. Raises AnswerError."""
    text = written_out(main.session, text.strip())
    verb, _, rest = text.partition(" ")
    rest = rest.strip()
    if text.lower() in VIEWS:
        main.show_view(VIEWS[text.lower()])
    elif text.lower() in SHOWN_PAGES:
        SHOWN_PAGES[text.lower()](main)
    elif verb == "rule":
        _show_rule(main, rest)
    elif verb in main.VERBS:
        main.VERBS[verb](main, rest)
    elif text:
        _go_to_id(main, text)


def _go_to_id(main: ViewScreen, identity: str) -> None:
    found = find(main.session, identity)
    is_exact = found is not None and found.model.identity_of(found.key).lower() == identity.lower()
    if not is_exact and identity.upper() in rulebook.rules():
        _show_rule(main, identity)
        return
    if not is_exact and fmt.names_moment(identity) and (found is None or not identity.isdecimal()):
        main.VERBS["time"](main, identity)
        return
    if found is None:
        raise AnswerError(not_found(main.session, identity, main.keymap.shown("palette")))
    subject = found.model.subject_of(found.key)
    if subject is not None:
        focus_on(main.session, subject)
    main.show_view(found.view, found.key)


def _show_account(tab: str, main: ViewScreen) -> None:
    """Open the page of the account at one of its tabs."""
    main.open_tab(ACCOUNT_ITEM, tab)


def _show_job_tab(title: str, main: ViewScreen) -> None:
    """Open a tab of the page of the job in focus."""
    job = main.session.job_id
    if main.session.job(job) is None:
        say(main, "No job has been added yet.")
    else:
        main.open_tab(ItemRef("job", job), title)


def _show_expectations(main: ViewScreen) -> None:
    """Show the expectations of the scenario: met, broken, or pending."""
    main.app.push_screen(Sheet("Expectations", partial(expectation_lines, ExpectationsModel(main.session))))


def _show_warnings(main: ViewScreen) -> None:
    """Show the warnings about the scenario."""
    main.app.push_screen(Sheet("Warnings", partial(warning_lines, main.session.simulation.scenario)))


def _show_rule(main: ViewScreen, name: str) -> None:
    """Show a rule, or all rules of a chapter."""
    part = rulebook.find(name)
    if part is None:
        raise AnswerError(f"No rule is called {quoted(name)}; the nearest is {rulebook.nearest(name)}.")
    main.app.push_screen(RuleSheet([part]))


def _run_in_app(action: str, main: ViewScreen) -> None:
    """Carry out an action of the application, once the go line is closed."""
    main.call_later(main.run_action, f"app.{action}")


_Show = Callable[["ViewScreen"], object]
_ABOUT = {title: (about, words) for title, words, about in read_table("pages.csv", __file__)}
_PAGES: tuple[tuple[str, _Show], ...] = (
    ("Account", partial(_show_account, "Overview")),
    ("Statistics", partial(_show_job_tab, STATISTICS_TAB)),
    ("Critical path", partial(_show_job_tab, CRITICAL_PATH_TAB)),
    ("Storage", partial(_show_account, "Storage")),
)
_SHEETS: tuple[tuple[str, _Show], ...] = (
    ("Expectations", _show_expectations),
    ("Warnings", _show_warnings),
    ("Messages", partial(_run_in_app, "messages")),
    ("Requests", partial(_run_in_app, "requests")),
)
# What shows a page or sheet, by the name that is typed.
SHOWN_PAGES: dict[str, _Show] = {title.lower(): show for title, show in (*_PAGES, *_SHEETS)} | {
    "reload": lambda main: main.action_do("scenario.reload"),
    "study": lambda main: main.action_do("study.show"),
    "settings": partial(_run_in_app, "settings"),
    "theme": partial(_run_in_app, "settings"),
}


# -- the screen --------------------------------------------------------------------------------------------------

# In the order of the palette.
_COMMANDS = (
    *(*navigation_keys.TIME, *run_keys.RUNS, *navigation_keys.NAVIGATION, *list_keys.FIND),
    Command[ViewScreen]("colon", "go.line", "go line: type a view, an id or a command", _ask_line),
    *(*list_keys.LISTS, *item_keys.INFORMATION, *item_keys.ACTIONS),
)
_RIGHT_BUTTON = 3
_FIRST_FRAME_S = 0.2  # until it is on the terminal, which another thread writes


class MainScreen(ViewScreen):
    """One simulation on the screen."""

    COMMANDS_BY_ID: ClassVar = {command.id: command for command in _COMMANDS}
    VERBS: ClassVar = navigation_keys.VERBS | run_keys.VERBS | list_keys.VERBS | item_keys.VERBS
    BINDINGS: ClassVar[list[BindingType]] = [command.binding for command in _COMMANDS]
    AUTO_FOCUS = ""  # the view focuses its first pane itself
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (100, "-wide"), (160, "-broad")]  # noqa: RUF012  # as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (16, "-low"), (24, "-short"), (36, "-tall")]  # noqa: RUF012  # as Textual declares it

    def __init__(
        self, session: Session, recorder: Recorder, settings: Settings, studies: Studies, first: screens.ShowRun
    ) -> None:
        """Create the screen of a run.

        Args:
            session: The run, and the choices of its viewer.
            recorder: The recorder that saves what is done by hand.
            settings: The user's settings.
            studies: The studies of the dashboard.
            first: The view and the moment to begin with, and whether time advances from there.
        """
        super().__init__(session, recorder, settings, studies)
        self._first = first
        self._fitted: Size | None = None  # the size for which the panes were filled
        self.hold_frames()  # until the first complete one

    def on_mount(self) -> None:
        if self._first.view in VIEW_NAMES and self._first.view != self.view.id:
            self.show_view(self._first.view)  # it is filled when it has been laid out
        self.view.first_pane.focus()
        # Before the application has started, Textual calls back without a layout.
        self.app.call_later(self.call_after_refresh, self._begin)

    def _begin(self) -> None:
        """Go to the first moment and past what happens then; show the first frame when the panes are filled."""
        first, playback = self._first, self.playback

        def play() -> None:
            self.session.choose_first_job()
            if first.plays and not self.session.is_over:
                playback.play()

        playback.seek(max(first.at_ms, self.session.now_ms), play)

        def show() -> None:
            self.draw_frames(self.view)
            self.set_timer(_FIRST_FRAME_S, partial(start_work, self, self.import_rest, "imports"))

        self.call_after_refresh(show)

    async def import_rest(self) -> None:
        """Import what the first frame has done without, before a key has to wait for it."""
        for package in (dialogs, viewmodels, actions, workers):
            for name in package.__all__:
                getattr(package, name)
                await self.playback.pacer.yielder.pause(DRAWING_S)

    def on_unmount(self) -> None:
        self.playback.pause()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Fill the panes for their new size. On a terminal that was too small none kept the focus."""
        if self.size != self._fitted:
            self._fitted = self.size
            self.update()
        if self.focused is None:
            self._first_pane.focus()

    def on_descendant_focus(self) -> None:
        """Show the hints of the pane that has the focus now."""
        if not self.is_left:
            self.show_hints()

    # -- commands, and links to them -----------------------------------------------------------------------------

    def action_show_view(self, name: str) -> None:
        """Show a view."""
        self.show_view(name)

    def action_blob(self, url: str) -> None:
        """Show everything about the blob with this URL, and its text."""
        blob = next((each for each in self.session.blobs() if each.url == url), None)
        if blob is not None:
            self.app.push_screen(Sheet(blob.place.name or "Blob", partial(blob_lines, self.session, blob)))

    def on_page_view_followed(self, message: PageView.Followed) -> None:
        """Follow a link: to a detail page, or to an action on the subject that is shown."""
        target = message.target
        if not isinstance(target, str):
            self.open_subject(target)
            return
        if self.subject is not None:
            focus_on(self.session, self.subject)
        self.call_later(self.run_action, target)

    # -- messages of panes and dialogs ---------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Offer actions on a row or node that is clicked with the right button."""
        if event.button == _RIGHT_BUTTON and isinstance(event.widget, NodeMap | Table | TimelineGrid):
            item_keys.act(self)

    def on_table_arranged(self) -> None:
        """Show the list with its new columns, order or filter."""
        self.update()

    def on_table_moved(self) -> None:
        """Show the job in focus, which the cursor chooses in the list of jobs."""
        page = self.list_page
        if page is not None and page.model.key_in_focus() is not None:
            self.update()

    def on_table_opened(self, message: Table.Opened) -> None:
        """Open a row."""
        list_keys.open_in_table(self, message.table.model, message.key)

    def on_show_view(self, message: screens.ShowView) -> None:
        """Show a view, with the cursor on a row if one is given, or a sheet as if its name had been typed."""
        if message.focus is not None:
            focus_on(self.session, message.focus)
        if message.view_name in SHOWN_PAGES:
            SHOWN_PAGES[message.view_name](self)
        else:
            self.show_view(message.view_name, message.row)

    def on_open_subject(self, message: screens.OpenSubject) -> None:
        """Open the detail page of a subject."""
        self.open_subject(message.subject)

    def on_open_one_of(self, message: screens.OpenOneOf) -> None:
        """Open one of several items."""
        navigation_keys.open_one_of(self, message.choices)

    def on_go_to_time(self, message: screens.GoToTime) -> None:
        """Go to a moment that was clicked."""
        self.playback.seek(message.when_ms)

    def on_offer_actions(self, message: screens.OfferActions) -> None:
        """Offer actions on the subjects that a dialog was about."""
        item_keys.offer_actions(self, message.subjects)

    def on_offer_restart(self) -> None:
        """Offer what can be done when the run is over."""
        run_keys.offer_restart(self)


# -- the palette -------------------------------------------------------------------------------------------------


_MORE: tuple[tuple[str, _Show], ...] = (
    ("Write the run as a page", list_keys.ask_report),
    ("Next failure", lambda main: main.playback.seek_failure()),
    ("New empty scenario", lambda main: run_keys.open_named(main, NEW_EMPTY)),
)
_LEFT_OUT = frozenset({"quit.ask", "interrupt", "palette", "pane.next", "pane.before"})
_OPTION_WORDS = {
    "theme": "colours colors dark light black white contrast",
    "glyphs": "characters unicode ascii symbols",
    "time": "clock format utc",
}


def palette_entries(
    app: App[None], main: ViewScreen, choose_value: Callable[[str, str], None], subjects: Sequence[ItemRef] = ()
) -> Iterator[PaletteEntry]:
    """Yield all commands, those of keys first.

    Args:
        app: The application.
        main: Its main screen.
        choose_value: Takes the name of an option and a value.
        subjects: The items to act on, all of one kind.
    """
    offered: list[tuple[Binding, Callable[[], object]]]
    offered = [(command.binding, partial(command.run, main)) for command in _COMMANDS]
    offered += [(each, partial(app.run_action, each.action)) for each in main.keymap.bindings_of(type(app))]
    for binding, run in offered:
        identity = binding.id or ""
        if identity not in _LEFT_OUT:
            title = binding.description[:1].upper() + binding.description[1:]
            keys = main.keymap.all_shown(binding)
            yield PaletteEntry(title, when_of(identity), run, keys, words_of(identity))
    for title, show in (*_PAGES, *_MORE, *_SHEETS):
        about, words = _ABOUT[title]
        yield PaletteEntry(title, about, partial(show, main), words=words)
    yield list_keys.picture_entry(partial(list_keys.take_picture, main))
    for what in actions.menu.NEW:
        create = partial(item_keys.create, main, what)
        yield PaletteEntry(f"Create: {what}", "By a form or by its body.", create, words="new add insert")
    yield from offered_actions(main.session, subjects, partial(item_keys.start_action, main))
    for tab in TABS:
        explain = partial(item_keys.explain, main, main.view_named(tab.name))
        yield PaletteEntry(f"Help: {tab.title}", "what the view shows: columns and states", explain, words="manual")
    for option in OPTIONS.values():
        for value in option.values:
            title = f"{option.name.capitalize()}: {value}"
            choose = partial(choose_value, option.name, value)
            yield PaletteEntry(title, option.about, choose, words=_OPTION_WORDS.get(option.name, ""))
