"""Warnings about the scenario in the dashboard."""

from __future__ import annotations

import asyncio

from engine import Simulation, load_scenario
from tests.tui.conftest import settle
from tests.tui.screen_text import contains, messages_of, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.go_line import completions
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain
from tui.viewmodels.watch.attention import AttentionModel, warning_lines, warning_note

TEXT = """\
scenario: odd
pools: [{id: shared, vmSize: standard_d2s_v3, targetDedicatedNodes: 1, resourceTags: {a: b}}]
jobs: [{id: j, poolInfo: {poolId: shard}}]
"""
NOTE = "The scenario has 2 warnings; :warnings lists them."


def simulation(text=TEXT):
    return Simulation(load_scenario("odd.yaml", text=text))


def test_the_sheet_lists_them_by_line():
    shown = [plain(each) for each in warning_lines(simulation().scenario, 200)]
    assert shown == [
        "line 2, column 72  pools[0]",
        "  resourceTags is accepted and changes nothing in a simulation",
        "line 3, column 35  jobs[0].poolInfo.poolId",
        "  no part of the scenario creates the pool 'shard': did you mean 'shared'?",
    ]
    assert max(len(plain(each)) for each in warning_lines(simulation().scenario, 30)) <= 30


def test_a_scenario_without_warnings_says_so_only_on_the_sheet():
    scenario = load_scenario("job-prep-release-sample")
    assert warning_note(scenario) is None
    assert [plain(each) for each in warning_lines(scenario, 80)] == ["The scenario has no warnings."]


def test_the_watch_view_mentions_them_below_what_needs_attention():
    session = Session(simulation())
    model = AttentionModel(session)
    model.update()
    assert plain(model.lines(200)[-1][1]) == NOTE


def test_the_go_line_completes_the_word():
    assert completions(Session(simulation()), "warn") == ["warnings"]


def test_the_dashboard_says_so_at_the_start_and_shows_the_sheet():
    seen = []

    async def look():
        app = Dashboard(simulation(), plays=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle()
            seen.append(messages_of(app))
            await pilot.press("colon", *"warnings", "enter")
            await settle()
            seen.append(text_of(app))

    asyncio.run(look())
    assert NOTE in seen[0]
    assert contains(seen[1], "Warnings", "no part of the scenario creates the pool 'shard'")
