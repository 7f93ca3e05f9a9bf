"""Processes on nodes: what they need, the commands that they give, their command lines, and the files that they leave.

Nodes have packages, images, certificates and users, for which processes may wait. A process may give commands and wait
for an end (JM-11, JM-12). Start tasks, preparation tasks and release tasks have command lines although they are not
tasks of a job. The files on one node are a tree; of its directories the reasons are known for which they will be
deleted, of output files the last lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import BatchError
from engine.base.paths import APPLICATIONS, package_directory, parent, task_directory
from engine.base.terms import JobState, TaskState
from engine.base.values import called, format_duration, lazy_regex
from engine.rules.processes import execution, node_disk, setup
from engine.rules.processes.node_disk import OUTPUTS, FileEntry, process_directory
from engine.specs.command import OnJob
from engine.specs.conditions import OWN_JOB, Bounds, Verbatim
from engine.views.log.reader import LogReader, about, is_event, of_kind
from engine.views.rest.nodes import remote_desktop_file, remote_login_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.rules.processes.node_disk import Directory
    from engine.specs.common import CommandLine
    from engine.specs.conditions import Condition, Wanted
    from engine.state.acting import Act, Acts
    from engine.world import World


class InstalledItem(NamedTuple):
    """A package or an image on a node, or on its way there; ``ready_ms`` is ms since the start."""

    name: str
    ready_ms: int
    is_image: bool
    is_pools: bool  # the pool asked for it when the node booted


class LoginUser(NamedTuple):
    """A user for remote login (NOP-9)."""

    name: str
    is_admin: bool
    expiry_ms: int


class NodeContents(NamedTuple):
    """The contents of a node beside its tasks."""

    login_address: str  # for remote login (NOP-10), or why there is none
    rdp_file: str | None  # the text of the file that opens a session, on Windows
    supplies: tuple[InstalledItem, ...]
    certificates: tuple[str, ...]
    accounts: tuple[str, ...]  # user accounts of the pool (USER-2)
    logins: tuple[LoginUser, ...]
    is_behind: bool  # the pool's packages or certificates have changed since (POOL-15)
    used_bytes: int
    capacity_bytes: int

    def next_ms(self, now_ms: int) -> int | None:
        """Return the next moment at which something is installed, or a login expires; None if nothing of it is left."""
        moments = (*(item.ready_ms for item in self.supplies), *(login.expiry_ms for login in self.logins))
        return min((moment for moment in moments if moment > now_ms), default=None)


class Needs(NamedTuple):
    """The needs of a command line, in words."""

    packages: tuple[str, ...]
    image: str | None
    files: tuple[str, ...]
    user: str | None
    ready_ms: int | None  # when all is there; None if no process waits


def packages_and_images(world: World, node: int) -> tuple[InstalledItem, ...]:
    """Return the packages, then the images on a node, each in alphabetical order."""
    record, configuration = world.nodes[node], setup.container_configuration_of(world.pool_of(node).spec)
    of_pool = {package_directory(package.application_id, package.version) for package in record.packages}
    if configuration is not None:
        of_pool.update(map(setup.full_image_name, configuration.container_image_names))
    found = []
    for name, ready_ms in record.arrivals.items():
        is_package = name.startswith(f"{APPLICATIONS}/")
        words = " ".join(name.split("/", 2)[1:]) if is_package else name
        found.append(InstalledItem(words, ready_ms, not is_package, name in of_pool))
    return tuple(sorted(found, key=lambda supply: (supply.is_image, supply.name)))


def is_behind(world: World, node: int) -> bool:
    """Return whether the pool asks for other packages or certificates than when the node booted (POOL-15, APP-5)."""
    record, pool = world.nodes[node], world.pool_of(node)
    if record.boot_ms is None:
        return False
    packages = [
        package
        for reference in pool.spec.application_package_references
        if not isinstance(package := world.account.package_verdict(reference), str)
    ]
    asked = [(package.application.id, package.version) for package in packages]
    has = [(package.application_id, package.version) for package in record.packages]
    if sorted(asked) != sorted(has) or pool.spec.certificate_references != record.certificates:
        return True
    revisions = ((package_directory(each.application.id, each.version), each) for each in packages)
    return record.is_set_up and any(
        record.revisions.get(directory, 0) != world.account_table.revision(package) for directory, package in revisions
    )


def node_contents(sim: Simulation, node: int) -> NodeContents:
    """Return the contents of one node."""
    world = sim.world
    record, pool = world.nodes[node], world.pool_of(node)
    logins = (LoginUser(name, is_admin, expiry_ms) for name, (is_admin, expiry_ms) in sorted(record.users.items()))
    return NodeContents(
        *_remote_login(world, node),
        packages_and_images(world, node),
        tuple(reference.thumbprint for reference in record.certificates),
        tuple(account.name for account in pool.spec.user_accounts),
        tuple(login for login in logins if login.expiry_ms > sim.now_ms),
        is_behind(world, node),
        world.disks[node].used_bytes,
        node_disk.capacity_bytes(pool),
    )


def _remote_login(world: World, node: int) -> tuple[str, str | None]:
    """Return the address for remote login, or why there is none, and the text of the file that opens a session."""
    rdp_file = None
    with suppress(BatchError):
        rdp_file = remote_desktop_file(world, node)
    try:
        settings = remote_login_settings(world, node)
    except BatchError as refusal:
        return "RDP, with the file below" if rdp_file is not None else f"none: {refusal.values['Reason']}", rdp_file
    protocol = "SSH" if rdp_file is None else "RDP"
    return f"{protocol} to {settings['remoteLoginIPAddress']} port {settings['remoteLoginPort']}", rdp_file


def task_needs(sim: Simulation, task: int) -> Needs:
    """Return the needs of a task, and until when its process waits for them."""
    world = sim.world
    tasks, spec = world.tasks, world.tasks.spec(task)
    if tasks.state_of(task) is not TaskState.RUNNING:
        return needs_of(spec, None)
    directory = task_directory(world.jobs[tasks.profile_of(task).job].id, tasks.task_id(task))
    when_ms = ready_ms(world, tasks.node[task], directory, tasks.started[task])
    return needs_of(spec, when_ms if when_ms > sim.now_ms else None)


def ready_ms(world: World, node: int, directory: str, started_ms: int) -> int:
    """Return the moment when a started process has or had all that it needs (TASK-7)."""
    return started_ms + setup.setup_of(world, node, directory).delay_ms


def needs_of(spec: CommandLine, ready: int | None) -> Needs:
    """Return the needs of a command line; ``ready`` is when its process has them, None if nothing waits."""
    packages = tuple(
        f"{reference.application_id} {reference.version or '(default version)'}"
        for reference in setup.references_of(spec)
    )
    image = spec.container_settings.image_name if spec.container_settings is not None else None
    places = (f"{file.file_path} from " if file.file_path else "" for file in spec.resource_files)
    files = (place + setup.url_of_resource_file(file) for place, file in zip(places, spec.resource_files, strict=True))
    return Needs(packages, image, tuple(files), spec.user_identity.username, ready)


_CAPITAL = lazy_regex("[A-Z]")


def task_acts(simulation: Simulation, task: int) -> list[str]:
    """Return the commands and the end of a task's process, in the present or first attempt; [] for most tasks."""
    world = simulation.world
    tasks, node = world.tasks, max(0, world.tasks.node[task])
    if node >= world.nodes.length or tasks.profile_of(task).process is not None or tasks.state_of(task) is None:
        return []
    text = world.executor.acts(execution.task_launch(world, task, node, max(1, tasks.extra(task).attempts)))
    if text is None:
        return []
    acts = world.acts_of(text)
    found = [act_words(act) for act in acts.commands]
    return [*found, f"Runs until {end_words(acts)}"] if acts.is_open else found


