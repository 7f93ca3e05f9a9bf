"""A few random runs of each promise, the same ones everywhere, and cases that once broke one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.properties.properties import PROPERTIES
from tests.properties.runs import as_yaml, from_document
from tests.properties.search import search

RUNS = 3  # `.ci/run` plays others with each later Python
KEPT = sorted((Path(__file__).parent / "once_broken").glob("*.yaml"))


@pytest.mark.parametrize("name", PROPERTIES)
def test_random_runs_keep_the_promise(name):
    for seed in range(RUNS):
        broken = search(PROPERTIES[name], seed)
        if broken is not None:
            broken.error.add_note(f"seed {seed}:\n{as_yaml(name, broken.case)}")
            raise broken.error


def test_equal_seeds_draw_the_same_run_for_each_promise():
    """One promise checks the invariants for all others."""
    drawn = []
    for promise in PROPERTIES.values():
        search(promise._replace(holds=drawn.append), seed=3)
    runs = drawn[1::2]  # each search begins with the simplest case
    commands = max((run.commands for run in runs), key=len)
    assert len(runs) == len(PROPERTIES)
    assert all(run.scenario == runs[0].scenario for run in runs)
    assert all(run.commands == commands[: len(run.commands)] for run in runs)
    assert runs[0].commands == commands
    assert max(len(run.moments) for run in runs) == 8
    assert max(len(run.trials) for run in runs) == 15


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_case_that_once_broke_a_promise_keeps_it(path):
    name, case = from_document(yaml.safe_load(path.read_text()))
    PROPERTIES[name].check(case)
