"""What needs attention, as ``run`` prints it: after its tables, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.base import rulebook
from engine.views.diagnosis import concerns
from engine.views.diagnosis.concerns import Kind
from tests.builders import a_job, a_pool, a_task, some_tasks
from tui.cli.commands import main

REPORTS = Path(__file__).parents[1] / "reports"
LEVELS = ("error", "warning", "info")
MEMBERS = ["severity", "kind", "subject", "since", "text", "effect", "remedy", "rules"]


@pytest.fixture
def attention(tmp_path, capsys):
    def of(*jobs, pools=None, **more):
        scenario = tmp_path / "small.yaml"
        body = {"scenario": "small", "seed": 1, "pools": pools or [a_pool()], "jobs": jobs, **more}
        scenario.write_text(json.dumps(body), encoding="utf-8")
        main(["run", str(scenario), "--output", "json"])
        return json.loads(capsys.readouterr().out)["attention"]

    return of


def test_an_item_has_the_members_of_the_contract_and_names_its_subject(attention):
    failed, idle = attention(a_job(tasks=[a_task(exit_code=3)], onAllTasksComplete="terminatejob"))
    assert list(failed) == MEMBERS
    assert (failed["severity"], failed["kind"]) == ("error", "task-failed")
    assert failed["subject"] == {"jobId": "j", "taskId": "t1"}
    assert failed["since"] > 60
    assert idle["severity"] == "info"
    assert idle["subject"] == {"poolId": "p"}


def test_several_of_a_kind_are_lists_that_leave_nothing_out(attention):
    failed, *_ = attention(a_job(tasks=some_tasks(30, exit_code=3)))
    assert failed["subject"] == {"jobId": "j", "taskIds": [f"t{number}" for number in range(1, 31)]}
    jobs = [a_job(f"j{number}", tasks=[a_task(exit_code=3)]) for number in range(9)]
    failed, left = attention(*jobs)
    assert failed["subject"]["jobIds"] == left["subject"]["jobIds"] == [f"j{number}" for number in range(9)]
    assert not any(sign in left["text"] + left["effect"] for sign in ("…", " more"))


def test_a_broken_expectation_and_a_refused_command_name_what_they_are_about(attention):
    broken, refused, *_ = attention(
        a_job(tasks=[a_task()]),
        timeline=[{"at": "PT1M", "terminateTask": {"jobId": "j", "taskId": "gone"}}],
        expect=[{"jobId": "j", "tasks": {"succeeded": 1}}, {"jobId": "j", "state": "completed"}],
    )
    assert (broken["kind"], broken["subject"]) == ("expectation-broken", {"jobId": "j", "expectation": 2})
    assert (refused["kind"], refused["subject"]) == ("command-refused", {"jobId": "j", "taskId": "gone"})


def test_the_worst_comes_first(attention):
    jobs = (a_job("bad", tasks=[a_task(exit_code=1)]), a_job("lost", pool="gone", tasks=[a_task()]))
    found = [LEVELS.index(item["severity"]) for item in attention(*jobs)]
    assert found == sorted(found)
    assert found[0] == 0


def test_a_run_without_trouble_says_so_in_one_line(capsys):
    assert main(["run", "six-steps-to-a-result"]) == 0
    assert capsys.readouterr().out.endswith("\n\nNothing needs attention.\n")
    assert main(["run", "six-steps-to-a-result", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["attention"] == []


def test_the_table_has_effect_remedy_and_rules_below_each_item(capsys):
    main(["run", str(REPORTS / "a-failed-preparation-is-not-seen.yaml")])
    out = capsys.readouterr().out
    found = out[out.index("Needs attention") :].splitlines()
    wanted = "error +00:03:56 preparation of frames failed on every node: exit code 32"
    assert " ".join(found[3].split()) == wanted
    assert " ".join(" ".join(found[4:9]).split()) == (
        "2 tasks of frames wait, and none can run; a reimage or a new node would fail again (simulated) "
        "what helps: terminate the job, then add it with another preparation rules: PREP-11"
    )


def test_each_kind_has_a_word_a_sentence_and_a_rule(capsys):
    assert main(["rules", "--attention"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [kind.word for kind in Kind]
    assert all(line.endswith(".") for line in lines)
    assert main(["rules", "--attention", "--output", "json"]) == 0
    assert {"kind": "idle-pool", "text": Kind.IDLE_POOL.value} in json.loads(capsys.readouterr().out)
    assert main(["rules", "--attention", "PREP"]) == 2
    assert {rule for _, rule in concerns._KINDS.values() if rule} <= rulebook.rules().keys()
    assert {kind for kind, _ in concerns._KINDS.values()} == set(Kind)
