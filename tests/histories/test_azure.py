"""Histories of Azure Batch as scenarios: a replay does what really happened."""

from __future__ import annotations

import pytest

from engine.scenario.load import load
from tests.histories.dialects import DIALECTS, state_of
from tests.histories.replays import differences

FAITHFUL = (
    "a-certificate-in-use",
    "a-full-disk",
    "a-new-guest-os-release",
    "a-new-version-of-the-pricer",
    "a-quota-is-raised",
    "a-resize-is-stopped",
    "drain-with-taskcompletion",
    "early-node-runs-everything",
    "every-way-to-end-a-job",
    "fetched-once-or-by-every-task",
    "job-ends-while-preparing",
    "job-prep-release-sample",
    "job-schedules-by-hand",
    "market-data-once-per-node",
    "mpi-on-four-nodes",
    "nightly-schedule-overruns",
    "preparation-fails-everywhere",
    "preparation-fails-on-one-node",
    "preparation-retries",
    "reboot-during-preparation",
    "reboot-retries-preparation",
    "reboot-without-rerun",
    "reimage-clears-the-bar",
    "release-after-preparation",
    "release-fails",
    "release-times-out",
    "retries-of-flaky-tasks",
    "scaling-by-what-nodes-do",
    "shared-pool-two-jobs",
    "subnet-too-small",
    "wait-for-success-off",
    "what-a-pool-is-refused-for",
)


@pytest.mark.parametrize("name", FAITHFUL)
def test_a_run_exported_and_imported_again_is_the_same_run(name, tmp_path):
    dialect = list(DIALECTS)[FAITHFUL.index(name) % len(DIALECTS)]
    assert differences(state_of(load(name)), tmp_path, dialect) == []
