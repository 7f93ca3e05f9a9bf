"""Chapter 18: when the jobs of a schedule are due."""

from __future__ import annotations

import pytest

from engine.base.values import HOUR_MS
from engine.rules import job_schedules
from engine.rules.job_schedules import Timing
from tests.builders import a_line, a_pool, do, job_state, run, run_to, run_to_end, schedule_state, times
from tests.rules.schedules import a_schedule, at, ended, made, record


def test_js_1_jobs_are_made_of_the_specification_again_and_again(start):
    job = {"priority": 7, "metadata": [{"name": "k", "value": "v"}]}
    sim = start(jobSchedules=[a_schedule(job=job, recurrenceInterval="PT1H")], until="PT3H30M")
    run(sim, minutes=210)
    assert made(sim) == {"s:job-1": 0, "s:job-2": 60, "s:job-3": 120, "s:job-4": 180}
    assert [sim.world.jobs.find(job_id).priority for job_id in made(sim)] == [7] * 4


def test_js_2_without_times_a_schedule_makes_one_job_at_once(start):
    sim = start(jobSchedules=[a_schedule()])
    run_to_end(sim)
    assert made(sim) == {"s:job-1": 0}


def test_js_2_no_job_comes_before_do_not_run_until_nor_after_do_not_run_after(start):
    window = {"doNotRunUntil": at("09:00"), "doNotRunAfter": at("11:00")}
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT50M", **window)])
    run_to_end(sim)
    assert list(made(sim).values()) == [60, 110, 160]


def test_js_3_a_job_waits_for_the_one_before(start):
    sim = start(jobSchedules=[a_schedule(minutes=75, recurrenceInterval="PT1H")], until="PT4H")
    run_to_end(sim)
    first, second, third, *_ = made(sim).values()
    (one, two, *_) = (when / 60 for when in times(sim, "JobStateChanged", to="completed") if when <= 4 * 3600)
    assert (first, second, third) == (0, one, two)
    assert 75 < one < 77


def test_js_3_an_occurrence_is_lost_when_the_one_before_outlasts_its_window(start):
    schedule = a_schedule(minutes=75, recurrenceInterval="PT1H", startWindow="PT10M")
    sim = start(jobSchedules=[schedule], until="PT5H")
    run(sim, minutes=299)
    assert list(made(sim).values()) == [0, 120, 240]
    assert record(sim).missed == 2


def test_js_3_of_several_that_are_due_only_the_last_is_made(start):
    sim = start(jobSchedules=[a_schedule(minutes=190, recurrenceInterval="PT1H", startWindow="PT5H")], until="PT6H")
    run_to_end(sim)
    first, second, *_ = made(sim).values()
    assert first == 0
    assert 190 < second < 195  # the one due at 180 minutes; those of 60 and 120 were not carried on
    assert record(sim).missed == 4  # with those of 240 and 300, until the end of the run


def test_js_3_releasing_is_not_over_yet(start):
    special = {
        "jobPreparationTask": a_line(10),
        "jobReleaseTask": a_line(600),
    }
    sim = start(jobSchedules=[a_schedule(minutes=55, job=special, recurrenceInterval="PT1H")], until="PT2H")
    run_to(sim, minutes=62)
    assert job_state(sim, "s:job-1") == "terminating"
    assert len(made(sim)) == 1
    run_to(sim, minutes=70)
    assert len(made(sim)) == 2


def test_js_4_without_recurrence_the_schedule_is_complete_when_its_job_is(start):
    sim = start(jobSchedules=[a_schedule(doNotRunUntil=at("09:00"))])
    run_to_end(sim)
    (end,) = times(sim, "JobStateChanged", to="completed")
    assert made(sim) == {"s:job-1": 60}
    assert ended(sim) == end / 60


def test_js_5_after_do_not_run_after_it_completes_as_soon_as_no_job_is_active(start):
    idle = a_schedule("idle", recurrenceInterval="PT1H", doNotRunAfter=at("09:30"))
    busy = a_schedule("busy", minutes=50, recurrenceInterval="PT1H", doNotRunAfter=at("09:30"))
    sim = start(jobSchedules=[idle, busy], pool=a_pool(nodes=2))
    run_to_end(sim)
    assert ended(sim, "idle") == 90
    assert ended(sim, "busy") * 60 == times(sim, "JobStateChanged", jobId="busy:job-2", to="completed")[0]
    assert 110 < ended(sim, "busy") < 112


