"""Keys while time goes by as fast as it can, the speed with the dashboard open, steps back, and doing nothing."""

from __future__ import annotations

import asyncio
import time
from itertools import cycle, repeat
from statistics import median
from typing import TYPE_CHECKING

from engine.pacing import DRAWING_S, FRAME_S
from tests.bench.stage import is_quiet, percentile
from tui.panes.pages import ListPage
from tui.panes.watch import Watch
from tui.textual.views import LinesView
from tui.viewmodels.go_line import TABS
from tui.widgets.charts import NodeMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.bench.stage import Stage

_KEY_MS, _KEY_REPAINTS = 50, 4  # whichever is more
_MOST_ENTRIES = 400_000  # of the log, that are played for a speed
_IDLE_S = 3
_PACE, _PACED_S = 60.0, 20


class Keys:
    """Presses keys while a run is played from its middle on, again and again."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._screen = stage.screen
        self._job_id = "job-0"
        self._last_ms = stage.middle_ms + stage.middle_ms // 2

    async def press_all(self) -> None:
        """Press keys in every view."""
        stage, screen = self._stage, self._screen
        for tab in TABS:
            self._job_id = "short" if tab.name == "release" else "job-0"
            stage.go_to(stage.middle_ms, self._job_id)
            screen.show_view(tab.name)
            await stage.settle()
            screen.update()  # on a busy machine the view is not laid out yet, and seems to have no rows
            await stage.settle()
            view = screen.view
            if isinstance(view, ListPage):
                if view.model.count > 1:
                    await self._press(f"in {tab.title}", self._there_and_back(), self._cursor_of_table)
                else:
                    await self._press(f"in {tab.title}", repeat("o"), self._order_of_table)
            elif isinstance(view, Watch):
                screen.query_one(NodeMap).focus()
                await self._press(f"in {tab.title}", cycle(("right", "left")), self._cursor_of_map)
            if tab.name in ("watch", "nodes", "tasks", "preparation"):
                await self._press(f"w in {tab.title}", repeat("w"), self._sheet_opened)
        self._job_id = "job-0"
        stage.go_to(stage.middle_ms)
        screen.show_view("watch")
        await stage.settle()
        await self._press("to another view", cycle([tab.key for tab in TABS[1:]]), self._view_opened)

    async def _press(self, what: str, keys: Iterator[str], shows: Callable[[], Callable[[], str | None]]) -> None:
        """Press keys in turn, and measure how long each takes to show."""
        stage = self._stage
        repaint_ms = median([await stage.bare_repaint_s() for _ in range(3)]) * 1000
        seen = []
        with stage.playing():
            await asyncio.sleep(0.3)
            for _ in range(stage.keys):
                if stage.simulation.now_ms > self._last_ms:
                    stage.go_to(stage.middle_ms, self._job_id)
                    stage.screen.playback.play()
                seen.append(await stage.terminal.press(next(keys), shows(), stage.random.uniform(0.03, 0.15)))
                if stage.app.screen is not self._screen:
                    await asyncio.sleep(0.1)
                    stage.app.pop_screen()
        await stage.settle()
        clock_ms, cpu_ms = [one.clock_s * 1000 for one in seen], [one.cpu_s * 1000 for one in seen]
        late_ms = percentile(clock_ms if is_quiet() else cpu_ms, 95)
        remark = f"median {median(clock_ms):.0f}, processor {percentile(cpu_ms, 95):.0f}, clock {max(clock_ms):.0f} ms"
        goal_ms = max(_KEY_MS, _KEY_REPAINTS * repaint_ms)
        stage.add(f"key to screen at top speed, {what}", goal_ms, [late_ms], "ms", remark=remark)

    def _there_and_back(self) -> Iterator[str]:
        """Yield keys that move the cursor of a list, wherever another moment has put it."""
        view = self._screen.view
        assert isinstance(view, ListPage)
        while True:
            yield "up" if view.table.cursor_row else "down"

    def _cursor_of_map(self) -> Callable[[], str | None]:
        """Return the name of the node that the cursor has come to."""
        node_map = self._screen.query_one(NodeMap)
        before = node_map.cursor
        count = node_map.layout_now.nodes
        cells = node_map.size.width
        return lambda: (
            None
            if node_map.cursor == before
            else node_map.model.description(node_map.cursor, cells, count)[0].text.strip()
        )

    def _cursor_of_table(self) -> Callable[[], str | None]:
        """Return the sign of the cursor, on another row."""
        view = self._screen.view
        assert isinstance(view, ListPage)
        table = view.table
        before = table.key
        cursor = self._stage.app.session.glyphs.cursor
        return lambda: None if table.key == before else cursor

    def _order_of_table(self) -> Callable[[], str | None]:
        """Return how the list is sorted, once that has changed."""
        view = self._screen.view
        assert isinstance(view, ListPage)
        model = view.model
        before = model.arrangement()[0].text
        return lambda: None if model.arrangement()[0].text == before else model.arrangement()[0].text

    def _sheet_opened(self) -> Callable[[], str | None]:
        """Return the beginning of the text of a sheet that has opened."""
        app, below = self._stage.app, self._screen

        def beginning() -> str | None:
            lines = () if app.screen is below else app.screen.query_one(LinesView).lines
            return next((span.text for line in lines for span in line if span.text.strip()), None)

        return beginning

    def _view_opened(self) -> Callable[[], str | None]:
        """Return the title of the view that has opened."""
        before = self._screen.view.id
        return lambda: None if self._screen.view.id == before else self._screen.view.title


async def keys(stage: Stage) -> None:
    """Measure how long keys take to show while time goes by as fast as it can."""
    await Keys(stage).press_all()


async def speed(stage: Stage) -> None:
    """Measure how fast time goes by with a view open, in turns with the engine alone.

    The time is that of the processor, and of the pauses after frames: whatever else runs on the machine stretches the
    clock's.
    """
    simulation = stage.simulation
    stage.go_to(stage.middle_ms)
    before = len(simulation.log)
    while simulation.advance(simulation.end_ms) and len(simulation.log) - before < _MOST_ENTRIES:
        pass
    wanted = (len(simulation.log) - before) * 4 // 5  # so that the run is not over
    rounds: dict[str, list[tuple[float, float]]] = {"watch": [], "tasks": [], "tasks, filtered": []}
    for _ in range(stage.rounds):
        for name, seen in rounds.items():
            view, *is_filtered = name.split(", ")
            stage.screen.show_view(view)
            stage.go_to(stage.middle_ms)
            page = stage.screen.list_page
            if page is not None:
                page.model.filter_text = "state:running duration:>1m" if is_filtered else ""
                stage.screen.update()
            await stage.settle()
            open_rate = await _rate_of_playback(stage, wanted)
            if page is not None:
                page.model.clear_filter()
            stage.go_to(stage.middle_ms)
            await stage.settle()
            seen.append((open_rate, _rate_alone(stage, wanted)))
    for name, seen in rounds.items():
        with_it, alone = (median(rates) for rates in zip(*seen, strict=True))
        remark = f"{with_it:,.0f} of {alone:,.0f} entries a second"
        ratios = [open_rate / alone_rate for open_rate, alone_rate in seen]
        stage.add(f"speed with {name} open", 0.85, ratios, beside="engine alone", is_least=True, remark=remark)


async def _rate_of_playback(stage: Stage, wanted: int) -> float:
    """Return the entries of the log a second while so many are played on the screen."""
    log = stage.simulation.log
    began, began_s = len(log), time.process_time()
    with stage.playing():
        while len(log) - began < wanted and not stage.simulation.finished:
            await asyncio.sleep(0.02)
        busy_s, entries = time.process_time() - began_s, len(log) - began
    await stage.settle()
    return entries / (busy_s * (1 + DRAWING_S / FRAME_S))


def _rate_alone(stage: Stage, wanted: int) -> float:
    """Return the entries of the log a second while so many are played without the screen."""
    simulation = stage.simulation
    began, began_s = len(simulation.log), time.process_time()
    while len(simulation.log) - began < wanted:
        simulation.advance(simulation.end_ms)
    return (len(simulation.log) - began) / (time.process_time() - began_s)


async def idle(stage: Stage) -> None:
    """Measure what it costs to show a moment at which time stands still."""
    stage.go_to(stage.middle_ms)
    stage.screen.show_view("watch")
    await stage.settle()
    shares, writes = [], stage.terminal.writes
    for _ in range(stage.rounds):
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        await asyncio.sleep(_IDLE_S)
        shares.append((time.process_time() - began_cpu_s) / (time.perf_counter() - began_s) * 100)
    stage.add("paused: processor", 0.1, shares, "%", remark="the goal is none")
    stage.add("paused: drawings", 0, [stage.terminal.writes - writes])


async def paced(stage: Stage) -> None:
    """Measure what it costs to play at the speed of an hour a minute with Watch open."""
    shares = []
    for _ in range(stage.rounds):
        stage.go_to(stage.middle_ms)
        stage.screen.show_view("watch")
        await stage.settle()
        stage.screen.playback.choose_speed(_PACE)
        stage.screen.playback.play()
        await asyncio.sleep(1)
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        await asyncio.sleep(_PACED_S)
        shares.append((time.process_time() - began_cpu_s) / (time.perf_counter() - began_s) * 100)
        stage.screen.playback.pause()
    stage.add(f"1,000 nodes at x{_PACE:.0f}, Watch open: processor", 30, shares, "%")


async def back(stage: Stage) -> None:
    """Measure steps back to several moments with the screen, in turns with the engine's own."""
    stage.screen.show_view("watch")
    ratios, costs_s = [], []
    for share in (0.9, 0.1, 0.5, 0.7, 0.3):
        when_ms = int(stage.middle_ms * share)
        stage.go_to(stage.middle_ms)
        await stage.settle()
        costs_s.append(await stage.cost_s(lambda when_ms=when_ms: stage.screen.playback.seek(when_ms)))
        stage.go_to(stage.middle_ms)
        await stage.settle()
        began_s = time.process_time()
        stage.simulation.seek(when_ms)
        ratios.append(costs_s[-1] / (time.process_time() - began_s))
    stage.go_to(stage.middle_ms)
    remark = f"longest {max(costs_s) * 1000:.0f} ms"
    stage.add("back to any moment", 1.3, ratios, beside="engine alone", remark=remark)
