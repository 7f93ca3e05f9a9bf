"""Output files (TASK-8): what a task's process leaves goes to storage, or does not (RETRY-10).

Containers are known by whether they are there, not by what is in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rules import storage
from engine.specs.common import OutputFileUploadCondition as When

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.specs.common import OutputFile
    from engine.state.failures import FailureInfo
    from engine.world import World


def due_uploads(files: Iterable[OutputFile], exit_code: int) -> list[OutputFile]:
    """Those of the output files that are uploaded after this exit code (TASK-8)."""
    conditions = (When.TASK_COMPLETION, When.TASK_FAILURE if exit_code else When.TASK_SUCCESS)
    return [file for file in files if file.upload_options.upload_condition in conditions]


def upload(world: World, node: int, directory: str, files: Iterable[OutputFile], exit_code: int) -> FailureInfo | None:
    """The process has ended with ``exit_code``: upload what is due; returns the first failure, None if all went well.

    What was done stands in ``fileuploadout.txt`` and ``fileuploaderr.txt``, which are absent where nothing was due.
    """
    due = due_uploads(files, exit_code)
    done: list[str] = []
    failures: list[FailureInfo] = []
    for file in due:
        container = file.destination.container
        why = storage.upload_failure(world, container.container_url)
        if why is None:
            done.append(f"{file.file_pattern} -> {container.container_url}/{container.path or ''}\n")
        else:
            failures.append(why)
    if due:
        disk = world.disks.edit(node)
        disk.write(f"{directory}/fileuploadout.txt", "".join(done))
        disk.write(f"{directory}/fileuploaderr.txt", "".join(f"{why.code}: {why.message}\n" for why in failures))
    return failures[0] if failures else None
