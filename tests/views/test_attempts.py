"""The end of tasks whose attempts go on as those that were seen."""

from __future__ import annotations

from engine.views.diagnosis.estimates import Attempts, attempts_seen, last_end_ms
from tests.builders import READY_S, a_job, a_pool, a_task, run_to, simulation, some_tasks


def seen(durations_ms, retried=0.0):
    return Attempts(sorted(durations_ms), retried, 0.0)


def test_tasks_that_wait_begin_where_others_end():
    assert last_end_ms(seen([100]), [50, 70], running=2, waiting=0) == 70
    assert last_end_ms(seen([100]), [50, 70], running=2, waiting=3) == 250
    assert last_end_ms(seen([100]), [50, 70], running=200, waiting=20_000) == 10_070


def test_a_slot_that_is_free_only_later_takes_no_task_before():
    assert last_end_ms(seen([100]), [50, 900], running=2, waiting=8) == 900
    assert last_end_ms(seen([100]), [50, 900], running=2, waiting=11) == 1050


def test_retries_make_tasks_wait_longer():
    flaky = seen([100], retried=0.5)
    assert last_end_ms(flaky, [50], running=1, waiting=3) == 650


def test_retries_and_durations_are_those_of_tasks_that_have_begun():
    tasks = [a_task("flaky", 100, 1), a_task("long", 1000), *some_tasks(6, 100)]
    sim = simulation(a_job(tasks=tasks, constraints={"maxTaskRetryCount": 2}), pool=a_pool(taskSlotsPerNode=4))
    run_to(sim, seconds=READY_S + 250)
    found = attempts_seen(sim.world, [range(8)])
    assert 0 < found.retried < 0.5
    assert max(found.durations_ms) < 1_000_000  # one long task stands alone


def test_of_many_blocks_of_tasks_only_some_are_looked_at(monkeypatch):
    sim = simulation(a_job(tasks=some_tasks(40, 100)), pool=a_pool(taskSlotsPerNode=4))
    run_to(sim, minutes=60)
    whole = attempts_seen(sim.world, [range(40)])
    monkeypatch.setattr("engine.views.diagnosis.estimates.MOST_BLOCKS", 5)
    monkeypatch.setattr("engine.views.diagnosis.estimates.MOST_SEEN", 4)
    some = attempts_seen(sim.world, [range(at, at + 4) for at in range(0, 40, 4)])
    assert len(some.durations_ms) < len(whole.durations_ms) == 40
    assert some.worked_ms == whole.worked_ms == 101_000  # a second to start


def test_of_a_few_tasks_that_have_begun_all_are_looked_at_however_many_wait(monkeypatch):
    monkeypatch.setattr("engine.views.diagnosis.estimates.MOST_SEEN", 8)
    sim = simulation(a_job(tasks=some_tasks(100, 100)))
    run_to(sim, seconds=READY_S + 350)
    assert len(attempts_seen(sim.world, [range(100)]).durations_ms) == 4
