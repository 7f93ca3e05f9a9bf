"""Needs attention: what is on the list, in which order, and what can be done with a group."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.base.terms import JobState
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.model import Severity
from engine.views.diagnosis.questions import explain
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    job_state,
    run_to,
    run_to_end,
    simulation,
    wait_for,
)
from tests.rules.schedules import a_schedule
from tests.tui.concerns import broken, listed, two_jobs
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.glyphs import glyph_of_job
from tui.viewmodels.lists.instances import ReleaseModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, Role, plain
from tui.viewmodels.watch import job_strip
from tui.viewmodels.watch.attention import AttentionModel

BROKEN_S = 30


@pytest.mark.parametrize(("state", "said", "symbol"), [("unusable", "unusable", "⊗"), ("unknown", "contact lost", "?")])
def test_a_node_that_has_gone_wrong_is_listed_with_the_time_and_its_name(state, said, symbol):
    model, lines = listed(broken(state))
    assert lines[0].split() == [symbol, *f"node n1: {said} 08:01:20".split()]
    assert model.destination(0) == ("nodes", 1, ItemRef("pool", "p"))
    assert model.subjects(0) == [ItemRef("node", 1)]


@pytest.mark.parametrize("minutes", [1, 14.5, 40, 49])
def test_nodes_that_closed_ports_cut_off_are_a_standstill_however_often_they_boot(minutes):
    sim = Simulation(load_scenario("a-blocked-subnet"))
    run_to(sim, minutes=minutes)
    concerns = Session(sim).concerns()
    assert concerns[0].text == "2 tasks of curves wait: no node takes tasks"
    assert concerns[0].effect == (
        "closed ports in the subnet of pool pricing cut its nodes off from Batch (NET-4); "
        "the timeline has resizePool at 08:50:00 and 2 more"
    )
    remedies = {concern.remedy for concern in concerns}
    assert remedies == {"empty the pool, then give it simplified communication"}


def test_tasks_whose_pool_is_being_emptied_wait_in_vain():
    sim = Simulation(load_scenario("a-blocked-subnet"))
    run_to(sim, minutes=50)
    concern = Session(sim).concerns()[0]
    assert (concern.text, concern.effect) == (
        "2 tasks of curves wait: no node takes tasks",
        "2 nodes leaving the pool; the timeline has updatePool at 08:52:00 and 1 more",
    )


def test_tasks_without_a_node_have_waited_since_the_last_one_went_out_of_order():
    sim = Simulation(load_scenario("a-full-disk"))
    run_to(sim, minutes=9)
    concern = Session(sim).concerns()[0]
    assert concern.text == "1 task of light waits: no node takes tasks"
    assert concern.since_ms == 505_597


def test_a_release_on_an_unusable_node_is_awaited_but_not_for_ever():
    sim = Simulation(load_scenario("offline-and-unusable-at-the-end"))
    run_to(sim, minutes=20)
    session = Session(sim)
    effect = next(concern.effect for concern in session.concerns() if "DiskFull" in concern.text)
    assert effect == "billed, but no tasks run there; align waits for release there, at most until 08:25:00"
    assert "1 awaited, at most until 08:25:00" in plain(job_strip.rail(session, 116, 4)[2])
    model = ReleaseModel(session)
    model.update()
    said = "∎ 5 released   : 1 owed   ⊝ 2 skipped   awaited, at most until 08:25:00   3 nodes without a record"
    assert plain(model.summary()) == said
    said = explain(sim, "node", 5)[0].lines()
    assert "Release of job align runs when the node is ready, unless that is after 08:25:00. [REL-13]" in said
    run_to(sim, minutes=26)
    assert job_state(sim, "align") == "completed"
    assert not any("waits for release" in concern.effect for concern in Session(sim).concerns())


def test_a_job_that_also_waits_for_booting_nodes_has_no_last_moment():
    sim = Simulation(load_scenario("offline-and-unusable-at-the-end"))
    run_to(sim, minutes=11)
    assert plain(job_strip.rail(Session(sim), 116, 4)[2]).rstrip().endswith("5 awaited")


def test_a_failed_start_task_is_listed():
    start = a_line(5, 1, waitForSuccess=True)
    sim = simulation(a_job(tasks=1), pool=a_pool(nodes=4, startTask=start))
    run_to(sim, seconds=READY_S + 20)
    model, lines = listed(sim)
    at = next(at for at, each in enumerate(lines) if "all 4 nodes: start task failed  n0, n1, n2 …" in each)
    assert lines[at + 1 : at + 3] == [
        "  billed, but no tasks run there; a reboot or a reimage would fail again (simulated)",
        "  a: remove or give the pool another start task",
    ]
    assert lines[0].startswith("✗ 1 task of j waits: no node takes tasks")
    number = next(number for number, concern in enumerate(model.concerns) if concern.about == "node")
    assert model.subjects(number) == [ItemRef("node", node) for node in range(4)]


def test_a_failed_preparation_is_listed_until_its_job_is_completed_and_its_node_gone():
    prep = a_line(5, simulate={"onNode": {0: {"exitCode": 3}}}, constraints={"maxTaskRetryCount": 0})
    sim = simulation(
        a_job(tasks=[a_task("t1", 30)], prep=prep, onAllTasksComplete="terminatejob"), pool=a_pool(nodes=2)
    )
    wait_for(sim, lambda: job_state(sim, "j") == "completed")
    assert listed(sim)[1][0].startswith("! preparation task failed on n0: exit code 3")
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to_end(sim)
    assert not any("preparation" in each for each in listed(sim)[1])


def test_a_pool_that_no_job_uses_yet_is_listed_by_its_name():
    sim = Simulation(load_scenario("quota-keeps-the-pool-small"))
    run_to(sim, minutes=4)
    session = Session(sim)
    assert session.pool_id == "pricing"
    model, lines = listed(sim)
    assert lines[0].startswith("! pool risk: resize failed: AccountCoreQuotaReached")
    assert lines[1] == "  the pool asked for 12 more dedicated cores; 12 of 20 were in use"
    assert model.destination(0) == ("pools", "risk", ItemRef("pool", "risk"))
    assert model.subjects(0) == [ItemRef("pool", "risk")]


def test_a_resize_that_fell_short_and_a_formula_that_fails_are_of_the_pool():
    sim = simulation(a_job(), pool=a_pool(nodes=60))
    run_to(sim, minutes=3)
    model, lines = listed(sim)
    assert lines[0].startswith("! pool p: resize failed: AccountCoreQuotaReached")
    assert model.subjects(0) == [ItemRef("pool", "p")]
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "enableAutoScale": True}
    pool["autoScaleFormula"] = "$TargetDedicatedNodes = 1 / ($CurrentDedicatedNodes - 0);"
    failing = simulation(a_job(), pool=pool)
    run_to(failing, minutes=20)
    assert any(each.startswith("! pool p: formula failed: ") for each in listed(failing)[1])
    (since_ms,) = {each.since_ms for each in Attention(failing).concerns() if "formula failed" in each.text}
    assert since_ms == failing.world.pools[0].scaling.runs[0].when_ms < failing.world.pools[0].scaling.run.when_ms


def test_a_pool_that_waits_in_vain_for_tasks_before_it_shrinks_has_not_failed():
    sim = Simulation(load_scenario("a-day-of-autoscaling"))
    run_to(sim, minutes=18 * 60 + 50)  # between a removal that timed out and the next try
    model, lines = listed(sim)
    assert [concern.severity for concern in model.concerns] == [Severity.NOTICE]
    assert lines[0].startswith("! pool elastic keeps 1 node more than its target")
    effect = " ".join(each.strip() for each in lines[1:])
    assert (
        effect
        == "tasks on them did not end within the resize timeout (RSZ-5); its formula tries again at 19:00:00 (AS-80)"
    )
    assert not Session(sim).events.failures()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"pool": a_pool(nodes=0)}, "✗ 3 tasks of j wait: pool p has no nodes"),
        ({"timeline": [{"at": 5, "disableJob": {"jobId": "j", "disableTasks": "wait"}}]}, "✗ job j is disabled"),
        ({"timeline": [{"at": 5, "deletePool": {"poolId": "p"}}]}, "✗ 3 tasks of j wait for a pool"),
    ],
)
def test_a_job_that_waits_is_listed(more, said):
    sim = simulation(a_job(tasks=3), **more)
    run_to(sim, minutes=5)
    model, lines = listed(sim)
    assert lines[0].startswith(said)
    assert model.destination(0)[:2] == ("jobs", "j")
    assert model.subjects(0) == [ItemRef("job", "j")]


def test_a_job_that_is_about_to_run_needs_no_attention():
    sim = simulation(a_job(tasks=3, prep=a_line(30)))
    for seconds in (1, READY_S - 5, READY_S + 5, READY_S + 40):
        run_to(sim, seconds=seconds)
        assert listed(sim)[1] == ["✓ Nothing needs attention."]


def test_tasks_that_depend_on_a_failed_one_wait_for_good():
    tasks = [a_task("first", 5, 1), a_task("second", dependsOn={"taskIds": ["first"]})]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    run_to(sim, minutes=5)
    lines = listed(sim)[1]
    assert lines[0].startswith("✗ 1 task of j waits for others that have failed or do not exist")
    assert lines[0].endswith("08:00:56")  # when first failed
    assert lines[1:3] == [
        "  second waits for first; another attempt would fail again (simulated)",
        "  a: add corrected tasks in their place or terminate the job",
    ]


def test_the_remedy_for_a_quota_follows_what_is_free_now():
    sim = Simulation(load_scenario("quota-keeps-the-pool-small"))
    run_to(sim, minutes=4)
    assert [one.remedy for one in Session(sim).concerns()] == ["raise the quota, or resize it to fewer nodes"]
    run_to(sim, minutes=6)
    assert [one.remedy for one in Session(sim).concerns()] == ["resize it again"]


@pytest.mark.parametrize(
    ("event", "said", "remedy"),
    [
        (
            {"quota": {"dedicatedCores": 0}},
            "its formula tries again at 08:05:00 (AS-80)",
            "raise the quota, or change its formula",
        ),
        ({"stopPoolResize": {"poolId": "p"}}, "", "change its formula, or switch it off and resize the pool"),
        (
            {"capacity": {"vmSize": "standard_d2s_v3", "nodes": 0}},
            "",
            "change its formula, or switch it off and resize the pool",
        ),
    ],
)
def test_a_pool_with_a_formula_is_not_to_be_resized(event, said, remedy):
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "enableAutoScale": True, "autoScaleEvaluationInterval": "PT5M"}
    sim = simulation(
        pool=pool | {"autoScaleFormula": "$TargetDedicatedNodes = 2;"}, timeline=[{"at": 0} | event], until="PT1H"
    )
    run_to(sim, minutes=3)
    [found] = Session(sim).concerns()
    assert (found.remedy, str(found.effects[-1]) if said else "") == (remedy, said)


def test_a_job_that_stands_still_says_what_the_timeline_has_for_it():
    depends = a_task("late", dependsOn={"taskIdRanges": [{"start": 1, "end": 1}]})
    entries = [
        {"at": 40, "resizePool": {"poolId": "other", "targetDedicatedNodes": 1}},
        {"at": 400, "deleteTask": {"jobId": "j", "taskId": "late"}},
        {"at": 500, "resizePool": {"poolId": "p", "targetDedicatedNodes": 0}},
    ]
    pools = [a_pool(), a_pool("other", nodes=0)]
    sim = simulation(
        a_job(tasks=[a_task("1", 5, 1), depends], usesTaskDependencies=True), pools=pools, timeline=entries
    )
    run_to(sim, minutes=2)
    lines = listed(sim)[1]
    assert lines[0].endswith("08:00:56")
    waits = "late waits for 1; the timeline has deleteTask at 08:06:40 and 1 more"
    advice = (
        "another attempt would fail again (simulated)",
        "a: add corrected tasks in their place or terminate the job",
    )
    assert " ".join(" ".join(lines[1:4]).split()) == f"{waits}; {' '.join(advice)}"


def test_jm_3_a_recurring_schedule_without_a_job_manager_task_needs_attention():
    schedules = [
        a_schedule("bare", recurrenceInterval="PT1H"),
        a_schedule("once"),
        a_schedule("managed", recurrenceInterval="PT1H"),
    ]
    for schedule in schedules[:2]:
        del schedule["jobSpecification"]["jobManagerTask"]
    sim = simulation(jobSchedules=schedules)
    run_to(sim, minutes=1)
    model = AttentionModel(Session(sim))
    model.update()
    shown = {concern.text: concern.effect for concern in model.concerns}
    bare = "job schedule bare: its jobs have no job manager task"
    open_jobs = "2 jobs stay active: they have no tasks, nothing in this run ends them"
    assert list(shown) == [open_jobs, bare]
    assert shown[bare] == "others must add their tasks and end them (JM-3)"
    do(sim, "terminateJobSchedule", jobScheduleId="bare")
    model.update()
    assert [concern.text for concern in model.concerns] == [
        "job once:job-1 stays active: it has no tasks, nothing in this run ends it"
    ]


def test_a_failure_of_a_job_that_is_not_in_focus_is_listed_with_its_name_and_leads_there():
    app = Dashboard(two_jobs(), plays=False)
    seen = []
    app.session.focus_job("j")

    def look(app):
        seen.append((app.screen.view.id, text_of(app)))

    drive(app, lambda app: app.screen.query_one("#attention").focus(), look, "enter", look)
    assert contains(seen[0][1], "task fails of other failed")
    assert seen[1][0] == "tasks"
    assert app.session.job_id == "other"


def test_at_the_end_a_missed_occurrence_is_still_listed():
    sim = Simulation(load_scenario("nightly-schedule-overruns"))
    sim.run_until(sim.end_ms)
    sim.finish()
    _, lines = listed(sim)
    assert lines[0].startswith("! job schedule nightly-risk: 1 occurrence missed")
    assert "nightly-risk:job-2 was still active" in lines[0] + lines[1]


def test_the_reason_of_a_missed_occurrence_stays_where_effects_have_no_room():
    sim = Simulation(load_scenario("nightly-schedule-overruns"))
    sim.run_until(sim.end_ms)
    sim.finish()
    model, _ = listed(sim)
    assert "was still active" in " ".join(plain(text) for _, text in model.lines(100, 1))


def test_a_job_that_stays_active_without_its_release_is_listed_once_the_run_is_over():
    sim = simulation(a_job("j", tasks=1, prep=a_line(5), release=a_line(5)))
    run_to(sim, seconds=READY_S + 30)
    assert not any("release" in each for each in listed(sim)[1])
    sim.run_until(sim.end_ms)
    sim.finish()
    _, lines = listed(sim)
    assert lines[0].startswith("! job j stays active: its release task never runs")
    assert lines[1] == "  1 node of pool p costs money until it shrinks or is deleted"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_pool_that_no_job_uses_at_the_end_costs_money(is_deleted):
    timeline = [{"at": READY_S + 300, "deletePool": {"poolId": "p"}}] if is_deleted else []
    sim = simulation(a_job(onAllTasksComplete="terminatejob"), timeline=timeline)
    run_to_end(sim)
    sim.finish()
    told = [
        "  1 node costs money until it shrinks or is deleted",
        "  a: resize it to 0 nodes, or delete it",
    ]
    model, lines = listed(sim)
    assert lines[1:] == ([] if is_deleted else told)
    assert lines[0].startswith("✓ Nothing needs attention." if is_deleted else "! no job uses pool p")
    assert is_deleted or model.concerns[0].severity is Severity.NOTICE


def test_a_job_that_stays_active_without_a_release_is_told_as_advice():
    sim = simulation(a_job("j", tasks=1, onAllTasksComplete="terminatejob"), a_job("k", tasks=1), a_job("l", tasks=1))
    run_to_end(sim)
    sim.finish()
    model, lines = listed(sim)
    assert lines[0].startswith("! 2 jobs stay active: their tasks have ended, nothing in this run ends them")
    assert lines[1:] == [
        "  k, l; 1 node of pool p costs money until it shrinks or is deleted",
        "  a: terminate them, or set onAllTasksComplete to terminatejob",
    ]
    assert model.concerns[0].severity is Severity.NOTICE
    assert model.worst is None


def test_a_job_without_its_pool_is_a_failure_in_the_list_of_jobs_the_events_and_here():
    sim = Simulation(load_scenario("one-pool-per-scheduled-job"))
    sim.run_until(sim.end_ms)
    sim.finish()
    session = Session(sim)
    model, lines = listed(sim)
    assert lines[0].startswith(
        "✗ job hourly:job-3 ended without running a task: AutoPoolCreationFailedWithQuotaReached"
    )
    assert model.subject(0) == ItemRef("job", "hourly:job-3")
    assert glyph_of_job(session.job("hourly:job-3")).role is Role.FAILED
    rows = [session.events.row(at) for at in session.events.failures()]
    assert [row.job_id for row in rows if row.event == "JobStateChanged"] == ["hourly:job-3"]


def test_a_job_whose_turn_it_is_not_raises_no_alarm():
    sim = Simulation(load_scenario("priorities-and-fairness"))
    for minute in range(1, 16):
        run_to(sim, minutes=minute)
        assert listed(sim)[1] == ["✓ Nothing needs attention."]


def test_nodes_that_are_about_to_be_preempted_are_listed_during_the_notice():
    sim = Simulation(load_scenario("spot-night-run"))
    run_to(sim, seconds=20 * 60 + 15)
    model, lines = listed(sim)
    assert lines == [
        f"{'! pool farm: 1 Spot node will be preempted at 19:20:30  n3':<92}19:20:00",
        "  tasks there will go back to the queue (SPOT-3)",
    ]
    assert model.subjects(0) == [ItemRef("node", 3)]
    sim.seek(19 * 60 * 1000)
    assert listed(sim)[1] == ["✓ Nothing needs attention."]


def test_preempted_nodes_are_listed_at_once_with_what_batch_does_about_them():
    sim = Simulation(load_scenario("spot-night-run"))
    run_to(sim, minutes=62)
    model, lines = listed(sim)
    assert lines == [
        "▾ pool farm: 3 Spot nodes preempted at 20:01:30  n1, n2, n4",
        "  tasks there went back to the queue (SPOT-3); Batch tries to replace them at 20:06:30 (SPOT-5)",
    ]
    assert model.lines(80)[0][1][0].role is Role.WARNING
    assert model.destination(0) == ("nodes", 1, ItemRef("pool", "farm"))
    assert model.subjects(0) == [ItemRef("node", node) for node in (1, 2, 4)]
    events = model.session.events
    assert not any("preempted" in str(events.row(at).fields) for at in events.failures())


def test_preempted_nodes_that_cannot_be_replaced_say_how_many_are_left():
    sim = Simulation(load_scenario("spot-night-run"))
    run_to(sim, minutes=80)
    lines = listed(sim)[1]
    assert " ".join(lines[0].split()) == "▾ pool farm: 4 Spot nodes preempted since 20:01:30 n1, n2, n4 …"
    assert lines[1].startswith("  5 of 9 nodes left, no capacity for more; Batch tries again at 20:21:30 (SPOT-5)")


def test_a_reactivated_task_is_no_failure_any_more():
    sim = simulation(a_job(tasks=[a_task("fails", 5, 7), a_task("works", 600)]), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 30)
    session = Session(sim)
    assert len(session.concerns()) == 1
    do(sim, "reactivateTask", jobId="j", taskId="fails")
    assert session.concerns() == []
    run_to(sim, seconds=READY_S + 60)
    assert len(session.concerns()) == 1
    sim.seek((READY_S - 5) * 1000)
    assert session.concerns() == []


def test_a_resize_that_fell_short_is_marked_as_a_failure_in_time():
    sim = simulation(a_job(), pool=a_pool(nodes=60))
    run_to(sim, minutes=3)
    events = Session(sim).events
    assert [events.row(at).event for at in events.failures()] == ["PoolResizeComplete"]


def test_many_jobs_with_the_same_failure_are_one_concern():
    jobs = [a_job(f"j{number}", tasks=[a_task("fails", 5, 7)]) for number in range(6)]
    sim = simulation(jobs=jobs, pool=a_pool(nodes=6))
    run_to(sim, seconds=READY_S + 60)
    model, lines = listed(sim)
    assert lines[0].startswith("✗ 6 tasks of 6 jobs failed: exit code 7")
    assert lines[1] == "  j0, j1, j2 and 3 more; another attempt would fail again (simulated)"
    assert len(model.subjects(0)) == 6


def test_the_oldest_wait_is_explained_with_its_job():
    sim = simulation(a_job(tasks=[a_task("first", 600), a_task("second", 600)]))
    run_to(sim, seconds=READY_S + 60)
    questions = [answer.question for answer in explain(sim, "job", "j")]
    assert "Why is task second of job j waiting?" in questions


def test_a_job_that_has_ended_waits_for_nothing():
    tasks = [a_task("first", 600), a_task("second", dependsOn={"taskIds": ["first"]})]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    run_to(sim, seconds=READY_S + 60)
    do(sim, "terminateJob", jobId="j")
    run_to(sim, minutes=10)
    session = Session(sim)
    job = session.job("j")
    assert (job.state, job.phases.tasks.active) == (JobState.COMPLETED, 1)
    assert job.phases.tasks.oldest_wait_ms is None
    rail = " ".join(plain(each) for each in job_strip.rail(session, 120, 6))
    assert "1 never completed" in rail
    assert "waiting" not in rail
    assert len(explain(sim, "job", "j")) == 1


# -- tasks that are retried ----------------------------------------------------------------------------------------


def flaky(*names, retries=3, **more):
    """Jobs with a task each that fails twice, after half a minute, and then succeeds."""
    attempts = {"attempts": [{"exitCode": 7}, {"exitCode": 7}, {"exitCode": 0}]}
    task = a_task("t", 30, simulate=attempts) | {"constraints": {"maxTaskRetryCount": retries}} | more
    return simulation(*(a_job(name, tasks=[task, a_task("quiet", 600)]) for name in names), pool=a_pool(nodes=4))


def about_tasks(sim):
    model, _ = listed(sim)
    return [each for each in model.concerns if each.about == "task"]


def test_a_task_that_has_failed_and_is_retried_is_listed_until_it_is_completed():
    sim = flaky("j")
    run_to(sim, seconds=READY_S + 40)
    (one,) = about_tasks(sim)
    assert one.text == "task t failed and is retried: exit code 7"
    assert one.effect == "attempt 2"
    assert one.severity == Severity.NOTICE
    run_to(sim, seconds=READY_S + 70)
    assert about_tasks(sim)[0].effect == "attempt 3"
    run_to(sim, seconds=READY_S + 130)
    assert about_tasks(sim) == []


def test_a_task_that_fails_for_good_is_no_longer_called_retried():
    sim = flaky("j", retries=1)
    run_to(sim, seconds=READY_S + 130)
    (one,) = about_tasks(sim)
    assert one.text == "task t failed: exit code 7"


def test_retried_tasks_of_several_jobs_are_told_apart_and_those_of_many_share_a_line():
    sim = flaky("a", "b")
    run_to(sim, seconds=READY_S + 40)
    assert {each.text for each in about_tasks(sim)} == {
        f"task t of {job} failed and is retried: exit code 7" for job in "ab"
    }
    sim = flaky("a", "b", "c", "d")
    run_to(sim, seconds=READY_S + 60)
    (one,) = about_tasks(sim)
    assert one.text.startswith("4 tasks of 4 jobs failed and are retried")
    assert one.effect == "a, b, c and 1 more"


def test_a_retried_task_is_listed_again_where_time_goes_back():
    sim = flaky("j")
    run_to(sim, seconds=READY_S + 130)
    session = Session(sim)
    assert [each.about for each in session.concerns()] == []
    sim.seek((READY_S + 40) * 1000)
    session.update()
    assert [each.text for each in session.concerns()] == ["task t failed and is retried: exit code 7"]


def test_at_the_end_of_the_run_batch_is_not_said_to_replace_nodes_later():
    sim = Simulation(load_scenario("spot-evictions"))
    run_to_end(sim)
    lines = listed(sim)[1]
    said = " ".join(each.strip() for each in lines)
    assert "(SPOT-3); the run ends before Batch tries to replace them (SPOT-5)" in said
    assert "08:10:05" not in said
