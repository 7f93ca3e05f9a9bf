"""A bare Textual application that shows lines which are drawn already: the yardstick of the dashboard."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from textual.app import App
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tests.bench.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from textual.app import ComposeResult

_QUIET_S = 0.05


class Lines(Widget):
    """Lines that are drawn already, and drawn again only where they have changed."""

    DEFAULT_CSS = "Lines { width: 1fr; height: 1fr; }"
    strips: Sequence[Strip] = ()

    def show(self, strips: Sequence[Strip]) -> None:
        """Show these lines."""
        before, self.strips = self.strips, strips
        for y, strip in enumerate(strips):
            if y >= len(before) or before[y] != strip:
                self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        return self.strips[y] if y < len(self.strips) else Strip.blank(self.size.width)


class Bare(App[None]):
    """One widget and nothing else."""

    def compose(self) -> ComposeResult:
        yield Lines()

    async def cost_s(self, strips: Sequence[Strip]) -> float:
        """Return the processor seconds of showing these lines in place of the present ones."""
        terminal, writes = self._driver, -1
        assert isinstance(terminal, Terminal)
        began_s = time.process_time()
        with self._context():
            self.query_one(Lines).show(strips)
        while writes != terminal.writes:
            writes = terminal.writes
            await asyncio.sleep(_QUIET_S)
        return time.process_time() - began_s

    async def repaint_s(self, strips: Sequence[Strip]) -> float:
        """Return the processor seconds of showing these lines where there was nothing."""
        await self.cost_s([Strip.blank(strip.cell_length) for strip in strips])
        return await self.cost_s(strips)


def lines_of(app: App[None]) -> list[Strip]:
    """Return what an application shows now, line by line."""
    return app.screen._compositor.render_strips()


@asynccontextmanager
async def bare_beside(size: tuple[int, int]) -> AsyncIterator[Bare]:
    """Run a bare application of this size beside another one, on a terminal of its own."""
    app, is_ready = Bare(), asyncio.Event()
    app.driver_class = Terminal

    async def ready(_: object) -> None:
        is_ready.set()

    running = asyncio.create_task(app.run_async(size=size, auto_pilot=ready))
    await is_ready.wait()
    await asyncio.sleep(_QUIET_S)
    try:
        yield app
    finally:
        app.exit()
        await running
