"""Time on the dashboard: the speed of a run, stretches without events, the end, and starting again."""

from __future__ import annotations

import asyncio
import re
from itertools import pairwise

import pytest

from engine import Simulation, load_scenario
from engine.pacing import CROSSING_S, LONGEST_QUIET_S, SPEEDS, Pacer, speed_for
from engine.scenario.text import bundled
from engine.views.hook_status import HookStatus
from tests.builders import a_job, a_pool, simulation
from tests.tui.driving import arrived, drive
from tests.tui.screen_text import contains, text_of
from tests.tui.test_pacer import Wall
from tui.app.dashboard import Dashboard
from tui.viewmodels.frame import scrubber
from tui.viewmodels.properties import cost_words
from tui.viewmodels.session import Session
from tui.viewmodels.text import Role, plain
from tui.viewmodels.watch.attention import ends

ONE_NODE = "preparation-fails-on-one-node"
PLAYED = [ONE_NODE, "job-prep-release-sample", "a-quota-is-raised", "one-pool-per-scheduled-job"]


def session_of(name, *, ahead=True):
    session = Session(Simulation(load_scenario(name)))
    while ahead and session.ahead.advance(512):
        pass
    return session


def play_to_the_end(session, speed=None, *, crosses=True):
    """Play a session on a wall clock of its own; return the moments of the frames, and the wall seconds it took."""
    wall, frames = Wall(), []
    pacer = Pacer(
        session.simulation,
        lambda: frames.append(session.now_ms),
        session,
        speed=speed or speed_for(session.end_ms, session.ahead.quiet_ms()),
        wall_s=wall,
        sleep=wall.sleep,
    )
    pacer.crosses_quiet = crosses
    asyncio.run(pacer.play())
    return frames, wall.now_s - 100


def test_start_and_end_are_moments_to_go_to(dashboard_at):
    seen = []
    drive(
        dashboard_at(330),
        *("t", *"start", "enter", lambda app: seen.append(app.session.now_ms)),
        *("t", *"end", "enter", lambda app: seen.append(app.session.now_ms)),
    )
    assert seen[0] == 0
    assert seen[1] >= 330_000


# -- speed -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minutes", [2, 5, 12, 30, 90, 400, 1440])
def test_a_run_takes_about_a_minute_at_a_readable_speed(minutes):
    speed = speed_for(minutes * 60_000)
    assert speed in SPEEDS
    assert 35 <= minutes * 60 / speed <= 100


@pytest.mark.parametrize("name", list(bundled()))
def test_every_bundled_run_takes_at_most_a_minute_and_a_half(name):
    session = session_of(name)
    end_ms, quiet_ms = session.end_ms, session.ahead.quiet_ms()
    speed = speed_for(end_ms, quiet_ms)
    crossed = [each for each in quiet_ms if each > LONGEST_QUIET_S * speed * 1000]
    assert (end_ms - sum(crossed)) / 1000 / speed + CROSSING_S * len(crossed) < 100


def test_the_speed_follows_the_length_of_the_run_and_a_chosen_one_stays(dashboard_at):
    seen = []

    async def run(app, *keys):
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            seen.append(app.main_screen.playback.pacer.speed)

    asyncio.run(run(dashboard_at(0, "a-day-of-autoscaling")))
    asyncio.run(run(dashboard_at(0, ONE_NODE)))
    asyncio.run(run(dashboard_at(0, "a-day-of-autoscaling"), *":speed 7", "enter", "Z", "Z"))
    assert seen[0] >= 600
    assert seen[1] <= 20
    assert seen[2] == 7


# -- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("crosses", [True, False])
@pytest.mark.parametrize("name", PLAYED)
def test_the_clock_never_goes_back_and_stops_where_the_last_event_is(name, crosses):
    session = session_of(name)
    end_ms = session.end_ms
    frames, _ = play_to_the_end(session, crosses=crosses)
    assert all(before <= after for before, after in pairwise(frames))
    assert frames[-1] == session.now_ms == end_ms
    if session.simulation.scenario.until_ms is None:
        assert session.now_ms == session.simulation.log.last_ms
    assert session.is_over


def test_a_run_that_is_not_played_ahead_ends_with_its_last_event_too():
    session = session_of(ONE_NODE, ahead=False)
    session.ahead.is_given_up = True
    frames, _ = play_to_the_end(session, speed=60)
    assert frames[-1] == session.simulation.log.last_ms
    assert all(after >= before - 1000 for before, after in pairwise(frames))


