"""The one table of states: for each a symbol, a letter for ASCII terminals, and a role that decides the colour.

Nothing else in the dashboard chooses a symbol for a state: map, lists, timeline, legends and pictures read it here.
States that can stand in one picture differ in symbol and letter, and states of the same name look alike everywhere.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from engine.base.terms import AllocationState, JobScheduleState, JobState, NodeState, PoolState, TaskResult, TaskState
from engine.base.values import visible
from engine.views.diagnosis.expectations import ExpectationState
from engine.views.hook_status import Hook, HookStatus
from tui.viewmodels.format import counted
from tui.viewmodels.text import WHOLE, Line, Role, Span, as_fits, merged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.views.resources.jobs import JobProgress, JobRow
    from engine.views.resources.tasks import TaskBrief


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
        self.full, self.rest = ("#", ".") if ascii_only else ("█", "·")
        self.edge = "|" if ascii_only else "▏"  # where a bar begins
        # Bars of progress are slim; failures are crosses in them, which need no colour.
        self.meter, self.meter_running, self.meter_rest = ("=", "*", ".") if ascii_only else ("━", "╍", "─")
        self.meter_failed = "X" if ascii_only else "×"
        self.light = "." if ascii_only else "░"  # the empty part of a bar
        self.failure, self.by_hand = "!", "A"
        self.crossed, self.bookmark = ("/", "B") if ascii_only else ("≈", "◆")
        self.now, self.planned = ("^", "_") if ascii_only else ("▲", "┄")
        self.densities = " .:;=+*#" if ascii_only else " ▁▂▃▄▅▆▇█"
        self.arrow, self.path, self.cursor = ("->", ">", ">") if ascii_only else ("→", "›", "›")
        self.ellipsis = "~" if ascii_only else "…"
        self.times, self.dot = ("x", "-") if ascii_only else ("×", "·")
        self.good, self.bad, self.up = ("+", "X", "^") if ascii_only else ("✓", "✗", "▲")
        self.down = "v" if ascii_only else "▼"
        self.spot = "'" if ascii_only else "·"  # beside Spot nodes
        self.wide, self.high = ("~", ":") if ascii_only else ("─", "│")  # the bars of a spread in a plot
        self.closed, self.opened = ("+", "-") if ascii_only else ("▸", "▾")

    def of(self, glyph: Glyph) -> str:
        """Return the glyph's cell."""
        return glyph.letter if self.ascii_only else glyph.symbol

    def span(self, glyph: Glyph) -> Span:
        """Return the glyph's cell in its role."""
        return Span(self.of(glyph), glyph.role)

    def stretch(self, glyph: Glyph, cells: int) -> Span:
        """Return a stretch of time in a state: its symbol, its name if that fits, and a line; dots in quiet times."""
        return _stretch(self, glyph, cells, self.ascii_only)

    def counts(self, numbers: Iterable[tuple[Glyph, int]], noun: str, cells: int = WHOLE) -> Line:
        """Return glyph, number and name for each number that is not zero, failures first.

        Without room for all of them the line ends with the number of the other states and of what is in them.
        """
        some = [each for each in numbers if each[1]]
        shown = [each for each in some if each[0].role is Role.FAILED]
        shown += [each for each in some if each[0].role is not Role.FAILED]
        parts = [(self.span(glyph), Span(f" {number:,} {glyph.name}   ")) for glyph, number in shown]

        def left_out(first: int) -> str:
            others = [number for _, number in shown[first:]]
            return f"+{counted(len(others), 'more state')}, {counted(sum(others), noun)}"

        return as_fits(parts, cells, left_out)

    def text(self, text: str) -> str:
        """Return the text in the characters of this set, with control characters but tab and line feed as escapes."""
        return to_ascii(visible(text)) if self.ascii_only else visible(text)


def to_ascii(text: str) -> str:
    """Return the text in ASCII, cell for cell: the nearest character, else a question mark for each cell."""
    if text.isascii():
        return text
    return "".join(letter if letter.isascii() else _NEAREST.get(letter) or "?" * cell_len(letter) for letter in text)


