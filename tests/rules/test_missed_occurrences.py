"""Rule JS-15: an occurrence of a job schedule that makes no job is an event, at the moment at which that is certain."""

from __future__ import annotations

import pytest

from engine.base.values import HOUR_MS, MINUTE_MS
from engine.rules.job_schedules import Timing
from tests.builders import a_job, a_line, a_pool, do, events, run, run_to, run_to_end, simulation, times
from tests.rules.schedules import a_schedule, at, made, record


def missed(sim, schedule_id="s"):
    """Minute, number and reason of the occurrences that a schedule has lost."""
    found = events(sim, "JobScheduleOccurrenceMissed", scheduleId=schedule_id)
    return [(event["t"] / 60, event["occurrence"], event["reason"]) for event in found]


def numbers(sim, schedule_id="s"):
    return [(when, number) for when, number, _ in missed(sim, schedule_id)]


def endless(schedule_id="s", **schedule):
    """A schedule whose first job never ends (JS-12)."""
    return a_schedule(schedule_id, job={"jobManagerTask": None}, **schedule)


# -- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timing", "occurrence", "lost"),
    [
        # first, interval, window, last; all in hours
        ((0, 2, None, None), 1, 4),  # when the next one is due
        ((0, 2, 1, None), 1, 3),  # at the end of the window
        ((0, 2, 2, None), 1, 4),  # a window as long as the interval is no limit (JS-3)
        ((0, 2, 5, None), 1, 4),
        ((0, 2, None, 3), 1, 3),  # no job is created after the end (JS-5)
        ((0, 2, 1, 2.5), 1, 2.5),
        ((1, None, None, None), 0, None),  # a single one waits without a limit (JS-4)
        ((1, None, 2, None), 0, 3),
        ((1, None, None, 9), 0, 9),
    ],
)
def test_js_15_when_an_occurrence_can_no_longer_make_its_job(timing, occurrence, lost):
    hours = Timing(*(None if part is None else round(part * HOUR_MS) for part in timing))
    assert hours.lost_ms(occurrence) == (None if lost is None else lost * HOUR_MS)


def test_js_15_behind_an_active_job_it_is_lost_when_the_next_is_due(start):
    sim = start(jobSchedules=[a_schedule(minutes=25, recurrenceInterval="PT10M")], until="PT1H5M")
    run_to_end(sim)
    was_active = [f"s:job-{number} was still active" for number in (1, 2)]
    assert missed(sim) == [(20, 1, was_active[0]), (40, 3, was_active[1]), (50, 4, was_active[1])]
    assert [round(when) for when in made(sim).values()] == [0, 26, 51]
    assert {event["rule"] for event in events(sim, "JobScheduleOccurrenceMissed")} == {"JS-3"}


def test_js_15_with_a_window_it_is_lost_when_the_window_closes(start):
    sim = start(jobSchedules=[a_schedule(minutes=75, recurrenceInterval="PT1H", startWindow="PT10M")], until="PT5H")
    run_to_end(sim)
    assert numbers(sim) == [(70, 1), (190, 3)]
    assert record(sim).missed == 2


def test_js_15_after_do_not_run_after_nothing_is_lost_any_more(start):
    schedule = a_schedule(minutes=200, recurrenceInterval="PT1H", doNotRunAfter=at("10:30"))
    sim = start(jobSchedules=[schedule])
    run_to_end(sim)
    assert numbers(sim) == [(120, 1), (150, 2)]


def test_js_15_a_job_that_ends_in_the_last_moment_of_the_window_is_followed_in_time(start):
    """The schedule comes first in that millisecond, the loss after it."""
    sim = start(jobSchedules=[endless(recurrenceInterval="PT1H", startWindow="PT10M")], until="PT2H")
    run_to(sim, minutes=69, seconds=57.999)
    do(sim, "terminateJob", jobId="s:job-1")
    run_to(sim, minutes=71)
    assert made(sim)["s:job-2"] == 70
    assert not missed(sim)


def test_js_15_a_single_occurrence_that_is_never_made(start):
    account = {"quotas": {"activeJobsAndSchedules": 2}}
    schedule = a_schedule(doNotRunUntil=at("08:10"), startWindow="PT5M")
    sim = start(a_job("j"), jobSchedules=[schedule], account=account, until="PT1H")
    run_to_end(sim)
    assert missed(sim) == [(15, 0, "the quota for active jobs and job schedules was full")]
    assert not made(sim)


# -- why -------------------------------------------------------------------------------------------------------------


def test_js_15_a_disabled_schedule_skips_what_is_due(start):
    sim = start(jobSchedules=[a_schedule(minutes=1, recurrenceInterval="PT10M")], until="PT1H")
    run_to(sim, minutes=5)
    do(sim, "disableJobSchedule", jobScheduleId="s")
    run_to(sim, minutes=35)
    do(sim, "enableJobSchedule", jobScheduleId="s")
    run_to_end(sim)
    assert missed(sim) == [(minute, minute / 10, "the job schedule was disabled") for minute in (10, 20, 30)]
    assert list(made(sim).values()) == [0, 40, 50, 60]


