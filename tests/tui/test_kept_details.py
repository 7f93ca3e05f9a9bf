"""Details that are kept while nothing concerns their row say the same as new ones."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, node_row, run, run_to, task_row
from tests.builders import simulation as a_simulation
from tests.tui.test_supplies import PACKAGED
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.pools import NodesModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.session import Session

_MODELS = (TasksModel, NodesModel, PreparationModel, ReleaseModel)
_MOST_ROWS = 3
_SCENARIOS = (
    "a-new-version-of-the-pricer",
    "every-way-to-end-a-job",
    "how-long-files-are-kept",
    "mpi-in-trouble",
    "nodes-fail-and-recover",
    "packages-against-preparation",
    "pipeline-with-dependencies",
    "pool-from-an-arm-template",
    "spot-evictions",
)


class _Details:
    """The details of the first rows of all lists, each row in a model of its own."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation, self._session = simulation, Session(simulation)
        self._models: dict = {}

    def _rows(self, kind: type) -> range:
        is_of_job = kind in (PreparationModel, ReleaseModel)
        world = self._simulation.world
        rows = world.tasks.length if kind is TasksModel else world.nodes.length
        return range(min(_MOST_ROWS, rows) if self._session.job_id or not is_of_job else 0)

    def are_up_to_date(self) -> bool:
        """Return whether new models say the same."""
        self._session.update()
        self._session.choose_first_job()  # as a new session does
        asked = [(kind, row) for kind in _MODELS for row in self._rows(kind)]
        for kind, row in asked:
            if (kind, row) not in self._models:
                self._models[kind, row] = kind(self._session)
        kept = [self._said(self._models[kind, row], row) for kind, row in asked]
        new = Session(self._simulation)
        return kept == [self._said(kind(new), row) for kind, row in asked]

    @staticmethod
    def _said(model, row: int) -> object:
        model.update()
        return model.details(row)


@pytest.mark.parametrize("name", _SCENARIOS)
def test_details_that_are_kept_say_what_new_ones_say(name):
    simulation = Simulation(load_scenario(name))
    kept, seen = _Details(simulation), []
    while simulation.advance(simulation.end_ms, 1) and len(seen) < 300:
        assert kept.are_up_to_date(), simulation.now_ms
        seen.append(simulation.now_ms)
    for when_ms in seen[:: -max(1, len(seen) // 8)]:
        simulation.seek(when_ms)
        assert kept.are_up_to_date(), when_ms
    simulation.branch()
    simulation.advance(simulation.end_ms, len(seen) // 2)
    assert kept.are_up_to_date(), simulation.now_ms


def test_what_only_time_changes_is_said_anew():
    package = {"applicationId": "pricer"}
    prep = a_line(5, constraints={"retentionTime": "PT20S"})
    file = {"httpUrl": "https://acc/in/a", "filePath": "a"}
    job = a_job(prep=prep, tasks=[a_task(seconds=90, resourceFiles=[file])])
    simulation = a_simulation(
        job,
        pool=a_pool(applicationPackageReferences=[package]),
        account=PACKAGED,
        simulate={"storage": {"https://acc/in/a": {"size": "1 GB"}}},
    )
    run_to(simulation, seconds=READY_S - 5)
    kept = _Details(simulation)
    while simulation.now_ms < 75_000:
        assert kept.are_up_to_date(), simulation.now_ms
        run(simulation, seconds=1)
    do(simulation, "createNodeUser", poolId="p", node=0, name="eve", password="s", expiryTime="2026-01-05T08:03:00Z")
    for _ in range(150):
        assert kept.are_up_to_date(), simulation.now_ms
        run(simulation, seconds=1)


def test_details_are_kept_while_only_other_tasks_and_nodes_change():
    simulation = a_simulation(
        a_job(tasks=[a_task("long", 600), *(a_task(f"t{n}", 30) for n in range(9))]), pool=a_pool(nodes=2)
    )
    run_to(simulation, seconds=READY_S + 10)
    session = Session(simulation)
    row = task_row(simulation, "long")
    node = simulation.world.tasks.node[row]
    asked = [(TasksModel(session), row), (NodesModel(session), node), (PreparationModel(session), node)]
    before = [model.details(key) for model, key in asked]
    run(simulation, seconds=120)
    session.update()
    assert all(model.details(key) is said for (model, key), said in zip(asked, before, strict=True))
    do(simulation, "disableNodeScheduling", poolId="p", node=node_row(simulation) - node)
    session.update()
    assert all(model.details(key) is not said for (model, key), said in zip(asked, before, strict=True))
