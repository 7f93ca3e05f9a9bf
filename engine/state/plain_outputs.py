"""Files and uploads of plain tasks, worked out from the task when they are asked for.

A large run has a million such tasks, and most of their files and blobs are never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.base.node_files import NodeFiles
    from engine.executors.protocol import PlainOutputs
    from engine.specs.storage import BlobContent
    from engine.state.tasks import TaskTable


class Upload(NamedTuple):
    """An upload: the number of the container in the table of blobs, the name that it was given, and its content."""

    container: int
    name: str
    content: BlobContent


def directory_of(tasks: TaskTable, task: int, outputs: PlainOutputs) -> str:
    """Return the directory of a plain task on its node."""
    return outputs.job_directory + tasks.task_id(task)


def upload_of(tasks: TaskTable, task: int, number: int) -> Upload:
    """Return the upload of this number of a plain task."""
    outputs = tasks.profile_of(task).outputs
    assert outputs is not None
    upload, block = outputs.uploads[number], tasks.block_of(task)
    path = block.source.output_path(task - block.first, upload.output)
    return Upload(upload.container, upload.blob_name(path), upload.file.content)


def write(tasks: TaskTable, task: int, files: NodeFiles) -> None:
    """Write the files of a plain task that has succeeded to its node, with the records of its uploads (TASK-8)."""
    outputs = tasks.profile_of(task).outputs
    assert outputs is not None
    directory = directory_of(tasks, task, outputs)
    files.mkdir(f"{directory}/wd")
    for path, (size, text) in outputs.files:
        if text is None:
            files.put(f"{directory}/{path}", size)
        else:
            files.write(f"{directory}/{path}", text)
    if outputs.uploads:
        names = (upload_of(tasks, task, number).name for number in range(len(outputs.uploads)))
        lines = (upload.line(directory, name) for upload, name in zip(outputs.uploads, names, strict=True))
        files.write(f"{directory}/fileuploadout.txt", "".join(lines))
        files.write(f"{directory}/fileuploaderr.txt", "")
