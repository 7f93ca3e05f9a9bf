"""What can be done: verbs on one or many, what a trial shows, marks, and what the service answers."""

from __future__ import annotations

import asyncio

import pytest

from engine.specs.commands import COMMANDS
from engine.state.tables import BrokenInvariant
from engine.views.resources.jobs import pool_ids
from tests.tui.acting import action, choose, commands_of, trial_of
from tests.tui.screen_text import contains
from tui.dialogs import action_form
from tui.viewmodels.actions.menu import actions_for, effect_lines, script_of
from tui.viewmodels.actions.trial import Trials, heading, refusal_lines, trial_lines, whose
from tui.viewmodels.text import ItemRef, plain

LATER_S = 330
NODES = [ItemRef("node", number) for number in range(6)]
RISK = ItemRef("job", "risk")


def tried(session, act):
    return trial_of(session, commands_of(act))


def test_actions_say_what_follows_and_how_it_is_recorded(session_at):
    session = session_at(LATER_S)
    reboot, reimage = actions_for(session, [NODES[1]])[:2]
    assert any("stays ineligible for risk" in effect for effect in reboot.effects)
    assert any("eligible again for risk" in effect for effect in reimage.effects)
    script = script_of(commands_of(reboot), 330_000)
    assert script == ["- {at: PT5M30.001S, rebootNode: {poolId: shared, node: 1, nodeRebootOption: requeue}}"]
    assert commands_of(reboot, {"nodeRebootOption": "terminate"})[0].node_reboot_option == "terminate"


@pytest.mark.parametrize("subject", [NODES[0], ItemRef("task", 3), RISK, ItemRef("pool", "shared")])
def test_every_option_of_every_field_is_a_command(session_at, subject):
    for act in actions_for(session_at(LATER_S), [subject]):
        if not act.type.opens_formula and not act.title.startswith("Edit"):  # nothing differs yet
            for name, options in act.options.items():
                for option in options if "." not in name else ():  # of a task alone it says too little
                    assert [act.command] == [command.NAME for command in commands_of(act, {name: option})]


def test_what_the_service_would_refuse_has_no_consequences(session_at):
    session = session_at(LATER_S)
    refused, possible = action(session, "enableNodeScheduling", NODES[0]), action(session, "rebootNode", NODES[0])
    said = [[plain(each) for each in effect_lines(session, act, 80)] for act in (refused, possible)]
    assert said[0][-1] == "Not now: it is already enabled. The service would refuse it."
    assert "Effects" not in said[0]
    assert "Effects" in said[1]


def test_the_verbs_of_each_kind(session_at):
    session = session_at(LATER_S)
    session.simulation.submit(commands_of(action(session, "createNodeUser", NODES[0]))[0])
    session.update()

    def verbs(subject):
        return [each.command for each in actions_for(session, [subject])]

    assert verbs(NODES[0]) == [
        *("rebootNode", "reimageNode", "disableNodeScheduling", "enableNodeScheduling", "removeNodes"),
        *("deallocateNode", "createNodeUser", "updateNodeUser", "deleteNodeUser", "uploadNodeLogs"),
        "deleteNodeFile",
        *("failNode", "failNode"),
    ]
    assert verbs(ItemRef("task", 3)) == [
        *("reactivateTask", "updateTask", "addTasks", "terminateTask", "deleteTaskFile", "deleteTask")
    ]
    assert verbs(RISK) == [
        *("disableJob", "enableJob", "terminateJob", "addTasks", "updateJob", "createJob", "deleteJob")
    ]
    assert verbs(ItemRef("pool", "shared")) == [
        *("resizePool", "stopPoolResize", "enablePoolAutoScale", "updatePool", "replacePoolProperties"),
        *("createPool", "createJob", "capacity", "quota", "storageOutage", "deletePool"),
    ]


def test_quotas_of_cores_are_changed_from_a_pool(session_at):
    session = session_at(900, "a-quota-is-raised")
    change = action(session, "quota", ItemRef("pool", "pricing"))
    assert {name: text for name, text in change.defaults.items() if text} == {
        "dedicatedCores": "12",
        "lowPriorityCores": "100",
    }
    assert "8 dedicated and 0 Spot cores are in use" in "\n".join(map(plain, effect_lines(session, change, 80)))
    (command,) = commands_of(change, answers={**change.defaults, "dedicatedCores": "16"})
    assert command.wire() == {"dedicatedCores": 16, "lowPriorityCores": 100}


