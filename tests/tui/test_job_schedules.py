"""The blade Job schedules: what it lists, tells, explains, and lets be done."""

from __future__ import annotations

import pytest

from engine.views.diagnosis.model import Severity
from tests.builders import READY_S, a_line, run_to, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import text_of
from tests.tui.test_models import rows, texts
from tui.viewmodels.actions.menu import actions_for
from tui.viewmodels.frame import tab_line
from tui.viewmodels.go_line import TABS
from tui.viewmodels.lists.jobs import JobSchedulesModel
from tui.viewmodels.sentences import answers_to
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, block_lines, link_at, plain

OVERRUN, BY_HAND, POOLS = "nightly-schedule-overruns", "job-schedules-by-hand", "one-pool-per-scheduled-job"
HOUR_S = 3600


def test_a_line_tells_the_next_run_the_recent_job_and_what_was_missed(session_at):
    shown = rows(JobSchedulesModel(session_at(60 * HOUR_S, OVERRUN)))
    assert shown == [
        ["◉", "nightly-risk", "active", "1d 00:00:00", "01-08 22:00:00", "2", "1", "0", "✓ job-2"],
    ]


def test_in_ascii_states_have_letters(session_at):
    shown = rows(JobSchedulesModel(session_at(HOUR_S + 5, BY_HAND, ascii_only=True)))
    assert [(row[0], row[-1]) for row in shown] == [
        ("d", "+ job-1"),
        ("a", "a job-3"),
        ("a", ""),
        ("d", ""),
    ]


def test_details_tell_the_schedule_and_what_its_jobs_are_made_of(session_at):
    model = JobSchedulesModel(session_at(HOUR_S, POOLS))
    model.update()
    hourly = [" ".join(line.split()) for line in texts(block_lines(model.details(0), 60))]
    assert "Recurrence interval 01:00:00" in hourly
    assert "Do not run after 11:30:00" in hourly
    assert "Pool lifetime option job" in hourly
    assert "Command line price --all" in hourly
    shared = texts(block_lines(model.details(1), 100))
    assert any("Pool id" in line and "shared_3B50EB60" in line for line in shared)


def test_details_list_the_latest_jobs_which_lead_to_their_pages(session_at):
    model = JobSchedulesModel(session_at(3600, "a-missed-occurrence"))
    model.update()
    (block,) = (each for each in model.details(model.key(0)) if each.title == "Latest jobs, and tasks completed")
    assert [(name, span.text) for name, span in block.rows][:2] == [
        ("job-5", "◉ 09:00:00, 0 of 1"),
        ("job-4", "✓ 08:50:00 → 08:55:04, 1 of 1"),
    ]
    assert block.rows[1][1].leads_to == ItemRef("job", "ticks:job-4")


def test_jm_3_without_a_job_manager_the_details_say_so(session_at):
    model = JobSchedulesModel(session_at(17_821, BY_HAND))  # weather is there again, without one
    model.update()
    shown = texts(block_lines(model.details(model.count - 1), 100))
    assert any("none: tasks must be added by others" in line for line in shown)


def test_without_schedules_the_blade_says_what_would_make_one(session_at):
    model = JobSchedulesModel(session_at(300))
    model.update()
    assert "jobSchedules" in model.nothing_shown()[0]


@pytest.mark.parametrize(
    ("seconds", "schedule", "possible"),
    [
        (HOUR_S + 5, "prices", ["Disable", "Edit", "Clone", "Terminate", "Delete"]),
        (HOUR_S + 5, "weather", ["Enable", "Edit", "Clone", "Terminate", "Delete"]),
        (HOUR_S + 602, "prices", ["Clone", "Delete"]),
        (HOUR_S + 3000, "prices", ["Clone", "Delete"]),
    ],
)
def test_js_6_what_can_be_done_in_which_state(session_at, seconds, schedule, possible):
    actions = actions_for(session_at(seconds, BY_HAND), [ItemRef("job schedule", schedule)])
    assert [action.title.split()[0] for action in actions if not action.unavailable] == possible
    assert all(action.title.endswith(schedule) for action in actions)


