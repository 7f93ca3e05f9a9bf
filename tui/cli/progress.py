"""The progress bar of ``batchdeck run``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from engine.base.units import format_clock
from engine.views.results.totals import task_totals

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console
    from rich.progress import Progress

    from engine import Simulation

PATIENCE_S = 1.0


class RunProgress:
    """Shows simulated time, tasks done and events per second, once the run has taken ``PATIENCE_S``.

    Does nothing on a stream that is not a terminal.
    """

    def __init__(self, console: Console, *, hidden: bool) -> None:
        """With ``hidden`` the bar is never shown."""
        self._console = console
        self._visible = console.is_terminal and not hidden
        self._bar: Progress | None = None
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, simulation: Simulation) -> None:
        """Show the present state of the run."""
        elapsed_s = time.monotonic() - self._began_s
        if not self._visible or elapsed_s < PATIENCE_S:
            return
        if self._bar is None:
            self._bar = self._started()
        tasks = task_totals(simulation)
        self._bar.update(
            self._bar.task_ids[0],
            description=format_clock(simulation.now_ms),
            completed=tasks.completed,
            total=tasks.total,
            rate=f"{simulation.log.count / elapsed_s:,.0f} events/s",
        )

    def _started(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # a short run needs none of it

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tasks  {task.fields[rate]}"),
            console=self._console,
            transient=True,
        )
        bar.add_task("", rate="")
        bar.start()
        return bar
