"""Keys of the list pages, the search for a name everywhere, and the files that they write.

List pages have a filter, columns, details and export; the list of events has keys of its own. Exports, the report of
a run and the timeline as SVG are written by a worker in slices, which leave time for key presses between them.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.views.rest.lookup import event_lines
from tui.app.navigation_keys import NavigationKeys
from tui.dialogs.files import Files, FilesPlayback
from tui.dialogs.pickers import ColumnChooser, SearchDialog
from tui.dialogs.sheets import details_sheet
from tui.panes.pages import DetailPage
from tui.panes.timeline import Timeline
from tui.saving.targets import NewLines, TargetError, write_new
from tui.textual import drawing
from tui.textual.keys import start_work
from tui.textual.screens import say
from tui.viewmodels.format import counted
from tui.viewmodels.items import FileLocation, as_json, rdp_file, rest_body
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.filters import as_value, filter_hint
from tui.viewmodels.lists.instances import InstancesModel
from tui.viewmodels.lists.rows import as_csv
from tui.viewmodels.report import report_lines
from tui.viewmodels.search import Target, WholeList
from tui.viewmodels.text import ItemRef
from tui.viewmodels.timeline.svg import Paint, drawn
from tui.widgets.table import Table
from tui.widgets.texts import AnswerError, Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from textual.screen import Screen
    from textual.widget import Widget

    from tui.app.playback import Playback
    from tui.panes.pages import ListPage
    from tui.panes.timeline import TimelineGrid
    from tui.viewmodels.lists.events import EventDestination
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Kind


SLICE_S = 0.005


def write_in_slices(
    widget: Widget,
    playback: Playback,
    name: str,
    portions: Callable[[Paint], Iterable[Sequence[str]]],
    *,
    done: str,
) -> None:
    """Write a file in a worker: whole or not at all, and never over another one.

    Raises TargetError if the file exists already or cannot be created.

    Args:
        widget: Says what has become of the file.
        playback: Is paused. If simulated time moves all the same, the file is given up.
        name: The path as it was typed.
        portions: Returns the lines in portions, for the colours of the present theme.
        done: Words before the path of the finished file, such as "wrote the report to".
    """
    playback.pause()
    path, theme, moment = Path(name.strip()), widget.app.theme, playback.moment
    paint = Paint(drawing.ground(theme), drawing.colours(theme), drawing.on_colours(theme))
    target = NewLines(path)

    async def write() -> None:
        try:
            with target:
                if not await _write_lines(target, portions(paint), playback, moment):
                    say(widget, f"{path} was not written: simulated time has moved.", "warning")
                    return
                target.keep()
        except TargetError as error:
            say(widget, f"{error}.", "error")
        else:
            say(widget, f"{done} {path}")

    start_work(widget.screen, write, "drawing")


async def _write_lines(target: NewLines, portions: Iterable[Sequence[str]], playback: Playback, moment: object) -> bool:
    """Write all lines; return False if simulated time has left the moment before the end."""
    stop_s = time.perf_counter() + SLICE_S
    for lines in portions:
        target.write(lines)
        if time.perf_counter() < stop_s:
            continue
        await playback.pacer.yielder.pause()
        if playback.moment != moment:
            return False
        stop_s = time.perf_counter() + SLICE_S
    return True


MOST_ROWS = 20_000
_PROGRESS_S = 0.1


class TimelineDrawing:
    """A picture of all rows of the timeline, with its progress below the rows while it is drawn."""

    def __init__(self, grid: TimelineGrid, playback: Playback) -> None:
        self._grid = grid
        self._playback = playback
        self.rows = len(grid.model.keys)

    @property
    def is_too_large(self) -> bool:
        """True if there are more rows than a picture can hold."""
        return self.rows > MOST_ROWS

    def start(self, name: str) -> None:
        """Draw into a file, in a worker. Raises TargetError if it cannot be created."""
        write_in_slices(self._grid, self._playback, name, self._portions, done=f"drew {self.rows:,} rows in")

    def _portions(self, paint: Paint) -> Iterator[list[str]]:
        next_progress_s, written = time.perf_counter() + _PROGRESS_S, 0
        try:
            for lines in drawn(self._grid.model, paint):
                yield lines
                written += bool(lines)
                if time.perf_counter() >= next_progress_s:
                    self._grid.show_progress(f"drawing {min(1, written / max(1, self.rows)):.0%}")
                    next_progress_s = time.perf_counter() + _PROGRESS_S
        finally:
            self._grid.show_progress("")


_HTML, _MARKDOWN = (".html", ".htm"), (".md", ".markdown")


def is_report(name: str) -> bool:
    """Return True if the name of a file is that of a report: HTML or Markdown."""
    return name.strip().lower().endswith(_HTML + _MARKDOWN)


def start_report(screen: Screen[None], session: Session, playback: Playback, name: str) -> None:
    """Write a report up to the moment that is shown, in a worker. Raises AnswerError, TargetError."""
    if not is_report(name):
        raise AnswerError("The file of a report must end in .html or .md.")
    lines = partial(report_lines, session, is_html=name.strip().lower().endswith(_HTML))
    write_in_slices(screen, playback, name, lines, done="wrote the report to")


class SearchKeys(NavigationKeys):
    """Find pools, jobs, nodes, tasks, files and events by a part of their names."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "find_everywhere", "find a name or command line everywhere", id="find.all"),
    ]

    def action_find_everywhere(self) -> None:
        """Ask for a text, and search for it."""
        self.find_everywhere("")

    def find_everywhere(self, text: str) -> None:
        """Search for a text, which can be changed, and go to what is chosen."""
        self.playback.pause()
        self.app.push_screen(SearchDialog(self.session, text), self._go_to_found)

    def ask_report(self) -> None:
        """Ask for the file of a report of the run."""
        self.ask("write a report of the run, .html or .md, to", self.write_report, text="report.html")

    def write_report(self, name: str) -> None:
        """Write a report of the run up to the moment that is shown; ask for a file if none is named."""
        if name.strip():
            start_report(self, self.session, self.playback, name)
        else:
            self.ask_report()

    def _go_to_found(self, target: Target | None) -> None:
        match target:
            case ItemRef("job schedule", key):
                self.show_row("schedules", key)
            case ItemRef():
                self.open_subject(target)
            case FileLocation():
                playback = FilesPlayback(self.playback.play, self.playback.step, self.playback.back)
                self.app.push_screen(Files(self.session, target, playback, self.keymap))
            case WholeList(view, text):
                self.show_view(view)
                if self.list_page is not None:
                    self.list_page.model.filter_text = as_value(text)
                self.update()
            case int():
                self.show_view("events", target)


