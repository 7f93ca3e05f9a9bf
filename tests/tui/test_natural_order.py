"""Lists sorted by id are in the order in which people count."""

from __future__ import annotations

from itertools import pairwise

import pytest

from engine.base.values import natural_key
from engine.scenario.factory import TaskFactory
from tests.builders import READY_S, a_job, a_pool, a_task, do, run_to, simulation
from tui.viewmodels.lists.instances import PreparationModel
from tui.viewmodels.lists.jobs import JobsModel
from tui.viewmodels.lists.pools import NodesModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session


def test_numbers_in_ids_count_by_their_value():
    ids = ["a", "n1", "n1a", "n2", "n02b", "n10", "n10-2", "n10-11", "n123456789012345678901234567890", "na"]
    assert sorted(set(ids), key=natural_key) == ids


def names(model, column):
    model.sort_column = column
    model.update()
    return [model.cells(model.key(at))[model.identity].text for at in range(model.count)]


def test_nodes_jobs_and_preparation_tasks_are_sorted_as_people_count():
    jobs = [a_job(f"job-{number}", tasks=1) for number in (2, 10, 1)]
    sim = simulation(a_job("busy", tasks=12, prep={"commandLine": "x"}), *jobs, pool=a_pool(nodes=12))
    run_to(sim, seconds=READY_S + 30)
    session = Session(sim)
    in_order = [f"n{number}" for number in range(12)]
    assert names(NodesModel(session), "Node") == in_order
    assert names(PreparationModel(session), "Node") == ["n0", *in_order[4:]]  # the other jobs are on n1 to n3
    assert names(JobsModel(session), "Job") == ["busy", "job-1", "job-2", "job-10"]


def test_tasks_are_sorted_as_people_count_in_whatever_order_they_were_added():
    sim = simulation(a_job(tasks=[a_task("t1"), a_task("t2")]))
    run_to(sim, seconds=READY_S)
    model = TasksModel(Session(sim))
    assert names(model, "Task") == ["t1", "t2"]
    do(sim, "addTasks", jobId="j", tasks=[a_task("t10"), a_task("t9")])
    model.session.update()
    assert names(model, "Task") == ["t1", "t2", "t9", "t10"]
    do(sim, "addTasks", jobId="j", tasks=[a_task("t3")])
    model.session.update()
    assert names(model, "Task") == ["t1", "t2", "t3", "t9", "t10"]


@pytest.mark.parametrize(
    "lines",
    [
        ["work 9", "work 10", "work 10", "work 11"],
        ["work 9", "play", "work 10"],
        ["work 1", "work 2"],
        ["work 8", "work 9", "work 20"],
    ],
)
def test_tasks_are_sorted_by_command_lines_as_people_count(lines):
    tasks = [a_task(f"t{number}", commandLine=each) for number, each in enumerate(lines)]
    swept = {"type": "parametricSweep", "parameterSets": [{"start": 2, "end": 12}]}
    factory = swept | {"repeatTask": {"id": "f{0}", "commandLine": "work {0}"}}
    more = {"at": READY_S, "addTasks": {"jobId": "j", "taskFactory": factory}}
    sim = simulation(a_job(tasks=tasks), timeline=[more])
    model = TasksModel(Session(sim))
    model.sort_column = "Command line"
    added = [f"work {number}" for number in range(2, 13)]
    for seconds, expected in ((5, lines), (READY_S + 1, [*lines, *added])):
        run_to(sim, seconds=seconds)
        model.session.update()
        model.update()
        rows = [model.key(at) for at in range(model.count)]
        assert model.session.tasks("j").command_lines_of(rows) == sorted(expected, key=natural_key)


def test_tasks_that_are_added_while_others_are_sorted_do_not_disturb_that(monkeypatch):
    monkeypatch.setattr(TasksModel, "at_once", 2)
    sim = simulation(a_job(tasks=[a_task(f"t{number}") for number in range(1, 9)]))
    run_to(sim, seconds=READY_S)
    model = TasksModel(Session(sim))
    names(model, "Task")
    for _ in range(12):
        assert model.sort_some()
    do(sim, "addTasks", jobId="j", tasks=[a_task("t10"), a_task("t9")])
    model.session.update()
    while model.is_sorting:
        names(model, "Task")
        model.sort_some()
    names(model, "Task")
    while model.sort_some():
        pass
    assert names(model, "Task") == [f"t{number}" for number in range(1, 11)]


def test_the_order_in_which_tasks_were_added_is_looked_at_again_in_another_branch():
    sim = simulation(a_job(tasks=[a_task("t1"), a_task("t2")]))
    run_to(sim, seconds=READY_S)
    model = TasksModel(Session(sim))
    do(sim, "addTasks", jobId="j", tasks=[a_task("t3"), a_task("t4")])
    model.session.update()
    assert names(model, "Task") == ["t1", "t2", "t3", "t4"]
    sim.seek(READY_S * 1000)
    sim.branch()
    do(sim, "addTasks", jobId="j", tasks=[a_task("t10"), a_task("t9")])
    model.session.update()
    assert names(model, "Task") == ["t1", "t2", "t9", "t10"]


@pytest.mark.parametrize(
    ("parameters", "task_id", "is_in_order"),
    [
        ([range(1, 120)], "t{0}", True),
        ([range(1, 120)], "t{0:4}-x", True),
        ([range(9, 0, -1)], "t{0}", False),
        ([range(-3, 9)], "t{0}", False),
        ([range(3), range(8, 12)], "a{0}-{1}", True),
        ([range(3), range(8, 12)], "a{1}-{0}", False),
        ([range(3), range(8, 12)], "a{0}{1}", False),
        ([range(120)], None, True),
    ],
)
def test_a_sweep_knows_whether_its_ids_rise(parameters, task_id, is_in_order):
    line = "x" if task_id is None else f"x {task_id}"
    factory = TaskFactory(parameters, {"commandLine": line} | ({} if task_id is None else {"id": task_id}))
    assert factory.ids_rise is factory.command_lines_rise is is_in_order
    keys = [natural_key(each) for each in factory.task_ids(range(factory.count))]
    assert not is_in_order or all(one < other for one, other in pairwise(keys))
