"""The table of views, the go line and the command palette: views, ids, commands and actions to be typed.

Each view has a key, titles and perhaps a list, and panes have letters that lead to them. The go line
completes and suggests ids, views and commands. The palette shows the entries that fit what is typed, the best first:
actions for what is under the cursor, and the rest with what they need.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engine.base.rulebook import chapters, rules
from engine.base.values import lazy_regex, quoted, read_table
from engine.pacing import SPEEDS
from engine.scenario.text import bundled, did_you_mean
from engine.views.resources.account import schedule_ids
from engine.views.resources.jobs import job_ids, pool_ids
from tui.viewmodels import actions
from tui.viewmodels.format import names_moment
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.filters import field_name
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.jobs import JobSchedulesModel, JobsModel
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.text import ItemRef, Line, Role, Span, clip, fit, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tui.viewmodels.actions.menu import Action
    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Kind


class Tab(NamedTuple):
    """A view. A view with a ``model`` is a list page."""

    key: str
    name: str
    title: str
    short: str
    model: type[RowsModel] | None = None


TABS = (
    Tab("1", "watch", "Watch", "Watch"),
    Tab("2", "pools", "Pools", "Pools", PoolsModel),
    Tab("3", "nodes", "Nodes", "Nodes", NodesModel),
    Tab("4", "jobs", "Jobs", "Jobs", JobsModel),
    Tab("5", "tasks", "Tasks", "Tasks", TasksModel),
    Tab("6", "preparation", "Preparation tasks", "Prep", PreparationModel),
    Tab("7", "release", "Release tasks", "Release", ReleaseModel),
    Tab("8", "timeline", "Timeline", "Time"),
    Tab("9", "events", "Events", "Events", EventsModel),
    Tab("0", "schedules", "Job schedules", "Sched", JobSchedulesModel),
)
VIEW_NAMES = tuple(tab.name for tab in TABS)
LISTS = {tab.name: tab.model for tab in TABS if tab.model is not None}


_SEARCHED = ("jobs", "pools", "nodes", "tasks", "schedules")  # the lists in which an id is searched, in this order
VIEWS = {tab.name: tab.name for tab in TABS} | {tab.title.lower(): tab.name for tab in TABS}
PAGES = (
    *("account", "critical path", "expectations", "messages", "reload", "requests", "settings", "statistics"),
    *("storage", "study", "theme", "warnings"),
)


# What can follow each word, where a list with these columns is shown.
_ARGUMENTS: dict[str, Callable[[Sequence[str]], Sequence[str]]] = {
    "time": lambda _: ("end", "failure", "+5m", "-5m"),
    "speed": lambda _: [f"{speed:g}" if speed else "max" for speed in SPEEDS],
    "open": lambda _: list(bundled()),
    "seed": lambda _: (),
    "rule": lambda _: [*(chapter.prefix.lower() for chapter in chapters()), *map(str.lower, rules())],
    "new": lambda _: actions.menu.NEW,
    "find": lambda columns: [f"{field_name(name)}:" for name in columns],
    "picture": lambda _: ("screen.svg", "screen.png"),
    "report": lambda _: ("run.html",),
}
GO_WORDS = tuple(_ARGUMENTS)
COMMANDS = (*VIEWS, *GO_WORDS, *PAGES)
_NODE = lazy_regex(r"n(\d+)", re.IGNORECASE)
_MOST_TASKS = 1000
_MOST_OFFERED = 12


class Found(NamedTuple):
    """A row of a view that has an id."""

    view: str
    model: RowsModel
    key: int


def find(session: Session, identity: str) -> Found | None:
    """Return the row with this id or node index (``n117``), else the first whose id contains the text."""
    index = _NODE.fullmatch(identity)
    nodes = session.nodes().nodes()
    if index and int(index[1]) < len(nodes):
        return Found("nodes", NodesModel(session), nodes[int(index[1])])
    found = []
    for view in _SEARCHED:
        model = LISTS[view](session)
        key = model.find(identity)
        if key is not None:
            found.append(Found(view, model, key))
    exact = (each for each in found if each.model.identity_of(each.key).lower() == identity.lower())
    return next(exact, next(iter(found), None))


def written_out(session: Session, text: str) -> str:
    """Return a line with the command that alone begins with its text, or with its first word, written out.

    A line that is a command or an id already is returned as it is.
    """
    whole, (verb, blank, rest) = text.lower(), text.partition(" ")
    if whole in COMMANDS or verb in GO_WORDS or not whole:
        return text
    found = find(session, text)
    if found is not None and found.model.identity_of(found.key).lower() == whole:
        return text
    begun = _begun_by(whole)
    if len(begun) == 1 or f"{whole}s" in begun:
        return begun[0] if len(begun) == 1 else f"{whole}s"
    verbs = [each for each in GO_WORDS if each.startswith(verb.lower())] if blank and verb else []
    return f"{verbs[0]} {rest}" if len(verbs) == 1 else text


def _begun_by(text: str) -> list[str]:
    """Return the commands that begin with a text, a view by one of its names only."""
    return list(dict.fromkeys(VIEWS.get(each, each) for each in COMMANDS if each.startswith(text)))


def not_found(session: Session, text: str, palette_key: str) -> str:
    """Say that nothing has this name, and suggest the nearest one, else where all commands are listed.

    Of a line of several words the first may be a mistyped command.
    """
    begun = _begun_by(text.lower())
    if len(begun) > 1:
        return f"{quoted(text)} begins several commands: {', '.join(begun)}."
    words = list(_words(session))
    near = did_you_mean(text, words) or did_you_mean(text.split(maxsplit=1)[0], words)
    lists = f". : and tab list views and commands, {palette_key} finds them by what they do."
    return f"No view, command or id is called {quoted(text)}{near or lists}"


def _words(session: Session) -> Iterator[str]:
    """Yield everything that can be typed first."""
    yield from (*VIEWS, *GO_WORDS, *PAGES)
    yield from _ids(session)


def _ids(session: Session) -> Iterator[str]:
    yield from job_ids(session.simulation)
    yield from pool_ids(session.simulation)
    yield from schedule_ids(session.simulation)
    yield from (f"n{index}" for index in range(len(session.nodes().nodes())))
    tasks = session.tasks(session.job_id)
    yield from tasks.ids_of(tasks.order()[:_MOST_TASKS])


def completions(session: Session, text: str, columns: Sequence[str] = ()) -> list[str]:
    """Return up to a dozen completions. ``columns`` are those of the list that is shown."""
    word, blank, rest = text.lower().lstrip().partition(" ")
    if blank and word in GO_WORDS:
        wanted = _ARGUMENTS[word]([name.lower() for name in columns if name])
        return [f"{word} {each}" for each in wanted if each.startswith(rest)][:_MOST_OFFERED]
    begun = text.lower().lstrip()
    words = dict.fromkeys(each for each in _words(session) if each.lower().startswith(begun))
    return [f"{each} " if each in GO_WORDS else each for each in islice(words, _MOST_OFFERED)]


def line_hint(text: str, offered: Sequence[str]) -> Line:
    """Return the completions as a line, or what enter does without any."""
    if not offered:
        does = "go to this time" if names_moment(text) else "search all ids"
        return line(Span(f" enter: {does}" if text.strip() else " ", Role.DIM))
    return line(Span(" tab ", Role.KEY), Span("  ".join(each.strip() for each in offered), Role.DIM))


# Seldom what somebody means: faults, and actions that have no effect on the run.
_RARE_ACTIONS = ("Fault:", "Upload the service logs", "Cancel the failed deletion")


class PaletteEntry(NamedTuple):
    """A command: its title, what it is good for, its key, further words by which it is found, and its work."""

    title: str
    about: str
    run: Callable[[], object]
    key: str = ""
    words: str = ""
    is_possible: bool = True  # others are dimmed, and say why
    is_rare: bool = False  # seldom meant: comes after others that fit


def words_for(command: str) -> str:
    """Return the words by which the action of a command is found, beside its title."""
    return " ".join(words for name, words in _words_of_commands() if command.startswith(name))


@cache
def _words_of_commands() -> list[list[str]]:
    return read_table("words.csv", __file__)


def offered_actions(
    session: Session, subjects: Sequence[ItemRef], start: Callable[[Kind, str, Action | None], object]
) -> Iterator[PaletteEntry]:
    """Yield the actions on some items of one kind, on the job and the pool in focus, and on the account.

    Actions on other kinds say that the cursor has to be on such an item first. ``start`` gets the kind, the title, and
    the action, None if nothing of its kind is under the cursor.
    """
    menu = actions.menu
    here: dict[Kind, Sequence[ItemRef]] = {subjects[0].kind: subjects} if subjects else {}
    if session.job_id:
        here.setdefault("job", [ItemRef("job", session.job_id)])
    if session.pool_id:
        here.setdefault("pool", [ItemRef("pool", session.pool_id)])
    here.setdefault("account", [ItemRef("account", "account")])
    for kind in (*here, *(each for each in menu.ACTION_TYPES if each not in here)):
        offered = menu.actions_for(session, here.get(kind, ()))
        names_kind = kind == "account" or len(here.get(kind, ())) > 1  # as the title of several items does
        for action in offered:
            if kind == "account" and action.command in menu.CREATING.values():
                continue  # they have entries of their own
            title = action.title if names_kind else f"{action.title} ({kind})"
            about = f"Not now: {action.unavailable}." if action.unavailable else next(iter(action.effects), "")
            is_possible = not (session.is_past or action.unavailable)
            run = partial(start, kind, title, action)
            yield _of_action(
                title, menu.PAST if session.is_past else about, run, action.command, is_possible=is_possible
            )
        for each in () if offered else menu.ACTION_TYPES[kind]:
            title, about = each.title.format(f"a {kind}"), f"Not here: put the cursor on a {kind} first."
            yield _of_action(title, about, partial(start, kind, title, None), each.command, is_possible=False)


def _of_action(title: str, about: str, run: Callable[[], object], command: str, *, is_possible: bool) -> PaletteEntry:
    is_rare = title.startswith(_RARE_ACTIONS)
    return PaletteEntry(title, about, run, words=words_for(command), is_possible=is_possible, is_rare=is_rare)


_WORD = lazy_regex(r"[a-z0-9']+")
_KEY_CELLS = 12
_TITLE_SHARE = 0.45
_WIDE = 70  # cells
_LEAST_ABOUT = 12  # cells; less of an explanation says nothing
# How well a typed word fits: the whole word or its beginning, in the title, the further words, or the explanation.
# The first word of a title is its verb.
_WHOLE_TITLE, _BEGINS_VERB, _BEGINS_TITLE, _WHOLE_WORDS, _BEGINS_WORDS, _WHOLE_ABOUT, _BEGINS_ABOUT, _WITHIN_TITLE = (
    *(100, 90, 80, 70, 50),
    *(30, 20, 10),
)
_SMALL = ("a", "from", "in", "of", "on", "or", "the", "to", "what")  # words that nobody begins to type
_RARE = 2  # so many times less does it count that a rare command fits


def fitting(entries: Sequence[PaletteEntry], typed: str) -> list[PaletteEntry]:
    """Return the entries that fit all typed words, the best first; without words all of them in their order.

    A whole word counts more than the beginning of one, and the title more than synonyms and explanations. Several words
    that stand together among the synonyms count most. If no entry fits, return those whose title has the letters in
    this order.
    """
    wanted = _WORD.findall(typed.lower()) or list(typed.strip().lower())
    if not wanted:
        return list(entries)
    scored = [(_score(entry, wanted), entry) for entry in entries]
    found = [(score, entry) for score, entry in scored if score]
    if not found:
        pattern = re.compile(".*?".join(map(re.escape, "".join(wanted))))
        found = [(1, entry) for entry in entries if pattern.search(entry.title.lower())]
    return [entry for _, entry in sorted(found, key=lambda each: (-each[0], not each[1].is_possible))]


def _score(entry: PaletteEntry, wanted: Sequence[str]) -> int:
    """Return how well an entry fits; 0 if one of the words is nowhere."""
    if len(wanted) == 1 and wanted[0] == entry.key:
        return 2 * _WHOLE_TITLE
    title, words, about = _lower_words(entry.title), _lower_words(entry.words), _lower_words(entry.about)
    total = 0
    for word in wanted:
        ranks = (
            (_WHOLE_TITLE, word in title),
            (_BEGINS_VERB, title[0].startswith(word)),
            (_BEGINS_TITLE, any(each.startswith(word) for each in title if each not in _SMALL)),
            (_WHOLE_WORDS, word in words),
            (_BEGINS_WORDS, any(each.startswith(word) for each in words)),
            (_WHOLE_ABOUT, word in about),
            (_BEGINS_ABOUT, any(each.startswith(word) for each in about)),
            (_WITHIN_TITLE, word in entry.title.lower()),
        )
        score = next((rank for rank, fits in ranks if fits), 0)
        if not score:
            return 0
        total += score
    if len(wanted) > 1 and f" {' '.join(wanted)} " in f" {' '.join(words)} ":
        total = len(wanted) * _WHOLE_TITLE + 1  # what a person calls it, word for word
    return total // _RARE if entry.is_rare else total


@lru_cache(maxsize=2048)
def _lower_words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def entry_line(entry: PaletteEntry, cells: int) -> Line:
    """Return an entry in one line: key, title, and what it is good for."""
    key = Span(fit(entry.key, _KEY_CELLS), Role.KEY)
    role = Role.PLAIN if entry.is_possible else Role.OFF
    title_cells = _title_cells(entry, cells)
    rest = cells - _KEY_CELLS - title_cells
    about = clip(entry.about, rest) if rest >= _LEAST_ABOUT else ""
    return line(key, Span(fit(entry.title, title_cells - 2) + "  ", role), Span(about, Role.DIM))


def about_cut_off(entry: PaletteEntry, cells: int) -> str:
    """Return what an entry is good for if its line has no room for all of it, else nothing."""
    return entry.about if cell_len(entry.about) > cells - _KEY_CELLS - _title_cells(entry, cells) else ""


def _title_cells(entry: PaletteEntry, cells: int) -> int:
    """Return the cells of the title. A long one stands whole in a narrow list, and takes room from the explanation."""
    title_cells = round(cells * _TITLE_SHARE)
    if cells >= _WIDE:
        return title_cells
    return min(max(title_cells, cell_len(entry.title) + 2), cells - _KEY_CELLS)
