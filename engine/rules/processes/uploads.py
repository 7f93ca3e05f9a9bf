"""Uploads of output files to storage when a task's process has ended (TASK-8), and their failures (RETRY-10)."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lazy import lazy_regex
from engine.base.paths import WILDCARD, working_directory
from engine.rules.decisions import storage
from engine.rules.processes import execution
from engine.rules.processes.setup import Work
from engine.specs.common import OutputFileUploadCondition as When
from engine.specs.storage import BlobContent, without_query
from engine.state.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.base.failures import FailureInfo
    from engine.base.node_files import NodeFiles
    from engine.base.paths import NodeRoot
    from engine.executors.protocol import Launch, Plan
    from engine.specs.common import OutputFile
    from engine.world.world import World

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
    return plan._replace(exit_code=code, failure=failure if code == 0 else None)


def _upload(world: World, node: int, launch: Launch, work: Work, due: Sequence[OutputFile]) -> FailureInfo | None:
    """Upload these output files of a process that has ended; return the first failure, or None.

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
    failures: list[FailureInfo] = []
    for file in due:
        url = file.destination.container.container_url
        why = storage.upload_failure(world, url)
        if why is not None:
            failures.append(why)
            continue
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
    files.write(f"{launch.directory}/fileuploaderr.txt", "".join(f"{why.code}: {why.message}\n" for why in failures))
    return failures[0] if failures else None
