"""Scenarios with a study, a dashboard on one, and studies that need no other process."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from engine import Simulation, load_scenario
from engine.scenario.text import bundled
from engine.studies.runs import Player, StudyState, read
from tests.studies.conftest import NIGHT
from tui.app.dashboard import Dashboard
from tui.app.run_keys import begin_study
from tui.saving.settings import Settings, Source
from tui.viewmodels.study import StudyRequest, plan, without_variant

NODES = "pools.render.targetDedicatedNodes"
STUDY = f"study:\n  seeds: 4\n  vary:\n    {NODES}: [1, 3]\n    jobs.shot-1.priority: [0, 5]\n"
SCALED = """\
scenario: scaled
until: PT30M
study: {seeds: 2}
pools:
  - id: desk
    vmSize: standard_d2s_v3
    enableAutoScale: true
    autoScaleFormula: $TargetDedicatedNodes = 2;
  - {id: fixed, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}
jobs:
  - id: risk
    poolInfo: {poolId: desk}
    onAllTasksComplete: terminatejob
    tasks: [{id: a, commandLine: x}, {id: b, commandLine: x}, {id: c, commandLine: x}]
expect: [{jobId: risk, state: completed, within: PT1H}]
"""


def begin(*vary, seeds="", results=""):
    """Begin a study of the scenario that is shown, as the form does with what is typed."""

    def begins(app):
        main = app.main_screen
        scenario = without_variant(main.session.simulation.scenario)
        request = StudyRequest(vary, seeds, results)
        begin_study(main, scenario, request, plan(scenario, request))

    return begins


def night_dashboard(more=STUDY, *, text=NIGHT, **options):
    """A dashboard on the scenario with other lines at its end, written to a file in the current directory."""
    Path("night.yaml").write_text(text + more)
    settings = Settings()
    for name, value in options.items():
        settings.use(name, value, Source.COMMAND_LINE)
    return Dashboard(Simulation(load_scenario("night.yaml")), settings, plays=False)


def bundled_dashboard(name):
    """A dashboard on a bundled scenario, whose study has four seeds instead of twenty."""
    text = bundled()[name].read_text(encoding="utf-8")
    few = text.replace("  seeds: 20\n", "  seeds: 4\n")
    assert few != text
    return Dashboard(Simulation(load_scenario(name, text=few)), Settings(), plays=False)


class PlayedHere:
    """A study whose runs are played when it is begun, by no other process. ``HELD`` runs stay open."""

    HELD = 0
    FAILS = frozenset()
    _LINES: ClassVar = {}  # by study: those of the same study are played once

    def __init__(self, study, on_news, *, results=None, after=None, **_):
        runs = list(study.runs())
        key = study.identity, study.seeds
        if key not in self._LINES:
            self._LINES[key] = Player(study).play(runs)
        lines = [
            study.failed(run, "ValueError: no such thing") if run in self.FAILS else line
            for run, line in zip(runs, self._LINES[key], strict=True)
        ][: len(runs) - self.HELD]
        self.study, self.results, self.total = study, results, len(runs)
        self.state = StudyState.PLAYING if self.HELD else StudyState.DONE
        self.problems, self.reason = [], ""
        self.after = after
        self._new = [read(line) for line in lines]
        self.done = len(self._new)
        self.pace = self.done, 1.0
        self.is_stopped = False
        self.tell = on_news

    is_under_way = property(lambda self: self.state in (StudyState.CHECKING, StudyState.PLAYING))
    can_go_on = property(lambda self: self.state is StudyState.STOPPED)

    def take(self):
        new, self._new = self._new, []
        return new

    def stop(self):
        if self.is_under_way:
            self.state = StudyState.STOPPED
        self.is_stopped = True

    def go_on(self):
        self.state = StudyState.PLAYING

    def join(self):
        """Be over already."""