def test_js_5_without_an_end_it_goes_on_until_it_is_terminated(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="P1D")])
    run_to_end(sim)
    assert schedule_state(sim) == "active"
    assert len(made(sim)) == 8  # seven days, both ends included
    do(sim, "terminateJobSchedule", jobScheduleId="s")


def test_js_13_occurrences_lie_on_a_grid_from_creation_or_do_not_run_until(start):
    early = a_schedule("early", doNotRunUntil=at("07:00"), recurrenceInterval="PT1H") | {"at": "PT10M"}
    late = a_schedule("late", doNotRunUntil=at("08:30"), recurrenceInterval="PT1H")
    sim = start(jobSchedules=[early, late], until="PT3H", pool=a_pool(nodes=2))
    run(sim, minutes=179)
    assert list(made(sim, "early").values()) == [10, 70, 130]
    assert list(made(sim, "late").values()) == [30, 90, 150]


def test_js_13_a_disabled_period_skips_occurrences(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H")], until="PT6H")
    run_to(sim, minutes=30)
    do(sim, "disableJobSchedule", jobScheduleId="s")
    run_to(sim, minutes=150)
    assert len(made(sim)) == 1
    do(sim, "enableJobSchedule", jobScheduleId="s")
    run_to(sim, minutes=200)
    assert list(made(sim).values()) == [0, 180]
    assert record(sim).missed == 2


def test_js_4_the_only_occurrence_can_be_made_after_a_disabled_period_within_its_window(start):
    until = {"doNotRunUntil": at("09:00")}
    sim = start(jobSchedules=[a_schedule("wide", **until), a_schedule("narrow", startWindow="PT10M", **until)])
    for schedule_id in ("wide", "narrow"):
        do(sim, "disableJobSchedule", jobScheduleId=schedule_id)
    run_to(sim, minutes=90)
    for schedule_id in ("wide", "narrow"):
        do(sim, "enableJobSchedule", jobScheduleId=schedule_id)
    run(sim, minutes=1)
    assert list(made(sim)) == []
    assert list(made(sim, "wide")) == ["wide:job-1"]
    assert schedule_state(sim, "narrow") == "completed"
    assert record(sim, "narrow").missed == 1


@pytest.mark.parametrize(
    ("timing", "turn", "now", "due", "following", "over"),
    [
        # first, interval, window, last in hours
        ((1, None, None, None), 0, 0.5, None, 1, False),
        ((1, None, None, None), 0, 9, 0, None, False),
        ((1, None, None, None), 1, 9, None, None, True),
        ((1, None, 2, None), 0, 3, 0, None, False),
        ((1, None, 2, None), 0, 3.1, None, None, True),
        ((1, None, None, 2), 0, 2, 0, None, False),
        ((1, None, None, 2), 0, 2.1, None, None, True),
        ((0, 2, None, None), 0, 5, 2, 6, False),
        ((0, 2, None, None), 3, 5, None, 6, False),
        ((0, 2, 1, None), 0, 5, 2, 6, False),
        ((0, 2, 1, None), 0, 5.1, None, 6, False),
        ((0, 2, 2, None), 0, 5.9, 2, 6, False),  # as long as the interval: no limit (JS-3)
        ((0, 2, None, 5), 3, 4.5, None, None, False),  # JS-5: not before the end has passed
        ((0, 2, None, 5), 3, 5, None, None, True),
        ((0, 2, None, 4), 2, 4, 2, None, False),  # due at the very end
        ((0, 2, None, 4), 2, 4.1, None, None, True),
        ((3, 2, None, 2), 0, 3, None, None, True),  # created after its end
    ],
)
def test_js_3_to_5_what_is_due(timing, turn, now, due, following, over):
    hours = Timing(*(None if part is None else round(part * HOUR_MS) for part in timing))
    now_ms = round(now * HOUR_MS)
    assert job_schedules.due_occurrence(hours, turn, now_ms) == due
    assert job_schedules.next_due_ms(hours, turn, now_ms) == (None if following is None else following * HOUR_MS)
    assert job_schedules.is_over(hours, turn, now_ms) is over
