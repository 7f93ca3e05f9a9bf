"""Items of the run: their focus, REST body, files, and visited views.

Blocks of properties that several kinds of items share: REST bodies with field names in words; packages, images, files,
certificates and users; and what jobs and tasks have downloaded from storage and uploaded to it.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.errors import exit_text
from engine.base.paths import STARTUP, job_directory, task_directory
from engine.base.terms import NodeState, TaskResult
from engine.base.values import lazy_regex, parse_duration, parse_utc, read_table
from engine.views.hook_status import HookStatus
from engine.views.log.histories import last_directory
from engine.views.resources.account import bytes_of_job, bytes_of_task, uploads_of_task
from engine.views.resources.nodes import pool_of_node
from engine.views.resources.processes import node_contents, output_ends, task_acts
from engine.views.resources.tasks import job_of_task
from engine.views.rest.lookup import wire
from tui.viewmodels import format as fmt
from tui.viewmodels.text import Block, ItemRef, Kind, Role, Span, block_of, row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engine.specs.bodies import PoolSpec
    from engine.views.resources.account import TransferredBytes
    from engine.views.resources.events import EventRow
    from engine.views.resources.processes import InstalledItem, Needs, NodeContents
    from tui.viewmodels.session import Session


def focus_on(session: Session, subject: ItemRef) -> None:
    """Put a job or pool itself in focus, or a node's pool, or a task's job. Ignore an item that does not exist yet."""
    key = subject.key
    match subject.kind:
        case "job":
            session.focus_job(str(key))
        case "pool":
            session.focus_pool(str(key))
        case "node":
            pool_id = pool_of_node(session.simulation, int(key))
            if pool_id and pool_id != session.pool_id:
                session.focus_pool(pool_id)
        case "task":
            job_id = job_of_task(session.simulation, int(key))
            if job_id and job_id != session.job_id:
                session.focus_job(job_id)
        case "job schedule":
            schedule = session.schedule(str(key))
            if schedule is not None and schedule.recent_job:
                session.focus_job(schedule.recent_job)


def rest_body(session: Session, subject: ItemRef) -> dict[str, Any] | None:
    """Return the REST body of an item, or None if it does not exist now."""
    return wire(session.simulation, subject.kind, subject.key)


def as_json(body: dict[str, Any]) -> str:
    """Return the body as indented JSON."""
    return json.dumps(body, indent=2, ensure_ascii=False)


# The view that lists the items of a kind.
VIEW_OF: dict[Kind, str] = {
    "pool": "pools",
    "job": "jobs",
    "node": "nodes",
    "task": "tasks",
    "job schedule": "schedules",
}
KIND_IN = {view: kind for kind, view in VIEW_OF.items()}


class Destination(NamedTuple):
    """A view or sheet to go to, the row in it, and the job or pool that gets the focus."""

    view: str
    row: int | str | None
    focus: ItemRef | None


_MOST_PLACES = 200


class VisitedView(NamedTuple):
    """A visited view with its focus; for a detail page also the item and the tab."""

    view: str
    focus: tuple[str, str] = ("", "")
    subject: ItemRef | None = None
    page: int = 0


class ViewHistory:
    """The visited views. Every move passes the present view, which may have changed since it was opened."""

    def __init__(self) -> None:
        self._places: list[VisitedView] = []
        self._at = 0

    def visit(self, here: VisitedView, there: VisitedView) -> None:
        """Move on from ``here`` to ``there``; drop what lay ahead."""
        self._places[self._at :] = [here, there]
        self._at += 1
        if self._at >= _MOST_PLACES:
            del self._places[0]
            self._at -= 1

    def step(self, here: VisitedView, by: int) -> VisitedView | None:
        """Return the view one step back (-1) or forward (1), or None if there is none."""
        if not 0 <= self._at + by < len(self._places):
            return None
        self._places[self._at] = here
        self._at += by
        return self._places[self._at]


OUTPUTS = "stdout.txt", "stderr.txt"
_MOST_SAID = 4  # lines
_FAILED = HookStatus.FAILED, HookStatus.RETRYING
_HOOKS = "JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged"


class FileLocation(NamedTuple):
    """A node by its row number, and a path on it; an empty path is the root."""

    node: int
    path: str = ""

    @property
    def is_of_failure(self) -> bool:
        """True for the errors of a process that has failed."""
        return self.path.endswith(f"/{OUTPUTS[1]}")


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


def last_said(session: Session, place: FileLocation) -> Sequence[str]:
    """Return the last lines that a process has written to the file at ``place``."""
    ends = output_ends(session.simulation, place.node, place.path.rpartition("/")[0], _MOST_SAID)
    return next((end.lines for end in ends if end.path == place.path), ())


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


_NO_LIMIT = "P10675199DT2H48M5.4775807S"
_UNLIMITED_AT_MINUS_ONE = ("maxTaskRetryCount", "maxParallelTasks")
_FAILURES = (("result", "failure"), ("state", "unusable"))
NOT_TOLD = ("url", "eTag", "lastModified", "taskRootDirectoryUrl", "userIdentity")  # in details, to be short
_DURATION = lazy_regex(r"P(?=[\dT])(\d+D)?(T[\dHMS.]+)?")
_UTC = lazy_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_CAPITAL = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")


def field_words(name: str) -> str:
    """Return a field's name in words: ``maxParallelTasks`` is Max parallel tasks."""
    return _words_of_fields().get(name) or _CAPITAL.sub(" ", name).lower().capitalize()


