"""The exit status of a run whose processes act."""

from __future__ import annotations

import pytest

from tui.cli.commands import main

SCENARIO = """\
scenario: managed
until: PT1H
pools:
  - {id: shared, vmSize: standard_d2s_v3, targetDedicatedNodes: 2}
jobs:
  - id: risk
    poolInfo: {poolId: shared}
    jobManagerTask:
      id: boss
      commandLine: manage
      constraints: {maxTaskRetryCount: 1}
      simulate:
        does: [{after: PT5S, addTasks: {tasks: [{id: deal, commandLine: price, simulate: {duration: PT1M}}]}}]
        until: othersCompleted
        attempts: [{exitCode: 1}]
expect:
  - {jobId: risk, state: completed, tasks: {total: 2, succeeded: 2}}
  - {events: {CommandRefused: %s}}
"""


@pytest.mark.parametrize(("refused", "status"), [(1, 0), (0, 1)])
def test_jm_11_what_a_process_is_refused_does_not_count_but_can_be_expected(tmp_path, capsys, refused, status):
    path = tmp_path / "managed.yaml"
    path.write_text(SCENARIO % refused)
    assert main(["run", str(path), "--quiet"]) == status
    assert "Traceback" not in capsys.readouterr().err


def test_jm_11_a_mistake_in_what_a_process_does_ends_in_exit_status_2(tmp_path, capsys):
    path = tmp_path / "managed.yaml"
    path.write_text((SCENARIO % 1).replace("after: PT5S", "at: PT5S"))
    assert main(["run", str(path)]) == 2
    assert "managed.yaml:13:17: jobs[0].jobManagerTask.simulate.does[0].at: " in capsys.readouterr().err
