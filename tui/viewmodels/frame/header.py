"""The lines around every view: breadcrumb and clock, tabs, and key hints."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import JOB
from tui.viewmodels.text.styled import Line, Role, Span, between, squeezed, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.frame.tabs import Tab
    from tui.viewmodels.session.session import Session

    _Names = tuple[tuple[str, str], ...]  # in a path, each with the view it leads to


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
    """Return the names in the path, each with the view it leads to; on a narrow screen also a path with fewer names."""
    scenario = session.simulation.scenario
    variant = "" if scenario.variant is None else f"variant {scenario.variant.number:,}"
    named = (f"{scenario.name}, {variant}" if variant else scenario.name, "watch")
    if not is_narrow:
        paths = [[named, (session.pool_id, "pools"), (session.job_id, "jobs")]]
    else:
        job = session.job(session.job_id)
        in_focus = ("" if job is None else f"{job.job_id} {JOB[job.state].name}", "jobs")
        paths = [[named, in_focus], [(variant, "watch"), in_focus]]
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
    speed = "max" if transport.speed is None else f"x{transport.speed:g}"
    if transport.way is not None:
        return Span(f" {transport.way} ", Role.ALERT)
    if session.is_past:
        behind = fmt.span(session.newest_ms - session.now_ms)
        return Span(f" PAST -{behind} ", Role.ALERT)
    if transport.is_finished:
        return Span("EMPTY" if session.is_empty else "END", Role.STRONG)
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
    here: Sequence[tuple[str, str]],
    transport: Transport,
    *,
    is_past: bool,
    is_low: bool,
    is_empty: bool = False,
    is_page: bool = False,
) -> list[tuple[str, str]]:
    """Return the ids of bindings that are useful now, with a word for each: the most useful first, six if low.

    ``here`` are those of the pane. The last three, palette, help and quit, are always shown; on a detail page the key
    that quits leaves only the page. In an empty scenario nothing can be run, opened or explained.
    """
    last = [("palette", "commands"), ("help", "help"), ("quit.ask", "leave" if is_page else "quit")]
    if is_empty:
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
