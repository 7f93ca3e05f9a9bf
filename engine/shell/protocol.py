"""The protocol between the rules and an executor: launches, plans and outputs.

A plan is a pure function of the launch. It is computed when the process starts, to schedule its end, and again when it
ends, so no state of a running process is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import ErrorCategory, FailureInfo, ended
from engine.base.paths import TaskKind
from engine.base.terms import OsFamily
from engine.specs import draws

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.base.paths import InstalledPackage
    from engine.specs.account import BlobContent
    from engine.specs.base import Distribution
    from engine.specs.common import CommandLine, ExitCodes, ResourceFile, Simulate
    from engine.specs.conditions import Unread


class Setup(NamedTuple):
    """The time in ms until everything a process needs is on its node, or the reason why it cannot start.

    ``packages`` are those that the task itself refers to, as they were when it started (APP-6). ``slept_ms`` is the
    time that a rehearsal of the command line slept, where that depends on its run (TASK-24).
    """

    delay_ms: int = 0
    failure: FailureInfo | None = None
    packages: tuple[InstalledPackage, ...] = ()
    slept_ms: int | None = None


READY = Setup()


class LineFacts(NamedTuple):
    """The facts about a command line that are known without running it.

    ``understood_ms`` is the time that it takes if the small shell knows every command and each runs once: the sum of
    its sleeps, or one second without any. It is None if a command is not known. Such a line ``leaves_nothing`` if it is
    a single program without redirections. A line that ``needs_rehearsal`` takes a time that depends on conditions or
    variables, or on files that only a real node may have (TASK-24, FILE-15).

    ``most_ms`` is the time after which ``timeout`` ends the whole line, if it does (TASK-26).

    ``unreadable`` is where and why the small shell cannot read the line, which then counts as an unknown program, and
    ``syntax_error`` where and why a shell refuses it, which ends its process with exit code 2 (TASK-25). An unknown
    program is neither, since it is assumed to exist.
    """

    found: bool
    understood_ms: int | None
    leaves_nothing: bool
    needs_rehearsal: bool
    unreadable: str | None
    syntax_error: str | None
    most_ms: int | None = None


UNREAD = LineFacts(False, None, False, False, None, None)


class Seen(NamedTuple):
    """What was seen of a process that really ran: how it behaved, and what became of files.

    Paths are relative to its working directory.
    """

    simulate: Simulate
    texts: Mapping[str, str] = {}  # of those that it has written, where they are texts
    removed: tuple[str, ...] = ()


class Executed(NamedTuple):
    """A start of a process that really ran: its subject and attempt as its draws have them, and its node's position.

    ``created_ms`` is when its task, job or pool was created. ``seen`` is None until it has ended by itself.
    """

    subject: tuple[str, ...]
    attempt: int
    position: int
    started_ms: int
    created_ms: int
    seen: Seen | None = None


class Launch(NamedTuple):
    """The start of a process. ``subject`` and ``attempt`` (from 1) are the key of its draws."""

    kind: TaskKind
    command_line: str
    simulate: Simulate | None
    subject: tuple[str, ...]
    attempt: int
    directory: str
    resource_files: tuple[ResourceFile, ...] = ()
    wall_clock_ms: int | None = None
    os: OsFamily = OsFamily.LINUX
    line: LineFacts = UNREAD
    node: int = -1  # index in the pool, the key of `onNode`
    setup: Setup = READY
    until_ms: int | None = None  # the time after which its ``until`` came true; None while that is not known
    execute: bool | None = None  # whether it really runs, if its body says so
    seen: Seen | None = None  # of a process that has really run


# The duration of a process whose end is not known yet: longer than any run.
UNKNOWN_MS = 1 << 62


class Plan(NamedTuple):
    """The outcome of a launch: it ends after ``total_ms``; with a failure it is stopped or never starts."""

    total_ms: int
    exit_code: int | None  # None: determined by the small shell
    failure: FailureInfo | None = None
    ran: bool = True  # whether the process started

    @property
    def is_open(self) -> bool:
        """True if the end is not known: the process waits for something."""
        return self.total_ms >= UNKNOWN_MS


class ActsText(NamedTuple):
    """The commands that a process gives while it runs, and the condition that ends it, as a scenario gives them.

    A process that ``executes`` ends when the program that runs for it does.
    """

    does: Unread | None = None
    until: Unread | None = None
    executes: bool = False


# The failure of a process that exceeds its maxWallClockTime (RETRY-8).
TIME_LIMIT = ended("maximum execution time exceeded", ErrorCategory.SERVER_ERROR)


class Output(NamedTuple):
    """The result of a command line.

    ``found`` is False if there is no such program (CommandProgramNotFound), and ``is_known`` if a part of the line
    behaved as an unknown program.
    """

    exit_code: int
    stdout: str
    stderr: str
    found: bool = True
    slept_ms: int = 0
    is_known: bool = True


class PlainProcess(NamedTuple):
    """A process whose starts are all alike: it cannot fail before it runs, and leaves no files, or always the same."""

    overhead_ms: int  # TIME-10
    duration: Distribution
    exit_code: int | ExitCodes
    wall_clock_ms: int | None

    @property
    def is_certain(self) -> bool:
        """True if no start involves chance."""
        return self.duration.kind == "constant" and not isinstance(self.exit_code, tuple)

    def plan(self, seed: int, subject: tuple[str, ...], attempt: int, total_ms: int | None = None) -> Plan:
        """Return the plan of a start (RETRY-8), whose duration is drawn unless ``total_ms`` is given."""
        if total_ms is None:
            constant = self.duration.kind == "constant"
            chance = 0.0 if constant else draws.uniform(seed, "duration", *subject, attempt)
            total_ms = self.overhead_ms + draws.draw_ms(self.duration, chance)
        if self.wall_clock_ms is not None and total_ms > self.wall_clock_ms:
            return Plan(self.wall_clock_ms, None, TIME_LIMIT)
        code = self.exit_code
        if isinstance(code, tuple):
            code = draws.pick_code(code, draws.uniform(seed, "exit code", *subject, attempt))
        return Plan(total_ms, code)


class LeftFile(NamedTuple):
    """A file that a process leaves, by its path from the task's directory."""

    path: str
    content: BlobContent


