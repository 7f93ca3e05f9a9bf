"""The main screen with all keys and the views of one simulation, and its commands that are typed.

The go line takes a view, an id, or a verb with its argument. The command palette offers the keys of the main screen,
sheets, options and help. Pictures of the screen are saved as SVG files.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.base import rulebook
from engine.base.values import quoted
from engine.scenario.text import did_you_mean
from tui.app.item_keys import CommandKeys, InformationKeys
from tui.app.list_keys import ListKeys, SearchKeys
from tui.dialogs.sheets import RuleSheet, Sheet
from tui.saving.session_files import NEW_EMPTY
from tui.saving.settings import OPTIONS
from tui.saving.targets import TargetError, write_new
from tui.textual.keys import when_of, words_of
from tui.textual.screens import CreateItem, ShowSheet, say
from tui.viewmodels import format as fmt
from tui.viewmodels.actions.menu import NEW
from tui.viewmodels.detail_pages import CRITICAL_PATH_TAB, STATISTICS_TAB, JobDetailModel
from tui.viewmodels.go_line import (
    ACCOUNT,
    CRITICAL_PATH,
    EXPECTATIONS,
    MESSAGES,
    RELOAD,
    REQUESTS,
    SETTINGS,
    STATISTICS,
    STORAGE,
    TABS,
    THEME,
    VIEW_NAMES,
    VIEWS,
    WARNINGS,
    PaletteEntry,
    asked_columns,
    completions,
    find,
    line_hint,
    not_found,
    offered_actions,
    written_out,
)
from tui.viewmodels.items import focus_on
from tui.viewmodels.lists.filters import column_of, field_name
from tui.viewmodels.pool_pages import ACCOUNT_ITEM, AccountDetailModel
from tui.viewmodels.sheets import blob_lines
from tui.viewmodels.text import ItemRef
from tui.viewmodels.watch.attention import ExpectationsModel, expectation_lines, warning_lines
from tui.widgets.texts import AnswerError, Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual.app import App
    from textual.screen import Screen

    from tui.saving.session_files import Recorder
    from tui.saving.settings import Settings
    from tui.viewmodels.session import Session
    from tui.viewmodels.study import Studies


class GoLineKeys(SearchKeys):
    """Asks for a line, completes it while it is typed, and carries it out."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("colon", "go_line", "go line: type a view, an id or a command", id="go.line"),
    ]

    def action_go_line(self) -> None:
        """Ask for a line."""
        self.ask(":", self.go_to, on_typed=self._complete)
        self._complete("")

    def _complete(self, text: str) -> None:
        columns = self.list_page.model.column_names if self.list_page is not None else ()
        offered = completions(self.session, text, columns)
        self.query_one(Prompt).offer(line_hint(text, offered), offered)

    def go_to(self, text: str) -> None:
        """Carry out a line. Raises AnswerError."""
        text = written_out(self.session, text.strip())
        verb, _, rest = text.partition(" ")
        rest = rest.strip()
        if text.lower() in VIEWS:
            self.show_view(VIEWS[text.lower()])
        elif text.lower() in self._pages:
            self._pages[text.lower()]()
        elif verb in self._verbs:
            self._verbs[verb](rest)
        elif verb in ("only", "filter", "sort", "columns"):
            self._arrange(verb, rest)
        elif text:
            self._go_to_id(text)

    @property
    def _pages(self) -> dict[str, Callable[[], object]]:
        """The methods that show pages and sheets, by the names that are typed."""
        return {
            RELOAD: self.action_reload,
            WARNINGS: self.show_warnings,
            EXPECTATIONS: self.show_expectations,
            ACCOUNT: self.show_account,
            MESSAGES: partial(self.call_later, self.run_action, "app.messages"),
            REQUESTS: partial(self.call_later, self.run_action, "app.requests"),
            STORAGE: partial(self.show_account, "Storage"),
            STATISTICS: partial(self.show_job_tab, STATISTICS_TAB),
            CRITICAL_PATH: partial(self.show_job_tab, CRITICAL_PATH_TAB),
            SETTINGS: partial(self.call_later, self.run_action, "app.settings"),
            THEME: partial(self.call_later, self.run_action, "app.settings"),
        }

    @property
    def _verbs(self) -> dict[str, Callable[[str], object]]:
        """The methods that carry out a line, by its first word."""
        return {
            "time": self.go_to_time,
            "open": self.open_named,
            "seed": self.take_seed,
            "speed": self.take_speed,
            "find": self.find_everywhere,
            "report": self.write_report,
            "rule": self._show_rule,
            "new": self._create,
            "study": self.take_study,
        }

    def _create(self, what: str) -> None:
        """Open the form that creates something."""
        known = next((each for each in NEW if what and each.startswith(what.lower().removesuffix("s"))), None)
        if known is None and what:
            raise AnswerError(f"new {quoted(what)} is not known{did_you_mean(what, NEW) or '.'}")
        self.post_message(CreateItem(known or ""))

    def _arrange(self, verb: str, rest: str) -> None:
        """Arrange the list that is shown."""
        page = self.list_page
        if page is None:
            raise AnswerError(f"{verb} arranges a list: views 2 to 7, 9 and 0.")
        model, wrong = page.model, ""
        if verb == "only" and rest == "failed":
            model.only_failed = True
        elif verb == "filter":
            model.filter_text = rest
        elif verb == "sort" and model.only_order:
            raise AnswerError(model.only_order)
        elif verb == "sort":
            at = column_of(field_name(rest), model.column_names) if rest else None
            model.sort_column, model.is_descending = None if at is None else model.column_names[at], False
            wrong = rest if at is None else ""
        elif verb == "columns":
            asked, unknown = asked_columns(rest, model.column_names)
            model.show_columns(asked)
            wrong = next(iter(unknown), "" if asked else rest)
        else:
            wrong = rest
        self.update()
        if wrong:
            known = [name.lower() for name in model.column_names if name] if verb in ("sort", "columns") else ["failed"]
            raise AnswerError(f"{verb} {quoted(wrong)} is not known{did_you_mean(wrong, known) or '.'}")

    def _go_to_id(self, identity: str) -> None:
        found = find(self.session, identity)
        is_exact = found is not None and found.model.identity_of(found.key).lower() == identity.lower()
        if not is_exact and identity.upper() in rulebook.rules():
            self._show_rule(identity)
            return
        if not is_exact and fmt.names_moment(identity) and (found is None or not identity.isdecimal()):
            self.go_to_time(identity)
            return
        if found is None:
            raise AnswerError(not_found(self.session, identity, self.keymap.shown("palette")))
        subject = found.model.subject_of(found.key)
        if subject is not None:
            focus_on(self.session, subject)
        self.show_view(found.view, found.key)

    def show_account(self, tab: str = "Overview") -> None:
        """Open the page of the account at one of its tabs."""
        self.open_subject(ACCOUNT_ITEM, AccountDetailModel.TABS.index(tab))

    def show_job_tab(self, title: str) -> None:
        """Open a tab of the page of the job in focus."""
        job = self.session.job_id
        if self.session.job(job) is None:
            say(self, "No job has been added yet.")
        else:
            subject = ItemRef("job", job)
            self.open_subject(subject, JobDetailModel(self.session, subject).tabs.index(title))

    def show_expectations(self) -> None:
        """Show the expectations of the scenario: met, broken, or pending."""
        self.app.push_screen(Sheet("Expectations", partial(expectation_lines, ExpectationsModel(self.session))))

    def on_show_sheet(self, message: ShowSheet) -> None:
        """Show a sheet, as if its name had been typed."""
        self.go_to(message.name)

    def show_warnings(self) -> None:
        """Show the warnings about the scenario."""
        self.app.push_screen(Sheet("Warnings", partial(warning_lines, self.session.simulation.scenario)))

    def action_blob(self, url: str) -> None:
        """Show everything about the blob with this URL, and its text."""
        blob = next((each for each in self.session.blobs() if each.url == url), None)
        if blob is not None:
            self.app.push_screen(Sheet(blob.place.name or "Blob", partial(blob_lines, self.session, blob)))

    def _show_rule(self, name: str) -> None:
        """Show a rule, or all rules of a chapter."""
        part = rulebook.find(name)
        if part is None:
            raise AnswerError(f"No rule is called {quoted(name)}; the nearest is {rulebook.nearest(name)}.")
        self.app.push_screen(RuleSheet([part]))


