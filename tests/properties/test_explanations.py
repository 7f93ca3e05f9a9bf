"""Whatever happens in a run, at every moment there is an answer to every question, and looking changes nothing."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Simulation
from engine.state.tasks import ACTIVE, PREPARING
from engine.views.explain.approximate_counts import why_counts
from engine.views.explain.autoscale import why_targets
from engine.views.explain.expected import expected
from engine.views.explain.job_schedules import why_schedule
from engine.views.explain.jobs import why_job
from engine.views.explain.nodes import why_node
from engine.views.explain.pools import why_pool
from engine.views.explain.preparation import why_preparation
from engine.views.explain.questions import explain
from engine.views.explain.tasks import why_task
from tests.properties.runs import play, random_scenario

MOMENTS = 8


def all_answers(simulation):
    world = simulation.world
    for task in range(world.tasks.length):
        yield from explain(simulation, "task", task)
    for node in range(world.nodes.length):
        yield why_node(world, node)
        for job in world.jobs:
            yield why_preparation(world, job, node)
    for job in world.jobs:
        yield why_job(world, job)
        if (counts := why_counts(world, job, None)) is not None:
            yield counts
    for schedule in world.job_schedules:
        yield why_schedule(world, schedule, simulation.now_ms)
    for pool in world.pools:
        yield why_pool(world, pool)
        if (targets := why_targets(world, pool)) is not None:
            yield targets


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.integers(0, 2**32).map(Random))
def test_every_question_has_an_answer_at_every_moment(random: Random) -> None:
    simulation = Simulation(random_scenario(random))
    play(simulation, random, commands=25)
    recorded = list(simulation.json_lines())
    for _ in range(MOMENTS):
        simulation.seek(random.randrange(simulation.end_ms))
        for answer in all_answers(simulation):
            assert answer.lines()[0].endswith("?")
            assert answer.next_change is None or answer.next_change.when_ms >= simulation.world.now_ms
    simulation.seek(simulation.end_ms)
    assert list(simulation.json_lines()) == recorded


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.integers(0, 2**32).map(Random))
def test_a_task_waits_because_a_condition_is_not_met(random: Random) -> None:
    simulation = Simulation(random_scenario(random))
    play(simulation, random, commands=25)
    for _ in range(MOMENTS):
        simulation.seek(random.randrange(simulation.end_ms))
        tasks = simulation.world.tasks
        for task in range(tasks.length):
            if tasks.state[task] == ACTIVE:
                checks = why_task(simulation.world, task, simulation.now_ms).checks
                assert not all(check.ok for check in checks)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.integers(0, 2**32).map(Random))
def test_what_is_expected_comes_about(random: Random) -> None:
    simulation = Simulation(random_scenario(random))
    play(simulation, random, commands=5)
    simulation.seek(random.randrange(simulation.end_ms))
    simulation.branch()
    tasks = simulation.world.tasks
    waiting = [task for task in range(tasks.length) if tasks.state[task] == ACTIVE]
    if not waiting:
        return
    task = random.choice(waiting)
    coming = expected(simulation, "task", task)
    assert coming is not None
    if not coming.rule:
        return
    simulation.run_until(coming.when_ms - 1)
    assert tasks.state[task] in (ACTIVE, PREPARING)
    simulation.run_until(coming.when_ms)
    assert tasks.state[task] != PREPARING