def act_words(act: Act) -> str:
    """Return a command of a process and its moment: ``Adds 20 tasks after PT10S``."""
    count = len(act.tasks) + (act.factory.count if act.factory is not None else 0)
    command = act.command
    what = f"Adds {count:,} task{'' if count == 1 else 's'}" if command.NAME == "addTasks" else f"Gives {command.NAME}"
    if isinstance(command, OnJob) and command.job_id != OWN_JOB:
        what += f" {'to' if command.NAME == 'addTasks' else 'on'} {called('job', command.job_id)}"
    after = f"after {format_duration(act.after_ms)}"
    if act.when is None:
        return f"{what} {after if act.after_ms else 'at its start'}"
    later = f"{format_duration(act.after_ms)} after " if act.after_ms else "when "
    return f"{what} {later}{condition_words(act.when)}"


def end_words(acts: Acts) -> str:
    """Return what a process waits for."""
    if acts.executes:
        return "its program on this machine ends"
    return "all other tasks of its job are completed" if acts.until is None else condition_words(acts.until)


def condition_words(condition: Condition) -> str:
    """Return a condition: ``its job has at least 5 completed tasks``."""
    return f"{condition.subject.called} has {', '.join(_wanted(condition.wanted))}"


def _wanted(wanted: Mapping[str, Wanted], above: str = "") -> Iterator[str]:
    """Yield what is wanted of each property: numbers before what they count, other values after their names."""
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            yield from _wanted(value, _CAPITAL.sub(lambda letter: f" {letter[0].lower()}", name))
            continue
        if isinstance(value, Bounds):
            low = [] if value.at_least is None else [f"at least {value.at_least:g}"]
            high = [] if value.at_most is None else [f"at most {value.at_most:g}"]
            shown = " and ".join(low + high)
        elif isinstance(value, Verbatim):
            shown = value.text
        else:
            shown = "absent" if value is None else str(value)
        yield f"{shown} {name} {above}" if above else f"{name} {shown}"


