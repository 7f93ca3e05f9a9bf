"""A form appears whole: its first frame is its last one."""

from __future__ import annotations

import pytest

from tests.tui.driving import drive, tried_out
from tests.tui.screen_text import text_of
from tui.dialogs import action_form
from tui.dialogs.action_form import ActionForm

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
    app, frames = dashboard_at(330), []
    draw = ActionForm._compositor_refresh

    def drawn(screen):
        draw(screen)
        if not screen.is_held and screen.is_current:
            frames.append(text_of(app))

    monkeypatch.setattr(action_form, "_MOST_HELD_S", 60)  # this machine may be busy
    monkeypatch.setattr(ActionForm, "_compositor_refresh", drawn)
    drive(app, *FORMS[form], tried_out, lambda app: frames.append(text_of(app)), size=size)
    assert len(set(map(tuple, frames))) == 1


@pytest.mark.parametrize("keys", [("4", "ctrl+n"), ("2", "a", *"create a job", "enter")])
def test_a_new_job_without_a_preparation_task_is_not_said_to_run_one(dashboard_at, keys):
    app, seen = dashboard_at(330), []
    drive(app, *["space" if key == " " else key for key in keys], lambda app: seen.append(text_of(app)))
    assert "preparation task, if it has one" in " ".join(" ".join(line.replace("│", " ").split()) for line in seen[0])
