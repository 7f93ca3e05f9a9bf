"""Blocks of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.node_states import PROBLEMS, UNBILLED
from engine.views.pages.autoscale import scale_page
from tui.viewmodels.properties.machine import hardware, operating_system
from tui.viewmodels.properties.resources import pool_blocks
from tui.viewmodels.session.costs import cost_by_the_end
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, block_of, error_blocks, row
from tui.viewmodels.text.glyphs import NODE
from tui.viewmodels.text.styled import ItemRef, Role, Span, link

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.views.pages.jobs import NetworkRow, PoolRow
    from tui.viewmodels.session.session import Session

_MOST_KINDS = 2  # of lost or broken nodes that are named


def cost(session: Session, pool: PoolRow) -> str:
    """Return the cost of the pool's nodes so far."""
    return fmt.dollars(session.cost_usd(pool.pool_id))


def utilisation(pool: PoolRow) -> str:
    """Return the share of the usable task slots that is in use; empty without any."""
    return f"{pool.used_slots / pool.usable_slots:.0%}" if pool.usable_slots else ""


def node_words(pool: PoolRow) -> str:
    """Return the numbers of live and targeted nodes, and of lost or broken ones: ``5/9 nodes, 4 preempted``."""
    target = pool.target_dedicated + pool.target_spot
    lost = [(number, NODE[state].name) for state, number in pool.node_counts if state in UNBILLED or state in PROBLEMS]
    if len(lost) > _MOST_KINDS:
        lost = [(sum(number for number, _ in lost), "lost or broken")]
    return ", ".join([f"{pool.live_nodes:,}/{target:,} nodes", *(f"{number:,} {name}" for number, name in lost)])


def slot_words(pool: PoolRow) -> str:
    """Return the use of the task slots of ready nodes: ``slots 5/5 in use, 100%``; empty without any."""
    if not pool.usable_slots:
        return ""
    return f"slots {pool.used_slots:,}/{pool.usable_slots:,} in use, {utilisation(pool)}"


def overview(session: Session, pool: PoolRow, start_task: Sequence[Block] = ()) -> list[Block]:
    """Return all blocks of a pool; those of the start task are on a tab of their own on the detail page."""
    return [
        general(session, pool),
        *([] if pool.state is None else [scale(pool)]),
        operating_system(pool.spec, session.simulation.scenario.start),
        *chance(session),
        *autoscale(session, pool),
        *error_blocks("Resize errors", pool.resize_errors),
        *nodes(pool),
        *start_task,
        *pool_blocks(pool.spec),
        *network(pool),
        *jobs(pool),
    ]


def general(session: Session, pool: PoolRow) -> Block:
    """Return states, size and settings."""
    used = f"{pool.used_slots:,} of {fmt.counted(pool.usable_slots, 'usable slot')}"
    if pool.state is None or pool.allocation is None:
        state, now = [row("State", "deleted"), row("Deleted", session.clock(pool.gone_ms))], []
    else:
        state = [row("State", pool.state.wire), row("Allocation state", pool.allocation.wire)]
        state.append(row("Since", session.clock(pool.allocation_since_ms)))
        now = [row("Utilisation", used, Role.DERIVED)]
    later = cost_by_the_end(session, pool.pool_id)
    return Block(
        "General",
        (
            row("ID", pool.pool_id),
            *state,
            row("Node size", pool.vm_size),
            *hardware(pool.vm_size),
            row("Task slots per node", pool.slots),
            row("Scheduling policy", pool.fill),
            row("Created", session.clock(pool.created_ms)),
            *now,
            row("Cost so far", cost(session, pool), Role.DERIVED),
            *([row("Cost by the end", fmt.dollars(later), Role.DERIVED)] if later is not None else []),
        ),
    )


def scale(pool: PoolRow) -> Block:
    """Return current and target numbers of nodes."""
    return Block(
        "Scale",
        (
            row("Dedicated", f"{pool.current_dedicated:,} of {pool.target_dedicated:,}"),
            row("Spot", f"{pool.current_spot:,} of {pool.target_spot:,}"),
            row("Autoscale", "on" if pool.auto_scale else "off"),
            *([] if pool.auto_scale else [row("Resize timeout", fmt.span(pool.spec.resize_timeout))]),
        ),
    )


def chance(session: Session) -> list[Block]:
    """Return the rates at which nodes fail and are evicted (NODE-18, SPOT-10); nothing without any."""
    simulate = session.simulation.scenario.simulate
    failures, evictions = simulate.nodes.failure_rate, simulate.spot.eviction_rate
    rows = []
    if failures:
        rows.append(row("Failures", f"{failures:g} per node and hour"))
    if evictions:
        rows.append(row("Evictions", f"{evictions:g} per Spot node and hour"))
        rows.append(row("Notice of evictions", fmt.span(simulate.spot.notice)))
    return [Block("Chance", tuple(rows))] if rows else []


def autoscale(session: Session, pool: PoolRow) -> list[Block]:
    """Return the last evaluation and the time of the next; nothing without autoscale."""
    page = scale_page(session.simulation, pool.pool_id)
    if page is None:
        return []
    run = page.runs[-1]
    if run.error is None:
        result = row("Targets", f"{run.target_dedicated:,} dedicated, {run.target_spot:,} Spot")
    else:
        result = row("Failed", f"{run.error.code}. {run.error.position}: {run.error.reason}", Role.FAILED)
    clock = session.clock
    rows = (row("Last evaluated", clock(run.when_ms)), result, row("Next", clock(page.next_ms)))
    return [Block("Autoscale (S formula, history)", rows)]


def nodes(pool: PoolRow) -> list[Block]:
    """Return the nodes by state; nothing if there are none."""
    counts = ((NODE[state], number) for state, number in pool.node_counts)
    return block_of("Nodes", ((glyph.name, Span(f"{number:,}", glyph.role)) for glyph, number in counts))


def start_task(pool: PoolRow) -> list[Block]:
    """Return the start task; nothing if the pool has none."""
    task = pool.start_task
    if task is None:
        return []
    rows = (
        row("Command line", task.command_line),
        row("Wait for success", "yes" if task.wait_for_success else "no"),
        row("Max retry count", task.max_task_retry_count),
    )
    return [Block("Start task", rows)]


def jobs(pool: PoolRow) -> list[Block]:
    """Return the pool's jobs; nothing if there are none."""
    return block_of("Jobs", (("", link(job_id, ItemRef("job", job_id))) for job_id in pool.jobs))


def network(pool: PoolRow) -> list[Block]:
    """Return the network configuration; nothing if the pool's body has none."""
    return [] if pool.network is None else block_of("Network", _network_rows(pool.network))


def _network_rows(network: NetworkRow) -> Iterator[tuple[str, Span]]:
    yield row("Communication mode", network.communication)
    if network.between_nodes is not None:
        yield row("Ports between nodes", network.between_nodes)
    if network.closed_ports:
        yield row("Closed ports", ", ".join(map(str, network.closed_ports)), Role.FAILED)
    if network.subnet_id is None:
        return
    yield row("Subnet", network.subnet_id)
    if network.free_addresses is not None:
        yield row("Free addresses", network.free_addresses, Role.PLAIN if network.free_addresses else Role.FAILED)
    yield row("Load balancers", network.load_balancers, Role.DERIVED)
