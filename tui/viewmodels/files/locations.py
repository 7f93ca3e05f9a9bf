"""The files of an item or event: on which node, and which of them to show first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.paths import STARTUP, job_directory, task_directory
from engine.base.terms import NodeState, TaskResult
from engine.views.log.task_history import last_directory
from engine.views.pages.hook_status import HookStatus
from tui.viewmodels.text.styled import ItemRef

if TYPE_CHECKING:
    from engine.views.pages.events import EventRow
    from tui.viewmodels.session.session import Session

OUTPUTS = "stdout.txt", "stderr.txt"
_FAILED = HookStatus.FAILED, HookStatus.RETRYING
_HOOKS = "JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged"


class FileLocation(NamedTuple):
    """A node by its row number, and a path on it; an empty path is the root."""

    node: int
    path: str = ""


def output_at(node: int, directory: str, *, has_failed: bool) -> FileLocation:
    """Return the output file in a process's directory: stderr.txt after a failure, else stdout.txt."""
    return FileLocation(node, f"{directory}/{OUTPUTS[has_failed]}")


def files_of(session: Session, subject: ItemRef | None) -> FileLocation | str:
    """Return where the files of a node or task are, or a sentence that says why there are none.

    On a node it is the output of what has failed there last: the start task, or preparation or release of the job in
    focus. Without a failure it is the directory of that job.
    """
    if subject is not None and subject.kind == "node":
        node = int(subject.key)
        if session.nodes().state_of(node) is NodeState.START_TASK_FAILED:
            return output_at(node, STARTUP, has_failed=True)
        for page in reversed(session.pages(session.job_id)):
            if page.status_of(node) in _FAILED:
                return output_at(node, page.row(node).root_directory, has_failed=True)
        return FileLocation(node, job_directory(session.job_id) if session.job_id else "")
    if subject is None or subject.kind != "task":
        return "Put the cursor on a node or task to see its files."
    task = session.tasks(session.job_id).row(int(subject.key))
    found = last_directory(session.simulation, task.task)
    if found is None:
        return f"{task.brief.task_id} has not started yet and has no files."
    return output_at(*found, has_failed=task.brief.result is TaskResult.FAILURE)


def files_of_event(session: Session, event: EventRow) -> FileLocation | str:
    """Return where the files of an event's task, instance, start task or node are."""
    if event.task is not None and event.tasks == 1:
        if event.node is None or event.job_id is None or event.task_id is None:
            return files_of(session, ItemRef("task", event.task))
        return output_at(event.node, task_directory(event.job_id, event.task_id), has_failed=event.is_failure)
    if event.node is None:
        return files_of(session, None)
    if event.event in _HOOKS and event.job_id is not None:
        page = session.pages(event.job_id)[_HOOKS.index(event.event)]
        return output_at(event.node, page.row(event.node).root_directory, has_failed=event.is_failure)
    if event.event == "StartTaskStateChanged":
        return output_at(event.node, STARTUP, has_failed=event.is_failure)
    return files_of(session, ItemRef("node", event.node))
