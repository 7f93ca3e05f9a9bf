"""Forward to what is looked for."""

from __future__ import annotations

import asyncio

import pytest

from engine import Simulation, load_scenario
from tests.tui.screen_text import messages_of

LATER_S = 330


def after(app, *keys):
    """The moment after these keys, in seconds, and what was said."""

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
                await app.workers.wait_for_complete()
            return app.session.now_ms / 1000, messages_of(app)

    return asyncio.run(run())


def run_to_the_end(name):
    simulation = Simulation(load_scenario(name))
    while not simulation.finished:
        simulation.step()
    simulation.finish()
    return simulation


@pytest.mark.parametrize("is_over", [False, True])
def test_a_search_without_result_changes_nothing(dashboard_at, is_over):
    name = "preparation-fails-on-one-node"
    app = dashboard_at(run_to_the_end(name).now_ms / 1000 if is_over else LATER_S, name)
    session = app.session
    session.update()
    before = session.now_ms, len(session.simulation.log), session.cost()
    moment, said = after(app, "t", *"failure", "enter")
    assert said == ["No later failures."]
    assert (moment * 1000, len(session.simulation.log), session.cost()) == before
    assert not session.is_past


def test_a_search_without_result_in_the_past_keeps_what_is_recorded(dashboard_at):
    app = dashboard_at(LATER_S + 100)
    app.session.simulation.seek(LATER_S * 1000)
    assert after(app, "t", *"failure", "enter") == (LATER_S, ["No later failures."])
    assert app.session.is_past


def test_the_next_failure_is_a_time_to_go_to(dashboard_at):
    app = dashboard_at(100)
    assert after(app, "t", *"failure", "enter")[0] == 132
    events = app.session.events
    assert any(map(events.is_failure, range(events.count - 20, events.count)))  # the instant is whole
    assert after(dashboard_at(LATER_S), "t", *"failure", "enter")[1] == ["No later failures."]


ENDS = "The run ends here, at 08:07:58: nothing more can happen."
BEGINS = "The run begins here, at 08:00:00: nothing happens earlier."


@pytest.mark.parametrize(("typed", "says"), [("99h", [ENDS]), ("+30s", []), ("-1s", []), ("-5h", [BEGINS])])
def test_a_time_outside_the_run_says_where_the_run_begins_or_ends(dashboard_at, typed, says):
    moment, said = after(
        dashboard_at(LATER_S), "t", *[{"+": "plus", "-": "minus"}.get(letter, letter) for letter in typed], "enter"
    )
    assert said == says
    assert moment == {"99h": 478, "+30s": LATER_S + 30, "-1s": LATER_S - 1, "-5h": 0}[typed]