def test_at_the_end_no_step_goes_on(dashboard_at):
    app = dashboard_at(0, ONE_NODE)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(*":time end", "enter")
            await arrived(app)
            end_ms = app.session.now_ms
            await pilot.press("full_stop", "full_stop")
            await pilot.press(*":time +1h", "enter")
            await arrived(app)
            return end_ms, app.session.now_ms, text_of(app)

    end_ms, then_ms, lines = asyncio.run(run())
    assert then_ms == end_ms == app.session.simulation.log.last_ms
    assert "END" in lines[0]
    assert "space start again" in lines[-1]


def test_space_at_the_end_offers_to_start_again(dashboard_at):
    app = dashboard_at(0, ONE_NODE)
    seen = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(*":time end", "enter")
            await arrived(app)
            await pilot.press("space")
            await pilot.pause()
            seen.append(text_of(app))
            end_ms = app.session.now_ms
            await pilot.press("space")
            await pilot.pause()
            seen.append((app.session.now_ms == end_ms, len(app.screen_stack)))
            await pilot.press("space", "r")
            await pilot.pause()
            seen.append((app.session.now_ms < 100_000, app.main_screen.playback.pacer.playing))
            await pilot.press("space")

    asyncio.run(run())
    assert contains(seen[0], "The run is over", "start again, with the same seed 1", "run with the next seed, 2")
    assert contains(seen[0], "stay at the end")
    assert seen[1] == (True, 1)  # space again does not start the run anew by mistake
    assert seen[2] == (True, True)


# -- stretches without events ----------------------------------------------------------------------------------------


def test_long_stretches_without_events_are_crossed_and_marked():
    session = session_of(ONE_NODE)
    _, crossing_s = play_to_the_end(session, 5)
    assert session.crossed
    moments = sorted(set(session.simulation.log.when))
    for from_ms, to_ms in session.crossed:
        assert to_ms - from_ms > 1000
        assert not any(from_ms < when < to_ms for when in moments)
    assert session.glyphs.crossed in plain(scrubber(session, 160))
    again = session_of(ONE_NODE)
    _, playing_s = play_to_the_end(again, 5, crosses=False)
    assert again.crossed == []
    assert crossing_s < playing_s / 2


def test_crossing_does_not_change_the_log():
    crossing, playing = session_of(ONE_NODE), session_of(ONE_NODE)
    play_to_the_end(crossing, 5)
    play_to_the_end(playing, 5, crosses=False)
    assert list(crossing.simulation.json_lines()) == list(playing.simulation.json_lines())


def test_z_switches_crossing(dashboard_at):
    app = dashboard_at(0, ONE_NODE)
    seen = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            for _ in range(2):
                await pilot.press("Z")
                seen.append((app.main_screen.playback.pacer.crosses_quiet, app.settings.value("cross_quiet")))

    asyncio.run(run())
    assert seen == [(False, False), (True, True)]


# -- the scrubber ----------------------------------------------------------------------------------------------------


def test_the_scrubber_shows_the_recorded_future_dimmed_while_the_past_is_shown():
    session = session_of(ONE_NODE)
    session.simulation.run_until(400_000)
    session.update()
    session.simulation.seek(60_000)
    session.update()
    line = scrubber(session, 120)
    after_now = line[next(at for at, span in enumerate(line) if session.glyphs.now in span.text) + 1 :]
    dimmed = [span for span in after_now if any(each in span.text for each in session.glyphs.densities[1:])]
    assert dimmed
    assert all(span.role is Role.OFF for span in dimmed)
    assert any(span.text == session.glyphs.failure and span.role is Role.DIM for span in after_now)


def test_the_scrubber_marks_no_routine_eviction_as_a_failure():
    session = session_of("spot-night-by-rate", ahead=False)
    session.simulation.run_until(session.simulation.end_ms)
    session.update()
    page = session.events
    assert sum(page.row(entry).fields.get("command") == "evictNode" for entry in page.failures()) > 10
    assert plain(scrubber(session, 200)).count(session.glyphs.failure) < 5


def test_the_scrubber_shows_bookmarks():
    session = session_of(ONE_NODE)
    session.simulation.run_until(300_000)
    session.bookmarked_ms.append(100_000)
    session.update()
    assert session.glyphs.bookmark in plain(scrubber(session, 120))


# -- estimates -------------------------------------------------------------------------------------------------------


