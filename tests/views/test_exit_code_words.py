"""Tests of the words for exit codes that the service, a shell, a signal or Windows gives (RETRY-8)."""

from __future__ import annotations

import pytest

from engine.base.errors import exit_text
from engine.views.diagnosis.questions import explain
from tests.builders import STOPPED, a_job, a_task, run_to_end, simulation, task_row
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain


@pytest.mark.parametrize(
    ("task", "code", "words"),
    [
        (a_task("t", 600, constraints={"maxWallClockTime": "PT1M"}), STOPPED, "stopped by the service"),
        (a_task("t", 5, 137), 137, "killed: SIGKILL, often for want of memory"),
        (a_task("t", 5, 143), 143, "terminated: SIGTERM"),
        (a_task("t", 5, -9), -9, "killed: SIGKILL"),
        (a_task("t", 5, 127), 127, "the command was not found"),
    ],
)
def test_an_exit_code_that_is_well_known_is_explained_wherever_it_is_told(task, code, words):
    sim = simulation(a_job(tasks=[task]))
    run_to_end(sim)
    said, row = f"{code} ({words})", task_row(sim, "t")
    assert any(said in line for each in explain(sim, "task", row) for line in each.lines())
    model = TasksModel(Session(sim))
    model.update()
    assert f"exit {said}" in plain(model.sentence(row))
    assert said in [value.text for block in model.details(row) for name, value, *_ in block.rows if name == "Exit code"]


def test_any_other_code_is_told_as_it_is():
    assert [exit_text(code) for code in (None, 0, 1, 3, -1)] == ["", "0", "1", "3", "-1"]
