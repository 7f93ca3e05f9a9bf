"""The headless replay of a simulation, the progress bars of all commands, and the files that ``batchdeck run`` writes.

A replay advances in slices so that progress can be shown. The files are the event log, the trace, the table of
tasks, the page of the run, and the files on nodes and in storage.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from itertools import combinations, islice
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, NamedTuple, Self

import click

from engine.base import runtime
from engine.base.log import blocks_of_lines
from engine.base.values import format_clock
from tui import interrupts
from tui.cli.arguments import needing
from tui.saving.targets import STDOUT, BlobText, TreeTarget, lines_target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack

    from rich.console import Console
    from rich.progress import Progress

    from engine import Simulation
    from tui.saving.targets import LinesTarget


PATIENCE_S = 1.0
_REPORT_S = 30.0  # between two lines on a stream that is not a terminal


def _stderr() -> Console:
    from tui.saving.console import console  # Rich is not imported for a command that shows nothing

    return console(to_stderr=True)


class _Bar:
    """A bar that is shown once the work has taken ``PATIENCE_S``, on a terminal."""

    def __init__(self, *, hidden: bool) -> None:
        """With ``hidden`` the bar is never shown."""
        self._console = None if hidden else _stderr()
        self._visible = self._console is not None and self._console.is_terminal
        self._bar: Progress | None = None
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            with interrupts.held:
                self._bar.stop()

    @property
    def _elapsed_s(self) -> float:
        """The seconds since the beginning; 0 before ``PATIENCE_S`` have passed."""
        elapsed_s = time.monotonic() - self._began_s
        return elapsed_s if elapsed_s >= PATIENCE_S else 0.0

    def _show(self, description: str, completed: int, total: int | None, rate: str) -> None:
        if self._bar is None:
            self._bar = self._made()
            with interrupts.held:
                self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=description, completed=completed, total=total, rate=rate)

    def _made(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # short work needs none of it

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            console=self._console,
            transient=True,
        )
        bar.add_task("", total=None, rate="")
        return bar


class RunProgress(_Bar):
    """Shows simulated time, tasks done and events per second."""

    def update(self, simulation: Simulation) -> None:
        """Show the present state of the run."""
        if self._visible and (elapsed_s := self._elapsed_s):
            from engine.views.results import task_totals

            tasks = task_totals(simulation)
            rate = f"tasks  {simulation.log.count / elapsed_s:,.0f} events/s"
            self._show(format_clock(simulation.now_ms), tasks.completed, tasks.total, rate)

    def writing(self, name: str, count: int, unit: str = "lines") -> None:
        """Show the number of lines of a file that are written, or of slices of the work that are done."""
        if self._visible and self._elapsed_s:
            self._show(f"Writing {name}", count, None, unit)


@contextmanager
def waiting(text: str, *, hidden: bool) -> Iterator[None]:
    """Show a text on a terminal while something goes on whose progress is not known, once it takes ``PATIENCE_S``."""
    console = None if hidden else _stderr()
    if console is None or not console.is_terminal:
        yield
        return
    from rich.text import Text  # a plain text would be read as markup

    status = console.status(Text(text))
    timer = Timer(PATIENCE_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with interrupts.held:
            timer.cancel()
            timer.join()
            status.stop()


class StudyProgress(_Bar):
    """Shows runs done, runs a second and the time that is left; without a terminal, a line now and then."""

    def __init__(self, total: int, *, hidden: bool, what: str = "Study") -> None:
        """Count ``total`` runs; ``what`` stands before the bar."""
        super().__init__(hidden=hidden)
        self._total, self._what = total, what
        self._reported_s = 0.0

    def update(self, done: int) -> None:
        """Show the number of runs that are done."""
        from engine.studies.outcome import pace_text

        elapsed_s = self._elapsed_s
        if not done or not elapsed_s:
            return
        self._total = max(self._total, done)  # of a search only estimated
        rate = f"runs  {pace_text(done, self._total, elapsed_s)}"
        if self._visible:
            self._show(self._what, done, self._total, rate)
        elif self._console is not None and elapsed_s - self._reported_s >= _REPORT_S:
            self._reported_s = elapsed_s
            self._console.print(f"{done:,} of {self._total:,} {rate}")


_PROGRAMS_S = 0.01
SLICE_EVENTS = 20_000  # about a tenth of a second, with the event log


def replay(
    simulation: Simulation, lines: LinesTarget | None, progress: RunProgress, until_ms: int | None = None
) -> None:
    """Play a simulation to its end, or to a moment, and write its events to ``lines`` as they happen."""
    until_ms = simulation.end_ms if until_ms is None else until_ms
    written = 0  # entries of the log
    more = True
    with runtime.gc_relaxed():
        while more:
            more = simulation.advance(until_ms, SLICE_EVENTS)
            if not more and simulation.now_ms < until_ms and not simulation.finished:
                time.sleep(_PROGRAMS_S)  # programs run
                more = True
            if not more and until_ms >= simulation.end_ms:
                simulation.finish()
            if lines is not None:
                lines.write_blocks(blocks_of_lines(simulation.log, simulation.names, start=written))
                written = len(simulation.log)
            progress.update(simulation)


def how_far(simulation: Simulation) -> str:
    """Return the progress of an unfinished run: ``at +00:42:17, 120 of 201 tasks done``."""
    from engine.views.results import task_totals

    tasks = task_totals(simulation)
    return f"at {format_clock(simulation.now_ms)}, {tasks.completed:,} of {tasks.total:,} tasks done"


_CHUNK = 10_000  # lines
_TABLES = (".parquet", ".arrow")


class WantedFiles(NamedTuple):
    """The files that were asked for; ``-`` is standard output."""

    events: str | None
    trace: str | None
    tasks: str | None
    html: str | None
    files: str | None  # a directory

    def named(self) -> dict[str, str]:
        """Return the names of the files by the options that name them."""
        return {f"--{field}": name for field, name in self._asdict().items() if name is not None}

    def check(self, output: str) -> None:
        """Check that no two results go to the same place, and that what writes them is installed.

        Raises:
            click.UsageError: Two do, or the extra ``arrow`` is needed and not installed.
        """
        named = self.named()
        places = {option: "stdout" if name == STDOUT else os.path.realpath(name) for option, name in named.items()}
        if output == "json":
            places["--output json"] = "stdout"
        for one, other in combinations(places, 2):
            if places[one] != places[other]:
                continue
            if places[one] != "stdout":
                raise click.UsageError(f"{one} and {other} both write to {named[one]}; give each a file of its own.")
            said = [f"{option} -" if option in named else option for option in (one, other)]
            raise click.UsageError(f"{said[0]} and {said[1]} both write to stdout; give {one} a file.")
        if self.events_table is not None:
            with needing(f"--events {self.events}", "arrow", "pyarrow"):
                import pyarrow  # noqa: F401 - it is needed when all has been played

    @property
    def events_table(self) -> str | None:
        """The kind of table that the event log is asked for as, ``.parquet`` or ``.arrow``; None for JSON Lines."""
        suffix = "" if self.events is None else Path(self.events).suffix.lower()
        return suffix if suffix in _TABLES else None

    @property
    def uses_stdout(self) -> bool:
        """True if one of them is standard output."""
        return STDOUT in (self.events, self.trace, self.tasks, self.html)


class RunFiles:
    """The files of one run. They are opened before it, and get their names at its end."""

    def __init__(self, wanted: WantedFiles, stack: ExitStack) -> None:
        """Open all files; what is not kept disappears with ``stack``. Raises TargetError."""
        self._events, self._trace, self._tasks, self._html = (
            None if name is None else stack.enter_context(lines_target(name))
            for name in (wanted.events, wanted.trace, wanted.tasks, wanted.html)
        )
        self._events_table = wanted.events_table
        self._tree = None if wanted.files is None else stack.enter_context(TreeTarget(wanted.files))

    @property
    def event_lines(self) -> LinesTarget | None:
        """The target of events as lines, which are written as they happen; None without one."""
        return None if self._events_table else self._events

    def write(self, simulation: Simulation, progress: RunProgress) -> None:
        """Write what is known when the run is over. Raises TargetError."""
        if self._events is not None and self._events_table is not None:
            from engine.views.tables import file_pieces

            self._events.write_bytes(file_pieces(simulation, self._events_table))
        if self._trace is not None:
            from engine.views.trace import trace_lines

            _write(self._trace, trace_lines(simulation), progress, "trace")
        if self._tasks is not None:
            from engine.views.tables import task_table_lines

            _write(self._tasks, task_table_lines(simulation), progress, "tasks")
        if self._html is not None:
            from tui.viewmodels.run_page import page_lines

            for portions, lines in enumerate(page_lines(simulation)):
                self._html.write(lines)
                progress.writing("the page", portions, "slices")
        if self._tree is not None:
            from engine.views.resources import account
            from engine.views.rest import nodes

            # First the blobs: a pool that is called ``storage`` too then gets another directory.
            self._tree.write_blobs(BlobText(*blob.place, blob.text or "") for blob in account.stored_blobs(simulation))
            self._tree.write(nodes.tree(simulation))

    @property
    def note(self) -> str:
        """A sentence about names of files that were encoded; empty if there are none."""
        return "" if self._tree is None else self._tree.note

    def keep(self) -> None:
        """Move all files to their names. Raises TargetError."""
        for target in (self._events, self._trace, self._tasks, self._html, self._tree):
            if target is not None:
                target.keep()


def _write(target: LinesTarget, lines: Iterator[str], progress: RunProgress, name: str) -> None:
    written = 0
    while chunk := list(islice(lines, _CHUNK)):
        target.write(chunk)
        written += len(chunk)
        progress.writing(name, written)
