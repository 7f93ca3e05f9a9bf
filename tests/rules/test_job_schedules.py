"""Job schedules (chapter 18), the pools that their jobs share (AUTO-2, AUTO-3), and ids shared with jobs (GEN-2)."""

from __future__ import annotations

import pytest

from engine.rules import occurrences
from engine.rules.occurrences import Timing
from engine.units import HOUR_MS
from tests.builders import (
    a_job,
    a_line,
    a_pool,
    do,
    events,
    job_state,
    pool_state,
    refusal,
    run,
    run_to,
    run_to_end,
    schedule_state,
    times,
)


def at(clock):
    """A moment of the first day, which begins for a scenario at eight."""
    return f"2026-01-05T{clock}:00Z"


def a_schedule(schedule_id="s", minutes=10, job=None, metadata=(), **schedule):
    """A schedule whose jobs have one task, a manager that takes so many minutes and ends its job."""
    manager = {"id": "boss"} | a_line(minutes * 60)
    specification = {"poolInfo": {"poolId": "p"}, "jobManagerTask": manager} | (job or {})
    return {"id": schedule_id, "schedule": schedule, "jobSpecification": specification, "metadata": list(metadata)}


def made(sim, schedule_id="s"):
    """The jobs that a schedule has made, and when in minutes from the start."""
    jobs = events(sim, "JobStateChanged", from_=None)
    return {event["jobId"]: event["t"] / 60 for event in jobs if event["jobId"].startswith(f"{schedule_id}:")}


def record(sim, schedule_id="s"):
    return sim.world.job_schedules.find(schedule_id)


def ended(sim, schedule_id="s"):
    """When a schedule was completed, in minutes."""
    (when,) = times(sim, "JobScheduleStateChanged", scheduleId=schedule_id, to="completed")
    return when / 60


# -- when jobs are due -----------------------------------------------------------------------------------------------


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
    assert record(sim).missed == 2


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
    assert occurrences.due_occurrence(hours, turn, now_ms) == due
    assert occurrences.next_due_ms(hours, turn, now_ms) == (None if following is None else following * HOUR_MS)
    assert occurrences.is_over(hours, turn, now_ms) is over


# -- what is done to a schedule --------------------------------------------------------------------------------------