_QUIET = (Role.QUIET, Role.PLAIN)
_BESIDE_NAME = 3  # cells of a stretch beside its name: the symbol and a blank at each side
_NEAREST = {"…": "~", "›": ">", "→": ">", "·": "-", "×": "x", "–": "-"}
_NEAREST |= {"▲": "^", "┄": "_", "≈": "/", "◆": "B"}  # as on the line of the run


_GONE = Glyph("∅", "g", Role.OFF, "deleted")
_IDLE = Glyph(".", ".", Role.QUIET, "idle")
_RUNNING = Glyph("◉", "#", Role.RUNNING, "running")
_PREPARING = Glyph("▸", "p", Role.PREPARING, "preparing")
_RETRYING = Glyph("»", "P", Role.PREPARING, "retrying")
_RELEASING = Glyph("◂", "v", Role.RELEASING, "releasing")
_FAILED = Glyph("✗", "X", Role.FAILED, "failed")
_SUCCEEDED = Glyph("✓", "+", Role.OK, "succeeded")
_ACTIVE = Glyph("◉", "a", Role.RUNNING, "active")
_DISABLED = Glyph("⊖", "d", Role.OFF, "disabled")
_STOPPING = Glyph("◍", "i", Role.TRANSITION, "stopping")
_TERMINATING = Glyph("↺", "t", Role.RELEASING, "terminating")
_TERMINATED = Glyph("⊘", "t", Role.OFF, "terminated")
STOPPED = _TERMINATED._replace(name="stopped with its node or job")
_COMPLETED = _SUCCEEDED._replace(name="completed")
_LEAVING = Glyph("◃", "l", Role.TRANSITION, "leaving pool")
_DELETING = _LEAVING._replace(name="deleting")

NODE: dict[NodeState | None, Glyph] = {
    NodeState.CREATING: Glyph("○", "c", Role.TRANSITION, "creating"),
    NodeState.STARTING: Glyph("◔", "s", Role.TRANSITION, "starting"),
    NodeState.WAITING_FOR_START_TASK: Glyph("◒", "w", Role.PREPARING, "waiting for start task"),
    NodeState.START_TASK_FAILED: Glyph("⊠", "F", Role.FAILED, "start task failed"),
    NodeState.IDLE: _IDLE,
    NodeState.RUNNING: _RUNNING,
    NodeState.REBOOTING: Glyph("↻", "r", Role.TRANSITION, "rebooting"),
    NodeState.REIMAGING: Glyph("⊕", "R", Role.TRANSITION, "reimaging"),
    NodeState.UPGRADING_OS: Glyph("⇡", "u", Role.TRANSITION, "upgrading OS"),
    NodeState.OFFLINE: Glyph("⊖", "o", Role.OFF, "offline"),
    NodeState.LEAVING_POOL: _LEAVING,
    NodeState.PREEMPTED: Glyph("▾", "e", Role.PREEMPTED, "preempted"),
    NodeState.DEALLOCATING: Glyph("◍", "d", Role.TRANSITION, "deallocating"),
    NodeState.DEALLOCATED: Glyph("▫", "D", Role.OFF, "deallocated"),
    NodeState.UNUSABLE: Glyph("⊗", "U", Role.FAILED, "unusable"),
    NodeState.UNKNOWN: Glyph("?", "?", Role.FAILED, "unknown"),
    None: _GONE._replace(name="left the pool"),
}

PREPARATION: dict[HookStatus, Glyph] = {
    HookStatus.NOT_NEEDED: _IDLE._replace(name="no preparation"),
    HookStatus.RUNNING: _PREPARING,
    HookStatus.RETRYING: _RETRYING,
    HookStatus.SUCCEEDED: _SUCCEEDED._replace(name="prepared"),
    HookStatus.FAILED: _FAILED,
    HookStatus.SUPERSEDED: Glyph("≃", "M", Role.TRANSITION, "would run again before a task"),
    HookStatus.STOPPED: STOPPED,
    HookStatus.LEAVING: _LEAVING,
    HookStatus.GONE: _GONE._replace(name="node gone"),
}

