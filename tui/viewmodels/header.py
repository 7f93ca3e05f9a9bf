"""The fixed lines: breadcrumb and transport, the scrubber, the tabs, the hints."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui import format as fmt
from tui.viewmodels.text import Line, Role, Span, between, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session import Session
    from tui.viewmodels.tabs import Tab


class Transport(NamedTuple):
    """How time goes by at the moment."""

    is_playing: bool
    speed: float | None
    is_finished: bool
    way: str | None = None  # what is said while it is on the way to another moment


def breadcrumb(session: Session, title: str, transport: Transport, cells: int) -> Line:
    """Where one is, and what time it is there."""
    is_narrow = cells < 100
    separator = Span(f" {session.glyphs.path} ", Role.DIM)
    path: list[Span] = [] if is_narrow else [Span(session.simulation.scenario.name), separator]
    if not is_narrow and session.pool_id:
        path += [Span(session.pool_id), separator]
    if session.job_id:
        path += [Span(session.job_id), separator]
    return between((Span(" "), *path, Span(title, Role.STRONG)), _clock(session, transport, is_narrow=is_narrow), cells)


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
    speed = fmt.speed_text(transport.speed)
    if transport.way is not None:
        return Span(f" {transport.way} ", Role.ALERT)
    if session.is_past:
        behind = fmt.span(session.newest_ms - session.now_ms)
        return Span(f" PAST -{behind} ", Role.ALERT)
    if transport.is_finished:
        return Span("END", Role.STRONG)
    return Span(f"RUN {speed}", Role.OK) if transport.is_playing else Span(f"PAUSED {speed}", Role.PREPARING)


def scrubber_span(session: Session) -> int:
    """The time that the scrubber shows, in ms: a little more than has been seen, and at most the run."""
    end_ms = session.simulation.end_ms
    seen_ms = max(session.newest_ms, session.now_ms)
    shown_ms = 600_000
    while shown_ms * 3 < seen_ms * 4:
        shown_ms *= 2
    return min(shown_ms, end_ms)


def scrubber(session: Session, cells: int) -> Line:
    """Density of events over the run, failures, what was done by hand, and now."""
    span_ms = scrubber_span(session)
    start = session.simulation.scenario.start
    first = f" {fmt.clock(start, 0)} "
    last = f" {fmt.clock(start, span_ms)} "
    bins = cells - len(first) - len(last)
    if bins < 8:
        return ()
    glyphs = session.glyphs
    counts = session.events.density(bins, span_ms)
    top = max(count for count, _ in counts) or 1
    now_bin = min(bins - 1, session.now_ms * bins // max(1, span_ms))
    newest_bin = min(bins - 1, session.newest_ms * bins // max(1, span_ms))
    levels = len(glyphs.densities) - 1
    marks: dict[int, Span] = {}
    for when_ms in session.events.by_hand_ms():
        marks[when_ms * bins // max(1, span_ms)] = Span(glyphs.by_hand, Role.KEY)
    marks[now_bin] = Span(glyphs.now, Role.STRONG)
    spans = []
    for at, (count, failures) in enumerate(counts):
        if at in marks:
            spans.append(marks[at])
        elif failures:
            spans.append(Span(glyphs.failure, Role.FAILED))
        elif at < now_bin:
            level = -(-count * levels // top)
            spans.append(Span(glyphs.densities[level], Role.RUNNING))
        else:
            spans.append(Span(glyphs.planned, Role.QUIET if at <= newest_bin else Role.OFF))
    return (Span(first, Role.DIM), *_merged(spans), Span(last, Role.DIM))


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1][1:] == span[1:]:
            merged[-1] = merged[-1]._replace(text=merged[-1].text + span.text)
        else:
            merged.append(span)
    return merged


def scrubber_ms(session: Session, cell: int, cells: int) -> int | None:
    """The moment under a cell of the scrubber; None beside it."""
    span_ms = scrubber_span(session)
    start = session.simulation.scenario.start
    first = len(fmt.clock(start, 0)) + 2
    bins = cells - first - len(fmt.clock(start, span_ms)) - 2
    return (cell - first) * span_ms // bins if 0 <= cell - first < bins else None


def tab_line(tabs: Sequence[Tab], current: str, cells: int) -> Line:
    """The views with their keys; the current one stands out."""
    spans: list[Span] = [Span(" ")]
    for tab, title in zip(tabs, _tab_titles(tabs, cells), strict=True):
        is_current = tab.name == current
        spans.append(Span(tab.key, Role.KEY))
        spans.append(Span(f" {title.rstrip()} ", Role.STRONG if is_current else Role.DIM, False, is_current))
        spans.append(Span(title[len(title.rstrip()) :]))
    return tuple(spans)


def _tab_titles(tabs: Sequence[Tab], cells: int) -> list[str]:
    """The longest titles that fit beside one another, with whatever blank comes after each."""
    forms = (
        [f"{tab.title} " for tab in tabs],
        [tab.title for tab in tabs],
        [tab.short for tab in tabs],
        [tab.short[:4] for tab in tabs],
        [tab.short[:3] for tab in tabs],
    )
    return next((titles for titles in forms if sum(len(title) + 3 for title in titles) <= cells), forms[-1])


def tab_at(tabs: Sequence[Tab], cell: int, cells: int) -> str | None:
    """The view whose tab is under a cell."""
    at = 1
    for tab, title in zip(tabs, _tab_titles(tabs, cells), strict=True):
        wide = len(tab.key) + len(title) + 2
        if at <= cell < at + wide:
            return tab.name
        at += wide
    return None


def hints(pairs: Sequence[tuple[str, str]], cells: int) -> Line:
    """Keys and what they do, as many as fit; the last one always."""
    drawn = [(Span(key, Role.KEY), Span(f" {does}   ", Role.DIM)) for key, does in pairs]
    room = cells + 2 - width(drawn[-1])
    spans: list[Span] = [Span(" ")]
    for pair in drawn[:-1]:
        if width((*spans, *pair)) > room:
            break
        spans += pair
    return (*spans, *drawn[-1])


def too_small(cells: int, lines: int) -> list[Line]:
    """What is said where nothing can be drawn."""
    return [(Span(f" needs at least 60x16, has {cells}x{lines}", Role.ALERT),)]
