"""The go line: a view, an id, or a verb with what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base import rulebook
from tui.dialogs.rules import RuleSheet
from tui.panes.blade import Blade
from tui.settings.nearest import nearest
from tui.viewmodels.frame.go_line import VIEWS, asked_columns, completions, find, line_hint, not_found
from tui.viewmodels.lists.filters import column_of, field_name
from tui.viewmodels.session.focus import focus_on
from tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from tui.screens.deck import Deck
    from tui.viewmodels.session.session import Session


class GoLine:
    """Asks for a text and does what it says."""

    def __init__(self, deck: Deck, session: Session) -> None:
        """Of this deck."""
        self._deck = deck
        self._session = session

    def ask(self) -> None:
        """Ask for it."""
        self._deck.ask("line", ":")
        self.offer("")

    def offer(self, text: str) -> None:
        """Show how the text may go on; Tab takes that."""
        view = self._deck.view
        columns = view.model.column_names if isinstance(view, Blade) else ()
        offered = completions(self._session, text, columns)
        self._deck.query_one(Prompt).tell(line_hint(text, offered), offered)

    def go_to(self, text: str) -> None:
        """Do what was typed."""
        text = text.strip()
        verb, _, rest = text.partition(" ")
        rest = rest.strip()
        if text.lower() in VIEWS:
            self._deck.navigation.show(VIEWS[text.lower()])
        elif verb == "time":
            self._deck.playback.go_to(rest)
        elif verb == "speed":
            self._deck.playback.set_speed(rest)
        elif verb in ("only", "filter", "sort", "columns"):
            self._arrange(verb, rest)
        elif verb == "rule":
            self._show_rule(rest)
        elif text:
            self._go_to_id(text)

    def _arrange(self, verb: str, rest: str) -> None:
        """Arrange the list that is shown."""
        view = self._deck.view
        if not isinstance(view, Blade):
            self._deck.say(f"{verb} arranges a list: views 2 to 7, 9 and 0.", "warning")
            return
        model, wrong = view.model, ""
        if verb == "only" and rest == "failed":
            model.only_failed = True
        elif verb == "filter":
            model.filter_text = rest
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
        known = [name.lower() for name in model.column_names if name] if verb in ("sort", "columns") else ["failed"]
        if wrong:
            self._deck.say(f"{verb} {wrong!r} is not known{nearest(wrong.lower(), known)}.", "warning")
        self._deck.look()

    def _go_to_id(self, identity: str) -> None:
        found = find(self._session, identity)
        if found is None and rulebook.find(identity) is not None:
            self._show_rule(identity)
            return
        if found is None:
            self._deck.say(not_found(self._session, identity), "warning")
            return
        subject = found.model.subject_of(found.key)
        if subject is not None:
            focus_on(self._session, subject)
        self._deck.navigation.show(found.view, found.key)

    def _show_rule(self, name: str) -> None:
        """Show a rule, or all rules of a chapter."""
        part = rulebook.find(name)
        if part is None:
            self._deck.say(f"No rule is called {name!r}; the nearest is {rulebook.nearest(name)}.", "warning")
        else:
            self._deck.app.push_screen(RuleSheet([part]))
