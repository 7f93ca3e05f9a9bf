"""Objects of the service in files: dialects, what belongs together, and broken files."""

from __future__ import annotations

import gzip
import json

import pytest

from engine.base.errors import ScenarioError
from engine.histories.history import History, read_history
from engine.scenario.load import load
from tests.histories.dialects import DIALECTS, state_of, written


@pytest.fixture(scope="module")
def state():
    return state_of(load("job-prep-release-sample"))


def _read(folder, *texts: str) -> History:
    for number, text in enumerate(texts):
        (folder / f"{number}.json").write_text(text, encoding="utf-8")
    return read_history([folder])


def _mistakes(folder, *texts: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        _read(folder, *texts)
    return [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]


def _warnings(history: History, folder) -> list[str]:
    return [str(problem).removeprefix(f"{folder}/") for problem in history.warnings]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_in_files_of_its_own_is_the_same_history(state, dialect, tmp_path):
    whole = tmp_path / "state.json"
    whole.write_text(json.dumps(state), encoding="utf-8")
    one = read_history([whole])
    folder = tmp_path / "exports"
    folder.mkdir()
    written(state, folder, dialect)
    many = read_history([folder])
    assert not many.warnings
    assert [job.body["id"] for job in many.jobs] == ["JobPrepReleaseSampleJob"]
    assert _bodies(many.tasks) == _bodies(one.tasks)
    assert len(_bodies(one.tasks)["JobPrepReleaseSampleJob"]) == 8
    assert _bodies(many.instances) == _bodies(one.instances)
    assert [record.body["poolInfo"] for record in many.jobs] == [record.body["poolInfo"] for record in one.jobs]


def _bodies(lists):
    return {owner: [_times(record.body) for record in records] for owner, records in lists.items()}


def _times(body):
    kept = {key: value for key, value in body.items() if key not in ("displayName",)}
    return {key: _times(value) if isinstance(value, dict) else value for key, value in kept.items()}


KINDS = "a pool, job, job schedule, task, node, or entry of the preparation and release status"
WHOLE = "; export whole objects, with `--output json` and without `--query`"
NO_OBJECT = "an object in braces was expected here: export whole objects, without `--query`"
MORE = "there is more after the end of the JSON: write each export into a file of its own"
TWICE = "the task is there twice: the latest state of each counts"
JOB = '{"id": "a", "poolInfo": {"poolId": "p"}, "url": "https://x/jobs/a"}'


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "0.json:1:1: the file is empty: an export has one JSON object or a list of them"),
        ('[{"id": "a"', "0.json:1:12: the file ends in the middle of a value: it was cut off"),
        ('{"value": [{"id": "a"},', "0.json:1:24: the file ends in the middle of a value: it was cut off"),
        ('{"value": [{"id": "a', "0.json:1:19: the file ends in the middle of a value: it was cut off"),
        ('{"id": "a"\n  "state": "b"}', "0.json:2:3: a comma or '}' was expected here"),
        ('[{"id": "a"\n  "state": "b"}]', "0.json:2:3: this is not JSON: expecting ',' delimiter"),
        ("id: a\nstate: b", "0.json:1:1: this is not JSON: it begins with 'id: a'; export with `--output json`"),
        ("[1]", f"0.json:1:2: {NO_OBJECT}"),
        ('{"tasks": [{"nodes": [2]}]}', f"0.json: tasks[0].nodes[0]: {NO_OBJECT}"),
        ('{"id": NaN}', "0.json:1:8: NaN is no number of JSON"),
        ("[" * 100_000, f"0.json:1:2: {NO_OBJECT}"),
        ('{"id": ' + "[" * 100_000, "0.json:1:8: nested too deeply"),
        ('{"a": 1} {"b": 2}', f"0.json:1:10: {MORE}"),
        ('{"name": "stdout.txt"}', f"0.json: is none of these: {KINDS}{WHOLE}"),
        ('[{"id": "t", "code": 0}]', f"0.json: [0]: is none of these: {KINDS}{WHOLE} (id 't')"),
        ('[["t", "completed"]]', f"0.json:1:2: {NO_OBJECT}"),
        ("Id    State", "0.json:1:1: this is not JSON: it begins with 'Id    State'; export with `--output json`"),
        ("x\0y", "0.json:1:2: is a binary file, not JSON: it contains a zero byte"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_export_is_a_mistake_with_its_place(text, mistake, tmp_path):
    assert _mistakes(tmp_path, text) == [mistake]


def test_all_files_with_mistakes_are_named(tmp_path):
    assert len(_mistakes(tmp_path, "", JOB, "[")) == 1  # a folder is read up to its first mistake


def test_bytes_that_are_no_text_have_a_place(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"id":\n "\xff"}')
    (tmp_path / "b.json").write_bytes(gzip.compress(b"[1]"))
    with pytest.raises(ScenarioError) as caught:
        read_history([tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.json"])
    assert [str(problem).removeprefix(f"{tmp_path}/") for problem in caught.value.problems] == [
        "a.json:2:3: is not UTF-8: the byte 0xff fits no character",
        f"b.json:1:2: {NO_OBJECT}",
        "c.json: there is no such file",
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_of_powershell_are_read(encoding, tmp_path):
    (tmp_path / "a.json").write_text(JOB, encoding=encoding)
    assert [job.body["id"] for job in read_history([tmp_path]).jobs] == ["a"]


def test_nothing_in_any_file_is_a_mistake(tmp_path):
    assert "there is nothing in it" in _mistakes(tmp_path, "[]", "{}")[0]


def _task(**more):
    return json.dumps({"id": "t", "commandLine": "x", "url": "https://x/jobs/a/tasks/t"} | more)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            _task(executionInfo={"startTime": "2026-01-01T09:00:00Z", "endTime": "2026-01-01T08:00:00Z"}),
            "1.json: warning: executionInfo: it ends at 2026-01-01T08:00:00Z, before it starts at "
            "2026-01-01T09:00:00Z: both are left out (job 'a', task 't')",
        ),
        (
            _task(creationTime="2026-01-01T09:00:00Z", executionInfo={"startTime": "2026-01-01T08:00:00Z"}),
            "1.json: warning: executionInfo: it starts at 2026-01-01T08:00:00Z, before it is created at "
            "2026-01-01T09:00:00Z: the creation is left out (job 'a', task 't')",
        ),
        (
            _task(executionInfo=3),
            "1.json: warning: executionInfo: must be an object, not 3: it is left out (job 'a', task 't')",
        ),
        (
            _task(executionInfo={"retryCount": -1}),
            "1.json: warning: executionInfo.retryCount: must be a whole number that is not negative, not -1: "
            "it is left out (job 'a', task 't')",
        ),
        (
            _task(url="https://x/jobs/other/tasks/t"),
            "1.json: warning: the task belongs to the job 'other', of which there is no body: it is left out "
            "(job 'other', task 't')",
        ),
        (f"[{_task()}, {_task(state='active')}]", f"1.json: warning: [1]: {TWICE} (job 'a', task 't')"),
        (
            '[{"id": "n", "schedulingState": "enabled", "url": "https://x/pools/q/nodes/n"}]',
            "1.json: warning: [0]: the node belongs to the pool 'q', of which there is no body: it is left out "
            "(pool 'q', node 'n')",
        ),
        (
            '[{"name": "a"}, {"id": "p", "vmSize": "x"}]',
            f"1.json: warning: [0]: is left out, since it is none of these: {KINDS}",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_true_is_left_out_with_a_warning(text, warning, tmp_path):
    assert _warnings(_read(tmp_path, JOB, text), tmp_path) == [warning]


def test_the_latest_state_of_a_task_counts(tmp_path):
    early = _task(state="running", stateTransitionTime="2026-01-01T08:00:00Z")
    late = _task(state="completed", stateTransitionTime="2026-01-01T09:00:00Z")
    for order in ((early, late), (late, early)):
        (task,) = _read(tmp_path, JOB, *order).tasks["a"]
        assert task.body["state"] == "completed"
