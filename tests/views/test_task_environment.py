"""The environment of a task's process, as its client reads it back (TASK-17)."""

from __future__ import annotations

from engine.views.resources.tasks import TaskPage
from tests.builders import a_job, a_task, do, run_to, simulation, task_row
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session


def test_task_17_the_variables_of_a_task_can_be_read_its_own_and_the_services():
    own = [{"name": "MODEL", "value": "v2"}, {"name": "AZ_BATCH_POOL_ID", "value": "mine"}]
    common = {"commonEnvironmentSettings": [{"name": "REGION", "value": "eu"}, {"name": "MODEL", "value": "v1"}]}
    sim = simulation(a_job(tasks=[a_task("t1", 600, environmentSettings=own), a_task("t2", 600)], **common))
    run_to(sim, minutes=3)
    read = TaskPage(sim, "j").environment(task_row(sim, "t1"))
    assert (read["MODEL"], read["REGION"], read["AZ_BATCH_POOL_ID"]) == ("v2", "eu", "p")
    assert read["AZ_BATCH_TASK_ID"] == "t1"
    assert read["AZ_BATCH_TASK_WORKING_DIR"].endswith("/workitems/j/job-1/t1/wd")
    assert TaskPage(sim, "j").environment(task_row(sim, "t2")) == {}
    model = TasksModel(Session(sim))
    model.update()
    shown = next(block for block in model.details(task_row(sim, "t1")) if block.title == "Environment")
    assert ("", "MODEL=v2") in [(label, value.text) for label, value in shown.rows]


def test_task_17_when_the_node_is_gone_nothing_can_be_read():
    sim = simulation(a_job(tasks=[a_task("t1", 10)]))
    run_to(sim, minutes=3)
    assert TaskPage(sim, "j").environment(task_row(sim, "t1"))
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to(sim, minutes=6)
    assert TaskPage(sim, "j").environment(task_row(sim, "t1")) == {}
