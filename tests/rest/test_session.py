"""The scenario with which a session with clients begins, and the one that it leaves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engine import ScenarioError, Simulation, load_scenario
from engine.rest.session import LONGEST_MS, begin, saved, scenario_to_serve
from tests.builders import do, run

NOW = datetime(2026, 11, 22, 21, 30, 5, 123456, tzinfo=UTC)
SCENARIO = """\
# A comment that stays.
scenario: mine
pools:
  - {id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}
"""


@pytest.fixture
def file(tmp_path):
    """Writes a scenario and returns its path."""

    def write(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return str(path)

    return write


def test_without_a_present_the_calendar_begins_where_that_of_a_run_does(file):
    path = file(SCENARIO)
    assert scenario_to_serve(path, None).start == load_scenario(path).start
    assert scenario_to_serve(None, None).start == load_scenario(path).start


def test_an_empty_account_begins_now_and_has_no_end():
    scenario = scenario_to_serve(None, NOW)
    assert scenario.start == NOW.replace(microsecond=0)
    assert scenario.until_ms == LONGEST_MS
    assert (scenario.pools, scenario.jobs) == ((), ())


def test_a_scenario_keeps_its_own_start_and_goes_on_after_its_end(file):
    scenario = scenario_to_serve(file(SCENARIO + "startTime: 2026-01-05T08:00:00Z\nuntil: PT1H\n"), NOW)
    assert scenario.start == datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert scenario.until_ms == LONGEST_MS


@pytest.mark.parametrize("text", [SCENARIO, '{"scenario": "mine", "pools": []}', "scenario: mine\nuntil:\n  PT1H\n"])
def test_a_saved_session_replays_to_the_same_log(file, text):
    simulation = begin(file(text), NOW, seed=7)
    run(simulation, minutes=3)
    do(simulation, "createPool", id="q", vmSize="standard_d2s_v3", targetDedicatedNodes=1)
    run(simulation, minutes=3)
    replay = Simulation(load_scenario("saved", text=saved(simulation)))
    replay.run_until(replay.end_ms)
    assert list(replay.json_lines()) == list(simulation.json_lines())
    assert replay.now_ms == simulation.now_ms


def test_the_text_of_a_scenario_is_kept(file):
    assert saved(begin(file(SCENARIO), NOW)).startswith(SCENARIO)


@pytest.mark.parametrize("text", ["", "- a\n", "scenario: [", "scenario: mine\nuntil: soon\n"])
def test_mistakes_of_the_file_are_reported(file, text):
    with pytest.raises(ScenarioError):
        scenario_to_serve(file(text), NOW)
