"""A form appears whole: its first frame is its last one."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.tui.driving import drive, look, tried_out
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


def steps_of(forms, look):
    """The keys that open each form, a look at it, and the keys that close it and what it was opened from."""
    for form, keys in forms.items():
        yield from (*keys, tried_out, lambda app, form=form: look(form, app), "escape", "escape")


def joined(lines):
    return " ".join(" ".join(line.replace("│", " ").split()) for line in lines)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_first_frame_of_a_form_is_its_last_one(dashboard_at, monkeypatch, size):
    frames, of_form = frames_of(ActionForm, monkeypatch), {}
    monkeypatch.setattr(action_form, "_MOST_HELD_S", 60)  # this machine may be busy

    def look(form, app):
        of_form[form] = {*map(tuple, frames), tuple(text_of(app))}
        frames.clear()

    def has_closed(app):
        assert len(app.screen_stack) == 1
        frames.clear()

    one_by_one = ((*steps_of({form: keys}, look), has_closed) for form, keys in FORMS.items())
    drive(dashboard_at(330), *chain.from_iterable(one_by_one), size=size)
    assert {form: len(different) for form, different in of_form.items()} == dict.fromkeys(FORMS, 1)


NEW_JOBS = {"the key": ("4", "ctrl+n"), "the menu": ("2", "a", *"create", "space", *"a", "space", *"job", "enter")}


def test_a_new_job_without_a_preparation_task_is_not_said_to_run_one(dashboard_at):
    texts = {}
    look = lambda form, app: texts.update({form: joined(text_of(app))})  # noqa: E731
    drive(dashboard_at(330), *steps_of(NEW_JOBS, look))
    assert [form for form in NEW_JOBS if "preparation task, if it has one" not in texts[form]] == []


SMALL = [(80, 24), (60, 20)]
TO_DELETE = ("4", "a", *["down"] * 6)  # the cursor in the menu of the actions on a job


@pytest.mark.parametrize("size", SMALL)
def test_a_menu_shows_all_effects_of_the_action_under_the_cursor(dashboard_at, size):
    seen = []
    drive(dashboard_at(330), *TO_DELETE, look(seen), size=size)
    text = joined(seen[0])
    assert "› Delete risk" in text
    assert "at present tasks affected" in text
    assert "deleted (JOB-16)" in text


@pytest.mark.parametrize("size", SMALL)
def test_a_form_on_a_small_screen_names_its_keys_and_what_cannot_be_undone(dashboard_at, size):
    """Its keys are the one that confirms and, where not all effects have room, the one that shows more."""
    texts, longer = {}, {}

    def keep(form, app):
        view = app.screen.query_one("#consequences", LinesView)
        texts[form], longer[form] = joined(text_of(app)), len(view.lines) > view.size.height

    drive(dashboard_at(330), *steps_of(FORMS, keep), size=size)
    assert [form for form in FORMS if "ctrl+s do it" not in texts[form]] == []
    assert {form: "pgdn more" in text for form, text in texts.items()} == longer
    assert "Delete risk: the service cannot undo this" in texts["delete a job"]
    assert [form for form in FORMS if "cannot undo" in texts[form]] == ["delete a job"]