MOST_EXPORTED = 100_000
_OPTIONS = {"tasks": "--tasks", "events": "--events"}  # of the command that writes a whole list, by its page
# Rows of these lists have a detail page; other events are shown in their list.
_KINDS: dict[str, Kind] = {"tasks": "task", "nodes": "node", "jobs": "job", "pools": "pool"}


class ListKeys(SearchKeys):
    """Keys of all lists, of events, and of rows as text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "ask_filter", "filter", id="list.filter"),
        Binding("v", "toggle_all", "show nodes without a record too", id="list.all"),
        Binding("C", "choose_columns", "choose columns", id="list.columns"),
        Binding("d", "toggle_details", "show or hide the details", id="list.details"),
        Binding(
            "e",
            "export",
            "export the rows: CSV; of the timeline SVG, of a node RDP; on Watch a report",
            id="list.export",
        ),
        Binding("y", "copy_id", "copy the id", id="row.copy"),
        Binding("Y", "copy_json", "copy the row as JSON", id="row.copy-json"),
        Binding("F", "follow", "follow the newest event", id="events.follow"),
        Binding("x", "fold", "fold similar events", id="events.fold"),
        Binding("X", "toggle_by_hand", "only what was done by hand, as scenario entries", id="events.by-hand"),
    ]

    # -- the list ------------------------------------------------------------------------------------------------

    def on_table_arranged(self) -> None:
        """Show the list with its new columns, order or filter."""
        self.update()

    def action_ask_filter(self) -> None:
        """Ask which rows to show; the filter works while it is typed."""
        page = self.list_page
        if page is None:
            return
        model = page.model

        def filter_by(text: str) -> None:
            model.filter_text = text
            self.update()
            self.query_one(Prompt).offer(filter_hint(model.filter_text, model.column_names))

        def clear() -> None:
            model.filter_text = ""

        def keep(_: str) -> None:
            """Leave the filter as it was typed."""

        self.ask("filter:", keep, text=model.filter_text, on_typed=filter_by, on_cancel=clear)
        self.query_one(Prompt).offer(filter_hint(model.filter_text, model.column_names))

    def action_toggle_all(self) -> None:
        """Show the nodes without a record as well, or hide them."""
        if self.list_page is not None:
            self.list_page.model.with_all = not self.list_page.model.with_all
            self.update()

    def action_choose_columns(self) -> None:
        """Let the user choose the columns of the list."""
        if self.list_page is not None:
            self.app.push_screen(ColumnChooser(self.list_page.model, self.update))

    def action_toggle_details(self) -> None:
        """Hide the details beside the list, or show them."""
        if self.list_page is not None:
            self.list_page.toggle_class("-bare")
            self.call_after_refresh(self.update)

    # -- rows ----------------------------------------------------------------------------------------------------

    def on_table_moved(self) -> None:
        """Show the job in focus, which the cursor chooses in the list of jobs."""
        page = self.list_page
        if page is not None and page.model.key_in_focus() is not None:
            self.update()

    def on_table_opened(self, message: Table.Opened) -> None:
        """Open a row: the moment of an event, a detail page, or the details in a sheet if there is no such page."""
        model, page = message.table.model, self.list_page
        is_bare = isinstance(model, InstancesModel) and page is not None and not page.has_details
        if isinstance(model, EventsModel):
            self._open_event(model, message.key)
        elif is_bare or not self.open_row(model, message.key):
            self._show_details(model, message.key)

    def _show_details(self, model: RowsModel, key: int) -> None:
        self.app.push_screen(details_sheet(model, key))

    def _open_event(self, model: EventsModel, key: int) -> None:
        """Go to the moment of an event, and there to what it is about."""
        place = model.destination(key)
        if place is None:
            self._show_details(model, key)
        else:
            self.playback.seek(self.session.events.when_ms(key), lambda: self._show_place(place))

    def _show_place(self, place: EventDestination) -> None:
        self.session.update()
        if place.job_id is not None:
            self.session.focus_job(place.job_id)
        if place.pool_id is not None:
            self.session.focus_pool(place.pool_id)
        kind = _KINDS.get(place.view)
        if kind is None or place.row is None:
            self.show_row(place.view, place.row)
        else:
            self.open_subject(ItemRef(kind, place.row))

    def action_copy_id(self) -> None:
        """Copy the id of the row under the cursor, or of the subject that is shown."""
        page, view = self.list_page, self.view
        if page is not None and page.table.key is not None:
            self._copy(page.model.identity_of(page.table.key))
        elif isinstance(view, DetailPage) and view.model is not None:
            self._copy(view.model.identity)

    def action_copy_json(self) -> None:
        """Copy the row under the cursor as the service would return it."""
        page, subject = self.list_page, self.under_cursor
        if page is not None:
            body = None if page.table.key is None else page.model.wire(page.table.key)
        else:
            body = None if subject is None else rest_body(self.session, subject)
        if body is None:
            say(self, "There is nothing here to copy as JSON.")
        else:
            self._copy(as_json(body), f"copied {body.get('id') or body.get('nodeId') or 'it'} as JSON")

    def _copy(self, text: str, notice: str = "") -> None:
        self.app.copy_to_clipboard(text)
        say(self, notice or f"copied {text}")

    # -- events --------------------------------------------------------------------------------------------------

    @property
    def _events(self) -> EventsModel | None:
        model = self.list_page.model if self.list_page is not None else None
        return model if isinstance(model, EventsModel) else None

    def action_follow(self) -> None:
        """Keep the newest event in view, or stop following."""
        if self.list_page is not None and self._events is not None:
            self.list_page.table.follows = not self.list_page.table.follows
            self.update()

    def action_fold(self) -> None:
        """Fold events that are alike into one row, or unfold them."""
        if self._events is not None:
            self._events.is_folded = not self._events.is_folded
            self.update()

    def action_toggle_by_hand(self) -> None:
        """Show only the events of what was done by hand, or all again."""
        self.show_view("events")
        if self._events is not None:
            self._events.is_by_hand = not self._events.is_by_hand
            self.update()

    # -- export --------------------------------------------------------------------------------------------------

    def action_export(self) -> None:
        """Ask for a file to write to: CSV of a list, SVG of the timeline, the RDP file of a Windows node."""
        page, view = self.list_page, self.view
        subject = view.subject if isinstance(view, DetailPage) else None
        if isinstance(view, Timeline):
            drawing = TimelineDrawing(view.grid, self.playback)
            if drawing.is_too_large:
                say(
                    self,
                    f"{drawing.rows:,} rows are too many for a picture; ! leaves those that have failed.",
                    "warning",
                )
            else:
                self.ask(f"draw {drawing.rows:,} rows as SVG in", drawing.start, text="timeline.svg")
        elif subject is not None and subject.kind == "node":
            self._export_rdp_file(int(subject.key))
        elif page is None:
            self.ask_report()
        elif page.model.count > MOST_EXPORTED:
            option = _OPTIONS.get(str(page.id))
            whole = f", and `batchdeck run {option} FILE` writes all" if option else ""
            say(self, f"{page.model.count:,} rows are too many to write at once; / filters them{whole}.", "warning")
        else:
            others = ".jsonl: the event log" if self._events is not None else ".html: a report"
            label = f"write {counted(page.model.count, 'row')} to a .csv file ({others})"
            self.ask(label, lambda name: self._write_list(page, name), text=f"{page.id}.csv")

    def _write_list(self, page: ListPage, name: str) -> None:
        """Write the rows of a list, all events, or a report, as the name of the file says."""
        if is_report(name):
            self.write_report(name)
        elif name.strip().lower().endswith(".jsonl") and isinstance(page.model, EventsModel):
            lines = [f"{each}\n" for each in event_lines(self.session.simulation)]
            self._write(name, "".join(lines), counted(len(lines), "event"))
        else:
            self._write(name, as_csv(page.model), counted(page.model.count, "row"))

    def _export_rdp_file(self, node: int) -> None:
        """Ask for a file to write the node's RDP file to (NOP-10)."""
        answer = rdp_file(self.session, node)
        if answer.text is None:
            say(self, answer.refusal, "warning")
        else:
            text = answer.text
            self.ask("write the RDP file to", lambda name: self._write(name, text, "the RDP file"), text=answer.name)

    def _write(self, name: str, text: str, written: str) -> None:
        path = Path(name.strip())
        write_new(path, text)
        say(self, f"wrote {written} to {path}")
