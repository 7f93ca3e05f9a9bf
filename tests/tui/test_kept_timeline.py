"""A timeline that keeps what nothing has changed shows the same as a new one, at every moment and after jumps."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, run_to
from tests.builders import simulation as a_simulation
from tui.viewmodels.session import Session
from tui.viewmodels.timeline.timeline import TimelineModel

_CELLS, _KINDS = 70, range(3)  # nodes, tasks, jobs
_SCENARIOS = (
    "a-day-of-autoscaling",
    "delete-without-terminate",
    "every-way-to-end-a-job",
    "job-manager-adds-tasks",
    "disabled-jobs-that-end",
    "nodes-fail-and-recover",
    "preparation-retries",
    "spot-evictions",
)
_A_LINE_EACH, _SEVERAL_LINES = 1, 60
_ROWS = 2  # in view: most of what happens is about others


class _Timeline:
    """Timelines of all kinds of rows: with a line each, fitted to the run or zoomed in, and with room for bars."""

    def __init__(self, simulation: Simulation, newest_ms: int = 0) -> None:
        self.session = Session(simulation)
        self.session.newest_ms = newest_ms
        self.models = []
        for room, zoom in ((_A_LINE_EACH, {}), (_A_LINE_EACH, {"step_ms": 5_000}), (_SEVERAL_LINES, {})):
            for kind in _KINDS:
                model = TimelineModel(self.session)
                model.recall({"rows": kind, **zoom})
                self.models.append((model, room))

    def is_up_to_date(self) -> bool:
        """Return whether new models draw the same."""
        mine, other = self.drawn(), _Timeline(self.session.simulation, self.session.newest_ms)
        other.session.glyphs.ascii_only = self.session.glyphs.ascii_only
        for (model, _), (new, _) in zip(self.models, other.models, strict=True):
            new.columns, new.cursor_ms = model.columns, model.cursor_ms  # they depend on what was shown before
        return mine == other.drawn()

    def drawn(self) -> list[object]:
        self.session.update()
        self.session.choose_first_job()  # as a new session does
        found: list[object] = []
        for model, room in self.models:
            model.update(_CELLS, room)
            while model.go_on(model.keys):
                pass
            model.update(_CELLS, room)
            cursor = 0 if model.cursor_ms is not None else len(model.keys)  # out of view, it does not show each column
            shown = range(min(_ROWS, len(model.keys)))
            lines = model.lines(shown, cursor)
            found += [model.title(), model.axis(), *model.band(0, 2), model.cursor_line(0, _CELLS)]
            found += [*lines, model.legend(_CELLS, shown)]
        return found

    def choose(self, *, ascii_only: bool, columns: int) -> None:
        """Choose the characters, and move the cursor by columns."""
        self.session.glyphs.ascii_only = ascii_only
        for model, _ in self.models if columns else ():
            model.move(columns)


@pytest.mark.parametrize("name", _SCENARIOS)
def test_a_timeline_that_is_kept_shows_what_a_new_one_shows(name):
    simulation = Simulation(load_scenario(name))
    kept, seen = _Timeline(simulation), []
    while len(seen) < 20 and simulation.advance(simulation.end_ms, 9):
        assert kept.is_up_to_date(), simulation.now_ms
        seen.append(simulation.now_ms)
    for when_ms in seen[:: -max(1, len(seen) // 6)]:
        simulation.seek(when_ms)
        assert kept.is_up_to_date(), when_ms
    simulation.branch()
    simulation.advance(simulation.end_ms, 20)
    assert kept.is_up_to_date(), simulation.now_ms


def test_what_changes_planned_ends_without_an_entry_about_the_node_shows_in_the_next_frame():
    waits = a_task("waits") | {"simulate": {"until": "othersCompleted"}}
    tasks = [waits, a_task("long", 110), *(a_task(f"t{number}", 30) for number in range(12))]
    job = a_job(tasks=tasks, prep=a_line(20))
    simulation = a_simulation(job, pool=a_pool(nodes=3, taskSlotsPerNode=2))
    run_to(simulation, seconds=READY_S + 40)
    kept = _Timeline(simulation)
    changes = (
        ("updateTask", {"jobId": "j", "taskId": "long", "constraints": {"maxWallClockTime": "PT50S"}}),
        ("updateJob", {"jobId": "j", "constraints": {"maxWallClockTime": f"PT{READY_S + 60}S"}}),
    )
    for name, body in changes:
        before = kept.drawn()
        do(simulation, name, **body)
        assert before != kept.drawn(), name
        assert kept.is_up_to_date(), name
    while simulation.advance(simulation.end_ms, 1):
        assert kept.is_up_to_date(), simulation.now_ms


def test_what_a_viewer_chooses_between_two_frames_shows_in_the_second():
    simulation = a_simulation(a_job(prep=a_line(20), tasks=30), pool=a_pool(nodes=3, taskSlotsPerNode=2))
    run_to(simulation, seconds=READY_S + 200)
    kept = _Timeline(simulation)
    for ascii_only, columns in ((True, 0), (False, 0), (False, -3), (False, -4)):
        before = kept.drawn()
        kept.choose(ascii_only=ascii_only, columns=columns)
        assert before != kept.drawn()
        assert kept.is_up_to_date()


def test_an_estimate_that_changes_on_other_nodes_shows_on_those_in_view():
    long, others = [a_task(f"l{number}", 90) for number in range(4)], [a_task(f"t{at}", 5 + at % 7) for at in range(24)]
    simulation = a_simulation(a_job(tasks=[*long, *others]), pool=a_pool(nodes=3, taskSlotsPerNode=2))
    run_to(simulation, seconds=READY_S + 20)
    kept, estimates = _Timeline(simulation), set()
    while simulation.advance(simulation.end_ms, 1):
        assert kept.is_up_to_date(), simulation.now_ms
        estimates.add(kept.session.forecast().end_ms)
    assert len(estimates) > 10
