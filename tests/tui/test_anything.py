"""Anything at all: whatever is pressed, typed, clicked and resized, the dashboard stands, and tells the truth."""

from __future__ import annotations

import asyncio
import random
from contextlib import nullcontext

import pytest
from rich.cells import cell_len
from textual import events

from engine import Simulation, load_scenario
from engine.views.recording import recorded
from tests.tui.conftest import simulation_at
from tests.tui.driving import arrived
from tests.tui.screen_text import strips_of
from tui.app.dashboard import Dashboard
from tui.app.playback import Playback
from tui.panes.pages import ListPage
from tui.saving.settings import OPTIONS, Settings, Source
from tui.textual.keys import contexts, keys_of
from tui.widgets.charts import NodeMap

STEPS = 40
SIZES = ((120, 40), (80, 24), (60, 16), (200, 60), (40, 10))
SCENARIOS = ("one-node-fails", "release-times-out", "node-removed-during-release", "shared-pool-two-jobs")
LEAVE = {"ctrl+c", "ctrl+q"}
KEYS = sorted({key for bound in contexts().values() for each in bound for key in keys_of(each)} - LEAVE)
OFTEN = ["down", "enter", "escape", "tab", "a", "w", "f", "1", "3", "5", "8", "9", "full_stop", "comma", "ctrl+s"]
TEXTS = ("tasks", "100", "-30s", "+5m", "end", "max", "!running", "node:n1", "start:>5m", "[b]x[/b]", "漢字", "-1")


class Hand:
    """Does one thing after the other, each decided by the seed."""

    def __init__(self, chance, app, pilot, size):
        self.chance, self.app, self.pilot, self.size = chance, app, pilot, size

    def press(self, *keys):
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))

    def key(self):
        self.press(self.chance.choice(self.chance.choice((KEYS, OFTEN))))

    def burst(self):
        self.press(*self.chance.sample(KEYS, 4))

    def text(self):
        opened, closed = self.chance.choice(("colon", "slash", "t", "E", "R")), self.chance.choice(("enter", "escape"))
        self.press(opened, *self.chance.choice(TEXTS), closed)

    def mouse(self):
        x, y = self.chance.randrange(self.size[0]), self.chance.randrange(self.size[1])
        kinds = self.chance.choice(((events.MouseDown, events.MouseUp), (events.MouseScrollDown,)))
        button = self.chance.choice((1, 1, 3))
        for kind in kinds:
            self.app.post_message(kind(None, x, y, 0, 0, button, False, False, False, x, y))

    def drag(self):
        places = [(self.chance.randrange(self.size[0]), self.chance.randrange(self.size[1])) for _ in range(3)]
        for kind, (x, y) in zip((events.MouseDown, events.MouseMove, events.MouseUp), places, strict=True):
            self.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))

    async def resize(self):
        self.size = self.chance.choice(SIZES)
        await self.pilot.resize_terminal(*self.size)

    def play(self):
        self.press("right_curly_bracket", "space")

    async def do_something(self):
        things = (self.key, self.burst, self.text, self.mouse, self.drag, self.resize, self.play)
        done = self.chance.choices(things, (60, 4, 8, 16, 4, 4, 4))[0]()
        if done is not None:
            await done
        await self.pilot.pause()
        await arrived(self.app)
        await self.pilot.pause()


def check(app, size):
    """Every line is as wide as the screen; the list and the map have as many as the run."""
    strips = strips_of(app)
    assert [cell_len("".join(segment.text for segment in strip)) for strip in strips] == [size[0]] * size[1]
    view, session = app.main_screen.view, app.session
    if app.main_screen.playback.pacer.playing:
        return
    for node_map in view.query(NodeMap):
        assert sum(count for _, count in node_map.model.counts()) == len(node_map.model.nodes)
    is_narrowed = isinstance(view, ListPage) and (any(view.model.remembered().values()))
    if isinstance(view, ListPage) and not is_narrowed and not getattr(view.model, "is_by_hand", False):
        fresh = type(view.model)(session)
        fresh.update()
        assert view.model.count == fresh.count


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_done_the_dashboard_stands_and_what_was_done_can_be_replayed(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # sessions and lists are written here
    monkeypatch.setattr(Playback, "guard", lambda _: nullcontext())  # errors of the engine fail the test
    chance = random.Random(seed)
    name = SCENARIOS[seed % len(SCENARIOS)]
    simulation = simulation_at(chance.randrange(600), name)
    settings = Settings()
    settings.use("theme", chance.choice(OPTIONS["theme"].values), Source.COMMAND_LINE)
    settings.use("glyphs", chance.choice(("ascii", "unicode")), Source.COMMAND_LINE)
    app = Dashboard(simulation, settings, plays=False)

    async def run():
        size = chance.choice(SIZES)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            hand = Hand(chance, app, pilot, size)
            for _ in range(STEPS):
                await hand.do_something()
                if not app.is_running:
                    return
                check(app, hand.size)
            app.main_screen.playback.pause()

    asyncio.run(run())
    simulation.branch()
    saved = tmp_path / "session.yaml"
    saved.write_text(recorded(simulation), encoding="utf-8")
    again = Simulation(load_scenario(str(saved)), seed=simulation.seed)
    for each in (simulation, again):
        each.run_until(each.end_ms)
        each.finish()
    assert list(again.json_lines()) == list(simulation.json_lines())
