"""The command ``test``: which scenarios it finds, what it says of their cases, and its reports."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from engine import cases
from tests.command import COMMAND
from tui.cli import testing
from tui.cli.commands import main

ROOT = Path(__file__).parents[2]
posix_only = pytest.mark.skipif(os.name != "posix", reason="pipes, links and signals of POSIX")

RISK = """\
scenario: NAME
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}]
jobs:
  - id: j
    poolInfo: {poolId: p}
    onAllTasksComplete: terminatejob
    tasks: [{id: t, commandLine: work, simulate: {duration: PT1M}}]
expect:
"""
HOLDS = "  - {jobId: j, state: completed}\n"
BREAKS = "  - {jobId: j, state: active}\n"
WRONG = "scenario: wrong\npools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNode: 1}]\npool: []\n"


WARNS = re.sub(r"    tasks: .*\n", "", RISK) + HOLDS  # a job that ends without a task


def risk(*expected, name="risk", more=""):
    return RISK.replace("NAME", name) + "".join(expected or [HOLDS]) + more


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Writes files, by their paths, into the present folder."""
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for path, text in files.items():
            place = tmp_path / path.replace("__", "/").replace("_yaml", ".yaml").replace("_json", ".json")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return write


@pytest.fixture
def run(capsys):
    """Calls the command with a worker; returns what it printed."""

    def call(*arguments, status=0, workers="1"):
        assert main(["test", *arguments, "--workers", workers]) == status
        return capsys.readouterr()

    return call


@pytest.fixture
def found(run):
    """Calls the command, and returns its JSON."""

    def call(*arguments, status=0, workers="1"):
        return json.loads(run(*arguments, "--output", "json", status=status, workers=workers).out)

    return call


def files_of(report):
    return [each["file"].replace(os.sep, "/") for each in report["scenarios"]]


# --- what is found


def test_folders_are_searched_for_files_with_the_key_of_a_scenario(folder, found):
    folder(
        b_yaml=risk(name="b"),
        a__deep__c_json='{"scenario": "c", "pools": []}',
        bom_yaml="\ufeffscenario: bom\npools: []\n",
        quoted_yaml='"scenario": quoted\npools: []\n',
        nested_yaml="outer: {scenario: no}\n",
        listed_yaml="- scenario: no\n",
        text_yaml="text: |\n  scenario: no\n",
        prices_json='{"Items": []}',
        empty_yaml="",
        hidden__x_yaml=risk(),
    )
    Path("hidden").rename(".hidden")
    for other in ("node_modules", "venv"):
        Path(other).mkdir()
        Path(other, "x.yaml").write_text(risk())
    Path("venv/pyvenv.cfg").touch()
    Path("UPPER.YML").write_text("scenario: upper\n")
    expected = ["UPPER.YML", "b.yaml", "bom.yaml", "quoted.yaml", "a/deep/c.json"]
    assert files_of(found()) == expected
    assert [each["name"] for each in found()["scenarios"]] == ["upper", "b", "bom", "quoted", "c"]
    assert files_of(found("a", "venv", "b.yaml")) == ["a/deep/c.json", "venv/x.yaml", "b.yaml"]


def test_a_file_that_cannot_be_read_is_an_error_if_a_line_of_it_begins_like_a_scenario(folder, found):
    folder(
        broken_yaml="a: 1\nscenario: x\nb: [\n",
        other_yaml="a: [\n# scenario: x\n",
        half_json='{"scenario": "x"',
        latin_yaml=b"scenario: caf\xe9\n",
        wide_yaml="scenario: x\n".encode("utf-16"),
    )
    report = found(status=2)
    assert files_of(report) == ["broken.yaml", "latin.yaml", "wide.yaml"]
    assert [each["cases"][0]["outcome"] for each in report["scenarios"]] == ["error"] * 3
    assert report["errors"] == 3


def test_results_beside_scenarios_are_passed_over(folder, found, capsys):
    folder(a_yaml=risk())
    for call in (["run", "a.yaml"], ["study", "a.yaml", "--seeds", "1", "--workers", "1"], ["test", "a.yaml"]):
        assert main([*call, "--output", "json"]) == 0
        Path(f"{call[0]}.json").write_text(capsys.readouterr().out)
    assert files_of(found()) == ["a.yaml"]


