"""The list of pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.autoscale import scale_page
from engine.views.pages.jobs import deleted_pool_ids, pool_ids
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import NamedRowsModel
from tui.viewmodels.properties import pool as blocks
from tui.viewmodels.session.costs import cost_words
from tui.viewmodels.text.blocks import Block
from tui.viewmodels.text.glyphs import NODE, pool_glyph
from tui.viewmodels.text.styled import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.views.pages.jobs import PoolRow


def _all_ids(simulation: Simulation) -> list[str]:
    return [*pool_ids(simulation), *deleted_pool_ids(simulation)]


class PoolsModel(NamedRowsModel["PoolRow"]):
    """Pools, oldest first, then those that have been deleted."""

    title = "Pools"
    kind = "pool"
    own_order = "age, oldest first; deleted ones last"
    ids = staticmethod(_all_ids)
    columns = (
        Column("", 1),
        Column("Pool", 11, "the pool's id", stretch=True, is_id=True),
        Column(
            "State",
            9,
            "active, deleting or deleted",
            from_width=70,
            least=8,
            is_common=True,
            words=("active", "deleting", "deleted"),
        ),
        Column(
            "Allocation state",
            16,
            "steady, resizing or stopping",
            least=10,
            words=("steady", "resizing", "stopping"),
        ),
        Column("Node size", 16, "the size of the virtual machines", from_width=64, least=11),
        Column("Dedicated", 9, "current and target number of dedicated nodes", is_whole=True),
        Column("Spot", 9, "current and target number of Spot nodes", least=5, is_whole=True),
        Column(
            "Node counts",
            20,
            "number of nodes in each state",
            from_width=62,
            is_derived=True,
            least=11,
        ),
        Column(
            "Utilisation",
            15,
            "task slots in use, of the slots of ready nodes",
            from_width=92,
            is_derived=True,
            is_whole=True,
        ),
        Column(
            "Cost",
            9,
            "node hours times the price of the node size; Spot has its own price",
            from_width=110,
            is_right=True,
            is_derived=True,
        ),
        Column("Autoscale", 9, "whether a formula sets the number of nodes", is_extra=True),
        Column(
            "Task slots per node", 19, "number of one-slot tasks that a node runs at once", is_extra=True, is_right=True
        ),
        Column("Scheduling policy", 17, "whether tasks are packed on few nodes or spread", is_extra=True),
        Column("Resize errors", 26, "why the pool did not reach its target", is_extra=True),
        Column("Jobs", 24, "the jobs of the pool", is_extra=True, is_derived=True),
    )
    help_text = (
        "Dedicated and Spot show current and target nodes, without preempted and deallocated ones. "
        "Node counts is derived: the symbol and the number of each state. "
        "Utilisation is the share in use of the slots of ready nodes. Deleted pools keep their cost.\n"
        "The pool under the cursor is in focus, also in other views. Enter opens its page, 3 lists its nodes.\n"
        "S shows a pool's autoscale: formula, evaluations, and an editor."
    )

    def _find(self, identity: str) -> PoolRow | None:
        return self.session.pool(identity)

    def key_in_focus(self) -> int | None:
        pool_id = self.session.pool_id
        return self._ids.index(pool_id) if pool_id in self._ids else None

    def put_in_focus(self, key: int) -> None:
        if self._ids[key] != self.session.pool_id:
            self.session.focus_pool(self._ids[key])

    def cells(self, key: int) -> tuple[Span, ...]:
        pool = self._row(key)
        if pool.state is None:
            return self._deleted(pool)
        glyph = pool_glyph(pool.state, pool.allocation)
        allocation = pool.allocation.wire if pool.allocation is not None else ""
        sign = f" {self.session.glyphs.bad}" if pool.resize_errors else ""
        return (
            self.session.glyphs.span(glyph),
            Span(pool.pool_id, Role.STRONG if pool.pool_id == self.session.pool_id else Role.PLAIN),
            Span(pool.state.wire),
            Span(allocation + sign, Role.FAILED if sign else glyph.role),
            Span(pool.vm_size),
            Span(f"{pool.current_dedicated:,}/{pool.target_dedicated:,}"),
            Span(f"{pool.current_spot:,}/{pool.target_spot:,}"),
            self._counts(pool),
            Span(_in_use(pool), Role.DERIVED),
            Span(blocks.cost(self.session, pool), Role.DERIVED),
            Span("on" if pool.auto_scale else "off"),
            Span(str(pool.slots)),
            Span(pool.fill),
            Span(", ".join(code for code, *_ in pool.resize_errors), Role.FAILED),
            Span(", ".join(pool.jobs), Role.DERIVED),
        )

    def _deleted(self, pool: PoolRow) -> tuple[Span, ...]:
        """Return the cells of a deleted pool: what it was and what its nodes have cost."""
        known = {
            "Pool": Span(pool.pool_id, Role.STRONG if pool.pool_id == self.session.pool_id else Role.DIM),
            "State": Span("deleted", Role.DIM),
            "Node size": Span(pool.vm_size, Role.DIM),
            "Cost": Span(blocks.cost(self.session, pool), Role.DERIVED),
            "Resize errors": Span(", ".join(code for code, *_ in pool.resize_errors), Role.DIM),
            "Jobs": Span(", ".join(pool.jobs), Role.DERIVED),
        }
        sign = self.session.glyphs.span(pool_glyph(None, None))
        return (sign, *(known.get(column.name, Span("")) for column in self.columns[1:]))

    def summary(self) -> Line:
        """Return what all pools cost, deleted ones included."""
        words = cost_words(self.session)
        return line(Span(f"{words[:1].upper()}{words[1:]}", Role.DERIVED)) if words else ()

    def _counts(self, pool: PoolRow) -> Span:
        """Return glyph and number of each state, failures first: they show where the column is cut."""
        counts = [(NODE[state], number) for state, number in pool.node_counts]
        counts.sort(key=lambda count: count[0].role is not Role.FAILED)
        is_failed = any(glyph.role is Role.FAILED for glyph, _ in counts)
        text = " ".join(f"{self.session.glyphs.of(glyph)}{number:,}" for glyph, number in counts)
        return Span(text, Role.FAILED if is_failed else Role.PLAIN)

    def sentence(self, key: int) -> Line:
        pool = self._row(key)
        if pool.state is None:
            return line(Span(f"{pool.pool_id} was deleted; it cost {blocks.cost(self.session, pool)}", Role.DERIVED))
        states = ", ".join(f"{number:,} {NODE[state].name}" for state, number in pool.node_counts)
        page = scale_page(self.session.simulation, pool.pool_id)
        again = f", evaluated at {self.session.clock(page.next_ms)} (S)" if page is not None else ""
        counts = Span(f"{pool.pool_id}: {states or 'no nodes'}{again}", Role.DERIVED)
        codes = ", ".join(code for code, *_ in pool.resize_errors)
        return line(counts, *([Span(f"  resize: {codes}", Role.FAILED)] if codes else []))

    def details(self, key: int) -> Sequence[Block]:
        pool = self._row(key)
        return blocks.overview(self.session, pool, blocks.start_task(pool))

    def empty(self) -> Sequence[str]:
        said = self.session.none_yet("pool")
        return said if self.session.is_empty else (*said, "ctrl+n creates one.")


def _in_use(pool: PoolRow) -> str:
    return f"{blocks.utilisation(pool):>4} of {pool.usable_slots:,}" if pool.usable_slots else "no slots"
