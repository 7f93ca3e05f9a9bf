"""A small scenario that chance makes different from seed to seed, and studies of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.scenario.load import load
from engine.studies.runs import planned

NIGHT = """\
scenario: night
pools:
  - {id: render, vmSize: standard_d2s_v3, targetDedicatedNodes: 2}
  - {id: "0", vmSize: standard_d2s_v3, targetDedicatedNodes: 1}
jobs:
  - id: shot-1
    poolInfo: {poolId: render}
    onAllTasksComplete: terminatejob
    jobPreparationTask: {commandLine: sync, simulate: {duration: {uniform: [PT10S, PT50S]}}}
    tasks:
      - {id: a, commandLine: x}
      - {id: b, commandLine: x, simulate: {exitCode: {0: 0.6, 1: 0.4}}}
    taskFactory:
      type: parametricSweep
      parameterSets: [{start: 1, end: 12}]
      repeatTask: {id: "t{0}", commandLine: x, simulate: {duration: {lognormal: [PT3M, 0.4]}}}
  - {id: empty, poolInfo: {poolId: "0"}}
timeline:
  - {at: PT4M, rebootNode: {poolId: render, node: 0}}
  - {at: PT5M, resizePool: {poolId: render, targetDedicatedNodes: 3}}
expect:
  - {jobId: shot-1, state: completed, within: PT22M}
  - {jobId: shot-1, tasks: {failed: 0}}
"""


@pytest.fixture
def night():
    """Returns the study of the scenario with these factors and other lines at the end of its file."""

    def make(*options, more="", seeds=(1, 2, 3), version="1"):
        given = seeds if isinstance(seeds, str) else None
        study = planned(load("night.yaml", text=NIGHT + more), options, seeds=given, version=version)
        return study if seeds in (None, given) else replace(study, seeds=tuple(seeds))

    return make
