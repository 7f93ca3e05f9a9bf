"""Histories, logs and workflows that are damaged: each is refused with a sentence, or becomes a scenario that runs."""

from __future__ import annotations

import json
from functools import cache
from random import Random

import pytest

from engine import Simulation
from engine.base.errors import ScenarioError
from engine.base.values import MINUTE_MS
from engine.histories import azure, swf, wfformat
from engine.histories.files import PoolShape, scenario_lines
from engine.histories.history import read_history
from engine.scenario.load import load
from engine.studies.sides import read_side
from tests.histories.dialects import DIALECTS, state_of, written
from tests.histories.replays import read_back
from tests.histories.swf_texts import SwfJob, swf_text
from tests.mutants import COUNT, mutated, mutated_bytes

RUNS = (
    *("job-prep-release-sample", "every-way-to-end-a-job", "mpi-on-four-nodes", "a-certificate-in-use"),
    *("one-pool-per-scheduled-job", "job-manager-adds-tasks", "pipeline-with-dependencies", "spot-evictions"),
)
_MOST_TASKS = 6  # of a job: another one of the same kind tells nothing new


@cache
def state(name):
    found = state_of(load(name))
    for job in found["jobs"]:
        del job["tasks"][_MOST_TASKS:]
    return found


def lacking(value, random):
    """The value without some of its properties, or with nulls in place of them, here or everywhere."""
    if isinstance(value, list):
        value = random.sample(value, random.randint(0, len(value)))
    names = sorted({name for each in (value if isinstance(value, list) else [value]) for name in each})
    gone = {name: random.random() < 0.5 for name in names if random.random() < 0.15}

    def without(body):
        return {name: None if gone.get(name) else inner for name, inner in body.items() if gone.get(name) is not False}

    return [without(each) for each in value] if isinstance(value, list) else without(value)


def exported(folder, random):
    """A history in which something is changed or missing, as one file or as many."""
    run = state(random.choice(RUNS))
    if random.random() < 0.4:
        paths = written(run, folder, random.choice(list(DIALECTS)))
        for path in random.sample(paths, random.randint(0, len(paths) - 1)):
            path.unlink()
        for path in folder.iterdir():
            path.write_text(json.dumps(lacking(json.loads(path.read_text()), random)))
        return
    if random.random() < 0.5:
        (folder / "state.json").write_text(json.dumps(mutated(run, random)))
        return
    paths = written(run, folder, random.choice(list(DIALECTS)))
    path = random.choice(paths)
    if random.random() < 0.5:
        path.write_bytes(mutated_bytes(path.read_bytes(), random))
    else:
        path.write_text(json.dumps(mutated(json.loads(path.read_text()), random)))


def accepted(make):
    """What ``make`` returns; None if the files are refused with sentences that name them."""
    problems = []
    try:
        return make()
    except ScenarioError as error:
        problems += error.problems
    assert problems
    assert all(problem.file and problem.message for problem in problems)
    return None


def becomes_a_scenario(make):
    """Import, check and run a while; return whether it is accepted."""
    imported = accepted(make)
    if imported is None:
        return False
    lines = scenario_lines(imported)
    simulation = Simulation(read_back("\n".join(lines) + "\n"), can_go_back=False)
    simulation.run_until(min(simulation.end_ms, 30 * MINUTE_MS))
    return True


def test_a_changed_history_is_refused_or_becomes_a_scenario(tmp_path):
    count = 0
    for seed in range(COUNT):
        folder = tmp_path / str(seed)
        folder.mkdir()
        exported(folder, Random(seed))
        count += becomes_a_scenario(lambda folder=folder: azure.imported(read_history([folder])))
    assert count >= COUNT // 2


def test_a_changed_state_can_be_compared_or_is_refused(tmp_path):
    path = tmp_path / "state.json"
    for seed in range(COUNT):
        random = Random(seed)
        run = state(random.choice(RUNS))
        content = json.dumps(mutated(run, random)).encode()
        path.write_bytes(content if seed % 2 else mutated_bytes(content, random))
        accepted(lambda: (read_side(str(path)), True))


LOG = swf_text([SwfJob(number, 10 * number, 60, allocated=1 + number % 3) for number in range(1, 9)], ["MaxProcs: 4"])
ODD_FIELDS = ("-1", "0", "x", "1e300", "inf", "nan", "0.5", "-7", "9" * 20, "9" * 300, "9" * 4_000, "\x00", "é", "1_0")
WORKFLOW = {
    "name": "small",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"id": "a", "name": "a", "parents": [], "children": ["b"], "inputFiles": ["i"], "outputFiles": ["o"]},
                {"id": "b", "name": "b", "parents": ["a"], "children": [], "inputFiles": ["o"], "outputFiles": []},
            ],
            "files": [{"id": "i", "sizeInBytes": 5}, {"id": "o", "sizeInBytes": 7}],
        },
        "execution": {
            "tasks": [
                {"id": "a", "runtimeInSeconds": 3, "coreCount": 2, "command": {"program": "p", "arguments": ["x"]}},
                {"id": "b", "runtimeInSeconds": 4.5},
            ],
            "machines": [{"nodeName": "m", "cpu": {"coreCount": 4}}],
        },
    },
}


def changed_log(random):
    if random.random() < 0.4:
        return mutated_bytes(LOG.encode(), random)
    lines = LOG.split("\n")
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(lines))
        fields = lines[at].split() or ["x"]
        fields[random.randrange(len(fields))] = random.choice(ODD_FIELDS)
        lines[at] = " ".join(fields)
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        (swf, changed_log),
        (wfformat, lambda random: json.dumps(mutated(WORKFLOW, random)).encode()),
        (wfformat, lambda random: mutated_bytes(json.dumps(WORKFLOW).encode(), random)),
    ],
    ids=["swf", "wfformat", "wfformat-bytes"],
)
def test_a_changed_log_or_workflow_is_refused_or_becomes_a_scenario(kind, changed, tmp_path):
    path = tmp_path / "file"
    for seed in range(COUNT):
        random = Random(seed)
        path.write_bytes(changed(random))
        shape = random.choice((PoolShape(), PoolShape(2, 4), PoolShape(slots=256)))
        becomes_a_scenario(lambda shape=shape: kind.imported(str(path), shape))
