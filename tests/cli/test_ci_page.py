"""The snippets of the page about CI: services can read them, and their commands are carried out in a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from packaging.requirements import Requirement

from tui import __version__
from tui.cli.commands import cli

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "tui" / "cli" / "CI.md").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"<!-- ci: (\S+) -->\n```\w+\n(.*?)```", TEXT, re.DOTALL))
GOOD = re.findall(
    r"<!-- example: first.yaml -->\n```yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
)[0]
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
    """A clone of somebody's repository, with `python3`, `pip` and `batchdeck` that install nothing."""
    own = f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tui "$@"\n'
    programs = {"bin/batchdeck": own, ".venv/bin/batchdeck": own}
    programs |= dict.fromkeys(("bin/pip", "bin/python3", ".venv/bin/pip"), "#!/bin/sh\n")
    for name, text in programs.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "scenarios").mkdir()
    return tmp_path


def carry_out(lines, folder):
    """Return the status of the first line that fails, as a service stops there; 0 if none does."""
    script = "\n".join(["set -e", *lines])
    return subprocess.run(["bash", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, check=False).returncode


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
    assert carry_out(LINES[name](), clone) == 0
    if name != "pre-commit":
        assert ElementTree.parse(clone / "scenarios.xml").findall(".//testcase")


@needs_test
@pytest.mark.parametrize("name", LINES)
def test_a_snippet_fails_with_a_scenario_that_does_not_hold(name, clone):
    (clone / "scenarios" / "first.yaml").write_text(BAD)
    assert carry_out(LINES[name](), clone) == 1
    if name != "pre-commit":
        assert ElementTree.parse(clone / "scenarios.xml").findall(".//failure")


@needs_test
def test_the_statuses_of_the_page_are_those_of_the_command(clone):
    assert carry_out(["batchdeck test scenarios"], clone) == 5
    (clone / "scenarios" / "wrong.yaml").write_text("scenario: wrong\npool: []\n")
    assert carry_out(["batchdeck test scenarios"], clone) == 2