def test_an_estimate_does_not_jump_by_half_while_nothing_new_happens():
    sim = simulation(a_job(tasks=60, onAllTasksComplete="terminatejob"), pool=a_pool(nodes=4))
    session, left = Session(sim), []
    while not sim.finished and sim.now_ms < 7_200_000:
        before = len(sim.log)
        sim.run_until(sim.now_ms + 5_000)
        session.update()
        end_ms = session.forecast().tasks_ms
        if len(sim.log) == before and end_ms is not None:
            left.append(end_ms - sim.now_ms)
        else:
            left.append(None)
    pairs = [(one, other) for one, other in pairwise(left) if one and other]
    assert pairs
    assert all(0.5 < other / one < 1.5 or abs(other - one) <= 10_000 for one, other in pairs)


def test_simulated_ends_stand_in_header_and_rail():
    session = session_of(ONE_NODE)
    session.simulation.run_until(300_000)
    session.update()
    assert "simulated end 08:08:10" in plain(scrubber(session, 140))
    said = plain(ends(session, session.job(session.job_id)))
    assert "Simulated: tasks end" in said
    assert "08:08:10" in said


def test_at_the_end_the_header_has_the_end_and_no_simulated_one():
    session = session_of(ONE_NODE)
    play_to_the_end(session)
    session.update()
    assert plain(scrubber(session, 140)).endswith(" end 08:08:10 ")
    assert "simulated" not in plain(scrubber(session, 140))


def test_a_run_that_was_not_played_ahead_has_its_end_where_it_is_over():
    session = session_of(ONE_NODE, ahead=False)
    session.simulation.run_until(session.simulation.end_ms)
    session.simulation.finish()
    session.update()
    strip = plain(scrubber(session, 140))
    assert strip.endswith(" end 08:08:10 ")
    assert session.glyphs.planned * 3 not in strip[strip.index(session.glyphs.now) :]


def test_an_end_that_is_simulated_soon_is_not_estimated_first():
    session = session_of(ONE_NODE, ahead=False)
    session.simulation.run_until(300_000)
    session.awaits_end = True
    session.update()
    assert " end not known yet  08:10:00 " in plain(scrubber(session, 140))
    assert plain(scrubber(session, 70)).endswith(" 08:10:00 ? ")
    assert "end 08:" not in plain(scrubber(session, 140))
    session.awaits_end = False
    session.update()
    assert "estimated end of align 08:" in plain(scrubber(session, 140))


def test_a_moment_beyond_the_end_leads_to_the_end():
    simulation, seen = Simulation(load_scenario("mpi-on-four-nodes")), []
    drive(Dashboard(simulation, at_ms=480_000, plays=False), lambda app: seen.append(text_of(app)[:2]))
    assert simulation.now_ms == simulation.log.last_ms == 396_000
    assert "08:06:36  +00:06:36   END" in seen[0][0]
    assert seen[0][1].endswith(" end 08:06:36")


def test_a_key_goes_to_the_end_and_from_the_past_to_the_newest_moment(dashboard_at):
    app, seen = dashboard_at(100, ONE_NODE), []
    look = [lambda app: seen.append((app.session.now_ms, text_of(app)[-1]))]
    drive(app, *look, "comma", "comma", *look, "G", *look, "G", *look)
    assert [now_ms for now_ms, _ in seen[2:]] == [90_000, 490_000]
    assert app.session.simulation.log.last_ms == 490_000
    assert ["G end" in hints for _, hints in seen] == [True, False, True, False]
    assert "G to now" in seen[1][1]


# -- other runs ------------------------------------------------------------------------------------------------------


def test_another_seed_is_another_run_from_the_start(dashboard_at):
    app, seen = dashboard_at(100, ONE_NODE), []
    drive(app, *":seed 5", "enter", lambda app: seen.append((app.session.simulation.seed, text_of(app))), "space")
    assert seen[0][0] == 5
    assert "seed 5" in seen[0][1][0]


def test_the_picker_filters_describes_and_opens(dashboard_at):
    app, seen = dashboard_at(100, ONE_NODE), []
    look = [lambda app: seen.append(text_of(app))]
    drive(app, "ctrl+o", *look, *"reboot dur", *look, "down", *look, "enter", *look, "space")
    assert contains(seen[0], "Open a scenario", "a-blocked-subnet")
    assert contains(seen[1], "reboot-during-preparation", "reboot-during-release", "Look at")
    assert not contains(seen[1], "a-blocked-subnet")
    assert app.session.simulation.scenario.name == "reboot-during-release"
    assert "reboot-during-release" in seen[3][0]
    assert app.recorder.proposal().name == "reboot-during-release-session.yaml"


