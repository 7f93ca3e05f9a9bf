"""The cost of the run and of a pool in words: so far, and by the simulated end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.jobs import has_had_several_pools
from tui.viewmodels.text import format as fmt

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session


def cost_by_the_end(session: Session, pool_id: str | None = None) -> float | None:
    """Return the cost of a pool, or of all pools, by the simulated end; None at the end, and while it is not known."""
    if session.is_over:
        return None
    ahead = session.costs_ahead
    return ahead.of_run() if pool_id is None else ahead.of_pool(pool_id)


def cost_words(session: Session) -> str:
    """Return the cost of the run, ``$0.54 so far, $0.83 by the end``; empty while nothing costs and nothing will."""
    so_far, later = session.cost_usd(), cost_by_the_end(session)
    if not so_far and not later:
        return ""
    has_several = has_had_several_pools(session.simulation)
    words = f"{'all pools ' if has_several else ''}{fmt.dollars(so_far)}"
    if session.is_over:
        return words if has_several else f"{words} in all"
    return f"{words} so far" + (f", {fmt.dollars(later)} by the end" if later is not None else "")


def pool_cost_words(session: Session, pool_id: str) -> str:
    """Return the cost of a pool beside that of the others, ``this pool $0.02``; empty if it was the only one."""
    usd = session.cost_usd(pool_id)
    return f"this pool {fmt.dollars(usd)}" if usd and has_had_several_pools(session.simulation) else ""
