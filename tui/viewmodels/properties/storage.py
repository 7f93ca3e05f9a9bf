"""Blocks of what jobs and tasks have downloaded from storage and uploaded to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.storage import bytes_of_job, bytes_of_task, uploads_of_task
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, block_of, row
from tui.viewmodels.text.styled import Role

if TYPE_CHECKING:
    from engine.views.pages.storage import TransferredBytes
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import Span

_MOST_BLOBS = 20


def job_transfers(session: Session, job_id: str) -> list[Block]:
    """Return the bytes that a job has downloaded and uploaded; nothing if there were none (TASK-21)."""
    found = bytes_of_job(session.simulation, job_id)
    return block_of("Storage", _sizes(found) if found is not None else ())


def task_transfers(session: Session, task: int) -> list[Block]:
    """Return the bytes that a task has downloaded and uploaded, and its blobs; nothing if there were none (TASK-21)."""
    uploads = uploads_of_task(session.simulation, task)
    rows = _sizes(bytes_of_task(session.simulation, task))
    rows += [row("Blob", f"{blob.url}, {fmt.size(blob.size)}") for blob in uploads[:_MOST_BLOBS]]
    if len(uploads) > _MOST_BLOBS:
        rows.append(
            row("And", f"{fmt.counted(len(uploads) - _MOST_BLOBS, 'blob')} more; :storage lists them", Role.DIM)
        )
    return block_of("Storage", rows)


def _sizes(found: TransferredBytes) -> list[tuple[str, Span]]:
    if not any(found):
        return []
    return [row("Downloaded", fmt.size(found.downloaded)), row("Uploaded", fmt.size(found.uploaded))]
