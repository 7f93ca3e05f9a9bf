"""Detail pages on the screen: their keys, tabs and trail, and the room that they have."""

from __future__ import annotations

from itertools import chain

from tests.builders import READY_S, a_job, a_task, run_to, simulation
from tests.tui.detail_pages import JOB, NODE, POOL, SUBJECTS, page, the
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.viewmodels.detail_pages import DETAIL_MODELS
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain

LATER_S = 330


def place(app):
    view = app.screen.view
    return (view.id, view.subject, view.page) if view.id == "detail" else (view.id,)


def test_enter_opens_the_blade_and_its_links_lead_on(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def note(app):
        seen.append(place(app))

    drive(app, "4", "enter", note, "right", "right", note, "down", "enter", note, "escape", note, "escape", note)
    assert seen[0] == ("detail", JOB, 0)
    assert seen[1] == ("detail", JOB, 2)
    assert seen[2][1].kind == "task"
    assert seen[3] == ("detail", JOB, 2)
    assert seen[4] == ("jobs",)


def test_back_and_forward_through_what_was_visited(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def note(app):
        seen.append(place(app)[0])

    keys = ("3", "enter", "5", "less_than_sign", note, "less_than_sign", note, "greater_than_sign", note)
    drive(app, *keys)
    assert seen == ["detail", "nodes", "detail"]


def test_the_first_line_of_a_list_tab_opens_the_list(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(app, "4", "enter", "right", "right", "enter", lambda app: seen.append(place(app)))
    assert seen == [("tasks",)]


def test_a_link_that_cannot_be_seen_is_not_followed(dashboard_at):
    seen = []
    down = ["down"] * 12
    drive(dashboard_at(LATER_S), "4", "enter", "right", "enter", lambda app: seen.append(place(app)), size=(80, 24))
    drive(
        dashboard_at(LATER_S), "4", "enter", "right", *down, "enter", lambda app: seen.append(place(app)), size=(80, 24)
    )
    assert [each[1] for each in seen] == [JOB, POOL]


def test_another_focus_opens_the_blade_of_that_job(dashboard_at):
    app = dashboard_at(400, "shared-pool-two-jobs")
    seen = []
    drive(app, "4", "enter", "J", "2", lambda app: seen.append(place(app)))
    assert seen == [("detail", ItemRef("job", "credit"), 0)]


def test_a_blade_follows_time_without_stopping_it(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        *("4", "enter", "space"),
        lambda app: seen.append(app.screen.playback.pacer.playing),
        *("right", "left"),
        lambda app: seen.append(app.screen.playback.pacer.playing),
        "space",
        *("t", *"0", "enter"),
        lambda app: seen.append(text_of(app)),
    )
    assert seen[:2] == [True, True]
    assert contains(seen[2], "Job risk")


def test_actions_and_reasons_are_those_of_the_thing(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        "3",
        "enter",
        "w",
        lambda app: seen.append(text_of(app)),
        "escape",
        "a",
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "Why is n0 of pool shared running?")
    assert contains(seen[1], "Reimage")


def test_details_of_a_preparation_open_where_they_are_not_beside_the_list(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), "6", "enter", lambda app: seen.append(len(app.screen_stack)), size=(80, 16))
    drive(dashboard_at(LATER_S), "6", "enter", lambda app: seen.append(place(app)))
    assert seen[0] == 2
    assert seen[1] == ("detail", NODE, 0)


def test_every_kind_has_a_blade_with_tabs_of_its_own(session_at):
    kinds = {thing.kind for thing in DETAIL_MODELS}
    assert kinds == {"account", "node", "pool", "job", "task"}
    for subject in SUBJECTS:
        tabs = the(session_at(LATER_S), subject).tabs
        assert tabs[0] == ("Curves" if subject.kind in ("pool", "job") else "Overview")
        assert len(set(tabs)) == len(tabs)


def test_every_page_is_drawn_in_ascii(dashboard_at):
    seen = {view: [] for view in "2345"}
    steps = ((view, "enter", *["right", lambda app, view=view: seen[view].extend(text_of(app))] * 8) for view in seen)
    drive(dashboard_at(LATER_S, ascii_only=True), *chain.from_iterable(steps), size=(80, 24))
    for view, lines in seen.items():
        assert "".join(lines).isascii(), view
        assert not any("?" in each for each in lines if "? help" not in each), view


def test_the_output_of_a_task_is_followed_on_its_page(session_at):
    session = session_at(600, "job-prep-release-sample")
    task = session.tasks(session.job_id).ranges()[0][0]
    said = " ".join(page(session, ItemRef("task", task), "Output"))
    assert "Attempt 1 on" in said
    assert "stdout.txt" in said
    early = session_at(1, "job-prep-release-sample")
    assert "has not started on a node yet" in " ".join(page(early, ItemRef("task", task), "Output"))


def test_the_statistics_of_a_job_are_drawn_at_every_width(session_at):
    session = session_at(3000, "retries-and-exit-conditions")
    job = ItemRef("job", session.job_id)
    for cells in (40, 76, 118, 196):
        told = page(session, job, "Statistics", cells)
        assert contains(told, "Run times", "p50")
        assert contains(told, "Waiting times")
        assert contains(told, "Failed attempts by exit code", "exit code")


def test_the_overview_of_a_task_fills_the_page_with_its_states_and_the_end_of_its_output():
    task = a_task("t", 30, simulate={"stdout": "".join(f"line {number}\n" for number in range(90))})
    sim = simulation(a_job(tasks=[task]))
    run_to(sim, seconds=READY_S + 90)
    thing = the(Session(sim), ItemRef("task", 0))

    def overview(rows):
        thing.rows = rows
        return [plain(each).strip() for each in thing.lines(0, 116)]

    facts, some, filled = overview(1), overview(18), overview(40)
    assert "Attempts" not in facts
    assert "Attempts" in some
    assert len(some) <= 18
    assert len(filled) == 40
    assert "line 89" in filled
    assert "line 0" not in filled


def test_the_overview_of_a_task_draws_its_dependencies_where_they_have_room(session_at):
    session = session_at(360, "six-steps-to-a-result")
    thing = the(session, ItemRef("task", session.tasks(session.job_id).ranges()[0][0]))
    thing.rows = 40
    assert "Dependencies" in [plain(each) for each in thing.lines(0, 116)]
