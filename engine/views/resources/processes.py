"""Processes on nodes: what they need, the commands that they give, and their command lines.

Nodes have packages, images, certificates and users, for which processes may wait. A process may give commands and wait
for an end (JM-11, JM-12). Start tasks, preparation tasks and release tasks have command lines although they are not
tasks of a job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import BatchError
from engine.base.paths import APPLICATIONS, package_directory, task_directory
from engine.base.terms import TaskState
from engine.base.values import format_duration, lazy_regex
from engine.rules.processes import execution, node_disk, setup
from engine.rules.processes.setup import url_of_resource_file
from engine.specs.command import OnJob
from engine.specs.conditions import OWN_JOB, Bounds, SubjectKind, Verbatim
from engine.views.rest.nodes import remote_desktop_file, remote_login_settings

if TYPE_CHECKING:
    from engine import Simulation
    from engine.specs.common import CommandLine
    from engine.specs.conditions import Condition, ConditionSubject, Wanted
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
    rdp_file = _rdp_file(world, node)
    return NodeContents(
        _login_address(world, node, rdp_file),
        rdp_file,
        packages_and_images(world, node),
        tuple(reference.thumbprint for reference in record.certificates),
        tuple(account.name for account in pool.spec.user_accounts),
        tuple(login for login in logins if login.expiry_ms > sim.now_ms),
        is_behind(world, node),
        world.disks[node].used_bytes,
        node_disk.capacity_bytes(pool),
    )


def _rdp_file(world: World, node: int) -> str | None:
    try:
        return remote_desktop_file(world, node)
    except BatchError:
        return None


def _login_address(world: World, node: int, rdp_file: str | None) -> str:
    try:
        settings = remote_login_settings(world, node)
    except BatchError as refusal:
        return "RDP, with the file below" if rdp_file is not None else f"none: {refusal.values['Reason']}"
    protocol = "SSH" if rdp_file is None else "RDP"
    return f"{protocol} to {settings['remoteLoginIPAddress']} port {settings['remoteLoginPort']}"


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
    files = (
        f"{file.file_path} from {url_of_resource_file(file)}" if file.file_path else url_of_resource_file(file)
        for file in spec.resource_files
    )
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
        what += f" to job {command.job_id}" if command.NAME == "addTasks" else f" on job {command.job_id}"
    after = f"after {format_duration(act.after_ms)}"
    if act.when is None:
        return f"{what} {after if act.after_ms else 'at its start'}"
    later = f"{format_duration(act.after_ms)} after " if act.after_ms else "when "
    return f"{what} {later}{condition_words(act.when)}"


def end_words(acts: Acts) -> str:
    """Return what a process waits for."""
    return "all other tasks of its job are completed" if acts.until is None else condition_words(acts.until)


def condition_words(condition: Condition) -> str:
    """Return a condition: ``its job has at least 5 completed tasks``."""
    return f"{_subject(condition.subject)} has {', '.join(_wanted(condition.wanted))}"


def _subject(subject: ConditionSubject) -> str:
    job = "its job" if subject.job_id == OWN_JOB else f"job {subject.job_id}"
    match subject.kind:
        case SubjectKind.RUN:
            return "the run"
        case SubjectKind.POOL:
            return f"pool {subject.pool_id}"
        case SubjectKind.NODE:
            return f"node {subject.node_index if subject.node_id is None else subject.node_id} of {subject.pool_id}"
        case SubjectKind.JOB:
            return job
        case SubjectKind.TASK:
            return f"task {subject.task_id} of {job}"
        case SubjectKind.JOB_SCHEDULE:
            return f"job schedule {subject.job_schedule_id}"


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
