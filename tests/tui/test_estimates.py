"""When it will end: estimated where that can be done, and said on the rail and the scrubber."""

from __future__ import annotations

import asyncio

import pytest

from engine import Simulation, load_scenario
from engine.state.tasks import RUNNING
from engine.views.diagnosis.estimates import Forecaster, planned_task_end_ms
from engine.views.log.reader import matching
from engine.views.results import end_of_run
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, from_yaml, run_to, simulation, some_tasks
from tests.tui.screen_text import after, text_of
from tui.viewmodels.frame import scrubber, scrubber_ms
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain, width
from tui.viewmodels.watch import job_strip

PREPARING_S, WORKING_S, LAST_S, RELEASING_S, END_S = 70, 330, 420, 460, 1000


def fourth_line(session):
    return plain(job_strip.rail(session, 116, 4)[-1])


def test_preparation_is_done_when_the_last_that_runs_ends_as_planned(session_at):
    assert session_at(PREPARING_S).forecast().preparation_ms == 91_000
    assert "Estimated: preparation ends 08:01:31" in fourth_line(session_at(PREPARING_S))


def test_the_first_start_of_a_task_is_searched_once_however_time_is_moved(session_at, monkeypatch):
    session = session_at(400)
    expected = {}
    searched = []
    for seconds in (350, 400):
        session.simulation.seek(seconds * 1000)
        session.update()
        expected[seconds] = session.forecast()
    monkeypatch.setattr("engine.views.log.reader.matching", lambda *_: searched.append(None) or iter(()))
    for seconds in (350, 20, 400):
        session.simulation.seek(seconds * 1000)
        session.update()
        assert session.forecast() == expected.get(seconds, session.forecast())
    assert not searched


def two_jobs_under_way():
    """Two jobs of which a task or two are completed, running and waiting."""
    sim = simulation(a_job("one", tasks=9), a_job("two", tasks=9), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S + 150)
    return sim


def focused_on_two(sim):
    session = Session(sim)
    session.focus_job("two")
    return session


def test_the_first_start_of_each_job_is_searched_once_whichever_is_in_focus(monkeypatch):
    sim, searched = two_jobs_under_way(), []
    session = Session(sim)

    def counted(*wanted):
        searched.append(None)
        return matching(*wanted)

    monkeypatch.setattr("engine.views.log.reader.matching", counted)
    ends = {}
    for job_id in ("one", "two", "one", "two"):
        session.focus_job(job_id)
        assert ends.setdefault(job_id, session.forecast()).tasks_ms is not None
    assert len(searched) == 2


def test_the_first_start_of_a_job_is_searched_again_in_another_branch():
    sim = two_jobs_under_way()
    session = focused_on_two(sim)
    assert session.forecast().tasks_ms is not None
    sim.seek((READY_S - 1) * 1000)
    sim.branch()
    do(sim, "disableJob", jobId="two", disableTasks="requeue")
    run_to(sim, seconds=READY_S + 90)
    do(sim, "enableJob", jobId="two")
    run_to(sim, seconds=READY_S + 300)
    session.update()
    assert session.forecast() == focused_on_two(sim).forecast()
    assert session.forecast().tasks_ms is not None


def test_the_end_of_preparation_is_not_taken_for_the_end_of_the_run(session_at):
    session = session_at(PREPARING_S)
    assert session.forecast().end_ms is None
    assert "estimated end" not in plain(scrubber(session, 120))


def test_nodes_that_have_not_prepared_may_do_so_later():
    sim = simulation(a_job(tasks=9, prep=a_line(40)), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S + 5)
    session = Session(sim)
    assert session.forecast().preparation_ms is not None
    waiting = simulation(
        a_job(tasks=9, prep=a_line(40)),
        pool=a_pool(nodes=1),
        timeline=[{"at": READY_S + 1, "resizePool": {"poolId": "p", "targetDedicatedNodes": 3}}],
    )
    run_to(waiting, seconds=READY_S + 20)
    session = Session(waiting)
    assert session.forecast().preparation_ms is None
    assert "preparation" not in fourth_line(session)


