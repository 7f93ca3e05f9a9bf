"""A run has the same figures whether it is played, or read from its results."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest

from engine import ScenarioError, Simulation, load_scenario
from engine.scenario.text import bundled
from engine.studies import measures
from engine.studies.measures import MEASURES, as_json, compared, figures_of_run
from engine.studies.sides import read_side, read_state
from engine.views import results


@cache
def played(name, until_ms=None):
    sim = Simulation(load_scenario(name), can_go_back=False)
    sim.run_until(sim.end_ms if until_ms is None else until_ms)
    sim.finish()
    return sim


def results_file(sim, folder):
    path = folder / "results.json"
    path.write_text("".join(results.json_text(sim)))
    return path


@pytest.mark.parametrize("name", bundled())
def test_a_run_and_its_results_have_no_difference(name, tmp_path):
    sim = played(name)
    side = read_side(str(results_file(sim, tmp_path)))
    assert not side.is_observed
    assert not side.warnings
    rows = compared(figures_of_run(sim), side.figures)
    assert [row.what for row in rows[: len(MEASURES)]] == list(MEASURES)
    for row in rows:
        assert row.a == row.b, row
        assert row.difference == (None if row.a is None else 0), row


@pytest.mark.parametrize("name", ["spot-evictions", "retries-of-flaky-tasks", "preparation-fails-on-one-node"])
def test_an_unfinished_run_and_its_results_have_no_difference(name, tmp_path):
    sim = played(name, 300_000)
    side = read_side(str(results_file(sim, tmp_path)))
    assert all(row.a == row.b for row in compared(figures_of_run(sim), side.figures))
    assert None in side.figures.job_ends.values()


@pytest.mark.parametrize("name", ["spot-or-dedicated", "every-way-to-end-a-job", "mpi-in-trouble"])
def test_figures_are_those_of_a_study(name):
    sim = played(name)
    found, studied = figures_of_run(sim), measures.summary(sim)
    shared = [measure for measure in MEASURES if measure in studied]
    assert len(shared) == 12
    assert {measure: found.measures[measure] for measure in shared} == {each: studied[each] for each in shared}
    ends = {job_id: end["endSeconds"] for job_id, end in measures.job_ends(sim).items()}
    assert dict(found.job_ends) == ends


def test_running_and_release_times_are_those_of_the_bodies():
    sim = played("job-prep-release-sample")
    state = results.document(sim)
    found = figures_of_run(sim).measures
    tasks = [task for job in state["jobs"] for task in job["tasks"]]
    assert found["totalTasks"] == len(tasks) == 8
    assert found["succeededTasks"] == 8
    assert found["releaseSeconds"] > 0
    assert found["runSecondsMedian"] <= found["runSecondsP95"]


def test_a_file_of_results_may_be_written_anew_in_another_order(tmp_path):
    sim = played("spot-evictions")
    path = tmp_path / "sorted.json"
    path.write_text(json.dumps(json.loads("".join(results.json_text(sim))), sort_keys=True))
    assert all(not row.difference for row in compared(figures_of_run(sim), read_side(str(path)).figures))


def changed(sim, folder, change):
    state = json.loads("".join(results.json_text(sim)))
    change(state)
    path = folder / "broken.json"
    path.write_text(json.dumps(state))
    return path


def test_all_mistakes_of_a_summary_are_listed(tmp_path):
    def change(state):
        state["startTime"] = "yesterday"
        del state["summary"]["costUsd"]
        state["summary"]["nodeHours"] = "many"
        state["summary"]["tasks"] = 3

    with pytest.raises(ScenarioError) as caught:
        read_state(changed(played("spot-evictions"), tmp_path, change))
    said = [str(problem).partition("broken.json: ")[2] for problem in caught.value.problems]
    assert said[0] == "startTime: must be a UTC time such as 2026-01-05T08:00:00Z, not 'yesterday'"
    assert said[1] == "summary.costUsd: is missing: must be a number; write the file anew with `run --output json`"
    assert [text.partition(":")[0] for text in said] == [
        "startTime", "summary.costUsd", "summary.nodeHours", "summary.tasks.total", "summary.tasks.succeeded",
        "summary.tasks.failed",
    ]  # fmt: skip


def test_values_that_cannot_be_true_are_left_out_with_a_warning(tmp_path):
    def change(state):
        state["jobs"][0]["tasks"][0]["executionInfo"]["endTime"] = "soon"

    side = read_side(str(changed(played("spot-evictions"), tmp_path, change)))
    (warning,) = side.warnings
    assert "endTime" in str(warning)


def test_a_cut_file_is_a_mistake_with_its_place(tmp_path):
    path = results_file(played("spot-evictions"), tmp_path)
    path.write_text(path.read_text()[:9_000])
    with pytest.raises(ScenarioError, match=r"results.json:\d+:\d+: the file ends in the middle"):
        read_side(str(path))


def paths(value, path=()):
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from paths(inner, (*path, key))


ODD = [None, "", 0, -1, 10**30, 1e300, True, [], {}, "2026-01-05T08:00:00Z", "9999-12-31T23:59:59Z", [{}], {"id": 1}]


@pytest.mark.parametrize("number", range(60))
def test_a_damaged_file_gives_figures_or_a_sentence(number, tmp_path):
    def change(state):
        for _ in range(draw.randint(1, 4)):
            *above, last = draw.choice(list(paths(state)))
            place = state
            for key in above:
                place = place[key]
            place[last] = draw.choice(ODD)

    draw = random.Random(number)
    path = changed(played(draw.choice(["job-prep-release-sample", "preparation-retries"])), tmp_path, change)
    side, problems = None, []
    try:
        side = read_side(str(path))
    except ScenarioError as error:
        problems = error.problems
    assert all("broken.json" in str(problem) for problem in problems)
    if side is not None:
        assert json.dumps(as_json("a", "b", compared(side.figures, side.figures)))
