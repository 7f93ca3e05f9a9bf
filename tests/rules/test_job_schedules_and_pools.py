"""Chapter 18: quotas, and the pools that the jobs of a schedule share (AUTO-2, AUTO-3)."""

from __future__ import annotations

from engine.base.values import HOUR_MS
from tests.builders import (
    a_job,
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
from tests.rules.schedules import a_schedule, at, made, record


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
