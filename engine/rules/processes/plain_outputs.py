"""Files and uploads of plain tasks: what each of them leaves is worked out once, when the tasks are added.

Most tasks that upload are alike: an unknown program that leaves the same files each time. ``uploads`` does the same for
any task, in many steps. A property test runs both and compares logs and files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.environment import RESERVED_DISK_BYTES
from engine.base.node_files import NodeFiles
from engine.base.paths import WILDCARD, job_directory, working_directory
from engine.executors.protocol import LeftFile, PlainOutputs, PlainUpload, Plan
from engine.rules.processes import disk_space, uploads
from engine.specs.storage import BlobContent, without_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.base.paths import NodeRoot
    from engine.executors.protocol import Launch
    from engine.specs.common import OutputFile
    from engine.specs.task import TaskSpec
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.world.world import World

# The length of a task's id and of a parameter of a factory, in a name that an upload leaves in its record.
_LONGEST_NAME = 256


def outputs_of(world: World, pool: Pool, job: Job, spec: TaskSpec, launch: Launch) -> PlainOutputs | None:
    """Return what plain tasks with this body leave and upload after exit code 0; None if that is not always the same.

    It differs where a pattern holds variables or may mean files of others, and where a container is not always there.
    """
    root, files, directory = world.root_of(pool), NodeFiles(), launch.directory
    output = world.executor.finish(launch, Plan(0, 0), {}, root, files, world.now_ms)
    files.write(f"{directory}/stdout.txt", output.stdout)
    files.write(f"{directory}/stderr.txt", output.stderr)
    left = {key: _left(files, directory, key) for key in files.all_files()}
    if not all(key.startswith(f"{directory}/") for key in left):
        return None
    example = _Example(files, root, directory, left)
    done: list[PlainUpload] = []
    for file in uploads.due_uploads(spec.output_files, 0):
        found = _uploads_of(world, spec, file, example)
        if not found:
            return None
        done += found
    names = (len(file.destination.container.path or "") * _LONGEST_NAME for file in spec.output_files)
    records = len(done) * (len(directory) + _LONGEST_NAME + sum(names)) + sum(len(each.line("", "")) for each in done)
    most = sum(each.content.size for each in left.values()) + 4 * records
    uploaded = sum(each.file.content.size for each in done)
    return PlainOutputs(f"{job_directory(job.id)}/", tuple(left.values()), tuple(done), uploaded, most)


class _Example(NamedTuple):
    """The files that one plain task leaves, and its directory."""

    files: NodeFiles
    root: NodeRoot
    directory: str
    left: Mapping[str, LeftFile]


def _left(files: NodeFiles, directory: str, key: str) -> LeftFile:
    text = files.read(key) if files.has_text(key) else None
    return LeftFile(key.removeprefix(f"{directory}/"), BlobContent(files.size(key), text))


def _uploads_of(world: World, spec: TaskSpec, file: OutputFile, example: _Example) -> list[PlainUpload]:
    """Return the uploads of an output file; none if they are not the same for all such tasks."""
    files, root, directory, left = example
    container = file.destination.container
    url, has_path = container.container_url, bool((container.path or "").strip("/"))
    wanted = root.key(file.file_pattern, working_directory(directory))
    is_relative = not file.file_pattern.startswith(("/", "\\")) and ":" not in file.file_pattern
    if not is_relative or "$" in file.file_pattern or "%" in file.file_pattern:
        return []
    if not wanted.startswith(f"{directory}/") or not world.storage.is_always_open(url, world.options.strict_storage):
        return []
    unplaced = file.destination.model_copy(update={"container": container.model_copy(update={"path": None})})
    below_path = bool(WILDCARD.search(wanted))
    number = next(number for number, each in enumerate(spec.output_files) if each is file)
    found: list[PlainUpload] = []
    for key, blob in uploads.uploads_of(
        file.model_copy(update={"destination": unplaced}), files, root, working_directory(directory), {}
    ):
        name = "" if has_path and not below_path else blob
        if name.startswith(f"{directory}/"):  # the name would hold the task's id
            return []
        found.append(PlainUpload(left[key], number, world.blobs.container(url), without_query(url), name, below_path))
    return found


def leave(world: World, task: int, node: int, profile: TaskProfile) -> bool:
    """Leave and upload what a plain task that has succeeded leaves; return False if that takes a closer look.

    It does during an outage, in a pool of which samples are taken, on a nearly full disk, and where something else has
    made the task's directory before.
    """
    outputs, disks = profile.outputs, world.disks
    assert outputs is not None
    if world.region.has_had_outages or world.pool_of(node).auto_scale:
        return False
    room = disks.room(node, task, outputs)
    if room is None or room < outputs.most_bytes:
        disks.set_room(node, disk_space.free_bytes(world, node) - RESERVED_DISK_BYTES)
        room = disks.room(node, task, outputs)
        if room is None or room < outputs.most_bytes:
            return False
    world.blobs.upload_plain(world.calendar.now_ms, task, node, len(outputs.uploads))
    disks.pack(node, task, outputs.most_bytes)
    world.jobs.rows[profile.job].count_bytes(uploaded=outputs.uploaded_bytes)  # unfinished jobs count as edited
    return True