def test_js_8_what_would_follow_is_told_first(session_at):
    prices = [ItemRef("job schedule", "prices")]
    told = {action.title: action.effects for action in actions_for(session_at(HOUR_S + 5, BY_HAND), prices)}
    assert told["Terminate prices"] == ("no more jobs", "prices:job-3 is terminated: TerminateJobSchedule (JS-8)")
    assert told["Delete prices"] == ("3 jobs are deleted, with tasks and files (JS-8)",)


def test_a_schedule_that_is_gone_offers_nothing(session_at):
    assert actions_for(session_at(300), [ItemRef("job schedule", "nobody")]) == []


def test_w_is_about_the_schedule_under_the_cursor(session_at):
    session = session_at(60 * HOUR_S, OVERRUN)
    (answer,) = answers_to(session, "job schedule", "nightly-risk", "schedules")
    assert answer.question == "Why does job schedule nightly-risk create no job now?"


def test_it_is_disabled_by_keys_and_enter_goes_to_its_job(dashboard_at):
    app = dashboard_at(HOUR_S + 300, BY_HAND)
    seen = []
    drive(
        app,
        "0",
        "down",
        "a",
        "enter",
        "enter",
        lambda app: seen.append(text_of(app)),
        "enter",
        lambda app: seen.append(text_of(app)),
        size=(80, 24),
    )
    assert any("prices" in line and "disabled" in line for line in seen[0])
    assert "prices:job-3" in seen[1][0]
    assert "Watch" in seen[1][0]


def test_until_a_job_is_chosen_the_last_one_of_a_schedule_is_in_focus(session_at):
    session = session_at(10 * HOUR_S, OVERRUN)
    assert session.job_id == "nightly-risk:job-1"
    session.simulation.run_until(60 * HOUR_S * 1000)
    session.update()
    assert session.job_id == "nightly-risk:job-2"
    session.focus_job("nightly-risk:job-1")
    assert session.job_id == "nightly-risk:job-1"


@pytest.mark.parametrize("cells", [60, 72, 80, 100, 120, 200])
def test_the_tabs_fit_and_the_one_under_a_cell_is_found(cells):
    tabs = tab_line(TABS, "watch", cells)
    drawn = plain(tabs)
    assert len(drawn.rstrip()) <= cells
    for tab in TABS:
        assert link_at(tabs, drawn.index(f"{tab.key} ")) == f"show_view('{tab.name}')"
    assert link_at(tabs, cells) is None or len(drawn) > cells


def test_a_schedule_of_which_a_job_failed_has_no_tick_and_names_the_job(session_at):
    model = JobSchedulesModel(session_at(5 * HOUR_S, POOLS))
    hourly, half_hourly = rows(model)
    assert (hourly[0], hourly[7]) == ("✗", "1")
    assert (half_hourly[0], half_hourly[7]) == ("✓", "0")
    details = [" ".join(line.split()) for line in texts(block_lines(model.details(0), 60))]
    assert "With failures hourly:job-3" in details


@pytest.mark.parametrize(("pool", "sign", "failed"), [("missing", "◉", "0"), ("p", "✗", "1")])
def test_a_job_that_waits_has_not_failed_but_one_whose_preparation_failed_on_every_node_has(pool, sign, failed):
    job = {"poolInfo": {"poolId": pool}, "jobPreparationTask": a_line(5, 1), "jobManagerTask": {"id": "m"} | a_line()}
    schedule = {"id": "s", "schedule": {"recurrenceInterval": "PT1H"}, "jobSpecification": job}
    sim = simulation(jobSchedules=[schedule])
    run_to(sim, seconds=READY_S + 300)
    session = Session(sim)
    assert session.attention.worst("s:job-1") == Severity.STANDSTILL
    ((shown_sign, *_, shown_failed, _),) = rows(JobSchedulesModel(session))
    assert (shown_sign, shown_failed) == (sign, failed)
