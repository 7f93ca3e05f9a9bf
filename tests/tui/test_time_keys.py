"""Keys that move time: steps, ways to another moment, running and pausing."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import messages_of, text_of

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


def test_while_the_panes_wait_for_their_next_update_so_does_the_clock(dashboard_at, monkeypatch):
    app, seen = dashboard_at(330), []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            playback = app.screen.playback
            monkeypatch.setattr(playback.pacer, "playing", True)
            for wait_s, seconds in ((0, 331), (60, 360), (0, 370)):
                playback._next_update_s = time.perf_counter() + wait_s
                app.session.simulation.run_until(seconds * 1000)
                playback._on_frame()
                await pilot.pause()
                seen.append(text_of(app)[0])

    asyncio.run(run())
    assert ["08:05:31" in seen[0], "08:05:31" in seen[1], "08:06:10" in seen[2]] == [True] * 3


@pytest.mark.parametrize(("took_s", "rests_s"), [(0.01, 0.19), (0.2, 0.5)])
def test_the_panes_rest_as_long_as_they_took_many_times_but_not_for_long(dashboard_at, monkeypatch, took_s, rests_s):
    app, seen = dashboard_at(330), []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            playback, clock_s = app.screen.playback, [100.0]
            monkeypatch.setattr(playback.pacer, "playing", True)
            monkeypatch.setattr(playback, "_notify_of_news", lambda: None)
            monkeypatch.setattr(playback, "_update", lambda: clock_s.append(clock_s[-1] + took_s))
            with monkeypatch.context() as patched:
                patched.setattr("tui.screens.playback.time", SimpleNamespace(perf_counter=lambda: clock_s[-1]))
                playback._next_update_s = 0
                playback._on_frame()
            seen.append(playback._next_update_s - clock_s[-1])
            playback._next_update_s = 0

    asyncio.run(run())
    assert seen == [pytest.approx(rests_s)]
