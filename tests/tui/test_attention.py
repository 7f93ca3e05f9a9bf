"""Needs attention: what is on the list, in which order, and what can be done with a group."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, run_to, simulation
from tests.rules.schedules import a_schedule
from tests.tui.screen_text import contains, text_of
from tests.tui.test_keys import drive
from tui.app.dashboard import Dashboard
from tui.viewmodels.session.session import Session
from tui.viewmodels.text.styled import ItemRef, plain, width
from tui.viewmodels.watch.attention import AttentionModel

BROKEN_S = 30


def listed(sim, cells=100):
    model = AttentionModel(Session(sim))
    model.update()
    return model, [plain(text) for _, text in model.lines(cells)]


def broken(state, nodes=2):
    """A pool on which a node goes wrong after everything has come up."""
    fault = {"at": READY_S + BROKEN_S, "failNode": {"poolId": "p", "node": 1, "state": state}}
    sim = simulation(a_job(tasks=9), pool=a_pool(nodes=nodes), timeline=[fault])
    run_to(sim, seconds=READY_S + 40)
    return sim


@pytest.mark.parametrize(("state", "said"), [("unusable", "unusable"), ("unknown", "contact lost")])
def test_a_node_that_has_gone_wrong_is_listed_with_the_time_and_its_name(state, said):
    model, lines = listed(broken(state))
    assert lines[0] == f"! 1 node: {said} since 08:01:20  n1"
    assert model.destination(0) == ("nodes", 1)
    assert model.subjects(0) == [ItemRef("node", 1)]


def test_a_failed_start_task_is_listed():
    start = a_line(5, 1, waitForSuccess=True)
    sim = simulation(a_job(tasks=1), pool=a_pool(nodes=4, startTask=start))
    run_to(sim, seconds=READY_S + 20)
    model, lines = listed(sim)
    at = lines.index("! 4 nodes: start task failed since 08:00:56")
    assert lines[at + 1] == "  it gets no tasks: reboot or reimage"
    assert any("none runs" in each for each in lines)
    number = next(number for number, concern in enumerate(model.concerns) if concern.kind == "node")
    assert model.subjects(number) == [ItemRef("node", node) for node in range(4)]


def test_a_pool_that_no_job_uses_yet_is_listed_by_its_name():
    sim = Simulation(load_scenario("quota-keeps-the-pool-small"))
    run_to(sim, minutes=4)
    session = Session(sim)
    assert session.pool_id == "pricing"
    model, lines = listed(sim)
    assert lines[0] == "✗ pool risk, resize: AccountCoreQuotaReached"
    assert model.destination(0) == ("pools", None)
    assert model.subjects(0) == [ItemRef("pool", "risk")]


def test_a_resize_that_fell_short_and_a_formula_that_fails_are_of_the_pool():
    sim = simulation(a_job(), pool=a_pool(nodes=60))
    run_to(sim, minutes=3)
    model, lines = listed(sim)
    assert lines[0].startswith("✗ resize: AccountCoreQuotaReached")
    assert model.destination(0) == ("pools", None)
    assert model.subjects(0) == [ItemRef("pool", "p")]
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "enableAutoScale": True}
    pool["autoScaleFormula"] = "$TargetDedicatedNodes = 1 / ($CurrentDedicatedNodes - 0);"
    failing = simulation(a_job(), pool=pool)
    run_to(failing, minutes=20)
    assert any(each.startswith("✗ autoscale: ") for each in listed(failing)[1])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"pool": a_pool(nodes=0)}, "✗ 3 tasks wait: pool p has no nodes"),
        (
            {"timeline": [{"at": 5, "disableJob": {"jobId": "j", "disableTasks": "wait"}}]},
            "✗ the job is disabled, 3 tasks wait",
        ),
        ({"timeline": [{"at": 5, "deletePool": {"poolId": "p"}}]}, "✗ 3 tasks wait for a pool"),
    ],
)
def test_a_job_that_waits_is_listed(more, said):
    sim = simulation(a_job(tasks=3), **more)
    run_to(sim, minutes=5)
    model, lines = listed(sim)
    assert lines[0] == said
    assert model.destination(0) == ("jobs", None)
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
    assert "✗ 1 task waits, none is ready" in listed(sim)[1]


def test_groups_are_listed_newest_first(session_at):
    model = AttentionModel(session_at(330))
    model.update()
    since = [concern.since_ms for concern in model.concerns]
    assert len(since) > 1
    assert since == sorted(since, reverse=True)


def test_lines_keep_to_their_width_in_both_sets(session_at):
    for is_ascii in (False, True):
        model = AttentionModel(session_at(330, ascii_only=is_ascii))
        model.update()
        for cells in (24, 50, 100):
            lines = model.lines(cells)
            assert all(width(text) <= cells for _, text in lines)
            assert not is_ascii or all(plain(text).isascii() for _, text in lines)


def test_an_action_on_a_group_is_for_all_of_it_and_m_marks_all():
    app = Dashboard(broken_many(), plays=False)
    seen = []

    def note(app):
        seen.append(text_of(app))

    def marks(app):
        seen.append(list(app.session.marks))

    def view(app):
        seen.append(app.screen.view.id)

    focus = lambda app: app.screen.query_one("#attention").focus()  # noqa: E731
    drive(app, focus, "down", "up", "a", note, "escape", "m", marks, "m", marks, "w", note, "escape", "enter", view)
    assert contains(seen[0], "Act on 4 nodes")
    assert seen[1] == [ItemRef("node", node) for node in range(4)]
    assert seen[2] == []
    assert contains(seen[3], "Why")
    assert seen[4] == "nodes"


def broken_many():
    sim = simulation(a_job(tasks=40), pool=a_pool(nodes=4, startTask=a_line(5, 1, waitForSuccess=True)))
    run_to(sim, seconds=READY_S + 20)
    return sim


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
    shown = [(concern.text, concern.effect) for concern in model.concerns]
    assert shown == [
        ("job schedule bare: its jobs have no job manager task", "others must add their tasks and end them (JM-3)")
    ]
    do(sim, "terminateJobSchedule", jobScheduleId="bare")
    model.update()
    assert not model.concerns
