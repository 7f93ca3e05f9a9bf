"""A step forward and a step back are inverses."""

from __future__ import annotations

import random

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import text_of

STEPS = {"full_stop": "comma", "comma": "full_stop"}


def shown(app):
    simulation = app.session.simulation
    return (simulation.now_ms, len(simulation.log), simulation.is_past), text_of(app)


def go_to(when_ms, entries):
    """Go to a moment, and some entries of the calendar further."""

    def go(app):
        app.session.simulation.seek(when_ms)
        for _ in range(entries):
            app.session.simulation.step()
        app.main_screen.update()

    return go


@pytest.mark.parametrize(("name", "busy_ms"), [("one-node-fails", 390_000), ("job-prep-release-sample", 160_000)])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("view", ["1", "9"])
def test_a_step_and_the_step_back_give_the_same_moment_and_frame(dashboard_at, name, busy_ms, seed, view):
    chance = random.Random(seed)
    app, looks, steps = dashboard_at(400, name), [], [view]
    for _ in range(2):
        first = chance.choice(list(STEPS))
        several = chance.randrange(1, 4)
        keys = [*[first] * several, *[STEPS[first]] * several]
        look = lambda app: looks.append(shown(app))  # noqa: E731
        # Columns and panes keep the room that they have needed once, so that a frame is compared after a first way.
        steps += [go_to(chance.randrange(80_000, busy_ms), chance.randrange(3)), look, *keys, look, *keys, look]
    drive(app, *steps)
    for before, once, twice in zip(looks[::3], looks[1::3], looks[2::3], strict=True):
        assert before[0] == once[0]
        assert once == twice


@pytest.mark.parametrize("count", [1, 3])
def test_steps_from_the_present_lead_back_to_the_present(dashboard_at, count):
    app, looks = dashboard_at(330), []
    drive(app, lambda app: looks.append(shown(app)), *["full_stop"] * count, *["comma"] * count,
          lambda app: looks.append(shown(app)))  # fmt: skip
    assert looks[0] == looks[1]
    assert not app.session.is_past


def test_another_way_through_time_forgets_where_steps_were_taken(dashboard_at):
    app, moments = dashboard_at(330), []
    now = lambda app: moments.append(app.session.now_ms)  # noqa: E731
    drive(app, "full_stop", "t", *"100", "enter", "comma", now, "full_stop", now)
    assert moments[0] < 100_000 == moments[1]
