"""The go line: a view, an id, or a verb with its argument."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.base import rulebook
from engine.base.shortening import quoted
from engine.scenario.wording import did_you_mean
from tui.dialogs.rules import RuleSheet
from tui.dialogs.sheet import Sheet
from tui.screens.search_keys import SearchKeys
from tui.viewmodels.actions.menu import NEW
from tui.viewmodels.detail_pages.account import ACCOUNT_ITEM, AccountDetailModel
from tui.viewmodels.detail_pages.job import CRITICAL_PATH_TAB, STATISTICS_TAB, JobDetailModel
from tui.viewmodels.frame.go_line import (
    ACCOUNT,
    CRITICAL_PATH,
    EXPECTATIONS,
    MESSAGES,
    RELOAD,
    REQUESTS,
    SETTINGS,
    STATISTICS,
    STORAGE,
    THEME,
    VIEWS,
    WARNINGS,
    asked_columns,
    completions,
    find,
    line_hint,
    not_found,
    written_out,
)
from tui.viewmodels.lists.expectations import ExpectationsModel, expectation_lines
from tui.viewmodels.lists.filters import column_of, field_name
from tui.viewmodels.session.items import focus_on
from tui.viewmodels.sheets.storage import blob_lines
from tui.viewmodels.sheets.warnings import warning_lines
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import ItemRef
from tui.widgets.messages import CreateItem, ShowSheet, say
from tui.widgets.prompt import AnswerError, Prompt

if TYPE_CHECKING:
    from collections.abc import Callable


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