def test_a_pool_that_scales_itself_is_evaluated_and_switched_off(session_at):
    session = session_at(LATER_S, "a-day-of-autoscaling")
    acts = actions_for(session, [ItemRef("pool", session.pool_id)])
    assert [act.command for act in acts if "AutoScale" in act.command] == [
        *("evaluatePoolAutoScale", "enablePoolAutoScale", "disablePoolAutoScale")
    ]
    resize = next(act for act in acts if act.command == "resizePool")
    assert resize.unavailable == "autoscale sets the targets"
    assert [better.command for better in resize.better] == ["disablePoolAutoScale"]


def test_what_is_typed_must_fit(session_at):
    priority = action(session_at(LATER_S), "updateJob", RISK)
    assert priority.defaults["priority"] in ("", "0")
    assert commands_of(priority, answers={"priority": "-5"})[0].priority == -5
    with pytest.raises(ValueError, match="Priority: 'high' must be a whole number"):
        commands_of(priority, answers={"priority": "high"})


def test_users_are_named_by_hand(session_at):
    session = session_at(LATER_S)
    add = action(session, "createNodeUser", NODES[0])
    (command,) = commands_of(add, answers={**add.defaults, "name": "ada", "isAdmin": "no"})
    assert (command.name, command.is_admin) == ("ada", False)
    with pytest.raises(ValueError, match="Administrator: 'maybe' must be yes or no"):
        commands_of(add, answers={**add.defaults, "isAdmin": "maybe"})
    session.simulation.submit(command)
    session.update()
    delete = action(session, "deleteNodeUser", *NODES[:2])
    assert delete.title == "Delete a user account from n0"
    assert delete.defaults == {"name": "ada"}


def test_another_verb_may_fit_better(session_at):
    session = session_at(LATER_S)
    (better,) = action(session, "rebootNode", NODES[1]).better
    assert better.command == "reimageNode"
    assert "PREP-9" in better.why
    assert action(session, "rebootNode", NODES[0]).better == ()
    assert [one.command for one in action(session, "deleteJob", RISK).better] == ["terminateJob"]


def test_what_a_reboot_touches_now_is_added_up(session_at):
    session = session_at(LATER_S)
    assert dict(action(session, "rebootNode", *NODES[:2]).counts) == {
        "tasks affected": 2,
        "preparation runs again": 1,
        "stays ineligible for a job": 1,
    }


def test_a_shrinking_pool_names_the_nodes_that_go(session_at):
    session = session_at(LATER_S)
    resize = action(session, "resizePool", ItemRef("pool", "shared"))
    trial = trial_of(session, commands_of(resize, answers={**resize.defaults, "targetDedicatedNodes": "3"}))
    assert len(trial.leaving) == 2
    assert contains(
        [plain(each) for each in trial_lines(session, trial, 80)], f"that leave: {', '.join(trial.leaving)}"
    )


def test_nodes_that_would_leave_later_anyway_are_named_too(session_at):
    session = session_at(3600, "nodes-for-a-deadline")
    (pool,) = pool_ids(session.simulation)
    resize = action(session, "resizePool", ItemRef("pool", pool))
    trial = trial_of(session, commands_of(resize, answers={**resize.defaults, "targetDedicatedNodes": "4"}))
    assert trial.leaving == ("n0", "n1", "n4", "n5", "n8")


def test_a_preview_says_when_a_quota_keeps_a_pool_small(session_at):
    session = session_at(LATER_S)
    resize = action(session, "resizePool", ItemRef("pool", "shared"))
    trial = trial_of(session, commands_of(resize, answers={**resize.defaults, "targetDedicatedNodes": "500"}))
    said = " ".join(" ".join(map(plain, trial_lines(session, trial, 100))).split())
    assert "pool shared gets too few nodes: AccountCoreQuotaReached, the pool asked for" in said


def test_a_verb_on_several_nodes_is_a_command_for_each(session_at):
    session = session_at(LATER_S)
    reboot = action(session, "rebootNode", *NODES)
    assert reboot.title == "Reboot 5 nodes"  # n5 has left the pool
    assert len(reboot.bodies) == 5
    assert any("(n1)" in effect for effect in reboot.effects)
    assert any("(n0, n2, n4)" in effect for effect in reboot.effects)
    assert script_of(commands_of(reboot), 0)[-1] == "and 2 more"


def test_nodes_leave_the_pool_together(session_at):
    remove = action(session_at(LATER_S), "removeNodes", *NODES)
    (command,) = commands_of(remove)
    assert command.node_list == (0, 1, 2, 3, 4)


