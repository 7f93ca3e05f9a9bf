"""Random runs, exported and imported again."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Simulation
from engine.scenario.load import load
from tests.histories.dialects import DIALECTS, state_of, written
from tests.histories.replays import differences, import_text, read_back
from tests.properties.scenarios import scenarios

_FEW = settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
_TIMES = st.sampled_from([5, 20, 61.5, 300, {"lognormal": ["PT2M", 0.6]}, {"uniform": [10, 400]}, {"exponential": 90}])
_STEPS = st.sampled_from([10, 45, {"normal": [45, 15]}, {"triangular": [5, 30, 200]}])


@st.composite
def _hooks(draw: st.DrawFn) -> dict[str, Any]:
    """Preparation and release, which take another time on each node; of preparations that fail some nodes are left."""
    failing = draw(st.sampled_from([{}, {"onNode": {0: {"exitCode": 1}}}]))
    prepare = {"commandLine": "prepare", "simulate": {"duration": draw(_TIMES)} | failing}
    hooks: dict[str, Any] = {"jobPreparationTask": prepare}
    if draw(st.booleans()):
        hooks["jobReleaseTask"] = {"commandLine": "release", "simulate": {"duration": draw(_TIMES)}}
    return hooks


@st.composite
def _jobs(draw: st.DrawFn, number: int) -> dict[str, Any]:
    exit_code = draw(st.sampled_from([0, {"0": 0.8, "3": 0.2}]))
    count = draw(st.integers(1, 25))
    task = {"id": "t{0}", "commandLine": "work {0}", "simulate": {"duration": draw(_TIMES), "exitCode": exit_code}}
    job = {
        "id": f"j{number}",
        "at": draw(st.sampled_from([0, 40, 200, 900])),
        "poolInfo": {"poolId": "p"},
        "onAllTasksComplete": draw(st.sampled_from(["noaction", "terminatejob"])),
        "taskFactory": {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": count}], "repeatTask": task},
    }
    return job | (draw(_hooks()) if draw(st.booleans()) else {})


@st.composite
def _plain(draw: st.DrawFn) -> dict[str, Any]:
    """A scenario of which the service tells everything: nothing breaks down, and nobody changes his mind."""
    pool = {
        "id": "p",
        "vmSize": "standard_d2s_v3",
        "targetDedicatedNodes": draw(st.integers(1, 5)),
        "taskSlotsPerNode": draw(st.integers(1, 3)),
        "taskSchedulingPolicy": {"nodeFillType": draw(st.sampled_from(["spread", "pack"]))},
    }
    if draw(st.booleans()):
        pool["startTask"] = {"commandLine": "install", "waitForSuccess": True, "simulate": {"duration": draw(_TIMES)}}
    jobs = [draw(_jobs(number)) for number in range(draw(st.integers(1, 3)))]
    timeline: list[dict[str, Any]] = [
        {"at": 3000 + 10 * number, "terminateJob": {"jobId": job["id"], "terminateReason": "enough"}}
        for number, job in enumerate(jobs)
        if job["onAllTasksComplete"] == "noaction"
    ]
    return {
        "scenario": "plain",
        "seed": draw(st.integers(0, 99)),
        "simulate": {"nodes": {step: draw(_STEPS) for step in ("allocation", "starting", "ready")}},
        "pools": [pool],
        "jobs": jobs,
        "timeline": timeline,
    }


@_FEW
@given(_plain(), st.sampled_from(list(DIALECTS)))
def test_a_random_run_exported_and_imported_again_is_the_same_run(body, dialect):
    with TemporaryDirectory() as folder:
        assert differences(state_of(load("plain", text=json.dumps(body))), Path(folder), dialect) == []


@_FEW
@given(scenarios(), st.sampled_from(list(DIALECTS)))
def test_any_history_becomes_a_scenario_without_warnings(body, dialect):
    """Whatever happened, the scenario is accepted by ``check`` without warnings and can be run to its end."""
    with TemporaryDirectory() as folder:
        written(state_of(load("random", text=json.dumps(body))), Path(folder), dialect)
        scenario = read_back(import_text(Path(folder)))
        simulation = Simulation(scenario, can_go_back=False)
        simulation.run_until(simulation.end_ms)
        simulation.finish()
