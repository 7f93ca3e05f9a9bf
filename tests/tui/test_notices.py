"""What is said while time goes by: what has come to need attention, never too much."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise

import pytest

from engine import Simulation, load_scenario
from tests.tui.screen_text import contains, messages_of, text_of
from tui.textual.screens import say
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.sentences import Notices
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain
from tui.viewmodels.watch.attention import estimate_line


def told(session, *seconds, view="timeline"):
    """What is said when these moments are reached one after the other."""
    notices, said = Notices(session), []
    for second in seconds:
        session.simulation.run_until(second * 1000)
        session.update()
        said.append(notices.take(view))
    return said


def test_the_worst_concern_that_is_new_is_told_as_the_pane_does_and_the_others_are_counted(session_at):
    first, second, nothing = told(session_at(60), 140, 160, 350)
    assert first == "preparation task failed on n1: exit code 3"
    assert second == "2 tasks failed: exit code 1 deal-1, deal-11"
    assert nothing == ""
    assert told(session_at(60), 160) == ["2 tasks failed: exit code 1 deal-1, deal-11; 1 other concern: press 1"]


@pytest.mark.parametrize("view", ["watch", "events"])
def test_where_everything_is_visible_nothing_is_told(session_at, view):
    assert told(session_at(60), 140, 160, 350, 480, view=view) == [""] * 4


def test_a_list_does_not_have_its_own_concerns_told_but_others(session_at):
    assert told(session_at(60), 160, view="tasks") == ["preparation task failed on n1: exit code 3"]
    assert told(session_at(60), 160, view="preparation") == ["2 tasks failed: exit code 1 deal-1, deal-11"]


def test_going_to_another_moment_tells_nothing(session_at):
    session = session_at(330)
    notices = Notices(session)
    session.simulation.seek(100_000)
    session.simulation.run_until(200_000)
    session.update()
    assert notices.take() == ""


def test_while_time_goes_by_it_is_said_on_the_screen_but_not_too_often(dashboard_at, monkeypatch):
    monkeypatch.setattr("tui.app.playback.BETWEEN_NOTICES_S", 0.02)
    app = dashboard_at(100)
    moments = []

    async def run():
        async with app.run_test(size=(120, 40), notifications=True) as pilot:

            def say_and_note(widget, text, severity):
                moments.append(time.perf_counter())
                say(widget, text, severity)

            monkeypatch.setattr("tui.app.playback.say", say_and_note)
            await pilot.press("8", "right_curly_bracket", "space")
            await app.workers.wait_for_complete()
            while not app.messages:
                await asyncio.sleep(0.01)
            await pilot.pause()
            return text_of(app)

    assert contains(asyncio.run(run())[-2:], "failed")
    assert all(later - earlier >= 0.02 for earlier, later in pairwise(moments))


def test_where_nothing_will_be_seen_to_happen_it_is_said_at_the_start(dashboard_at):
    said = []
    for before in (("Z", "equals_sign"), ("equals_sign",), ()):  # Z: every stretch of time is played
        app = dashboard_at(20)

        async def run(app=app, before=before):
            async with app.run_test(size=(120, 40)) as pilot:
                await pilot.press(*before, "space")
                await pilot.pause()
                said.append(messages_of(app))
                await pilot.press("space")

        asyncio.run(run())
    assert said == [["Every stretch of time is played.", "No event before 08:00:50. . goes there."], [], []]


def test_a_cause_that_goes_on_is_told_again_when_there_are_ten_times_as_many():
    task = {"id": "deal-{0}", "commandLine": "price", "simulate": {"duration": "PT1M", "exitCode": 4}}
    factory = {"parameterSets": [{"start": 1, "end": 30}], "repeatTask": task}
    body = {
        "scenario": "failing",
        "pools": [{"id": "p", "vmSize": "standard_f4s_v2", "targetDedicatedNodes": 1}],
        "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "taskFactory": {"type": "parametricSweep", **factory}}],
    }
    session = Session(Simulation(load_scenario("failing", text=json.dumps(body))))
    notices = told(session, *range(60, 3600, 60))
    failures = [notice for notice in notices if "failed" in notice]
    assert [each.partition(":")[0] for each in failures] == ["task deal-1 failed", "10 tasks failed"]


def test_before_the_first_job_the_strip_says_when_it_is_added(session_at):
    session = session_at(65, "spot-evictions")
    assert session.none_yet("job") == ("There is no job yet.", "space runs and pauses, . goes on to the next moment.")
    while session.ahead.advance(10_000):
        pass
    assert session.none_yet("job")[0] == "There is no job yet. The next job is added at 08:04:45."


def test_where_no_job_is_ever_added_it_says_so_once_that_is_known(session_at):
    session = session_at(5, "quota-keeps-the-pool-small")
    assert session.none_yet("job")[0] == "There is no job yet."
    while session.ahead.advance(10_000):
        pass
    assert session.none_yet("job")[0] == "There is no job, and none is added in the rest of the run."
    assert session.none_yet("pool")[0] == "There is no pool yet."


LATER = """
scenario: later
until: PT3H
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 2}]
jobs:
  - {id: first, poolInfo: {poolId: p}, onAllTasksComplete: terminatejob, tasks: [{id: a, commandLine: x}]}
  - {id: second, at: PT1H, poolInfo: {poolId: p}}
timeline: [{at: PT90M, createJob: {id: third, poolInfo: {poolId: p}}}]
"""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1_800, "2 jobs are still added, the next at 09:00:00."),
        (3_600, "The next job is added at 09:30:00."),
        (5_400, ""),
    ],
)
def test_where_jobs_come_later_watch_and_the_list_say_when_the_next_one_does(seconds, said):
    session = Session(Simulation(load_scenario("later", text=LATER)))
    session.simulation.run_until(seconds * 1000)
    session.update()
    jobs = JobsModel(session)
    jobs.update()
    assert plain(jobs.summary()) == ""  # it is not known yet
    while session.ahead.advance(10_000):
        pass
    session.update()
    assert plain(jobs.summary()) == said
    ended = plain(estimate_line(session, session.job("first"), 116)).rstrip()
    assert ended.startswith("Ended 08:")
    assert ended.endswith(said or "after it was added")
