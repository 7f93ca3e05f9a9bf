"""Telling: sheets above the deck about what is under the cursor, and the help."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from tui.dialogs.files import Files
from tui.dialogs.help import HelpScreen
from tui.dialogs.sheet import Sheet
from tui.dialogs.why import Ways, Why
from tui.panes.blade import Blade
from tui.panes.thing import ThingPane
from tui.panes.timeline import Timeline
from tui.saving.targets import TargetError, write_new
from tui.screens.drawing import Drawing
from tui.viewmodels.files.locations import files_of
from tui.viewmodels.lists.rows import as_csv
from tui.viewmodels.session.rest_body import as_json, wire_of
from tui.viewmodels.sheets.help import Page
from tui.viewmodels.sheets.why import answers_to, expected_of
from tui.viewmodels.text.blocks import block_lines
from tui.viewmodels.text.styled import ItemRef, line, wrapped
from tui.viewmodels.watch.screen_reader import describe
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.explain.expected import Expected
    from tui.panes.thing import ThingPane
    from tui.panes.watch import Watch
    from tui.screens.deck import Deck
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session.session import Session


_MOST_EXPORTED = 100_000


class Telling:
    """Details, reasons, files and keys."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("question_mark,f1", "tell('help')", "help", id="help"),
        Binding("w", "tell('why')", "why is it so?", id="row.why"),
        Binding("f", "tell('files')", "files of the row", id="row.files"),
        Binding("e", "tell('ask_file')", "export the rows: CSV, of the timeline SVG", id="list.export"),
        Binding("d", "tell('hide')", "show or hide the details", id="list.details"),
        Binding("y", "tell('copy')", "copy the id", id="row.copy"),
        Binding("Y", "tell('copy_json')", "copy the row as JSON", id="row.copy-json"),
    )

    def __init__(self, deck: Deck, session: Session) -> None:
        """Of the session on this deck."""
        self._deck = deck
        self._session = session
        self._drawing = Drawing(deck, session)

    def details(self, model: RowsModel, key: int) -> None:
        """All that is known of a row."""
        title = model.title.removesuffix("s") if model.title != "Events" else "Event"
        text = self._session.text
        self._deck.app.push_screen(
            Sheet(
                title,
                lambda cells: [
                    tuple(span._replace(text=text(span.text)) for span in each)
                    for each in block_lines(model.details(key), cells)
                ],
            )
        )

    def why(self) -> None:
        """Why what is under the cursor is as it is; where a pool has no nodes, why not."""
        shown, subject = self._deck.view, self._deck.subject
        view = shown.id or ""
        if view in ("nodes", "pools") and (subject is None or subject.kind == "job"):
            subject = ItemRef("pool", self._session.pool_id)
        when_ms = self._session.now_ms
        if isinstance(shown, Timeline):
            subject, view = shown.asked or subject, shown.asked_as
            when_ms = when_ms if shown.moment_ms is None else shown.moment_ms
        self._deck.playback.stand_still()
        if subject is None:
            self._deck.say("There is nothing here to explain.")
            return
        with self._session.at(when_ms):
            answers = answers_to(self._session, *subject, view)
        if not answers:
            self._deck.say("There is nothing here to explain.")
            return
        ways = Ways(
            self._deck.playback.seek,
            partial(self._act_at, when_ms, subject),
            partial(self._expected_at, when_ms, subject),
        )
        self._deck.app.push_screen(Why(self._session, answers, when_ms, ways))

    def _expected_at(self, when_ms: int, subject: ItemRef) -> Expected | None:
        return expected_of(self._session, *subject) if when_ms == self._session.now_ms else None

    def _act_at(self, when_ms: int, subject: ItemRef) -> None:
        """Go on from a moment, and do something to what was asked about."""

        def act() -> None:
            if self._session.is_past:
                self._deck.playback.branch()
            self._session.noted()
            self._deck.by_hand.offer([subject])

        self._deck.playback.seek(when_ms, act)

    def files(self) -> None:
        """The files of what is under the cursor, on the node where they are."""
        place = files_of(self._session, self._deck.under_cursor)
        if isinstance(self._deck.focused, Table) and self._deck.focused.key is not None:
            place = self._deck.focused.model.files_of(self._deck.focused.key)
        if isinstance(place, str):
            self._deck.say(place)
        else:
            self._deck.app.push_screen(Files(self._session, place, self._deck.playback, self._deck.keymap))

    def copy(self) -> None:
        """Copy the id of the row under the cursor, or of the thing that is shown."""
        view = self._deck.view
        if isinstance(view, Blade) and view.table.key is not None:
            self._copy(view.model.identity_of(view.table.key))
        elif isinstance(view, ThingPane) and view.thing is not None:
            self._copy(view.thing.identity)

    def copy_json(self) -> None:
        """Copy the row under the cursor as the service would answer it."""
        view, subject = self._deck.view, self._deck.under_cursor
        if isinstance(view, Blade):
            body = None if view.table.key is None else view.model.wire(view.table.key)
        else:
            body = None if subject is None else wire_of(self._session, subject)
        if body is None:
            self._deck.say("There is nothing here to copy as JSON.")
        else:
            self._copy(as_json(body), f"copied {body.get('id') or body.get('nodeId') or 'it'} as JSON")

    def _copy(self, text: str, said: str = "") -> None:
        self._deck.app.copy_to_clipboard(text)
        self._deck.say(said or f"copied {text}")

    def hide(self) -> None:
        """Give the room of the details to the list, or take it back."""
        view = self._deck.view
        if isinstance(view, Blade):
            view.toggle_class("-bare")
            self._deck.call_after_refresh(self._deck.look)

    def ask_file(self) -> None:
        """Ask where the rows of the list are to be written."""
        view = self._deck.view
        if isinstance(view, Blade) and view.model.count > _MOST_EXPORTED:
            self._deck.say(f"{view.model.count:,} rows are too many to write at once; / filters them.", "warning")
        elif isinstance(view, Blade):
            noun = "row" if view.model.count == 1 else "rows"
            self._deck.ask("export", f"write {view.model.count:,} {noun} as CSV to", f"{view.id}.csv")
        elif isinstance(view, Timeline):
            self._drawing.ask(view.grid)
        else:
            self._deck.say("e exports a list or the timeline: views 2 to 0.")

    def export(self, name: str) -> None:
        """Write the rows of the list, unless there is such a file already."""
        view, path = self._deck.view, Path(name.strip())
        if isinstance(view, Timeline):
            self._drawing.write(view.grid, path)
        if not isinstance(view, Blade):
            return
        try:
            write_new(path, as_csv(view.model))
        except TargetError as error:
            self._deck.say(f"{error}; e asks for another name.", "error")
        else:
            self._deck.say(f"wrote {view.model.count:,} rows to {path}")

    def help(self) -> None:
        """The keys of what has the focus, and what the view shows."""
        focused = self._deck.focused
        self._help_of(self._deck.view, self._deck.keymap.keys_in(type(focused)) if focused is not None else [])

    def describe(self) -> None:
        """The Watch view as sentences, in a sheet of plain text."""
        said = [self._session.text(each) for each in describe(self._session, self._deck.playback.transport)]
        self._deck.app.push_screen(
            Sheet("Described", lambda cells: [line(each) for one in said for each in wrapped(one, cells)])
        )

    def help_of(self, name: str) -> None:
        """What a view shows."""
        self._help_of(self._deck.view_named(name), [])

    def _help_of(self, view: Watch | Blade | ThingPane | Timeline, here: Sequence[tuple[str, str]]) -> None:
        columns = view.model.columns if isinstance(view, Blade) else ()
        everywhere = [
            pair for around in (self._deck, self._deck.app) for pair in self._deck.keymap.keys_in(type(around))
        ]
        about = Page(view.title, view.help_text, columns)
        self._deck.app.push_screen(HelpScreen(about, here, everywhere, self._session.glyphs))
