"""Keys that move time: steps, ways to another moment, running and pausing."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from engine.pacing import Pacer
from tests.tui.driving import drive
from tests.tui.screen_text import messages_of, text_of
from tui.app.main_screen import MainScreen

LATER_S = 330


def test_a_step_is_one_event_and_back_is_the_moment_before(dashboard_at):
    app = dashboard_at(LATER_S)
    simulation = app.session.simulation
    before = len(simulation.log)
    moments = []
    drive(
        app,
        "full_stop",
        lambda _: moments.append(simulation.now_ms),
        "comma",
        lambda _: moments.append(simulation.now_ms),
    )
    assert moments[0] > LATER_S * 1000 > 0
    assert moments[1] < moments[0]
    assert len(simulation.log) <= before + 20


def test_the_past_is_said_and_branching_makes_it_the_present(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        "comma",
        "comma",
        lambda app: seen.append(text_of(app)[0]),
        "b",
        lambda app: seen.append(text_of(app)[0]),
    )
    assert "PAST" in seen[0]
    assert "PAUSED" in seen[1]
    assert not app.session.is_past


def test_go_to_a_time_and_back_again(dashboard_at):
    app = dashboard_at(LATER_S)
    moments = []
    drive(app, "t", *"100", "enter", lambda app: moments.append(app.session.now_ms), "t", *"330", "enter")
    assert moments == [100_000]
    assert app.session.now_ms == LATER_S * 1000
    assert not app.session.is_past


def test_a_time_before_the_run_is_refused_and_one_on_an_earlier_day_is_found(dashboard_at):
    app, seen = dashboard_at(60, "job-prep-release-sample"), []
    drive(app, "t", *"2:40", "enter", lambda app: seen.append((app.session.now_ms, messages_of(app))))
    assert seen == [(60_000, ["2:40 is before the run, which begins at 08:00:00; 2m40s counts from it."])]
    app, seen = dashboard_at(0, "a-day-of-autoscaling"), []
    drive(app, "G", *(each for time in ("9:40", "19:30") for each in ("t", *time, "enter", lambda app: seen.append(
        (app.session.now_ms, messages_of(app))))))  # fmt: skip
    assert seen == [(34_800_000, []), (70_200_000, [])]


def test_paused_means_no_work_at_all(dashboard_at):
    app = dashboard_at(LATER_S)
    looks = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            app.screen.view.update = lambda: looks.append(1)
            await asyncio.sleep(0.3)
            assert not list(app.workers)

    asyncio.run(run())
    assert looks == []


def test_space_runs_and_pauses(dashboard_at):
    app = dashboard_at(LATER_S)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("right_curly_bracket", "space")
            await app.workers.wait_for_complete()
            await pilot.pause()
            return text_of(app)

    lines = asyncio.run(run())
    assert "END" in lines[0]
    assert app.session.is_over
    assert app.session.now_ms == app.session.simulation.log.last_ms


def test_a_long_way_shows_how_far_it_is_and_esc_stays_there(dashboard_at):
    app = dashboard_at(0, "shared-pool-two-jobs")
    simulation = app.session.simulation
    seen = []

    def half_way(until_ms, most, advance=simulation.advance):
        advance(until_ms // 2, most)
        return True

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            simulation.advance = half_way
            await pilot.press("t", *"PT5M", "enter")
            deadline_s = time.monotonic() + 30
            while "SEEKING 50%" not in text_of(app)[0]:
                assert time.monotonic() < deadline_s, text_of(app)[0]
                await asyncio.sleep(0.01)
            await pilot.press("escape")
            await app.workers.wait_for_complete()
            await pilot.pause()
            seen.append(text_of(app)[0])

    asyncio.run(run())
    assert "PAUSED" in seen[0]
    assert app.session.now_ms == 150_000


@pytest.mark.parametrize("key", ["space", "ctrl+c"])
def test_the_way_to_another_moment_is_stopped_without_leaving(dashboard_at, key):
    app = dashboard_at(LATER_S)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            playback = app.screen.playback
            playback.pacer.destination_ms = 10**9
            await pilot.press(key)
            await pilot.pause()
            assert not playback.pacer.is_seeking
            assert not playback.pacer.playing

    asyncio.run(run())
    assert app.return_code is None or app.return_code == 0


class Frames:
    """The frames of a dashboard that plays, on a clock that goes on by what each update of the panes takes."""

    def __init__(self, monkeypatch, took_s):
        self.now_s, self.updates = 100.0, 0
        self._draw = []
        update = MainScreen.update

        def update_for(screen):
            update(screen)
            self.now_s += took_s
            self.updates += 1

        def pacer_of(simulation, on_frame, *of):
            self._draw.append(on_frame)
            return Pacer(simulation, on_frame, *of)

        monkeypatch.setattr(MainScreen, "update", update_for)
        monkeypatch.setattr("tui.app.playback.Pacer", pacer_of)
        monkeypatch.setattr("tui.app.playback.time", SimpleNamespace(perf_counter=lambda: self.now_s))

    def draw(self, after_s):
        """Draw a frame after so many seconds; return whether the panes were updated."""
        self.now_s += after_s
        before = self.updates
        self._draw[0]()
        return self.updates > before


def test_while_the_panes_wait_for_their_next_update_so_does_the_clock(dashboard_at, monkeypatch):
    frames, seen = Frames(monkeypatch, took_s=1), []
    app = dashboard_at(330)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            monkeypatch.setattr(app.screen.playback.pacer, "playing", True)
            for after_s, seconds in ((60, 331), (0, 360), (60, 370)):
                app.session.simulation.run_until(seconds * 1000)
                frames.draw(after_s)
                await pilot.pause()
                seen.append(text_of(app)[0])

    asyncio.run(run())
    assert ["08:05:31" in seen[0], "08:05:31" in seen[1], "08:06:10" in seen[2]] == [True] * 3


@pytest.mark.parametrize(("took_s", "rests_s"), [(0.01, 0.19), (0.2, 0.5)])
def test_the_panes_rest_as_long_as_they_took_many_times_but_not_for_long(dashboard_at, monkeypatch, took_s, rests_s):
    frames, seen = Frames(monkeypatch, took_s), []
    app = dashboard_at(330)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            monkeypatch.setattr(app.screen.playback.pacer, "playing", True)
            seen.extend(frames.draw(after_s) for after_s in (60, rests_s - 0.001, 0.002))

    asyncio.run(run())
    assert seen == [True, False, True]