def test_a_verb_that_no_subject_is_in_a_state_for_says_why(session_at):
    session = session_at(LATER_S)
    assert action(session, "enableNodeScheduling", *NODES[:2]).unavailable == "it is already enabled"
    session.simulation.submit(commands_of(action(session, "disableNodeScheduling", NODES[0]))[0])
    session.update()
    assert action(session, "enableNodeScheduling", *NODES[:2]).unavailable == ""
    assert actions_for(session, [NODES[5]]) == []


def test_a_trial_shows_what_differs_and_leaves_no_trace(session_at):
    session, untouched = session_at(LATER_S), session_at(LATER_S)
    trial = tried(session, action(session, "rebootNode", NODES[0], NODES[1]))
    assert trial.is_end
    found = {measure.value: (before, after) for measure, before, after in trial.differences()}
    assert found["tasks requeued"] == (0, 2)
    assert found["preparation runs"] == (0, 1)  # n1 stays barred
    assert session.now_ms == LATER_S * 1000
    for one in (session, untouched):
        one.simulation.run_until(one.simulation.end_ms)
    assert list(session.simulation.json_lines()) == list(untouched.simulation.json_lines())


def test_a_trial_says_when_a_job_ends_instead(session_at):
    session = session_at(LATER_S)
    lines = [plain(each) for each in trial_lines(session, tried(session, action(session, "terminateJob", RISK)), 80)]
    (ends,) = (each.split() for each in lines if "risk completed" in each)
    assert ends[2:] == ["08:05:51", "otherwise", "08:07:58"]


def test_the_jobs_that_a_schedule_will_create_are_one_row_after_the_cost(session_at):
    session = session_at(LATER_S)
    specification = {
        "poolInfo": {"poolId": session.pool_id},
        "jobManagerTask": {"id": "m", "commandLine": "manage", "simulate": {"duration": 5}},
        "onAllTasksComplete": "terminatejob",
    }
    body = {"id": "often", "schedule": {"recurrenceInterval": "PT5M"}, "jobSpecification": specification}
    trial = trial_of(session, [COMMANDS["createJobSchedule"].from_wire(body)])
    created = [job for job in trial.given.tally.completed_ms if job.startswith("often:")]
    assert len(created) > 3
    lines = [plain(each) for each in trial_lines(session, trial, 90)]
    assert "cost an hour" in lines[0]
    assert "cost by then" in lines[1]
    (row,) = (line for line in lines if "often:" in line or "new jobs" in line)
    first, last = (session.clock(when(trial.given.tally.completed_ms[job] for job in created)) for when in (min, max))
    assert " ".join(row.split()) == f"{len(created):,} new jobs completed {first} to {last}"


def test_a_trial_tells_refusals_with_code_and_reason(session_at):
    session = session_at(LATER_S)
    session.simulation.submit(commands_of(action(session, "rebootNode", NODES[0]))[0])
    session.update()
    trial = tried(session, action(session, "rebootNode", NODES[0], NODES[4]))
    assert [(whose(command), error.code) for command, error in trial.refused] == [("n0", "NodeBeingRebooted")]
    lines = [plain(each) for each in trial_lines(session, trial, 200)]
    assert lines[0] == "1 of 2 change"
    assert lines[1].startswith("✗ n0 refused: 409 NodeBeingRebooted")


def test_nothing_different_is_said_too(session_at):
    session = session_at(LATER_S)
    priority = action(session, "updateJob", RISK)
    trial = trial_of(session, commands_of(priority, answers={"priority": "10"}))
    lines = [" ".join(plain(each).split()) for each in trial_lines(session, trial, 80)]
    assert lines == [
        "accepted; no other difference",
        "cost an hour $0.48 no difference",
        "cost in all $0.067 no difference",
    ]


def test_equal_refusals_are_told_once_with_a_count(session_at):
    session = session_at(LATER_S)
    for command in commands_of(action(session, "rebootNode", *NODES[:5])):
        session.simulation.submit(command)
    session.update()
    lines = refusal_lines(tried(session, action(session, "rebootNode", *NODES[:5])).refused)
    assert lines == [
        "5 × refused (n0, n1, n2 …): 409 NodeBeingRebooted. The specified node is being rebooted. The node is rebooting"
    ]