@cache
def _words_of_fields() -> dict[str, str]:
    return dict(read_table("fields.csv", __file__))


def rest_block(session: Session, title: str, body: Mapping[str, Any], leave_out: Iterable[str] = ()) -> Block:
    """Return the properties of a body under a heading."""
    kept = {name: value for name, value in body.items() if name not in leave_out}
    return Block(title, tuple(_rows(session, kept, "")))


def told_block(session: Session, title: str, body: Mapping[str, Any], *derived: tuple[str, Span]) -> Block:
    """Return what the service reports under a heading, without addresses, and then what is derived from it."""
    return Block(title, (*rest_block(session, title, body, NOT_TOLD).rows, *derived))


def rest_blocks(session: Session, body: Mapping[str, Any], titles: Iterable[str] = ()) -> list[Block]:
    """Return a whole body: simple values under General, and each part under its own heading.

    The parts named in ``titles`` come first, in this order.
    """
    named = [name for name in titles if name in body]
    others = [name for name in body if name not in named and isinstance(body[name], dict | list)]
    blocks = [rest_block(session, "General", body, (*named, *others))]
    for name in (*named, *others):
        value = body[name]
        blocks.append(rest_block(session, field_words(name), value if isinstance(value, dict) else _numbered(value)))
    return blocks


def _numbered(values: list[Any]) -> dict[str, Any]:
    """Return a list as properties: settings by their names, other values by their numbers."""
    if all(isinstance(value, dict) and set(value) == {"name", "value"} for value in values):
        return {f"={value['name']}": value["value"] for value in values}
    return {f"={number}": value for number, value in enumerate(values, start=1)}


def _rows(session: Session, body: Mapping[str, Any], margin: str) -> Iterator[tuple[str, Span]]:
    for name, value in body.items():
        label = margin + (name[1:] if name.startswith("=") else field_words(name))
        if isinstance(value, list) and not any(isinstance(each, dict) for each in value):
            yield label, Span(", ".join(map(str, value)))
        elif isinstance(value, dict | list):
            yield label, Span("")
            yield from _rows(session, value if isinstance(value, dict) else _numbered(value), f"{margin}  ")
        else:
            has_failed = (name, value) in _FAILURES or name == "code" or (name == "exitCode" and value != 0)
            yield label, Span(_said(session, name, value), Role.FAILED if has_failed else Role.PLAIN)


