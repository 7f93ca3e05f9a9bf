"""Tests of tasks that wait for another attempt or were ended then: their last start counts nowhere (TASK-13)."""

from __future__ import annotations

import pytest

from engine.views.resources.statistics import JobStatistics
from engine.views.results import document
from tests.builders import READY_S, a_job, a_pool, a_task, do, node, run, run_to, simulation
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session


def with_a_task_that_waits_again():
    """One task that is done, and one that began with it, ``cut``, which lost its node and waits."""
    tasks = [a_task("done", 10), a_task("cut", 300), a_task("later", 300)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 60)
    do(sim, "rebootNode", poolId="p", nodeId=node(sim, 0).id)
    run(sim, seconds=5)
    return sim


@pytest.fixture(params=["waits", "ended"])
def sim(request):
    found = with_a_task_that_waits_again()
    if request.param == "ended":
        do(found, "terminateTask", jobId="j", taskId="cut")
        run(found, seconds=1)
    return found


def sorted_by(sim, column, *, filter_text=""):
    model = TasksModel(Session(sim))
    model.sort_column, model.filter_text = column, filter_text
    model.update()
    return [model.identity_of(key) for key in model.keys(0, model.count)]


def test_lists_are_sorted_by_what_they_show(sim):
    for column, none_first in (("Start time", True), ("Duration", False), ("End time", True)):
        model = TasksModel(Session(sim))
        at = model.column_names.index(column)
        found = sorted_by(sim, column)
        texts = [model.texts_of([model.find(each)], at)[0] for each in found]
        shown = [text for text in texts if text]
        empty = [""] * (len(texts) - len(shown))
        assert shown
        assert texts == (empty + shown if none_first else shown + empty), column


def test_what_no_column_shows_is_not_found_by_it(sim):
    assert sorted_by(sim, None, filter_text="start:08:00:5") == ["done"]  # both began at the same moment


def test_statistics_and_stats_leave_their_last_start_out(sim):
    counted = JobStatistics(sim, 0).with_bins(5)
    assert [sim.world.tasks.task_id(each.task) for each in counted.slowest] == ["done"]
    assert counted.durations.tasks == counted.waits.tasks == 1
    (job,) = document(sim)["jobs"]
    started = [task["executionInfo"]["startTime"] for task in job["tasks"] if "startTime" in task["executionInfo"]]
    assert len(started) == 1
    assert job["stats"]["waitTime"] == "PT50S"
