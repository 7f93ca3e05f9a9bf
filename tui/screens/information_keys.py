"""Keys that open dialogs with more information: reasons, files, help, a description of the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.views.series.series import Window
from tui.dialogs.files import Files, FilesPlayback
from tui.dialogs.help import HelpScreen, entries_here, entries_of
from tui.dialogs.sheet import Sheet
from tui.dialogs.why import Why, WhyActions
from tui.panes.attention import Attention
from tui.panes.detail_page import DetailPage
from tui.panes.timeline import Timeline
from tui.panes.watch import Watch
from tui.screens.time_keys import TimeKeys
from tui.viewmodels.files.locations import files_of
from tui.viewmodels.sheets.help import HelpPage
from tui.viewmodels.sheets.why import answers_to, expected_of
from tui.viewmodels.text.styled import ItemRef, line, wrapped
from tui.viewmodels.watch.screen_reader import describe
from tui.widgets.messages import OfferActions, say
from tui.widgets.node_map import NodeMap
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.explain.expected import Expected
    from tui.panes.view import View
    from tui.viewmodels.sheets.help import KeyEntry


class InformationKeys(TimeKeys):
    """Why, files, help, and the time that curves show."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "help", "help", id="help"),
        Binding("w", "why", "explain the state of the row", id="row.why"),
        Binding("f", "files", "files of the row", id="row.files"),
        Binding("H", "curves_window", "curves: last hour, or since the start", id="curves.window"),
    ]

    def action_curves_window(self) -> None:
        """Let curves show the last hour, or all since the start."""
        self.session.window = Window.HOUR if self.session.window is Window.ALL else Window.ALL
        self.view.update()

    def action_why(self) -> None:
        """Explain the state of the subject under the cursor; if a pool has no nodes, that.

        On Watch, if there is nothing or only a deleted node under the cursor, explain the worst problem, if there is
        one.
        """
        view, subject, asked_as = self.view, self.subject, self.view.id or ""
        if isinstance(view, Watch) and self._points_at_nothing:
            subject = view.query_one(Attention).worst or subject
        if asked_as in ("nodes", "pools") and (subject is None or subject.kind == "job"):
            subject = ItemRef("pool", self.session.pool_id)
        if isinstance(view, DetailPage):
            subject = view.asked
        when_ms = self.session.now_ms
        if isinstance(view, Timeline):
            subject, asked_as = view.asked or subject, view.asked_as
            when_ms = when_ms if view.moment_ms is None else view.moment_ms
        answers = []
        if subject is not None:
            with self.session.at(when_ms):
                answers = answers_to(self.session, *subject, asked_as)
        if subject is None or not answers:
            say(self, "There is nothing here to explain.")
            return
        go_on = self.playback.interrupt()

        def act() -> None:
            """Go to the moment in question, and offer actions on the subject there."""
            self.playback.seek(when_ms, offer)

        def offer() -> None:
            if self.session.is_past:
                self.action_branch()
            self.session.update()
            self.post_message(OfferActions([subject]))

        def expect() -> Expected | None:
            return expected_of(self.session, *subject) if when_ms == self.session.now_ms else None

        self.app.push_screen(Why(self.session, answers, when_ms, WhyActions(self.playback.seek, act, expect, go_on)))

    @property
    def _points_at_nothing(self) -> bool:
        """True if the node map is empty, or its cursor is on a node that has left the pool."""
        here = self.under_cursor
        if here is None or here.kind != "node" or not isinstance(self.focused, NodeMap):
            return here is None
        return self.session.nodes().row(int(here.key)).state is None

    def action_files(self) -> None:
        """Show the files of the subject under the cursor, on the node where they are."""
        place = files_of(self.session, self.under_cursor)
        if isinstance(self.focused, Table) and self.focused.key is not None:
            place = self.focused.model.files_of(self.focused.key)
        if isinstance(place, str):
            say(self, place)
        else:
            playback = FilesPlayback(self.playback.play, self.playback.step, self.playback.back)
            self.app.push_screen(Files(self.session, place, playback, self.keymap))

    def action_help(self) -> None:
        """Show the keys of the focused pane, and explain the view."""
        here = [] if self.focused is None else entries_here(self.keymap, type(self.focused))
        self._open_help(self.view, here)

    def help_with(self, name: str) -> None:
        """Explain a view."""
        self._open_help(self.view_named(name), [], shows_page=True)

    def _open_help(self, view: View, here: Sequence[KeyEntry], *, shows_page: bool = False) -> None:
        everywhere = entries_of(self.keymap, type(self), type(self.app))
        about = HelpPage(view.title, view.help_text, view.columns)
        self.app.push_screen(HelpScreen(about, here, everywhere, self.session.glyphs, shows_page=shows_page))

    def describe(self) -> None:
        """Describe the Watch view in sentences, for screen readers."""
        sentences = [self.session.text(each) for each in describe(self.session, self.playback.transport)]
        self.app.push_screen(
            Sheet("Described", lambda cells: [line(each) for one in sentences for each in wrapped(one, cells)])
        )
