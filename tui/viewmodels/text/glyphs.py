"""Tables of states: for each state a symbol, a letter for ASCII terminals, and a role that decides the colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engine.base.terms import (
    AllocationState,
    JobScheduleState,
    JobState,
    NodeState,
    PoolState,
    TaskResult,
    TaskState,
)
from engine.views.pages.instances import Hook, HookStatus
from tui.viewmodels.text.styled import Line, Role, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.views.pages.jobs import JobRow
    from engine.views.pages.tasks import TaskRow


class Glyph(NamedTuple):
    """Appearance of a state: one cell in either character set, a role, and a name."""

    symbol: str
    letter: str
    role: Role
    name: str


class GlyphSet:
    """The characters for states, lines and bars, in Unicode or ASCII."""

    def __init__(self, *, ascii_only: bool) -> None:
        """Choose ASCII characters if ``ascii_only``, else Unicode."""
        self.ascii_only = ascii_only
        self.full, self.shade, self.rest = ("#", "=", ".") if ascii_only else ("█", "▓", "·")
        self.failure, self.by_hand = "!", "A"
        self.now, self.planned = ("^", "-") if ascii_only else ("▲", "┄")
        self.known = "=" if ascii_only else "─"
        self.densities = " .:-=+*#" if ascii_only else " ▁▂▃▄▅▆▇█"
        self.arrow, self.path, self.cursor = ("->", ">", ">") if ascii_only else ("→", "›", "›")
        self.ellipsis = "~" if ascii_only else "…"
        self.times, self.dot = ("x", "-") if ascii_only else ("×", "·")
        self.good, self.bad, self.up = ("+", "x", "^") if ascii_only else ("✓", "✗", "▲")
        self.down = "v" if ascii_only else "▼"
        self.spot = "'" if ascii_only else "·"  # beside Spot nodes
        self.closed, self.opened = ("+", "-") if ascii_only else ("▸", "▾")

    def of(self, glyph: Glyph) -> str:
        """Return the glyph's cell."""
        return glyph.letter if self.ascii_only else glyph.symbol

    def span(self, glyph: Glyph) -> Span:
        """Return the glyph's cell in its role."""
        return Span(self.of(glyph), glyph.role)

    def counts(self, numbers: Iterable[tuple[Glyph, int]]) -> Line:
        """Return glyph, number and name for each number that is not zero."""
        return tuple(
            span
            for glyph, number in numbers
            if number
            for span in (self.span(glyph), Span(f" {number:,} {glyph.name}   "))
        )

    def text(self, text: str) -> str:
        """Return the text in the characters of this set, as wide as before."""
        return to_ascii(text) if self.ascii_only else text


def to_ascii(text: str) -> str:
    """Return the text in ASCII, cell for cell: the nearest character, else a question mark for each cell."""
    if text.isascii():
        return text
    return "".join(letter if letter.isascii() else _NEAREST.get(letter) or "?" * cell_len(letter) for letter in text)


_NEAREST = {"…": "~", "›": ">", "→": ">", "·": "-", "×": "x", "–": "-"}


NODE: dict[NodeState | None, Glyph] = {
    NodeState.CREATING: Glyph("◌", "c", Role.TRANSITION, "creating"),
    NodeState.STARTING: Glyph("◔", "s", Role.TRANSITION, "starting"),
    NodeState.WAITING_FOR_START_TASK: Glyph("◒", "w", Role.PREPARING, "waiting for start task"),
    NodeState.START_TASK_FAILED: Glyph("✗", "F", Role.FAILED, "start task failed"),
    NodeState.IDLE: Glyph(".", ".", Role.QUIET, "idle"),
    NodeState.RUNNING: Glyph("◉", "#", Role.RUNNING, "running"),
    NodeState.REBOOTING: Glyph("↻", "r", Role.TRANSITION, "rebooting"),
    NodeState.REIMAGING: Glyph("⊕", "R", Role.TRANSITION, "reimaging"),
    NodeState.UPGRADING_OS: Glyph("↺", "u", Role.TRANSITION, "upgrading OS"),
    NodeState.OFFLINE: Glyph("⊖", "o", Role.OFF, "offline"),
    NodeState.LEAVING_POOL: Glyph("▸", "l", Role.TRANSITION, "leaving pool"),
    NodeState.PREEMPTED: Glyph("⊘", "p", Role.OFF, "preempted"),
    NodeState.DEALLOCATING: Glyph("◍", "d", Role.TRANSITION, "deallocating"),
    NodeState.DEALLOCATED: Glyph("∅", "D", Role.OFF, "deallocated"),
    NodeState.UNUSABLE: Glyph("⊗", "U", Role.FAILED, "unusable"),
    NodeState.UNKNOWN: Glyph("?", "?", Role.FAILED, "unknown"),
    None: Glyph("∅", "g", Role.OFF, "left the pool"),
}

