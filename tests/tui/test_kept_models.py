"""Models that keep what nothing has changed show the same as new ones, at every moment of a run and after jumps."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_line, a_pool, do, run, run_to
from tests.builders import simulation as a_simulation
from tui.viewmodels.frame import Transport, breadcrumb, scrubber
from tui.viewmodels.session import Session
from tui.viewmodels.watch.attention import AttentionModel
from tui.viewmodels.watch.curves import CurvesModel
from tui.viewmodels.watch.job_strip import JobStripModel
from tui.viewmodels.watch.node_cards import MapLines
from tui.viewmodels.watch.node_map import LENSES, Form, Layout, NodeMapModel

_CELLS, _ROWS = 116, 24
_TRANSPORT = Transport(is_playing=True, speed=1, is_finished=False)
_LAYOUTS = (Layout(Form.NAME, 4, 9), Layout(Form.CELL, 10, 2), Layout(Form.GROUP, 5, 1, nodes=3, label=3))
_SCENARIOS = (
    "drain-with-taskcompletion",
    "every-way-to-end-a-job",
    "job-prep-release-sample",
    "nodes-fail-and-recover",
    "offline-and-unusable-at-the-end",
    "preparation-retries",
    "reimage-clears-the-bar",
    "retries-of-flaky-tasks",
    "shared-pool-two-jobs",
    "spot-evictions",
)


class _Watch:
    """The models of the Watch view."""

    def __init__(self, simulation: Simulation, newest_ms: int = 0) -> None:
        self._session = Session(simulation)
        self._session.newest_ms = newest_ms
        self._strip, self._attention = JobStripModel(self._session), AttentionModel(self._session)
        self._curves = CurvesModel(self._session)
        self._maps = []
        for lens in LENSES:
            model = NodeMapModel(self._session)
            model.look_through(lens)
            self._maps.append((model, [MapLines(model) for _ in _LAYOUTS]))

    def is_up_to_date(self, *, has_curves: bool = True) -> bool:
        """Return whether new models draw the same."""
        mine = self.drawn(has_curves=has_curves)
        return mine == _Watch(self._session.simulation, self._session.newest_ms).drawn(has_curves=has_curves)

    def drawn(self, *, has_curves: bool) -> list[object]:
        """Return all that is drawn now. In the past curves are read in the longer spans that the whole run needs."""
        session, strip = self._session, self._strip
        session.update()
        session.choose_first_job()  # as a new session does
        strip.update()
        self._attention.update()
        found = [breadcrumb(session, "Watch", _TRANSPORT, _CELLS), scrubber(session, _CELLS)]
        found += [strip.title(_ROWS, _CELLS), strip.subtitle(_CELLS), *strip.lines(_CELLS, _ROWS, 0)]
        found += [*self._attention.lines(_CELLS // 2), *(self._curves.lines(_CELLS, _ROWS) if has_curves else ())]
        for model, every in self._maps:
            model.update()
            found += [model.title(_CELLS, _LAYOUTS[-1]), model.counts(), *model.legend(_CELLS)]
            found += [model.description(0, _CELLS, 3)]
            for layout, lines in zip(_LAYOUTS, every, strict=True):
                found += lines.rows(range(3), layout, None, _CELLS)
        return found


@pytest.mark.parametrize("name", _SCENARIOS)
def test_models_that_are_kept_show_what_new_ones_show(name):
    simulation = Simulation(load_scenario(name))
    kept, seen = _Watch(simulation), []
    while simulation.advance(simulation.end_ms, 3):
        assert kept.is_up_to_date(), simulation.now_ms
        seen.append(simulation.now_ms)
    for when_ms in seen[:: -max(1, len(seen) // 8)]:
        simulation.seek(when_ms)
        assert kept.is_up_to_date(has_curves=False), when_ms
    simulation.branch()
    simulation.advance(simulation.end_ms, len(seen))
    assert kept.is_up_to_date(has_curves=False), simulation.now_ms


def test_what_a_user_changes_between_two_frames_shows_in_the_second():
    pool, other = a_pool(nodes=3), a_pool("q", nodes=5)
    simulation = a_simulation(a_job(prep=a_line(20), tasks=4), pools=[pool, other])
    run_to(simulation, seconds=READY_S + 40)
    kept = _Watch(simulation)
    changes = (
        ("disableNodeScheduling", {"poolId": "p", "node": 2}),
        ("disableJob", {"jobId": "j", "disableTasks": "requeue"}),
        ("updateJob", {"jobId": "j", "poolInfo": {"poolId": "q"}}),
    )
    for name, body in changes:
        assert kept.is_up_to_date()
        do(simulation, name, **body)
        assert kept.is_up_to_date(), name
        run(simulation, seconds=30)  # until the job is disabled