@pytest.mark.parametrize("seconds", [200, 250, 300, 350, 400, 450])
def test_the_end_is_estimated_from_what_is_done(session_at, seconds):
    session = session_at(seconds)
    forecast = session.forecast()
    last_task_ms, completed_ms = 457_000, 478_000
    assert forecast.tasks_ms == pytest.approx(last_task_ms, rel=0.14)
    assert forecast.job_ms == pytest.approx(completed_ms, rel=0.14)  # a node is lost at 300 s
    assert session.now_ms < forecast.tasks_ms < forecast.job_ms == forecast.end_ms


def test_once_no_task_waits_the_end_is_what_is_planned(session_at):
    session = session_at(LAST_S)
    planned_ms = session.forecast().tasks_ms
    session.simulation.run_until(planned_ms - 1)
    session.update()
    assert session.job("risk").phases.tasks.running
    assert session.forecast().tasks_ms == planned_ms
    session.simulation.run_until(planned_ms)
    session.update()
    assert not session.job("risk").phases.tasks.running


def test_of_the_last_tasks_the_longest_of_those_that_run_counts():
    tasks = [a_task("long", 1200), *some_tasks(6, 60)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 330)  # the long one and the fifth of the others run, the sixth waits
    assert Session(sim).forecast().tasks_ms == pytest.approx((READY_S + 1200) * 1000, abs=2000)


@pytest.fixture(scope="module")
def with_retries():
    """A large job of which one attempt in twenty fails, with two retries, and when its tasks begin and end."""
    work = {"duration": {"uniform": ["PT10S", "PT10M"]}, "exitCode": {0: 0.95, 1: 0.05}}
    repeat = {"id": "t{0}", "commandLine": "work", "simulate": work}
    factory = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": 4000}], "repeatTask": repeat}
    job = {"id": "j", "poolInfo": {"poolId": "p"}, "constraints": {"maxTaskRetryCount": 2}, "taskFactory": factory}
    sim = simulation(job, pool=a_pool(nodes=10, vmSize="standard_d4s_v3", taskSlotsPerNode=4))
    sim.run_until(sim.end_ms)
    return sim, min(sim.world.tasks.started), max(sim.world.tasks.ended)


