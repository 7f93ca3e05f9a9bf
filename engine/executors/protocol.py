"""How the engine asks what a process does: what it launches, and what comes of it.

A plan is a pure function of the launch. It is asked for when the process starts, to know when it will
end, and again when it ends; so nothing about a running process has to be kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from engine.base.environment import TaskKind
from engine.base.failures import FailureInfo, ended
from engine.base.terms import ErrorCategory, OsFamily
from engine.specs import draws

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.base.paths import NodeRoot
    from engine.executors.commands import FileView
    from engine.specs.common import CommandLine, ResourceFile
    from engine.specs.simulate import Distribution, ExitCodes, Simulate


class Setup(NamedTuple):
    """How long until everything a process needs is on its node, in ms, and why it never will be."""

    delay_ms: int = 0
    failure: FailureInfo | None = None


READY = Setup()


class Launch(NamedTuple):
    """One start of a process. ``subject`` and ``attempt`` (from 1) are the key of its chances."""

    kind: TaskKind
    command_line: str
    simulate: Simulate | None
    subject: tuple[str, ...]
    attempt: int
    node: int  # position in the pool's history: the key of `onNode`
    os: OsFamily
    started_ms: int
    directory: str
    resource_files: tuple[ResourceFile, ...] = ()
    wall_clock_ms: int | None = None
    setup: Setup = READY


class Plan(NamedTuple):
    """What will come of a launch: after ``total_ms`` it ends, stopped or never begun if there is a failure."""

    total_ms: int
    exit_code: int | None  # None: the small shell decides
    failure: FailureInfo | None = None
    ran: bool = True  # whether there was a process at all


# RETRY-8: what becomes of a process that runs longer than its maxWallClockTime.
TIME_LIMIT = ended("maximum execution time exceeded", ErrorCategory.SERVER_ERROR)


class Output(NamedTuple):
    """What a process has left when it ended."""

    exit_code: int
    stdout: str
    stderr: str


class PlainProcess(NamedTuple):
    """A process of which all starts are alike: it leaves no files, nothing can fail before it runs."""

    overhead_ms: int  # TIME-10
    duration: Distribution
    exit_code: int | ExitCodes
    wall_clock_ms: int | None

    @property
    def is_certain(self) -> bool:
        """Whether chance has no say in any start."""
        return self.duration.kind == "constant" and not isinstance(self.exit_code, tuple)

    def plan(self, seed: int, subject: tuple[str, ...], attempt: int) -> Plan:
        """When and how this start of the process will end (RETRY-8)."""
        constant = self.duration.kind == "constant"
        chance = 0.0 if constant else draws.uniform(seed, "duration", *subject, attempt)
        total_ms = self.overhead_ms + draws.draw_ms(self.duration, chance)
        if self.wall_clock_ms is not None and total_ms > self.wall_clock_ms:
            return Plan(self.wall_clock_ms, None, TIME_LIMIT)
        code = self.exit_code
        if isinstance(code, tuple):
            code = draws.pick_code(code, draws.uniform(seed, "exit code", *subject, attempt))
        return Plan(total_ms, code)


class HookProcess(NamedTuple):
    """The preparation or release task of a job as a process; ``plain`` if all its starts are alike."""

    kind: TaskKind
    task_id: str
    spec: CommandLine
    wall_clock_ms: int | None
    plain: PlainProcess | None = None
    fixed: Plan | None = None  # the plan of every start, where chance has no say


class Executor(Protocol):
    """Whoever runs processes: a simulation, or later real ones."""

    def plan(self, launch: Launch) -> Plan:
        """When and how the process will end."""
        ...

    def finish(
        self, launch: Launch, plan: Plan, environment: Mapping[str, str], root: NodeRoot, files: FileView
    ) -> Output:
        """The process has ended by itself: its effects on the node's files, and its output."""
        ...

    def plain(self, launch: Launch) -> PlainProcess | None:
        """What is the same for all starts of this process; None if they must be looked at one by one."""
        ...
