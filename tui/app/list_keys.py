"""Commands of the list pages, the search for a name everywhere, and the files that they write.

List pages have a filter, columns, details and export; the list of events has keys of its own. The page of a run is
written by a worker in slices, which leave time for key presses between them. A picture of the screen is SVG or PNG.
"""

from __future__ import annotations

import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, create_subprocess_exec
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base.values import lazy_regex, visible
from engine.views.rest.lookup import event_lines
from tui import dialogs, viewmodels
from tui.app.navigation_keys import open_row
from tui.dialogs.sheets import details_sheet
from tui.saving.targets import NewLines, TargetError, write_new
from tui.textual.keys import Command, start_work
from tui.textual.screens import say
from tui.viewmodels.format import counted
from tui.viewmodels.go_line import PaletteEntry
from tui.viewmodels.items import KIND_IN, Destination, FileLocation, as_json, focus_on, rdp_file, rest_body
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.filters import as_value, filter_hint
from tui.viewmodels.lists.instances import InstancesModel
from tui.viewmodels.lists.rows import as_csv
from tui.viewmodels.text import ItemRef
from tui.widgets.texts import AnswerError, Prompt, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tui.app.view_screen import ViewScreen
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.search import Target


SLICE_S = 0.005
_PATIENCE_S = 1.0
_HTML = (".html", ".htm")


def ask_report(main: ViewScreen) -> None:
    """Ask for the file of the page of the run."""
    main.ask(Question("write the run as a page to the .html file", partial(write_report, main), "run.html"))


def write_report(main: ViewScreen, name: str) -> None:
    """Write the page of the run up to the moment that is shown, in a worker; ask for a file if none is named.

    Raises:
        AnswerError: The name does not end in .html.
        TargetError: The file exists already, or cannot be created.
    """
    if not name.strip():
        ask_report(main)
        return
    if not is_page(name):
        raise AnswerError("The file of a report must end in .html.")
    main.playback.pause()
    session, path = main.session, Path(name.strip())
    until = "" if session.is_over else f", up to {session.clock(session.now_ms)}"
    target = NewLines(path)

    async def write() -> None:
        try:
            with target:
                await _write_lines(
                    main, target, viewmodels.run_page.page_lines(session.simulation, is_over=session.is_over)
                )
                target.keep()
        except TargetError as error:
            say(main, f"{error}.", "error")
        else:
            say(main, f"wrote the run to {path}{until}")

    start_work(main.screen, write, "writing")


def is_page(name: str) -> bool:
    """Return True if the name of a file is that of a page."""
    return name.strip().lower().endswith(_HTML)


async def _write_lines(main: ViewScreen, target: NewLines, portions: Iterable[Sequence[str]]) -> None:
    """Write all lines in slices, which leave time for keys; say that it goes on if it takes long."""
    stop_s, said_s = time.perf_counter() + SLICE_S, time.perf_counter() + _PATIENCE_S
    for lines in portions:
        target.write(lines)
        if time.perf_counter() < stop_s:
            continue
        if time.perf_counter() >= said_s:
            said_s = float("inf")
            say(main, f"playing the run again for {target.path} ...")
        await main.playback.pacer.yielder.pause()
        stop_s = time.perf_counter() + SLICE_S


_PICTURES = (".svg", ".png")
_FONT_FILES = lazy_regex(r"@font-face \{[^}]*\}")
_MONOSPACE = {"darwin": "Menlo", "win32": "Consolas"}
_DRAW = """
import sys, resvg_py
svg = sys.stdin.buffer.read().decode()
sys.stdout.buffer.write(bytes(resvg_py.svg_to_bytes(svg_string=svg, monospace_family=sys.argv[1])))
"""


def take_picture(main: ViewScreen, name: str = "") -> None:
    """Write a picture of the main screen as it is now, as SVG or PNG; ask for a file if none is named.

    Raises:
        AnswerError: The name has another ending, or what makes a PNG is not installed.
        TargetError: The file exists already, or cannot be created.
    """
    main.playback.pause()
    if name.strip():
        target = _picture_target(name)
        main.call_after_refresh(lambda: _write_picture(main, target, _picture(main)))  # without the prompt
        return
    svg = _picture(main)
    asked = Question(
        "save the picture of this screen, .svg or .png, as",
        lambda answer: _write_picture(main, _picture_target(answer), svg),
        str(_free(main.view.id or "")),
    )
    main.ask(asked)


def save_picture(main: ViewScreen) -> None:
    """Save a picture of a dialog and what is behind it. A dialog has no prompt, so the name is the next free one."""
    try:
        _write_picture(main, NewLines(_free(type(main.app.screen).__name__.lower())), _picture(main))
    except TargetError as error:
        say(main, f"{error}.", "error")


def picture_entry(take: Callable[[], None]) -> PaletteEntry:
    """Return the entry that takes a picture of the screen."""
    about = "As an SVG or PNG file, with the colours of the theme."
    return PaletteEntry("Save a picture of this screen", about, take, words="svg png screenshot snapshot export image")


