"""A form appears whole: its first frame is its last one."""

from __future__ import annotations

import pytest

from tests.tui.driving import drive, tried_out
from tests.tui.screen_text import frames_of, text_of
from tui.dialogs import action_form
from tui.dialogs.action_form import ActionForm
from tui.textual.views import LinesView

FORMS = {
    "resize": ("2", "a", *"resize", "enter"),
    "reimage": ("3", "a", *"reimage", "enter"),
    "delete a job": ("4", "a", *"delete", "enter"),
    "create a job": ("4", "ctrl+n"),
    "create a pool": ("2", "ctrl+n"),
    "create tasks": ("5", "ctrl+n"),
}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("form", FORMS)
def test_the_first_frame_of_a_form_is_its_last_one(dashboard_at, monkeypatch, form, size):
    frames = frames_of(ActionForm, monkeypatch)
    monkeypatch.setattr(action_form, "_MOST_HELD_S", 60)  # this machine may be busy
    drive(dashboard_at(330), *FORMS[form], tried_out, lambda app: frames.append(text_of(app)), size=size)
    assert len(set(map(tuple, frames))) == 1


@pytest.mark.parametrize("keys", [("4", "ctrl+n"), ("2", "a", *"create a job", "enter")])
def test_a_new_job_without_a_preparation_task_is_not_said_to_run_one(dashboard_at, keys):
    app, seen = dashboard_at(330), []
    drive(app, *["space" if key == " " else key for key in keys], lambda app: seen.append(text_of(app)))
    assert "preparation task, if it has one" in " ".join(" ".join(line.replace("│", " ").split()) for line in seen[0])


SMALL = [(80, 24), (60, 20)]
TO_DELETE = ("4", "a", *["down"] * 6)  # the cursor in the menu of the actions on a job


def seen_at(app, size, *keys):
    seen = []
    drive(app, *keys, tried_out, lambda app: seen.append(text_of(app)), size=size)
    return " ".join(" ".join(line.replace("│", " ").split()) for line in seen[0])


@pytest.mark.parametrize("size", SMALL)
def test_a_menu_shows_all_effects_of_the_action_under_the_cursor(dashboard_at, size):
    text = seen_at(dashboard_at(330), size, *TO_DELETE)
    assert "› Delete risk" in text
    assert "at present tasks affected" in text
    assert "deleted (JOB-16)" in text


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("form", FORMS)
def test_a_form_on_a_small_screen_names_the_key_that_confirms_and_the_one_that_shows_more(dashboard_at, size, form):
    app, longer = dashboard_at(330), []

    def look(app):
        view = app.screen.query_one("#consequences", LinesView)
        longer.append(len(view.lines) > view.size.height)

    text = seen_at(app, size, *FORMS[form], tried_out, look)
    assert "ctrl+s do it" in text
    assert ("pgdn more" in text) is longer[0]


@pytest.mark.parametrize("size", SMALL)
def test_a_form_says_in_its_title_that_the_service_cannot_undo_an_action(dashboard_at, size):
    assert "Delete risk: the service cannot undo this" in seen_at(dashboard_at(330), size, *TO_DELETE, "enter")
    assert "cannot undo" not in seen_at(dashboard_at(330), size, *FORMS["create a job"])
