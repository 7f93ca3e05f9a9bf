"""A scenario with a study, a dashboard on it, and lines that are typed there."""

from __future__ import annotations

from pathlib import Path

from engine import Simulation, load_scenario
from tests.studies.conftest import NIGHT
from tui.app.dashboard import Dashboard
from tui.settings.values import Settings, Source

NODES = "pools.render.targetDedicatedNodes"
STUDY = f"study:\n  seeds: 4\n  vary:\n    {NODES}: [1, 3]\n    jobs.shot-1.priority: [0, 5]\n"


def night_dashboard(more=STUDY, *, text=NIGHT, **options):
    """A dashboard on the scenario with other lines at its end, written to a file in the current directory."""
    Path("night.yaml").write_text(text + more)
    settings = Settings()
    for name, value in options.items():
        settings.use(name, value, Source.COMMAND_LINE)
    return Dashboard(Simulation(load_scenario("night.yaml")), settings, plays=False)


def typed(line):
    names = {" ": "space", "-": "minus", "=": "equals_sign", ".": "full_stop", ",": "comma", ":": "colon"}
    return [names.get(letter, letter) for letter in line]
