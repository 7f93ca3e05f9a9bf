"""Blocks of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import TaskResult
from tui.viewmodels.text.blocks import Block, block_of, failure_rows, row
from tui.viewmodels.text.glyphs import glyph_of_task
from tui.viewmodels.text.styled import ItemRef, Role, Span, link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.views.pages.tasks import SubtaskRow, TaskRow
    from tui.viewmodels.session.session import Session


def general(session: Session, task: TaskRow) -> Block:
    """Return id, job, state, command line and slots."""
    glyph = glyph_of_task(task.brief)
    return Block(
        "General",
        (
            row("ID", task.brief.task_id),
            ("Job", link(task.job_id, ItemRef("job", task.job_id))),
            row("State", task.brief.state.wire if task.brief.state else glyph.name, glyph.role),
            row("Command line", task.command_line),
            row("Required slots", task.required_slots),
            *((row("Number of instances", task.instances),) if task.instances else ()),
            row("Created", session.clock(task.brief.created_ms)),
        ),
    )


def execution(session: Session, task: TaskRow) -> Block:
    """Return node, times, result and counters."""
    brief, clock = task.brief, session.clock
    glyph = glyph_of_task(brief)
    on_node = None if task.node is None else ItemRef("node", task.node)
    return Block(
        "Execution",
        (
            ("Node", link(task.node_id, on_node)) if task.node_id else row("Node", None),
            row("Start time", clock(brief.start_ms)),
            row("End time", clock(brief.end_ms)),
            row("Exit code", brief.exit_code, Role.FAILED if brief.exit_code else Role.PLAIN),
            row("Result", brief.result.value if brief.result else None, glyph.role),
            row("Retry count", brief.retry_count),
            *([row("Last retry time", clock(task.last_retry_ms))] if task.last_retry_ms is not None else []),
            row("Requeue count", brief.requeue_count),
            *([row("Last requeue time", clock(task.last_requeue_ms))] if task.last_requeue_ms is not None else []),
            row("Attempts", task.attempts, Role.DERIVED),
        ),
    )


def failure(task: TaskRow) -> list[Block]:
    """Return why the task failed; nothing if it has not."""
    return block_of("Failure information", failure_rows(task.brief.failure))


def environment(variables: Mapping[str, str]) -> list[Block]:
    """Return the variables of the process; nothing before it starts."""
    return block_of("Environment", (("", Span(f"{name}={value}")) for name, value in variables.items()))


def subtasks(session: Session, found: Sequence[SubtaskRow]) -> list[Block]:
    """Return the subtasks of a multi-instance task. The primary task is described by the other blocks."""
    clock = session.clock
    rows = []
    for each in found:
        said = [each.state.wire, f"on n{each.position}"]
        said += [f"since {clock(each.start_ms)}"] if each.start_ms is not None and each.end_ms is None else []
        said += [f"until {clock(each.end_ms)}"] if each.end_ms is not None else []
        said += [f"exit {each.exit_code}"] if each.exit_code is not None else []
        has_failed = each.result is TaskResult.FAILURE
        rows.append(row(str(each.number), ", ".join(said), Role.FAILED if has_failed else Role.PLAIN))
    return block_of("Subtasks", rows)
