"""Distributions in place of single durations: which one is chosen, and what a scenario keeps."""

from __future__ import annotations

import json
import random

import pytest

pytest.importorskip("scipy", reason="the extra `fit`")

from engine import Simulation, load_scenario
from engine.histories.azure import imported as imported_history
from engine.histories.files import Imported, PoolShape, scenario_lines
from engine.histories.fitting import best_fit, fitted
from engine.histories.history import read_history
from engine.histories.swf import imported as imported_log
from engine.run.conditions import makespan_ms
from engine.specs import draws
from engine.specs.base import Distribution
from engine.views.results import document
from tests.histories.swf_texts import SwfJob, swf_text

SAMPLES = {
    "lognormal": {"lognormal": ["PT3M", 0.6]},
    "exponential": {"exponential": "PT2M"},
    "uniform": {"uniform": ["PT1M", "PT2M"]},
    "triangular": {"triangular": ["PT1M", "PT100S", "PT2M"]},
    "normal": {"normal": ["PT10M", "PT30S"]},
}


def sample_of(kind, count=2_000, seed=1):
    distribution = Distribution.model_validate(SAMPLES[kind])
    return list(draws.block_ms(distribution, seed, "a sample", kind, count=count))


def distance(sample, other):
    """The Kolmogorov-Smirnov statistic of two samples, counted by hand."""
    points = sorted({*sample, *other})
    share = lambda values, point: sum(value <= point for value in values) / len(values)  # noqa: E731
    return max(abs(share(sample, point) - share(other, point)) for point in points[:: max(1, len(points) // 300)])


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_distribution_of_a_sample_is_found_again(kind):
    sample = sample_of(kind)
    fit = best_fit(sample)
    assert fit.kind == kind
    assert fit.statistic < 0.03
    drawn = draws.block_ms(Distribution.model_validate(fit.duration), 2, "again", kind, count=2_000)
    assert distance(sample, list(drawn)) < 0.06
    assert best_fit(sample[::-1]) == fit


def test_the_statistic_is_the_largest_distance_between_both_distributions():
    fit = best_fit([1_000, 2_000, 3_000, 10_000])
    wanted = Distribution.model_validate(fit.duration)
    drawn = sorted(draws.block_ms(wanted, 1, "many", count=20_000))
    steps = [(value, at / 4, (at + 1) / 4) for at, value in enumerate([1_000, 2_000, 3_000, 10_000])]
    seen = [(sum(each <= value for each in drawn) / len(drawn), low, high) for value, low, high in steps]
    assert fit.statistic == pytest.approx(max(max(cdf - low, high - cdf) for cdf, low, high in seen), abs=0.02)


def test_equal_durations_are_a_constant_and_zeros_do_no_harm():
    assert best_fit([2_500, 2_500]) == ("constant", 2.5, 0.0)
    assert best_fit([0, 0, 0, 5_000]).statistic < 1
    assert best_fit([0, 7]).statistic < 1


# --- scenarios


def history(tasks, timeline=(), **more):
    document = {
        "scenario": "h",
        "until": 100_000,
        "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 2}],
        "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "usesTaskDependencies": True, "tasks": iter(tasks)} | more],
    }
    return Imported(document | ({"timeline": list(timeline)} if timeline else {}), ("as it was",))


def a_task(task_id, seconds, code=0, command=None, **more):
    simulate = {"duration": f"PT{seconds}S"} | ({"exitCode": code} if code else {})
    return {"id": task_id, "commandLine": command or f"price --deal {task_id}", "simulate": simulate} | more


def scenario_of(result):
    return load_scenario("fitted.yaml", text="\n".join(scenario_lines(result)) + "\n", strict=True)


def totals(scenario):
    simulation = Simulation(scenario, can_go_back=False)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    job = simulation.world.jobs.latest(scenario.jobs[0].spec.id)
    return job.total, job.failed


def test_two_thousand_tasks_become_one_factory_that_keeps_ids_and_failures():
    chance = random.Random(5)
    tasks = [
        a_task(f"deal-{number}", round(chance.lognormvariate(4, 0.5), 2), 7 if number % 20 == 0 else 0)
        for number in range(11, 2_011)
    ]
    result = fitted(history(tasks))
    scenario = scenario_of(result)
    (job,) = scenario.jobs
    assert (job.tasks, job.factory.count) == ((), 2_000)
    assert (job.factory.task_id(0), job.factory.task_id(1_999)) == ("deal-11", "deal-2010")
    assert job.factory.command_line(3) == "price --deal deal-14"
    simulate = job.factory.spec(0).simulate
    assert (simulate.duration.kind, dict(simulate.exit_code)) == ("lognormal", {0: 1_900, 7: 100})
    assert len(list(scenario_lines(result))) < 40
    assert "2,000 tasks 'price --deal deal-#' of job j, 100 of them failed: lognormal, Kolmogorov-Smirnov" in str(
        result
    )
    assert result.assumptions[-1] == "as it was"
    total, failed = totals(scenario)
    assert total == 2_000
    assert 60 < failed < 140


def test_what_has_parents_or_children_or_is_named_stays_as_it_is():
    tasks = [a_task(str(number), number) for number in range(1, 30)]
    tasks[4] |= {"dependsOn": {"taskIds": ["1"], "taskIdRanges": [{"start": 2, "end": 3}]}}
    timeline = [{"at": 5, "terminateTask": {"jobId": "j", "taskId": "9"}}]
    (job,) = scenario_of(fitted(history(tasks, timeline))).jobs
    assert sorted(task.id for task in job.tasks) == ["1", "2", "3", "5", "9"]
    assert job.factory.count == 24
    assert not {job.factory.task_id(k) for k in range(24)} & {task.id for task in job.tasks}


def test_tasks_that_differ_in_more_than_names_have_factories_of_their_own():
    small = [a_task(f"s{number}", 5 + number % 7) for number in range(10)]
    large = [a_task(f"l{number}", 50 + number % 7, requiredSlots=1, priority=None) for number in range(10)]
    large = [{key: value for key, value in task.items() if key != "priority"} for task in large]
    other = [a_task("once", 3, command="tidy"), a_task("twice", 3, command="tidy up")]
    result = fitted(history([*small, *large, *other]))
    scenario = scenario_of(result)
    (job,), (entry,) = scenario.jobs, scenario.timeline
    assert (job.factory.count, entry.factory.count, [task.id for task in job.tasks]) == (10, 10, ["once", "twice"])
    assert entry.factory.spec(0).required_slots == 1
    assert totals(scenario) == (22, 0)


def test_braces_of_a_command_line_stay():
    tasks = [a_task(f"t{number}", number + 1, command=f"sh -c '${{HOME}} {{0}} {number} 5'") for number in range(5)]
    (job,) = scenario_of(fitted(history(tasks))).jobs
    assert [job.factory.command_line(k) for k in (0, 4)] == ["sh -c '${HOME} {0} 0 5'", "sh -c '${HOME} {0} 4 5'"]


def test_a_log_keeps_when_and_how_much_was_submitted(tmp_path):
    chance = random.Random(2)
    jobs = [
        SwfJob(k, 97 * k, round(chance.expovariate(1 / 300)) + 1, allocated=1 + k % 2, status=int(k % 4 != 0))
        for k in range(1, 1_001)
    ]
    (tmp_path / "log.swf").write_text(swf_text(jobs))
    result = fitted(imported_log(str(tmp_path / "log.swf"), PoolShape(8, 2)))
    scenario = scenario_of(result)
    added = [(entry.at_ms, entry.factory) for entry in scenario.timeline if entry.factory is not None]
    assert sum(factory.count for _, factory in added) == 1_000
    assert len(added) < 250
    early = sum(factory.count for at_ms, factory in added if at_ms <= 48_500_000)
    assert early == pytest.approx(500, abs=20)
    assert {factory.spec(0).simulate.duration.kind for _, factory in added} == {"exponential"}
    total, failed = totals(scenario)
    assert total == 1_000
    assert 190 < failed < 310


def test_nothing_that_is_alike_is_told():
    result = fitted(history([a_task("a", 1), a_task("b", 2, command="other")]))
    assert result.assumptions[-1] == "Fitted: nothing, no three tasks are alike."
    assert [task.id for task in scenario_of(result).jobs[0].tasks] == ["a", "b"]


def test_a_run_becomes_a_page_that_runs_alike(tmp_path):
    text = f"""
scenario: risk
pools: [{{id: shared, vmSize: standard_d2s_v3, targetDedicatedNodes: 4}}]
jobs:
  - id: risk
    poolInfo: {{poolId: shared}}
    onAllTasksComplete: terminatejob
    taskFactory:
      type: parametricSweep
      parameterSets: [{{start: 1, end: 400}}]
      repeatTask:
        id: "deal-{{0}}"
        commandLine: price --deal {{0}}
        simulate: {{duration: {SAMPLES["lognormal"]}, exitCode: {{0: 9, 3: 1}}}}
"""
    before = Simulation(load_scenario("risk.yaml", text=text), can_go_back=False)
    before.run_until(before.end_ms)
    before.finish()
    (tmp_path / "state.json").write_text(json.dumps(document(before)))
    result = fitted(imported_history(read_history([tmp_path / "state.json"])))
    scenario = scenario_of(result)
    (job,) = scenario.jobs
    assert (job.tasks, job.factory.count, job.factory.task_id(0)) == ((), 400, "deal-1")
    simulate = job.factory.spec(0).simulate
    assert simulate.duration.kind == "lognormal"
    failed = before.world.jobs.latest("risk").failed
    assert dict(simulate.exit_code) == {0: 400 - failed, 3: failed}
    after = Simulation(scenario, can_go_back=False)
    after.run_until(after.end_ms)
    assert makespan_ms(after.world) == pytest.approx(makespan_ms(before.world), rel=0.1)
