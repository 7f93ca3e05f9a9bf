"""What must hold in every run, whatever is in it (architecture: invariants, going back, one hot path)."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import BatchError, Simulation
from engine.events.calendar import DueKind
from engine.rules.tasks import attempts
from engine.run import checkpoints
from engine.run.journal import Origin
from tests.properties.runs import play, random_command, random_scenario

RUNS = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
RANDOM = st.integers(0, 2**32).map(Random)


@pytest.fixture(autouse=True)
def _many_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "FIRST_DISTANCE", 60)


@RUNS
@given(RANDOM)
def test_invariants_hold_after_every_instant_of_every_run(random: Random) -> None:
    simulation = Simulation(random_scenario(random))
    play(simulation, random, commands=40)


@RUNS
@given(RANDOM)
def test_the_log_after_any_seek_is_the_same_byte_for_byte(random: Random) -> None:
    simulation = Simulation(random_scenario(random))
    play(simulation, random, commands=25)
    recorded = list(simulation.json_lines())
    for _ in range(6):
        simulation.seek(random.randrange(simulation.end_ms))
        shown = list(simulation.json_lines())
        assert shown == recorded[: len(shown)]
    simulation.seek(simulation.end_ms)
    assert list(simulation.json_lines()) == recorded


@RUNS
@given(RANDOM)
def test_a_branch_with_the_same_commands_is_the_same_run(random: Random) -> None:
    simulation = Simulation(random_scenario(random))
    play(simulation, random, commands=25)
    recorded = list(simulation.json_lines())
    given_by_hand = simulation.journal.by_hand()
    simulation.seek(random.randrange(simulation.end_ms))
    before = sum(one.when_ms <= simulation.now_ms for one in given_by_hand)
    simulation.branch()
    assert not simulation.is_past
    for one in given_by_hand[before:]:
        simulation.run_until(one.when_ms - 1)
        with suppress(BatchError):  # as it was refused the first time
            simulation.submit(one.command)
    simulation.run_until(simulation.end_ms)
    assert list(simulation.json_lines()) == recorded
    assert all(one.origin is not Origin.CONDITION for one in simulation.journal.by_hand())


@RUNS
@given(RANDOM)
def test_a_trial_leaves_no_trace(random: Random) -> None:
    scenario = random_scenario(random)
    commands = [(random.randrange(1, 7_200_000), random_command(random)) for _ in range(15)]
    commands.sort(key=lambda item: item[0])
    logs = []
    for tries in (True, False):
        simulation = Simulation(scenario)
        for when_ms, command in commands:
            simulation.run_until(when_ms)
            if tries:
                with simulation.trial():
                    simulation.submit_all([random_command(random) for _ in range(random.randrange(3))])
                    simulation.run_until(simulation.now_ms + random.choice([0, 60_000, 3_600_000]))
                if random.random() < 0.3:
                    here_ms = simulation.now_ms
                    simulation.seek(random.randrange(here_ms + 1))
                    simulation.seek(here_ms)
            with suppress(BatchError):  # refused in both
                simulation.submit(command)
        simulation.run_until(simulation.end_ms)
        logs.append(list(simulation.json_lines()))
    assert logs[0] == logs[1]


@RUNS
@given(RANDOM)
def test_the_hot_path_leaves_the_same_log_as_the_ordinary_one(random: Random) -> None:
    scenario = random_scenario(random)
    commands = [(random.randrange(1, 7_200_000), random_command(random)) for _ in range(20)]
    logs = []
    for hot in (True, False):
        simulation = Simulation(scenario)
        if not hot:
            simulation.world.calendar.on(DueKind.TASK_ENDED, partial(attempts.task_ended, simulation.world))
        for when_ms, command in sorted(commands, key=lambda item: item[0]):
            simulation.run_until(when_ms)
            with suppress(BatchError):  # refused in both
                simulation.submit(command)
        simulation.run_until(simulation.end_ms)
        logs.append(list(simulation.json_lines()))
    assert logs[0] == logs[1]


@RUNS
@given(RANDOM)
def test_a_refused_command_leaves_no_trace_but_its_refusal(random: Random) -> None:
    simulation = Simulation(random_scenario(random))
    for _ in range(30):
        simulation.run_until(simulation.now_ms + random.choice([5_000, 60_000, 300_000]))
        simulation.run_until(simulation.now_ms + 1)
        twin_length = len(simulation.log)
        refused = len(simulation.refusals)
        with suppress(BatchError):
            simulation.submit(random_command(random))
        if len(simulation.refusals) > refused:
            now_ms = simulation.now_ms
            lines = [entry for entry in simulation.log.entries(twin_length) if entry.t_ms == now_ms]
            caused = [entry.shape.event for entry in lines if entry.shape.event.startswith(("Command", "Fault"))]
            assert caused == ["CommandRefused"], simulation.refusals[-1]
