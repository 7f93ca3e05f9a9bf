"""The dashboard on a terminal that only counts, and the table of what was measured."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tests.bench.terminal import Terminal
from tui.panes.curves import Curves
from tui.panes.list_page import ListPage
from tui.panes.timeline import Timeline
from tui.screens.main_screen import MainScreen
from tui.widgets.timeline import TimelineGrid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine import Simulation
    from tui.app.dashboard import Dashboard

ROW = "{:<58} {:>9} {:>9}  {}"


class Line(NamedTuple):
    """One case: what was allowed, and what it took."""

    what: str
    budget: float
    measured: float
    unit: str
    is_least: bool = False
    remark: str = ""

    @property
    def is_over(self) -> bool:
        """Whether the budget does not hold."""
        return self.measured < self.budget if self.is_least else self.measured > self.budget


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which so many of a hundred lie."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def is_quiet() -> bool:
    """Whether there is a processor for whatever wants one, so that the clock tells what something takes."""
    return os.getloadavg()[0] <= (os.cpu_count() or 1)


class Stage:
    """The dashboard on its terminal, and what was measured so far."""

    def __init__(self, app: Dashboard, keys: int, middle_ms: int) -> None:
        """Nothing measured yet; so many ``keys`` are pressed in each case."""
        self.app = app
        self.keys = keys
        self.middle_ms = middle_ms
        self.random = random.Random(1)
        self.lines: list[Line] = []

    @property
    def terminal(self) -> Terminal:
        """Where everything is written."""
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
        """What is shown."""
        return self.app.session.simulation

    def add(
        self, what: str, budget: float, measured: float, unit: str, *, is_least: bool = False, remark: str = ""
    ) -> None:
        """Note a case, and print it."""
        line = Line(what, budget, measured, unit, is_least, remark)
        self.lines.append(line)
        verdict = "OVER" if line.is_over else ""
        sign = ">=" if is_least else ""
        print(
            ROW.format(what, f"{sign}{budget:g} {unit}", f"{measured:.3g} {unit}", f"{verdict:<4} {remark}"),
            file=sys.__stdout__,
            flush=True,
        )

    async def settle(self) -> None:
        """Wait until nothing more is arranged and drawn."""
        writes, view = -1, self.screen.view
        while (
            writes != self.terminal.writes
            or (isinstance(view, ListPage) and view.model.is_sorting)
            or (isinstance(view, Timeline) and view.query_one(TimelineGrid).is_behind)
            or any(isinstance(worker.node, Curves) and not worker.is_finished for worker in self.app.workers)
        ):
            writes = self.terminal.writes
            await asyncio.sleep(0.08)

    async def cost_s(self, act: Callable[[], object]) -> float:
        """The processor seconds of an act and of drawing what it has changed."""
        began_s = time.process_time()
        act()
        await self.settle()
        return time.process_time() - began_s

    def go_to(self, when_ms: int, job_id: str = "job-0") -> None:
        """The moment, as the present, and the job in focus."""
        self.screen.playback.pause()
        self.simulation.seek(when_ms)
        self.simulation.branch()
        self.app.session.focus_job(job_id)
        self.screen.update()

    @contextmanager
    def playing(self) -> Iterator[None]:
        """Time goes by as fast as it can."""
        self.screen.action_set_speed(0)
        self.screen.playback.play()
        yield
        self.screen.playback.pause()

    def list_page(self, name: str) -> ListPage:
        """A list, which is shown from now on."""
        self.screen.show_view(name)
        view = self.screen.view
        assert isinstance(view, ListPage)
        return view
