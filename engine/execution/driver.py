"""The programs of a run: each starts with its process in the simulation, and its end is an input of the run.

Simulated time goes on freely while no program runs. While one does, it goes on with the wall clock, a real second as
``scale`` simulated ones. An end takes effect in a millisecond in which nothing else is due, so that a replay, in which
it is known before, has the same log.
"""

from __future__ import annotations

import errno
import os
import shutil
import ssl
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.base.log import plain
from engine.base.paths import TaskKind, package_directory, task_directory, working_directory
from engine.base.values import SECOND_MS
from engine.execution.folders import NodeFolder
from engine.execution.sandboxes import ImageMissing, Limits, ProgramNotFound, Start
from engine.execution.transfers import Outgoing, TransferFailed, Transfers, Wanted
from engine.rules.processes import execution
from engine.rules.processes.node_disk import sweep
from engine.rules.processes.output_files import due_uploads, uploads_of
from engine.rules.processes.setup import Work, url_of_resource_file, user_of
from engine.shell.protocol import Executed, Launch, Seen
from engine.specs.base import Distribution
from engine.specs.common import IMAGE_PROGRAM, Failing, Simulate
from engine.state.acting import Acting, Process, ProcessKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from engine.execution.sandboxes import Running, Sandbox
    from engine.run.simulation import Simulation
    from engine.scenario.model import Scenario
    from engine.shell.files import NodeFiles
    from engine.specs.common import ResourceFile
    from engine.world import World

_INHERITED = ("LANG", "TZ")
_TRUST = "SSL_CERT_FILE"  # names the certificate of the server, as other variables may do
_CERTIFICATES = ".certificates.pem"  # a copy of it in the folder of the node: a sandbox may hide it
_AT_ONCE = 2  # programs that are started without a pause
_SLICE_S = 0.005  # after which keys and requests come first
_TOGETHER = 8  # programs whose files are fetched or sent at once
_LONGEST_STREAM = 11_000_000  # bytes: what a sandbox keeps, and its last line
_GIB = 1 << 30
_STREAMS = ("stdout", "stderr")
_MARKED = ("running", "completed")
_OF_TASKS = ("TaskStateChanged", "SubtaskStateChanged")
_NO_ROOM = Failing(code="DiskFull", values={"Message": "no room for what the program has written"})
_EVENTS = {
    ProcessKind.TASK: ("TaskStateChanged",),
    ProcessKind.COORDINATION: _OF_TASKS,
    ProcessKind.PREPARATION: ("JobPreparationTaskStateChanged",),
    ProcessKind.RELEASE: ("JobReleaseTaskStateChanged",),
    ProcessKind.START_TASK: ("StartTaskStateChanged",),
}


def source_of(scenario: Scenario, application_id: str) -> Path | None:
    """Return the folder or archive with an application's content, from the folder of the scenario; None without one."""
    for application in scenario.account.applications:
        if application.id.lower() == application_id.lower() and application.source is not None:
            return Path(scenario.source.path).parent / application.source
    return None


class Begun(NamedTuple):
    """The present start of a process: its node, its launch, and what it works on."""

    node: int
    launch: Launch
    work: Work


def begun_of(world: World, process: Process) -> Begun:
    """Return the present start of a running process that is not plain."""
    kind, row, part = process
    if kind is ProcessKind.START_TASK:
        spec = world.nodes[row].start_spec
        assert spec is not None
        return Begun(row, execution.start_task_launch(world, row), Work(spec))
    if kind in (ProcessKind.PREPARATION, ProcessKind.RELEASE):
        instances, is_release = world.instances, kind is ProcessKind.RELEASE
        job, node = world.jobs[instances.job[row]], instances.node[row]
        hook = execution.process_of(world, job, is_release=is_release)
        run = (instances.release_runs if is_release else instances.prep_runs)[row]
        return Begun(node, execution.hook_launch(world, job, hook, node, run), Work(hook.spec, job, hook.task_id))
    task, nodes, attempt = world.tasks.spec(row), world.nodes_of(row), world.tasks.extra(row).attempts
    work = Work(task, world.jobs[world.tasks.profile_of(row).job], task.id, row)
    if kind is ProcessKind.COORDINATION:
        return Begun(nodes[part], execution.coordination_launch(world, row, nodes, part, attempt), work)
    several = task.multi_instance_settings is not None
    own = execution.application_launch(world, row, nodes, attempt) if several else None
    return Begun(nodes[0], own or execution.task_launch(world, row, nodes[0], attempt), work)


