"""Filters and orders of a long list, at the speed at which bare SimPy events are handled here and now."""

from __future__ import annotations

import time
from array import array
from statistics import median
from typing import TYPE_CHECKING

from tests.bench import floor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bench.stage import Stage
    from tui.panes.pages import ListPage

_FLOOR_US, _FLOOR_TASKS = 2.7, 100_000
_FILTER_S, _SORT_S, _FIRST_MS = 0.5, 0.6, 50  # of a million rows, and until some of them are shown
_READABLE = 20  # characters of a text, for which its column has room
_BESIDE = f"at {_FLOOR_US} us a bare task"
# A filter for each column. All rows are looked at, however many match.
_FILTERS = {
    "task": "77",
    "state": "state:running",
    "result": "result:failure",
    "node": "node:n77",
    "created": "created:>00:00",
    "start time": "starttime:<23:00",
    "end time": "endtime:<23:00",
    "exit code": "exitcode:>0",
    "retries": "retries:>0",
    "requeues": "requeues:>0",
    "duration": "duration:>5m",
    "required slots": "requiredslots:1",
    "waiting for": "waitingfor:node",
    "attempts": "attempts:>1",
    "depends on": "dependson:!x",
    "affinity": "affinity:!x",
    "failure category": "failurecategory:user",
    "failure code": "failurecode:f",
    "command line": "commandline:77",
}
# Of events: words that are in ids, in few or many events, and in none; and columns.
_EVENT_FILTERS = {
    "an id": "77",
    "a state": "completed",
    "a word that is nowhere": "zzz",
    "kind": "kind:node",
    "event": "event:completed",
    "entity": "entity:task-77",
    "time": "time:>00:00",
}


def _floor_us(nodes: int) -> float:
    """Return the processor time of a task in a bare SimPy program on so many nodes of four slots."""
    durations = array("q", (10_000 + 1_000 * (number * 7919 % 590) for number in range(_FLOOR_TASKS)))
    began_s = time.process_time()
    floor.plain(0, nodes, 4, durations)
    return (time.process_time() - began_s) * 1e6 / _FLOOR_TASKS


async def lists(stage: Stage) -> None:
    """Measure filters and orders by each column of the tasks, and filters of the events."""
    stage.go_to(stage.middle_ms)
    page = await stage.list_page("tasks")
    millions = page.model.count / 1e6
    for field, text in _FILTERS.items():
        await _measure(stage, page, f"filter by {field}", _FILTER_S * millions, lambda text=text: _filter(page, text))
    for column in page.model.columns:
        if column.name:

            def sort(name: str = column.name) -> None:
                page.model.sort_by(name)

            await _measure(stage, page, f"sort by {column.name.lower()}", _SORT_S * millions, sort)
    await _only_failed(stage, page)
    events = await stage.list_page("events")
    for field, text in _EVENT_FILTERS.items():
        what = f"filter events by {field}"
        await _measure(stage, events, what, _FILTER_S * millions, lambda text=text: _filter(events, text))


def _filter(page: ListPage, text: str) -> None:
    page.model.filter_text = text


async def _measure(stage: Stage, page: ListPage, what: str, goal_s: float, arrange: Callable[[], object]) -> None:
    """Measure an arrangement of the list, from the key to the last row, and until the first rows are shown."""
    seen_s, first_ms, raw_s, clock_s = [], [], [], []
    count = 0

    def act() -> None:
        arrange()
        stage.screen.update()

    for _ in range(stage.rounds):
        floor_us = _floor_us(len(stage.simulation.world.nodes.state))
        began_s, began_clock_s = time.process_time(), time.perf_counter()
        seen = await stage.terminal.see(act, lambda: _first_shown(page))
        await stage.settle()
        raw_s.append(time.process_time() - began_s)
        clock_s.append(time.perf_counter() - began_clock_s)
        seen_s.append(raw_s[-1] * _FLOOR_US / floor_us)
        first_ms.append(seen.cpu_s * 1000 * _FLOOR_US / floor_us)
        count = page.model.count
        page.model.clear_filter()
        page.model.sort_column = None
        stage.screen.update()
        await stage.settle()
    remark = f"{count:,} rows, processor {median(raw_s) * 1000:.0f}, clock {median(clock_s) * 1000:.0f} ms"
    stage.add(what, goal_s * 1000, [each * 1000 for each in seen_s], "ms", beside=_BESIDE, remark=remark)
    if what.startswith("filter") and count:
        stage.add(f"{what}: first rows", _FIRST_MS, first_ms, "ms", beside=_BESIDE)


def _first_shown(page: ListPage) -> str | None:
    """Return the beginning of the text that names the first row; once all are found, the next drawing shows them."""
    model = page.model
    if not model.is_sorting:
        return ""
    return model.cells(model.key(0))[model.identity].text[:_READABLE] if model.count else None


async def _only_failed(stage: Stage, page: ListPage) -> None:
    costs = []
    for _ in range(stage.rounds):
        costs.append(await stage.cost_s(page.table.action_only_failed) * 1000)
        remark = f"{page.model.count:,} rows"
        page.table.action_only_failed()
        await stage.settle()
    stage.add("only failed", _FIRST_MS, costs, "ms", remark=remark)
