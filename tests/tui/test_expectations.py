"""Expectations of the scenario: the list, the sheet, what needs attention, and what is said when a session is saved."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from engine import Simulation, load_scenario
from engine.scenario.text import bundled
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.expectations import ExpectationState, expectation_rows
from engine.views.results import summary
from tests.builders import READY_S, a_job, a_pool, a_task, do, run_to, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.app.process import Recorder, broken_note
from tui.cli.output import summary_text
from tui.viewmodels.session import Session
from tui.viewmodels.text import Role, plain, width
from tui.viewmodels.watch.attention import AttentionModel, ExpectationsModel, expectation_lines

MET, BROKEN, PENDING = ExpectationState.MET, ExpectationState.BROKEN, ExpectationState.PENDING
EXPECT = [
    {"jobId": "j", "tasks": {"failed": 0, "completed": {"atLeast": 1}}},
    {"jobId": "j", "tasks": {"running": 1}, "at": READY_S + 30},
    {"jobId": "j", "tasks": {"completed": 2}, "within": READY_S + 20},
    {"poolId": "p", "cost": {"atMost": 1.00}},
]


def expecting(*tasks, expect=EXPECT, **more):
    return simulation(a_job(tasks=list(tasks)), pool=a_pool(nodes=2), expect=expect, **more)


def states(sim):
    return [(row.state, row.decided_ms) for row in expectation_rows(sim)]


def test_each_is_pending_until_its_moment_then_met_or_broken():
    sim = expecting(a_task("short", 5), a_task("long", 60))
    run_to(sim, seconds=READY_S)
    assert states(sim) == [(PENDING, None)] * 4
    run_to(sim, seconds=READY_S + 25)
    assert states(sim)[2] == (BROKEN, (READY_S + 20) * 1000)
    run_to(sim, seconds=READY_S + 40)
    assert states(sim)[1] == (MET, (READY_S + 30) * 1000)
    sim.seek((READY_S + 10) * 1000)
    assert states(sim) == [(PENDING, None)] * 4
    sim.run_until(sim.end_ms)
    sim.finish()
    assert [state for state, _ in states(sim)] == [MET, MET, BROKEN, MET]
    assert [row.met for row in sim.expectations] == [True, True, False, True]


def test_a_moment_after_until_is_not_reached_which_is_neither_met_nor_broken():
    moments = {"at": READY_S + 90}, {"within": READY_S + 90}
    later = [{"jobId": "j", "tasks": {"completed": 1}, **moment} for moment in moments]
    sim = expecting(a_task("long", 60), expect=later, until=READY_S + 10)
    sim.run_until(sim.end_ms)
    sim.finish()
    assert states(sim) == [(PENDING, None)] * 2
    assert all(row.when.endswith(", which is not reached") for row in expectation_rows(sim))
    assert not Attention(sim).items()
    assert [(row.met, row.is_reached) for row in sim.expectations] == [(False, False)] * 2
    table = summary_text(summary(sim), Console(width=80, no_color=True))
    assert table.count("not reached") == 2


def test_what_is_as_wanted_before_its_moment_is_not_met_yet():
    wanted = {"jobId": "j", "tasks": {"running": 1}}
    sim = expecting(a_task("long", 600), expect=[{**wanted, "at": READY_S + 90}, wanted], until=READY_S + 30)
    run_to(sim, seconds=READY_S + 20)
    model = ExpectationsModel(Session(sim))
    assert states(sim) == [(PENDING, None)] * 2
    assert not [span for line in expectation_lines(model, 80) for span in line if span.role is Role.OK]
    sim.run_until(sim.end_ms)
    sim.finish()
    assert states(sim) == [(PENDING, None), (MET, sim.end_ms)]
    assert [(row.met, row.is_reached) for row in sim.expectations] == [(False, False), (True, True)]
    assert not summary(sim).as_expected


def test_what_came_too_late_is_not_told_as_something_else_than_wanted():
    sim = expecting(a_task("slow", 60), expect=[{"jobId": "j", "tasks": {"completed": 1}, "within": READY_S + 20}])
    run_to(sim, seconds=READY_S + 90)
    (row,) = expectation_rows(sim)
    assert row.difference == "tasks completed 1, too late"


def test_a_command_given_by_hand_before_its_moment_counts():
    sim = expecting(a_task("long", 600), expect=[{"jobId": "j", "state": "active", "at": "PT5M"}])
    run_to(sim, seconds=READY_S + 60)
    do(sim, "terminateJob", jobId="j")
    sim.run_until(sim.end_ms)
    sim.finish()
    assert [(row.met, row.seen) for row in sim.expectations] == [(False, {"state": "completed"})]


@pytest.mark.parametrize("name", bundled())
def test_at_the_end_they_are_what_a_run_reports(name):
    sim = Simulation(load_scenario(name), can_go_back=False)
    sim.run_until(sim.end_ms)
    before = [row.state for row in expectation_rows(sim)]
    sim.finish()
    rows = expectation_rows(sim)
    reported = [*(row.met for row in sim.expectations), *(one.announced for one in sim.refusals)]
    assert before == [row.state for row in rows]
    assert [row.state is MET for row in rows[: len(sim.expectations)]] == [row.met for row in sim.expectations]
    assert all(all(part.is_met for part in row.parts) == (row.state is MET) for row in rows)
    assert sum(row.state is MET for row in rows) == sum(reported)
    assert len(rows) == len(reported)


def test_the_list_says_wanted_and_seen_broken_ones_first():
    sim = expecting(a_task("fails", 5, 3), a_task("long", 60))
    run_to(sim, seconds=READY_S + 25)
    model = ExpectationsModel(Session(sim))
    model.update()
    cells = [[span.text.strip() for span in model.cells(model.key(at))] for at in range(model.count)]
    assert cells[0][1:] == ["job j", "tasks completed", "2", "1", "by 08:01:10", "08:01:10"]
    assert cells[1][1:] == ["job j", "tasks failed", "0", "1", "at the end", ""]
    assert cells[3][1:4] == ["pool p", "cost", "at most $1.00"]


@pytest.mark.parametrize("cells", [30, 60, 120])
def test_the_sheet_keeps_to_its_width_and_names_all_parts(cells):
    sim = expecting(a_task("fails", 5, 3), a_task("long", 60))
    run_to(sim, seconds=READY_S + 25)
    lines = expectation_lines(ExpectationsModel(Session(sim)), cells)
    assert all(width(line) <= cells for line in lines[1:])
    text = " ".join(" ".join(map(plain, lines)).split())
    assert "tasks failed: 1, wanted 0" in text
    assert "tasks completed: 1" in text


def test_a_scenario_that_expects_nothing_says_so():
    sim = expecting(a_task(), expect=[])
    lines = expectation_lines(ExpectationsModel(Session(sim)), 60)
    assert plain(lines[0]).startswith("The scenario expects nothing.")


def test_a_broken_one_needs_attention_and_leads_to_the_sheet():
    sim = expecting(a_task("short", 5), a_task("long", 60))
    run_to(sim, seconds=READY_S + 25)
    app = Dashboard(sim, plays=False)
    seen = []
    drive(app, lambda app: app.screen.query_one("#attention").focus(), "enter", lambda app: seen.extend(text_of(app)))
    model = AttentionModel(app.session)
    model.update()
    assert [concern.text for concern in model.concerns] == ["expectation 3 is broken: job j"]
    assert model.concerns[0].effect == "by 08:01:10: tasks completed 1 instead of 2"
    assert contains(seen, "Expectations", "broken 08:01:10")


def test_one_that_will_be_broken_needs_attention_once_the_run_is_played_ahead():
    sim = expecting(a_task("late", 5, 3), expect=[{"jobId": "j", "tasks": {"failed": 0}}])
    session = Session(sim)
    assert session.concerns() == []
    while session.ahead.advance(1_000):
        pass
    said = [concern.text for concern in session.concerns()]
    assert said == ["expectation 1 will be broken: job j", "task late will fail: exit code 3 (simulated)"]
    sim.run_until(sim.end_ms)
    assert "expectation 1 is broken: job j" in [concern.text for concern in session.concerns()]


def test_expectations_can_be_typed_and_are_a_tab_of_watch():
    app = Dashboard(expecting(a_task()), plays=False)
    seen = []
    drive(
        app,
        lambda app: seen.append(app.screen.query_one("#job-lists").names),
        *(":", *"expectations", "enter"),
        lambda app: seen.append(text_of(app)),
    )
    assert "expectations" in seen[0]
    assert contains(seen[1], "Expectations", "pending", "cost")


def test_the_tab_the_sheet_and_the_note_count_the_same_ones():
    fails = [{"at": READY_S + 5, "failNode": {"poolId": "p", "node": 7}}]
    sim = expecting(a_task("long", 60), expect=EXPECT[:1], timeline=fails)
    run_to(sim, seconds=READY_S + 10)
    app, tabs = Dashboard(sim, plays=False), []
    drive(app, lambda app: tabs.append("".join(text_of(app))), size=(160, 50))
    assert len(expectation_rows(sim)) == 2
    assert re.search(r"Expect\w* 2", tabs[0])
    assert broken_note(sim).startswith("1 expectation is broken: command failNode when it is given: outcome ")


def test_saving_a_session_that_breaks_one_says_so(tmp_path):
    expect = [{"jobId": "j", "terminateReason": "AllTasksCompleted"}]
    sim = simulation(a_job(tasks=[a_task("long", 60)], onAllTasksComplete="terminatejob"), expect=expect)
    run_to(sim, seconds=READY_S + 10)
    session = Session(sim)
    recorder = Recorder(sim, tmp_path)
    do(sim, "terminateJob", jobId="j")
    assert broken_note(sim, session.ahead.expectations) == ""
    while session.ahead.advance(1_000):
        pass
    note = broken_note(sim, session.ahead.expectations)
    assert note.startswith("1 expectation will be broken: job j at the end: terminateReason UserTerminate instead of")
    sim.run_until(sim.end_ms)
    assert "1 expectation is broken" in recorder.rescue()
