"""The lines around every view: breadcrumb and clock, tabs, scrubber, message line, and key hints.

The scrubber is the whole run as a line, with the density of
events, what happened when, and now. A message goes at the next key, and the list of all messages is kept. Requests of
clients to the REST endpoint are kept too, and those that change something are said.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, starmap
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len

from engine.base.values import SECOND_MS
from engine.views.resources.account import schedule_ids
from engine.views.results import UNTIL_REACHED, why_over
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import JOB
from tui.viewmodels.text import Line, Role, Span, between, line, merged, squeeze, squeezed, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.go_line import Tab
    from tui.viewmodels.session import Session

    _Names = tuple[tuple[str, str], ...]


_WIDE = 100  # cells
_FIRST_HERE = 1  # hints of the pane that come before those of all panes
LAST_HINTS = 3  # of a view, always shown


class Transport(NamedTuple):
    """The state of playback."""

    is_playing: bool
    speed: float | None
    is_finished: bool
    way: str | None = None  # the text while playback goes to another moment


def breadcrumb(session: Session, title: str, transport: Transport, cells: int) -> Line:
    """Return the path to the view, and the present time."""
    is_narrow = cells < _WIDE
    clock = _clock(session, transport, is_narrow=is_narrow)
    room = cells - width(clock) - len(title) - 3
    path = _path(_paths(session, is_narrow=is_narrow), room, f" {session.glyphs.path} ")
    return between((Span(" "), *path, Span(title, Role.STRONG)), clock, cells)


@lru_cache(maxsize=8)
def _path(paths: Sequence[_Names], room: int, separator: str) -> Line:
    """Return the first of these paths that is whole in so many cells, else the last with its names cut."""
    between_names = cell_len(separator)
    whole = (path for path in paths if sum(cell_len(text) + between_names for text, _ in path) <= room)
    parts = next(whole, paths[-1])
    names = squeezed([text for text, _ in parts], room - len(parts) * between_names)
    spans = (_to_view(text, view) for text, (_, view) in zip(names, parts, strict=True))
    return tuple(span for each in spans for span in (each, Span(separator, Role.DIM)))


def _paths(session: Session, *, is_narrow: bool) -> tuple[_Names, ...]:
    """Return the names in the path, each with the view it leads to; then paths that are taken where it is not whole."""
    scenario, job = session.simulation.scenario, session.job(session.job_id)
    variant = "" if scenario.variant is None else f"variant {scenario.variant.number:,}"
    named = (f"{scenario.name}, {variant}" if variant else scenario.name, "watch")
    state = f" {JOB[job.state].name}" if is_narrow and job is not None else ""
    pool, in_focus = (session.pool_id, "pools"), (f"{session.job_id}{state}", "jobs")
    last = [(variant, "watch"), in_focus] if is_narrow else [named, pool, in_focus]
    paths = [[named, in_focus], last] if is_narrow else [last, [named, in_focus], last]
    return tuple(tuple((text, view) for text, view in path if text) for path in paths)


def _to_view(text: str, view: str, role: Role = Role.PLAIN, *, is_current: bool = False) -> Span:
    return Span(text, role, is_underlined=is_current, leads_to=f"show_view('{view}')")


def _clock(session: Session, transport: Transport, *, is_narrow: bool) -> Line:
    now_ms = session.now_ms
    start = session.simulation.scenario.start
    moment = session.clock(now_ms) if is_narrow else fmt.date_and_clock(start, now_ms)
    spans = [Span(moment, Role.STRONG), Span(" " if is_narrow else f"  +{fmt.span(now_ms)}   ")]
    spans += [_state(session, transport), Span(" ")]
    if not is_narrow:
        spans.append(Span(f"  seed {session.simulation.seed} ", Role.DIM))
    return tuple(spans)


def _state(session: Session, transport: Transport) -> Span:
    speed, real = "max" if transport.speed is None else f"x{transport.speed:g}", session.simulation.real_speed
    if transport.way is not None:
        return Span(f" {transport.way} ", Role.ALERT)
    if session.is_past:
        behind_ms = session.newest_ms - session.now_ms
        return Span(f" PAST -{fmt.span(behind_ms)} " if behind_ms >= SECOND_MS else " PAST ", Role.ALERT)
    if transport.is_finished:
        end = "END until" if why_over(session.simulation) == UNTIL_REACHED else "END"
        return Span("EMPTY" if session.is_empty else end, Role.STRONG)
    if real is not None and (transport.speed is None or transport.speed >= real):
        speed = "real" if real == 1 else f"real x{real:g}"
    return Span(f"RUN {speed}", Role.OK) if transport.is_playing else Span(f"PAUSED {speed}", Role.PREPARING)


def tab_line(tabs: Sequence[Tab], current: str, cells: int) -> Line:
    """Return the views with their keys; the current one is highlighted."""
    spans: list[Span] = [Span(" ")]
    for tab, title in zip(tabs, _tab_titles(tabs, cells), strict=True):
        is_current, name = tab.name == current, title.rstrip()
        role = Role.STRONG if is_current else Role.DIM
        spans += [_to_view(tab.key, tab.name, Role.KEY), _to_view(f" {name} ", tab.name, role, is_current=is_current)]
        spans.append(_to_view(title[len(name) :], tab.name))
    return tuple(spans)


def _tab_titles(tabs: Sequence[Tab], cells: int) -> list[str]:
    """Return the longest titles that fit, with the space after each."""
    forms = (
        [f"{tab.title} " for tab in tabs],
        [tab.title for tab in tabs],
        [tab.short for tab in tabs],
        [tab.short[:4] for tab in tabs],
        [tab.short[:3] for tab in tabs],
    )
    return next((titles for titles in forms if sum(len(title) + 3 for title in titles) <= cells), forms[-1])


def of_use(
    here: Sequence[tuple[str, str]], session: Session, transport: Transport, *, is_low: bool, is_page: bool
) -> list[tuple[str, str]]:
    """Return the ids of bindings that are useful now, with a word for each: the most useful first, six if low.

    ``here`` are those of the pane. The last three, palette, help and quit, are always shown; on a detail page the key
    that quits leaves only the page. In an empty scenario nothing can be run, opened or explained.
    """
    last = [("palette", "commands"), ("help", "help"), ("quit.ask", "leave" if is_page else "quit")]
    is_past = session.is_past
    if session.is_empty:
        return [("row.new", "create"), ("scenario.open", "open another scenario"), ("row.act", "act"), *last]
    plays = "pause" if transport.is_playing else "start again" if transport.is_finished and not is_past else "run"
    first = [("time.play", plays)]
    if is_past or not transport.is_finished:
        first.append(("time.end", "to now" if is_past else "end"))
    if transport.way is not None:
        first.insert(0, ("go.out", "stay here"))
    elif is_past:
        first.insert(0, ("time.branch", "branch here"))
    if is_low:
        return [*first[:1], ("row.why", "why"), ("row.act", "act"), *last]
    row = [("row.why", "why"), ("row.act", "act")]
    time = [("time.step time.back", "step"), ("time.slower time.faster", "speed"), ("time.go", "go to time")]
    return [*first, *here[:_FIRST_HERE], *row, *here[_FIRST_HERE:], *time, *last]


def hints(pairs: Sequence[tuple[str, str]], cells: int, last: int = 2) -> Line:
    """Return as many keys and words as fit, and always the ``last`` ones."""
    drawn = [(Span(key, Role.KEY), Span(f" {does}  ", Role.DIM)) for key, does in pairs]
    end = [span for pair in drawn[-last:] for span in pair]
    room = cells + 2 - width(end)
    spans: list[Span] = [Span(" ")]
    for pair in drawn[:-last]:
        if width((*spans, *pair)) > room:
            break
        spans += pair
    return (*spans, *end)


def too_small(cells: int, lines: int) -> list[Line]:
    """Return the message of a terminal that is too small."""
    return [(Span(f" needs at least 60x16, has {cells}x{lines}", Role.ALERT),)]


_WIDE_SCRUBBER = 100  # cells
_LEAST_CELLS = 8
_JOB_CELLS = 20  # of the id of the job whose end is estimated
_FIRST_SPAN_MS = 600_000
_COVERED = 0, 0
_BEYOND = 50  # a fiftieth of the run is shown beyond its end


class _Scale(NamedTuple):
    """The scale of the scrubber: its labels, the cells between them, and the time that these cover."""

    first: str
    last: str
    cells: int
    span_ms: int
    planned_ms: int | None  # the end of the run if it is known, else the estimated end of the job in focus

    def cell(self, when_ms: int) -> int:
        """Return the cell of a moment."""
        return min(self.cells - 1, when_ms * self.cells // max(1, self.span_ms))


def _scale(session: Session, cells: int) -> _Scale:
    start, known_ms = session.simulation.scenario.start, session.end_ms
    planned_ms = session.forecast().end_ms if known_ms is None else known_ms
    span_ms = _span_ms(session, planned_ms) if known_ms is None else max(known_ms, session.newest_ms)
    span_ms = min(span_ms + span_ms // _BEYOND, session.simulation.end_ms) if known_ms is not None else span_ms
    first, last = f" {fmt.clock(start, 0)} ", f" {fmt.clock(start, span_ms)} "
    if known_ms is None and cells < _WIDE_SCRUBBER:
        last = f"{last}? "  # only the scale ends there
    elif planned_ms is None:
        last = f" end not known yet {last}"
    if planned_ms is not None and cells >= _WIDE_SCRUBBER:
        is_recorded = known_ms is not None and session.newest_ms >= known_ms
        how = "estimated " if known_ms is None else "" if is_recorded else "simulated "
        whose = _whose(session) if known_ms is None else ""
        last = f" {how}end{whose} {fmt.clock(start, planned_ms)} " + (last if known_ms is None else "")
    elif known_ms is not None:
        last = f" {fmt.clock(start, known_ms)} "
    return _Scale(first, last, cells - len(first) - len(last), span_ms, planned_ms)


def _whose(session: Session) -> str:
    """Return the job in focus, to which an estimate belongs, where its end need not be that of the run."""
    is_alone = not session.has_several_jobs and not schedule_ids(session.simulation)
    return "" if is_alone else session.text(f" of {squeeze(session.job_id, _JOB_CELLS)}")


def _span_ms(session: Session, planned_ms: int | None) -> int:
    """Return a little more than the recorded and planned time, at most the whole run."""
    seen_ms = max(session.newest_ms, session.now_ms)
    shown_ms = _FIRST_SPAN_MS
    while shown_ms * 3 < seen_ms * 4 or (planned_ms is not None and shown_ms < planned_ms):
        shown_ms *= 2
    return min(shown_ms, session.simulation.end_ms)


def scrubber(session: Session, cells: int) -> Line:
    """Return the density of events over the run, with failures, commands by hand, bookmarks, now, and the end.

    While the past is shown, what is recorded after it is dimmed. Stretches that were crossed at once are marked.
    """
    scale = _scale(session, cells)
    if scale.cells < _LEAST_CELLS:
        return ()
    counts = session.events.density(scale.cells, scale.span_ms)
    now_cell, newest_cell = scale.cell(session.now_ms), scale.cell(session.newest_ms)
    # What is recorded after the shown moment has a density if it has been played ahead.
    events = session.later_events() if session.is_past else None
    if events is not None:
        later = events.density(scale.cells, scale.span_ms)
        counts[now_cell + 1 : newest_cell + 1] = later[now_cell + 1 : newest_cell + 1]
    top, signs = max(counts)[0] or 1, _signs(session, scale)
    for at in signs:
        counts[at] = _COVERED  # so that the same cells are drawn while only the number at this moment grows
    end_cell = scale.cells if scale.planned_ms is None else scale.planned_ms * scale.cells // max(1, scale.span_ms)
    seen, crossed = (now_cell, newest_cell, end_cell), _crossed_cells(session, scale)
    drawn = _drawn(tuple(counts), top, tuple(signs.items()), crossed, seen, session.glyphs)
    return (Span(scale.first, Role.DIM), *drawn, Span(scale.last, Role.DIM))


@lru_cache(maxsize=4)
def _drawn(
    counts: tuple[tuple[int, int], ...],
    top: int,
    covered: tuple[tuple[int, Span], ...],
    crossed: frozenset[int],
    seen: tuple[int, int, int],
    glyphs: GlyphSet,
) -> list[Span]:
    """Draw the cells; ``seen`` are those of this moment, of the newest one and of the expected end."""
    signs, (now_cell, newest_cell, end_cell) = dict(covered), seen
    levels = len(glyphs.densities) - 1
    spans = []
    for at, (count, failures) in enumerate(counts):
        is_later = now_cell < at <= newest_cell
        if at in signs:
            spans.append(signs[at])
        elif failures:
            spans.append(Span(glyphs.failure, Role.DIM if is_later else Role.FAILED))
        elif at in crossed and not count:
            spans.append(Span(glyphs.crossed, Role.DIM))
        elif at < now_cell or (is_later and count):
            level = -(-count * levels // top)
            spans.append(Span(glyphs.densities[level], Role.OFF if is_later else Role.RUNNING))
        else:
            is_known = at <= newest_cell or at <= end_cell
            role = Role.QUIET if at <= newest_cell else Role.OFF
            spans.append(Span(glyphs.planned if is_known else " ", role))
    return merged(spans)


def _signs(session: Session, scale: _Scale) -> dict[int, Span]:
    """Return the signs that cover everything else: commands, bookmarks, and now."""
    signs = {scale.cell(when_ms): Span(session.glyphs.bookmark, Role.KEY) for when_ms in session.bookmarked_ms}
    signs |= {scale.cell(when_ms): Span(session.glyphs.by_hand, Role.KEY) for when_ms in session.events.by_hand_ms()}
    signs[scale.cell(session.now_ms)] = Span(session.glyphs.now, Role.STRONG)
    return signs


def _crossed_cells(session: Session, scale: _Scale) -> frozenset[int]:
    """Return the cells that lie in stretches that were crossed at once."""
    parts = ((scale.cell(from_ms) + 1, scale.cell(min(to_ms, scale.span_ms)) + 1) for from_ms, to_ms in session.crossed)
    return frozenset(chain.from_iterable(starmap(range, parts)))


def scrubber_ms(session: Session, cell: int, cells: int) -> int | None:
    """Return the moment at a cell of the scrubber, or None."""
    scale = _scale(session, cells)
    at = cell - len(scale.first)
    return at * scale.span_ms // scale.cells if 0 <= at < scale.cells else None


Severity = Literal["information", "warning", "error"]

MOST_MESSAGES = 200
MOST_LINES = 3  # of a message that does not fit in one
_READ_IN_A_SECOND = 15  # characters
_ROLES = {"information": Role.KEY, "warning": Role.WARNING, "error": Role.FAILED}
_RANKS = {"information": 0, "warning": 1, "error": 2}


class Message(NamedTuple):
    """A message: its text, severity, and the simulated moment at which it was said, in ms after the start."""

    text: str
    severity: Severity
    when_ms: int


def seconds_shown(message: Message) -> float:
    """Return the number of seconds after which a message goes without a key: enough to read it."""
    return max(6 if message.severity == "information" else 15, len(message.text) / _READ_IN_A_SECOND)


def welcome(shown: Callable[[str], str], about: str) -> str:
    """Return the message to a new user: the first keys, by the ids of their bindings, and what the run shows."""
    named = (
        ("time.play", "runs and pauses it, a minute in all"),
        ("row.why", "explains what is under the cursor"),
        ("scenario.open", "opens another scenario"),
        ("help", "helps"),
    )
    return f"Welcome: {', '.join(f'{shown(key)} {does}' for key, does in named)}. {about}"


def foremost(messages: Sequence[Message]) -> Message:
    """Return the most serious of the messages since the last key, and of those the newest."""
    return max(enumerate(messages), key=lambda each: (_RANKS[each[1].severity], each[0]))[1]


def message_lines(session: Session, messages: Sequence[Message], cells: int) -> list[Line]:
    """Return the foremost message, in one line if it fits, and the number of the others."""
    first = foremost(messages)
    glyphs = session.glyphs
    more = f"  (+{len(messages) - 1}; :messages lists all)" if len(messages) > 1 else ""
    sign = {"information": glyphs.path, "warning": "!", "error": glyphs.bad}[first.severity]
    lead = f" {sign} "
    texts = wrapped(session.text(" ".join(first.text.split())) + more, max(20, cells - len(lead) - 1))
    if len(texts) > MOST_LINES:
        texts = [*texts[: MOST_LINES - 1], squeeze(" ".join(texts[MOST_LINES - 1 :]), max(20, cells - len(lead) - 1))]
    role = _ROLES[first.severity]
    leads = [lead, *[" " * len(lead)] * len(texts)]
    return [line(Span(begin, role), Span(text)) for begin, text in zip(leads, texts, strict=False)]


def list_lines(session: Session, messages: Iterable[Message], cells: int) -> list[Line]:
    """Return all messages that are kept, the newest first, each with the moment it belongs to."""
    kept = tuple(messages)
    if not kept:
        return [line(Span("There has been no message yet.", Role.DIM))]
    found: list[Line] = []
    for message in reversed(kept):
        when = f"{session.clock(message.when_ms)}  "
        for number, text in enumerate(wrapped(session.text(message.text), max(20, cells - len(when)))):
            begin = when if number == 0 else " " * len(when)
            role = Role.FAILED if message.severity == "error" else Role.PLAIN
            found.append(line(Span(begin, Role.DIM), Span(text, role)))
    return found


MOST_REQUESTS = 1000
_READS = ("GET", "HEAD")
_WHO_CELLS = 22
LONGEST = 400  # characters of a client's name or of a path that are kept


class Served(NamedTuple):
    """The functions by which a server of clients asks the dashboard, and reports to it."""

    newest_ms: Callable[[], int]  # the latest moment that the screen has shown
    speed: Callable[[], float]  # how fast time passes in the present, in simulated seconds per real second
    on_request: Callable[[ClientRequest], None]  # called after each answer
    pause: Callable[[], Awaitable[None]]  # lets keys be handled and frames be drawn, between slices of requests
    warn: Callable[[str], None]  # shows a warning


class ClientRequest(NamedTuple):
    """A request that was answered: by whom, for what, with which status and error code, and how long it took.

    ``when_ms`` is the simulated moment of the answer, in ms after the start.
    """

    who: str
    method: str
    path: str
    status: int
    code: str
    took_ms: float
    when_ms: int

    @property
    def is_write(self) -> bool:
        """True if the method may change something."""
        return self.method not in _READS

    @property
    def is_failure(self) -> bool:
        """True if the request was refused."""
        return self.status >= 400


def client_name(user_agent: str, host: str) -> str:
    """Return a short name of a client: the first product of its user agent, else its address."""
    return (user_agent.split() or [host])[0][:LONGEST]


def request_lines(
    session: Session, requests: Sequence[ClientRequest], exports: Sequence[str], cells: int
) -> list[Line]:
    """Return how clients find the account, and a line for each request, the newest first."""
    head = [*(line(Span(text, Role.DIM)) for text in exports), *([()] if exports else [])]
    if not requests:
        return [*head, line(Span("No client has asked for anything yet.", Role.DIM))]
    return head + [_line(session, request, cells) for request in reversed(requests)]


def _line(session: Session, request: ClientRequest, cells: int) -> Line:
    when = f"{session.clock(request.when_ms)}  "
    status = f"{request.status} {request.took_ms:7.1f} ms  "
    who = f"{squeeze(session.text(request.who), _WHO_CELLS):{_WHO_CELLS}}  "
    room = max(16, cells - len(when) - len(status) - len(who))
    target = f"{request.method} {request.path}" + (f" {request.code}" if request.code else "")
    role = Role.FAILED if request.is_failure else Role.STRONG if request.is_write else Role.PLAIN
    return line(
        Span(when, Role.DIM),
        Span(status, Role.FAILED if request.is_failure else Role.DIM),
        Span(who, Role.DIM),
        Span(squeeze(session.text(target), room), role),
    )


def note_of_writes(requests: Sequence[ClientRequest]) -> str:
    """Return what is said about requests that change something: the last one, and the number of the others."""
    writes = [request for request in requests if request.is_write]
    if not writes:
        return ""
    last = writes[-1]
    code = f" {last.code}" if last.code else ""
    more = f" (+{len(writes) - 1:,} more)" if len(writes) > 1 else ""
    return f"{last.who}: {last.method} {last.path} {last.status}{code}, {last.took_ms:.1f} ms{more}"
