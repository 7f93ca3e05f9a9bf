"""Secrets of a command stay out of the log, of saved sessions and of refusals (GEN-23)."""

from __future__ import annotations

import json

from engine import Simulation, load_scenario
from engine.rest.session import begin, saved
from engine.specs.base import MASK
from engine.specs.commands import COMMANDS, CreateNodeUser
from tests.builders import a_pool
from tests.rest.test_account import CERTIFICATE
from tests.rest.test_files import WINDOWS
from tests.rest.test_steps import MACHINE
from tests.rest.wire import Account

SECRET = "Hush-7-hush"
ACCOUNTS = [{"name": "ann", "password": SECRET, "linuxUserConfiguration": {"sshPrivateKey": SECRET}}]
MONITOR = {"name": "Monitor", "publisher": "P", "type": "T", "protectedSettings": {"key": SECRET}}
LINUX = MACHINE | {"extensions": [MONITOR]}


def session():
    """Return a session in which clients have sent secrets in each way there is."""
    simulation = begin(None, None, seed=3)
    batch = Account(simulation, step_ms=60_000)
    assert batch.post("/pools", a_pool("p", 1, virtualMachineConfiguration=LINUX, userAccounts=ACCOUNTS)).status == 201
    assert batch.post("/pools", a_pool("w", 1, virtualMachineConfiguration=WINDOWS)).status == 201
    assert batch.post("/certificates", CERTIFICATE | {"data": SECRET, "password": SECRET}).status == 201
    for pool in ("p", "w"):
        while not batch.get(f"/pools/{pool}/nodes", _filter="state eq 'idle'").ids:
            pass
        users = f"/pools/{pool}/nodes/{batch.get(f'/pools/{pool}/nodes').ids[0]}/users"
        assert batch.post(users, {"name": "bob", "password": SECRET}).status == 201
        assert batch.put(f"{users}/bob", {"password": SECRET}).status == 200
        assert batch.post(users, {"name": "bob", "password": SECRET}).code == "NodeUserExists"
    assert batch.post(users, {"name": "eve"}).code == "MissingRequiredProperty"
    cer = CERTIFICATE | {"thumbprint": "f" * 40, "certificateFormat": "cer", "password": SECRET}
    assert batch.post("/certificates", cer).code == "InvalidPropertyValue"
    return simulation


def test_gen_23_the_log_and_a_saved_session_have_no_secrets_and_it_replays_to_the_same_log():
    simulation = session()
    lines, text = list(simulation.json_lines()), saved(simulation)
    assert not [line for line in lines if SECRET in line]
    assert SECRET not in text
    bodies = [event["body"] for event in map(json.loads, lines) if event.get("command") == "createNodeUser"]
    assert [body.get("password") for body in bodies] == [MASK, MASK, MASK, MASK, None]
    replay = Simulation(load_scenario("saved", text=text))
    replay.run_until(replay.end_ms)
    assert list(replay.json_lines()) == lines


def test_gen_23_an_empty_secret_and_none_stay_what_they_are():
    node = {"poolId": "p", "node": 0, "name": "ann"}
    for given in ({}, {"password": ""}):
        command = COMMANDS["createNodeUser"].from_wire(node | given)
        assert isinstance(command, CreateNodeUser)
        assert command.masked() == command.wire() == node | given