PREPARATION: dict[HookStatus, Glyph] = {
    HookStatus.NOT_NEEDED: Glyph(".", ".", Role.QUIET, "no preparation"),
    HookStatus.RUNNING: Glyph("▸", "p", Role.PREPARING, "preparing"),
    HookStatus.RETRYING: Glyph("↻", "P", Role.PREPARING, "retrying"),
    HookStatus.SUCCEEDED: Glyph("✓", "#", Role.OK, "prepared"),
    HookStatus.FAILED: Glyph("✗", "X", Role.FAILED, "failed"),
    HookStatus.SUPERSEDED: Glyph("↺", "~", Role.TRANSITION, "must run again"),
    HookStatus.GONE: Glyph("∅", "g", Role.OFF, "node gone"),
}

RELEASE: dict[HookStatus, Glyph] = {
    HookStatus.NOT_NEEDED: Glyph(".", ".", Role.QUIET, "not needed"),
    HookStatus.WILL_RUN: Glyph(":", ":", Role.QUIET, "will run"),
    HookStatus.RUNNING: Glyph("▸", "v", Role.RELEASING, "releasing"),
    HookStatus.SUCCEEDED: Glyph("✓", "=", Role.OK, "released"),
    HookStatus.FAILED: Glyph("✗", "Y", Role.FAILED, "release failed"),
    HookStatus.SKIPPED: Glyph("∅", "z", Role.OFF, "skipped"),
    HookStatus.GONE: Glyph("∅", "g", Role.OFF, "node gone"),
}

# The order of their counts.
HOOK_STATUSES = (
    HookStatus.SUCCEEDED,
    HookStatus.RUNNING,
    HookStatus.RETRYING,
    HookStatus.FAILED,
    HookStatus.SUPERSEDED,
    HookStatus.WILL_RUN,
    HookStatus.SKIPPED,
    HookStatus.GONE,
)

JOB: dict[JobState | None, Glyph] = {
    JobState.ACTIVE: Glyph("◉", "a", Role.RUNNING, "active"),
    JobState.DISABLING: Glyph("◍", "i", Role.TRANSITION, "disabling"),
    JobState.DISABLED: Glyph("⊖", "d", Role.OFF, "disabled"),
    JobState.ENABLING: Glyph("◔", "e", Role.TRANSITION, "enabling"),
    JobState.TERMINATING: Glyph("↺", "t", Role.RELEASING, "terminating"),
    JobState.COMPLETED: Glyph("✓", "+", Role.OK, "completed"),
    JobState.DELETING: Glyph("▸", "l", Role.TRANSITION, "deleting"),
    None: Glyph("∅", "g", Role.OFF, "deleted"),
}

_JOB_FAILED = Glyph("✗", "x", Role.FAILED, "completed")
_BAD_ENDS = ("TaskFailed", "MaxWallClockTimeExpiry")

JOB_SCHEDULE: dict[JobScheduleState | None, Glyph] = {
    JobScheduleState.ACTIVE: Glyph("◉", "a", Role.RUNNING, "active"),
    JobScheduleState.DISABLED: Glyph("⊖", "d", Role.OFF, "disabled"),
    JobScheduleState.TERMINATING: Glyph("↺", "t", Role.RELEASING, "terminating"),
    JobScheduleState.COMPLETED: Glyph("✓", "+", Role.OK, "completed"),
    JobScheduleState.DELETING: Glyph("▸", "l", Role.TRANSITION, "deleting"),
    None: Glyph("∅", "g", Role.OFF, "deleted"),
}

