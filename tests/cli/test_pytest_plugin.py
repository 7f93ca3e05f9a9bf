"""The plugin of pytest: which scenarios it collects, and what their failures say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from engine import cases
from tests.cli.test_testing import BREAKS, HOLDS, WRONG, risk

ROOT = Path(__file__).parents[2]


# Each call of pytest in a process of its own, forked from one that has loaded what they all need.
FORKS = """
import json, os, sys
from pathlib import Path
import pytest
from engine import cases, load_scenario

cases.judged(load_scenario("scen/good.yaml"), 0)
for ini, options in json.loads(sys.argv[1]):
    Path("pytest.ini").write_text(ini)
    if os.fork() == 0:
        sys.exit(pytest.main(options))
    os.wait()
    print(sys.argv[2], flush=True)
"""
BETWEEN = "-- the end of a call --"


@pytest.fixture
def folder(tmp_path):
    """A folder with scenarios, other YAML files and a test."""
    for path, text in {
        "test_mine.py": "def test_mine():\n    pass\n",
        "scen/good.yaml": risk(name="good"),
        "scen/deep/bad.yml": risk(HOLDS, BREAKS, name="bad"),
        "scen/config.yaml": "x: 1\n",
        "scen/notes.md": "scenario: none\n",
        "other/wrong.json": '{"scenario": "wrong", "pool": []}',
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.fixture
def collected(folder):
    """Runs pytest in the folder with these options, and an ini file; returns the last line and all that it said."""

    def run(*options, ini=""):
        (folder / "pytest.ini").write_text(f"[pytest]\n{ini}")
        return outcome(python(folder, "-m", "pytest", *PLUGINS, *options))

    return run


@pytest.fixture
def all_collected(folder):
    """Returns the same of several calls, each of which is an ini file and options."""

    def run(*calls):
        given = [(f"[pytest]\n{ini}", [*PLUGINS, *options]) for ini, *options in calls]
        said = python(folder, "-c", FORKS, json.dumps(given), BETWEEN).split(f"{BETWEEN}\n")
        assert said.pop() == ""
        return [outcome(each) for each in said]

    return run


PLUGINS = ("-p", "engine.rest.pytest_plugin", "-p", "no:cacheprovider", "--strict-config", "-q")


def python(folder, *call):
    """Return all that a process of Python has said."""
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    environment["PYTEST_DEBUG_TEMPROOT"] = str(folder)  # elsewhere it would clear up what other sessions have left
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run([sys.executable, *call], cwd=folder, env=environment, text=True, check=False, **streams)
    return done.stdout


def outcome(said):
    (last,) = re.findall(r"^(.+) in [\d.]+s$", said, re.MULTILINE)[-1:]
    return last, said


def test_scenarios_are_collected_by_the_option_alone(all_collected):
    plain, (last, said), one, of_folder, chosen, other = all_collected(
        [""],
        ["", "--scenarios", "-rA"],
        ["", "--scenarios", "scen/good.yaml"],
        ["testpaths = scen", "--scenarios"],
        ["", "--scenarios", "-k", "active"],
        ["", "--scenarios", "scen/config.yaml"],
    )
    assert plain[0] == "1 passed"
    assert last == "1 failed, 5 passed, 1 error"
    assert "PASSED scen/good.yaml::{jobId: j, state: completed}" in said
    assert f"PASSED scen/good.yaml::{cases.REFUSALS}" in said
    assert "FAILED scen/deep/bad.yml::{jobId: j, state: active}" in said
    assert f"ERROR other/wrong.json::{cases.VALID}" in said
    assert one[0] == "2 passed"
    assert of_folder[0] == "1 failed, 4 passed"
    assert chosen[0] == "1 failed, 6 deselected"
    assert "ERROR: not found: " in other[1]


def test_a_scenario_is_loaded_once(collected, folder):
    (folder / "conftest.py").write_text(
        textwrap.dedent(
            """
            from engine.scenario import load

            read = load.read_source

            def noted(name):
                with open("read.txt", "a") as file:
                    print(name, file=file)
                return read(name)

            load.read_source = noted
            """
        )
    )
    assert collected("--scenarios", "scen")[0] == "1 failed, 4 passed"
    read = [Path(line).name for line in (folder / "read.txt").read_text().splitlines()]
    assert sorted(read) == ["bad.yml", "good.yaml"]


def test_a_failure_shows_what_was_expected_and_seen_without_a_traceback(collected):
    said = collected("--scenarios")[1]
    assert "scen/deep/bad.yml:10:5: job j at the end: state completed instead of active\n" in said
    assert "  expected: {jobId: j, state: active}\n  seen:     {state: completed}\n  seed:     0\n" in said
    assert "wrong.json:1:23: pool: " in said
    for word in ("Traceback", "pytest_plugin.py", "raise ", "> "):
        assert word not in said


def test_the_ini_key_works_alone(all_collected):
    wanted = {
        "batchdeck_scenarios = scen/*.yaml": "3 passed",
        "batchdeck_scenarios = scen/*.yaml scen/**/*.yml": "1 failed, 5 passed",
        "batchdeck_scenarios =\n    scen/*.yaml\n    ./other/*.json\n": "3 passed, 1 error",
        "batchdeck_scenarios = scen": "1 failed, 5 passed",
        "batchdeck_scenarios = none/*.yaml": "1 passed",
        "batchdeck_scenarios = scen/**\ntestpaths = test_mine.py": "1 failed, 5 passed",
    }
    found = all_collected(*([ini] for ini in wanted))
    assert {ini: last for ini, (last, _) in zip(wanted, found, strict=True)} == wanted


def test_reports_and_workers_of_pytest_know_scenarios(collected, folder):
    ini = "batchdeck_scenarios = scen/**/*.y*ml\ntestpaths = test_mine.py"
    assert collected("-p", "xdist", "-n", "2", "--junitxml", "r.xml", ini=ini)[0] == "1 failed, 5 passed"
    found = {each.attrib["name"]: each for each in ET.parse(folder / "r.xml").iter("testcase")}
    assert "seen:     {state: completed}" in found["{jobId: j, state: active}"].find("failure").text
    assert cases.REFUSALS in found


def test_whoever_has_no_scenarios_does_not_import_the_simulator(collected, folder):
    (folder / "test_mine.py").write_text(
        "import sys\n\ndef test_mine():\n"
        "    assert [name for name in sys.modules if name.startswith(('engine.', 'pydantic', 'yaml'))] == "
        "['engine.rest', 'engine.rest.pytest_plugin']\n"
    )
    assert collected("test_mine.py", "scen")[0] == "1 passed"


def test_a_scenario_that_becomes_wrong_after_it_was_collected_fails(collected, folder):
    (folder / "conftest.py").write_text(
        f"def pytest_collection_finish():\n    open('scen/good.yaml', 'w').write({WRONG!r})\n"
    )
    assert collected("--scenarios", "scen/good.yaml")[0] == "2 errors"
