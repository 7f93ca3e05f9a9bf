"""The lists of the job in focus: tabs of one pane, of which the one that matters now is shown."""

from __future__ import annotations

import re

import pytest

from engine.views.resources.instances import InstancePage
from tests.builders import READY_S, a_job, a_line, a_pool, do, job_state, node, run_to, simulation, wait_for
from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, text_of
from tui.app.dashboard import Dashboard
from tui.panes.watch_panes import JobLists
from tui.viewmodels.glyphs import GlyphSet
from tui.viewmodels.lists.instances import PreparationModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain, width
from tui.viewmodels.watch.job_strip import tab_spans, tab_that_matters, tabs_of

HOOKS = {"prep": a_line(60), "release": a_line(60)}
ENDS = {"onAllTasksComplete": "terminatejob"}


def matters(sim):
    session = Session(sim)
    return tab_that_matters(session.job(session.job_id))


def test_the_tab_follows_the_phases_of_the_job():
    sim = simulation(a_job(tasks=2, **HOOKS, **ENDS))
    assert matters(sim) == "events"
    run_to(sim, seconds=READY_S + 20)
    assert matters(sim) == "preparation"
    run_to(sim, seconds=READY_S + 80)
    assert matters(sim) == "tasks"
    wait_for(sim, lambda: job_state(sim) == "terminating")
    assert matters(sim) == "release"


def test_a_job_without_preparation_and_release_has_no_tabs_of_them():
    sim = simulation(a_job(tasks=2))
    run_to(sim, seconds=5)
    session = Session(sim)
    assert tabs_of(session.job("j"), has_expectations=False) == ("tasks", "events")
    assert tabs_of(None, has_expectations=True) == ("events", "expectations")


@pytest.mark.parametrize("cells", [30, 40, 60, 100])
def test_the_titles_of_the_tabs_fit(cells):
    names = ("preparation", "tasks", "release", "events", "expectations")
    spans = tab_spans(names, "tasks", {"tasks": "12,000", "preparation": "400"}, cells)
    assert width(spans) <= max(cells, 40)
    assert [each.split()[0][:3] for each in plain(spans).split("  ")] == ["Pre", "Tas", "Rel", "Eve", "Exp"]


def test_left_and_right_turn_the_tabs_and_the_one_that_matters_follows_time_again():
    sim = simulation(a_job(tasks=9, **HOOKS))
    run_to(sim, seconds=READY_S + 20)
    app = Dashboard(sim, plays=False)
    seen = []

    def focus(app):
        app.screen.query_one("#job-lists").focus()

    def note(app):
        lists = app.screen.query_one("#job-lists")
        seen.append((lists.name_shown, lists.chosen))

    def go_on(app):
        run_to(sim, seconds=READY_S + 100)
        app.screen.update()

    drive(app, focus, note, "right", note, "right", note, go_on, note, "left", note)
    assert [name for name, _ in seen] == ["preparation", "tasks", "release", "release", "tasks"]
    assert [chosen for _, chosen in seen] == ["", "tasks", "release", "release", ""]


def test_expectations_are_a_tab_where_the_scenario_has_some():
    sim = simulation(a_job(tasks=2), expect=[{"jobId": "j", "at": "PT1H", "state": "active"}])
    run_to(sim, seconds=READY_S + 20)
    app = Dashboard(sim, plays=False)
    seen = []

    def choose(app):
        app.screen.query_one("#job-lists").choose("expectations")

    drive(app, choose, lambda app: seen.extend(text_of(app)))
    assert contains(seen, "Expectations 1", "Wanted")


def test_the_frame_says_what_the_symbol_of_a_node_that_is_gone_means():
    sim = simulation(a_job(tasks=9, **HOOKS), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 70)
    model = PreparationModel(Session(sim))
    model.update()
    assert "∅" not in model.told(100)
    do(sim, "removeNodes", poolId="p", nodeList=[node(sim, 1).id])
    run_to(sim, seconds=READY_S + 240)
    session = Session(sim)
    model = PreparationModel(session)
    model.update()
    assert "∅ node gone" in model.told(100)
    assert [plain(model.cells(model.key(at))[:1]) for at in range(model.count)].count("∅") == 1
    assert len(model.told(30)) <= 30
    session.glyphs = GlyphSet(ascii_only=True)
    assert "g node gone" in model.told(100)


def test_help_of_watch_speaks_of_what_is_there(dashboard_at):
    shown = "\n".join(after(dashboard_at(330), "?", size=(200, 60)))
    assert "three bars" not in shown
    for words in ("The worst first", "What has gone wrong", "The time so far", "Left and right turn"):
        assert words in shown, words


@pytest.mark.parametrize(("size", "is_pane"), [((80, 24), False), ((120, 40), True), ((80, 60), True)])
def test_curves_are_a_pane_in_a_large_view_and_on_the_page_of_the_job(size, is_pane):
    sim = simulation(a_job(tasks=9, **HOOKS))
    run_to(sim, seconds=READY_S + 100)
    seen = []

    def look(app):
        seen.append(text_of(app))

    drive(
        Dashboard(sim, plays=False), look, lambda app: app.screen.query_one("#strip").focus(), "enter", look, size=size
    )
    assert contains(seen[0], "   Curves") is is_pane
    assert contains(seen[1], "Running tasks", "1 running")


def test_preparation_on_a_node_that_leaves_its_pool_is_not_said_to_run_again():
    sim = simulation(a_job(tasks=2, prep=a_line(10)), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 30)
    do(sim, "removeNodes", poolId="p", nodeList=[0], nodeDeallocationOption="requeue")
    run_to(sim, seconds=READY_S + 35)
    session = Session(sim)
    model = PreparationModel(session)
    model.update()
    assert plain(model.summary()).split("   ")[:2] == ["✓ 1 prepared", "◃ 1 leaving pool"]
    assert plain(model.sentence(0)).startswith("n0, leaving pool")
    assert not any(block.title == "Effect" for block in model.details(0))
    assert session.job("j").phases.preparation.due == 1


def test_the_numbers_beside_the_tabs_need_no_order(dashboard_at, monkeypatch):
    monkeypatch.setattr(InstancePage, "order", None)
    app = dashboard_at(330)  # tasks run, and their list is shown
    seen = []
    drive(app, lambda app: seen.append(str(app.screen.query_one(JobLists).border_title)))
    assert re.search(r"Prep\w* (tasks )?\d", seen[0])
