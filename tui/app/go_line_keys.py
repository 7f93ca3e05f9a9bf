"""The go line, which takes a view, an id, or a verb with its argument, and pages and sheets that are shown by name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from engine.base import rulebook
from engine.base.values import quoted, read_table
from tui.dialogs.sheets import RuleSheet, Sheet
from tui.textual.keys import Command
from tui.textual.screens import say
from tui.viewmodels import format as fmt
from tui.viewmodels.detail_pages import CRITICAL_PATH_TAB, STATISTICS_TAB
from tui.viewmodels.go_line import VIEWS, completions, find, line_hint, not_found, written_out
from tui.viewmodels.items import focus_on
from tui.viewmodels.pool_pages import ACCOUNT_ITEM
from tui.viewmodels.text import ItemRef
from tui.viewmodels.watch.attention import ExpectationsModel, expectation_lines, warning_lines
from tui.widgets.texts import AnswerError, Prompt, Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.app.view_screen import ViewScreen


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


class Page(NamedTuple):
    """A page or sheet, as the palette offers it: its title, what it is good for, and further words that find it."""

    title: str
    about: str
    words: str
    show: Callable[[ViewScreen], object]


_ABOUT = {title: (about, words) for title, words, about in read_table("pages.csv", __file__)}


def page_of(title: str, show: Callable[[ViewScreen], object]) -> Page:
    """Return the page with this title, which is in the table of pages."""
    return Page(title, *_ABOUT[title], show)


PAGES = (
    page_of("Account", partial(_show_account, "Overview")),
    page_of("Statistics", partial(_show_job_tab, STATISTICS_TAB)),
    page_of("Critical path", partial(_show_job_tab, CRITICAL_PATH_TAB)),
    page_of("Storage", partial(_show_account, "Storage")),
)
SHEETS = (
    page_of("Expectations", _show_expectations),
    page_of("Warnings", _show_warnings),
    page_of("Messages", partial(_run_in_app, "messages")),
    page_of("Requests", partial(_run_in_app, "requests")),
)
# What shows a page or sheet, by the name that is typed.
SHOWN_PAGES: dict[str, Callable[[ViewScreen], object]] = {
    page.title.lower(): page.show for page in (*PAGES, *SHEETS)
} | {
    "reload": lambda main: main.action_do("scenario.reload"),
    "study": lambda main: main.action_do("study.show"),
    "settings": partial(_run_in_app, "settings"),
    "theme": partial(_run_in_app, "settings"),
}
GO_LINE: tuple[Command[ViewScreen], ...] = (
    Command("colon", "go.line", "go line: type a view, an id or a command", _ask_line),
)
