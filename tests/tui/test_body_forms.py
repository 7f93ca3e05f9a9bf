"""The form of a body: text as the service or a template has it, the mistakes in it, and what comes of it."""

from __future__ import annotations

import json

import pytest
from textual.widgets import TextArea

from tests.tui.driving import drive, edit, look, typed
from tests.tui.screen_text import contains, messages_of
from tui.dialogs.action_form import ActionForm
from tui.viewmodels.actions.menu import action_for_new

LATER_S = 330


def typed_body(action, text):
    return action.read_body(text)


def test_a_form_and_its_body_keep_what_was_typed_in_the_other(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(
        app,
        *("2", "ctrl+n", "down", "down", "down", "end", *typed("0")),  # twenty nodes
        *("ctrl+t", look(seen)),
        edit(
            "id: mine  # by hand\nvmSize: standard_d4s_v3\ntargetDedicatedNodes: 3\nmetadata: [{name: a, value: b}]\n"
        ),
        *("ctrl+t", look(seen), "ctrl+t", look(seen)),
        *("ctrl+t", "end", *typed("-2"), "ctrl+t", look(seen), "ctrl+s"),
    )
    assert contains(seen[0], "targetDedicatedNodes: 20")
    assert contains(seen[1], "mine", "standard_d4s_v3")
    assert contains(seen[2], "id: mine  # by hand", "metadata: [{name: a, value: b}]")
    assert contains(seen[3], "id: mine-2", "metadata:")
    assert app.session.pool("mine-2").target_dedicated == 3


def test_mistakes_in_a_body_are_told_all_at_once_with_line_column_and_nearest_name(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    body = "id: mine\nvmSise: standard_d4s_v3\ntargetDedicatedNodes: many\nstartTask:\n  comandLine: hi\n"
    drive(
        app,
        *("2", "ctrl+n", "ctrl+t"),
        edit(body),
        look(seen),
        "ctrl+g",
        lambda app: seen.append(app.screen.query_one("#body", TextArea).cursor_location),
        "ctrl+s",
        lambda app: seen.append(isinstance(app.screen, ActionForm)),
        size=(200, 50),
    )
    assert contains(
        seen[0],
        "2:1: vmSise: 'vmSise' does not exist here: did you mean",
        "3:23: targetDedicatedNodes: must be a whole number",
        "5:3: startTask.comandLine: 'comandLine' does not exist",
    )
    assert seen[1] == (0, 0)  # where vmSize is missing
    assert seen[2] is True


ARM = {
    "name": "account/resource",
    "type": "Microsoft.Batch/batchAccounts/pools",
    "properties": {
        "vmSize": "STANDARD_D4S_V3",
        "deploymentConfiguration": {
            "virtualMachineConfiguration": {
                "imageReference": {
                    "publisher": "Canonical",
                    "offer": "0001-com-ubuntu-server-jammy",
                    "sku": "22_04-lts",
                },
                "nodeAgentSkuId": "batch.node.ubuntu 22.04",
            }
        },
        "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 3, "resizeTimeout": "PT15M"}},
    },
}


@pytest.mark.parametrize("text", [json.dumps(ARM), json.dumps(ARM, indent=2)])
def test_a_resource_may_be_pasted_as_a_pool(session_at, text):
    (command,) = typed_body(action_for_new(session_at(LATER_S), "pool", None), text).commands
    assert (command.id, command.target_dedicated_nodes) == ("resource", 3)


def test_an_entry_of_a_timeline_a_list_of_one_and_an_answer_of_the_service_may_be_pasted(session_at):
    session = session_at(LATER_S)
    create = action_for_new(session, "pool", None)
    for text in (
        "- {at: PT5M, createPool: {id: b, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}}",
        "- {id: b, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}",
        json.dumps(
            {"id": "b", "vmSize": "standard_d2s_v3", "state": "active", "targetDedicatedNodes": 1, "eTag": "0x8"}
        ),
    ):
        result = typed_body(create, text)
        assert [command.id for command in result.commands] == ["b"], text
    assert "what only the service writes is left out: state, eTag" in result.warnings[0].message


def test_what_the_service_would_refuse_stands_at_its_place(session_at):
    create = action_for_new(session_at(LATER_S), "pool", None)
    result = typed_body(create, "id: b\nvmSize: standard_d2s_v9x\ntargetDedicatedNodes: 1\n")
    (refusal,) = result.refusals
    assert (refusal.line, refusal.name) == (2, "vmSize")
    assert result.commands  # it can be sent all the same


@pytest.mark.parametrize("name", ["my job!", "shared"], ids=["by the form", "by the trial"])
def test_what_the_service_would_refuse_is_sent_only_when_asked_for_again(dashboard_at, name):
    app, open_at, said = dashboard_at(LATER_S), [], []

    def look(app):
        open_at.append(isinstance(app.screen, ActionForm))
        said.extend(messages_of(app)[-1:])

    def known(_):
        """What the service would say is known before any function of these steps is called."""

    first = ("2", "ctrl+n", *["backspace"] * 12, *typed(name), known, "ctrl+s", look)
    drive(app, *first, *typed("x"), "backspace", known, "ctrl+s", look, "ctrl+s", look)
    assert open_at == [True, True, False]
    assert said[0].startswith("The service would refuse it: ")
    assert said[0].endswith("ctrl+s again sends it all the same.")
    assert said[-1].startswith(f"createPool {name} refused: ")


def test_what_a_process_does_wrongly_is_a_mistake_of_the_body_and_no_internal_error(session_at):
    add = action_for_new(session_at(LATER_S), "tasks", None)
    result = typed_body(add, "id: a\ncommandLine: work\nsimulate: {does: [{after: PT1S, rebotNode: {}}]}\n")
    assert result.commands == ()
    assert any("rebotNode" in mistake.message for mistake in result.mistakes)