def _with_usual(certificate: str) -> bytes:
    """Return a certificate with those that this machine trusts: programs call other servers, too."""
    usual = ssl.get_default_verify_paths().cafile
    return b"\n".join(Path(file).read_bytes() for file in (certificate, usual) if file)


def _not_started(error: ProgramNotFound | OSError) -> Simulate:
    """Return what becomes of a program that could not be started."""
    code = "ContainerInvalidImage" if isinstance(error, ImageMissing) else "CommandLaunchFailed"
    found = None
    if isinstance(error, ProgramNotFound):
        code, found = "CommandProgramNotFound", False
        if str(error).endswith(os.strerror(errno.ENOENT)):
            return Simulate(found=found)  # which says all
    return Simulate(found=found, fails=Failing(code=code, values={"Message": str(error)}))


class Settings(NamedTuple):
    """The settings of execution: where nodes live, simulated seconds a real one, variables to pass on, folders to read.

    ``storage`` is the URL of an emulator that stands in for storage accounts.

    ``variables`` returns what a task of a job needs to call the service: its address, and a token if it is to have one.
    """

    nodes: Path
    scale: float = 1.0
    passed: tuple[str, ...] = ()
    allowed: tuple[Path, ...] = ()
    storage: str | None = None
    variables: Callable[[str, bool], Mapping[str, str]] = lambda _, __: {}


class _Program:
    """A program that runs for a start of a process, from the fetching of its files to the sending of its outputs."""

    def __init__(self, number: int, acting: Acting, begun: Begun, folder: NodeFolder) -> None:
        self.number, self.begun, self.folder = number, begun, folder
        self.started_ms = acting.started_ms
        self.overhead_ms = begun.launch.setup.delay_ms
        self.environment: dict[str, str] = {}
        self.begins: list[int] = []  # where its output begins in each stream: after that of a coordination command
        self.life: Iterator[Seen | None]  # each step looks how far it has come
        self.preparing: Future[Running] | None = None
        self.ended_ms = 0  # in simulated time, once it is seen
        self.seen: Seen | None = None  # what it did, once it has ended
        self.changed: frozenset[str] = frozenset()  # keys of the files that it has written

    def due_ms(self, now_ms: int) -> int:
        """Return when its end takes effect, not before all that it needs is there."""
        return max(self.ended_ms, self.started_ms + self.overhead_ms, now_ms + 1)

    def stop(self) -> None:
        """End the program if it runs."""
        if self.preparing is not None and not self.preparing.cancel():
            with suppress(Exception):  # why it could not start does not matter any more
                self.preparing.result().kill()