RELEASE: dict[HookStatus, Glyph] = {
    HookStatus.NOT_NEEDED: _IDLE._replace(name="not needed"),
    HookStatus.WILL_RUN: Glyph(":", ":", Role.QUIET, "owed"),
    HookStatus.RUNNING: _RELEASING,
    HookStatus.SUCCEEDED: Glyph("∎", "V", Role.OK, "released"),
    HookStatus.FAILED: Glyph("↯", "Y", Role.FAILED, "release failed"),
    HookStatus.SKIPPED: Glyph("⊝", "z", Role.OFF, "skipped"),
    HookStatus.GONE: _GONE._replace(name="node gone"),
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
    HookStatus.STOPPED,
    HookStatus.LEAVING,
    HookStatus.GONE,
)

# Over time a node can also be ineligible.
INELIGIBLE = Glyph("⊟", "%", Role.OFF, "ineligible")

JOB: dict[JobState | None, Glyph] = {
    JobState.ACTIVE: _ACTIVE,
    JobState.DISABLING: _STOPPING._replace(name="disabling"),
    JobState.DISABLED: _DISABLED,
    JobState.ENABLING: Glyph("◔", "e", Role.TRANSITION, "enabling"),
    JobState.TERMINATING: _TERMINATING,
    JobState.COMPLETED: _COMPLETED,
    JobState.DELETING: _DELETING,
    None: _GONE,
}

_JOB_FAILED = _FAILED._replace(name="completed")

JOB_SCHEDULE: dict[JobScheduleState | None, Glyph] = {state: JOB[JobState[state.name]] for state in JobScheduleState}
JOB_SCHEDULE[None] = _GONE

_ALLOCATION = {
    AllocationState.STEADY: Glyph("◉", "a", Role.OK, "steady"),
    AllocationState.RESIZING: Glyph("↻", "r", Role.TRANSITION, "resizing"),
    AllocationState.STOPPING: _STOPPING,
}

STATES_OF_NODES, STATES_OF_JOBS, STATES_OF_SCHEDULES = (
    tuple(glyph.name for glyph in table.values()) for table in (NODE, JOB, JOB_SCHEDULE)
)
POOL_GLYPHS = (*_ALLOCATION.values(), _DELETING, _GONE)

EXPECTATION: dict[ExpectationState, Glyph] = {
    ExpectationState.BROKEN: _FAILED._replace(name="broken"),
    ExpectationState.PENDING: Glyph("◌", "o", Role.QUIET, "pending"),
    ExpectationState.MET: _SUCCEEDED._replace(name="met"),
}

TASK_BLOCKED = Glyph("⊡", "b", Role.OFF, "blocked by a dependency")
TASK_BETWEEN_RETRIES = Glyph("»", "y", Role.TRANSITION, "between retries")
TASK_TERMINATED = _TERMINATED
TASK: dict[TaskState | None, Glyph] = {
    TaskState.ACTIVE: Glyph("◌", "a", Role.QUIET, "active"),
    TaskState.PREPARING: _PREPARING,
    TaskState.RUNNING: _RUNNING,
    TaskState.COMPLETED: _SUCCEEDED,
}

# Of variants of a study.
VARIANT_RECOMMENDED = Glyph("★", "@", Role.OK, "recommended")
VARIANT_PARETO = Glyph("◆", "#", Role.OK, "Pareto")
VARIANT_PARETO_BREAKS = Glyph("◇", "%", Role.TRANSITION, "Pareto, breaks them")
VARIANT_KEEPS = Glyph("●", "o", Role.RUNNING, "keeps expectations")
VARIANT_BREAKS = Glyph("○", "c", Role.OFF, "breaks expectations")
VARIANT_FAILED = Glyph("✗", "X", Role.FAILED, "all runs failed")
VARIANT_PENDING = Glyph("·", ".", Role.QUIET, "no results yet")
VARIANT_GLYPHS = (
    *(VARIANT_RECOMMENDED, VARIANT_PARETO, VARIANT_PARETO_BREAKS),
    *(VARIANT_KEEPS, VARIANT_BREAKS, VARIANT_FAILED, VARIANT_PENDING),
)