def test_a_file_is_played_once_however_often_it_is_named(folder, found):
    folder(a_yaml=risk(), sub__b_yaml=risk())
    assert files_of(found("sub", "a.yaml", "./a.yaml", ".", str(Path("a.yaml").absolute()))) == ["sub/b.yaml", "a.yaml"]


@posix_only
def test_neither_pipes_nor_circles_of_links_keep_it_from_its_end(folder, found, run):
    folder(a_yaml=risk())
    os.mkfifo("pipe.yaml")
    Path("loop").symlink_to(".")
    Path("self.yaml").symlink_to("self.yaml")
    Path("alias.yaml").symlink_to("a.yaml")
    assert files_of(found()) == ["a.yaml", "alias.yaml"]
    assert "pipe.yaml: is a pipe or a device, not a file" in run("pipe.yaml", status=2).out


def test_folders_without_permission_are_told_or_refused(folder, run, monkeypatch):
    folder(a_yaml=risk(), secret__b_yaml=risk())
    scandir = os.scandir

    def refusing(path):
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert run().err == f"{os.path.join('.', 'secret')} is passed over: Permission denied\n"
    assert run("--quiet") == ("", "")
    assert "secret cannot be read: Permission denied." in run("a.yaml", "secret", status=2).err


def test_k_keeps_paths_and_names_that_contain_a_text(folder, found, run):
    folder(a__night_yaml=risk(name="one"), b__x_yaml=risk(name="night shift"), c_yaml=risk(name="day"))
    assert files_of(found("-k", "night")) == ["a/night.yaml", "b/x.yaml"]
    assert "No scenario with 'noon' in its path or name was found in this folder." in run("-k", "noon", status=5).err


def test_a_folder_without_a_scenario_is_status_5(folder, run, found):
    folder(a_yaml="x: 1\n")
    assert run(status=5) == ("", "No scenario was found in this folder.\n")
    assert found("--junit", "r.xml", status=5) == {"scenarios": [], "passed": 0, "failed": 0, "errors": 0}
    assert ET.parse("r.xml").getroot().attrib["tests"] == "0"


def test_a_thousand_other_files_are_passed_over(folder, found):
    folder(a_yaml=risk())
    for number in range(1_000):
        Path(f"other{number}.yaml").write_text("scenarios: []\n" if number % 2 else "kind: Pod\n")
    assert files_of(found()) == ["a.yaml"]


# --- what is judged


def test_each_expectation_is_a_case_and_refusals_are_the_last_one(folder, found):
    refused = "timeline:\n  - {at: PT1S, terminateJob: {jobId: k}, refused: JobNotFound}\n"
    refused += "  - {at: PT2S, deleteJob: {jobId: k}}\n"
    made = RISK.replace("NAME", "n").replace("expect:", "  - {id: k, at: PT9M, poolInfo: {poolId: p}}\nexpect:")
    folder(a_yaml=made + HOLDS + BREAKS + refused, b_yaml=risk())
    report = found(status=1)
    one, other = report["scenarios"]
    assert [(each["name"], each["line"], each["outcome"], each["seed"]) for each in one["cases"]] == [
        ("{jobId: j, state: completed}", 10, "passed", None),
        ("{jobId: j, state: active}", 11, "failed", 0),
        (cases.REFUSALS, 14, "failed", 0),
    ]
    assert one["cases"][1]["expected"] == {"jobId": "j", "state": "active"}
    assert one["cases"][1]["seen"] == {"state": "completed"}
    assert one["cases"][2]["seen"] == {
        "refused": [{"at": 2.0, "command": "deleteJob", "of": "k", "code": "JobNotFound"}]
    }
    assert [each["outcome"] for each in other["cases"]] == ["passed", "passed"]
    assert (report["passed"], report["failed"], report["errors"]) == (3, 2, 0)