def test_retries_to_come_and_the_longest_tasks_of_the_last_round_are_expected(with_retries):
    sim, began_ms, end_ms = with_retries
    errors = []
    for percent in (10, 50, 80, 95):
        sim.seek(began_ms + (end_ms - began_ms) * percent // 100)
        errors.append((Session(sim).forecast().tasks_ms - end_ms) / (end_ms - began_ms))
    assert max(map(abs, errors)) < 0.04


def test_the_estimate_of_a_large_job_stands_until_a_little_more_has_happened(with_retries, monkeypatch):
    monkeypatch.setattr("engine.views.diagnosis.estimates.MANY", 10)
    sim, began_ms, end_ms = with_retries
    made, ends, estimated = [], set(), Forecaster._last_end_ms
    monkeypatch.setattr(Forecaster, "_last_end_ms", lambda *job: made.append(None) or estimated(*job))
    middle_ms = (began_ms + end_ms) // 2
    sim.seek(middle_ms)
    session = Session(sim)
    for at in range(40):
        sim.seek(middle_ms + at * 1000)
        session.update()
        ends.add(session.forecast().tasks_ms)
    sim.seek(middle_ms + (end_ms - began_ms) // 10)
    session.update()
    ends.add(session.forecast().tasks_ms)
    assert len(ends) == len(made) == 2
    sim.seek(middle_ms)  # time went back: all is another
    session.update()
    assert session.forecast() == Session(sim).forecast()
    assert len(made) == 4


def test_a_single_long_task_is_not_expected_to_be_followed_by_others_like_it():
    tasks = [a_task("long", 5400), *some_tasks(60, 60)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(vmSize="standard_d4s_v3", taskSlotsPerNode=4))
    run_to(sim, seconds=READY_S + 330)
    assert Session(sim).forecast().tasks_ms == pytest.approx((READY_S + 5400) * 1000, abs=2000)


def test_of_many_that_run_the_longest_counts_also_where_it_is_not_looked_at():
    tasks = [a_task("long", 300), a_task("longest", 5400), *some_tasks(900, 60)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(nodes=25, vmSize="standard_d4s_v3", taskSlotsPerNode=16))
    run_to(sim, seconds=READY_S + 100)
    assert sim.world.jobs.find("j").counts[RUNNING] == 400  # every second one is looked at
    assert Session(sim).forecast().tasks_ms == max(sim.world.tasks.ended)


def test_while_release_runs_the_end_is_what_is_planned(session_at):
    session = session_at(RELEASING_S)
    estimated_ms = session.forecast().job_ms
    session.simulation.run_until(END_S * 1000)
    session.update()
    assert estimated_ms == pytest.approx(session.job("risk").record.end_ms, abs=2000)
    assert session.forecast().end_ms is None
    assert "Ended 08:07:5" in fourth_line(session)


def test_a_simulated_end_comes_after_nothing_that_is_later():
    session = Session(Simulation(load_scenario("terminate-then-delete")))
    session.simulation.run_until(107_000)
    while session.ahead.advance(10_000):
        pass
    session.update()
    assert "job ends 08:05:41, after terminateJob at 08:05:00" in fourth_line(session)


def test_a_task_that_has_only_been_added_has_not_waited(session_at):
    assert "oldest wait" not in fourth_line(session_at(0.5))


def test_a_run_that_ends_at_its_until_says_what_has_not_ended():
    sim = from_yaml(
        "{scenario: s, until: PT10M, pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}], "
        "jobs: [{id: j, poolInfo: {poolId: p}, tasks: [{id: t, commandLine: x, simulate: {duration: PT1H}}]}]}"
    )
    run_to(sim, minutes=9)
    assert "The run ends here" not in fourth_line(Session(sim))
    run_to(sim, minutes=10)
    said = "The run ends here, as its until says; the job is still active, with 1 running task"
    assert fourth_line(Session(sim)).startswith(said)
    assert end_of_run(sim) == "until is reached, which cuts off 1 running task"


def played_ahead(sim):
    session = Session(sim)
    while session.ahead.advance(10_000):
        pass
    session.update()
    return session


def test_an_end_that_rests_on_a_command_names_it_and_no_task_is_done_that_is_deleted():
    tasks = [a_task("1", 5, 1), a_task("never", dependsOn={"taskIds": ["1"]})]
    delete = {"at": "PT10M", "deleteTask": {"jobId": "j", "taskId": "never"}}
    job = a_job(tasks=tasks, usesTaskDependencies=True, onAllTasksComplete="terminatejob")
    session = played_ahead(simulation(job, timeline=[delete]))
    run_to(session.simulation, seconds=READY_S)
    session.update()
    line = fourth_line(session)
    assert "Simulated: no task left 08:10:00 · job ends 08:10:02, after deleteTask at 08:10:00" in line
    assert "tasks end" not in line
    narrow = plain(job_strip.rail(session, 78, 4)[-1])
    assert "Simulated: no task left 08:10:00 · job 08:10:02, after deleteTask at 08:10:00" in narrow


def test_a_job_that_a_dependency_keeps_open_also_ends_when_no_task_is_left():
    tasks = [a_task("1", 5, 1), a_task("never", dependsOn={"taskIds": ["1"]})]
    session = played_ahead(simulation(a_job(tasks=tasks, usesTaskDependencies=True, onAllTasksComplete="terminatejob")))
    run_to(session.simulation, seconds=READY_S)
    session.update()
    assert "the job stays active until no task is left or it is terminated" in fourth_line(session)


def test_of_many_commands_the_last_is_named_and_those_that_are_over_or_of_others_are_not_counted():
    def resized(at, pool="p"):
        return {"at": at, "resizePool": {"poolId": pool, "targetDedicatedNodes": 2}}

    timeline = [resized(60), resized(100), resized(105, "other"), resized(130), resized(1000)]
    pools = [a_pool(), a_pool("other", nodes=0)]
    sim = simulation(a_job(tasks=9, onAllTasksComplete="terminatejob"), pools=pools, timeline=timeline)
    session = played_ahead(sim)
    run_to(session.simulation, seconds=70)
    session.update()
    assert (
        fourth_line(session)
        .strip()
        .split(", ", 1)[1]
        .startswith("after 2 more commands, of which the last is resizePool at 08:02:10")
    )
    run_to(session.simulation, seconds=140)
    session.update()
    assert "after" not in fourth_line(session)


def test_with_too_little_done_nothing_is_estimated_and_that_is_said(session_at):
    session = session_at(150)
    assert session.forecast().tasks_ms is None
    assert "Preparation ended 08:02:12" in fourth_line(session)
    assert "No estimate before 4 completed tasks" in fourth_line(session)


def test_a_job_that_no_task_ends_stays_active_unless_it_has_a_limit():
    sim = simulation(a_job(tasks=4))
    run_to(sim, seconds=READY_S + 190)
    assert "the job stays active until it is terminated" in fourth_line(Session(sim))
    limited = simulation(a_job(tasks=4, constraints={"maxWallClockTime": "PT1H"}))
    run_to(limited, seconds=READY_S + 190)
    assert Session(limited).forecast().job_ms == 3_600_000


def test_estimates_follow_time_back(session_at):
    session = session_at(WORKING_S)
    then = session.forecast()
    session.simulation.run_until(END_S * 1000)
    session.update()
    session.simulation.seek(WORKING_S * 1000)
    session.update()
    assert session.forecast() == then


def test_where_lines_are_few_each_bar_has_its_end(session_at):
    for cells in (58, 78, 116):
        lines = job_strip.rail(session_at(WORKING_S), cells, 3)
        assert len(lines) == 3
        assert plain(lines[1]).endswith("est. 08:07:30")
        assert all(width(each) <= cells for each in lines)


def test_the_scrubber_reaches_the_planned_end(session_at):
    session = session_at(WORKING_S)
    strip = plain(scrubber(session, 120))
    assert "estimated end 08:07:50" in strip
    last = strip.rindex("┄")
    assert scrubber_ms(session, last, 120) == pytest.approx(session.forecast().end_ms, abs=8000)


@pytest.mark.parametrize("size", [(60, 16), (60, 20), (120, 22), (60, 24), (120, 30)])
def test_below_24_rows_the_scrubber_goes_and_six_hints_stay(dashboard_at, size):
    lines = after(dashboard_at(WORKING_S), size=size)
    assert any("▲" in each for each in lines) == (size[1] >= 24)
    assert all(any(word in each for each in lines) for word in ("Prep", "Tasks", "Release"))
    hints = lines[-1].strip().split("  ")
    assert hints[-3:] == ["ctrl+p commands", "? help", "q quit"]
    assert size[1] >= 24 or len(hints) == 6


def test_other_jobs_on_the_pool_are_counted_until_they_are_completed():
    sim = simulation(a_job("one", tasks=20), a_job("two", tasks=20), a_job("brief", onAllTasksComplete="terminatejob"))
    run_to(sim, seconds=READY_S)
    assert "2 other jobs here" in job_strip.rail_title(Session(sim), 116)
    run_to(sim, minutes=60)
    assert "1 other job here" in job_strip.rail_title(Session(sim), 116)


def test_a_part_of_the_breadcrumb_can_be_clicked(dashboard_at):
    app = dashboard_at(WORKING_S)
    seen = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            for word in ("shared", "risk", "one-node-fails"):
                await pilot.click("#breadcrumb", offset=(text_of(app)[0].index(word), 0))
                await pilot.pause()
                seen.append(app.screen.view.id)

    asyncio.run(run())
    assert seen == ["pools", "jobs", "watch"]


def test_where_nothing_runs_nothing_is_promised(session_at):
    session = session_at(400, "preparation-fails-everywhere")
    assert "No estimate: no task runs" in fourth_line(session)
    assert "none owed so far" in plain(job_strip.rail(session, 116, 4)[-2])


def test_the_estimate_below_several_jobs_names_its_job():
    session = focused_on_two(two_jobs_under_way())
    strip = job_strip.JobStripModel(session)
    strip.update()
    *rows, last = (plain(each) for each in strip.lines(116, 5, 0))
    assert len(rows) == 2
    assert last.startswith("  two  Estimated: tasks end 08:")


def test_the_estimate_of_a_job_knows_the_wait_for_the_release_on_a_node_out_of_reach():
    job = a_job(tasks=some_tasks(4, 300), prep=a_line(5), release=a_line(5), onAllTasksComplete="terminatejob")
    lost = {"at": READY_S + 100, "failNode": {"poolId": "p", "node": 1, "state": "unusable", "for": "PT2H"}}
    sim = simulation(job, pool=a_pool(nodes=2), timeline=[lost])
    run_to(sim, seconds=READY_S + 700)
    found = Session(sim).forecast()
    assert found.job_ms - found.tasks_ms == 900_000
    while not sim.world.jobs[0].end_ms:
        sim.step()
    assert abs(sim.world.jobs[0].end_ms - found.job_ms) < 30_000


def test_an_estimated_end_beside_other_jobs_or_a_job_schedule_says_whose_it_is():
    ends = {"onAllTasksComplete": "terminatejob"}
    sim = simulation(a_job("first", tasks=9, **ends), a_job("second", tasks=3, **ends), pool=a_pool(nodes=1))
    run_to(sim, seconds=READY_S + 200)
    session = Session(sim)
    session.focus_job("second")
    assert session.forecast().end_ms is not None
    assert " estimated end of second 08:" in plain(scrubber(session, 120))
    assert plain(scrubber(session, 120)).count("┄") > 10
    schedule = {
        "id": "hourly",
        "schedule": {"recurrenceInterval": "PT1H"},
        "jobSpecification": {
            "poolInfo": {"poolId": "p"},
            "jobManagerTask": {"id": "manager"} | a_line(300),
        },
    }
    sim = simulation(jobSchedules=[schedule])
    run_to(sim, seconds=READY_S + 60)
    assert " estimated end of hourly:job-1 08:" in plain(scrubber(Session(sim), 120))


@pytest.mark.parametrize("kills", [True, False])
def test_a_job_that_its_job_manager_task_ends_is_not_said_to_stay_active(kills):
    manager = {"id": "manager", "killJobOnCompletion": kills} | a_line(600)
    sim = simulation(a_job(tasks=[], jobManagerTask=manager))
    run_to(sim, minutes=3)
    assert Session(sim).forecast().stays_active is not kills


def test_a_job_that_the_timeline_ends_is_estimated_and_drawn_no_farther():
    sim = simulation(
        a_job(tasks=some_tasks(4, seconds=600)),
        timeline=[{"at": "PT30M", "terminateJob": {"jobId": "j"}}],
    )
    run_to(sim, minutes=25)
    session = Session(sim)
    forecast = session.forecast()
    assert (forecast.tasks_ms, forecast.job_ms, forecast.stays_active) == (None, 1_800_000, False)
    (running,) = session.tasks("j").running()
    assert planned_task_end_ms(sim, running) == 1_800_000


MIXED = """
scenario: mixed
until: PT3H
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 2}]
jobs:
  - id: j
    poolInfo: {poolId: p}
    usesTaskDependencies: true
    onAllTasksComplete: terminatejob
    tasks:
      - {id: a, commandLine: x, simulate: {duration: PT5M, exitCode: 1}}
      - {id: b, commandLine: x, simulate: {duration: PT10M}}
      - {id: c, commandLine: x, simulate: {duration: PT30M}}
      - {id: d, commandLine: x, dependsOn: {taskIds: [a]}}
"""


@pytest.mark.parametrize("constraints", ["", "\n    constraints: {maxWallClockTime: PT2H}"])
def test_a_job_with_tasks_that_never_run_ends_at_its_limit_or_not_at_all(constraints):
    text = MIXED.replace("poolInfo: {poolId: p}", "poolInfo: {poolId: p}" + constraints)
    session = Session(Simulation(load_scenario("mixed", text=text)))
    for seconds in (600, 1_200, 2_100, 3_600):  # failed, running and waiting tasks; at last only one that waits
        session.simulation.run_until(seconds * 1000)
        session.update()
        assert session.forecast().tasks_ms is None
        assert session.forecast().job_ms == (7_200_000 if constraints else None)
        stays = "the job stays active until no task is left or it is terminated"
        assert fourth_line(session).startswith("Estimated: job ends 10:00:00" if constraints else stays)


@pytest.mark.parametrize(
    "never_fits",
    [{"requiredSlots": 2}, {"multiInstanceSettings": {"numberOfInstances": 2, "coordinationCommandLine": "mpi"}}],
)
@pytest.mark.parametrize("ends", ["noaction", "terminatejob"])
def test_the_end_of_a_job_is_not_estimated_while_a_task_waits_that_fits_no_node(never_fits, ends):
    tasks = [*some_tasks(9), a_task("large", **never_fits)]
    sim = simulation(a_job("one", tasks=tasks, onAllTasksComplete=ends), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S + 150)
    forecast = Session(sim).forecast()
    assert sim.world.jobs.find("one").counts[RUNNING]
    assert (forecast.tasks_ms, forecast.job_ms, forecast.end_ms) == (None, None, None)
    do(sim, "deleteTask", jobId="one", taskId="large")
    assert Session(sim).forecast().tasks_ms is not None
