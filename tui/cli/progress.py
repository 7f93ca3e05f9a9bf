"""The progress bars of ``batchdeck run``, ``batchdeck study``, ``batchdeck import`` and ``batchdeck compare``."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Self

from engine.base.units import format_clock
from engine.studies.wording import pace_text
from engine.views.results.totals import task_totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from rich.console import Console
    from rich.progress import Progress

    from engine import Simulation

PATIENCE_S = 1.0
_LINES_SHOWN = 1_000  # so many lines take a few milliseconds
_REPORT_S = 30.0  # between two lines on a stream that is not a terminal


def _stderr() -> Console:
    from tui.cli.output import console  # Rich is not imported for a command that shows nothing

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

    def _show(self, description: str, completed: int, total: int | None, rate: str) -> None:
        if self._bar is None:
            self._bar = self._started()
        self._bar.update(self._bar.task_ids[0], description=description, completed=completed, total=total, rate=rate)

    def _started(self) -> Progress:
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
        bar.start()
        return bar


class RunProgress(_Bar):
    """Shows simulated time, tasks done and events per second."""

    def update(self, simulation: Simulation) -> None:
        """Show the present state of the run."""
        elapsed_s = self._elapsed_s
        if not self._visible or elapsed_s < PATIENCE_S:
            return
        tasks = task_totals(simulation)
        rate = f"tasks  {simulation.log.count / elapsed_s:,.0f} events/s"
        self._show(format_clock(simulation.now_ms), tasks.completed, tasks.total, rate)

    def writing(self, name: str, lines: int) -> None:
        """Show that so many lines of a file are written."""
        if self._visible and self._elapsed_s >= PATIENCE_S:
            self._show(f"Writing {name}", lines, None, "lines")


class ImportProgress(_Bar):
    """Shows how many lines have been written; their number is not known before."""

    def counted(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines, and show now and then how many they are."""
        for count, line in enumerate(lines):
            if count % _LINES_SHOWN == 0 and self._visible and self._elapsed_s >= PATIENCE_S:
                self._show("Import", count, None, "lines")
            yield line


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
        timer.cancel()
        timer.join()
        status.stop()


class StudyProgress(_Bar):
    """Shows runs done, runs a second and the time that is left; without a terminal, a line now and then."""

    def __init__(self, total: int, *, hidden: bool) -> None:
        """Count ``total`` runs."""
        super().__init__(hidden=hidden)
        self._total = total
        self._reported_s = 0.0

    def update(self, done: int) -> None:
        """Show that so many runs are done."""
        elapsed_s = self._elapsed_s
        if not done or elapsed_s < PATIENCE_S:
            return
        rate = f"runs  {pace_text(done, self._total, elapsed_s)}"
        if self._visible:
            self._show("Study", done, self._total, rate)
        elif self._console is not None and elapsed_s - self._reported_s >= _REPORT_S:
            self._reported_s = elapsed_s
            self._console.print(f"{done:,} of {self._total:,} {rate}")
