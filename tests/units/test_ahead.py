"""Playing ahead: the ends that it tells are those of the run, and the run is not touched."""

from __future__ import annotations

from itertools import islice

import pytest

from engine import Simulation, load_scenario
from engine.run.ahead import Ahead
from engine.scenario.text import bundled
from engine.specs import commands as c
from engine.views.resources.jobs import job_ids, pool_ids
from tests.builders import a_job, a_pool, simulation

SOME = list(islice(bundled(), 0, None, 5))


def play_ahead(ahead):
    while ahead.advance(64):
        pass
    return ahead


def to_the_end(sim):
    sim.run_until(sim.end_ms)
    sim.finish()
    return list(sim.json_lines())


@pytest.mark.parametrize("name", SOME)
def test_the_log_is_the_same_with_and_without_playing_ahead(name):
    plain, watched = (Simulation(load_scenario(name)) for _ in range(2))
    ahead = Ahead(watched)
    for minute in range(10):
        watched.run_until(minute * 60_000)
        ahead.advance(40)
    play_ahead(ahead)
    assert to_the_end(watched) == to_the_end(plain)
    assert list(ahead.future.json_lines()) == list(plain.json_lines())


@pytest.mark.parametrize("name", SOME)
def test_ends_and_expectations_are_those_of_the_run(name):
    sim = Simulation(load_scenario(name))
    sim.run_until(120_000)
    ahead = play_ahead(Ahead(sim))
    assert ahead.is_complete
    end_ms, expected = ahead.end_ms, list(ahead.expectations)
    jobs_end_ms = [job.end_ms for job in ahead.future.world.jobs]
    to_the_end(sim)
    assert end_ms == sim.now_ms
    assert expected == sim.expectations
    assert [job.end_ms for job in sim.world.jobs] == jobs_end_ms


def test_nothing_is_told_before_the_end_is_known():
    sim = Simulation(load_scenario("spot-night-run"))
    ahead = Ahead(sim)
    assert ahead.advance(10)
    assert not ahead.is_complete
    assert (ahead.end_ms, ahead.future, tuple(ahead.expectations)) == (None, None, ())


def test_a_command_by_hand_is_followed_in_the_future_too():
    sim = Simulation(load_scenario("priorities-and-fairness"))
    sim.run_until(300_000)
    ahead = play_ahead(Ahead(sim))
    before_ms = ahead.end_ms
    job = job_ids(sim)[0]
    sim.submit(c.TerminateJob.from_wire({"jobId": job}))
    assert not ahead.is_complete
    play_ahead(ahead)
    assert ahead.end_ms != before_ms
    assert to_the_end(sim) == list(ahead.future.json_lines())


def test_several_commands_at_different_moments_are_followed():
    sim = simulation(a_job(tasks=40), pool=a_pool(nodes=3))
    ahead = Ahead(sim)
    pool = pool_ids(sim)
    for at, nodes in ((200_000, 5), (260_000, 2), (320_000, 4)):
        sim.run_until(at)
        pool = pool_ids(sim)[0]
        sim.submit(c.ResizePool.from_wire({"poolId": pool, "targetDedicatedNodes": nodes}))
        ahead.advance(100)
    play_ahead(ahead)
    assert to_the_end(sim) == list(ahead.future.json_lines())


def test_a_branch_takes_back_what_was_done_by_hand():
    sim = Simulation(load_scenario("priorities-and-fairness"))
    sim.run_until(300_000)
    ahead = play_ahead(Ahead(sim))
    before_ms = ahead.end_ms
    sim.submit(c.TerminateJob.from_wire({"jobId": job_ids(sim)[0]}))
    play_ahead(ahead)
    sim.run_until(600_000)
    sim.seek(200_000)
    assert ahead.is_complete  # to look at the past changes nothing
    sim.branch()
    play_ahead(ahead)
    assert ahead.end_ms == before_ms


def test_a_trial_leaves_what_is_known():
    sim = Simulation(load_scenario("priorities-and-fairness"))
    sim.run_until(300_000)
    ahead = play_ahead(Ahead(sim))
    generation = ahead.generation
    with sim.trial():
        sim.submit(c.TerminateJob.from_wire({"jobId": job_ids(sim)[0]}))
    assert ahead.is_complete
    assert not ahead.advance(64)
    assert ahead.generation == generation


def test_a_command_after_the_end_is_played_from_there():
    sim = Simulation(load_scenario("preparation-fails-on-one-node"))
    ahead = play_ahead(Ahead(sim))
    to_the_end(sim)
    assert sim.now_ms == ahead.end_ms
    sim.submit(c.ResizePool.from_wire({"poolId": pool_ids(sim)[0], "targetDedicatedNodes": 9}))
    play_ahead(ahead)
    assert to_the_end(sim) == list(ahead.future.json_lines())


def test_the_next_event_is_told_and_none_after_the_last():
    sim = Simulation(load_scenario("preparation-fails-on-one-node"))
    ahead = play_ahead(Ahead(sim))
    seen = []
    while (next_ms := ahead.next_event_ms()) is not None:
        seen.append(next_ms)
        sim.run_until(next_ms)
        assert sim.log.last_ms == next_ms
    assert seen[-1] == ahead.end_ms
    assert len(sim.log) == len(ahead.future.log)


def test_a_run_that_is_too_large_is_given_up():
    sim = simulation(a_job(tasks=40), pool=a_pool(nodes=3))
    assert not Ahead(sim, most_tasks=39).advance(64)
    ahead = play_ahead(Ahead(sim, most_entries=50))
    assert ahead.is_given_up
    assert not ahead.is_complete


def test_an_error_of_the_engine_ends_playing_ahead_and_nothing_else(monkeypatch):
    sim = simulation(a_job(tasks=4), pool=a_pool(nodes=1))
    ahead = Ahead(sim)
    ahead.advance(1)

    def breaks(*_, **__):
        raise RuntimeError("two and two are five")

    with monkeypatch.context() as broken:
        broken.setattr(type(sim.world.calendar), "advance", breaks)
        assert not ahead.advance(64)
    assert ahead.is_given_up
    to_the_end(sim)