class PlainUpload(NamedTuple):
    """An upload of a file that a plain process leaves.

    Its blob is called ``name``; the path of the task's output file number ``output`` comes in its place, or with
    ``below_path`` before it. ``container`` is the number of the container in the table of blobs.
    """

    file: LeftFile
    output: int
    container: int
    container_url: str
    name: str
    below_path: bool

    def blob_name(self, path: str) -> str:
        """Return the name of the blob for the path that the output file gives (TASK-8)."""
        path = path.strip("/")
        return f"{path}/{self.name}" if self.below_path and path else path or self.name

    def line(self, directory: str, name: str) -> str:
        """Return the line in ``fileuploadout.txt`` about the upload."""
        return f"{directory}/{self.file.path} -> {self.container_url}/{name}, {self.file.content.size} bytes\n"


class PlainOutputs(NamedTuple):
    """All that a successful plain process leaves: its files, and their uploads in order (see ``PlainProcess``).

    The files, with the records of the uploads, take ``most_bytes`` at most.
    """

    job_directory: str
    files: tuple[LeftFile, ...]
    uploads: tuple[PlainUpload, ...]
    uploaded_bytes: int
    most_bytes: int


class HookProcess(NamedTuple):
    """The preparation or release task of a job as a process; ``plain`` if all its starts are alike."""

    kind: TaskKind
    task_id: str
    spec: CommandLine
    wall_clock_ms: int | None
    plain: PlainProcess | None = None
    fixed: Plan | None = None  # the plan of every start, if no chance is involved
