"""The command ``why``: each kind of subject, moments, histories and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import load_scenario
from tests.builders import TIMINGS, a_job, a_line, a_pool, a_task
from tests.histories.dialects import DIALECTS, state_of, written
from tui.cli.commands import main

REPORTS = Path(__file__).parents[1] / "reports"
MEMBERS = ["subject", "at", "question", "findings", "next", "expected", "remedies"]


@pytest.fixture
def file(tmp_path):
    def write(*jobs, pools=None, **more):
        path = tmp_path / "small.yaml"
        timings = {"simulate": {"nodes": TIMINGS}}
        body = {"scenario": "small", "seed": 1, "pools": pools or [a_pool()], "jobs": jobs} | timings | more
        path.write_text(json.dumps(body), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def why(capsys):
    def ask(*given):
        assert main(["why", *given, "--output", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


def causes(answer):
    """The findings of an answer that are not met."""
    return [(one["what"], one["says"], *one["rules"]) for one in answer["findings"] if one["ok"] is False]


HOOKS = {"prep": a_line(5, {0: 1}), "release": a_line(5, 7)}


@pytest.mark.parametrize(
    ("subject", "named", "question", "cause"),
    [
        ("job:j", {"jobId": "j"}, "Why has job j ended?", None),
        ("task:j/bad", {"jobId": "j", "taskId": "bad"}, "Why did task bad of job j fail?", "exit code"),
        ("bad", {"jobId": "j", "taskId": "bad"}, "Why did task bad of job j fail?", "exit code"),
        ("task:bad", {"jobId": "j", "taskId": "bad"}, "Why did task bad of job j fail?", "exit code"),
        ("pool:p", {"poolId": "p"}, "Why does pool p have the nodes that it has?", None),
        ("P", {"poolId": "p"}, "Why does pool p have the nodes that it has?", None),
        ("node:p/1", {"poolId": "p", "node": 1}, "Why is n1 of pool p idle?", None),
        ("preparation:j/0", {"jobId": "j", "node": 0}, "Why did preparation of job j run on n0?", None),
        ("release:j/0", {"jobId": "j", "node": 0}, "Why did release fail on n0, of job j?", "release"),
        (
            "release:j/1",
            {"jobId": "j", "node": 1},
            "Why has release of job j not run on n1?",
            "preparation on the node",
        ),
    ],
)
def test_each_kind_of_subject_is_explained(subject, named, question, cause, file, why):
    job = a_job(tasks=[a_task("bad", exit_code=3)], onAllTasksComplete="terminatejob", **HOOKS)
    answer = why(file(job, pools=[a_pool(nodes=2)]), subject)
    assert list(answer) == MEMBERS
    assert named.items() <= answer["subject"].items()
    assert answer["question"] == question
    assert cause is None or cause in [what for what, *_ in causes(answer)]
    assert {one["question"] for one in answer["findings"]} >= {question}


def test_a_job_schedule_and_its_jobs_are_found(why):
    answer = why("nightly-schedule-overruns", "schedule:nightly-risk")
    assert answer["subject"] == {"scheduleId": "nightly-risk"}
    assert answer["question"] == "Why has job schedule nightly-risk ended?"
    assert why("nightly-schedule-overruns", "nightly-risk:job-2")["subject"] == {"jobId": "nightly-risk:job-2"}


def test_a_node_has_its_id_as_a_name(file, why):
    path = file(a_job())
    node = why(path, "node:p/0")["subject"]["nodeId"]
    assert why(path, node) == why(path, f"node:{node}") == why(path, "node:p/n0")


def test_what_was_deleted_is_found_too(file, why):
    path = file(
        a_job(), timeline=[{"at": "PT5M", "deleteJob": {"jobId": "j"}}, {"at": "PT6M", "deletePool": {"poolId": "p"}}]
    )
    assert why(path, "job:j")["question"] == "Where is job j?"
    assert why(path, "task:j/t1")["question"] == "Where is task t1?"
    assert why(path, "pool:p")["question"] == "Where is pool p?"
    assert why(path, "node:p/0")["question"] == "Where is n0?"


def test_a_moment_is_asked_for(file, why):
    path = file(a_job(tasks=2))
    answer = why(path, "task:j/t2", "--at", "PT1M30S")
    assert (answer["at"], answer["question"]) == (90, "Why is task t2 of job j waiting?")
    assert ("turn in the job", "first of 1") not in causes(answer)
    assert answer["next"] == {"at": 111, "says": "task t1 of job j ends on n0"}
    assert answer["expected"]["says"] == "it starts on n0"
    assert answer["expected"]["at"] >= 111
    assert why(path, "task:j/t2")["question"] == "Why did task t2 of job j succeed?"
    assert main(["why", path, "--at", "never"]) == 2


def test_what_can_never_go_on_says_so_and_expects_nothing(file, why):
    path = file(a_job(tasks=[a_task(requiredSlots=2)]))
    answer = why(path, "task:j/t1")
    assert ("size", "needs 2 slots, a node has 1: it never runs", "SCHED-10") in causes(answer)
    assert (answer["next"], answer["expected"]) == (None, None)


def test_without_a_subject_each_item_of_the_list_is_explained(file, why, capsys):
    path = file(a_job(tasks=[a_task(exit_code=3)], onAllTasksComplete="terminatejob"))
    main(["run", path, "--output", "json"])
    attention = json.loads(capsys.readouterr().out)["attention"]
    answers = why(path)
    assert [answer["attention"] for answer in answers] == attention
    assert [answer["subject"] for answer in answers] == [item["subject"] for item in attention]
    assert ("exit code", "3", "RETRY-2") in causes(answers[0])
    assert [one["ok"] for one in answers[-1]["findings"] if one["what"] == "idle-pool"] == [None]


def test_a_run_in_which_nothing_needs_attention_has_an_empty_list(why, capsys):
    assert why("six-steps-to-a-result") == []
    assert main(["why", "six-steps-to-a-result"]) == 0
    assert capsys.readouterr().out == "Nothing needs attention.\n"


def test_a_history_is_explained_by_its_replay(tmp_path, why):
    written(state_of(load_scenario("retries-of-flaky-tasks")), tmp_path, "older az")
    answer = why(str(tmp_path), "pool:shared")
    assert answer["subject"] == {"poolId": "shared"}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("report", "subject", "kind", "cause"),
    [
        ("a-failed-preparation-is-not-seen", "job:frames", "preparation-failed", "3 of 3: preparation failed there"),
        ("a-failed-preparation-is-not-seen", "preparation:frames/0", "preparation-failed", "failed with exit code"),
        ("a-merge-after-a-failed-part", "task:book/bind", "job-never-ends", "waits for 2 (failed)"),
        ("a-merge-after-a-failed-part", "job:book", "job-never-ends", "waits for 2 (failed)"),
        ("mpi-beside-small-tasks", "task:both/wide", "job-never-ends", "mixed has 2 task slots per node instead of 1"),
        ("jobs-that-nobody-ends", "job:second", "job-never-ends", "noaction"),
        (
            "a-start-task-after-the-signature-has-ended",
            "node:spark/0",
            "node-out-of-order",
            "expired at 01-08 08:00:00",
        ),
    ],
)
def test_what_az_has_listed_of_a_report_closes_it(report, subject, kind, cause, dialect, tmp_path, why):
    text = (REPORTS / f"{report}.yaml").read_text(encoding="utf-8")
    if "jobs:" not in text:  # a history has one at least
        text += "jobs: [{id: app, poolInfo: {poolId: spark}, tasks: [{id: t, commandLine: serve}]}]\n"
    written(state_of(load_scenario(report, text=text)), tmp_path, dialect)
    assert any(cause in says for _, says, *_ in causes(why(str(tmp_path), subject)))
    assert kind in [answer["attention"]["kind"] for answer in why(str(tmp_path))]


def test_a_file_of_results_is_none(tmp_path, capsys):
    main(["run", "six-steps-to-a-result", "--output", "json"])
    results = tmp_path / "results.json"
    results.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["why", str(results)]) == 2
    assert "is a file of results: give the scenario itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("job:risc", "there is no 'job:risc': the nearest is job:risk"),
        ("task:risk/t3", "there is no 'task:risk/t3': the nearest is task:risk/t"),
        ("node:p/7", "there is no 'node:p/7': the nearest is node:p/0"),
        ("jobb:risk", "nothing is called 'jobb:risk': the nearest is job:risk"),
        ("rsik", "nothing is called 'rsik': the nearest is risk"),
        ("same", "'same' is the id of several things: job:same, pool:same"),
    ],
)
def test_an_unknown_subject_is_status_2_with_the_nearest_one(subject, said, file, capsys):
    path = file(a_job("risk", tasks=2), a_job("same", pool="same"), pools=[a_pool(), a_pool("same")])
    assert main(["why", path, subject]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_text_has_question_checks_and_what_comes_next(file, capsys):
    assert main(["why", file(a_job(tasks=2)), "task:j/t2", "--at", "90"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Why is task t2 of job j waiting?"
    assert "✗ a node with 1 free slot  0 of 1 eligible [SCHED-8]" in lines
    assert lines[-2].startswith("Next: task t1 of job j ends on n0 at 08:01:51")
    assert lines[-1].startswith("Expected: it starts on n0, 08:01:5")


def remedies(answer):
    return [next(iter(one["command"])) for one in answer["remedies"]]


def test_a_remedy_has_ended_the_concern_in_a_trial(file, why):
    fault = {"at": 55, "failNode": {"poolId": "p", "node": 0, "state": "unusable", "code": "NodePreparationError"}}
    path = file(a_job(tasks=2), timeline=[fault])
    answer = why(path, "node:p/0")
    assert remedies(answer)[0] == "rebootNode"
    assert answer["remedies"][0]["command"]["rebootNode"] == {"poolId": "p", "node": 0}
    assert answer["remedies"][0]["helps"] is True
    assert "2 more tasks succeed" in answer["remedies"][0]["says"]


def test_what_does_not_help_is_not_offered(file, why):
    again = [{"exitCode": 1}, {"exitCode": 0}]
    for simulate, offered in (({"exitCode": 1}, []), ({"attempts": again}, ["reactivateTask"])):
        answer = why(file(a_job(tasks=[a_task() | {"simulate": {"duration": 5} | simulate}])), "task:j/t1")
        assert answer["question"] == "Why did task t1 of job j fail?"
        assert remedies(answer) == offered


def test_what_the_service_refuses_is_not_offered(file, why):
    formula = {"enableAutoScale": True, "autoScaleFormula": "$TargetDedicatedNodes = 1;"}
    pool = a_pool() | formula
    del pool["targetDedicatedNodes"]
    idle = why(file(a_job(onAllTasksComplete="terminatejob"), pools=[pool], until="PT1H"), "pool:p")
    assert "resizePool" not in remedies(idle)


def test_a_job_that_a_user_has_to_end_is_terminated_in_a_trial(file, why):
    answers = why(file(a_job()))
    assert [remedies(answer) for answer in answers if answer["subject"].get("jobId") == "j"] == [["terminateJob"]]


def test_nothing_is_tried_where_no_time_is_left(file, why):
    path = file(a_job(), until="PT10M")
    assert why(path, "job:j")["remedies"] == []


def test_a_trial_changes_nothing(file, why):
    path = file(a_job(tasks=[a_task(exit_code=1)], onAllTasksComplete="terminatejob"))
    assert why(path) == why(path)
    assert why(path, "pool:p")["at"] == why(path, "job:j")["at"]


def test_an_expired_signature_is_not_answered_with_another_attempt(why):
    found = why("stages-hand-over-blobs")
    denied = next(one for one in found if "FileUploadAccessDenied" in one["attention"]["text"])
    assert denied["remedies"] == []
    assert denied["attention"]["remedy"] == "add it again with a signature that is valid long enough"


def test_before_the_end_jobs_are_told_that_nothing_to_come_ends(file, why):
    texts = [answer["question"] for answer in why(file(a_job(), until="PT2H"), "--at", "PT1H")]
    assert texts == ["Why has job j not ended?"]
    ends = [{"at": "PT90M", "terminateJob": {"jobId": "j"}}]
    assert why(file(a_job(), until="PT2H", timeline=ends), "--at", "PT1H") == []


def test_advice_that_a_trial_has_shown_to_be_useless_is_left_out_of_the_text(file, capsys):
    script = {"id": "t1", "commandLine": '/bin/sh -c "exit 1"'}
    assert main(["why", file(a_job(tasks=[script], onAllTasksComplete="terminatejob"))]) == 0
    assert "What helps: reactivate" not in capsys.readouterr().out
    assert main(["why", file(a_job(tasks=[script]), until="PT1H")]) == 0
    assert "What helps: reactivate" in capsys.readouterr().out


def test_preempted_nodes_come_back_without_a_user(file, why):
    pool = a_pool(nodes=0, targetLowPriorityNodes=1)
    evicted = {"at": 100, "evictNode": {"poolId": "p", "node": 0}}
    path = file(a_job(tasks=[a_task("t", 3000)]), pools=[pool], timeline=[evicted], until="PT2H")
    for subject in ("task:j/t", "node:p/0", "job:j"):
        answer = why(path, subject, "--at", "PT3M")
        assert answer["next"]["says"] == "Batch tries to allocate Spot nodes", subject
        assert answer["expected"] is None or answer["next"]["at"] <= answer["expected"]["at"]
