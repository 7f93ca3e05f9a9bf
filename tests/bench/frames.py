"""Frames, pages and switches of view, as multiples of what a bare Textual application needs for the same lines."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from tests.bench.bare import lines_of
from tui.viewmodels.go_line import TABS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.bench.stage import Stage

BARE = "bare Textual"
_FRAMES = 6  # in each round
_LEAST_BARE_S = 0.0002  # with less nearly nothing has changed on the screen
_VIEWS = ("watch", "tasks", "nodes", "preparation", "timeline")


class Pace(NamedTuple):
    """How much happens between two frames, and the most that a frame should cost then."""

    name: str
    entries: int  # of the calendar
    goal: float


BUSY, CALM = Pace("busy", 5000, 1.5), Pace("calm", 5, 1.2)


async def frames(stage: Stage) -> None:
    """Measure frames of several views at both paces."""
    for name in _VIEWS:
        stage.screen.show_view(name)
        await stage.settle()
        for pace in (BUSY, CALM):
            await frames_of_view(stage, f"frame, {pace.name}: {name}", pace)


async def frames_of_view(stage: Stage, what: str, pace: Pace) -> None:
    """Measure frames of the view that is shown, in turns with a bare application."""
    await stage.settle()
    idle_s = await stage.idle_s()
    before = lines_of(stage.app)
    await stage.bare.cost_s(before)
    bare_idle_s = min([await stage.bare.cost_s(before) for _ in range(3)])
    costs: list[float] = []
    rounds: list[tuple[float, float]] = []
    for _ in range(stage.rounds):
        stage.go_to(stage.middle_ms)
        await stage.settle()
        await stage.bare.cost_s(lines_of(stage.app))
        own_s = bare_s = 0.0
        for _ in range(_FRAMES):
            stage.simulation.advance(stage.simulation.end_ms, pace.entries)
            costs.append(await stage.cost_s(stage.screen.update) - idle_s)
            own_s += costs[-1]
            bare_s += await stage.bare.cost_s(lines_of(stage.app)) - bare_idle_s
        rounds.append((own_s, bare_s))
    remark = f"{median(costs) * 1000:.1f} ms, bare {median(bare for _, bare in rounds) / _FRAMES * 1000:.2g} ms"
    if all(bare_s > _LEAST_BARE_S * _FRAMES for _, bare_s in rounds):
        stage.add(what, pace.goal, [own / bare for own, bare in rounds], beside=BARE, remark=remark)
    else:
        stage.add(what, None, [cost * 1000 for cost in costs], "ms", remark=f"{remark}: hardly anything changes")


async def views(stage: Stage) -> None:
    """Measure switches from view to view while time stands still."""
    stage.go_to(stage.middle_ms)
    for tab in TABS:

        async def leave(name: str = "watch" if tab.name != "watch" else "nodes") -> None:
            stage.screen.show_view(name)
            await stage.settle()

        ratios, costs_s = [], []
        for _ in range(stage.rounds + 1):
            await leave()
            costs_s.append(await stage.cost_s(lambda name=tab.name: stage.screen.show_view(name)))
            ratios.append(costs_s[-1] / await stage.bare_repaint_s())
        remark = f"{median(costs_s) * 1000:.1f} ms, the first time {costs_s[0] * 1000:.1f} ms"
        stage.add(f"switch to {tab.title}", 2, ratios[1:], beside=f"{BARE}, all lines", remark=remark)


async def pages(stage: Stage) -> None:
    """Measure pages and jumps in the list of tasks."""
    stage.go_to(stage.middle_ms)
    page = await stage.list_page("tasks")
    table, rows = page.table, f"{page.model.count:,} rows"

    def repaint() -> None:
        stage.simulation.step()
        table.refresh()
        stage.screen.update()

    moves: Sequence[tuple[str, Callable[[], object]]] = (
        (f"all rows drawn again, of {rows}", repaint),
        ("jump to the last row", lambda: table.action_edge(1)),
        ("page up", lambda: table.action_page(-1)),
        ("jump to the first row", lambda: table.action_edge(0)),
        ("page down", lambda: table.action_page(1)),
    )
    seen: dict[str, list[tuple[float, float]]] = {what: [] for what, _ in moves}
    for _ in range(stage.rounds):
        for what, move in moves:
            seen[what].append((await stage.cost_s(move), await stage.bare_repaint_s()))
    for what, pairs in seen.items():
        remark = f"{median(own for own, _ in pairs) * 1000:.1f} ms"
        stage.add(what, 2, [own / bare for own, bare in pairs], beside=f"{BARE}, all lines", remark=remark)
