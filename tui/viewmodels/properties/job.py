"""Blocks of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.option_words import eligible_again, is_released_after_preparation, released_where
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, row
from tui.viewmodels.text.glyphs import glyph_of_job
from tui.viewmodels.text.styled import ItemRef, Role, link

if TYPE_CHECKING:
    from engine.scenario.model import Options
    from engine.views.pages.jobs import JobRow
    from tui.viewmodels.session.session import Session


def no_limit(number: int) -> str:
    """Return a limit of the service as text; -1 is no limit."""
    return "no limit" if number == -1 else f"{number:,}"


def yes(value: object) -> str:
    """Return a boolean as yes or no."""
    return "yes" if value else "no"


def general(session: Session, job: JobRow) -> Block:
    """Return id, state, pool and settings."""
    pool = link(job.pool_id, ItemRef("pool", job.pool_id)) if job.pool_id else row("", None)[1]
    return Block(
        "General",
        (
            row("ID", job.job_id),
            row("State", glyph_of_job(job).name, glyph_of_job(job).role),
            row("Since", session.clock(job.since_ms)),
            row("Previous state", job.previous.wire if job.previous is not None else None),
            row("Priority", job.priority),
            ("Pool", pool),
            row("On all tasks complete", job.on_all_tasks_complete),
            row("On task failure", job.spec.on_task_failure.value),
            row("Uses task dependencies", yes(job.spec.uses_task_dependencies)),
            row("Allow task preemption", yes(job.is_preemptible)),
            row("Max parallel tasks", no_limit(job.max_parallel_tasks)),
        ),
    )


def constraints(job: JobRow) -> Block:
    """Return the job's constraints."""
    return Block(
        "Constraints",
        (
            row("Max task retry count", no_limit(job.max_task_retry_count)),
            row("Max wall-clock time", fmt.span(job.max_wall_clock_ms) or "no limit"),
        ),
    )


def hooks(job: JobRow, options: Options) -> list[Block]:
    """Return the job's preparation and release task, with the options in force; nothing for those it does not have."""
    found = []
    prep, release = job.spec.job_preparation_task, job.spec.job_release_task
    if prep is not None:
        rows = (
            row("Command line", prep.command_line),
            row("Wait for success", yes(prep.wait_for_success)),
            row("Rerun on node reboot", yes(prep.rerun_on_node_reboot_after_success)),
            row("Max retry count", no_limit(prep.constraints.max_task_retry_count)),
            row("After a final failure", f"ineligible until {eligible_again(options).until}", Role.DERIVED),
        )
        found.append(Block("Job preparation task", rows))
    if release is not None:
        limit = fmt.span(release.max_wall_clock_time) or "no limit"
        where = row("Runs where", released_where(options), Role.DERIVED)
        of_release = row("Command line", release.command_line), row("Max wall-clock time", limit), where
        found.append(Block("Job release task", of_release))
    return found


def options(options: Options) -> list[Block]:
    """Return the options of the scenario that change what preparation and release do; nothing by default."""
    rows = []
    if is_released_after_preparation(options):
        rows.append(row("releaseAfter", "preparation: release runs wherever it was started (REL-3)"))
    if options.reboot_retries_failed_preparation:
        rows.append(row("rebootRetriesFailedPreparation", "a reboot lets it try again (PREP-17)"))
    return [Block("Options in force", tuple(rows))] if rows else []


def execution(session: Session, job: JobRow) -> Block:
    """Return when the job started and ended, and why."""
    rows = [row("Started", session.clock(job.created_ms)), row("Ended", session.clock(job.end_ms))]
    if job.terminate_reason:
        rows.append(row("Terminate reason", job.terminate_reason, glyph_of_job(job).role))
    if job.scheduling_error:
        rows.append(row("Scheduling error", " ".join(job.scheduling_error), Role.FAILED))
    return Block("Execution information", tuple(rows))