def test_the_picker_lists_directories(dashboard_at, tmp_path):
    text = bundled()["reboot-during-release"].read_text(encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "mine.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "deep" / "notes.txt").write_text("no scenario", encoding="utf-8")
    app, seen = dashboard_at(0, ONE_NODE), []

    def type_path(app):
        app.screen.query_one("#wanted").value = f"{tmp_path}/de"

    look = [lambda app: seen.append(text_of(app))]
    drive(app, "ctrl+o", type_path, *look, "enter", *look, "enter", "space")
    assert contains(seen[0], "deep/")
    assert contains(seen[1], "mine.yaml")
    assert not contains(seen[1], "notes.txt")
    assert app.session.simulation.scenario.source.path == f"{tmp_path}/deep/mine.yaml"


@pytest.fixture
def edited(tmp_path):
    """A file that can be edited, and a dashboard on it."""
    path = tmp_path / "mine.yaml"
    path.write_text(bundled()[ONE_NODE].read_text(encoding="utf-8"), encoding="utf-8")
    sim = Simulation(load_scenario(str(path)))
    sim.run_until(200_000)
    return path, Dashboard(sim, plays=False)


def test_an_edited_file_is_reloaded_at_the_same_moment_and_view(edited):
    path, app = edited
    path.write_text(path.read_text(encoding="utf-8").replace("standard_e4s_v3", "standard_d2s_v3"), encoding="utf-8")
    seen = []
    drive(app, "6", "ctrl+r", lambda app: seen.append(app.main_screen.view.id))
    assert app.session.now_ms == 200_000
    assert seen == ["preparation"]
    assert app.session.pool("genomics").record.spec.vm_size == "standard_d2s_v3"


def test_a_broken_file_is_not_loaded_and_its_mistakes_are_placed(edited):
    path, app = edited
    before, seen = app.session, []
    path.write_text(path.read_text(encoding="utf-8").replace("vmSize", "vmSiz"), encoding="utf-8")
    drive(app, "ctrl+r", lambda app: seen.append(text_of(app)), "escape")
    assert contains(seen[0], "vmSize", "Nothing has changed") or contains(seen[0], "vmSize", "nothing has changed")
    assert re.search(r"mine\.yaml:\d+:\d+", "".join(line.strip(" │") for line in seen[0]))
    assert app.session is before


def test_commands_given_by_hand_are_asked_about_before_another_run_is_shown(dashboard_at, tmp_path, monkeypatch):
    from engine.specs import commands as c

    monkeypatch.chdir(tmp_path)
    app, seen = dashboard_at(100, ONE_NODE), []

    def act(app):
        app.session.simulation.submit(c.TerminateJob.from_wire({"jobId": "align"}))

    look = [lambda app: seen.append((text_of(app), app.session.simulation.scenario.name))]
    drive(app, act, *":open reboot-during-release", "enter", *look, "escape", *look)
    assert contains(seen[0][0], "Commands given by hand are not saved")
    assert seen[1][1] == ONE_NODE
    app = dashboard_at(100, ONE_NODE)
    drive(app, act, *":open reboot-during-release", "enter", "s", *look, "space")
    assert seen[2][1] == "reboot-during-release"
    assert [path.name for path in tmp_path.iterdir()] == [f"{ONE_NODE}-session.yaml"]


def test_y_is_yes_where_it_is_asked_whether_to_leave(dashboard_at):
    app = dashboard_at(100, ONE_NODE)
    drive(app, "q", "y")
    assert not app.is_running
    assert app._exit


def test_without_a_scenario_the_dashboard_opens_paused_where_there_is_something_to_see():
    """Both nodes are prepared and work, some tasks are completed and others wait."""
    from click.testing import CliRunner

    from engine.scenario.conditions import parse_time
    from tui.cli import commands

    assert commands.FIRST == "job-prep-release-sample"
    session = session_of(commands.FIRST)
    session.simulation.run_until(parse_time(commands.FIRST_AT, session.simulation.scenario.start))
    session.update()
    phases = session.job("JobPrepReleaseSampleJob").phases
    assert phases.tasks.running == phases.tasks.succeeded == phases.preparation[HookStatus.SUCCEEDED] == 2
    assert phases.tasks.active
    assert not session.is_over
    assert "something to see" in CliRunner().invoke(commands.cli, ["--help"]).output


def test_a_run_until_a_moment_is_not_over_when_nothing_more_happens_before_it():
    sim = Simulation(load_scenario("nodes-fail-and-recover"))
    session = Session(sim)
    sim.run_until(sim.end_ms - 60_000)
    session.update()
    assert session.events.next_ms() is None
    assert not session.is_over
    assert "so far" in cost_words(session)
    sim.run_until(sim.end_ms)
    session.update()
    assert session.is_over
    assert "in all" in cost_words(session)