def test_js_6_disabled_it_makes_no_jobs_and_the_one_there_is_goes_on(start):
    sim = start(jobSchedules=[a_schedule(minutes=30, recurrenceInterval="PT1H")], until="PT3H")
    run_to(sim, minutes=10)
    do(sim, "disableJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "disabled"
    run_to(sim, minutes=150)
    assert job_state(sim, "s:job-1") == "completed"
    assert list(made(sim)) == ["s:job-1"]


def test_js_6_past_its_end_a_disabled_schedule_stays_so_until_it_is_enabled(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H", doNotRunAfter=at("09:30"))])
    do(sim, "disableJobSchedule", jobScheduleId="s")
    run_to(sim, minutes=120)
    assert schedule_state(sim) == "disabled"
    do(sim, "enableJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "completed"


def test_js_8_terminate_ends_the_active_job_and_then_the_schedule(start):
    sim = start(jobSchedules=[a_schedule(minutes=50, recurrenceInterval="PT1H")])
    run_to(sim, minutes=10)
    do(sim, "terminateJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "terminating"
    run_to_end(sim)
    (job,) = events(sim, "JobStateChanged", to="completed")
    (schedule,) = events(sim, "JobScheduleStateChanged", to="completed")
    assert (job["reason"], schedule["rule"]) == ("TerminateJobSchedule", "JS-8")
    assert schedule["seq"] > job["seq"]
    assert list(made(sim)) == ["s:job-1"]


def test_js_8_terminate_waits_for_release_unless_it_is_forced(start):
    special = {"jobPreparationTask": a_line(10), "jobReleaseTask": a_line(600)}
    ends = []
    for force in (False, True):
        sim = start(jobSchedules=[a_schedule(minutes=50, job=special, recurrenceInterval="PT1H")])
        run_to(sim, minutes=10)
        do(sim, "terminateJobSchedule", jobScheduleId="s", force=force)
        run_to_end(sim)
        ends.append(ended(sim))
    assert ends[0] > 20
    assert ends[1] < 11


def test_js_8_terminate_without_a_job_takes_a_moment_too(start):
    sim = start(jobSchedules=[a_schedule(doNotRunUntil=at("12:00"))])
    do(sim, "terminateJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "terminating"
    run(sim, seconds=2)  # TIME-19
    assert schedule_state(sim) == "completed"


def test_js_8_delete_takes_all_jobs_with_their_tasks_and_files(start):
    sim = start(jobSchedules=[a_schedule(minutes=20, recurrenceInterval="PT30M")])
    run_to(sim, minutes=70)
    assert len(made(sim)) == 3
    do(sim, "deleteJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "deleting"
    run_to_end(sim)
    assert schedule_state(sim) is None
    assert not list(sim.world.jobs.present())
    gone = events(sim, "TaskStateChanged", to=None)
    assert [event["jobId"] for event in gone] == ["s:job-1", "s:job-2", "s:job-3"]
    (last,) = events(sim, "JobScheduleStateChanged", to=None)
    assert last["seq"] == len(events(sim))


def test_js_8_a_deleted_schedule_can_be_created_again(start):
    sim = start(jobSchedules=[a_schedule(minutes=1)])
    run_to(sim, minutes=10)
    do(sim, "deleteJobSchedule", jobScheduleId="s")
    run(sim, minutes=1)
    do(sim, "createJobSchedule", **a_schedule(minutes=1))
    run_to_end(sim)
    assert schedule_state(sim) == "completed"
    assert job_state(sim, "s:job-1") == "completed"


def test_js_9_an_update_is_for_jobs_made_afterwards(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H")], until="PT5H")
    run_to(sim, minutes=5)
    changed = a_schedule(job={"priority": 9})["jobSpecification"]
    do(sim, "updateJobSchedule", jobScheduleId="s", jobSpecification=changed)
    run_to(sim, minutes=65)
    assert [sim.world.jobs.find(job_id).priority for job_id in made(sim)] == [0, 9]
    do(sim, "updateJobSchedule", jobScheduleId="s", schedule={"recurrenceInterval": "PT2H"})
    run_to(sim, minutes=299)
    assert list(made(sim).values()) == [0, 60, 120, 240]  # the grid still begins at the creation


def test_js_9_what_is_not_given_stays(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H")], until="PT5H")
    do(sim, "updateJobSchedule", jobScheduleId="s", metadata=[{"name": "a", "value": "b"}])
    spec = record(sim).spec
    assert spec.schedule.recurrence_interval == HOUR_MS
    assert [item.name for item in spec.metadata] == ["a"]
    assert spec.job_specification.job_manager_task is not None


def test_js_9_a_schedule_that_has_made_its_only_job_can_be_given_another_time(start):
    sim = start(jobSchedules=[a_schedule(minutes=30)])
    run_to(sim, minutes=10)
    do(sim, "updateJobSchedule", jobScheduleId="s", schedule={"doNotRunUntil": at("10:00")})
    run_to_end(sim)
    assert list(made(sim).values()) == [0, 120]


@pytest.mark.parametrize("command", ["disable", "enable", "terminate", "delete", "update"])
def test_js_10_a_schedule_that_is_not_there(start, command):
    assert refusal(start(), f"{command}JobSchedule", jobScheduleId="s") == "JobScheduleNotFound"


def test_js_10_what_is_refused_in_which_state(start):
    def refused(sim):
        commands = ("disable", "enable", "terminate", "update")
        return [refusal(sim, f"{command}JobSchedule", jobScheduleId="s") for command in commands]

    sim = start(jobSchedules=[a_schedule(doNotRunUntil=at("12:00"))])
    assert refusal(sim, "createJobSchedule", **a_schedule("S")) == "JobScheduleExists"
    assert refusal(sim, "enableJobSchedule", jobScheduleId="s") == "OperationInvalidForCurrentState"
    do(sim, "disableJobSchedule", jobScheduleId="s")
    assert refusal(sim, "disableJobSchedule", jobScheduleId="s") == "JobScheduleDisabled"
    do(sim, "terminateJobSchedule", jobScheduleId="s")
    assert refused(sim) == ["JobScheduleBeingTerminated"] * 4
    run(sim, minutes=1)
    assert refused(sim) == ["JobScheduleCompleted"] * 4
    do(sim, "deleteJobSchedule", jobScheduleId="s")
    assert refused(sim) == ["JobScheduleBeingDeleted"] * 4
    assert refusal(sim, "deleteJobSchedule", jobScheduleId="s") == "JobScheduleBeingDeleted"


def test_gen_2_jobs_and_job_schedules_share_their_ids(start):
    sim = start(a_job("j"), jobSchedules=[a_schedule("s")])
    run(sim, seconds=1)
    assert refusal(sim, "createJobSchedule", **a_schedule("J")) == "JobWithSameIdExists"
    job = a_job("S")
    assert refusal(sim, "createJob", **job) == "JobScheduleWithSameIdExists"


def test_js_11_ids_count_up_whatever_has_become_of_the_jobs(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H")], until="PT3H")
    run_to(sim, minutes=30)
    do(sim, "deleteJob", jobId="s:job-1")
    run_to(sim, minutes=61)
    assert list(made(sim)) == ["s:job-1", "s:job-2"]
    assert job_state(sim, "s:job-1") is None


def test_js_11_a_user_cannot_take_such_an_id(start):
    assert refusal(start(), "createJob", **a_job("s:job-1")) == "InvalidPropertyValue"


def test_js_12_a_job_that_nobody_ends_blocks_the_rest_and_the_run_is_over(start):
    schedule = a_schedule(recurrenceInterval="PT1H") | {"jobSpecification": {"poolInfo": {"poolId": "p"}}}
    sim = start(jobSchedules=[schedule])
    run_to_end(sim)
    assert list(made(sim)) == ["s:job-1"]
    assert sim.finished
    assert sim.now_ms < HOUR_MS
    do(sim, "terminateJob", jobId="s:job-1")
    run(sim, minutes=119)
    assert list(made(sim).values())[1:] == [60.0]


def test_js_12_an_outside_process_may_fill_and_end_the_jobs(start):
    specification = {"poolInfo": {"poolId": "p"}}
    schedule = a_schedule(recurrenceInterval="PT1H", doNotRunAfter=at("09:00")) | {"jobSpecification": specification}
    timeline = [
        step
        for number in (1, 2)
        for step in (
            {
                "when": {"jobId": f"s:job-{number}", "state": "active"},
                "addTasks": {"jobId": f"s:job-{number}", "tasks": [{"id": "t"} | a_line(60)]},
            },
            {
                "when": {"jobId": f"s:job-{number}", "tasks": {"completed": 1}},
                "terminateJob": {"jobId": f"s:job-{number}"},
            },
        )
    ]
    sim = start(jobSchedules=[schedule], timeline=timeline)
    run_to_end(sim)
    assert [job_state(sim, job_id) for job_id in made(sim)] == ["completed"] * 2
    assert schedule_state(sim) == "completed"


# -- quota and auto pools --------------------------------------------------------------------------------------------


def test_js_14_a_schedule_and_its_active_job_take_a_unit_each(start):
    account = {"quotas": {"activeJobsAndSchedules": 3}}
    sim = start(jobSchedules=[a_schedule(minutes=30)], account=account)
    run(sim, seconds=1)
    do(sim, "createJob", **a_job("j"))
    assert refusal(sim, "createJob", **a_job("k")) == "ActiveJobAndScheduleQuotaReached"
    assert refusal(sim, "createJobSchedule", **a_schedule("t")) == "ActiveJobAndScheduleQuotaReached"
    run_to(sim, minutes=60)  # the schedule is completed, with its job
    do(sim, "createJob", **a_job("k"))


def test_acc_9_short_of_quota_a_schedule_tries_each_minute_within_its_window(start):
    account = {"quotas": {"activeJobsAndSchedules": 2}}
    schedule = a_schedule(minutes=1, doNotRunUntil=at("08:10"), recurrenceInterval="PT1H", startWindow="PT30M")
    sim = start(a_job("j"), jobSchedules=[schedule], account=account, until="PT3H")
    run_to(sim, minutes=20, seconds=10)
    assert not made(sim)
    do(sim, "terminateJob", jobId="j")
    run_to(sim, minutes=60)
    assert list(made(sim).values()) == [21]  # the next whole minute since it was due


def test_acc_9_after_its_window_the_occurrence_is_lost(start):
    account = {"quotas": {"activeJobsAndSchedules": 2}}
    schedule = a_schedule(minutes=1, doNotRunUntil=at("08:10"), recurrenceInterval="PT1H", startWindow="PT5M")
    sim = start(a_job("j"), jobSchedules=[schedule], account=account, until="PT3H")
    run_to(sim, minutes=20)
    do(sim, "terminateJob", jobId="j")
    run_to(sim, minutes=100)
    assert list(made(sim).values()) == [70]
    assert record(sim).missed == 1


def test_acc_9_while_the_quota_is_full_nothing_keeps_the_run_alive(start):
    account = {"quotas": {"activeJobsAndSchedules": 2}}
    sim = start(a_job("j"), jobSchedules=[a_schedule()], account=account)
    run_to_end(sim)
    assert sim.now_ms < HOUR_MS
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert len(made(sim)) == 1
    assert schedule_state(sim) == "completed"


def auto(option, **more):
    pool = {"vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    specification = {"autoPoolIdPrefix": "night", "poolLifetimeOption": option, "pool": pool} | more
    return {"poolInfo": {"autoPoolSpecification": specification}}


def pools_of(sim):
    return [event["poolId"] for event in events(sim, "PoolStateChanged", from_=None) if event["poolId"] != "p"]


def test_auto_2_in_a_schedule_each_job_has_a_pool_of_its_own(start):
    schedule = a_schedule(job=auto("job"), recurrenceInterval="PT1H", doNotRunAfter=at("10:00"))
    sim = start(jobSchedules=[schedule])
    run_to_end(sim)
    assert len(set(pools_of(sim))) == 3
    ends = times(sim, "JobStateChanged", to="completed")
    assert times(sim, "PoolStateChanged", to="deleting") == ends


def test_auto_2_the_jobs_of_a_schedule_can_share_one_pool(start):
    schedule = a_schedule(job=auto("jobschedule"), recurrenceInterval="PT1H", doNotRunAfter=at("10:00"))
    sim = start(jobSchedules=[schedule])
    run_to_end(sim)
    (pool,) = pools_of(sim)
    assert pool.startswith("night")
    assert {sim.world.jobs.find(job_id).pool_id for job_id in made(sim)} == {pool}
    assert times(sim, "PoolStateChanged", to="deleting") == times(sim, "JobScheduleStateChanged", to="completed")
    assert pool_state(sim, pool) is None


def test_auto_3_the_shared_pool_goes_when_the_schedule_is_deleted_and_stays_if_it_is_to_be_kept(start):
    kept = a_schedule("kept", job=auto("jobschedule", keepAlive=True))
    gone = a_schedule("gone", minutes=30, job=auto("jobschedule"))
    sim = start(jobSchedules=[kept, gone])
    run_to(sim, minutes=20)
    do(sim, "deleteJobSchedule", jobScheduleId="gone")
    run_to_end(sim)
    first, second = pools_of(sim)
    assert schedule_state(sim, "kept") == "completed"
    assert (pool_state(sim, first), pool_state(sim, second)) == ("active", None)


def test_auto_2_a_shared_pool_that_somebody_has_deleted_is_made_again(start):
    schedule = a_schedule(job=auto("jobschedule"), recurrenceInterval="PT1H", doNotRunAfter=at("09:00"))
    sim = start(jobSchedules=[schedule])
    run_to(sim, minutes=30)
    do(sim, "deletePool", poolId=pools_of(sim)[0])
    run_to_end(sim)
    assert len(set(pools_of(sim))) == 2
    assert job_state(sim, "s:job-2") == "completed"


def test_job_20_a_job_whose_pool_cannot_be_made_is_over_and_the_next_one_tries_again(start):
    schedule = a_schedule(job=auto("jobschedule"), recurrenceInterval="PT1H", doNotRunAfter=at("09:00"))
    sim = start(jobSchedules=[schedule], account={"quotas": {"pools": 1}})
    run_to(sim, minutes=30)
    assert sim.world.jobs.find("s:job-1").scheduling_error is not None
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert sim.world.jobs.find("s:job-2").scheduling_error is None
    assert schedule_state(sim) == "completed"
