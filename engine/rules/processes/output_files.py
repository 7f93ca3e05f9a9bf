"""Output files: uploads to storage when a task's process has ended (TASK-8), and their failures (RETRY-10).

Most tasks that upload are alike: an unknown program that leaves the same files each time. What each of these plain
tasks leaves is worked out once, when the tasks are added. A property test runs both ways and compares logs and files.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from engine.base.paths import RESERVED_DISK_BYTES, WILDCARD, job_directory, working_directory
from engine.base.values import lazy_regex
from engine.rules.processes import execution, node_disk, setup
from engine.rules.processes.setup import Work
from engine.shell.files import NodeFiles
from engine.shell.protocol import LeftFile, PlainOutputs, PlainUpload, Plan
from engine.specs.account import BlobContent, without_query
from engine.specs.common import OutputFileUploadCondition as When
from engine.state.files import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.base.errors import FailureInfo
    from engine.base.paths import NodeRoot
    from engine.shell.protocol import Launch
    from engine.specs.bodies import TaskSpec
    from engine.specs.common import OutputFile
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.world import World


_VARIABLE = lazy_regex(r"\$(?:\{(\w+)\}|(\w+))|%(\w+)%", re.ASCII)


class MatchingFile(NamedTuple):
    """A file on the node, by its key, and the name of its blob."""

    key: str
    blob: str


def due_uploads(files: Iterable[OutputFile], exit_code: int) -> list[OutputFile]:
    """Return the output files that are uploaded after this exit code (TASK-8)."""
    conditions = (When.TASK_COMPLETION, When.TASK_FAILURE if exit_code else When.TASK_SUCCESS)
    return [file for file in files if file.upload_options.upload_condition in conditions]


def uploads_of(
    file: OutputFile, files: NodeFiles, root: NodeRoot, directory: str, variables: Mapping[str, str]
) -> list[MatchingFile]:
    """Return the files that match a pattern, in order, and their blobs (TASK-8).

    The pattern is relative to ``directory``, or absolute; variables are replaced. Without a wildcard ``path`` is the
    name of the blob; with one it is a prefix, and files keep their paths below the directories without wildcards.
    """

    def value(found: re.Match[str]) -> str:
        return variables.get(found[1] or found[2] or found[3], found[0])

    pattern = root.key(_VARIABLE.sub(value, file.file_pattern), directory)
    path = (file.destination.container.path or "").strip("/")
    if not WILDCARD.search(pattern):
        name = path or pattern.removeprefix(f"{directory}/")
        return [MatchingFile(pattern, name)] if files.read(pattern) is not None else []
    fixed = _fixed_part(pattern)
    wanted = _parts(pattern, root)
    keys = [key for key in files.walk(fixed) if files.read(key) is not None and _matches(_parts(key, root), wanted)]
    return [MatchingFile(key, "/".join(part for part in (path, key[len(fixed) :].strip("/")) if part)) for key in keys]


def _parts(path: str, root: NodeRoot) -> list[str]:
    """Return the names of a path, in lower case on Windows, where case does not matter."""
    return (path.lower() if root.is_windows else path).split("/")


def _fixed_part(pattern: str) -> str:
    """Return the directories before the first wildcard."""
    parts = pattern.split("/")
    first = next(number for number, part in enumerate(parts) if WILDCARD.search(part))
    return "/".join(parts[:first])


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path matches a pattern; ``**`` matches any directories, and at the end everything below.

    A name that begins with a dot matches only a pattern with that dot.
    """
    if not pattern or not names:
        return not pattern and not names
    first, *rest = pattern
    if first != "**":
        has_dot = names[0].startswith(".") and not first.startswith(".")
        return not has_dot and fnmatchcase(names[0], first) and _matches(names[1:], rest)
    if _matches(names, rest or ["*"]):
        return True
    return not names[0].startswith(".") and _matches(names[1:], pattern)


