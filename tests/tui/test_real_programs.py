"""The dashboard while programs really run: the pace that it shows, keys about time, and what a program sees."""

from __future__ import annotations

import pytest

from engine.execution.driver import Execution, Settings
from engine.execution.sandboxes import Running, Sandbox
from engine.run.simulation import Simulation
from engine.views.resources.tasks import TaskPage
from tests import builders
from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, text_of
from tui.app.dashboard import Dashboard


class Staying(Sandbox):
    """Programs that run until they are killed."""

    name = "staying"

    def __init__(self):
        self.starts = []

    def start(self, start):
        self.starts.append(start)
        return Endless()

    def close(self): ...


class Endless(Running):
    def poll(self):
        return None

    def kill(self): ...


class Clock:
    """A wall clock that stands still until somebody moves it."""

    now_s = 0.0

    def __call__(self):
        return self.now_s


class Shown:
    """A dashboard on a run whose only task, beside one that comes an hour later, is a program that runs."""

    def __init__(self, folder, *, later=True, **settings):
        job = builders.a_job("j", [{"id": "t", "commandLine": "/bin/sh -c stay"}])
        jobs = [job, *([builders.a_job("later", [], at="PT1H")] if later else [])]
        self.simulation = Simulation(builders.scenario(*jobs).executing())
        self.simulation.awaits_commands = True
        self.sandbox, self.clock = Staying(), Clock()
        self.execution = Execution(self.simulation, self.sandbox, Settings(folder, **settings), wall_s=self.clock)
        for _ in range(1000):
            self.simulation.advance(self.simulation.end_ms, 1)
        assert self.execution.running() == 1
        self.app = Dashboard(self.simulation, plays=False)


@pytest.fixture
def shown(tmp_path):
    """Show a run; its program ends with the test."""
    made = []

    def make(**settings):
        made.append(Shown(tmp_path, **settings))
        return made[-1]

    yield make
    for each in made:
        each.execution.close()


@pytest.mark.parametrize(("scale", "pace"), [(1.0, "RUN real "), (30.0, "RUN real x30")])
def test_the_header_says_how_fast_time_goes_by_while_programs_run(shown, scale, pace):
    one, seen = shown(scale=scale), []
    drive(one.app, "space", lambda app: seen.append(text_of(app)), "space", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], pace)
    assert contains(seen[1], pace.replace("RUN", "PAUSED"))
    assert contains(messages_of(one.app), "Programs go on. Time catches up with them when it runs again.")


def test_a_speed_that_is_lower_than_the_pace_of_programs_is_shown(shown):
    one, seen = shown(), []
    drive(one.app, *["left_square_bracket"] * 12, "space", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "RUN x0.1")


def test_keys_about_time_say_that_programs_set_the_pace(shown):
    one = shown()
    before_ms = one.simulation.now_ms
    drive(one.app, "right_square_bracket", "full_stop", "G")
    assert one.simulation.now_ms == before_ms
    found = messages_of(one.app)
    assert contains(found, "x120 holds while no program runs.", "While programs run, time goes by as it really does.")
    assert contains(found, "This is the present, and programs may end at any moment")


@pytest.mark.parametrize("later", [True, False])
def test_the_run_is_not_over_while_programs_run(shown, later):
    one, seen = shown(later=later), []
    drive(one.app, "space", "space", "full_stop", "space", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "RUN real")
    assert not one.app.session.is_over


def test_the_page_of_a_task_has_the_environment_that_its_program_saw(shown, monkeypatch):
    monkeypatch.setenv("SECRET", "of my shell")
    one = shown(passed=("SECRET",))
    seen = one.sandbox.starts[0].environment
    found = TaskPage(one.simulation, "j").environment(0)
    assert found == dict(sorted(seen.items())) | {"SECRET": "(passed on)"}
    assert str(one.sandbox.starts[0].root) in found["AZ_BATCH_TASK_WORKING_DIR"]
