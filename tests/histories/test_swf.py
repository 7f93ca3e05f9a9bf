"""Logs of clusters as scenarios: what becomes of the lines, and whether they replay to what queueing says."""

from __future__ import annotations

import gzip
import random

import pytest

from engine import ScenarioError, Simulation, load_scenario
from engine.base.values import parse_utc
from engine.histories import swf
from engine.histories.files import PoolShape, scenario_lines
from engine.views.results import document
from tests.histories.swf_texts import SwfJob, first_come_first_served, swf_text

LATENCY_S = 1  # TIME-9: from being added to being ready


def imported(tmp_path, text, nodes=None, slots=None, *, name="log.swf"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return swf.imported(str(path), PoolShape(nodes, slots))


def scenario_of(result):
    """The scenario as the reader has it, which must have no warning about it."""
    return load_scenario("imported.yaml", text="\n".join(scenario_lines(result)) + "\n", strict=True)


def played(result):
    """The start and end of each task in seconds, and how long they were to be there, by their ids."""
    scenario = scenario_of(result)
    simulation = Simulation(scenario, can_go_back=False)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    (job,) = document(simulation)["jobs"]
    assert job["state"] == "completed"
    seconds = lambda text: (parse_utc(text) - scenario.start).total_seconds()  # noqa: E731
    return {
        int(task["id"]): (
            seconds(task["creationTime"]),
            seconds(task["executionInfo"]["startTime"]),
            seconds(task["executionInfo"]["endTime"]),
        )
        for task in job["tasks"]
    }


def random_jobs(seed, count=60):
    chance = random.Random(seed)
    submit, jobs = 0, []
    for number in range(1, count + 1):
        submit += chance.choice([0, 0, 1, 3, 30, 200])
        jobs.append(SwfJob(number, submit, chance.choice([1, 2, 17, 60, 61, 400, 3000])))
    return jobs


@pytest.mark.parametrize(("nodes", "slots"), [(1, 1), (3, 1), (1, 4), (5, 2)])
@pytest.mark.parametrize("seed", range(6))
def test_single_processors_replay_to_first_come_first_served(tmp_path, seed, nodes, slots):
    jobs = random_jobs(seed)
    found = played(imported(tmp_path, swf_text(jobs), nodes, slots))
    wanted = first_come_first_served(jobs, nodes * slots)
    assert {number: start - LATENCY_S for number, (_, start, _) in found.items()} == wanted
    assert {number: end - start for number, (_, start, end) in found.items()} == {job.number: job.run for job in jobs}
    assert {number: added for number, (added, _, _) in found.items()} == {job.number: job.submit for job in jobs}
    last = max(wanted[job.number] + job.run for job in jobs)
    assert imported(tmp_path, swf_text(jobs), nodes, slots).document["until"] == last + LATENCY_S + 3_600


def task_of(result, number):
    tasks = {task["id"]: task for entry in result for task in entry.get("addTasks", {}).get("tasks", ())}
    return tasks[str(number)]


def test_requested_processors_win_over_allocated_ones_and_become_slots(tmp_path):
    jobs = [SwfJob(1, 0, 10, allocated=2, requested=3), SwfJob(2, 5, 10, allocated=2), SwfJob(3, 5, 10)]
    document = imported(tmp_path, swf_text(jobs), 2, 4).document
    timeline = list(document["timeline"])
    assert task_of(timeline, 1)["requiredSlots"] == 3
    assert task_of(timeline, 2)["requiredSlots"] == 2
    assert "requiredSlots" not in task_of(timeline, 3)
    assert document["pools"][0] | {"targetDedicatedNodes": 2, "taskSlotsPerNode": 4} == document["pools"][0]


def test_with_one_slot_processors_are_instances_that_run_together(tmp_path):
    jobs = [SwfJob(1, 0, 100, allocated=3), SwfJob(2, 1, 50), SwfJob(3, 2, 50, allocated=2)]
    result = imported(tmp_path, swf_text(jobs), 4)
    found = played(imported(tmp_path, swf_text(jobs), 4))
    assert {number: start for number, (_, start, _) in found.items()} == {1: 1, 2: 2, 3: 101}
    assert {number: end - start for number, (_, start, end) in found.items()} == {1: 100, 2: 50, 3: 50}
    assert task_of(list(result.document["timeline"]), 1)["multiInstanceSettings"]["numberOfInstances"] == 3


def test_slots_hold_what_is_wider_than_one_processor(tmp_path):
    jobs = [SwfJob(1, 0, 100, allocated=3), SwfJob(2, 0, 100, allocated=2), SwfJob(3, 0, 10, allocated=1)]
    found = played(imported(tmp_path, swf_text(jobs), 1, 4))
    assert {number: start for number, (_, start, _) in found.items()} == {1: 1, 3: 1, 2: 101}


@pytest.mark.parametrize(
    ("nodes", "slots", "room"), [(2, None, "the pool has 2 nodes"), (9, 2, "a node has 2 task slots")]
)
def test_jobs_wider_than_the_pool_are_named_and_left_out(tmp_path, nodes, slots, room):
    jobs = [SwfJob(1, 0, 10, allocated=2), SwfJob(7, 3, 10, allocated=3)]
    result = imported(tmp_path, swf_text(jobs, ["Version: 2.2"]), nodes, slots)
    (warning,) = result.warnings
    assert str(warning) == f"{tmp_path / 'log.swf'}:3:1: warning: job 7 needs 3 processors, but {room}: it is left out"
    assert set(played(result)) == {1}


def test_jobs_that_did_not_run_are_counted_and_left_out(tmp_path):
    jobs = [
        SwfJob(1, 0, 10),
        SwfJob(2, 0, -1, status=5),
        SwfJob(3, 0, 0),
        SwfJob(4, 0, 10, allocated=-1),
        SwfJob(5, 0, 10, allocated=0, requested=0),
        SwfJob(6, 0, 5, status=2),
        SwfJob(7, 1, 10, status=0),
    ]
    result = imported(tmp_path, swf_text(jobs))
    assert "Left out: 2 without a run time." in result.assumptions
    assert "Left out: 2 without processors." in result.assumptions
    assert "Left out: 1 parts of checkpointed jobs." in result.assumptions
    timeline = list(result.document["timeline"])
    assert task_of(timeline, 7)["simulate"]["exitCode"] == 1
    assert "exitCode" not in task_of(timeline, 1)["simulate"]
    assert set(played(imported(tmp_path, swf_text(jobs)))) == {1, 7}


@pytest.mark.parametrize(
    ("header", "nodes", "slots", "wanted"),
    [
        (["MaxNodes: 16", "MaxProcs: 64"], None, None, (16, 4)),
        (["MaxNodes: 16", "MaxProcs: 64"], 3, None, (3, 4)),
        (["MaxNodes: 16", "MaxProcs: 64"], None, 8, (8, 8)),
        (["MaxProcs: 64 (since March)"], None, None, (64, 1)),
        (["MaxNodes: 16"], None, None, (16, 1)),
        (["MaxNodes: -1", "MaxProcs: unknown"], None, None, (1, 1)),
        ([], 5, 2, (5, 2)),
        ([], None, None, (1, 1)),
    ],
)
def test_the_pool_is_that_of_the_header_unless_options_say_otherwise(tmp_path, header, nodes, slots, wanted):
    document = imported(tmp_path, swf_text([SwfJob(1, 0, 10)], header), nodes, slots).document
    (pool,) = document["pools"]
    assert (pool["targetDedicatedNodes"], pool["taskSlotsPerNode"]) == wanted


def test_no_task_has_more_nodes_than_may_reach_one_another(tmp_path):
    jobs = [SwfJob(1, 0, 10, allocated=99), SwfJob(2, 20, 10, allocated=128), SwfJob(3, 40, 10, allocated=129)]
    text = swf_text(jobs, ["MaxProcs: 128"])
    result = imported(tmp_path, text)
    assert [(warning.line, warning.message.partition(":")[0]) for warning in result.warnings] == [
        (4, "job 3 needs 129 processors, but the pool has 128 nodes"),
        (3, "job 2 gets 100 nodes"),
    ]
    assert result.document["pools"][0]["targetDedicatedNodes"] == 128
    assert {number: end - start for number, (_, start, end) in played(result).items()} == {1: 10, 2: 10}
    timeline = list(imported(tmp_path, text).document["timeline"])
    assert task_of(timeline, 2)["multiInstanceSettings"]["numberOfInstances"] == 100


def test_the_start_and_the_acknowledgement_are_those_of_the_header(tmp_path):
    header = ["Computer: iPSC", "Acknowledge: Bill", "UnixStartTime: 749458803"]
    result = imported(tmp_path, swf_text([SwfJob(1, 0, 10)], header), name="NASA iPSC.1.swf")
    assert result.document["startTime"] == "1993-10-01T07:00:03Z"
    assert "; Acknowledge: Bill" in result.assumptions
    scenario = scenario_of(result)
    assert (scenario.name, scenario.jobs[0].spec.id) == ("NASA iPSC.1", "NASA-iPSC-1")


def test_a_packed_log_is_read_as_a_plain_one(tmp_path):
    text = swf_text(random_jobs(3))
    plain, packed = imported(tmp_path, text), imported(tmp_path, gzip.compress(text.encode()), name="log.gz")
    assert list(scenario_lines(plain)) == list(scenario_lines(packed))


def test_more_tasks_than_a_request_may_have_are_added_in_several(tmp_path):
    found = played(imported(tmp_path, swf_text([SwfJob(k, 7, 5) for k in range(1, 251)]), 1, 4))
    assert len(found) == 250
    assert [found[number][1] for number in (1, 4, 5, 250)] == [8, 8, 13, 8 + 62 * 5]


def test_leading_blanks_further_columns_and_parts_of_seconds_are_read(tmp_path):
    text = "\n   1 0.5 -1 2.25 1 0.7 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 99 more\r\n"
    assert played(imported(tmp_path, text)) == {1: (0.5, 1.5, 3.75)}


# --- what is wrong with a log


def mistakes(tmp_path, text):
    with pytest.raises(ScenarioError) as caught:
        imported(tmp_path, text)
    return [str(problem).removeprefix(f"{tmp_path / 'log.swf'}") for problem in caught.value.problems]


GOOD = swf_text([SwfJob(1, 0, 10)])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", [": has no job that could run"]),
        ("; Version: 2.2\n\n", [": has no job that could run"]),
        (swf_text([SwfJob(1, 0, -1)]), [": has no job that could run: it has 1 without a run time"]),
        (
            GOOD + "1 2 3\n\n4\n",
            [":2:1: has 3 fields: a job has 18 numbers", ":4:1: has 1 fields: a job has 18 numbers"],
        ),
        (
            GOOD.replace("10", "ten").replace("1 0", "1 nan"),
            [
                ":1:1: field 2 (submit time) must be a number, not 'nan'",
                ":1:1: field 4 (run time) must be a number, not 'ten'",
            ],
        ),
        (GOOD + "\0\0\0\0", [":2:1: has a zero byte: this is a binary file"]),
        (GOOD + "1 " * 5_000, [":2:1: has more than 4,096 bytes: this is no log"]),
        (
            swf_text([SwfJob(1, 4_000_000_000, 10)]),
            [":1:1: job 1: times and processors must be below a century and 2,147,483,647"],
        ),
        (
            gzip.compress(GOOD.encode() * 500, mtime=0)[:-30],
            [": ends in the middle of its packed content: get the file again"],
        ),
        (
            gzip.compress(GOOD.encode(), mtime=0)[:-8] + b"\0" * 8,
            [": its packed content is damaged: get the file again"],
        ),
    ],
)
def test_mistakes_stand_at_their_lines_all_at_once(tmp_path, text, wanted):
    assert mistakes(tmp_path, text) == wanted


