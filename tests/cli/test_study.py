"""The command ``study``, and ``run --variant``, as a person and a script meet them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest

from engine import load_scenario
from engine.base.partial_files import is_locked
from engine.studies.runs import Run, planned
from tests.cli.conftest import put_one_worker_here
from tests.command import COMMAND
from tests.studies.conftest import NIGHT
from tui.cli.commands import main
from tui.saving.targets import TargetError
from tui.workers.dispatch import WorkersLost
from tui.workers.local import LocalWorkers
from tui.workers.runs import ResultsFile

ROOT = Path(__file__).parents[2]
NODES = "pools.render.targetDedicatedNodes"
posix_only = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
STUDY = f"study:\n  seeds: 3\n  vary:\n    {NODES}: [1, 3]\n    jobs.shot-1.priority: [0, 5]\n"


def with_tasks(count):
    return NIGHT.replace("end: 12}", f"end: {count}}}")


@pytest.fixture
def night(tmp_path, monkeypatch):
    """Writes the scenario with other lines at its end, in a directory of its own, and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(more=STUDY, *, tasks=12):
        (tmp_path / "night.yaml").write_text(with_tasks(tasks) + more)
        return "night.yaml"

    return write


def study(capsys, *arguments, status=0):
    assert main(["study", *arguments, "--workers", "1"]) == status
    return capsys.readouterr()


# --- what it prints


def test_json_has_a_summary_of_each_variant(night, capsys):
    found = json.loads(study(capsys, night(), "--output", "json", "--confidence", "0").out)
    assert list(found) == ["scenario", "seeds", "factors", "variants", "recommended"]
    assert (found["scenario"], found["seeds"]) == ("night", [1, 2, 3])
    assert found["factors"] == [
        {"path": NODES, "values": [1, 3]},
        {"path": "jobs.shot-1.priority", "values": [0, 5]},
    ]
    assert [one["variant"] for one in found["variants"]] == [1, 2, 3, 4]
    assert [one["values"][NODES] for one in found["variants"]] == [1, 1, 3, 3]
    assert {one["runs"] for one in found["variants"]} == {3}
    cheapest = min(found["variants"], key=lambda one: (one["costUsd"]["median"], one["makespanSeconds"]["median"]))
    assert found["recommended"] == cheapest["variant"]


def test_csv_has_a_line_for_each_run_which_is_the_run_alone(night, capsys):
    rows = list(csv.DictReader(io.StringIO(study(capsys, night(), "--output", "csv", status=1).out)))
    assert list(rows[0])[:6] == ["variant", "seed", NODES, "jobs.shot-1.priority", "makespanSeconds", "costUsd"]
    assert [(row["variant"], row["seed"]) for row in rows] == [(v, s) for v in "1234" for s in "123"]
    for row in (rows[2], rows[10]):
        main(["run", "night.yaml", "--variant", row["variant"], "--seed", row["seed"], "--output", "json"])
        summary = json.loads(capsys.readouterr().out)["summary"]
        assert float(row["costUsd"]) == summary["costUsd"]
        assert float(row["makespanSeconds"]) == summary["makespanSeconds"]
        assert int(row["failedTasks"]) == summary["tasks"]["failed"]


def test_the_table_says_in_words_what_to_take(night, capsys):
    out, err = study(capsys, night(), "--confidence", "0.3", "--vary", "timeline.0.rebootNode=null")
    assert err == ""
    assert "night: 4 variants, 3 seeds" in out
    last = out.splitlines()[-1]
    assert re.fullmatch(
        r"Variant \d \(.+\) is the cheapest that keeps all expectations in at least 30 % of its runs: "
        r"\d of 3 \(\d+–\d+%\), last task ends at \+00:\d\d:\d\d, \$0\.\d{2,4}\.",
        last,
    )
    assert re.search(r"^ *3 +3 +0 ", out, re.MULTILINE)


def test_if_no_variant_is_good_enough_the_nearest_is_named_and_the_status_is_one(night, capsys):
    out = study(capsys, night(), "--confidence", "1", status=1).out
    assert re.search(r"^No variant keeps all .* 100 % of its runs\. Variant \d .* comes nearest: ", out, re.MULTILINE)


def test_a_study_without_expectations_has_no_recommendation_and_status_zero(night, capsys):
    out = study(capsys, night(), "--vary", "expect.0=null", "--vary", "expect.1=null").out
    assert out.endswith("The scenario expects nothing, so no variant is recommended.\n")


def test_quiet_prints_nothing(night, capsys):
    assert study(capsys, night(), "--confidence", "0", "--quiet") == ("", "")


def test_measures_of_the_file_are_columns(night, capsys):
    name = night(STUDY + "  measure: [nodeHours, {jobId: shot-1, end}]\n")
    out = study(capsys, name, "--confidence", "0").out
    assert re.search(r"cost +node hours +shot-1 ends", out)


