"""The lines of what needs attention: their order, width and room, and what can be done about a group."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.views.diagnosis.model import Finding
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    run_to,
    run_to_end,
    simulation,
    some_tasks,
)
from tests.tui.concerns import broken, listed, two_jobs
from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain, width
from tui.viewmodels.watch import job_strip
from tui.viewmodels.watch.attention import AttentionModel

BROKEN_S = 30


def test_a_concern_is_worded_once_for_a_width_until_the_concerns_change(monkeypatch):
    sim = broken("unusable")
    model, worded = AttentionModel(Session(sim)), []
    monkeypatch.setattr(Finding, "full_text", property(lambda concern: worded.append(concern) or concern.text))
    model.update()
    model.lines(60)
    model.lines(60, 5)
    assert worded == [*model.concerns]
    run_to_end(sim)
    model.update()
    before, worded[:] = model.concerns, ()
    model.lines(60)
    assert worded == [*before]


def test_groups_are_listed_by_severity_then_newest_first(session_at):
    model = AttentionModel(session_at(650, "retries-and-exit-conditions"))
    model.update()
    order = [(concern.severity, -concern.since_ms) for concern in model.concerns]
    assert len({severity for severity, _ in order}) > 1
    assert order == sorted(order)


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
    to_the_nodes = (focus, "down", "up", "down")
    drive(app, *to_the_nodes, "a", note, "escape", "m", marks, "m", marks, "w", note, "escape", "enter", view)
    assert contains(seen[0], "Act on 4 nodes")
    assert seen[1] == [ItemRef("node", node) for node in range(4)]
    assert seen[2] == []
    assert contains(seen[3], "Why")
    assert seen[4] == "nodes"


def broken_many():
    sim = simulation(a_job(tasks=40), pool=a_pool(nodes=4, startTask=a_line(5, 1, waitForSuccess=True)))
    run_to(sim, seconds=READY_S + 20)
    return sim


def test_the_problems_of_each_job_are_counted():
    session = Session(two_jobs())
    assert [session.attention.problems(job_id) for job_id in ("j", "other", "none")] == [0, 1, 0]


def test_a_low_pane_leaves_out_effects_first_then_remedies():
    expected = {"at": "PT2M", "poolId": "p", "resizeErrors": ["AccountCoreQuotaReached"]}
    sim = simulation(a_job(tasks=some_tasks(3, 600)), pool=a_pool(nodes=60), expect=[expected])
    run_to(sim, minutes=3)
    model, lines = listed(sim)
    assert [len(model.lines(100, rows)) for rows in (9, 3, 2, 1)] == [3, 3, 2, 1]
    assert [each.split()[0] for each in lines] == ["!", "the", "a:"]
    assert [plain(each).split()[0] for _, each in model.lines(100, 2)] == ["!", "a:"]


def test_rows_that_are_free_show_the_effects_of_the_first_problems():
    start = a_line(5, 1, waitForSuccess=True)
    sim = simulation(a_job(tasks=1), pool=a_pool(nodes=4, startTask=start))
    run_to(sim, seconds=READY_S + 20)
    model, _ = listed(sim)
    causes = [number for number, _ in model.lines(100, len(model.concerns))]
    assert causes == list(range(len(model.concerns)))
    assert len(causes) > 1
    more = [number for number, _ in model.lines(100, len(causes) + 1)]
    assert more == [0, *causes]


def test_the_time_of_a_problem_is_said_once(session_at):
    model = AttentionModel(session_at(80 * 60, "spot-night-run"))
    model.update()
    said = " ".join(plain(text) for _, text in model.lines(54))
    assert said.count("20:01:30") == 1


@pytest.mark.parametrize("is_over", [False, True])
def test_at_the_end_an_empty_pane_says_that_nothing_more_will_come(is_over):
    sim = Simulation(load_scenario("quota-keeps-the-pool-small"))
    sim.run_until(sim.end_ms if is_over else 240_000)
    session = Session(sim)
    said = " ".join(plain(each) for each in job_strip.rail(session, 120, 6))
    assert " ".join(JobsModel(session).empty()).startswith(said)
    assert ("nothing more will come" in said) is is_over
    assert ("space" in said) is not is_over


@pytest.mark.parametrize("cells", range(24, 70))
def test_no_word_is_lost_at_any_width(cells):
    sim = Simulation(load_scenario("storage-trouble"))
    run_to(sim, minutes=10)
    model = AttentionModel(Session(sim))
    model.update()
    assert model.concerns
    for number, concern in enumerate(model.concerns):
        shown = "".join(plain(text) for at, text in model.lines(cells) if at == number)
        wanted = "".join((concern.text, concern.effect, concern.remedy))
        assert "…" not in shown
        assert len(shown.replace(" ", "")) >= len(wanted.replace(" ", ""))


def test_every_problem_has_its_advice_where_other_panes_have_rows_to_spare(dashboard_at):
    shown = after(dashboard_at(900, "nodes-fail-and-recover"), size=(200, 60))
    assert contains(shown, "Needs attention (5)")
    assert sum("a: reboot" in line or "a: remove" in line for line in shown) == 4
