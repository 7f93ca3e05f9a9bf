"""Blocks of a preparation or release task on a node."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from engine.base.terms import SchedulingState, TaskResult
from engine.views.log.node_history import InstanceRun, NodeHistory, RunCause
from engine.views.pages.hook_status import Hook, HookStatus
from engine.views.pages.instances import InstancePage, InstanceRow
from engine.views.pages.option_words import eligible_again
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, block_of, failure_rows, row
from tui.viewmodels.text.glyphs import NODE, hook_glyph
from tui.viewmodels.text.styled import ItemRef, Role, Span, link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session.session import Session


def node(session: Session, record: InstanceRow) -> Block:
    """Return the node's block, with its state, or when it left the pool."""
    state = NODE[record.node_state]
    left = "" if record.gone_ms is None else f" at {session.clock(record.gone_ms)}"
    scheduling = "" if record.scheduling is SchedulingState.ENABLED else ", scheduling disabled"
    return Block(
        "Node",
        (
            ("ID", link(record.node_id, ItemRef("node", record.node))),
            row("Index", record.position),
            row("Pool", record.pool_id),
            row("State", state.name + (left or scheduling), state.role),
        ),
    )


def instance(session: Session, page: InstancePage, key: int) -> Block:
    """Return what the service reports of the preparation or release task."""
    record = page.row(key)
    title = f"{page.hook.value} task"
    glyph = hook_glyph(page.hook, record.status)
    if record.state is None:
        return Block(title, (row("Record", f"none: {glyph.name}", Role.DIM),))
    clock = session.clock
    took_ms = None if record.start_ms is None or record.end_ms is None else record.end_ms - record.start_ms
    rows = [
        row("State", record.state.wire),
        row("Result", record.result.value if record.result else None, glyph.role),
        row("Start time", clock(record.start_ms)),
        row("End time", clock(record.end_ms)),
        *([row("Duration", fmt.span(took_ms), Role.DERIVED)] if took_ms is not None else []),
        row("Exit code", record.exit_code, Role.FAILED if record.exit_code else Role.PLAIN),
    ]
    if page.hook is Hook.PREPARATION:
        retries = record.max_retries
        limit = " of no limit" if retries == -1 else "" if retries is None else f" of {retries}"
        rows.append(row("Retry count", f"{record.retry_count}{limit}"))
        if record.last_retry_ms is not None:
            rows.append(row("Last retry time", clock(record.last_retry_ms)))
    rows.append(row("Runs so far", record.runs, Role.DERIVED))
    rows += [*failure_rows(record.failure), row("Task root directory", record.root_directory)]
    return Block(title, tuple(rows))


def awaited(session: Session, release: InstancePage) -> str:
    """Return that a job waits for release, and until when at most (REL-13)."""
    until_ms = release.given_up_ms()
    return "awaited" if until_ms is None else f"awaited, at most until {session.clock(until_ms)}"


def is_over(session: Session, job_id: str) -> bool:
    """Return whether the job has ended or is ending, so that no node is ineligible for it any more."""
    return session.pages(job_id)[0].has_ended


def short_until(session: Session, job_id: str) -> str:
    """Return until when a node is ineligible for a job, for a column."""
    return "until job end" if is_over(session, job_id) else eligible_again(session.options).short


def effect(session: Session, record: InstanceRow, history: NodeHistory, job_id: str) -> list[Block]:
    """Return the effect on the node, and the tasks that were requeued; nothing if there is none."""
    glyphs = session.glyphs
    said: list[Span] = []
    if record.gone_ms is not None:
        said.append(Span("The record is kept, the files are deleted.", Role.DERIVED))
    elif record.is_ineligible:
        if is_over(session, job_id):
            said.append(Span(f"{glyphs.bad} was ineligible for this job until it ended (PREP-9)", Role.FAILED))
        else:
            again = eligible_again(session.options)
            text = f"{glyphs.bad} ineligible for this job until {again.until} ({again.rule})"
            said.append(Span(text, Role.FAILED))
            said.append(Span(f"{glyphs.good} still eligible for other jobs", Role.OK))
        tasks = session.tasks(job_id)
        for task in dict.fromkeys(history.requeued(job_id)):
            if tasks.state_of(task) is not None:
                said.append(link(f"{tasks.id_of(task)} returned to active (PREP-8)", ItemRef("task", task)))
    elif record.status is HookStatus.SUPERSEDED:
        said.append(
            Span("would run again before the job's next task here (PREP-15, PREP-16, PREP-18)", Role.TRANSITION)
        )
    return block_of("Effect", (("", each) for each in said))


def runs(session: Session, found: list[InstanceRun]) -> list[Block]:
    """Return each run with its cause; nothing before the first."""
    rows = []
    for run, later in zip_longest(found, found[1:]):
        clock = session.clock
        until = f"{session.glyphs.arrow} {clock(run.end_ms)}" if run.end_ms is not None else ""
        said = " ".join(filter(None, [run.cause.value + ",", clock(run.start_ms), until]))
        if run.exit_code is not None:
            said += f", exit {run.exit_code}"
        elif run.failure is not None:
            said += f", {run.failure.code}"
        if run.end_ms is None:
            said += ", running" if later is None else ", interrupted"
        elif later is not None and later.cause is RunCause.RETRY:
            said += ", retried"
        rows.append((str(run.number), Span(said, Role.FAILED if run.result is TaskResult.FAILURE else Role.PLAIN)))
    return block_of("Runs", rows)


def files(outputs: Sequence[tuple[str, int]]) -> list[Block]:
    """Return the two output files with their sizes; nothing if they do not exist."""
    return block_of("Files (f opens)", (row(name, f"{size:,} B") for name, size in outputs))
