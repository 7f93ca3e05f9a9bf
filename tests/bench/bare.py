"""A bare Textual application that draws the lines of another one: what a frame costs at least."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from textual.app import App
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tests.bench.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

_QUIET_S = 0.08


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


def lines_of(app: App[None]) -> list[Strip]:
    """Return what an application shows now, line by line."""
    return app.screen._compositor.render_strips()


def bare_costs_s(frames: Sequence[Sequence[Strip]], size: tuple[int, int]) -> list[float]:
    """Return the processor seconds that each frame after the first one costs a bare application."""
    app = Bare()
    app.driver_class = Terminal
    costs: list[float] = []

    async def cost_s(strips: Sequence[Strip]) -> float:
        terminal, writes = app._driver, -1
        assert isinstance(terminal, Terminal)
        began_s = time.process_time()
        app.query_one(Lines).show(strips)
        while writes != terminal.writes:
            writes = terminal.writes
            await asyncio.sleep(_QUIET_S)
        return time.process_time() - began_s

    async def draw(_: object) -> None:
        await asyncio.sleep(0.3)
        await cost_s(frames[0])
        idle_s = min([await cost_s(frames[0]) for _ in range(3)])
        costs.extend([await cost_s(strips) - idle_s for strips in frames[1:]])
        app.exit()

    asyncio.run(app.run_async(size=size, auto_pilot=draw))
    return costs
