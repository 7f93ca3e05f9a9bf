"""Blocks of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.option_words import eligible_again
from tui.viewmodels.properties.instance import is_over
from tui.viewmodels.properties.machine import hardware
from tui.viewmodels.text.blocks import Block, block_of, failure_rows, row
from tui.viewmodels.text.glyphs import NODE, PREPARATION, RELEASE
from tui.viewmodels.text.styled import ItemRef, Role, Span, link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.nodes import JobOnNode, NodeRow
    from tui.viewmodels.session.session import Session


_WILL = {
    "reboot": "reboots",
    "reimage": "is reimaged",
    "deallocate": "is deallocated",
    "remove": "leaves the pool",
    "upgrade": "is upgraded",
}


def next_words(node: NodeRow) -> str:
    """Return what a node does once nothing keeps it: ``leaves the pool when its tasks end``; empty if nothing waits."""
    operation = node.pending_operation
    if operation is None:
        return ""
    until = "its files are no longer retained" if operation.waits_for_retention else "its tasks end"
    return f"{_WILL[operation.name]} {'once it has booted' if operation.name == 'upgrade' else f'when {until}'}"


def general(session: Session, node: NodeRow) -> Block:
    """Return the properties that the portal shows first."""
    glyph = NODE[node.state]
    clock = session.clock
    return Block(
        "General",
        (
            row("ID", node.node_id),
            row("Index", node.position),
            ("Pool", link(node.pool_id, ItemRef("pool", node.pool_id))),
            row("State", glyph.name, glyph.role),
            *([row("Cause", node.cause, Role.FAILED)] if node.cause else []),
            *([row("VM is taken back", clock(node.evicted_ms), Role.FAILED)] if node.evicted_ms is not None else []),
            row("State transition time", clock(node.since_ms)),
            row("Scheduling state", node.scheduling.wire),
            *([row("Next", words)] if (words := next_words(node)) else []),
            row("Node size", node.vm_size),
            *hardware(node.vm_size),
            row("Dedicated", "yes" if node.is_dedicated else "no, Spot"),
            row("Allocation time", clock(node.allocation_ms)),
            row("Last boot time", clock(node.boot_ms)),
            row("Boots", node.boots, Role.DERIVED),
            row("Running tasks", node.running_tasks),
            row("Preparing tasks", node.preparing_tasks, Role.DERIVED),
            row("Running task slots", f"{node.used_slots} of {node.slots}"),
            row("Total tasks run", node.total_run),
            row("Total successful tasks", node.total_succeeded),
            row("IP address", node.ip),
        ),
    )


def start_task(session: Session, node: NodeRow) -> list[Block]:
    """Return the start task of the present boot; nothing if there is none."""
    task = node.start_task
    if task is None:
        return []
    clock = session.clock
    rows = (
        row("State", "running" if task.running else "completed"),
        row("Result", task.result.value if task.result else None, Role.FAILED if task.failure else Role.PLAIN),
        row("Start time", clock(task.start_ms)),
        row("End time", None if task.running else clock(task.end_ms)),
        row("Exit code", task.exit_code, Role.FAILED if task.exit_code else Role.PLAIN),
        row("Retry count", task.retry_count),
        *([row("Last retry time", clock(task.last_retry_ms))] if task.last_retry_ms is not None else []),
        *failure_rows(task.failure),
    )
    return [Block("Start task", rows)]


def jobs(session: Session, on_node: Sequence[JobOnNode]) -> list[Block]:
    """Return the state of each job on the node; nothing if there has been none."""
    rows = []
    for job in on_node:
        said = f"{session.glyphs.of(PREPARATION[job.prep])} {PREPARATION[job.prep].name}"
        if job.has_released:
            said += f", {session.glyphs.of(RELEASE[job.release])} {RELEASE[job.release].name}"
        has_ended = is_over(session, job.job_id)
        until = "the job ended" if has_ended else eligible_again(session.options).until
        said += f", ineligible until {until}" if job.is_ineligible else ""
        rows.append((job.job_id, Span(said, PREPARATION[job.prep].role)))
    return block_of("Jobs on this node", rows)


def running_tasks(tasks: Sequence[tuple[int, str, str]], most: int) -> list[Block]:
    """Return the tasks that run on the node; nothing if there are none."""
    rows = [(job_id, link(task_id, ItemRef("task", task))) for task, job_id, task_id in tasks[:most]]
    if len(tasks) > most:
        rows.append(("", Span(f"and {len(tasks) - most:,} more", Role.DIM)))
    return block_of("Running tasks", rows)