def _picture(main: ViewScreen) -> str:
    """Return the screen as SVG. It names fonts, and loads none: who looks at it tells no server."""
    svg = main.app.export_screenshot(title=visible(main.session.simulation.scenario.name))
    return _FONT_FILES.sub("", svg)


def _free(stem: str) -> Path:
    """Return a file name that is not taken yet."""
    candidates = (Path(f"{stem}{number or ''}.svg") for number in range(10_000))
    return next(path for path in candidates if not path.exists())


def _picture_target(name: str) -> NewLines:
    """Return the target of a picture. Raises AnswerError, TargetError."""
    path = Path(name.strip())
    if path.suffix.lower() not in _PICTURES:
        raise AnswerError("The file of a picture must end in .svg or .png.")
    if path.suffix.lower() == ".png" and not find_spec("resvg_py"):
        raise AnswerError("A PNG needs resvg-py: pip install 'batchdeck[png]'. SVG needs nothing.")
    return NewLines(path)


def _write_picture(main: ViewScreen, target: NewLines, svg: str) -> None:
    """Write a picture in a worker, and say what has become of it."""

    async def write() -> None:
        try:
            with target:
                is_png = target.path.suffix.lower() == ".png"
                target.write_bytes([await _png(svg) if is_png else svg.encode()])
                target.keep()
        except (OSError, TargetError) as error:
            say(main, f"{error}.", "error")
        else:
            say(main, f"saved the picture in {target.path}")

    start_work(main, write, "picture")


