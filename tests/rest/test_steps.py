"""Sessions of clients: with ``--step`` the log is a function of the requests, and a saved session replays to it."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime

import pytest

from engine import Simulation, load_scenario
from engine.rest.session import begin, saved
from tests.builders import a_job, a_line
from tests.rest.test_server import serving
from tests.rest.wire import Account

NOW = datetime(2026, 11, 22, 21, 30, 5, tzinfo=UTC)
STEP_MS = 10_000
IMAGE = {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"}
MACHINE = {"imageReference": IMAGE, "nodeAgentSKUId": "batch.node.ubuntu 22.04"}
POOL = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 3, "virtualMachineConfiguration": MACHINE}
JOB = {name: value for name, value in a_job("j", 0, prep=a_line(20), release=a_line(5)).items() if name != "tasks"}


def client_program(batch):
    """What a client does: it adds, waits, changes and breaks things, and some of what it asks is refused."""
    batch.post("/pools", POOL)
    batch.post("/jobs", JOB)
    tasks = [{"id": f"t{number}"} | a_line(90, exit_code=number % 3) for number in range(30)]
    assert batch.post("/jobs/j/addtaskcollection", {"value": tasks[::-1]}).status == 200
    partly = batch.post("/jobs/j/addtaskcollection", {"value": [tasks[0], {"id": "?"}, {"id": "new"} | a_line(5)]})
    assert [result["status"] for result in partly.json["value"]] == ["clienterror", "clienterror", "Success"]
    known = batch.post("/jobs/j/addtaskcollection", {"value": [tasks[0]]})
    assert known.json["value"][0]["error"]["code"] == "TaskExists"
    assert batch.put("/jobs/j/tasks/t7", {"constraints": {"maxTaskRetryCount": 2}}).status == 200
    assert batch.post("/jobs/nobody/terminate", {}).status == 404
    while batch.get("/jobs/j/tasks", _filter="state eq 'completed'", _select="id").ids == []:
        pass
    node = batch.get("/pools/p/nodes").ids[0]
    batch.post(f"/pools/p/nodes/{node}/reboot", {"nodeRebootOption": "terminate"})
    batch.post("/pools/p/resize", {"targetDedicatedNodes": 5})
    while len(batch.get("/jobs/j/tasks", _filter="state eq 'completed'", _select="id").ids) < 31:
        pass
    batch.post("/jobs/j/tasks/t1/reactivate")
    batch.delete("/jobs/j/tasks/new")
    batch.post("/jobs/j/terminate", {"terminateReason": "enough"})
    while batch.get("/jobs/j").json["state"] != "completed":
        pass
    batch.delete("/jobs/j")
    batch.delete("/pools/p")


def played(now=NOW):
    simulation = begin(None, now, seed=11)
    client_program(Account(simulation, step_ms=STEP_MS))
    return simulation


def test_with_a_step_the_same_requests_give_the_same_log():
    first, second = (list(played().json_lines()) for _ in range(2))
    assert len(first) > 100
    assert first == second


def test_a_client_that_reads_once_more_moves_time_by_one_step():
    simulation = begin(None, NOW)
    batch = Account(simulation, step_ms=STEP_MS)
    for _ in range(3):
        batch.get("/pools")
    batch.head("/pools/p")
    assert simulation.now_ms == 4 * STEP_MS
    batch.post("/pools", POOL)
    assert simulation.now_ms < 5 * STEP_MS


def test_the_first_look_after_a_change_finds_the_moment_of_the_change():
    """Clients expect to see a state that passes right after they have caused it."""
    batch = Account(begin(None, NOW), step_ms=60_000)
    batch.post("/pools", POOL)
    assert batch.get("/pools/p").json["allocationState"] == "resizing"
    while batch.get("/pools/p").json["allocationState"] != "steady":
        pass
    node = next(iter(batch.get("/pools/p/nodes", _filter="state eq 'idle'").ids), None)
    while node is None:
        node = next(iter(batch.get("/pools/p/nodes", _filter="state eq 'idle'").ids), None)
    batch.post(f"/pools/p/nodes/{node}/reboot")
    assert batch.get(f"/pools/p/nodes/{node}").json["state"] == "rebooting"


def test_a_look_that_finds_nothing_moves_time_too():
    simulation = begin(None, NOW)
    batch = Account(simulation, step_ms=STEP_MS)
    assert batch.get("/pools/nobody").status == 404
    assert simulation.now_ms == STEP_MS


@pytest.mark.parametrize("step_ms", [STEP_MS, None])
def test_the_first_request_finds_what_the_scenario_begins_with(step_ms):
    batch = Account(begin("job-prep-release-sample", NOW), step_ms=step_ms)
    assert len(batch.get("/pools").ids) == 1


def test_a_saved_session_replays_to_the_same_log_to_the_byte():
    simulation = played()
    text = saved(simulation)
    replay = Simulation(load_scenario("saved", text=text))
    replay.run_until(replay.end_ms)
    assert "\n".join(replay.json_lines()) == "\n".join(simulation.json_lines())
    assert replay.now_ms == simulation.now_ms
    assert saved(replay) == text


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("after_ms", [0, 30, 120, 30_000])
def test_a_server_that_is_killed_while_it_saves_leaves_no_file_or_a_whole_one(tmp_path, after_ms):
    """The last one waits until the file is there, since how long that takes depends on the machine."""
    save = tmp_path / "session.yaml"
    with serving("--port", "0", "--step", "PT1S", "--save", str(save)) as served:
        client = served.client
        client.create_job({"id": "j", "poolInfo": {"poolId": "p"}})
        tasks = [{"id": f"t{number}", "commandLine": "work " + "x" * 2000} for number in range(400)]
        client.create_tasks("j", tasks)
        served.process.send_signal(signal.SIGTERM)
        end_s = time.monotonic() + after_ms / 1000
        while time.monotonic() < end_s and not save.exists():
            time.sleep(0.001)
        served.process.kill()
        served.process.wait()
    assert [path.name for path in tmp_path.iterdir() if path != save and not path.name.startswith(".")] == []
    assert save.exists() or after_ms < 30_000
    if save.exists():
        replay = Simulation(load_scenario(str(save)))
        replay.run_until(replay.end_ms)
        assert replay.world.tasks.length == 400