class Execution:
    """Lets the programs of a simulation run, which goes on as they do; ``close`` ends them all."""

    def __init__(
        self,
        simulation: Simulation,
        sandbox: Sandbox,
        settings: Settings,
        *,
        wall_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Attach to a simulation of a scenario that ``executes``."""
        self._simulation, self._sandbox, self._settings = simulation, sandbox, settings
        self._wall_s = wall_s
        self._programs: dict[int, _Program] = {}
        self._folders: dict[int, NodeFolder] = {}
        self._threads = ThreadPoolExecutor(_TOGETHER, "batchdeck-files")
        self._transfers = Transfers(settings.allowed, settings.storage)
        self._anchor: tuple[float, int] | None = None  # wall and simulated time while programs run
        self._followed = self._starts = self._inputs = 0  # entries of the log, starts of processes that act, inputs
        self.elevated = ""  # the last program whose user is an administrator
        self._executed: set[tuple[str, int, int]] = set()  # events, and rows of their subjects
        simulation.pace = self
        simulation.world.disks.real = self._read

    def close(self) -> None:
        """End all programs; remove what the nodes do not have any more."""
        self._simulation.pace, self._simulation.world.disks.real = None, lambda _, __: None
        self._stop(list(self._programs))
        if not self._simulation.is_past:
            for node in self._folders:
                sweep(self._simulation.world, node)
            self._tidy()
        self._threads.shutdown(cancel_futures=True)
        self._sandbox.close()

    def running(self) -> int:
        """Return how many programs run."""
        return sum(program.seen is None for program in self._programs.values())

    def _read(self, node: int, key: str) -> bytes | None:
        """Read a file of a node; None while an earlier moment is shown."""
        folder = self._folders.get(node)
        if folder is None or self._simulation.is_past:
            return None
        if self._inputs != self._simulation.journal.done:  # somebody may have just deleted it
            folder.follow()
        return folder.read(key)

    @property
    def speed(self) -> float | None:
        """Simulated seconds per real second while programs run; None while none does."""
        return self._settings.scale if self.running() else None

    # -- time --------------------------------------------------------------------------------------------------------

    def advance(self, until_ms: int, max_events: int) -> bool:
        """Process calendar entries as far as the programs have come, for a while; return whether more are due now."""
        simulation, stop_s = self._simulation, self._wall_s() + _SLICE_S
        self._look_for_ends()
        for turn in range(max_events):
            if not self._follow() or (turn and self._wall_s() > stop_s):
                return True
            now_ms, reach_ms = simulation.now_ms, self._reach_ms(until_ms)
            ended = [program for program in self._programs.values() if program.seen is not None]
            first = min(ended, key=lambda each: (each.due_ms(now_ms), each.number), default=None)
            end_ms = reach_ms + 1 if first is None else first.due_ms(now_ms)
            stop_ms, next_ms = min(reach_ms, end_ms - 1), simulation.world.calendar.peek_ms()
            if next_ms is not None and next_ms <= stop_ms:
                simulation.advance_freely(next_ms, max_events)
                continue
            simulation.advance_freely(stop_ms, 1)
            if first is None or end_ms > reach_ms:
                return False
            if next_ms == end_ms:  # something else is due then
                simulation.advance_freely(end_ms, max_events)
            else:
                self._end(first)
        return True

    def _reach_ms(self, until_ms: int) -> int:
        """Return how far simulated time may go now."""
        if not self.running():
            self._anchor = None
            return until_ms
        return min(until_ms, self._real_ms())

    def _real_ms(self) -> int:
        """Return where simulated time is by the wall clock, while programs run."""
        now_ms = self._simulation.now_ms
        if self._anchor is None:
            self._anchor = (self._wall_s(), now_ms)
        wall_s, began_ms = self._anchor
        passed_s = (self._wall_s() - wall_s) * self._settings.scale
        return max(now_ms, began_ms + int(passed_s * SECOND_MS))

    # -- programs ----------------------------------------------------------------------------------------------------

    def _follow(self) -> bool:
        """Start programs of processes that have begun, and end those whose processes were stopped.

        Return whether all have started: only some do at once, so that keys and requests need not wait.
        """
        world, log, inputs = self._simulation.world, self._simulation.log, self._simulation.journal.done
        if (len(log), world.acting.starts, inputs) == (self._followed, self._starts, self._inputs):
            return True
        self._stop([each for each in self._programs if world.acting.get(each) is None])
        self._tidy()
        to_start = [each for each in world.acting.executing().items() if each[0] not in self._programs]
        for _, acting in to_start:
            rows = self._rows_of(acting.process)
            self._executed |= {(event, *rows) for event in _EVENTS[acting.process.kind]}
        self._mark()
        for number, acting in to_start[:_AT_ONCE]:
            self._begin(number, acting)
        if len(to_start) > _AT_ONCE:
            return False
        self._starts, self._inputs = world.acting.starts, inputs
        return True

    def _stop(self, numbers: Sequence[int]) -> None:
        """End programs, all at the same time; return when they are gone."""
        with ThreadPoolExecutor(len(numbers) or 1) as threads:
            for number in numbers:
                threads.submit(self._programs.pop(number).stop)

    def _tidy(self) -> None:
        """Remove the folders of nodes that are gone, and what the disks of others have lost."""
        for node, folder in list(self._folders.items()):
            if self._simulation.world.nodes.state_of(node) is None:
                shutil.rmtree(folder.path, ignore_errors=True)
                del self._folders[node]
            else:
                folder.follow()

    def _begin(self, number: int, acting: Acting) -> None:
        """Start a program, whose files are brought first."""
        world, now_ms = self._simulation.world, self._simulation.now_ms
        node, launch, work = begun = begun_of(world, acting.process)
        owner = work.job or world.pool_of(node)
        created_ms = owner.created_ms if work.task < 0 else world.tasks.block_of(work.task).created_ms
        self._simulation.executed[number] = Executed(
            launch.subject, launch.attempt, launch.node, acting.started_ms, created_ms
        )
        folder = self._folders.get(node)
        if folder is None:
            folder = self._folders[node] = NodeFolder(self._settings.nodes, world, node)
        sweep(world, node)  # directories whose retention is over
        folder.follow()
        program = self._programs[number] = _Program(number, acting, begun, folder)
        program.life = self._life(program)
        program.seen, program.ended_ms = next(program.life), now_ms

    def _life(self, program: _Program) -> Iterator[Seen | None]:
        """Fetch the files of a program, let it run, and send its outputs; yield None until it is over."""
        try:
            start, wanted = self._furnish(program), self._wanted(program)
        except OSError as error:  # a full disk, or a link in place of a directory
            yield Seen(Simulate(fails=Failing(code="DiskFull", values={"Message": str(error)})))
            return
        if start.is_elevated:
            self.elevated = "/".join(program.begun.launch.subject[1:])
        program.preparing = preparing = self._threads.submit(self._prepare, wanted, start)
        while not preparing.done():
            yield None
        try:
            running = preparing.result()
        except TransferFailed as error:
            yield Seen(Simulate(fails=error.fails))
        except (ProgramNotFound, OSError) as error:
            yield Seen(_not_started(error))
        else:
            while (code := running.poll()) is None:
                yield None
            sending = [self._threads.submit(self._transfers.send, each) for each in self._outgoing(program, code)]
            while not all(each.done() for each in sending):
                yield None
            failed = next(filter(None, (each.exception() for each in sending)), None)
            fails = failed.fails if isinstance(failed, TransferFailed) else None
            yield self._seen(program, code, _NO_ROOM if running.is_full else fails)

    def _furnish(self, program: _Program) -> Start:
        """Make the folder of a process with all that it finds there; return how its program is to start."""
        world, (node, launch, _), folder = self._simulation.world, program.begun, program.folder
        folder.make()
        for package in (*world.nodes[node].packages, *launch.setup.packages):
            source = source_of(self._simulation.scenario, package.application_id)
            if source is not None:
                folder.install(source, package_directory(package.application_id, package.version))
        if launch.kind is not TaskKind.PRIMARY:  # whose coordination command has made the folder
            folder.bring(launch.directory)
        stdout, stderr = (f"{launch.directory}/{name}.txt" for name in _STREAMS)
        program.begins = [len(folder.read(each) or b"") for each in (stdout, stderr)]
        program.environment = self._environment(*program.begun)
        trusted = self._settings.variables("", False).get(_TRUST)
        if trusted is not None:
            folder.lend(_CERTIFICATES, partial(_with_usual, trusted))
        pool, spec = world.pool_of(node), program.begun.work.spec
        return Start(
            "" if launch.command_line == IMAGE_PROGRAM else launch.command_line,
            folder.place(working_directory(launch.directory)),
            program.environment,
            folder.place(stdout),
            folder.place(stderr),
            folder.path,
            Limits(memory_bytes=round(pool.size.memory_gib * _GIB), file_bytes=round(pool.size.task_disk_gib * _GIB)),
            None if spec.container_settings is None else spec.container_settings.image_name,
            user_of(pool.spec, spec.user_identity, launch.directory).is_admin,
        )

    def _prepare(self, wanted: Sequence[Wanted], start: Start) -> Running:
        for each in wanted:
            self._transfers.fetch(each)
        return self._sandbox.start(start)

    def environment(self, node: int, launch: Launch, work: Work) -> dict[str, str]:
        """Return the environment of a program for people to look at, without its token and what is passed on."""
        hidden = dict.fromkeys(filter(os.environ.__contains__, self._settings.passed), "(passed on)")
        return dict(sorted((self._environment(node, launch, work, with_token=False) | hidden).items()))

    def _environment(self, node: int, launch: Launch, work: Work, *, with_token: bool = True) -> dict[str, str]:
        """Return the environment of a program: the process's own, with the paths of this machine."""
        world, folder = self._simulation.world, self._folders.get(node)
        root = None if folder is None else folder.root
        own = execution.environment_of(world, node, launch, work, root)
        if all(setting.name != "PATH" for setting in work.spec.environment_settings):
            shared, directory = own["AZ_BATCH_NODE_SHARED_DIR"], own["AZ_BATCH_TASK_WORKING_DIR"]
            own["PATH"] = ":".join([os.environ.get("PATH", os.defpath), shared, directory])
        token = with_token and getattr(work.spec, "authentication_token_settings", None) is not None
        variables = self._settings.variables(work.job.id if work.job is not None else "", token)
        trusted = variables.get(_TRUST)
        lent = str(trusted if folder is None else folder.place(_CERTIFICATES))
        own |= {name: lent if value == trusted else value for name, value in variables.items()}
        for each in world.nodes_of(work.task) if launch.kind in (TaskKind.PRIMARY, TaskKind.SUBTASK) else ():
            record = world.nodes[each]
            here = f"127.0.0.{record.position % 250 + 1}"
            own |= {
                name: value.replace(record.ip_address, here)
                for name, value in own.items()
                if name.startswith(("AZ_BATCH_HOST", "AZ_BATCH_NODE_LIST", "AZ_BATCH_MASTER", "CCP_"))
            }
        return {name: os.environ[name] for name in (*_INHERITED, *self._settings.passed) if name in os.environ} | own

    def _wanted(self, program: _Program) -> list[Wanted]:
        """Return the resource files that the simulation knows nothing about."""
        world, (_, launch, work), folder = self._simulation.world, program.begun, program.folder
        own = working_directory(launch.directory)
        files: list[tuple[ResourceFile, str]] = [(file, own) for file in launch.resource_files]
        several = getattr(work.spec, "multi_instance_settings", None)
        if launch.kind is TaskKind.SUBTASK and several is not None and work.job is not None:
            above = task_directory(work.job.id, work.task_id)
            files = [(file, above) for file in several.common_resource_files] + files
        wanted = []
        for file, directory in files:
            url, name = url_of_resource_file(file), (file.file_path or "").strip("/")
            is_known = world.blobs.find(url) is not None or world.storage.find(url) is not None
            if is_known or world.blobs.blobs_in(url) or not self._transfers.can_fetch(url):
                continue
            key, mode = folder.root.key(name or ".", directory), int(file.file_mode or "0770", 8)
            wanted.append(Wanted(url, folder, key, mode, not file.http_url, file.blob_prefix or ""))
        return wanted

    def _look_for_ends(self) -> None:
        """Note the programs that have ended."""
        for program in self._programs.values():
            if program.seen is None:
                program.seen, program.ended_ms = next(program.life), self._real_ms()

    def _outgoing(self, program: _Program, code: int) -> list[Outgoing]:
        """Return the output files that really go somewhere: to a container that the simulation does not describe."""
        world, (_, launch, work), folder = self._simulation.world, program.begun, program.folder
        found: list[Outgoing] = []
        if work.job is None or launch.kind is TaskKind.SUBTASK:
            return found
        files: NodeFiles | None = None
        for file in due_uploads(getattr(work.spec, "output_files", ()), code):
            url = file.destination.container.container_url
            if world.storage.find(url) is None and self._transfers.can_send(url):
                files = files or folder.listing()
                directory = working_directory(launch.directory)
                for key, blob in uploads_of(file, files, folder.root, directory, program.environment):
                    found.append(Outgoing(folder, key, url, blob))
        return found

    def _seen(self, program: _Program, code: int, fails: Failing | None) -> Seen:
        """Return what a program that has ended has done."""
        launch, folder = program.begun.launch, program.folder
        changes, directory = folder.changes(), working_directory(launch.directory)
        program.changed = frozenset(changes.sizes)

        def relative(key: str) -> str:
            return os.path.relpath(key, directory)

        stdout, stderr = (
            (folder.read(f"{launch.directory}/{name}.txt", begins) or b"")[:_LONGEST_STREAM].decode("utf-8", "replace")
            for name, begins in zip(_STREAMS, program.begins, strict=True)
        )
        simulate = Simulate(
            exit_code=code,
            stdout=stdout,
            stderr=stderr,
            writes={relative(key): size for key, size in changes.sizes.items()},
            fails=fails,
        )
        texts = {relative(key): text for key, text in changes.texts.items()}
        return Seen(simulate, texts, tuple(map(relative, changes.removed)))

    def _end(self, program: _Program) -> None:
        """Enter the end of a process."""
        assert program.seen is not None
        del self._programs[program.number]
        simulation = self._simulation
        took_ms = simulation.now_ms + 1 - program.started_ms - program.overhead_ms
        simulate = program.seen.simulate.model_copy(update={"duration": Distribution.constant(took_ms)})
        simulation.end_process(program.number, program.seen._replace(simulate=simulate))
        program.folder.mirror(program.changed)

    # -- the log -----------------------------------------------------------------------------------------------------

    def _rows_of(self, process: Process) -> tuple[int, int]:
        """Return the rows of the subject that the log has for a process."""
        (kind, row, _), instances = process, self._simulation.world.instances
        if kind in (ProcessKind.TASK, ProcessKind.COORDINATION):
            return row, -1
        return (-1, row) if kind is ProcessKind.START_TASK else (instances.job[row], instances.node[row])

    def _mark(self) -> None:
        """Mark the starts and ends of programs in the log."""
        log = self._simulation.log
        for entry in range(self._followed, len(log)):
            shape = log.shapes[log.shape_of[entry]]
            rows = log.row_a[entry], -1 if shape.event in _OF_TASKS else log.row_b[entry]
            if (shape.event, *rows) in self._executed and plain(dict(shape.fields).get("to")) in _MARKED:
                log.executed.add(entry)
        self._followed = len(log)
