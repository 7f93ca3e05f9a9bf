"""The go line: ids, views and commands that can be typed, their completion, and suggestions."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lazy import lazy_regex
from engine.base.rulebook import chapters, rules
from engine.base.shortening import quoted
from engine.pacing.speeds import SPEEDS
from engine.scenario.files import bundled
from engine.scenario.wording import did_you_mean
from engine.views.pages.job_schedules import schedule_ids
from engine.views.pages.jobs import job_ids, pool_ids
from tui.viewmodels.actions.menu import NEW
from tui.viewmodels.frame.tabs import TABS
from tui.viewmodels.lists.filters import column_of, field_name
from tui.viewmodels.lists.job_schedules import JobSchedulesModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.nodes import NodesModel
from tui.viewmodels.lists.pools import PoolsModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.text.format import names_moment
from tui.viewmodels.text.styled import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session.session import Session

# The lists in which an id is searched, in this order.
_SEARCHED: dict[str, type[RowsModel]] = {
    "jobs": JobsModel,
    "pools": PoolsModel,
    "nodes": NodesModel,
    "tasks": TasksModel,
    "schedules": JobSchedulesModel,
}
VIEWS = {tab.name: tab.name for tab in TABS} | {tab.title.lower(): tab.name for tab in TABS}
ACCOUNT = "account"
WARNINGS = "warnings"
EXPECTATIONS = "expectations"
STORAGE = "storage"
STATISTICS = "statistics"
MESSAGES = "messages"
REQUESTS = "requests"
RELOAD = "reload"
CRITICAL_PATH = "critical path"
SETTINGS = "settings"
THEME = "theme"
PAGES = (
    *(ACCOUNT, CRITICAL_PATH, EXPECTATIONS, MESSAGES, RELOAD, REQUESTS, SETTINGS, STATISTICS, STORAGE, THEME, WARNINGS),
)
GO_WORDS = (
    "time",
    "speed",
    "open",
    "seed",
    "only",
    "filter",
    "sort",
    "columns",
    "rule",
    "new",
    "find",
    "report",
    "study",
)
COMMANDS = (*VIEWS, *GO_WORDS, *PAGES)
_OFFERED = {
    "time": ["end", "failure", "+5m", "-5m"],
    "report": ["report.html", "report.md"],
    "study": ["--vary ", "--seeds ", "--results "],
}
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
    for view, model_type in _SEARCHED.items():
        model = model_type(session)
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
    yield from VIEWS
    yield from GO_WORDS
    yield from PAGES
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
        begun, wanted = _arguments(word, rest, columns)
        return [f"{word} {begun}{each}" for each in wanted if each.startswith(rest[len(begun) :])][:_MOST_OFFERED]
    begun = text.lower().lstrip()
    words = dict.fromkeys(each for each in _words(session) if each.lower().startswith(begun))
    return [f"{each} " if each in GO_WORDS else each for each in islice(words, _MOST_OFFERED)]


def _arguments(word: str, rest: str, columns: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the settled part of the rest, and what can follow it."""
    names = [name.lower() for name in columns if name]
    settled, wanted = "", [f"{field_name(name)}:" for name in names]
    match word:
        case "time" | "report" | "study":
            settled = rest[: rest.rfind(" ") + 1] if word == "study" else ""
            wanted = _OFFERED[word]
        case "speed":
            wanted = [f"{speed:g}" if speed else "max" for speed in SPEEDS]
        case "new":
            wanted = list(NEW)
        case "only":
            wanted = ["failed"]
        case "open":
            wanted = list(bundled())
        case "seed":
            wanted = []
        case "sort":
            wanted = names
        case "rule":
            wanted = [*(chapter.prefix.lower() for chapter in chapters()), *map(str.lower, rules())]
        case "columns":
            settled = rest[: max(rest.rfind("+"), rest.rfind("-")) + 1]
            wanted = names if settled else [f"+{name}" for name in names]
    return settled, wanted


def asked_columns(text: str, columns: Sequence[str]) -> tuple[dict[str, bool], list[str]]:
    """Return the columns in ``+retry count -node`` with True for those to show, and the unknown names."""
    asked, unknown = {}, []
    for sign, words in re.findall(r"([+-])([^+-]+)", text):
        at = column_of(field_name(words), columns)
        if at is None:
            unknown.append(words.strip())
        else:
            asked[columns[at]] = sign == "+"
    return asked, unknown


def line_hint(text: str, offered: Sequence[str]) -> Line:
    """Return the completions as a line, or what enter does without any."""
    if not offered:
        does = "go to this time" if names_moment(text) else "search all ids"
        return line(Span(f" enter: {does}" if text.strip() else " ", Role.DIM))
    return line(Span(" tab ", Role.KEY), Span("  ".join(each.strip() for each in offered), Role.DIM))
