"""The simulated executor: behaves as ``simulate:`` says, and runs what the small shell understands (TASK-4)."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import count
from math import inf
from typing import TYPE_CHECKING

from engine.base.errors import FailureInfo, failure
from engine.base.paths import TaskKind, working_directory
from engine.base.terms import OsFamily
from engine.base.values import lazy_regex
from engine.shell import small_shell
from engine.shell.files import STEP_LIMIT, AccessDenied, NoSpaceLeft
from engine.shell.interpreter import SimulatedOutput
from engine.shell.protocol import UNKNOWN_MS, ActsText, Launch, LineFacts, Output, PlainProcess, Plan, Seen
from engine.specs.base import Distribution
from engine.specs.catalogue import PREP_RELEASE_DURATION_MS, PROCESS_START_MS, TASK_DURATION_MS
from engine.specs.common import Simulate
from engine.specs.draws import draw_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from engine.base.paths import NodeRoot
    from engine.shell.files import NodeFiles


_JOB_TASKS = (TaskKind.TASK, TaskKind.MANAGER, TaskKind.PRIMARY)
_NOTHING = Simulate()
_RECORDED_STEPS = 1000  # of the small shell, in a line that is recorded, which needs it only to delete files
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TASK_DURATION = Distribution.constant(TASK_DURATION_MS)
_SPECIAL_DURATION = Distribution.constant(PREP_RELEASE_DURATION_MS)


class SimulatedExecutor:
    """An executor with keyed draws: equal seed, subject and attempt give equal plans."""

    def __init__(self, seed: int, tasks: Simulate, start: datetime, *, executes: bool = False) -> None:
        """Create the executor of a run that begins at ``start``; ``tasks`` are the defaults of job tasks.

        With ``executes`` a command line without ``simulate`` really runs elsewhere: its end is not known before.
        """
        self.seed = seed
        self._is_real = executes
        self._start_ms = (start - _EPOCH) // timedelta(milliseconds=1)
        self._tasks = tasks

    @staticmethod
    def read(launch: Launch, os: OsFamily) -> Launch:
        """Return the launch on this operating system, with what is known of its command line without running it."""
        return launch._replace(os=os, line=small_shell.facts_of(launch.command_line, os))

    @staticmethod
    def special_duration(command_line: str, os: OsFamily, simulate: Simulate | None) -> Distribution:
        """Return the duration of a start, preparation or release task."""
        return _usual_duration(small_shell.facts_of(command_line, os), simulate, _SPECIAL_DURATION)

    def plan(self, launch: Launch) -> Plan:
        """Return when and how the process will end (TIME-10, RETRY-8)."""
        simulate = self._simulate_of(launch)
        overhead_ms, problem = self._setup(launch, simulate)
        if problem is not None:
            return Plan(overhead_ms, None, problem, ran=False)
        process = _process(launch, simulate, overhead_ms)
        total_ms = None
        if simulate.until is not None or (launch.seen is None and self.executes(launch)):
            total_ms = UNKNOWN_MS if launch.until_ms is None else max(overhead_ms, launch.until_ms)
        plan = process.plan(self.seed, launch.subject, launch.attempt, total_ms)
        return plan if simulate.exit_code is not None else plan._replace(exit_code=None)

    def finish(
        self, launch: Launch, plan: Plan, environment: Mapping[str, str], root: NodeRoot, files: NodeFiles, now_ms: int
    ) -> Output:
        """Run the line in the small shell, where unknown programs behave as ``simulate:`` says.

        A program that has really run is not run again. In its recording the shell leaves no files that the program has
        not written, since what that looked at may not be there.
        """
        simulate, directory = self._simulate_of(launch), working_directory(launch.directory)
        is_recorded = launch.execute is False and _tells_all(simulate)
        kept = {*files.all_files(), *(root.key(path, directory) for path in simulate.writes)} if is_recorded else {""}
        if launch.seen is not None:
            result = Output(plan.exit_code or 0, simulate.stdout or "", simulate.stderr or "")
        else:
            has_more = bool(simulate.model_fields_set)
            simulated = SimulatedOutput(plan.exit_code, simulate.stdout or "", simulate.stderr or "", has_more)
            overhead_ms, _ = self._setup(launch, simulate)
            began_ms = self._start_ms + now_ms - max(0, plan.total_ms - overhead_ms)
            line, most = launch.command_line, _RECORDED_STEPS if is_recorded else STEP_LIMIT
            result = small_shell.run(line, root, environment, files, directory, simulated, began_ms, most)
        if is_recorded:
            result = result._replace(is_known=True)
            for key in set(files.all_files()) - kept:
                files.delete(key)
        complaint = _write(simulate.writes, root, directory, files)
        if launch.seen is not None:
            _leave(launch.seen, root, directory, files)
        speaks_for_all = launch.line.understood_ms is not None or _tells_all(simulate)
        if speaks_for_all and simulate.stdout is not None:
            result = result._replace(stdout=simulate.stdout)
        if speaks_for_all and simulate.stderr is not None:
            result = result._replace(stderr=simulate.stderr)
        if complaint:
            result = result._replace(exit_code=result.exit_code or 1, stderr=result.stderr + complaint)
        return result

    def must_rehearse(self, launch: Launch) -> bool:
        """Return whether only a rehearsal can tell how long the process takes: it sleeps as its script decides."""
        simulate = self._simulate_of(launch)
        is_open = simulate.until is not None or self.executes(launch)
        return launch.line.needs_rehearsal and simulate.duration is None and not is_open

    def rehearse(
        self, launch: Launch, environment: Mapping[str, str], root: NodeRoot, files: NodeFiles, now_ms: int
    ) -> int:
        """Run the command line on files that are thrown away, and return how long it takes, in ms."""
        began_ms = self._start_ms + now_ms + PROCESS_START_MS + launch.setup.delay_ms
        directory = working_directory(launch.directory)
        result = small_shell.run(launch.command_line, root, environment, files, directory, start_ms=began_ms)
        unknown_ms = TASK_DURATION_MS if launch.kind in _JOB_TASKS else PREP_RELEASE_DURATION_MS
        return result.slept_ms + (0 if result.is_known else unknown_ms)

    def acts(self, launch: Launch) -> ActsText | None:
        """Return what the process does while it runs and what ends it, or None if it only takes its time."""
        if self.executes(launch):
            return ActsText(executes=True)
        simulate = self._simulate_of(launch)
        is_acting = bool(simulate.does) or simulate.until is not None
        return ActsText(simulate.does, simulate.until) if is_acting else None

    def plain(self, launch: Launch, *, may_leave_files: bool = False) -> PlainProcess | None:
        """Return what all starts of a process share that leaves no files, or always the same ones; or None."""
        simulate = self._common(launch)
        leaves_files = simulate.stdout or simulate.stderr or simulate.writes
        differs = (
            simulate.attempts
            or simulate.on_node
            or simulate.found is False
            or simulate.fails is not None
            or simulate.does
            or simulate.until
            or (leaves_files and not may_leave_files)
        )
        if (
            differs
            or self.executes(launch)
            or launch.resource_files
            or not (launch.line.found and launch.line.leaves_nothing)
        ):
            return None
        return _process(launch, simulate, self.start_ms(launch))

    def executes(self, launch: Launch) -> bool:
        """Return whether a command line really runs: it has no ``simulate``, unless its ``execute`` decides."""
        if not self._is_real or launch.execute is not None:
            return self._is_real and bool(launch.execute)
        return launch.simulate is None or not launch.simulate.model_fields_set

    def start_ms(self, launch: Launch) -> int:
        """Return how long a process takes to start (TIME-10); what was seen of a program has that in its duration."""
        is_seen = launch.execute is False or (self.executes(launch) and launch.line.found)
        return 0 if is_seen else PROCESS_START_MS

    def upload_failure(self, launch: Launch) -> FailureInfo | None:
        """Return why the outputs of a process cannot be uploaded, if ``simulate`` or a real program says so."""
        fails = self._simulate_of(launch).fails
        return fails.failure if fails is not None and fails.is_of_upload else None

    def _common(self, launch: Launch) -> Simulate:
        """Return what ``simulate:`` says of all launches like this one: defaults, plain values."""
        if launch.seen is not None:
            return launch.seen.simulate
        if self.executes(launch):
            return _NOTHING
        own = launch.simulate
        defaults = self._tasks if launch.kind in _JOB_TASKS else _NOTHING
        if own is None or not own.model_fields_set:
            return defaults
        return defaults.overridden_by(own) if defaults.model_fields_set else own

    def _simulate_of(self, launch: Launch) -> Simulate:
        """Return the merged ``simulate:`` of a launch: common values, those of the node, of the attempt."""
        own = self._common(launch)
        if launch.node in own.on_node:
            own = own.overridden_by(own.on_node[launch.node])
        if launch.attempt <= len(own.attempts):
            own = own.overridden_by(own.attempts[launch.attempt - 1])
        return own

    def _setup(self, launch: Launch, simulate: Simulate) -> tuple[int, FailureInfo | None]:
        """Return the time until the process runs, and the reason if it cannot (RETRY-4)."""
        overhead_ms = self.start_ms(launch) + launch.setup.delay_ms
        if launch.setup.failure is not None:
            return overhead_ms, launch.setup.failure
        if simulate.fails is not None and not simulate.fails.is_of_upload:
            problem = simulate.fails.failure
        elif simulate.found is False or not launch.line.found:
            problem = failure("CommandProgramNotFound", ("Message", launch.command_line))
        else:
            return overhead_ms, None
        is_seen = simulate.fails is not None or launch.execute is False or launch.seen is not None
        if is_seen and simulate.duration is not None and simulate.duration.kind == "constant":
            overhead_ms += round(simulate.duration.values[0])
        return overhead_ms, problem


def _leave(seen: Seen, root: NodeRoot, directory: str, files: NodeFiles) -> None:
    """Let the files be as a process has left them that really ran."""
    for path, text in seen.texts.items():
        files.write(root.key(path, directory), text)
    for path in seen.removed:
        files.delete(root.key(path, directory))


def _tells_all(simulate: Simulate) -> bool:
    """Return whether the values are of the line as a whole, as those of a recording are, not of a program in it."""
    return simulate.duration is not None and simulate.exit_code is not None and simulate.stdout is not None


def _write(sizes: Mapping[str, int], root: NodeRoot, directory: str, files: NodeFiles) -> str:
    """Write files of these sizes; return what the program says if it finds no room, after which it fails (VM-4)."""
    for path, size in sizes.items():
        with suppress(AccessDenied):  # a program that may not write there is silent about it
            try:
                files.put(root.key(path, directory), size)
            except NoSpaceLeft as failed:
                return f"{failed.on_windows}\n" if root.is_windows else f"{path}: {failed.on_linux}\n"
    return ""


def _process(launch: Launch, simulate: Simulate, overhead_ms: int) -> PlainProcess:
    if launch.setup.slept_ms is not None and simulate.duration is None:
        duration = Distribution.constant(launch.setup.slept_ms or small_shell.UNDERSTOOD_MS)
    else:
        otherwise = _TASK_DURATION if launch.kind in _JOB_TASKS else _SPECIAL_DURATION
        duration = _usual_duration(launch.line, simulate, otherwise)
    return PlainProcess(overhead_ms, duration, simulate.exit_code or 0, launch.wall_clock_ms)


def _usual_duration(line: LineFacts, simulate: Simulate | None, otherwise: Distribution) -> Distribution:
    if simulate is not None and simulate.duration is not None:
        return simulate.duration
    if line.understood_ms is not None:
        return Distribution.constant(line.understood_ms)
    if line.most_ms is not None:
        return Distribution.constant(min(line.most_ms, round(otherwise.values[0])))
    return otherwise


_RARE = 0.999


def span_ms(line: Callable[[], LineFacts], own: Simulate | None, defaults: Simulate | None) -> tuple[float, float]:
    """Return the least and the most time that a process takes, but for what is very rare; ``defaults`` are of tasks.

    Reading a line takes far longer than the rest: ``line`` is asked only where no ``simulate`` says how long it takes.
    """
    own = own or _NOTHING
    usual = own if defaults is None else defaults.overridden_by(own)
    forms = [usual, *(usual.overridden_by(each) for each in (*own.attempts, *own.on_node.values()))]
    otherwise = _SPECIAL_DURATION if defaults is None else _TASK_DURATION
    durations = [each.duration or _usual_duration(line(), each, otherwise) for each in forms if each.until is None]
    is_endless = len(durations) < len(forms)
    is_sure = not is_endless and (usual.duration is not None or not line().needs_rehearsal)
    least = min(draw_ms(one, 0.0) for one in durations) if is_sure else 0
    return least, inf if is_endless else max(draw_ms(one, _RARE) for one in durations)


# Numbers into which no shell looks while it reads a line: not the descriptor of `2>`, `$1`, or an option such as `-0`.
# The first digit comes before what stands ahead of it, since a search passes over other characters fast.
_NUMBER = lazy_regex(r"\d(?:(?<=[A-Za-z_\s./=,:@+'\"]\d)|(?<=\w-\d))\d*+(?![<>&])", re.ASCII)
_LOOKS_INTO_NUMBERS = lazy_regex(r"<<|\(\(|\$\{\w*[^\w}]|%\w*[:~]", re.ASCII)


def mistakes_in(text: str, os: OsFamily, *, is_simulated: bool) -> list[tuple[str, str]]:
    """Return what is wrong with a command line, or cannot be read: codes of warnings, with sentences.

    Long lists have lines that differ only in their numbers, of which one is read for all.
    """
    return [] if _is_faultless(_NUMBER.sub("0", text), os, is_simulated) else list(_findings(text, os, is_simulated))


@lru_cache(maxsize=4096)
def _is_faultless(line: str, os: OsFamily, is_simulated: bool) -> bool:
    """Return whether there is nothing to find in a command line, whatever its numbers are.

    Numbers that all differ are the worst case: equal ones can only say that a file is one that the line has made.
    """
    if _LOOKS_INTO_NUMBERS.search(line):
        return False
    numbers = count(1_000_000)
    return not any(_findings(_NUMBER.sub(lambda _: str(next(numbers)), line), os, is_simulated))


def _findings(text: str, os: OsFamily, is_simulated: bool) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a command line: codes of warnings, with sentences."""
    yield from (found for found in small_shell.traps_of(text, os) if found[0] != "system-file" or not is_simulated)
    line = small_shell.facts_of(text, os)
    if error := line.syntax_error:
        yield "shell-syntax", f"the shell refuses this command line, {error}: its process ends with exit code 2"
    elif line.unreadable is not None and not is_simulated:
        unread = (
            f"the small shell cannot read this command line: {line.unreadable}. It counts as a program that takes its"
            " default time and succeeds; say with 'simulate' what it does"
        )
        yield "shell-unreadable", unread
