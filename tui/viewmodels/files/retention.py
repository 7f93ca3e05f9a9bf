"""Sentences on how long a directory's files are kept, and why they were deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.paths import APPLICATIONS, MOUNTS, SHARED, STARTUP, VOLATILE, WORKITEMS
from engine.views.pages.files import Deletion
from engine.views.pages.files import DeletionCause as Cause
from tui.viewmodels.text import format as fmt

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session

_PAST = {
    Cause.RETENTION: "Its retention time of {span} ended at {time} (FILE-7).",
    Cause.TASK_DELETED: "Its task was deleted at {time} (TASK-14).",
    Cause.JOB_DELETED: "Its job was deleted at {time} (JOB-16).",
    Cause.REIMAGED: "The node was reimaged at {time} (NOP-12).",
    Cause.DEALLOCATED: "The node was deallocated at {time} (NOP-12).",
    Cause.PREEMPTED: "The node was preempted at {time} (SPOT-3).",
    Cause.LEFT: "The node left the pool at {time} (FILE-9).",
}
_KNOWN = {
    Cause.RETENTION: "It is deleted at {time}, {span} after its process ended (FILE-7).",
    Cause.PREEMPTED: "The node is preempted at {time}, and loses its files (SPOT-7).",
}
_UNKNOWN = {
    Cause.RETENTION: "It is deleted {span} after its process ends (FILE-7).",
    Cause.JOB_DELETED: "Its job is being deleted, with all its directories (JOB-16).",
    Cause.REIMAGED: "The node is reimaged when its tasks end (NOP-12).",
    Cause.DEALLOCATED: "The node is deallocated when its tasks end (NOP-12).",
    Cause.LEFT: "The node leaves the pool when its tasks end (FILE-9).",
}
_SHORT_PAST = {
    Cause.RETENTION: "retention ended",
    Cause.TASK_DELETED: "task deleted",
    Cause.JOB_DELETED: "job deleted",
    Cause.REIMAGED: "node reimaged",
    Cause.DEALLOCATED: "node deallocated",
    Cause.PREEMPTED: "node preempted",
    Cause.LEFT: "node left",
}
_SHORT_UNKNOWN = {
    Cause.RETENTION: "deleted {span} after its end",
    Cause.JOB_DELETED: "deleted with its job",
    Cause.REIMAGED: "deleted when the node is reimaged",
    Cause.DEALLOCATED: "deleted when the node is deallocated",
    Cause.LEFT: "deleted when the node leaves",
}
_JOB_SLASHES = 2  # workitems/<job>/job-1 (FILE-3)
_NAMED = {
    APPLICATIONS: "Application packages of the pool and of tasks, unpacked (APP-7).",
    MOUNTS: "The file systems that the pool mounts (FILE-13).",
    SHARED: "Shared by all tasks. Never cleaned up: a job's release task must delete its files (FILE-8).",
    STARTUP: "The directory of the start task. Its wd is emptied before each run (START-9).",
    VOLATILE: "Used by the service.",
    WORKITEMS: "A directory for each job, with one for each process (JOB-16).",
}


def named(path: str) -> str:
    """Return the purpose of a directory that every node or job has; empty for any other."""
    is_of_job = path.startswith(f"{WORKITEMS}/") and path.count("/") == _JOB_SLASHES
    return "The directory of a job. It is deleted with the job (JOB-16)." if is_of_job else _NAMED.get(path, "")


def sentence(session: Session, fate: Deletion) -> str:
    """Return what deletes a directory, or has deleted it."""
    if fate.when_ms is None:
        words = _UNKNOWN[fate.cause]
    else:
        words = (_PAST if fate.when_ms <= session.now_ms else _KNOWN)[fate.cause]
    return _said(session, fate, words)


def short(session: Session, fate: Deletion) -> str:
    """Return the content of ``sentence`` in a few words."""
    if fate.when_ms is None:
        return _said(session, fate, _SHORT_UNKNOWN[fate.cause])
    if fate.when_ms > session.now_ms:
        return _said(session, fate, "will be deleted at {time}")
    return _said(session, fate, f"deleted at {{time}}: {_SHORT_PAST[fate.cause]}")


def _said(session: Session, fate: Deletion, words: str) -> str:
    return words.format(time=session.clock(fate.when_ms), span=fmt.in_words(fate.retention_ms or 0))