async def _png(svg: str) -> bytes:
    """Return an SVG as PNG, drawn by another process: it takes a second, in which keys would wait. Raises OSError."""
    call = sys.executable, "-c", _DRAW, _MONOSPACE.get(sys.platform, "DejaVu Sans Mono")
    process = await create_subprocess_exec(*call, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    content, _ = await process.communicate(svg.encode())
    if process.returncode:
        raise OSError("resvg-py could not draw the picture")
    return content


def find_everywhere(main: ViewScreen, text: str = "") -> None:
    """Search for a text, which can be changed, among all names, and go to what is chosen."""
    main.playback.pause()
    main.app.push_screen(dialogs.pickers.SearchDialog(main.session, text), partial(_go_to_found, main))


def _go_to_found(main: ViewScreen, target: Target | None) -> None:
    match target:
        case ItemRef("job schedule", key):
            main.show_view("schedules", key)
        case ItemRef():
            main.open_subject(target)
        case FileLocation():
            main.open_files(target)
        case viewmodels.search.WholeList(view, text):
            main.show_view(view)
            if main.list_page is not None:
                main.list_page.model.filter_text = as_value(text)
            main.update()
        case int():
            main.show_view("events", target)


MOST_EXPORTED = 100_000
_OPTIONS = {"tasks": "--tasks", "events": "--events"}  # of the command that writes a whole list, by its page


# -- the list ----------------------------------------------------------------------------------------------------


def _ask_filter(main: ViewScreen) -> None:
    """Ask which rows to show; the filter works while it is typed."""
    page = main.list_page
    if page is None:
        return
    model, prompt = page.model, main.query_one(Prompt)

    def offer() -> None:
        prompt.offer(filter_hint(model.filter_text, model.column_names))

    def filter_by(text: str) -> None:
        model.filter_text = text
        main.update()
        offer()

    def clear() -> None:
        model.filter_text = ""

    main.ask(Question("filter:", lambda _: None, model.filter_text, filter_by, clear))  # it stays as it was typed
    offer()


def _toggle_all(main: ViewScreen) -> None:
    """Show the nodes without a record as well, or hide them."""
    if main.list_page is not None:
        main.list_page.model.with_all = not main.list_page.model.with_all
        main.update()


def _choose_columns(main: ViewScreen) -> None:
    """Let the user show or hide a column of the list, and then another one, or go back to the usual ones."""
    if main.list_page is None:
        return
    model = main.list_page.model
    names = [column.name for column in model.named_columns]

    def choose(number: int) -> None:
        if number:
            model.toggle_column(names[number - 1])
        else:
            model.chosen_columns = None
        main.update()
        _choose_columns(main)

    shown = [f"[{'x' if name in model.shown_names() else ' '}] {name}" for name in names]
    main.pick(f"Columns of {model.title}", ["the usual ones", *shown], choose, "")


# -- rows --------------------------------------------------------------------------------------------------------


def open_in_table(main: ViewScreen, model: RowsModel, key: int) -> None:
    """Open a row: the moment of an event, a detail page, or the details in a sheet if there is no such page."""
    page = main.list_page
    place = model.destination(key) if isinstance(model, EventsModel) else None
    if place is not None:
        main.playback.seek(main.session.events.when_ms(key), partial(_show_place, main, place))
        return
    is_bare = isinstance(model, InstancesModel) and page is not None and not page.has_details
    if isinstance(model, EventsModel) or is_bare or not open_row(main, model, key):
        main.app.push_screen(details_sheet(model, key))


def _show_place(main: ViewScreen, place: Destination) -> None:
    """Show what an event is about."""
    main.session.update()
    if place.focus is not None:
        focus_on(main.session, place.focus)
    kind = KIND_IN.get(place.view)
    if kind in (None, "job schedule") or place.row is None:
        main.show_view(place.view, place.row)
    else:
        main.open_subject(ItemRef(kind, place.row))


def _copy_id(main: ViewScreen) -> None:
    """Copy the id of the row under the cursor, or of the subject that is shown."""
    page, detail = main.list_page, main.detail_page
    if page is not None and page.table.key is not None:
        _copy(main, page.model.identity_of(page.table.key))
    elif detail is not None and detail.model is not None:
        _copy(main, detail.model.identity)


def _copy_json(main: ViewScreen) -> None:
    """Copy the row under the cursor as the service would return it."""
    page, subject = main.list_page, main.under_cursor
    if page is not None:
        body = None if page.table.key is None else page.model.wire(page.table.key)
    else:
        body = None if subject is None else rest_body(main.session, subject)
    if body is None:
        say(main, "There is nothing here to copy as JSON.")
    else:
        _copy(main, as_json(body), f"copied {body.get('id') or body.get('nodeId') or 'it'} as JSON")


def _copy(main: ViewScreen, text: str, notice: str = "") -> None:
    main.app.copy_to_clipboard(text)
    say(main, notice or f"copied {text}")


# -- events ------------------------------------------------------------------------------------------------------


def _events(main: ViewScreen) -> EventsModel | None:
    model = main.list_page.model if main.list_page is not None else None
    return model if isinstance(model, EventsModel) else None


def _follow(main: ViewScreen) -> None:
    """Keep the newest event in view, or stop following."""
    if main.list_page is not None and _events(main) is not None:
        main.list_page.table.follows = not main.list_page.table.follows
        main.update()


def _toggle_by_hand(main: ViewScreen) -> None:
    """Show only the events of what was done by hand, or all again."""
    main.show_view("events")
    events = _events(main)
    if events is not None:
        events.is_by_hand = not events.is_by_hand
        main.update()


# -- export ------------------------------------------------------------------------------------------------------


def _export(main: ViewScreen) -> None:
    """Ask for a file to write to: CSV of a list, the RDP file of a Windows node, elsewhere the page of the run."""
    page = main.list_page
    subject = None if main.detail_page is None else main.detail_page.subject
    if subject is not None and subject.kind == "node":
        _export_rdp_file(main, int(subject.key))
    elif page is None:
        ask_report(main)
    elif page.model.count > MOST_EXPORTED:
        option = _OPTIONS.get(str(page.id))
        whole = f", and `batchdeck run {option} FILE` writes all" if option else ""
        say(main, f"{page.model.count:,} rows are too many to write at once; / filters them{whole}.", "warning")
    else:
        others = ".html: the run" if _events(main) is None else ".jsonl: the event log"
        label = f"write {counted(page.model.count, 'row')} to a .csv file ({others})"
        main.ask(Question(label, partial(_write_list, main, page.model), f"{page.id}.csv"))


def _write_list(main: ViewScreen, model: RowsModel, name: str) -> None:
    """Write the rows of a list, all events, or the page of the run, as the name of the file says."""
    if is_page(name):
        write_report(main, name)
    elif name.strip().lower().endswith(".jsonl") and isinstance(model, EventsModel):
        lines = [f"{each}\n" for each in event_lines(main.session.simulation)]
        _write(main, "".join(lines), counted(len(lines), "event"), name)
    else:
        _write(main, as_csv(model), counted(model.count, "row"), name)


def _export_rdp_file(main: ViewScreen, node: int) -> None:
    """Ask for a file to write the node's RDP file to (NOP-10)."""
    answer = rdp_file(main.session, node)
    if answer.text is None:
        say(main, answer.refusal, "warning")
    else:
        write = partial(_write, main, answer.text, "the RDP file")
        main.ask(Question("write the RDP file to", write, answer.name))


def _write(main: ViewScreen, text: str, written: str, name: str) -> None:
    path = Path(name.strip())
    write_new(path, text)
    say(main, f"wrote {written} to {path}")


_EXPORTS = "export the rows: CSV; of a node RDP; on Watch and Timeline the run as a page"
FIND: tuple[Command[ViewScreen], ...] = (
    Command("ctrl+f", "find.all", "find a name or command line everywhere", find_everywhere),
)
LISTS: tuple[Command[ViewScreen], ...] = (
    Command("slash", "list.filter", "filter", _ask_filter),
    Command("v", "list.all", "show nodes without a record too", _toggle_all),
    Command("C", "list.columns", "choose columns", _choose_columns),
    Command("e", "list.export", _EXPORTS, _export),
    Command("y", "row.copy", "copy the id", _copy_id),
    Command("Y", "row.copy-json", "copy the row as JSON", _copy_json),
    Command("F", "events.follow", "follow the newest event", _follow),
    Command("X", "events.by-hand", "only what was done by hand, as scenario entries", _toggle_by_hand),
)
VERBS: dict[str, Callable[[ViewScreen, str], object]] = {
    "find": find_everywhere,
    "picture": take_picture,
    "report": write_report,
}
