"""``python -m tests.bench.dashboard [--nodes N] [--tasks N] [--keys N]``: what the dashboard costs, beside its budget.

It drives the real application on a terminal that only counts, on a pool with ten thousand nodes and a job with a
million tasks. What a frame costs is processor time. How long a key takes is told by the clock, or by processor time
while more is running than there are processors. Exit status 1 if anything is over its budget.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from itertools import cycle
from typing import TYPE_CHECKING

from engine import Simulation, load_scenario
from engine.base import gc_pause
from engine.base.terms import NodeState
from engine.events.log import LogSubject
from tests.bench.bare import bare_costs_s, lines_of
from tests.bench.first_paint import first_paint_s
from tests.bench.one import peak_bytes
from tests.bench.stage import ROW, Stage, is_quiet, percentile
from tests.bench.terminal import Terminal
from tests.bench.workloads import Workload
from tui.app.dashboard import Dashboard
from tui.panes.list_page import ListPage
from tui.panes.watch import Watch
from tui.viewmodels.frame.tabs import TABS
from tui.viewmodels.node_map.lenses import Lens
from tui.widgets.lines import LinesView
from tui.widgets.node_map import NodeMap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from textual.strip import Strip

_OVER_BARE = 15  # times what a bare Textual application needs for the same lines
_LEAST_BARE_S = 0.0005  # with less nearly nothing has changed on the screen
BUSY_ENTRIES, CALM_ENTRIES = 5000, 5  # of the calendar between two frames


def scenario(nodes: int, tasks: int) -> str:
    """A short job that is over when the long one runs; preparation fails on one node in a hundred."""
    long = Workload("dashboard", tasks, nodes, 4, jobs=1, prepared=True)
    body = json.loads(long.scenario())
    short = json.loads(Workload("short", nodes * 4, nodes, 4, jobs=1, prepared=True).scenario())["jobs"][0]
    body["jobs"].append({**short, "id": "short", "priority": 100})
    for job in body["jobs"]:
        job["jobPreparationTask"]["simulate"]["exitCode"] = {0: 0.99, 1: 0.01}
        job["jobPreparationTask"]["constraints"] = {"maxTaskRetryCount": 0}
    return json.dumps(body)


class Cases(Stage):
    """What is measured, case by case."""

    def __init__(self, app: Dashboard, keys: int, middle_ms: int) -> None:
        """No frame drawn yet."""
        super().__init__(app, keys, middle_ms)
        self.frames_of: dict[str, tuple[list[float], list[list[Strip]]]] = {}

    # -- frames --------------------------------------------------------------------------------------------------

    async def frames(self, what: str, budget_ms: float, entries: int, count: int = 12) -> None:
        """What a frame costs when so many entries of the calendar have happened since the last one.

        The rest of the run is not played ahead meanwhile: that takes spare time only.
        """
        self.screen.playback.look_ahead = lambda: None
        self.screen.workers.cancel_group(self.screen, "ahead")
        await self.settle()
        idle_s = min([await self.cost_s(lambda: None) for _ in range(3)])
        costs, sizes, drawn = [], [], [lines_of(self.app)]
        for _ in range(count):
            self.simulation.advance(self.simulation.end_ms, entries)
            before = self.terminal.bytes_out
            costs.append(await self.cost_s(self.screen.update) - idle_s)
            sizes.append(self.terminal.bytes_out - before)
            drawn.append(lines_of(self.app))
        del self.screen.playback.look_ahead
        self.frames_of[what] = costs, drawn
        kilobytes = percentile(sizes, 50) / 1000
        self.add(what, budget_ms, percentile(costs, 50) * 1000, "ms", remark=f"{kilobytes:.0f} KB")
        if "120x40" in what:
            self.add(f"{what}: out", 50, kilobytes, "KB")

    def over_bare(self) -> None:
        """Set the cost of each frame against that of a bare Textual application that draws the same lines."""
        for what, (costs, drawn) in self.frames_of.items():
            bare_s = percentile(bare_costs_s(drawn, (drawn[0][0].cell_length, len(drawn[0]))), 50)
            if bare_s < _LEAST_BARE_S:
                continue
            times = percentile(costs, 50) / bare_s
            self.add(f"{what}: over bare", _OVER_BARE, times, "", remark=f"bare Textual {bare_s * 1000:.2g} ms")

    async def every_cell_another(self) -> None:
        """A map on which no two cells that touch are alike."""
        screen, node_map = self.screen, self.screen.query_one(NodeMap)
        screen.show_view("watch")
        states = self.simulation.world.nodes.state
        kept = states[:]
        lens = node_map.model.lens
        node_map.model.look_through(Lens.STATE)
        await self.settle()
        log = self.simulation.log
        something = next(number for number, shape in enumerate(log.shapes) if shape.subject is LogSubject.NODE)
        some = [NodeState.IDLE, NodeState.RUNNING, NodeState.UNUSABLE, NodeState.REBOOTING, NodeState.OFFLINE]
        costs = []
        for turn in range(6):
            for node in range(len(states)):
                states[node] = some[(node + turn) % len(some)]
            log.append(self.simulation.now_ms, something, -1, 0)
            costs.append(await self.cost_s(screen.update))
        states[:] = kept
        node_map.model.look_through(lens)
        self.add("worst case map, every cell different", 25, percentile(costs, 50) * 1000, "ms")

    # -- lists ---------------------------------------------------------------------------------------------------

    async def lists(self) -> None:
        """Everything that is done with a million rows."""
        page = self.list_page("tasks")
        await self.settle()
        rows = f"{page.model.count:,} rows"

        def repaint() -> None:
            self.simulation.step()
            page.table._shown.clear()
            self.screen.update()

        costs = [await self.cost_s(repaint) for _ in range(6)]
        self.add(f"list of {rows}, full repaint", 12, percentile(costs, 50) * 1000, "ms")
        moves = [lambda: page.table.action_edge(1), lambda: page.table.action_page(-1)]
        moves += [lambda: page.table.action_edge(0), lambda: page.table.action_page(1)]
        costs = [await self.cost_s(move) for move in moves * 3]
        self.add("page or jump anywhere in it", 20, percentile(costs, 50) * 1000, "ms")
        costs = []
        for _ in range(3):
            costs.append(await self.cost_s(page.table.action_only_failed))
            remark = f"{page.model.count:,} rows"
            page.table.action_only_failed()
            await self.settle()
        self.add("only failed", 10, percentile(costs, 50) * 1000, "ms", remark=remark)

        def set_filter() -> None:
            page.model.filter_text = "77"
            self.screen.update()

        cost_s = await self.cost_s(set_filter)
        self.add("text filter", 400, cost_s * 1000, "ms", remark=f"{page.model.count:,} rows")
        for text in ("node:n77", "state:running", "exitcode:>0", "duration:>5m"):
            page.model.filter_text = text
            cost_s = await self.cost_s(self.screen.update)
            self.add(f"filter by a field: {text}", 500, cost_s * 1000, "ms", remark=f"{page.model.count:,} rows")
        page.model.clear_filter()
        self.screen.update()
        await self.settle()

        def sort() -> None:
            page.model.sort_by("Start time")
            self.screen.update()

        self.add("sort by a column", 600, await self.cost_s(sort) * 1000, "ms")
        page.model.sort_column = None
        self.screen.update()
        await self.settle()

        def choose() -> None:
            for _ in page.model.columns:
                page.table.action_sort()

        self.add("o through all columns", 100, await self.cost_s(choose) * 1000, "ms")
        page.model.sort_column = None
        self.screen.update()
        await self.settle()

    async def switching(self) -> None:
        """From view to view, standing still."""
        for tab in TABS:
            costs = []
            for _ in range(3):
                self.screen.show_view("watch" if tab.name != "watch" else "nodes")
                await self.settle()
                costs.append(await self.cost_s(lambda name=tab.name: self.screen.show_view(name)))
            self.add(f"switch view: {tab.title}", 20, min(costs) * 1000, "ms")

    # -- time ----------------------------------------------------------------------------------------------------

    async def keys_at_top_speed(
        self, what: str, keys: Sequence[str], shows: Callable[[], Callable[[], str | None]]
    ) -> None:
        """How long a key takes to show while time goes by as fast as it can."""
        seen = []
        with self.playing():
            await asyncio.sleep(0.3)
            for _, key in zip(range(self.keys), cycle(keys), strict=False):
                seen.append(await self.terminal.press(key, shows(), self.random.uniform(0.03, 0.15)))
                if self.app.screen is not self.screen:
                    await asyncio.sleep(0.1)
                    self.app.pop_screen()
            has_ended = self.simulation.finished
        await self.settle()
        clock_ms = percentile([one.clock_s for one in seen], 95) * 1000
        cpu_ms = percentile([one.cpu_s for one in seen], 95) * 1000
        remark = f"processor {cpu_ms:.0f}, clock {clock_ms:.0f} ms" + (", run has ended" if has_ended else "")
        self.add(f"key to screen at top speed: {what}", 50, clock_ms if is_quiet() else cpu_ms, "ms", remark=remark)

    async def all_keys(self) -> None:
        """A key in every view."""
        for tab in TABS:
            self.go_to(self.middle_ms, "short" if tab.name == "release" else "job-0")
            self.screen.show_view(tab.name)
            await self.settle()
            view = self.screen.view
            if not isinstance(view, ListPage | Watch):
                continue
            if isinstance(view, ListPage):
                keys = ("down", "up") if view.model.count > 1 else ("o",)
                await self.keys_at_top_speed(tab.title, keys, self.cursor_of_table)
            else:
                self.screen.query_one(NodeMap).focus()
                await self.keys_at_top_speed(tab.title, ("right", "left"), self.cursor_of_map)
            if tab.name in ("watch", "nodes", "tasks", "preparation"):
                await self.keys_at_top_speed(f"{tab.title}, w", ("w",), self.sheet_opened)
        self.go_to(self.middle_ms)
        self.screen.show_view("watch")
        await self.settle()
        await self.keys_at_top_speed("another view", [tab.key for tab in TABS[1:]], self.view_opened)

    def cursor_of_map(self) -> Callable[[], str | None]:
        """The name of the node that the cursor has come to."""
        node_map = self.screen.query_one(NodeMap)
        before = node_map.cursor
        count = node_map.layout_now.nodes
        return lambda: (
            None if node_map.cursor == before else node_map.model.description(node_map.cursor, count)[0].text.strip()
        )

    def cursor_of_table(self) -> Callable[[], str | None]:
        """The mark of the cursor, on another row."""
        view = self.screen.view
        assert isinstance(view, ListPage)
        table = view.table
        before = table.key, table.model.sort_column
        return lambda: None if (table.key, table.model.sort_column) == before else self.app.session.glyphs.cursor

    def sheet_opened(self) -> Callable[[], str | None]:
        """How the text of a sheet that has opened begins."""

        def beginning() -> str | None:
            lines = () if self.app.screen is self.screen else self.app.screen.query_one(LinesView).lines
            return next((span.text for line in lines for span in line if span.text.strip()), None)

        return beginning

    def view_opened(self) -> Callable[[], str | None]:
        """The title of the view that has opened."""
        before = self.screen.view.id
        return lambda: None if self.screen.view.id == before else self.screen.view.title

    async def speed(self) -> None:
        """How fast time goes by with the dashboard open, and without."""
        seconds = time.perf_counter if is_quiet() else time.process_time
        rates = {}
        for tab in ("watch", "tasks"):
            self.go_to(self.middle_ms)
            self.screen.show_view(tab)
            await self.settle()
            began, began_s = len(self.simulation.log), seconds()
            with self.playing():
                while seconds() - began_s < 2.5:
                    await asyncio.sleep(0.1)
            rates[tab] = (len(self.simulation.log) - began) / (seconds() - began_s)
            await self.settle()
        self.go_to(self.middle_ms)
        began, began_s = len(self.simulation.log), seconds()
        while seconds() - began_s < 2.5:
            self.simulation.advance(self.simulation.end_ms)
        alone = (len(self.simulation.log) - began) / (seconds() - began_s)
        for tab, rate in rates.items():
            remark = f"{rate:,.0f} of {alone:,.0f} entries a second"
            self.add(f"speed with {tab} open over without", 0.7, rate / alone, "", is_least=True, remark=remark)

    async def idle(self) -> None:
        """What it costs while nothing happens."""
        self.go_to(self.middle_ms)
        await self.settle()
        writes, began_s, began_cpu_s = self.terminal.writes, time.perf_counter(), time.process_time()
        await asyncio.sleep(3)
        share = (time.process_time() - began_cpu_s) / (time.perf_counter() - began_s) * 100
        self.add("paused: processor", 0.5, share, "%")
        self.add("paused: frames", 0, self.terminal.writes - writes, "")

    def going_back(self) -> None:
        """To any moment."""
        costs = []
        for share in (0.9, 0.1, 0.5, 0.7, 0.3):
            began_s = time.process_time()
            self.simulation.seek(int(self.middle_ms * share))
            costs.append(time.process_time() - began_s)
        self.add("going back to any moment, worst of five", 200, max(costs) * 1000, "ms")


CASES = ("first", "frames", "lists", "views", "idle", "keys", "speed", "back")


async def measure(stage: Cases, cases: Sequence[str]) -> None:
    """All cases that are asked for."""
    if "first" in cases:
        stage.add("first paint, from the start of the command", 0.6, min(first_paint_s() for _ in range(3)), "s")
    busy = "frame at 120x40, busy"
    if "frames" in cases:
        for name in ("watch", "tasks", "nodes", "preparation", "timeline"):
            stage.go_to(stage.middle_ms)
            stage.screen.show_view(name)
            await stage.settle()
            await stage.frames(f"{busy}: {name}", 15, BUSY_ENTRIES)
            await stage.frames(f"frame at 120x40, calm: {name}", 6, CALM_ENTRIES)
        await stage.every_cell_another()
    if "lists" in cases:
        stage.go_to(stage.middle_ms)
        await stage.lists()
    if "views" in cases:
        stage.go_to(stage.middle_ms)
        await stage.switching()
    if "idle" in cases:
        await stage.idle()
    if "keys" in cases:
        await stage.all_keys()
    if "speed" in cases:
        await stage.speed()
    if "back" in cases:
        stage.going_back()


async def show(app: Dashboard, size: tuple[int, int], act: Callable[[], Awaitable[None]]) -> None:
    """The dashboard on a terminal of this size, for as long as ``act`` takes."""

    async def run(_: object) -> None:
        await asyncio.sleep(0.3)
        try:
            await act()
        finally:
            app.exit()

    app.driver_class = Terminal
    await app.run_async(size=size, auto_pilot=run)


def main() -> int:
    """Measure, print, and say whether everything is within its budget."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.dashboard", description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=40, help="so many in each case")
    parser.add_argument("--cases", nargs="*", choices=CASES, default=CASES)
    arguments = parser.parse_args()
    loaded = load_scenario("dashboard", text=scenario(arguments.nodes, arguments.tasks))
    before = peak_bytes()
    simulation = Simulation(loaded)
    began_s = time.process_time()
    done = 0
    while done * 2 < arguments.tasks and simulation.advance(simulation.end_ms, 4096):
        done = sum(job.counts[3] for job in simulation.world.jobs.rows)
    print(f"half of the run: {time.process_time() - began_s:.1f} s of processor time", file=sys.stderr)
    engine_alone = peak_bytes()
    app = Dashboard(simulation, plays=False)
    stage = Cases(app, arguments.keys, simulation.now_ms)
    print(ROW.format("what", "budget", "measured", ""))
    with gc_pause.relaxed(gc_pause.FOR_FRAMES):  # as the dashboard does
        asyncio.run(show(app, (120, 40), lambda: measure(stage, arguments.cases)))
    if "frames" in arguments.cases:
        stage.over_bare()
        wide = Cases(Dashboard(simulation, plays=False), arguments.keys, stage.middle_ms)
        asyncio.run(show(wide.app, (200, 60), lambda: wide.frames("frame at 200x60, busy: watch", 25, BUSY_ENTRIES)))
        wide.over_bare()
        stage.lines += wide.lines
    columns = sum(column.itemsize * len(column) for column in simulation.world.tasks.columns)
    dashboard = peak_bytes() - engine_alone
    remark = f"engine, log and past before it: {(engine_alone - before) / 1e6:.0f} MB"
    stage.add("memory of the tasks' columns and of the dashboard", 90, (columns + dashboard) / 1e6, "MB", remark=remark)
    return int(any(line.is_over for line in stage.lines))


if __name__ == "__main__":
    sys.exit(main())
