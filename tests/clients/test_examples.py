"""The examples, each with the client that it is for. What they did replays to the same events."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine import Simulation, load_scenario
from tests.clients import environments
from tests.clients.served import AZ, needs, serving

EXAMPLES = Path(__file__).with_name("examples")
DEALS = [f"deal-{number}" for number in range(1, 5)]
COMMANDS = ["createPool", "createJob", "addTasks", "terminateJob", "deleteJob", "deletePool"]
ONE_BY_ONE = [*COMMANDS[:2], *["addTasks"] * 4, *COMMANDS[3:]]
PREPARED = "prepared with success, released with success"


@contextmanager
def session(directory, commands, *options):
    """Serve an account and save the session, which then replays and consists of these commands."""
    saved = directory / "session.yaml"
    with serving(directory, "--save", str(saved), *options) as served:
        yield served
    replay = Simulation(load_scenario(str(saved)))
    replay.run_until(replay.end_ms)
    replay.finish()
    log = [json.loads(line) for line in replay.json_lines()]
    found = [event["command"] for event in log if event["event"] == "CommandAccepted"]
    assert replay.refusals == []
    assert found == commands


@pytest.mark.parametrize("version", [pytest.param(number, marks=needs(f"python-{number}")) for number in (15, 14)])
def test_the_example_for_python(tmp_path, version):
    with session(tmp_path, COMMANDS) as served:
        said = served.run(environments.program(f"python-{version}", "python"), EXAMPLES / f"job_{version}.py")
    lines = said.splitlines()
    assert sorted(lines[:4]) == [f"{deal} ended with 0: price {number}" for number, deal in enumerate(DEALS, 1)]
    assert lines[4:]
    assert all(line.endswith(PREPARED) for line in lines[4:])


@needs("javascript")
def test_the_example_for_javascript(tmp_path):
    shutil.copy(EXAMPLES / "job.mjs", tmp_path)  # Node looks for packages beside the file
    (tmp_path / "node_modules").symlink_to(environments.place_of("javascript") / "node_modules")
    with session(tmp_path, COMMANDS) as served:
        lines = served.run("node", "job.mjs").splitlines()
    assert sorted(lines[:4]) == [f"{deal} ended with 0" for deal in DEALS]
    assert lines[4:]
    assert all(line.endswith(PREPARED) for line in lines[4:])


@needs("az")
def test_the_example_for_the_azure_cli(tmp_path):
    path = f"{environments.program('az', 'az').parent}{os.pathsep}{os.environ['PATH']}"
    with session(tmp_path, ONE_BY_ONE) as served:
        said = served.run("sh", EXAMPLES / "az.sh", PATH=path, **AZ, **served.az_home())
    rows = [line.split() for line in said.splitlines()]
    assert [row[0] for row in rows if row[1:] == ["completed", "0"]] == DEALS
    assert any(row[1:] == ["success", "success"] for row in rows)


@needs("airflow")
def test_the_example_for_airflow(tmp_path):
    """The operator looks every ten seconds, hence the speed."""
    python, commands = environments.program("airflow", "python"), [*COMMANDS[:3], *COMMANDS[-2:]]
    with session(tmp_path, commands, "--speed", "600") as served:
        said = served.run(python, EXAMPLES / "airflow_dag.py", AIRFLOW_HOME=str(tmp_path))
    assert said.splitlines()[-1] == "the operator has ended without an error"


@needs("login")
def test_the_example_with_a_login_and_the_management_plane(tmp_path):
    saved = tmp_path / "session.yaml"
    program = [str(environments.program("login", "python")), str(EXAMPLES / "login.py")]
    serve = [
        sys.executable,
        "-m",
        "tui",
        "serve",
        "--proxy",
        "0",
        "--speed",
        "600",
        "--save",
        str(saved),
        "--run",
        "--",
    ]
    done = subprocess.run([*serve, *program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["shared is resizing", "[('shared', 2)]", "[]"]
    assert [entry.command.NAME for entry in load_scenario(str(saved)).timeline] == ["createPool", "deletePool"]


@pytest.mark.parametrize("example", sorted(EXAMPLES.iterdir()), ids=lambda example: example.name)
def test_an_example_is_short_and_says_how_to_install_its_client(example: Path):
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert "pip install" in text or "npm install" in text
    assert "batchdeck serve" in text