def test_the_list_has_a_line_for_each_variant(night, capsys):
    assert main(["study", night(), "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"1  {NODES}=1 jobs.shot-1.priority=0",
        f"2  {NODES}=1 jobs.shot-1.priority=5",
        f"3  {NODES}=3 jobs.shot-1.priority=0",
        f"4  {NODES}=3 jobs.shot-1.priority=5",
    ]


def test_a_run_ignores_the_study_of_the_file(night, capsys):
    for more in ("", STUDY):
        main(["run", night(more), "--events", "-", "--quiet"])
    first, second = capsys.readouterr().out.split('{"seq":1,')[1:]
    assert first == second


# --- what is wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "pools.rander.vmSize=a"], "--vary pools.rander.vmSize=a: no pool 'rander'"),
        (["--vary", f"{NODES}=4..1"], "write 1..4"),
        (["--vary", f"{NODES}=2,-1"], "is -1, must be 0 or more (InvalidPropertyValue) (variant 3: "),
        (["--seeds", "0"], "--seeds 0: at least one seed"),
        (["--seeds", "4..1"], "--seeds 4..1: '4..1' runs backwards: write 1..4"),
        (["--seeds", "many"], "must be a number of seeds"),
        (["--workers", "0"], "--workers"),
        (["--workers", "1", "--dask", "tcp://127.0.0.1:1"], "exclude each other"),
        (["--confidence", "95"], "--confidence"),
        (["--plot", "night.pdf"], "must end in .svg or .png"),
        (["--seeds", "30000"], "4 variants make 120,000 runs; --yes"),
        (["--results", "night.yaml"], "night.yaml:1:1: is not a result of a study"),
        (["--results", "nowhere/r.jsonl"], "cannot write nowhere/r.jsonl: the directory"),
        (["--results", "."], "cannot write .: it is not a file"),
        (["--output", "xml"], "'json', 'csv'"),
    ],
)
def test_wrong_input_is_answered_before_anything_is_run(arguments, message, night, capsys):
    assert main(["study", night(), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_check_finds_wrong_values_of_the_study(night, capsys):
    assert main(["check", night()]) == 0
    assert capsys.readouterr() == (
        "night.yaml: ok, 2 pools, 2 jobs, 14 tasks, 2 timeline entries, 2 expectations\n",
        "",
    )
    assert main(["check", night(STUDY.replace("[0, 5]", "[0, 5000, {file: nowhere.txt}]"))]) == 2
    assert "cannot read nowhere.txt" in capsys.readouterr().out
    assert main(["check", night(STUDY.replace("[0, 5]", "[0, 5000]"))]) == 2
    assert "(variant 2: pools.render.targetDedicatedNodes=1 jobs.shot-1.priority=5000)" in capsys.readouterr().out


def test_mistakes_of_all_options_are_printed_at_once(night, capsys):
    assert main(["study", night(), "--vary", "a=1", "--vary", "jobs.x.priority=1", "--seeds", "0"]) == 2
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == [
        "--seeds 0",
        "--vary a=1",
        "--vary jobs.x.priority=1",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--variant", "5"], "there is no variant 5, the last is 4"),
        (["--variant", "0"], "--variant"),
        (["--vary", f"{NODES}=1,2,3"], "makes 6 variants: choose one with --variant N"),
        (["--variant", "1", "--vary", "pools.rander.vmSize=a"], "did you mean 'render'?"),
        (["--variant", "1", "--vary", f"{NODES}=-1"], "must be 0 or more"),
    ],
)
def test_a_variant_that_is_not_there_is_refused(arguments, message, night, capsys):
    assert main(["run", night(), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_the_only_variant_needs_no_number(night, capsys):
    assert main(["run", night(""), "--vary", "timeline.0.rebootNode=null", "--events", "-", "--quiet"]) in (0, 1)
    assert "rebootNode" not in capsys.readouterr().out


# --- the plot


@pytest.mark.parametrize(("name", "beginning"), [("night.svg", b"<?xml"), ("night.PNG", b"\x89PNG\r\n")])
def test_the_plot_of_a_study_is_always_the_same_file(name, beginning, night, capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="needs batchdeck[plot]")
    found = []
    for _ in range(2):
        study(capsys, night(), "--plot", name, "--results", "r.jsonl", "--confidence", "0")
        found.append((tmp_path / name).read_bytes())
    assert found[0].startswith(beginning)
    assert found[0] == found[1]
    study(capsys, night(), "--plot", name, "--results", "r.jsonl", "--confidence", "1", status=1)
    assert (tmp_path / name).read_bytes() != found[0]
    assert not list(tmp_path.glob(".*partial"))


def test_a_plot_of_runs_without_results_is_empty_but_a_plot():
    pytest.importorskip("matplotlib", reason="needs batchdeck[plot]")
    from engine.studies.outcome import StudySummary
    from tui.cli.studying import drawn

    assert drawn(StudySummary("s", (1,), (), (), 0.95, True, None, None), "svg").startswith(b"<?xml")


def test_a_missing_extra_is_named_with_what_installs_it(night, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "tui.workers.dask", raising=False)  # another test may have imported it
    assert main(["study", night(), "--plot", "night.svg"]) == 2
    assert "matplotlib, which is not installed: pip install 'batchdeck[plot]'" in capsys.readouterr().err
    assert main(["study", "night.yaml", "--dask", "tcp://127.0.0.1:9"]) == 2
    assert "distributed, which is not installed: pip install 'batchdeck[dask]'" in capsys.readouterr().err


# --- the file of results


def lines_of(path):
    return sorted(path.read_text().splitlines())


def test_a_study_goes_on_where_the_file_ends(night, capsys, tmp_path):
    path = tmp_path / "r.jsonl"
    whole = study(capsys, night(), "--results", "r.jsonl", "--output", "json", status=1).out
    complete = lines_of(path)
    assert len(complete) == 12
    path.write_text("\n".join(complete[3:9]) + "\n" + complete[0][:100])
    assert study(capsys, "night.yaml", "--results", "r.jsonl", "--output", "json", status=1).out == whole
    assert lines_of(path) == complete
    before = path.stat().st_mtime_ns
    assert study(capsys, "night.yaml", "--results", "r.jsonl", "--output", "json", status=1).out == whole
    assert path.stat().st_mtime_ns == before
    more = json.loads(
        study(capsys, "night.yaml", "--results", "r.jsonl", "--seeds", "4", "--output", "json", status=1).out
    )
    assert {one["runs"] for one in more["variants"]} == {4}
    assert len(lines_of(path)) == 16


@pytest.mark.parametrize("change", ["# a note\n", "other factors"])
def test_results_of_another_study_are_left_alone(change, night, capsys, tmp_path):
    path = tmp_path / "r.jsonl"
    study(capsys, night(), "--results", "r.jsonl", "--seeds", "1", status=1)
    content = path.read_bytes()
    path.write_bytes(content[:-1])  # also what would be put right otherwise
    arguments = ["--vary", f"{NODES}=2,4"] if change == "other factors" else []
    night(STUDY + (change if not arguments else ""))
    assert main(["study", "night.yaml", "--results", "r.jsonl", *arguments]) == 2
    assert "name another file" in capsys.readouterr().err
    assert path.read_bytes() == content[:-1]


@posix_only
def test_a_file_to_which_another_study_adds_its_results_is_refused_and_left_alone(night, capsys, tmp_path):
    path = tmp_path / "r.jsonl"
    study(capsys, night(), "--results", "r.jsonl", "--seeds", "1", status=1)
    content = path.read_bytes()
    with path.open("rb") as other:
        assert not is_locked(other)
        assert study(capsys, "night.yaml", "--results", "r.jsonl", "--seeds", "2", status=2).out == ""
        assert main(["study", "night.yaml", "--results", "r.jsonl"]) == 2
        assert "r.jsonl: another study adds its results to it: wait for that one" in capsys.readouterr().err
    assert path.read_bytes() == content
    study(capsys, "night.yaml", "--results", "r.jsonl", "--seeds", "2", status=1)


@posix_only
def test_a_file_that_another_study_has_just_made_is_refused(night, tmp_path):
    path, same = tmp_path / "r.jsonl", planned(load_scenario(night()))
    with ResultsFile(path, same) as second, ResultsFile(path, same) as first:
        first.open()
        with pytest.raises(TargetError, match="another study"):
            second.open()


@posix_only
def test_a_full_disk_leaves_whole_lines(night, tmp_path):
    resource = pytest.importorskip("resource")
    before, path = resource.getrlimit(resource.RLIMIT_FSIZE), tmp_path / "r.jsonl"
    with ResultsFile(path, planned(load_scenario(night()))) as file:
        file.open()
        file.add(["one"])
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
        try:
            with pytest.raises(TargetError, match="File too large"):
                file.add(["two", "three"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "one\n"


# --- workers


def test_results_are_the_same_with_two_workers(night, capsys, tmp_path):
    one = study(capsys, night(), "--output", "json", "--results", "one.jsonl", status=1).out
    assert main(["study", "night.yaml", "--output", "json", "--results", "two.jsonl", "--workers", "2"]) == 1
    assert capsys.readouterr().out == one
    assert lines_of(tmp_path / "one.jsonl") == lines_of(tmp_path / "two.jsonl")


def processes():
    """The parent, the state and the command line of each process."""
    found = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = (line.split(None, 3) for line in found.stdout.splitlines())
    return {int(row[0]): (int(row[1]), *row[2:]) for row in rows}


def workers_of(process):
    """The processes that a study has begun to play its runs."""
    return [pid for pid, (parent, _, *what) in processes().items() if parent == process and "spawn_main" in str(what)]


def are_gone(pids):
    there = processes()
    return not any(pid in there and not there[pid][1].startswith("Z") for pid in pids)


def wait_for(condition, seconds=60):
    """What the condition returns, as soon as it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it has not come true")


TASKS, SEEDS, RUNS = 400, "24", 96  # for a study that takes a second or two


class Begun:
    """A study in a process of its own, of which some runs are done."""

    def __init__(self, directory):
        self.results = directory / "r.jsonl"
        self.arguments = ["study", "night.yaml", "--results", "r.jsonl", "--seeds", SEEDS, "--workers", "2"]
        self.process = subprocess.Popen(
            [*COMMAND, *self.arguments, "--output", "json"],
            cwd=directory,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.workers = []

    def __enter__(self):
        try:
            wait_for(lambda: self.results.exists() and self.results.read_text().count("\n") > 3)
            self.workers = workers_of(self.process.pid)
            assert len(self.workers) == 2
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The lines of the study that is begun, and what it prints, with one worker."""
    directory = tmp_path_factory.mktemp("reference")
    (directory / "night.yaml").write_text(with_tasks(TASKS) + STUDY)
    arguments = ["study", "night.yaml", "--results", "r.jsonl", "--seeds", SEEDS, "--workers", "1", "--output", "json"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        put_one_worker_here(patch)
        patch.chdir(directory)
        assert main(arguments) == 1
    return lines_of(directory / "r.jsonl"), out.getvalue()


@posix_only
def test_a_worker_that_is_killed_costs_no_result(night, tmp_path, reference):
    night(tasks=TASKS)
    with Begun(tmp_path) as begun:
        os.kill(begun.workers[0], signal.SIGKILL)
        out, err = begun.process.communicate(timeout=60)
        assert (err, begun.process.returncode) == ("", 1)
    assert (lines_of(begun.results), out) == reference


@posix_only
def test_a_study_that_was_killed_goes_on_and_its_workers_end_by_themselves(night, tmp_path, reference, capsys):
    night(tasks=TASKS)
    with Begun(tmp_path) as begun:
        os.kill(begun.process.pid, signal.SIGKILL)
        begun.process.wait()
        wait_for(lambda: are_gone(begun.workers))
    done = begun.results.read_text()
    assert 3 < done.count("\n") < RUNS
    assert main([*begun.arguments, "--output", "json"]) == 1
    assert begun.results.read_text().startswith(done[: done.rindex("\n") + 1])  # nothing is played twice
    assert (lines_of(begun.results), capsys.readouterr().out) == reference


@posix_only
@pytest.mark.parametrize(
    ("number", "to_group", "status"), [("SIGINT", True, 130), ("SIGINT", False, 130), ("SIGTERM", False, 143)]
)
def test_a_signal_ends_the_workers_and_keeps_what_is_done(number, to_group, status, night, tmp_path):
    night(tasks=TASKS)
    with Begun(tmp_path) as begun:
        (os.killpg if to_group else os.kill)(begun.process.pid, getattr(signal, number))
        out, err = begun.process.communicate(timeout=20)
        assert (out, begun.process.returncode) == ("", status)
        assert are_gone(begun.workers)
    done = len(lines_of(begun.results))
    assert err == f"\nInterrupted after {done} of {RUNS} runs; they are in r.jsonl, and the same command goes on.\n"


def test_workers_that_cannot_begin_end_the_study(capfd):
    with LocalWorkers(None, 1) as workers:
        for _ in range(2):
            assert workers.submit((Run(1, 1),)).exception(timeout=60) is not None
            workers.renew()
        assert workers.submit((Run(1, 1),)).exception(timeout=60) is not None
        with pytest.raises(WorkersLost, match="3 times in a row"):
            workers.renew()
    assert "AttributeError" in capfd.readouterr().err


def test_the_dashboard_opens_on_the_variant(night, monkeypatch):
    from tui.app import dashboard

    opened = []
    monkeypatch.setattr(dashboard, "show_dashboard", lambda simulation, **_: opened.append(simulation) or 0)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["open", night(), "--variant", "3", "--seed", "2"]) == 0
    assert (opened[0].seed, opened[0].scenario.pools[0].spec.target_dedicated_nodes) == (2, 3)
    assert main(["open", "night.yaml", "--variant", "3", "--serve"]) == 2
