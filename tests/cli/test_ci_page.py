"""The snippets of the page about CI: services can read them, and their commands are carried out in a shell."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from packaging.requirements import Requirement

from tui import __version__
from tui.cli import testing
from tui.cli.commands import cli, main

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "tui" / "cli" / "CI.md").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"<!-- ci: (\S+) -->\n```\w+\n(.*?)```", TEXT, re.DOTALL))
GOOD = re.findall(
    r"<!-- example: first.yaml -->\n```yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
)[0]
CALLS = "calls.txt"
BAD = GOOD.replace("completed: 60", "completed: 61")
needs_test = pytest.mark.skipif("test" not in cli.commands, reason="batchdeck test is not there yet")


def yaml_of(name):
    return yaml.safe_load(SNIPPETS[name])


def github():
    workflow = yaml_of("github")
    (job,) = workflow["jobs"].values()
    assert {"name", "jobs"} <= set(workflow)  # YAML 1.1 reads the key `on` as true
    assert all(("run" in step) != ("uses" in step) for step in job["steps"])
    return [step["run"] for step in job["steps"] if "run" in step]


def azure():
    pipeline = yaml_of("azure")
    assert all(("script" in step) != ("task" in step) for step in pipeline["steps"])
    return [step["script"] for step in pipeline["steps"] if "script" in step]


def gitlab():
    (job,) = yaml_of("gitlab").values()
    assert job["artifacts"]["reports"]["junit"] == "scenarios.xml"
    return job["script"]


def shell():
    return SNIPPETS["shell"].splitlines()


def pre_commit():
    """As pre-commit calls a hook: with the names of changed files that match."""
    (repo,) = yaml_of("pre-commit")["repos"]
    assert repo["repo"] == "local"
    for hook in repo["hooks"]:
        assert hook["language"] == "python"
        assert re.search(hook["files"], "scenarios/first.yaml")
        assert not re.search(hook["files"], "pipelines/scenarios/first.yaml")
    installs = [f'pip install "{each}"' for hook in repo["hooks"] for each in hook["additional_dependencies"]]
    return installs + [f"{hook['entry']} scenarios/first.yaml" for hook in repo["hooks"]]


LINES = {"github": github, "azure": azure, "gitlab": gitlab, "shell": shell, "pre-commit": pre_commit}


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone of somebody's repository, with `python3` and `pip` that install nothing.

    Its `batchdeck` notes its arguments, and ends with the status that the variable `check` or `test` has, else with 0.
    """
    notes = f'for each; do printf "%s\\0" "$each"; done >> {CALLS}; echo >> {CALLS}; eval "exit \\${{$1:-0}}"'
    notes = f"#!/bin/sh\n{notes}\n"
    programs = {"bin/batchdeck": notes, ".venv/bin/batchdeck": notes}
    programs |= dict.fromkeys(("bin/pip", "bin/python3", ".venv/bin/pip"), "#!/bin/sh\n")
    for name, text in programs.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "scenarios").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(testing, "processors", lambda: 1)  # a worker, which plays here
    return tmp_path


def carry_out(lines):
    """Return the status of the first line that fails, as a service stops there; 0 if none does.

    The shell finds the calls of `batchdeck` in the lines. They are carried out here, and then the shell gets what
    came of them.
    """
    script = ["bash", "-ec", "\n".join(lines)]
    Path(CALLS).write_text("")
    subprocess.run(script, stdin=subprocess.DEVNULL, check=True)
    calls = [call.split("\0")[:-1] for call in Path(CALLS).read_text().splitlines()]
    assert calls
    statuses = {call[0]: str(main(call)) for call in calls}
    return subprocess.run(script, env=os.environ | statuses, stdin=subprocess.DEVNULL, check=False).returncode


def test_each_snippet_is_tested():
    assert set(SNIPPETS) == set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_a_snippet_installs_a_version_like_this_one(name):
    (asked,) = {asked for line in LINES[name]() for asked in re.findall(r'pip install "(.+)"', line)}
    assert Requirement(asked).name == "batchdeck"
    assert Requirement(asked).specifier.contains(__version__)


@needs_test
@pytest.mark.parametrize("name", LINES)
def test_a_snippet_ends_well_with_a_scenario_that_holds(name, clone):
    (clone / "scenarios" / "first.yaml").write_text(GOOD)
    assert carry_out(LINES[name]()) == 0
    if name != "pre-commit":
        assert ElementTree.parse(clone / "scenarios.xml").findall(".//testcase")


@needs_test
@pytest.mark.parametrize("name", LINES)
def test_a_snippet_fails_with_a_scenario_that_does_not_hold(name, clone):
    (clone / "scenarios" / "first.yaml").write_text(BAD)
    assert carry_out(LINES[name]()) == 1
    if name != "pre-commit":
        assert ElementTree.parse(clone / "scenarios.xml").findall(".//failure")


@needs_test
def test_the_statuses_of_the_page_are_those_of_the_command(clone):
    assert carry_out(["batchdeck test scenarios"]) == 5
    (clone / "scenarios" / "wrong.yaml").write_text("scenario: wrong\npool: []\n")
    assert carry_out(["batchdeck test scenarios"]) == 2