def test_js_15_an_occurrence_that_waits_is_lost_with_the_schedule_disabled(start):
    sim = start(jobSchedules=[a_schedule(minutes=15, recurrenceInterval="PT10M")], until="PT1H")
    run_to(sim, minutes=12)
    do(sim, "disableJobSchedule", jobScheduleId="s")
    assert numbers(sim) == [(pytest.approx(12, abs=0.01), 1)]
    do(sim, "enableJobSchedule", jobScheduleId="s")
    run_to(sim, minutes=21)
    assert made(sim)["s:job-2"] == 20


@pytest.mark.parametrize("operation", ["terminate", "delete"])
def test_js_15_an_occurrence_that_waits_is_lost_with_the_schedule(start, operation):
    sim = start(jobSchedules=[a_schedule(minutes=15, recurrenceInterval="PT10M")], until="PT1H")
    run_to(sim, minutes=12)
    do(sim, f"{operation}JobSchedule", jobScheduleId="s")
    run_to_end(sim)
    assert [(number, reason) for _, number, reason in missed(sim)] == [(1, f"the job schedule was {operation}d")]
    (lost,) = events(sim, "JobScheduleOccurrenceMissed")
    assert lost["rule"] == "JS-8"


def test_js_15_another_schedule_gives_up_what_waits_and_counts_from_its_own_grid(start):
    sim = start(jobSchedules=[a_schedule(minutes=15, recurrenceInterval="PT10M")], until="PT1H")
    run_to(sim, minutes=12)
    do(sim, "updateJobSchedule", jobScheduleId="s", schedule={"recurrenceInterval": "PT15M"})
    run_to(sim, minutes=50)
    assert missed(sim)[0][1:] == (1, "its schedule was changed")
    assert record(sim).missed == len(missed(sim))


def test_js_15_occurrences_that_are_not_due_are_not_lost(start):
    sim = start(jobSchedules=[a_schedule(doNotRunUntil=at("12:00"), recurrenceInterval="PT1H")], until="PT2H")
    do(sim, "terminateJobSchedule", jobScheduleId="s")
    run_to_end(sim)
    assert not missed(sim)


# -- the end of a run ------------------------------------------------------------------------------------------------


def test_js_15_an_endless_schedule_behind_an_endless_job_keeps_no_run_alive():
    sim = simulation(jobSchedules=[endless(recurrenceInterval="PT1M")])
    sim.run_until(sim.end_ms)
    sim.finish()
    assert sim.finished
    assert sim.now_ms < 2 * MINUTE_MS  # when the nodes are up
    assert not missed(sim)


def test_js_15_nor_does_one_whose_tasks_wait_for_nodes_that_never_come():
    sim = simulation(pool=a_pool(nodes=0), jobSchedules=[a_schedule(recurrenceInterval="PT1M")])
    sim.run_until(sim.end_ms)
    sim.finish()
    assert sim.now_ms < 2 * MINUTE_MS


def test_js_15_while_something_else_happens_they_are_logged():
    long = a_job("long", tasks=[{"id": "t"} | a_line(1800)], onAllTasksComplete="terminatejob")
    sim = simulation(long, jobSchedules=[endless(recurrenceInterval="PT10M")])
    sim.run_until(sim.end_ms)
    assert numbers(sim) == [(20, 1), (30, 2)]


def test_js_15_a_run_with_an_end_goes_on_to_it():
    sim = simulation(jobSchedules=[endless(recurrenceInterval="PT10M")], until="PT2H")
    sim.run_until(sim.end_ms)
    assert len(missed(sim)) == 11


def test_js_15_commands_by_hand_long_after_the_end_replay_from_a_file():
    schedule = endless(recurrenceInterval="PT1H")
    by_hand = simulation(jobSchedules=[schedule])
    by_hand.run_until(10 * HOUR_MS)
    assert by_hand.finished
    do(by_hand, "terminateJob", jobId="s:job-1")
    run(by_hand, minutes=5)
    later = {"at": 36_000.001, "terminateJob": {"jobId": "s:job-1"}}
    replayed = simulation(jobSchedules=[schedule], timeline=[later])
    replayed.run_until(by_hand.now_ms)
    assert list(by_hand.json_lines()) == list(replayed.json_lines())
    assert len(missed(by_hand)) == 9
    assert len(made(by_hand)) == 2


def test_js_15_going_back_changes_nothing():
    schedules = [a_schedule(minutes=25, recurrenceInterval="PT10M"), endless("e", recurrenceInterval="PT7M")]
    sim = simulation(jobSchedules=schedules, until="PT3H")
    sim.run_until(sim.end_ms)
    lines = list(sim.json_lines())
    assert times(sim, "JobScheduleOccurrenceMissed", scheduleId="e")
    for moment in (9_000_000, 1_000, 4_000_000):
        sim.seek(moment)
        sim.run_until(sim.end_ms)
        assert list(sim.json_lines()) == lines