class OwnedCommandLine(NamedTuple):
    """A command line, the pool or job that it belongs to, and the kind of task there."""

    pool_id: str  # empty: it belongs to a job
    job_id: str
    kind: str
    text: str


def command_lines(simulation: Simulation) -> Iterator[OwnedCommandLine]:
    """Yield the command lines of pools and jobs that have not been deleted."""
    world = simulation.world
    for pool in world.pools.present():
        if pool.spec.start_task is not None:
            yield OwnedCommandLine(pool.id, "", "start task", pool.spec.start_task.command_line)
    for job in world.jobs.present():
        hooks = (("preparation", job.spec.job_preparation_task), ("release", job.spec.job_release_task))
        for kind, task in hooks:
            if task is not None:
                yield OwnedCommandLine("", job.id, kind, task.command_line)


_NEVER_MS = 1 << 62


class DeletionCause(Enum):
    """The reason why the files of a directory will be deleted."""

    RETENTION = auto()
    JOB_DELETED = auto()
    REIMAGED = auto()
    DEALLOCATED = auto()
    PREEMPTED = auto()
    LEFT = auto()


OPERATIONS = {"reimage": DeletionCause.REIMAGED, "deallocate": DeletionCause.DEALLOCATED, "remove": DeletionCause.LEFT}


class Deletion(NamedTuple):
    """A deletion of a directory in the future.

    ``when_ms`` is ms since the start; None where that is not known: the process has not ended, or the node waits for
    its tasks. ``retention_ms`` is set with RETENTION only.
    """

    cause: DeletionCause
    when_ms: int | None
    retention_ms: int | None = None


class Item(NamedTuple):
    """A file or directory. ``size`` in bytes includes all files below."""

    path: str
    is_directory: bool
    size: int


_IS_START = is_event("TaskStateChanged", "SubtaskStateChanged", to=TaskState.RUNNING)