def test_a_moment_that_is_not_reached_is_told_as_such(folder, found, run):
    folder(a_yaml=risk("  - {at: PT9M, jobId: j, state: completed}\n", more="until: PT1M\n"))
    assert found(status=1)["failed"] == 1
    assert "a.yaml:9:5: job j at 08:09:00, which is not reached\n" in run(status=1).out


def test_wrong_files_are_one_case_at_their_first_mistake_while_others_are_played(folder, found, run):
    folder(a_yaml=risk(), w_yaml=WRONG)
    report = found("a.yaml", "w.yaml", "none.yaml", status=2)
    good, wrong, missing = report["scenarios"]
    assert good["cases"][0]["outcome"] == "passed"
    assert [(each["name"], each["line"], each["outcome"]) for each in wrong["cases"]] == [(cases.VALID, 2, "error")]
    assert wrong["name"] == "wrong"
    assert "targetDedicatedNode" in wrong["cases"][0]["seen"]
    assert "no such file" in missing["cases"][0]["seen"]
    said = run(status=2).out
    assert "w.yaml:2:42: pools[0].targetDedicatedNode: " in said
    assert "w.yaml:3:1: pool: " in said


def test_strict_makes_warnings_mistakes(folder, found, run):
    folder(a_yaml=WARNS)
    assert "a.yaml:6:25: warning: [job-without-tasks] " in run().err
    assert found("--strict", status=2)["scenarios"][0]["cases"][0]["outcome"] == "error"


def test_seeds_name_the_first_that_breaks_a_case_whoever_plays_it(folder, found):
    chance = "[{id: t, commandLine: work, simulate: {duration: PT1M, exitCode: {0: 0.7, 1: 0.3}}}]"
    text = re.sub(r"\[\{id: t.*\]", chance, risk(HOLDS, "  - {jobId: j, taskId: t, exitCode: 0}\n"))
    folder(a_yaml=text, b_yaml=risk())
    seeds = range(1, 13)
    codes = [cases.judged(cases_of_file("a.yaml"), seed)[0][1].outcome for seed in seeds]
    first = codes.index("failed") + 1
    assert first > 1
    reports = [found("--seeds", "12", status=1, workers=workers) for workers in ("1", "2")]
    for report in reports:
        held, broken, _ = report["scenarios"][0]["cases"]
        assert (held["outcome"], held["seed"]) == ("passed", None)
        assert (broken["outcome"], broken["seed"], broken["seen"]) == ("failed", first, {"exitCode": 1})
        assert report["scenarios"][1]["cases"][1]["outcome"] == "passed"
    assert found("--seeds", str(first - 1))["failed"] == 0


def cases_of_file(name):
    from engine import load_scenario

    return load_scenario(name)


def test_prices_count_for_costs(folder, found):
    folder(a_yaml=risk("  - {poolId: p, cost: {atMost: 0.5}}\n"))
    Path("p.csv").write_text("name,linuxUsdPerHour\nstandard_d2s_v3,1000\n")
    assert found()["failed"] == 0
    case = found("--prices", "p.csv", status=1)["scenarios"][0]["cases"][0]
    assert case["seen"]["cost"] > 1
    assert main(["test", "--prices", "none.csv"]) == 2


