"""Everything is done by hand: each command has an action, what was done is recorded, and it replays to the same log."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.specs.commands import COMMANDS, EnablePoolAutoScale, EvaluatePoolAutoScale
from engine.views.recording import recorded
from tests.tui.acting import commands_of
from tui.viewmodels.actions.menu import ACTION_TYPES, actions_for
from tui.viewmodels.pool_pages import ACCOUNT_ITEM
from tui.viewmodels.text import ItemRef

LATER_S = 600
ITEMS = {
    "account": [ACCOUNT_ITEM],
    "pool": [ItemRef("pool", name) for name in ("shared", "elastic", "classic")],
    "node": [ItemRef("node", number) for number in range(8)],
    "job": [ItemRef("job", "risk"), ItemRef("job", "paused")],
    "task": [ItemRef("task", number) for number in (20, 0)],
    "job schedule": [ItemRef("job schedule", name) for name in ("hourly", "stopped")],
}
# What is typed into forms that begin with what is there already, or with nothing.
TYPED = {
    "Edit shared": {"startTask.commandLine": "install", "startTask.simulate.duration": "90s"},
    "Edit risk": {"maxParallelTasks": "3"},
    "Edit deal-20": {"constraints.maxWallClockTime": "1h30m"},
    "Edit hourly": {"schedule.recurrenceInterval": "2h"},
    "Replace the properties of shared": {"startTask.commandLine": "install", "startTask.simulate.duration": "90s"},
    "Change an application": {"displayName": "Pricer", "defaultVersion": "1.1"},
    "Add tasks to risk": {"count": "150", "task.simulate.duration": "00:02:00"},
    "Change a user account of n0": {"sshPublicKey": "ssh-rsa BBBB", "password": ""},
    "Add a user account to n0": {"sshPublicKey": "ssh-rsa BBBB", "expiryTime": "2026-01-05T12:00:00Z"},
    "Fault: the account gets other quotas": {"pools": "5"},
}
KINDS = [(kind, number) for kind, types in ACTION_TYPES.items() for number in range(len(types))]


def replayed_log(simulation, path):
    path.write_text(recorded(simulation), encoding="utf-8")
    again = Simulation(load_scenario(str(path)))
    again.run_until(again.end_ms)
    return list(again.json_lines())


def possible(session, kind, number):
    """The action of this kind on the first item that can take it now."""
    pattern = ACTION_TYPES[kind][number].title
    for item in ITEMS[kind]:
        for action in actions_for(session, [item]):
            begin, end = pattern.split("{}") if "{}" in pattern else (pattern, "")
            is_it = action.command == ACTION_TYPES[kind][number].command and not action.unavailable
            if is_it and action.title.startswith(begin) and action.title.endswith(end):
                return action
    return None


def given_by_hand(action):
    """What the form, or the editor of formulas, gives for this action."""
    if action.type.opens_formula:
        body = {"poolId": action.bodies[0]["poolId"], "autoScaleFormula": "$TargetDedicatedNodes = 2;"}
        kind = EvaluatePoolAutoScale if action.command == "evaluatePoolAutoScale" else EnablePoolAutoScale
        return [kind.from_wire(body)]
    return commands_of(action, answers={**action.defaults, **TYPED.get(action.title, {})})


def test_every_command_of_the_engine_has_an_action():
    offered = {action.command for types in ACTION_TYPES.values() for action in types}
    assert set(COMMANDS) - offered == set()
    assert offered - set(COMMANDS) == set()


@pytest.mark.parametrize(("kind", "number"), KINDS, ids=[f"{kind}-{number}" for kind, number in KINDS])
def test_whatever_is_done_by_hand_is_taken_and_replays_to_the_same_log(session_at, kind, number, tmp_path):
    session = session_at(LATER_S, "everything")
    simulation = session.simulation
    if ACTION_TYPES[kind][number].command == "stopPoolResize":
        (resize,) = (each for each in actions_for(session, ITEMS["pool"][:1]) if each.command == "resizePool")
        simulation.submit_all(commands_of(resize, answers={**resize.defaults, "targetDedicatedNodes": "4"}))
        session.update()
    action = possible(session, kind, number)
    assert action is not None
    commands = given_by_hand(action)
    assert [error and (error.code, error.values) for error in simulation.submit_all(commands)] == [None] * len(commands)
    simulation.run_until(simulation.end_ms)
    assert list(simulation.json_lines()) == replayed_log(simulation, tmp_path / "session.yaml")