class MainScreen(CommandKeys, InformationKeys, ListKeys, GoLineKeys):
    """One simulation on the screen."""

    AUTO_FOCUS = ""  # the view focuses its first pane itself
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (100, "-wide"), (160, "-broad")]  # noqa: RUF012  # as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (16, "-low"), (24, "-short"), (36, "-tall")]  # noqa: RUF012  # as Textual declares it

    def __init__(
        self,
        session: Session,
        recorder: Recorder,
        settings: Settings,
        *,
        at_ms: int = 0,
        plays: bool = False,
        view: str = "watch",
        studies: Studies | None = None,
    ) -> None:
        """Create the screen of a run.

        Args:
            session: The run, and the choices of its viewer.
            recorder: The recorder that saves what is done by hand.
            settings: The user's settings.
            at_ms: The moment to begin with, in ms after the start.
            plays: Let time advance from there.
            view: The view to begin with.
            studies: The studies of the dashboard.
        """
        super().__init__(session, recorder, settings)
        self.studies = studies or self.studies
        self._at_ms = at_ms
        self._plays = plays
        self._first_view = view
        self.hold_frames()  # until the first complete one

    def on_mount(self) -> None:
        if self._first_view in VIEW_NAMES:
            self.show_view(self._first_view)
        self.view.first_pane.focus()
        # Before the application has started, Textual calls back without a layout.
        self.app.call_later(self.call_after_refresh, self._begin)

    def _begin(self) -> None:
        """Go to the first moment, now that panes have sizes, and show the first frame when they are filled."""
        if self._at_ms:
            self.playback.seek(self._at_ms, self.playback.play if self._plays else None)
        else:
            self.update()
            if self._plays and not self.session.is_over:
                self.playback.play()
        self.call_after_refresh(self.draw_frames)

    def on_unmount(self) -> None:
        self.playback.pause()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Fill the panes for their new size. On a terminal that was too small none kept the focus."""
        self.update()
        if self.focused is None:
            self._first_pane.focus()

    def on_descendant_focus(self) -> None:
        """Show the hints of the pane that has the focus now."""
        if not self.is_left:
            self.show_hints()


def ask_picture(app: App[None], main: MainScreen) -> None:
    """Take a picture of the main screen as it is now, and ask for the file to write it to."""
    main.playback.pause()
    picture = app.export_screenshot(title=main.session.simulation.scenario.name)

    def write(name: str) -> None:
        _write(main, picture, Path(name.strip()))

    main.ask("save the picture of this screen as", write, text=str(_free(main.view.id or "")))


def save_picture(app: App[None], main: MainScreen) -> None:
    """Save a picture of a dialog and what is behind it. A dialog has no prompt, so the name is the next free one."""
    picture = app.export_screenshot(title=main.session.simulation.scenario.name)
    try:
        _write(main, picture, _free(type(app.screen).__name__.lower()))
    except TargetError as error:
        say(main, f"{error}.", "error")


def _free(stem: str) -> Path:
    """Return a file name that is not taken yet."""
    candidates = (Path(f"{stem}{number or ''}.svg") for number in range(10_000))
    return next(path for path in candidates if not path.exists())


def _write(main: MainScreen, picture: str, path: Path) -> None:
    """Write a picture, and say so. Raises TargetError."""
    write_new(path, picture)
    say(main, f"saved the picture in {path}")


_LEFT_OUT = frozenset({"quit.ask", "interrupt", "palette", "pane.next", "pane.before"})
_PICTURE = "Save a picture of this screen"
_OPTION_WORDS = {
    "theme": "colours colors dark light black white contrast",
    "glyphs": "characters unicode ascii symbols",
    "time": "clock format utc",
}


def palette_entries(
    app: App[None], main: MainScreen, choose_value: Callable[[str, str], None], subjects: Sequence[ItemRef] = ()
) -> Iterator[PaletteEntry]:
    """Yield all commands, those of keys first.

    Args:
        app: The application.
        main: Its main screen.
        choose_value: Takes the name of an option and a value.
        subjects: The items to act on, all of one kind.
    """
    for owner in (main, app):
        yield from _of_keys(main, owner)
    yield from _of_sheets(app, main)
    for what in NEW:
        create = partial(main.create, what)
        yield PaletteEntry(f"Create: {what}", "By a form or by its body.", create, words="new add insert")
    for each in offered_actions(main.session, subjects):
        start = partial(main.start_action, each)
        yield PaletteEntry(
            each.title, each.about, start, words=each.words, is_possible=each.is_possible, is_rare=each.is_rare
        )
    for tab in TABS:
        explain = partial(main.help_with, tab.name)
        yield PaletteEntry(f"Help: {tab.title}", "what the view shows: columns and states", explain, words="manual")
    for option in OPTIONS.values():
        for value in option.values:
            title = f"{option.name.capitalize()}: {value}"
            choose = partial(choose_value, option.name, value)
            yield PaletteEntry(title, option.about, choose, words=_OPTION_WORDS.get(option.name, ""))


def picture_entry(take: Callable[[], None]) -> PaletteEntry:
    """Return the entry that takes a picture of the screen."""
    about = "As an SVG file, with the colours of the theme."
    return PaletteEntry(_PICTURE, about, take, words="svg screenshot snapshot export image")


def _of_keys(main: MainScreen, owner: App[None] | Screen[None]) -> Iterator[PaletteEntry]:
    keymap = main.keymap
    for binding in keymap.bindings_of(type(owner)):
        identity = binding.id or ""
        if identity not in _LEFT_OUT:
            title = binding.description[:1].upper() + binding.description[1:]
            run = partial(owner.run_action, binding.action)
            yield PaletteEntry(title, when_of(identity), run, keymap.all_shown(binding), words_of(identity))


def _of_sheets(app: App[None], main: MainScreen) -> Iterator[PaletteEntry]:
    show_messages = partial(app.run_action, "messages")
    yield PaletteEntry(
        "Account",
        "Quotas and their use, applications, certificates.",
        main.show_account,
        words="quota limits cores packages subscription",
    )
    yield PaletteEntry(
        "Statistics",
        "Run and waiting times, failures and cost of the job.",
        partial(main.show_job_tab, STATISTICS_TAB),
        words="cost money price usd durations p50 p95 percentiles slowest",
    )
    yield PaletteEntry(
        "Critical path",
        "The chain of tasks that decides when the job ends.",
        partial(main.show_job_tab, CRITICAL_PATH_TAB),
        words="late longest bottleneck dependencies chain",
    )
    storage = partial(main.show_account, "Storage")
    yield PaletteEntry(
        "Storage", "Blobs that were named or uploaded, with their texts.", storage, words="blobs containers uploads"
    )
    yield PaletteEntry(
        "Write a report of the run",
        "HTML or Markdown, with tables, curves and the timeline.",
        main.ask_report,
        words="html markdown export save summary document",
    )
    yield picture_entry(partial(ask_picture, app, main))
    for title, by in (("Next failure", 1), ("Previous failure", -1)):
        about = "Goes to the moment at which something fails."
        seek = partial(main.playback.seek_failure, by)
        yield PaletteEntry(title, about, seek, words="failed error broken problem go time")
    open_empty = partial(main.open_named, NEW_EMPTY)
    yield PaletteEntry(
        "New scenario, empty",
        "To build pools and jobs by hand from nothing.",
        open_empty,
        words="blank fresh create open",
    )
    yield PaletteEntry(
        "Expectations",
        "What the scenario expects: met, broken or pending.",
        main.show_expectations,
        words="expect met broken pending assertions",
    )
    yield PaletteEntry(
        "Warnings", "What the scenario says that is probably not meant.", main.show_warnings, words="problems check"
    )
    yield PaletteEntry(
        "Messages", "All that was said in the line above the key hints.", show_messages, words="notifications"
    )
    show_requests = partial(app.run_action, "requests")
    yield PaletteEntry(
        "Requests", "What clients have asked for, with --serve.", show_requests, words="clients rest http serve api"
    )
    yield PaletteEntry(
        "Describe this screen", "The Watch view as sentences.", main.describe, words="screen reader text accessibility"
    )