TASK_GLYPHS = (*TASK.values(), _FAILED, TASK_BLOCKED, TASK_BETWEEN_RETRIES, TASK_TERMINATED)


@lru_cache(maxsize=2048)
def _stretch(glyphs: GlyphSet, glyph: Glyph, cells: int, _ascii_only: bool) -> Span:
    short = glyph.name.split(" ")[-1 if glyph.role is Role.FAILED else 0]
    names = () if glyph.role in _QUIET else (glyph.name, short)
    name = next((f" {each} " for each in names if len(each) + _BESIDE_NAME <= cells), "")
    return Span(f"{glyphs.of(glyph)}{name}".ljust(cells, glyphs.of(_going_on(glyph))), glyph.role)


@cache
def _going_on(glyph: Glyph) -> Glyph:
    """Return what continues a stretch of time after the symbol in its first cell: dots in quiet times, else a line."""
    if glyph.role in _QUIET:
        return glyph._replace(symbol=".", letter=".") if glyph.symbol.strip() else glyph
    return glyph._replace(symbol="━", letter="=")


def hook_glyph(hook: Hook, status: HookStatus) -> Glyph:
    """Return the glyph of a preparation or release status."""
    return (PREPARATION if hook is Hook.PREPARATION else RELEASE)[status]


def phase_glyph(prep: HookStatus, release: HookStatus) -> Glyph:
    """Return one glyph for both phases of a node: release once it is under way, preparation before."""
    if release in (HookStatus.RUNNING, HookStatus.SUCCEEDED, HookStatus.FAILED, HookStatus.SKIPPED):
        return RELEASE[release]
    return PREPARATION[prep]


def glyph_of_job(job: JobRow | JobProgress) -> Glyph:
    """Return the glyph of a job's state. One that ended before its work was done counts as failed."""
    glyph = JOB[job.state]
    if not job.bad_end:
        return glyph
    return _JOB_FAILED if job.state is JobState.COMPLETED else glyph._replace(role=Role.FAILED)


def pool_glyph(state: PoolState | None, allocation: AllocationState | None) -> Glyph:
    """Return the glyph of a pool."""
    if state is None:
        return _GONE
    if state is not PoolState.ACTIVE or allocation is None:
        return _DELETING
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
        return _GONE
    if result is TaskResult.FAILURE:
        return TASK_TERMINATED if was_ended else _FAILED
    if state is TaskState.ACTIVE and is_blocked:
        return TASK_BLOCKED
    if state is TaskState.ACTIVE and awaits_retry:
        return TASK_BETWEEN_RETRIES
    return TASK[state]


def glyph_of_task(task: TaskBrief) -> Glyph:
    """Return the glyph of a task's state and result."""
    failure, awaits_retry = task.extra.failure, task.extra.awaits_retry
    was_ended = failure is not None and failure.code == "TaskEnded" and failure.category == "UserError"
    return task_glyph(
        task.state, task.result, is_blocked=task.is_blocked, awaits_retry=awaits_retry, was_ended=was_ended
    )


class Canvas:
    """A grid of cells that are drawn one above another."""

    def __init__(self, cells: int, rows: int) -> None:
        """All cells are blank."""
        self.cells, self.rows = cells, rows
        self._grid = [[Span(" ")] * cells for _ in range(rows)]

    def put(self, column: int, row: int, text: str, role: Role, *, is_fill: bool = False) -> None:
        """Draw a text of one-cell characters from a column on, as far as the row goes."""
        for at, letter in enumerate(text, start=column):
            if 0 <= at < self.cells and 0 <= row < self.rows:
                self._grid[row][at] = Span(letter, role, is_fill=is_fill)

    def lines(self) -> list[Line]:
        """Return the rows as lines."""
        return [tuple(merged(row)) for row in self._grid]