@pytest.mark.parametrize("call", [["--seeds", "0"], ["--workers", "0"], ["--output", "xml"], ["--junit", "none/r.xml"]])
def test_wrong_options_are_status_2_and_nothing_is_played(call, folder, capsys):
    folder(a_yaml=risk(BREAKS))
    assert main(["test", *call]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Error: " in err
    assert os.listdir() == ["a.yaml"]


def test_the_report_replaces_no_scenario(folder, capsys):
    folder(a_yaml=risk())
    assert main(["test", "--junit", "a.yaml"]) == 2
    assert "--junit would replace a.yaml" in capsys.readouterr().err
    assert Path("a.yaml").read_text() == risk()


# --- where a case stands


PLACES = """\
scenario: places
pools:
  - id: p
    vmSize: standard_d2s_v3
    targetDedicatedNodes: 0
expect:
  - poolId: p
    state: active
  - &held {poolId: p, state: active}
  -  *held
  - <<: *held
    within: PT1H
  - # a comment
    {poolId: p, nodes: {total: 0}}
"""


def test_a_case_stands_where_its_entry_begins_an_alias_where_it_is_used():
    from engine import load_scenario

    found = load_scenario("places", text=PLACES).expect
    assert [(each.line, each.column) for each in found] == [(7, 5), (9, 5), (10, 6), (11, 5), (14, 5)]


def test_places_in_json_and_in_an_aliased_list():
    from engine import load_scenario

    in_json = """{"scenario": "x", "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 0}],
 "expect": [{"poolId": "p", "state": "active"},

  {"poolId": "p", "nodes": {"total": 0}}]}"""
    assert [(each.line, each.column) for each in load_scenario("x", text=in_json).expect] == [(2, 13), (4, 3)]
    many = "expect:\n" + "".join(f'  - {{"poolId": "p", "nodes": {{"total": {at % 2}}}}}\n' for at in range(300))
    text = PLACES.partition("expect:")[0] + many
    assert [each.line for each in load_scenario("x", text=text).expect] == list(range(7, 307))


# --- names


def test_names_are_unique_on_one_line_and_without_what_xml_forbids(folder, found):
    same = r'  - {poolId: p, node: 0, file: {"a\u0001b": "x\ny\u2028\uFFFE"}}' + "\n"
    folder(a_yaml=risk(HOLDS, HOLDS, HOLDS, same, same))
    names = [each["name"] for each in found("--junit", "r.xml", status=1)["scenarios"][0]["cases"]]
    assert names[:3] == ["{jobId: j, state: completed}" + more for more in ("", " (2)", " (3)")]
    assert len(set(names)) == len(names)
    assert all(len(name.splitlines()) == 1 for name in names)
    assert "a\ufffdb" in names[3]
    read = [each.attrib["name"] for each in ET.parse("r.xml").iter("testcase")]
    assert read == names


def test_long_names_are_shortened_and_stay_unique(folder, found):
    folder(
        a_yaml=risk(*[f'  - {{poolId: p, node: 0, file: {{x: "{"long" * 500}{at}{"long" * 500}"}}}}\n' for at in "ab"])
    )
    names = [each["name"] for each in found(status=1)["scenarios"][0]["cases"]]
    assert len(set(names)) == 3
    assert max(map(len, names)) < 300


# --- JUnit


def without_time(content):
    return re.sub(rb' time="[\d.]+"', b"", content)


def test_junit_has_a_suite_for_each_scenario(folder, run):
    folder(sub__a_b_yaml=risk(HOLDS, BREAKS), w_yaml=WRONG)
    run("w.yaml", "sub", "--junit", "r.xml", status=2)
    root = ET.parse("r.xml").getroot()
    assert {name: root.attrib[name] for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
    }
    wrong, suite = root
    assert suite.attrib["name"] == os.path.join("sub", "a_b.yaml")
    assert "timestamp" not in suite.attrib
    held, broken, refusals = suite
    assert held.attrib["classname"] == "sub.a_b"
    assert (held.attrib["file"], held.attrib["line"]) == (suite.attrib["name"], "9")
    assert list(held) == list(refusals) == []
    assert "expected: {jobId: j, state: active}" in broken.find("failure").text
    assert "seen:     {state: completed}" in broken.find("failure").text
    assert broken.find("failure").attrib["message"] == "job j at the end: state completed instead of active"
    assert "targetDedicatedNode" in wrong[0].find("error").attrib["message"]


def test_equal_runs_give_equal_bytes_but_for_time(folder, run):
    folder(**{f"s{at}_yaml": risk(HOLDS, BREAKS, name=f"s{at}") for at in range(7)})
    found = set()
    for workers in ("1", "3"):
        run("--junit", "r.xml", status=1, workers=workers)
        found.add(without_time(Path("r.xml").read_bytes()))
    assert len(found) == 1
    assert os.listdir().count("r.xml") == 1
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_a_name_of_a_file_that_is_no_text_is_no_obstacle(folder, run):
    folder()
    try:
        Path(os.fsdecode(b"caf\xe9 & <x>.yaml")).write_text(risk())
    except OSError:
        pytest.skip("the file system takes only Unicode")
    run("--junit", "r.xml")
    assert ET.parse("r.xml").getroot()[0].attrib["name"] == "caf\ufffd & <x>.yaml"


def test_junit_on_stdout_takes_the_place_of_the_result(folder, run):
    folder(a_yaml=risk(BREAKS))
    assert ET.fromstring(run("--junit", "-", status=1).out.encode())[0].attrib["failures"] == "1"


# --- tables and marks


def test_a_failure_shows_where_it_is_what_was_seen_and_what_needs_attention(folder, run):
    folder(sub__a_yaml=risk(HOLDS, BREAKS), b_yaml=risk())
    said = run(status=1).out
    assert re.search(r"^ok +2 +0  b\.yaml$", said, re.MULTILINE)
    assert re.search(r"^FAILED +3 +1  sub.a\.yaml$", said, re.MULTILINE)
    assert f"{os.path.join('sub', 'a.yaml')}:10:5: job j at the end: state completed instead of active\n" in said
    assert "  expected: {jobId: j, state: active}\n  seen:     {state: completed}\n  seed:     0\n" in said
    assert "Needs attention in sub" in said
    assert said.endswith("scenarios: 2; cases: 4 passed, 1 failed, 0 in error\n")


def test_quiet_prints_nothing_when_all_holds(folder, run):
    folder(a_yaml=WARNS)
    for output in ("table", "github"):
        assert run("--quiet", "--output", output) == ("", "")
    folder(b_yaml=risk(BREAKS))
    assert "b.yaml:9:5" in run("--quiet", status=1).out


def test_annotations_of_github(folder, run):
    folder(**{"sub__a,b:c_yaml": risk(BREAKS), "w_yaml": WRONG})
    lines = run("sub", "w.yaml", "--output", "github", status=2).out.splitlines()
    assert lines[0] == (
        "::error file=sub/a%2Cb%3Ac.yaml,line=9,col=5,title={jobId%3A j%2C state%3A active}::"
        "job j at the end: state completed instead of active%0A  expected: {jobId: j, state: active}%0A"
        "  seen:     {state: completed}%0A  seed:     0"
    )
    assert lines[1].startswith("::error file=w.yaml,line=2,col=42,title=mistake::pools[0].targetDedicatedNode: ")
    assert lines[2].startswith("::error file=w.yaml,line=3,col=1,title=mistake::pool: ")


def test_annotations_of_check(folder, capsys):
    folder(w_yaml=WRONG.replace("targetDedicatedNode:", '"100%\\r\\n:x,":'), u_yaml=WARNS)
    assert main(["check", "--output", "github", "u.yaml", "w.yaml", "none.yaml"]) == 2
    out, err = capsys.readouterr()
    warning, *errors = out.splitlines()
    assert warning.startswith("::warning file=u.yaml,line=6,col=25,title=job-without-tasks::jobs[0]")
    assert errors[0].startswith("::error file=w.yaml,line=2,col=42,title=mistake::pools[0]")
    assert "100%25" in errors[0]
    assert errors[-1].startswith("::error file=none.yaml,line=1,col=1,title=mistake::no such file")
    assert err == ""


def test_check_takes_folders(folder, capsys):
    folder(sub__a_yaml=risk(), sub__other_yaml="x: 1\n", w_yaml=WRONG)
    assert main(["check", "sub"]) == 0
    assert capsys.readouterr().out.startswith(f"{os.path.join('sub', 'a.yaml')}: ok")
    assert main(["check", "."]) == 2


# --- hooks


def test_hooks_find_what_is_wrong_in_a_repository(folder, capsys, monkeypatch):
    monkeypatch.setattr(testing, "processors", lambda: 1)  # a worker, which plays here
    hooks = {each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert set(hooks) == {"batchdeck-check", "batchdeck-test"}
    folder(a_yaml=risk(), docs__config_yaml="x: 1\n")

    def status_of(name):
        hook = hooks[name]
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)
        program, *rest = shlex.split(hook["entry"])
        assert program == "batchdeck"
        return main(rest)

    assert [status_of(name) for name in hooks] == [0, 0]
    assert capsys.readouterr() == ("", "")
    folder(deep__b_yaml=risk(BREAKS))
    assert [status_of(name) for name in hooks] == [0, 1]
    folder(deep__w_yaml=WRONG)
    assert [status_of(name) for name in hooks] == [2, 2]


# --- workers and interrupts


def large(name):
    tasks = (
        "taskFactory: {type: parametricSweep, parameterSets: [{start: 1, end: 60000}], repeatTask: {commandLine: x}}"
    )
    return re.sub(r"tasks: .*", tasks, risk(name=name))


class Begun:
    """The command in a process group of its own, once its workers are there."""

    def __init__(self, place):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        call = [*COMMAND, "test", "--workers", "2", "--junit", "r.xml", "--seeds", "40"]
        self.process = subprocess.Popen(
            call,
            cwd=place,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        deadline_s = time.monotonic() + 60
        while len(self.workers) < 2 and time.monotonic() < deadline_s:
            time.sleep(0.05)

    @property
    def workers(self):
        """The processes that play, which multiprocessing names in their command lines."""
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            try:
                line = (each / "cmdline").read_bytes()
                parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if b"spawn_main" in line and int(parent) == self.process.pid:
                found.append(int(each.name))
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@linux_only
@pytest.mark.parametrize("to_group", [False, True])
def test_an_interrupt_ends_all_workers_and_leaves_the_old_report(to_group, folder):
    place = folder(**{f"s{at}_yaml": large(f"s{at}") for at in range(4)})
    Path("r.xml").write_text("old")
    with Begun(place) as begun:
        workers = begun.workers
        assert len(workers) == 2
        (os.killpg if to_group else os.kill)(begun.process.pid, signal.SIGINT)
        out, err = begun.process.communicate(timeout=60)
        assert begun.process.returncode == 130
        assert out == ""
        assert re.fullmatch(r"\nInterrupted after \d of 4 scenarios; nothing was written\.\n", err)
        deadline_s = time.monotonic() + 60
        while any(Path(f"/proc/{each}").exists() for each in workers) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        assert not [each for each in workers if Path(f"/proc/{each}").exists()]
    assert Path("r.xml").read_text() == "old"
    assert sorted(os.listdir()) == ["r.xml", "s0.yaml", "s1.yaml", "s2.yaml", "s3.yaml"]


@linux_only
def test_a_killed_worker_is_replaced(folder):
    place = folder(**{f"s{at}_yaml": risk(name=f"s{at}") for at in range(20)})
    with Begun(place) as begun:
        for worker in begun.workers[:1]:
            os.kill(worker, signal.SIGKILL)
        out, err = begun.process.communicate(timeout=120)
        assert (begun.process.returncode, err) == (0, "")
        assert out.endswith("scenarios: 20; cases: 40 passed, 0 failed, 0 in error\n")


def test_a_file_with_which_workers_end_is_an_error():
    player = cases.CasePlayer(time.perf_counter)
    suite = player.failed(cases.SuiteRun("a.yaml", range(1, 3)), "the process ended")
    assert [(each.outcome, each.why) for each in suite.cases] == [("error", "the process ended")]
    good = suite._replace(cases=[cases.Case("x", 1, 1, {})] * 2)
    assert suite.merged(good) == good.merged(suite) == suite


def test_a_defect_while_a_scenario_is_played_is_an_error_of_that_one(folder, monkeypatch):
    folder(a_yaml=risk(), b_yaml=risk())
    judged = cases.judged

    def failing(scenario, seed):
        if scenario.source.path == "a.yaml":
            raise ArithmeticError("no such number")
        return judged(scenario, seed)

    monkeypatch.setattr(cases, "judged", failing)
    one, other = cases.CasePlayer(time.perf_counter).play([cases.SuiteRun("a.yaml"), cases.SuiteRun("b.yaml")])
    assert [each.why for each in one.cases] == ["ArithmeticError: no such number"]
    assert {each.outcome for each in other.cases} == {"passed"}