def _said(session: Session, name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == _NO_LIMIT or (value == -1 and name in _UNLIMITED_AT_MINUS_ONE):
        return "no limit"
    if name == "exitCode" and isinstance(value, int):
        return exit_text(value)
    if isinstance(value, str) and _UTC.fullmatch(value):
        start = session.simulation.scenario.start
        return session.clock(round((parse_utc(value) - start).total_seconds() * 1000))
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return fmt.span(parse_duration(value))
    return str(value)


_GIB = 1024**3
_LINE_END = "\r\n"  # of an RDP file


def pool_resources(spec: PoolSpec) -> list[Block]:
    """Return what the pool installs on each of its nodes; nothing if that is nothing."""
    packages = ((each.application_id, each.version) for each in spec.application_package_references)
    rows = [row("Application package", f"{name} {version or '(default version)'}") for name, version in packages]
    machine = spec.virtual_machine_configuration
    configuration = machine.container_configuration if machine is not None else None
    if configuration is not None:
        rows += [row("Container image", name) for name in configuration.container_image_names or ("none prefetched",)]
    rows += [row("Certificate", reference.thumbprint) for reference in spec.certificate_references]
    rows += [row("User account", f"{user.name}, {user.elevation_level.value}") for user in spec.user_accounts]
    rows += [row("Mount", mount.given.relative_mount_path) for mount in spec.mount_configuration if mount.given]
    return block_of("On each node", rows)


def node_resources(session: Session, found: NodeContents) -> list[Block]:
    """Return the disk of a node with these contents, what has been installed on it, and who can log in."""
    used, capacity = found.used_bytes / _GIB, found.capacity_bytes / _GIB
    disk = Block("Disk", (row("Used", f"{used:,.1f} of {capacity:,.0f} GiB"),))
    rows = [_supply(session, supply) for supply in found.supplies]
    rows += [row("Certificate", thumbprint) for thumbprint in found.certificates]
    if found.is_behind:
        rows.append(row("Outdated", "the pool has changed; applied at the next boot (POOL-15)", Role.WARNING))
    users = [row("Remote login", found.login_address)]
    if found.rdp_file is not None:
        users += [row("RDP file", found.rdp_file.partition(_LINE_END)[0]), row("", "e writes it")]
        if not found.logins:
            users.append(row("", "nobody can log in yet: a adds a user (NOP-9)", Role.WARNING))
    users += [row("User account", f"{name}, for tasks") for name in found.accounts]
    for login in found.logins:
        kind = "administrator" if login.is_admin else "user"
        users.append(row(login.name, f"{kind} until {session.clock(login.expiry_ms)}"))
    return [disk, *block_of("Installed on the node", rows), *block_of("Users", users)]


class RdpFile(NamedTuple):
    """A file that opens a Remote Desktop session; without text ``refusal`` says why there is none."""

    name: str
    text: str | None
    refusal: str


def rdp_file(session: Session, node: int) -> RdpFile:
    """Return the RDP file of a Windows node; somebody can log in with it once there is a user (NOP-9, NOP-10)."""
    here = session.nodes().row(node)
    if here.state is None:
        return RdpFile("", None, f"n{here.record.position} has left the pool.")
    found = node_contents(session.simulation, node)
    if found.rdp_file is None:
        return RdpFile("", None, f"No RDP file for n{here.record.position}. Remote login: {found.login_address}.")
    return RdpFile(f"{here.record.id}.rdp", found.rdp_file, "")


def _supply(session: Session, supply: InstalledItem) -> tuple[str, Span]:
    label = "Container image" if supply.is_image else "Application package"
    whose = "of the pool" if supply.is_pools else "of tasks"
    clock = session.clock(supply.ready_ms)
    if supply.ready_ms > session.now_ms:
        return row(label, f"{supply.name}, {whose}, ready at {clock}", Role.TRANSITION)
    return row(label, f"{supply.name}, {whose}, since {clock}")


def task_resources(session: Session, task: int, needs: Needs) -> list[Block]:
    """Return what the task needs, and what its process does and waits for; nothing of either if there is none."""
    rows = [row("Application package", package) for package in needs.packages]
    rows += [row("Container image", needs.image)] if needs.image is not None else []
    rows += [row("Resource file", file) for file in needs.files]
    rows += [row("User", needs.user)] if needs.user is not None else []
    if needs.ready_ms is not None:
        rows.append(row("All ready", f"at {session.clock(needs.ready_ms)}: then the command starts", Role.TRANSITION))
    acts = (("", Span(sentence)) for sentence in task_acts(session.simulation, task))
    return [*block_of("Needs", rows), *block_of("While it runs", acts)]


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
        more = fmt.counted(len(uploads) - _MOST_BLOBS, "blob")
        rows.append(row("And", f"{more} more; :storage lists them", Role.DIM))
    return block_of("Storage", rows)


def _sizes(found: TransferredBytes) -> list[tuple[str, Span]]:
    if not any(found):
        return []
    return [row("Downloaded", fmt.size(found.downloaded)), row("Uploaded", fmt.size(found.uploaded))]
