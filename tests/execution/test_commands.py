"""``--execute`` on the command line: what is refused, what is written, and what tasks can ask of the server."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.builders import TIMINGS, a_job, a_pool
from tests.command import batchdeck
from tui.cli.commands import main

PROCESS = ("--execute", "--sandbox", "process")


@pytest.fixture
def scenario(tmp_path):
    """A scenario whose task writes a line."""
    task = {"id": "t", "commandLine": "/bin/sh -c 'echo hello; echo $AZ_BATCH_TASK_ID > r.txt'"}
    document = {
        "scenario": "real",
        "pools": [a_pool()],
        "jobs": [a_job("j", [task], onAllTasksComplete="terminateJob")],
        "simulate": {"nodes": TIMINGS},
    }
    path = tmp_path / "real.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def here(capsys):
    """Run the command in this process; return its status and what it has printed."""

    def run(*arguments):
        status = main(arguments)
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return run


def test_a_recording_replays_to_the_same_log_and_loads_nothing_that_executes(scenario, tmp_path):
    seen, real, played = (str(tmp_path / name) for name in ("seen.yaml", "real.jsonl", "played.jsonl"))
    run = batchdeck(
        "run", str(scenario), *PROCESS, "--record", seen, "--events", real, "--nodes", str(tmp_path / "nodes")
    )
    assert run.returncode == 0, run.stderr
    assert f"in {tmp_path / 'nodes'}, sandbox process" in run.stderr
    (written,) = (tmp_path / "nodes").glob("p/*/workitems/j/job-1/t/wd/r.txt")
    assert written.read_text() == "t\n"
    again = batchdeck("run", seen, "-q", "--events", played)
    assert (again.returncode, again.stderr) == (0, "")
    assert Path(played).read_text() == Path(real).read_text().replace(',"executed":true', "")
    (task,) = yaml.safe_load(Path(seen).read_text())["jobs"][0]["tasks"]
    assert task["simulate"].keys() == {"duration", "exitCode", "stdout", "writes"}
    assert (task["simulate"]["stdout"], task["simulate"]["writes"]) == ("hello\n", {"r.txt": 2})


def test_a_recording_that_lacks_something_is_a_warning(here, scenario, tmp_path):
    document = yaml.safe_load(scenario.read_text())
    manager = {"id": "m", "commandLine": "/bin/sh -c 'date +%N'"}
    body = {"poolInfo": {"poolId": "p"}, "onAllTasksComplete": "terminateJob", "jobManagerTask": manager}
    schedule = {"id": "s", "schedule": {"recurrenceInterval": "PT1H"}, "jobSpecification": body}
    scenario.write_text(yaml.safe_dump(document | {"jobSchedules": [schedule], "until": "PT1H30M"}))
    run = here("run", "-q", str(scenario), *PROCESS, "--record", str(tmp_path / "seen.yaml"))
    assert run.returncode == 0
    told = "Programs that are not recorded here, and so are simulated otherwise: task s:job-2/m\n"
    assert run.stderr == f"warning: {tmp_path / 'seen.yaml'}: {told}"
    assert (tmp_path / "seen.yaml").read_text().startswith(f"# {told}")
    assert here("check", "--strict", str(tmp_path / "seen.yaml")).returncode == 0


def test_administrators_that_are_denied_are_a_warning(here, scenario):
    document = yaml.safe_load(scenario.read_text())
    elevated = {"userIdentity": {"autoUser": {"elevationLevel": "admin"}}}
    document["jobs"][0]["tasks"].append({"id": "u", "commandLine": "true"} | elevated)
    scenario.write_text(yaml.safe_dump(document))
    run = here("run", "-q", str(scenario), *PROCESS)
    told = "programs of administrators ran without their rights, such as j/u: give --allow-elevated"
    assert (run.returncode, run.stderr) == (0, f"warning: {told}, and not --sandbox process\n")


def test_folders_are_deleted_unless_they_were_asked_for(here, scenario):
    run = here("run", str(scenario), *PROCESS)
    folder = run.stderr.partition(" in ")[2].partition(",")[0]
    assert folder
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "x.yaml", "--nodes", "d"], "--nodes needs --execute"),
        (["run", "x.yaml", "--pass", "HOME"], "--pass needs --execute"),
        (["serve", "--execute", "--host", "0.0.0.0"], "exclude each other"),
        (["serve", "--execute", "--any-key"], "exclude each other"),
        (["serve", "--execute", "--step", "PT1S"], "exclude each other"),
        (["run", "x.yaml", "--execute", "--image", "ubuntu"], "--image needs --sandbox container"),
        (["run", "x.yaml", "--execute", "--scale", "0"], "must be a number above 0"),
        (["run", "x.yaml", "--execute", "--allow-files", "/no/such"], "there is no folder"),
        (["run", "x.yaml", "--execute", "--pass", "NAME=value"], "'NAME=value' is no name: export the variable"),
        (["run", "x.yaml", "--execute", "--pass", ""], "'' is no name: export the variable"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_runs(here, arguments, message):
    run = here(*arguments)
    assert run.returncode == 2
    assert message in " ".join(run.stderr.split())


@pytest.mark.parametrize("nodes", ["real.yaml", "real.yaml/below", "/proc/nodes"])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(here, scenario, nodes):
    seen = scenario.parent / "seen.yaml"
    run = here("run", str(scenario), *PROCESS, "--nodes", str(scenario.parent / nodes), "--record", str(seen))
    assert run.returncode == 2, run.stderr
    assert f"cannot write {scenario.parent / nodes}: " in run.stderr
    assert (run.stdout, seen.exists()) == ("", False)


def test_two_commands_do_not_share_a_folder(here, scenario, tmp_path):
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    held = os.open(nodes, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)  # as the other command does
    run = here("run", str(scenario), *PROCESS, "--nodes", str(nodes))
    os.close(held)
    assert run.returncode == 2
    assert f"cannot write {nodes}: the programs of another batchdeck run there" in run.stderr
    assert not list(nodes.iterdir())
    assert here("run", str(scenario), *PROCESS, "--nodes", str(nodes)).returncode == 0


def test_a_node_begins_with_an_empty_disk(here, scenario, tmp_path):
    nodes = tmp_path / "nodes"
    for _ in range(2):
        run = here("run", str(scenario), *PROCESS, "--nodes", str(nodes))
        assert run.returncode == 0, run.stderr
        (node,) = nodes.glob("p/*")
        left = node / "shared/left"
        assert not left.exists()
        left.write_text("of an earlier run")
        (nodes / "mine").write_text("of the user")
    assert (nodes / "mine").exists()


def test_a_sandbox_that_cannot_be_had_is_status_1(here, scenario, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    run = here("run", str(scenario), "--execute", "--sandbox", "bubblewrap", "--record", str(scenario.parent / "seen"))
    assert run.returncode == 1
    assert run.stderr.startswith("nothing was run: ")
    assert not (scenario.parent / "seen").exists()


MANAGER = """
import json, os, urllib.error, urllib.request
def post(path, body):
    request = urllib.request.Request(
        os.environ["AZ_BATCH_ACCOUNT_URL"] + path + "?api-version=2024-07-01.20.0", json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["AZ_BATCH_AUTHENTICATION_TOKEN"],
         "Content-Type": "application/json; odata=minimalmetadata"})
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code
task = {"id": "made", "commandLine": "/bin/sh -c 'echo made'"}
print(os.environ["AZ_BATCH_ACCOUNT_URL"].partition(":")[0])
print(post("/jobs/j/tasks", task), post("/jobs/other/tasks", task), post("/pools", {"id": "x"}))
"""
CLIENT = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from engine.rest.service import signature
from engine.rest.messages import Request
import email.utils, json, urllib.request
def get(path):
    url, key, account = (os.environ["AZURE_BATCH_" + name] for name in ("ENDPOINT", "ACCESS_KEY", "ACCOUNT"))
    query = "api-version=2024-07-01.20.0"
    headers = {"ocp-date": email.utils.formatdate(usegmt=True)}
    signed = signature(Request("GET", path, query, headers, b""), account, key)
    headers["Authorization"] = f"SharedKey {account}:{signed}"
    request = urllib.request.Request(f"{url}{path}?{query}", headers=headers)
    return urllib.request.urlopen(request).read()
for _ in range(600):
    tasks = json.loads(get("/jobs/j/tasks"))["value"]
    if len(tasks) == 2 and all(task["state"] == "completed" for task in tasks):
        break
    time.sleep(0.1)
print(get("/jobs/j/tasks/manager/files/stdout.txt").decode(), get("/jobs/j/tasks/made/files/stdout.txt").decode())
"""


