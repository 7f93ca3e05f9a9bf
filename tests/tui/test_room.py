"""While a run goes on, no pane of the Watch view is more than a third empty."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import READY_S, a_job, a_line, a_pool, simulation
from tests.tui.conftest import settle
from tests.tui.screen_text import text_of
from tui.app.dashboard import Dashboard
from tui.textual.views import Regions

SIZES = [(120, 40), (200, 60)]
MOMENTS_S = [READY_S + 12, READY_S + 45, READY_S + 150]  # preparing, the first tasks run, many have run


def a_run(nodes, jobs, *, is_prepared):
    """Jobs that keep a pool busy for some minutes; tasks take different times."""
    hooks = {"prep": a_line({"uniform": [10, 40]}), "release": a_line(20)} if is_prepared else {}
    count = max(4, nodes * 6 // jobs)
    tasks = {
        "type": "parametricSweep",
        "parameterSets": [{"start": 1, "end": count}],
        "repeatTask": a_line({"uniform": [20, 80]}),
    }
    listed = [a_job(f"job-{number}", tasks=[], taskFactory=tasks, **hooks) for number in range(1, jobs + 1)]
    return simulation(*listed, pool=a_pool(nodes=nodes))


def empty_shares(app):
    """The share of blank rows in each pane, by the title of its frame."""
    lines = text_of(app)
    width = app.size.width
    found = {}
    panes = app.screen.query_one(Regions)
    for pane in panes.children:
        region = pane.region
        if not pane.display or not region.area:
            continue
        rows = [lines[y].ljust(width)[region.x + 1 : region.right - 1] for y in range(region.y, region.bottom)]
        found[pane.id] = sum(not row.strip(" ·│┃") for row in rows) / len(rows)
    return found


@pytest.mark.parametrize("is_prepared", [True, False])
@pytest.mark.parametrize("jobs", [1, 30])
@pytest.mark.parametrize("nodes", [2, 40, 1000, 10_000])
def test_no_pane_is_more_than_a_third_empty_while_the_run_goes_on(nodes, jobs, is_prepared):
    sim = a_run(nodes, jobs, is_prepared=is_prepared)
    app = Dashboard(sim, plays=False)
    empty = []

    async def run():
        async with app.run_test(size=SIZES[0]) as pilot:
            for seconds in MOMENTS_S if nodes < 10_000 else MOMENTS_S[:2]:
                sim.run_until(round(seconds * 1000))
                app.screen.update()
                for size in SIZES:
                    await pilot.resize_terminal(*size)
                    await settle()
                    empty.extend(
                        (name, size, seconds, round(share, 2))
                        for name, share in empty_shares(app).items()
                        if share > (0.35 if name == "curves" else 1 / 3)  # a curve that is low is true
                    )

    asyncio.run(run())
    assert empty == []