def test_a_file_of_nothing_but_mistakes_is_not_read_to_its_end(tmp_path):
    assert len(mistakes(tmp_path, "x y z\n" * 10_000)) == 100


def test_a_directory_and_a_missing_file_are_told(tmp_path):
    for path, message in ((tmp_path, "is a directory"), (tmp_path / "none", "there is no such file")):
        with pytest.raises(ScenarioError, match=message):
            swf.imported(str(path), PoolShape())


def test_flaws_of_single_jobs_are_warnings(tmp_path):
    jobs = [SwfJob(1, 100, 10), SwfJob(2, 40, 10), SwfJob(2, 101, 10), SwfJob(3, -5, 10), SwfJob(4, 70, 10)]
    result = imported(tmp_path, swf_text(jobs))
    assert [(warning.line, warning.message) for warning in result.warnings] == [
        (3, "job 2 has a number that an earlier job has, and is left out"),
        (4, "job 3 has a negative submit time, and is left out"),
        (2, "job 2 stands behind later ones, and 1 more: jobs are sorted by their submit time"),
    ]
    assert {number: added for number, (added, _, _) in played(result).items()} == {2: 40, 4: 70, 1: 100}


def test_the_same_line_without_end_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.histories.swf.JOB_LIMIT", 1_000)
    found = mistakes(tmp_path, GOOD * 5_000)
    assert found == [":1001:1: has 1,000 jobs with a number that an earlier job has before: this is no log"]


def test_a_log_of_nothing_but_comments_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.histories.swf.LINE_LIMIT", 1_000)
    assert mistakes(tmp_path, ";\n" * 5_000) == [":1001:1: has more than 1,000 lines before: import a part of the log"]