def test_a_trial_that_stops_early_says_how_far_it_looked(session_at, monkeypatch):
    session = session_at(LATER_S)
    assert heading(session, tried(session, action(session, "terminateJob", RISK))).endswith("the end of the run")
    monkeypatch.setattr("tui.viewmodels.actions.trial.MOST_ENTRIES", (20,))
    monkeypatch.setattr("tui.viewmodels.actions.trial.SLICE", 8)
    reboot = tried(session, action(session, "rebootNode", NODES[0]))
    assert heading(session, reboot) == "Simulated the next 1:47 of the run, until 08:07:17; farther was not looked at"
    priority = commands_of(action(session, "updateJob", RISK), answers={"priority": "10"})
    lines = [plain(each).strip() for each in trial_lines(session, trial_of(session, priority), 120)]
    assert lines[0] == "accepted; no other difference in the next 1:47 of the run"


def test_a_trial_shows_what_is_near_at_once_and_then_looks_farther(session_at, monkeypatch):
    session = session_at(LATER_S)
    monkeypatch.setattr("tui.viewmodels.actions.trial.MOST_ENTRIES", (10, 40, 5_000, 80_000))
    monkeypatch.setattr("tui.viewmodels.actions.trial.SLICE", 8)
    commands = commands_of(action(session, "rebootNode", NODES[0]))
    before = len(session.simulation.log)
    results = []
    for each in Trials(session).steps(commands):
        assert (session.now_ms, len(session.simulation.log)) == (LATER_S * 1000, before)
        results += [each] if each is not None else []
    near, farther, end = results  # once the end of the run is known there is nothing farther
    assert near.until_ms < farther.until_ms < end.until_ms
    assert [each.is_end for each in results] == [False, False, True]


def test_a_longer_trial_that_has_no_time_replaces_nothing(session_at, monkeypatch):
    session = session_at(LATER_S)
    monkeypatch.setattr("tui.viewmodels.actions.trial.MOST_ENTRIES", (40, 20))
    monkeypatch.setattr("tui.viewmodels.actions.trial.SLICE", 8)
    commands = commands_of(action(session, "rebootNode", NODES[0]))
    assert len([each for each in Trials(session).steps(commands) if each is not None]) == 1
    monkeypatch.setattr("tui.viewmodels.actions.trial.MOST_ENTRIES", (40,))
    near_ms = trial_of(session, commands).until_ms
    monkeypatch.setattr("tui.viewmodels.actions.trial.MOST_ENTRIES", (40, 20))
    assert trial_of(session, commands).until_ms == near_ms


def test_a_form_that_is_closed_while_a_trial_goes_on_gets_no_more_results(dashboard_at, monkeypatch):
    app, begun, begin = dashboard_at(LATER_S), [], action_form.start_work
    monkeypatch.setattr(action_form, "start_work", lambda form, work, *of: begun.append(work) or begin(form, work, *of))

    async def no_pause():
        """Give no time in which the form is removed to the end."""

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("A", *choose(app.session, "disableJob", RISK))
            await pilot.pause()
            form = app.screen
            monkeypatch.setattr(app.yielder, "pause", no_pause)
            await form.query_one("#consequences").remove()
            removal = app.pop_screen()
            assert form.is_attached
            await begun[-1]()  # as its worker, in the midst of the removal
            await removal

    asyncio.run(run())


def test_commands_that_do_much_at_once_are_tried_as_far_as_others(session_at, monkeypatch):
    session = session_at(LATER_S)
    monkeypatch.setattr("tui.viewmodels.actions.trial.MOST_ENTRIES", (10,))
    monkeypatch.setattr("tui.viewmodels.actions.trial.SLICE", 4)
    reboots = tried(session, action(session, "rebootNode", *NODES[:5]))
    assert len(reboots.refused) == 0
    assert reboots.until_ms > session.now_ms + 1000


def test_a_mistake_of_the_engine_in_a_trial_is_told_and_leaves_the_run_as_it_was(session_at, monkeypatch):
    session = session_at(LATER_S)
    before = len(session.simulation.log)

    def breaks(*_, **__):
        raise BrokenInvariant("two and two are five")

    reboot = action(session, "rebootNode", NODES[0])
    with monkeypatch.context() as patched:
        patched.setattr(session.simulation.world.calendar, "advance", breaks)
        trial = tried(session, reboot)
    assert trial.given.mistake.text == "BrokenInvariant: two and two are five"
    lines = [plain(each) for each in trial_lines(session, trial, 120)]
    assert lines[0].startswith("✗ internal error at 08:05:15: BrokenInvariant")
    assert (session.now_ms, len(session.simulation.log)) == (LATER_S * 1000, before)
    assert tried(session, reboot).given.mistake is None


# -- the sheet itself