class FilePage:
    """One node's files as the service lists them, as a tree, and what will delete them."""

    def __init__(self, simulation: Simulation, node: int) -> None:
        """Read the log for a node once."""
        self._simulation = simulation
        self.node = node
        self._on_node = LogReader(simulation, about("row_b", node))
        self._deletions = LogReader(simulation, of_kind(is_event("TaskStateChanged", "JobStateChanged", to=None)))
        self._started: dict[int, int] = {}  # when each task has last begun on the node
        self._owned: dict[str, Directory] = {}  # the directories of processes
        self._children: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}
        self._good_until_ms = self._jumps = -1
        self.update()

    def update(self) -> bool:
        """Read new entries of the log. Return whether anything may have changed."""
        is_other, mine = self._on_node.news()
        is_cut, deletions = self._deletions.news()
        is_new = is_other or is_cut or bool(mine) or bool(deletions) or self._simulation.jumps != self._jumps
        if not is_new and self._simulation.now_ms < self._good_until_ms:
            return False
        log, self._jumps = self._simulation.log, self._simulation.jumps
        if is_other:
            self._started = {}
        for at in mine:
            if _IS_START(log.shapes[log.shape_of[at]]):
                self._started[log.row_a[at]] = log.when[at]
        self._build()
        return True

    # -- what is there -------------------------------------------------------------------------------------------

    @property
    def is_known(self) -> bool:
        """True if the node was allocated at this moment or before."""
        return self.node < len(self._simulation.world.nodes.state)

    @property
    def left_ms(self) -> int | None:
        """The moment when the node left its pool, in ms since the start; None while it is there, or not yet."""
        return self._simulation.world.nodes[self.node].gone_ms if self.is_known else None

    def children(self, path: str) -> Sequence[str]:
        """Return the paths in a directory, sorted; the root is the empty path."""
        return self._children.get(path, ())

    def item(self, path: str) -> Item | None:
        """Return the item with this path; None if there is none."""
        return Item(path, path in self._children, self._sizes[path]) if path in self._sizes else None

    def read(self, path: str) -> str | None:
        """Return the text of a file; None if there is none, and empty where only the size is known."""
        item = self.item(path)
        if item is None or item.is_directory:
            return None
        return self._simulation.world.disks.text(self.node, path) or ""

    def deletions(self, path: str) -> list[Deletion]:
        """Return the deletions to come of a file or directory, as far as they are known."""
        if not self.is_known:
            return []
        world = self._simulation.world
        record, job = world.nodes[self.node], node_disk.job_of(world, path)
        found = [] if record.evicted_ms is None else [Deletion(DeletionCause.PREEMPTED, record.evicted_ms)]
        if record.operation is not None and record.operation.name in OPERATIONS:
            found.append(Deletion(OPERATIONS[record.operation.name], None))
        directory = self._owned.get(process_directory(path))
        if directory is not None and job is not None and job.state is JobState.DELETING:
            found.append(Deletion(DeletionCause.JOB_DELETED, None))
        if directory is not None and directory.retention_ms is not None:
            found.append(Deletion(DeletionCause.RETENTION, directory.expires_ms, directory.retention_ms))
        return found

    # -- updating ------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        """Build the tree, and find out until when it stays if nothing happens."""
        world, now_ms = self._simulation.world, self._simulation.now_ms
        self._children, self._sizes, self._owned = {"": []}, {"": 0}, {}
        self._good_until_ms = _NEVER_MS
        if not self.is_known or self.left_ms is not None:
            return
        disk_since_ms = world.nodes[self.node].disk_since_ms
        tasks = [task for task, when_ms in self._started.items() if when_ms > disk_since_ms]
        directories = node_disk.directories_on(world, self.node, tasks)
        self._owned = {directory.path: directory for directory in directories}
        ends = (each.expires_ms for each in directories if each.expires_ms is not None and each.expires_ms > now_ms)
        self._good_until_ms = min(ends, default=_NEVER_MS)
        for entry in node_disk.entries_in(world, self.node, directories, now_ms):
            above = parent(entry.path)  # directories come before what is in them
            self._children[above].append(entry.path)
            self._sizes[entry.path] = entry.size
            if entry.is_directory:
                self._children[entry.path] = []
            while entry.size and above:
                self._sizes[above] += entry.size
                above = parent(above)
            self._sizes[""] += entry.size


class OutputEnd(NamedTuple):
    """The last lines of an output file, and the number of lines above them."""

    path: str
    lines: tuple[str, ...]
    above: int


def files_on(simulation: Simulation, node: int) -> list[FileEntry]:
    """Return every file and directory on a node, sorted by path; none on a node that is gone."""
    return node_disk.files_of(simulation.world, node, simulation.now_ms)


def output_ends(simulation: Simulation, node: int, directory: str, most_lines: int) -> list[OutputEnd]:
    """Return the last lines of ``stdout.txt`` and ``stderr.txt`` in a process's directory on a node (FILE-4).

    A file that does not exist, or no longer does, is left out.
    """
    disks = simulation.world.disks
    found = []
    for name in OUTPUTS:
        path = f"{directory}/{name}"
        text = disks.text(node, path)
        if text is not None:
            lines = text.rstrip("\n").rsplit("\n", most_lines) if text else []
            above = lines[0].count("\n") + 1 if len(lines) > most_lines else 0
            found.append(OutputEnd(path, tuple(lines[-most_lines:]), above))
    return found
