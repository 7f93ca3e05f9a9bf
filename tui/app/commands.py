"""The entries of the command palette: keys of the main screen, sheets, options, and help."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.app.pictures import ask_picture
from tui.saving.recorder import NEW_EMPTY
from tui.settings.key_help import when_of, words_of
from tui.settings.options import OPTIONS
from tui.viewmodels.actions.action_search import offered_actions
from tui.viewmodels.actions.menu import NEW
from tui.viewmodels.detail_pages.job import CRITICAL_PATH_TAB, STATISTICS_TAB
from tui.viewmodels.frame.tabs import TABS
from tui.viewmodels.sheets.palette import PaletteEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual.app import App
    from textual.screen import Screen

    from tui.screens.main_screen import MainScreen
    from tui.viewmodels.text.styled import ItemRef

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
