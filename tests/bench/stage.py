"""The dashboard on a terminal that only counts, beside a bare Textual application."""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from tests.bench.bare import bare_beside, lines_of
from tests.bench.results import Result
from tests.bench.terminal import Terminal
from tui.app.main_screen import MainScreen
from tui.panes.pages import ListPage
from tui.panes.timeline import Timeline, TimelineGrid
from tui.widgets.charts import Curves

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from engine import Simulation
    from tests.bench.bare import Bare
    from tests.bench.results import Sheet
    from tui.app.dashboard import Dashboard

_QUIET_S = 0.05


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value below which so many of a hundred lie."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def is_quiet() -> bool:
    """Return whether there is a processor for whatever wants one, so that the clock tells what something takes."""
    return os.getloadavg()[0] <= (os.cpu_count() or 1)


async def show(app: Dashboard, size: tuple[int, int], act: Callable[[], Awaitable[None]]) -> None:
    """Show the dashboard on a terminal of this size for as long as ``act`` takes."""

    async def run(_: object) -> None:
        await asyncio.sleep(0.3)
        try:
            await act()
        finally:
            app.exit()

    app.driver_class = Terminal
    await app.run_async(size=size, auto_pilot=run)


class Stage:
    """The dashboard on its terminal, and the table of what is measured."""

    bare: Bare

    def __init__(self, app: Dashboard, sheet: Sheet, *, rounds: int, keys: int = 0) -> None:
        """Measure nothing yet; each case takes so many ``rounds``, and presses so many ``keys``."""
        self.app = app
        self.sheet = sheet
        self.rounds = rounds
        self.keys = keys
        self.middle_ms = app.session.now_ms
        self.random = random.Random(1)

    @asynccontextmanager
    async def yardstick(self) -> AsyncIterator[None]:
        """Run a bare application of the same size beside the dashboard.

        The rest of the run is not played ahead meanwhile: that takes spare time only.
        """
        self.screen.playback.look_ahead = lambda: None
        self.screen.workers.cancel_group(self.screen, "ahead")
        size = self.app.size
        async with bare_beside((size.width, size.height)) as self.bare:
            yield

    @property
    def terminal(self) -> Terminal:
        """The terminal on which everything is written."""
        assert isinstance(self.app._driver, Terminal)
        return self.app._driver

    @property
    def screen(self) -> MainScreen:
        """The screen below all others."""
        screen = self.app.screen_stack[0]
        assert isinstance(screen, MainScreen)
        return screen

    @property
    def simulation(self) -> Simulation:
        """The simulation that is shown."""
        return self.app.session.simulation

    def add(
        self,
        what: str,
        goal: float | None,
        measured: Sequence[float],
        unit: str = "",
        *,
        beside: str = "",
        is_least: bool = False,
        remark: str = "",
    ) -> None:
        """Add a case to the table."""
        self.sheet.add(Result(what, beside, tuple(measured), goal, unit, is_least, remark))

    async def settle(self) -> None:
        """Wait until the view is laid out, and nothing more is arranged and drawn."""
        writes = -1
        while writes != self.terminal.writes or self._is_at_work():
            writes = self.terminal.writes
            await asyncio.sleep(_QUIET_S)

    def _is_at_work(self) -> bool:
        view = self.screen.view
        return (
            self.screen.playback.pacer.is_seeking
            or not view.size
            or (isinstance(view, ListPage) and view.model.is_sorting)
            or (isinstance(view, Timeline) and view.query_one(TimelineGrid).is_behind)
            or any(isinstance(worker.node, Curves) and not worker.is_finished for worker in self.app.workers)
        )

    async def cost_s(self, act: Callable[[], object]) -> float:
        """Return the processor seconds of an act and of drawing what it has changed."""
        began_s = time.process_time()
        act()
        await self.settle()
        return time.process_time() - began_s

    async def idle_s(self) -> float:
        """Return the processor seconds of waiting until nothing is drawn."""
        return min([await self.cost_s(lambda: None) for _ in range(3)])

    async def bare_repaint_s(self) -> float:
        """Return the processor seconds in which a bare application draws all lines that are shown now."""
        return await self.bare.repaint_s(lines_of(self.app))

    def go_to(self, when_ms: int, job_id: str = "job-0") -> None:
        """Make this moment the present, and put a job in focus."""
        self.screen.playback.pause()
        self.simulation.seek(when_ms)
        self.simulation.branch()
        self.app.session.focus_job(job_id)
        self.screen.update()

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Let time go by as fast as it can inside the ``with`` block."""
        self.screen.playback.choose_speed(None)
        self.screen.playback.play()
        yield
        self.screen.playback.pause()

    async def list_page(self, name: str) -> ListPage:
        """Show a list."""
        self.screen.show_view(name)
        await self.settle()
        view = self.screen.view
        assert isinstance(view, ListPage)
        return view