def finish_task(world: World, task: int, node: int, launch: Launch, plan: Plan) -> Plan:
    """Write and upload the files of a task whose plan has come true; returns it with the process's own exit code.

    A failed upload shows only after exit code 0 (RETRY-2, RETRY-10). Of a multi-instance task only the primary comes
    here: nothing of its subtasks is uploaded (MI-7).
    """
    spec = world.tasks.spec(task)
    job = world.jobs[world.tasks.profile_of(task).job]
    work = Work(spec, job, spec.id, task)
    code = execution.finish(world, node, launch, plan, work).exit_code
    due = due_uploads(spec.output_files, code)
    failure = _upload(world, node, launch, work, due) if due else None
    failure = world.executor.upload_failure(launch) or failure if due else None
    return plan._replace(exit_code=code, failure=failure if code == 0 else None)


def _upload(world: World, node: int, launch: Launch, work: Work, due: Sequence[OutputFile]) -> FailureInfo | None:
    """Upload these output files of a process that has ended, up to the first failure, which is returned, or None.

    The blobs are in storage with size and text from now on (TASK-18). The outcome is written to ``fileuploadout.txt``
    and ``fileuploaderr.txt``, which are absent where nothing was due.
    DECISION: a container must exist even if no file goes there, and an upload takes no time.
    """
    job = work.job
    assert job is not None
    variables: Mapping[str, str] = {}
    if any(_VARIABLE.search(file.file_pattern) for file in due):
        variables = execution.environment_of(world, node, launch, work)
    root, files = world.root_of(world.pool_of(node)), world.disks.edit(node)
    done: list[str] = []
    why: FailureInfo | None = None
    for file in due:
        url = file.destination.container.container_url
        why = setup.upload_failure(world, url)
        if why is not None:
            break
        found = uploads_of(file, files, root, working_directory(launch.directory), variables)
        container = world.blobs.container(url)
        for key, name in found:
            content = BlobContent(files.size(key), files.read(key) if files.has_text(key) else None)
            world.blobs.upload(world.now_ms, container, name, content, node, work.task)
            world.jobs.edit(job.row).count_bytes(uploaded=content.size)
            world.note_traffic(node, Traffic.UPLOAD, content.size, world.now_ms, world.now_ms)
            done.append(f"{key} -> {without_query(url)}/{name}, {content.size} bytes\n")
        done += [] if found else [f"{file.file_pattern}: there is no such file\n"]
    files.write(f"{launch.directory}/fileuploadout.txt", "".join(done))
    files.write(f"{launch.directory}/fileuploaderr.txt", "" if why is None else f"{why.code}: {why.message}\n")
    return why


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
    for file in due_uploads(spec.output_files, 0):
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
    is_open = world.storage.is_always_open(url, world.end_ms, strict=world.options.strict_storage)
    if not wanted.startswith(f"{directory}/") or not is_open:
        return []
    unplaced = file.destination.model_copy(update={"container": container.model_copy(update={"path": None})})
    below_path = bool(WILDCARD.search(wanted))
    number = next(number for number, each in enumerate(spec.output_files) if each is file)
    found: list[PlainUpload] = []
    for key, blob in uploads_of(
        file.model_copy(update={"destination": unplaced}), files, root, working_directory(directory), {}
    ):
        name = "" if has_path and not below_path else blob
        if name.startswith(f"{directory}/"):  # the name would hold the task's id
            return []
        found.append(PlainUpload(left[key], number, world.blobs.container(url), without_query(url), name, below_path))
    return found


def leave_plain_outputs(world: World, task: int, node: int, profile: TaskProfile) -> bool:
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
        disks.set_room(node, node_disk.free_bytes(world, node) - RESERVED_DISK_BYTES)
        room = disks.room(node, task, outputs)
        if room is None or room < outputs.most_bytes:
            return False
    world.blobs.upload_plain(world.calendar.now_ms, task, node, len(outputs.uploads))
    disks.pack(node, task, outputs.most_bytes)
    world.jobs.rows[profile.job].count_bytes(uploaded=outputs.uploaded_bytes)  # unfinished jobs count as edited
    return True