_POOL_DELETING = Glyph("▸", "l", Role.TRANSITION, "deleting")
_ALLOCATION = {
    AllocationState.STEADY: Glyph("◉", "a", Role.OK, "steady"),
    AllocationState.RESIZING: Glyph("↻", "r", Role.TRANSITION, "resizing"),
    AllocationState.STOPPING: Glyph("◍", "i", Role.TRANSITION, "stopping"),
}

POOL_GLYPHS = (*_ALLOCATION.values(), _POOL_DELETING)

TASK_BLOCKED = Glyph("◌", "b", Role.OFF, "blocked by a dependency")
TASK_BETWEEN_RETRIES = Glyph("↻", "y", Role.TRANSITION, "between retries")
TASK_TERMINATED = Glyph("⊘", "t", Role.OFF, "terminated")
_TASK_FAILED = Glyph("✗", "x", Role.FAILED, "failed")
_TASK = {
    TaskState.ACTIVE: Glyph("◌", "a", Role.QUIET, "active"),
    TaskState.PREPARING: Glyph("◔", "p", Role.PREPARING, "preparing"),
    TaskState.RUNNING: Glyph("◉", "r", Role.RUNNING, "running"),
    TaskState.COMPLETED: Glyph("✓", "+", Role.OK, "succeeded"),
}
_TASK_GONE = Glyph("∅", "g", Role.OFF, "deleted")

TASK_GLYPHS = (*_TASK.values(), _TASK_FAILED, TASK_BLOCKED, TASK_BETWEEN_RETRIES, TASK_TERMINATED)


def hook_glyph(hook: Hook, status: HookStatus) -> Glyph:
    """Return the glyph of a preparation or release status."""
    return (PREPARATION if hook is Hook.PREPARATION else RELEASE)[status]


def phase_glyph(prep: HookStatus, release: HookStatus) -> Glyph:
    """Return one glyph for both phases of a node: release once it is under way, preparation before."""
    if release in (HookStatus.RUNNING, HookStatus.SUCCEEDED, HookStatus.FAILED, HookStatus.SKIPPED):
        return RELEASE[release]
    return PREPARATION[prep]


def job_glyph(state: JobState | None, terminate_reason: str | None) -> Glyph:
    """Return the glyph of a job. A job that a failure or a time limit ended counts as failed."""
    glyph = JOB[state]
    if terminate_reason not in _BAD_ENDS:
        return glyph
    return _JOB_FAILED if state is JobState.COMPLETED else glyph._replace(role=Role.FAILED)


def glyph_of_job(job: JobRow) -> Glyph:
    """Return the glyph of a job's state."""
    return job_glyph(job.state, job.terminate_reason)


def pool_glyph(state: PoolState | None, allocation: AllocationState | None) -> Glyph:
    """Return the glyph of a pool."""
    if state is not PoolState.ACTIVE or allocation is None:
        return _POOL_DELETING
    return _ALLOCATION[allocation]


def task_glyph(
    state: TaskState | None,
    result: TaskResult | None = None,
    *,
    is_blocked: bool = False,
    awaits_retry: bool = False,
    was_ended: bool = False,
) -> Glyph:
    """Return the glyph of a task. ``was_ended`` says that it was terminated by a command."""
    if state is None:
        return _TASK_GONE
    if result is TaskResult.FAILURE:
        return TASK_TERMINATED if was_ended else _TASK_FAILED
    if state is TaskState.ACTIVE and is_blocked:
        return TASK_BLOCKED
    if state is TaskState.ACTIVE and awaits_retry:
        return TASK_BETWEEN_RETRIES
    return _TASK[state]


def glyph_of_task(task: TaskRow) -> Glyph:
    """Return the glyph of a task's state and result."""
    was_ended = task.failure is not None and task.failure.code == "TaskEnded" and task.failure.category == "UserError"
    return task_glyph(
        task.state, task.result, is_blocked=task.is_blocked, awaits_retry=task.awaits_retry, was_ended=was_ended
    )
