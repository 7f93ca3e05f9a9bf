"""Lists that are kept show the same as new ones."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.specs import commands as c
from tui.viewmodels.glyphs import GlyphSet
from tui.viewmodels.lists import events
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.filters import EventFilter
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.pools import NodesModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session

EVENTS_BETWEEN_LOOKS = 7
CHOICES = [
    ("state:running", None, False),
    ("state:active", "Start time", True),
    ("duration:>1s", None, False),
    ("", "Duration", True),
    ("", "Task", True),
    ("result:success", "Node", False),
    ("retries:<9", "Exit code", True),
    ("1", "End time", False),
    ("running", None, False),
    ("!comp", "Start time", False),
    ("", "State", False),
]


def model_of(session, choice):
    model = TasksModel(session)
    model.filter_text, model.sort_column, model.is_descending = choice
    return model


def rows_of(model):
    model.update()
    while model.sort_some():
        pass
    return [model.key(at) for at in range(model.count)], model.hidden


@pytest.mark.parametrize(
    "name",
    [
        "retries-and-exit-conditions",
        "nodes-fail-and-recover",
        "priorities-and-fairness",
        "mpi-in-trouble",
        "job-manager-adds-tasks",
    ],
)
def test_a_list_that_is_kept_shows_the_same_as_a_new_one(name):
    simulation = Simulation(load_scenario(name))
    session = Session(simulation)
    simulation.advance(simulation.end_ms, 40)
    session.focus_job(session.job_id)
    kept = [(model_of(session, choice), choice) for choice in CHOICES]
    for number in range(60):
        session.update()
        for model, choice in kept:
            assert rows_of(model) == rows_of(model_of(session, choice)), (choice, simulation.now_ms)
        if number == 40:
            simulation.seek(simulation.now_ms // 2)
            simulation.branch()
        if not simulation.advance(simulation.end_ms, EVENTS_BETWEEN_LOOKS):
            break


@pytest.mark.parametrize("time_format", ["clock", "elapsed"])
@pytest.mark.parametrize("kind", [TasksModel, NodesModel, PreparationModel, ReleaseModel])
@pytest.mark.parametrize(
    "name",
    [
        "retries-and-exit-conditions",
        "nodes-fail-and-recover",
        "pipeline-with-dependencies",
        "preparation-fails-on-one-node",
        "node-removed-during-release",
        "reboot-during-preparation",
    ],
)
def test_cells_that_are_kept_are_the_same_as_new_ones(name, kind, time_format):
    simulation = Simulation(load_scenario(name))
    session = Session(simulation)
    simulation.advance(simulation.end_ms, 40)
    session.focus_job(session.job_id)
    session.time_format = time_format
    model = kind(session)
    for number in range(160):
        session.update()
        keys = model.order()[:]
        assert model.cells_of(keys) == {key: model.cells(key) for key in keys}, simulation.now_ms
        if number == 50:
            model.chosen_columns = frozenset(column.name for column in model.columns)
        if number == 70:
            simulation.seek(simulation.now_ms // 2)
            simulation.branch()
            session.glyphs = GlyphSet(ascii_only=True)
        simulation.advance(simulation.end_ms, number % 4)


def test_cells_in_view_are_kept_while_only_time_goes_by(monkeypatch):
    simulation = Simulation(load_scenario("nodes-fail-and-recover"))
    session = Session(simulation)
    simulation.advance(simulation.end_ms, 60)
    model, running = TasksModel(session), session.tasks(session.job_id).running()
    before = model.cells_of(running)
    monkeypatch.setattr(model, "_usual_columns", None)
    assert before
    assert model.cells_of(running) == before


def test_added_deleted_and_reactivated_tasks_are_put_in_their_places():
    simulation = Simulation(load_scenario("retries-and-exit-conditions"))
    session = Session(simulation)
    simulation.run_until(simulation.end_ms // 1000)
    job_id = next(job.id for job in simulation.world.jobs.rows if session.tasks(job.id).failed())
    session.focus_job(job_id)
    session.update()
    kept = [(model_of(session, choice), choice) for choice in CHOICES]
    for model, _ in kept:
        rows_of(model)
    failed = session.tasks(job_id).failed()[0]
    ids = [session.tasks(job_id).id_of(task) for task in (failed, *(set(session.tasks(job_id).as_added()) - {failed}))]
    for command in (
        c.ReactivateTask.from_wire({"jobId": job_id, "taskId": ids[0]}),
        c.DeleteTask.from_wire({"jobId": job_id, "taskId": ids[1]}),
        c.AddTasks.from_wire({"jobId": job_id, "tasks": [{"id": f"more-{n}", "commandLine": "x"} for n in range(3)]}),
    ):
        simulation.submit(command)
        session.update()
        for model, choice in kept:
            assert rows_of(model) == rows_of(model_of(session, choice)), (choice, command)


@pytest.mark.parametrize("at_once", [0, 2, 10_000])
def test_a_filter_of_events_judges_only_new_ones(monkeypatch, at_once):
    monkeypatch.setattr(EventsModel, "at_once", at_once)
    monkeypatch.setattr(events, "MOST_NEW", at_once)
    monkeypatch.setattr(events, "PIECE", 3)
    simulation = Simulation(load_scenario("nodes-fail-and-recover"))
    session, judged = Session(simulation), []
    keep = EventFilter.keep
    kept = EventsModel(session)
    kept.filter_text = "kind:node"
    shown = set()
    for number in range(80):
        session.update()
        fresh = EventsModel(session)
        fresh.filter_text = kept.filter_text
        assert rows_of(fresh) == rows_of(kept)
        shown.add(kept.count)
        monkeypatch.setattr(EventFilter, "keep", lambda self, keys: (judged.extend(keys), keep(self, keys))[1])
        if number == 50:
            simulation.seek(simulation.now_ms // 2)
            simulation.branch()
        before = len(simulation.log)
        simulation.advance(simulation.end_ms, EVENTS_BETWEEN_LOOKS)
        session.update()
        judged.clear()
        rows_of(kept)
        assert number == 50 or judged == [] or sorted(judged) == list(range(before, len(simulation.log)))
        monkeypatch.setattr(EventFilter, "keep", keep)
    assert len(simulation.log) > 60
    assert len(shown) > 3
