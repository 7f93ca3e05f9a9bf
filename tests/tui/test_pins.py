"""Pins, and the third column: what stays in the Watch view, and what is told of it where there is room."""

from __future__ import annotations

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, text_of
from tui.viewmodels.text import ItemRef, plain, width
from tui.viewmodels.watch.arrangement import drop_unknown_pins, pin_lines, toggle_pin

LATER_S = 330


def texts(session, cells=70):
    drop_unknown_pins(session)
    return [plain(each) for _, each in pin_lines(session, cells)]


def back(session, seconds):
    session.update()
    session.simulation.seek(seconds * 1000)
    session.update()


def test_a_node_a_job_and_a_task_are_told_in_a_line_each(session_at):
    session = session_at(LATER_S)
    tasks = session.tasks("risk")
    failed = tasks.failed()[0]
    for subject in (ItemRef("node", 1), ItemRef("job", "risk"), ItemRef("task", failed)):
        assert toggle_pin(session, subject)
    node, job, task = texts(session)
    assert node.startswith(("✗ n1", ". n1"))
    assert "failed" in node
    assert job == "◉ risk  active  tasks 24/40 ✗2"
    assert tasks.id_of(failed) in task
    assert "exit 1" in task
    assert all(width([span]) <= 30 for _, each in pin_lines(session, 30) for span in each)
    assert not toggle_pin(session, ItemRef("job", "risk"))
    assert len(texts(session)) == 2


def test_pins_go_along_through_time(session_at):
    session = session_at(LATER_S)
    toggle_pin(session, ItemRef("node", 5))
    toggle_pin(session, ItemRef("job", "risk"))
    assert "left the pool" in texts(session)[0]
    back(session, 100)
    assert "running" in texts(session)[0]
    back(session, 1)
    assert "does not exist yet" in texts(session)[0]
    back(session, LATER_S)
    assert "left the pool" in texts(session)[0]


def test_what_is_not_known_any_more_is_dropped(session_at):
    session = session_at(LATER_S)
    toggle_pin(session, ItemRef("node", 5))
    toggle_pin(session, ItemRef("job", "risk"))
    back(session, 1)
    assert len(texts(session)) == 2
    session.simulation.branch()
    session.update()
    assert len(texts(session)) == 1


def test_a_row_that_is_another_node_in_a_branch_is_not_what_was_pinned(session_at):
    session = session_at(LATER_S)
    toggle_pin(session, ItemRef("node", 2))
    session.pins[ItemRef("node", 2)] = "another"
    assert texts(session) == []


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 16)])
def test_p_pins_and_unpins_on_every_size(dashboard_at, size):
    app = dashboard_at(LATER_S)
    seen, names = [], []

    def note(app):
        pane = app.screen.query_one("#pins")
        seen.append([text_of(app), pane.display, pane.size.height])
        names.extend(f"n{each.key} " for each in app.session.pins)

    drive(app, "right", "p", note, "p", note, size=size)
    assert seen[0][1:] == [True, 1]
    pinned = [each for each in seen[0][0] if each not in seen[1][0]]
    assert contains(pinned, *names, "slots")
    assert len(names) == 1
    assert size[1] < 24 or contains(seen[0][0], "Pinned (1)")
    assert seen[1][1] is False
    assert not contains(seen[1][0], "Pinned (1)")


def test_enter_on_a_pin_goes_there_from_whatever_is_in_focus(dashboard_at):
    app = dashboard_at(400, "shared-pool-two-jobs")
    seen = []

    def note(app):
        seen.append((app.session.job_id, app.screen.subject))

    def another_job(app):
        session = app.session
        jobs = [job for job in session.simulation.world.jobs.present() if job.id != session.job_id]
        session.focus_job(jobs[0].id)
        app.screen.update()

    drive(app, "5", note, "p", another_job, "1", lambda app: app.screen.query_one("#pins").focus(), "enter", note)
    assert seen[0] == seen[1]
    assert seen[1][1].kind == "task"


@pytest.mark.parametrize(("keys", "told"), [((), "State transition time"), (("tab", "tab"), "Preparation task")])
def test_from_160_cells_on_details_fill_the_room_that_the_lists_leave(dashboard_at, keys, told):
    assert contains(after(dashboard_at(LATER_S), *keys, size=(160, 60)), "  Details", told)
    assert not contains(after(dashboard_at(LATER_S), *keys, size=(159, 60)), "  Details")


def test_details_follow_the_cursor_of_the_map(dashboard_at):
    for downs in (0, 2):
        lines = after(dashboard_at(LATER_S), *["down"] * downs, size=(180, 60))
        index = next(each for each in lines if "Index" in each)
        assert index.split("Index")[1].split()[0] == str(downs)