@pytest.mark.parametrize("way", [[], ["--tls"], ["--proxy", "0"]])
def test_a_job_manager_adds_tasks_with_a_token_that_opens_its_own_job_alone(here, tmp_path, way):
    (tmp_path / "manager.py").write_text(MANAGER)
    (tmp_path / "client.py").write_text(CLIENT)
    manager = {
        "id": "manager",
        "commandLine": f"{sys.executable} {tmp_path / 'manager.py'}",
        "authenticationTokenSettings": {"access": ["job"]},
        "killJobOnCompletion": False,
    }
    job = a_job("j", [], jobManagerTask=manager)
    document = {"scenario": "manager", "pools": [a_pool()], "jobs": [job], "simulate": {"nodes": TIMINGS}}
    path = tmp_path / "manager.json"
    path.write_text(json.dumps(document))
    root = str(Path(__file__).parents[2])
    run = batchdeck(
        *(
            "serve",
            str(path),
            *PROCESS,
            "--port",
            "0",
            "--speed",
            "600",
            "-q",
            *way,
            "--save",
            str(tmp_path / "saved.yaml"),
        ),
        *("--run", "--", sys.executable, str(tmp_path / "client.py"), root),
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["https" if way else "http", "201", "403", "403", "made"]
    assert here("run", "-q", str(tmp_path / "saved.yaml")).returncode == 0
