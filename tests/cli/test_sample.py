"""The console sample, line by line (SAMPLE-1 to SAMPLE-7)."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from engine import Simulation, load_scenario
from engine.specs.commands import CreatePool
from tests.builders import a_job, a_pool, do, events, file, node, run_to, run_to_end, simulation
from tui.cli.commands import main
from tui.cli.sample import SCENARIO, JobPrepReleaseSample

NODE = r"tvm-\d{10}_%d-\d{8}t\d{6}z"
CONTENTS = r"""Contents of shared\\job_prep_and_release.txt on (?P<node{0}>{1}):
-------------------------------------------
(?P=node{0}) tasks:
(?P<tasks{0}>(?:  task00\d\n){{4}})
"""
EXIT_CODES = """(?P=node{0}):
  Prep task exit code:    0
  Release task exit code: 0

"""
TRANSCRIPT = (
    r"""Attempting to create pool: JobPrepReleaseSamplePool
Created pool JobPrepReleaseSamplePool with 2 small nodes
Checking for existing job JobPrepReleaseSampleJob\.\.\.
Job JobPrepReleaseSampleJob not found, creating\.\.\.
Submitting tasks and awaiting completion\.\.\.
All tasks completed\.

"""
    + CONTENTS.format(1, NODE % 1)
    + CONTENTS.format(2, NODE % 2)
    + r"""Waiting for job JobPrepReleaseSampleJob to reach state Completed
\.+

"""
    + EXIT_CODES.format(1)
    + EXIT_CODES.format(2)
    + r"""Delete job\? \[yes\] no
(?P<job>.*)
Delete pool\? \[yes\] no
(?P<pool>.*)

Sample complete, hit ENTER to exit\.\.\.
"""
)


@pytest.fixture
def sample():
    """The sample's program and the simulation it works on."""
    scenario = load_scenario(SCENARIO)
    simulation = Simulation(replace(scenario, pools=(), jobs=(), timeline=(), expect=()))
    return JobPrepReleaseSample(simulation, scenario.pools[0].spec, scenario.jobs[0]), simulation, scenario


def test_sample_4_the_transcript_is_the_documented_one(capsys):
    assert main(["sample", "--yes"]) == 0
    match = re.fullmatch(TRANSCRIPT, capsys.readouterr().out)
    assert match
    assert match["job"] == match["pool"] == "yes"
    tasks = (match["tasks1"] + match["tasks2"]).split()
    assert sorted(tasks) == [f"task00{number}" for number in range(1, 9)]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [("no\nn\n", ["no", "n"]), ("y\nNO\n", ["y", "NO"]), ("\n\n", ["yes", "yes"]), ("", ["yes", "yes"])],
)
def test_sample_4_answers_that_nobody_sees_typed_are_shown(typed, shown, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["sample"]) == 0
    match = re.fullmatch(TRANSCRIPT, capsys.readouterr().out)
    assert match
    assert [match["job"], match["pool"]] == shown


@pytest.mark.parametrize(("answer", "deleted"), [("no", False), ("n", False), ("NO", False), ("yes", True), ("", True)])
def test_sample_3_anything_but_no_deletes_job_and_pool(sample, answer, deleted):
    program, simulation, _ = sample
    program.main(lambda _: answer)
    accepted = [line for line in simulation.json_lines() if '"CommandAccepted"' in line]
    assert any("deleteJob" in line for line in accepted) is deleted
    assert any("deletePool" in line for line in accepted) is deleted


def test_sample_1_two_nodes_of_one_slot_on_which_the_first_is_filled_first(sample):
    _, _, scenario = sample
    pool = scenario.pools[0].spec
    assert (pool.id, pool.target_dedicated_nodes, pool.task_slots_per_node) == ("JobPrepReleaseSamplePool", 2, 1)
    assert pool.task_scheduling_policy.node_fill_type == "pack"
    assert scenario.jobs[0].spec.id == "JobPrepReleaseSampleJob"
    assert scenario.options.classic_node_ids


def test_sample_6_the_file_is_gone_after_release_and_the_status_stays(sample, capsys):
    program, simulation, _ = sample
    program.main(lambda _: "no")
    world = simulation.world
    assert "Contents of" in capsys.readouterr().out
    assert [world.disks[node].read("shared/job_prep_and_release.txt") for node in range(2)] == [None, None]
    views = [(world.instances.prep(row), world.instances.release(row)) for row in range(2)]
    assert [(prep.exit_code, release.exit_code) for prep, release in views] == [(0, 0), (0, 0)]


def test_sample_7_deleting_the_job_runs_no_second_release(sample):
    program, simulation, _ = sample
    program.main(lambda _: "yes")
    simulation.run_until(simulation.end_ms)
    started = [line for line in simulation.json_lines() if '"JobReleaseTask' in line and '"to":"running"' in line]
    assert len(started) == 2


def test_sample_3_a_pool_that_exists_is_used(sample, capsys):
    program, simulation, scenario = sample
    simulation.submit(CreatePool.from_wire(scenario.pools[0].spec.written()))
    program.main(lambda _: "yes")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "The pool already existed when we tried to create it"
    assert "All tasks completed." in lines


def test_sample_5_a_node_that_has_run_nothing_has_no_file_and_no_entry(sample, capsys):
    _, simulation, scenario = sample
    one_task = replace(scenario.jobs[0], tasks=(scenario.jobs[0].factory.spec(0),), factory=None)
    JobPrepReleaseSample(simulation, scenario.pools[0].spec, one_task).main(lambda _: "yes")
    out = capsys.readouterr().out
    assert out.count("Contents of") == 1
    assert out.count("Prep task exit code:    0") == 1


def test_sample_3_tasks_that_take_too_long_are_not_waited_for(sample, capsys):
    _, simulation, scenario = sample
    slow = scenario.jobs[0].factory.spec(0).model_copy(update={"command_line": "cmd /c timeout 3600"})
    late = replace(scenario.jobs[0], tasks=(slow,), factory=None)
    JobPrepReleaseSample(simulation, scenario.pools[0].spec, late).main(lambda _: "yes")
    assert "One or more tasks failed to reach the Completed state within the timeout period." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pool", "prepare", "clean_up"),
    [
        (
            {"vmSize": "small", "cloudServiceConfiguration": {"osFamily": "5"}},
            r"cmd /c echo %AZ_BATCH_NODE_ID% > %AZ_BATCH_NODE_SHARED_DIR%\shared_file.txt",
            r"cmd /c del %AZ_BATCH_NODE_SHARED_DIR%\shared_file.txt",
        ),
        (
            {},
            "/bin/sh -c 'echo $AZ_BATCH_NODE_ID > $AZ_BATCH_NODE_SHARED_DIR/shared_file.txt'",
            "/bin/sh -c 'rm $AZ_BATCH_NODE_SHARED_DIR/shared_file.txt'",
        ),
    ],
)
def test_sample_2_the_shorter_snippet_of_the_article(pool, prepare, clean_up):
    job = a_job(prep={"commandLine": prepare}, release={"commandLine": clean_up})
    sim = simulation(job, pool=a_pool(**pool))
    run_to(sim, minutes=3)
    assert (file(sim, "shared/shared_file.txt") or "").split() == [node(sim).id]
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert file(sim, "shared/shared_file.txt") is None
    assert [event["exitCode"] for event in events(sim, "JobReleaseTaskStateChanged", to="completed")] == [0]
