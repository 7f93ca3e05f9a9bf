"""Lenses: the property of each node that the node map shows, and its glyphs."""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum
from typing import TYPE_CHECKING

from engine.base.units import HOUR_MS, MINUTE_MS
from engine.views.pages.nodes import hooks_in, state_in
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import NODE, PREPARATION, RELEASE, Glyph, phase_glyph
from tui.viewmodels.text.styled import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.jobs import JobRow
    from engine.views.pages.nodes import NodePage


class Lens(Enum):
    """A property that the map can show; the value is its name on the screen."""

    STATE = "node state"
    PHASE = "job phase"
    SLOTS = "slots in use"
    AGE = "age in state"
    FAILURES = "failures so far"


LENSES = tuple(Lens)

_MOST = 9  # the highest digit
_STEPS = [part * 10**power for power in range(9) for part in (1, 2, 5)]  # failures that a digit more stands for
_AGES_MS = (HOUR_MS, 15 * MINUTE_MS, 5 * MINUTE_MS, MINUTE_MS)
_AGES = (
    Glyph("█", "#", Role.RUNNING, "an hour or longer"),
    Glyph("▓", "=", Role.RUNNING, "15 to 60 minutes"),
    Glyph("▒", "-", Role.RUNNING, "5 to 15 minutes"),
    Glyph("░", ":", Role.RUNNING, "1 to 5 minutes"),
    Glyph("·", ".", Role.QUIET, "less than a minute"),
)
_NO_FAILURE = Glyph(".", ".", Role.QUIET, "no failure")
# Roles of states in which preparation and release have to wait: the lens of phases shows the state instead.
_OUT_OF_PHASE = (Role.FAILED, Role.TRANSITION, Role.OFF, Role.PREEMPTED)


def first_lens(job: JobRow | None) -> Lens:
    """Return the lens until the user chooses one: a job without preparation has no phases that a node could be in."""
    return Lens.PHASE if job is not None and job.phases.preparation.is_specified else Lens.STATE


def facts_of(lens: Lens, page: NodePage, now_ms: int) -> Sequence[int]:
    """Return the property of each of the page's nodes as a number."""
    match lens:
        case Lens.PHASE:
            return page.all_hooks()
        case Lens.SLOTS:
            return page.free_slots()
        case Lens.AGE:
            bounds = [now_ms - age_ms for age_ms in _AGES_MS]
            return bytes([bisect_right(bounds, since_ms) for since_ms in page.all_since_ms()])
        case Lens.FAILURES:
            return page.failures()
        case Lens.STATE:
            return bytes(len(page.nodes()))


def glyph_for(lens: Lens, state: int, fact: int, most: int) -> Glyph:
    """Return the glyph of a node from its state, the lens's property, and the most that this can be.

    That is the slots of a node in its pool, or the failures on the node with most of them.
    """
    node_state = state_in(state)
    glyph = NODE[node_state]
    if node_state is None:
        return glyph
    match lens:
        case Lens.STATE:
            return glyph
        case Lens.SLOTS:
            return slots_glyph(most - fact, most, glyph)
        case Lens.AGE:
            return _AGES[fact]
        case Lens.FAILURES:
            return failures_glyph(fact, most)
        case Lens.PHASE:
            return glyph if glyph.role in _OUT_OF_PHASE else phase_glyph(*hooks_in(fact))


def severity_of(glyph: Glyph) -> tuple[bool, int]:
    """Return the sort key by which the worst of several glyphs is the highest one."""
    return glyph.role is Role.FAILED, _rank(glyph) or 0


def failures_glyph(count: int, most: int) -> Glyph:
    """Return the glyph of a number of failures: a digit for so many that the node with most has one too."""
    if not count:
        return _NO_FAILURE
    step = next(each for each in _STEPS if each * _MOST >= most)
    digit = -(-count // step)
    first, last = (digit - 1) * step + 1, digit * step
    name = f"{first:,} to {last:,} failures" if step > 1 else fmt.counted(count, "failure")
    return Glyph(str(digit), str(digit), Role.FAILED, name)


def slots_glyph(used: int, slots: int, state: Glyph) -> Glyph:
    """Return the glyph of slots in use, of all slots; that of the node's ``state`` where none can be used."""
    if state.role not in (Role.RUNNING, Role.QUIET):
        return state
    if used <= 0:
        return Glyph(".", ".", Role.QUIET, "no slot in use")
    if used >= slots:
        return Glyph("#", "#", Role.RUNNING, "all slots in use")
    tenths = used * 10 // slots if slots > _MOST else used
    name = f"{used} in use" if slots <= _MOST else f"{tenths} tenths in use"
    return Glyph(str(tenths), str(tenths), Role.RUNNING, name)


_RANKS = {
    glyph: rank
    for rank, glyph in enumerate((*PREPARATION.values(), *RELEASE.values(), *NODE.values(), *_AGES, _NO_FAILURE))
}


def _rank(glyph: Glyph) -> int | None:
    """Return the place of a glyph in the tables of glyphs, failures by number; None for slots in use."""
    if glyph.role is Role.FAILED and glyph.symbol.isdigit():
        return len(_RANKS) + int(glyph.symbol)
    return _RANKS.get(glyph)


def rank_of(glyph: Glyph) -> tuple[bool, int, str]:
    """Return the sort key of a glyph in the legend: failures first, then in the order of the state tables."""
    rank = _rank(glyph)
    return glyph.role is not Role.FAILED, len(_RANKS) if rank is None else rank, glyph.name
