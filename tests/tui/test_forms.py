"""Forms: what is typed into fields or a body, the mistakes in it, what would happen, and what is recorded."""

from __future__ import annotations

import asyncio
from itertools import chain

import pytest
from click.testing import CliRunner
from textual import events
from textual.screen import Screen

from engine.views.resources.tasks import job_of_task
from tests.builders import a_job, a_pool, simulation
from tests.tui.acting import commands_of, read, trial_of
from tests.tui.conftest import simulation_at
from tests.tui.driving import drive, look, tried_out, typed
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.cli.commands import cli
from tui.dialogs.action_form import ActionForm
from tui.dialogs.form_fields import FormInputs
from tui.viewmodels.actions.menu import action_for_new, actions_for, grouped_actions
from tui.viewmodels.actions.trial import trial_lines
from tui.viewmodels.pool_pages import ACCOUNT_ITEM
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain

LATER_S = 330
RISK = ItemRef("job", "risk")
SHARED = ItemRef("pool", "shared")


def act(session, subject, title):
    return next(each for each in actions_for(session, [subject]) if each.title == title)


# --- from nothing to a run that replays


def test_a_pool_and_a_job_made_by_hand_in_an_empty_account_run_and_replay(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = dashboard_at(0, "empty")
    seen = []
    drive(
        app,
        *("2", "ctrl+n", look(seen), "ctrl+s"),
        *("4", "ctrl+n", "down", "down", "down", "right", "right"),  # when all are complete: terminatejob
        *("down", *typed("fetch"), "down", *typed("20s")),
        *("down", "down", "down", "down", "down", *typed("clean"), "down", *typed("10s")),
        *("down", "down", *typed("work"), "down", "backspace", *typed("12"), "down", *typed("run {0}")),
        *("down", *typed("1m30s"), look(seen), "ctrl+s"),
        *("5", "ctrl+n", *["backspace"] * 9, *typed("late"), "ctrl+s"),
        *("t", *"end", "enter", look(seen)),
        *("R", "ctrl+u", *typed("hand.yaml"), "enter"),
        size=(80, 24),
    )
    assert contains(seen[0], "Create a pool", "standard_d2s_v3", "cost an hour")
    assert contains(seen[1], "end of the run", "tasks succeeded")
    job = app.session.job("job-1")
    assert (job.state.wire, job.phases.tasks.total) == ("completed", 13)
    assert job.record.spec.job_preparation_task.command_line == "fetch"
    given = [one.command.NAME for one in app.session.simulation.journal.by_hand()]
    assert given == ["createPool", "createJob", "addTasks"]
    replayed = CliRunner().invoke(cli, ["run", "hand.yaml", "--events", "-", "--quiet"])
    assert replayed.stdout.splitlines() == list(app.session.simulation.json_lines())


@pytest.mark.parametrize("scenario", ["empty", "one-node-fails"])
def test_one_key_creates_what_a_list_holds_also_in_an_empty_list(dashboard_at, scenario):
    titles = {"2": "Create a pool", "4": "Create a job", "0": "Create a job schedule", "1": "Act on the account"}
    seen = []
    drive(dashboard_at(5, scenario), *chain.from_iterable((view, "ctrl+n", look(seen), "escape") for view in titles))
    for title, lines in zip(titles.values(), seen, strict=True):
        assert contains(lines, title), title


def test_in_an_empty_list_the_actions_are_those_that_create(dashboard_at):
    seen = []
    drive(dashboard_at(0, "empty"), "4", "a", look(seen))
    assert contains(seen[0], "Act on the account", "Create a pool", "Create a job schedule", "Add a certificate")


def test_the_go_line_creates(dashboard_at):
    titles = {"new pool": "Create a pool", "new cert": "Add a certificate", "new tasks": "Add tasks to risk"}
    seen = []
    steps = (("colon", *typed(text), "enter", look(seen), "escape") for text in titles)
    drive(dashboard_at(LATER_S), *chain.from_iterable(steps))
    for (text, title), lines in zip(titles.items(), seen, strict=True):
        assert contains(lines, title), text


# --- the body as a whole


MINE = """\
id: mine  # by hand
vmSize: standard_d4s_v3
targetDedicatedNodes: 3
metadata: [{name: a, value: b}]
"""


RETURNED = {"id": "b", "vmSize": "standard_d2s_v3", "state": "active", "targetDedicatedNodes": 1, "eTag": "0x8"}


# --- copies and changes


def test_a_copy_begins_with_what_is_there_under_a_new_id(session_at):
    session = session_at(LATER_S)
    (pool,) = commands_of(act(session, SHARED, "Clone shared"))
    (job,) = commands_of(act(session, RISK, "Clone risk"))
    assert (pool.id, pool.target_dedicated_nodes, pool.task_slots_per_node) == ("shared-copy", 5, 2)
    assert job.id == "risk-copy"
    assert job.spec.job_preparation_task == session.job("risk").record.spec.job_preparation_task
    assert job.task_factory["parameterSets"] == [{"start": 1, "end": 40}]
    session.simulation.submit_all([pool, job])
    session.update()
    assert session.job("risk-copy").phases.tasks.total == 40
    assert commands_of(act(session, SHARED, "Clone shared"))[0].id == "shared-copy-2"


def test_a_change_sends_only_what_differs(session_at):
    session = session_at(LATER_S)
    edit_job = act(session, RISK, "Edit risk")
    with pytest.raises(ValueError, match="Nothing differs yet"):
        commands_of(edit_job)
    (change,) = commands_of(edit_job, answers={**edit_job.defaults, "maxParallelTasks": "3"})
    assert change.wire() == {"jobId": "risk", "maxParallelTasks": 3}
    session.simulation.submit(change)
    session.update()
    assert act(session, RISK, "Edit risk").defaults["maxParallelTasks"] == "3"


def test_a_field_keeps_what_it_does_not_show(session_at):
    session = session_at(LATER_S)
    clone = act(session, RISK, "Clone risk")
    assert clone.defaults["task.simulate.exitCode"] == '{"0": 0.9, "1": 0.1}'
    (job,) = commands_of(clone, answers={**clone.defaults, "priority": "7", "count": "3"})
    assert job.priority == 7
    assert job.task_factory["repeatTask"]["simulate"]["exitCode"] == {"0": 0.9, "1": 0.1}
    assert job.spec.job_preparation_task.simulate.on_node  # it has no field


# --- single fields


def test_resizing_says_nothing_about_running_tasks_unless_that_is_chosen(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(
        app,
        *("2", "a", "enter", look(seen), "backspace", *typed("2"), look(seen), "backspace", *typed("9"), look(seen)),
        "ctrl+s",
    )
    assert all(contains(lines, "Running tasks", "default", "failed ones go first") for lines in seen)
    assert contains(seen[1], "cost an hour", "otherwise $0.48")
    (given,) = app.session.simulation.journal.by_hand()
    assert given.command.wire() == {
        "poolId": "shared",
        "targetDedicatedNodes": 9,
        "targetLowPriorityNodes": 0,
        "resizeTimeout": "PT15M",
    }


def test_what_is_typed_replaces_what_a_field_begins_with(dashboard_at):
    app = dashboard_at(LATER_S)
    drive(app, "2", "a", "enter", *typed("1"), "ctrl+s")
    (given,) = app.session.simulation.journal.by_hand()
    assert given.command.wire()["targetDedicatedNodes"] == 1


def test_the_hints_of_a_form_name_enter_where_it_acts(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    act_on_node = ("3", "a", *"reboot", look(seen), "enter", look(seen))
    drive(app, *act_on_node, "enter", look(seen))
    assert contains(seen[1], "requeue", "1 of 4", "they are stopped and queued again", "enter or ctrl+s do it")
    assert [one.command.NAME for one in app.session.simulation.journal.by_hand()] == ["rebootNode"]
    drive(dashboard_at(LATER_S), "2", "a", "enter", look(seen))
    assert contains(seen[-1], "ctrl+s do it  tab next")


@pytest.mark.parametrize("command_line", ["run", ""])
def test_tasks_of_a_new_job_are_numbered_also_without_an_id(session_at, command_line):
    action = action_for_new(session_at(0, "empty"), "job", None)
    typed_in = {"poolInfo.poolId": "pool-1", "count": "3", "task.commandLine": command_line}
    result = read(action, answers={**action.defaults, **typed_in})
    if command_line:
        assert result.commands[0].wire()["taskFactory"]["repeatTask"]["id"] == "task-{0}"
        one = read(action, answers={**action.defaults, **typed_in, "count": "1"})
        assert [task["id"] for task in one.commands[0].wire()["tasks"]] == ["task"]
    else:
        assert [(each.name, each.label) for each in result.mistakes] == [("task.commandLine", "Command line")]


def test_a_preview_has_the_price_of_an_hour_and_the_cost_until_the_end(session_at):
    session = session_at(LATER_S)
    resize = act(session, SHARED, "Resize shared")
    trial = trial_of(session, commands_of(resize, answers={**resize.defaults, "targetDedicatedNodes": "7"}))
    lines = [" ".join(plain(each).split()) for each in trial_lines(session, trial, 100)]
    assert any(each.startswith("cost an hour $0.67 (+$0.19) otherwise $0.48") for each in lines)
    assert any(each.startswith("cost in all") for each in lines)


def test_a_form_says_what_is_wrong_below_the_field_and_what_the_field_is_for(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(
        app,
        *("2", "ctrl+n", look(seen), "down", look(seen), "down", "down", "end", *typed("x"), look(seen)),
        *("backspace", "backspace", "backspace", "up", "up", "up", "end", *["backspace"] * 6, look(seen)),
        *("ctrl+s", look(seen)),
    )
    assert contains(seen[0], "Id *", "Id: letters, digits")
    assert contains(seen[1], "VM size: such as standard_d2s_v3; 2 cores, 8 GiB, $0.096 an hour with Linux")
    assert contains(seen[2], "↑ '2x' must be a whole number")
    assert not contains(seen[3], "↑ is required")
    assert contains(seen[4], "↑ is required")


def test_what_was_typed_is_not_lost_by_one_press_of_esc(dashboard_at):
    app, seen = dashboard_at(LATER_S), []

    def is_open(app):
        seen.append(isinstance(app.screen, ActionForm))

    drive(
        app,
        *("2", "ctrl+n", "escape", is_open),  # nothing was typed
        *("ctrl+n", "end", *typed("x"), "escape", is_open, *typed("y"), "escape", is_open, "escape", is_open),
    )
    assert seen == [False, True, True, False]


def test_a_user_of_a_node_may_have_an_ssh_key(session_at):
    session = session_at(LATER_S)
    add = act(session, ItemRef("node", 0), "Add a user account to n0")
    (command,) = commands_of(add, answers={**add.defaults, "sshPublicKey": "ssh-rsa AAAA", "password": ""})
    assert (command.ssh_public_key, command.password) == ("ssh-rsa AAAA", None)
    session.simulation.submit(command)
    session.update()
    change = act(session, ItemRef("node", 0), "Change a user account of n0")
    assert change.defaults["name"] == "operator"


def test_fast_typing_is_read_when_it_pauses_and_never_lays_out_the_screen(dashboard_at, monkeypatch):
    app, reads, layouts = dashboard_at(LATER_S), [], []
    text = "fetchmarketdata"

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("4", "ctrl+n", *["down"] * 4)
            await tried_out(app)
            read, lay_out = FormInputs.read, Screen._refresh_layout
            monkeypatch.setattr(FormInputs, "read", lambda self: reads.append(1) or read(self))
            monkeypatch.setattr(Screen, "_refresh_layout", lambda *how: layouts.append(1) or lay_out(*how))
            for letter in text:
                app.post_message(events.Key(letter, letter))
            while app.keyboard.is_busy or app.focused.value != text:
                await asyncio.sleep(0.001)
            typed_layouts = len(layouts)
            await tried_out(app)
            assert contains(text_of(app), text)
            return typed_layouts

    assert asyncio.run(run()) == 0
    assert len(reads) < len(text) // 2


def test_the_past_is_not_changed(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(app, "comma", "comma", "2", "ctrl+n", lambda app: seen.append(isinstance(app.screen, ActionForm)))
    assert seen == [False]


def test_an_account_without_a_job_says_so_where_tasks_are_asked_for(session_at):
    assert action_for_new(session_at(0, "empty"), "tasks", None).startswith("There is no job yet")
    assert action_for_new(session_at(LATER_S), "user", ACCOUNT_ITEM).startswith("A user account is added to a node")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_a_large_form_is_ascii_where_that_is_asked_for(dashboard_at, size):
    seen = []
    app = dashboard_at(LATER_S, ascii_only=True)
    drive(app, "4", "ctrl+n", look(seen), "down", "down", *typed("x"), look(seen), "ctrl+t", look(seen), size=size)
    assert {letter for lines in seen for each in lines for letter in each if not letter.isascii()} == set()


# --- the list of actions


def test_letters_filter_the_list_of_actions(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(
        app,
        *("3", "down", "a", look(seen), *"kill", look(seen), *["backspace"] * 4, *"zz", look(seen)),
        *("backspace", "backspace", *"ssh", "enter", look(seen)),
    )
    assert contains(seen[0], "type to filter", "Reboot n1", "Reimage n1")
    assert contains(seen[1], "kill", "Remove n1 from the pool")
    assert not contains(seen[1], "Reboot n1")
    assert contains(seen[2], "No action fits")
    assert contains(seen[3], "Add a user account to n1", "Recorded as")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_the_actions_of_pool_and_job_follow_those_of_a_node(dashboard_at, size):
    app, seen = dashboard_at(LATER_S), []
    drive(
        app,
        *("a", look(seen), *"resize", look(seen), "enter", look(seen), "escape", "escape"),
        *("a", *"terminate", look(seen)),
        size=size,
    )
    assert contains(seen[0], "Act on this node", "Reboot n0")
    assert contains(seen[0], "pool shared") or size[1] < 40
    assert contains(seen[1], "Resize shared  pool shared")
    assert contains(seen[2], "Recorded as", "resizePool")
    assert contains(seen[3], "Terminate risk  job risk")


def test_the_job_follows_the_actions_of_its_pool(session_at):
    groups = grouped_actions(session_at(LATER_S), [ItemRef("pool", "shared")])
    assert [group.heading for group in groups] == ["", "job risk"]
    assert grouped_actions(session_at(LATER_S), [ItemRef("account", "account")])[1:] == []


def test_the_pool_and_the_job_of_what_is_acted_on_follow_not_those_in_focus():
    run = simulation(a_job("near", pool="one"), a_job("far", pool="two"), pools=[a_pool("one"), a_pool("two")])
    run.run_until(LATER_S * 1000)
    session = Session(run)
    session.focus_job("near")
    two = run.world.pools.latest("two").nodes[0]
    far = next(row for row in range(run.world.tasks.length) if job_of_task(run, row) == "far")
    found = {
        item.kind: [group.heading for group in grouped_actions(session, [item])][1:]
        for item in (ItemRef("job", "far"), ItemRef("task", far), ItemRef("node", two), ItemRef("pool", "two"))
    }
    assert found == {"job": ["pool two"], "task": ["pool two", "job far"], "node": ["pool two"], "pool": []}


def test_enter_in_the_past_says_that_nothing_was_done_and_what_enter_does_next(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), "comma", "comma", "4", "a", "enter", look(seen), "enter", "escape", look(seen))
    assert contains(seen[0], "Nothing was done yet. Enter again branches here; the run that is left is kept")
    assert not contains(seen[1], "This is the past")


@pytest.mark.parametrize(("view", "name"), [("2", "pool-1"), ("4", "job-1")])
def test_the_cursor_goes_to_what_was_created(dashboard_at, view, name):
    app, seen = dashboard_at(LATER_S), []
    drive(
        app,
        *(view, "ctrl+n", "ctrl+s"),
        lambda app: seen.extend((app.main_screen.under_cursor.key, app.session.focus)),
        look(seen),
        *("a", look(seen)),
    )
    assert seen[0] == name
    assert name in seen[1]
    assert contains(seen[2][:1], name)
    assert contains(seen[3], f"Edit {name}")


def test_saving_asks_in_two_lines_that_say_what_enter_does(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(app, "2", "a", "enter", "backspace", *"9", "ctrl+s", "R", look(seen))
    assert contains(seen[0], "A scenario with the 1 command given by hand, which replays exactly.  enter saves")
    assert contains(seen[0], "save the session as")


@pytest.mark.parametrize("cells", [53, 55, 80])
def test_no_line_of_a_preview_is_cut(session_at, cells):
    session = session_at(LATER_S)
    resize = act(session, SHARED, "Resize shared")
    trial = trial_of(session, commands_of(resize, answers={**resize.defaults, "targetDedicatedNodes": "7"}))
    lines = [plain(each).rstrip() for each in trial_lines(session, trial, cells)]
    assert max(map(len, lines)) <= cells
    assert any("otherwise" in each for each in lines)
    assert not any(" else " in each for each in lines)
    assert any(each.startswith("  cost an hour ") for each in lines)
    assert any(each.startswith("  cost in all ") for each in lines)


def test_a_run_without_events_opens_without_asking_anything():
    app, seen = Dashboard(simulation_at(0, "empty"), plays=True), []
    drive(app, look(seen), "4", "ctrl+n", look(seen))
    assert not contains(seen[0], "start again, with the same seed")
    assert contains(seen[1], "Create a job")
