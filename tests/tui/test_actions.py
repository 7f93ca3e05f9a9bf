"""What can be done: verbs on one or many, what a trial shows, marks, and what the service answers."""

from __future__ import annotations

import pytest

from tests.tui.screen_text import contains, text_of
from tests.tui.test_keys import drive
from tui.viewmodels.actions import actions_for, choices_of, is_no
from tui.viewmodels.subject import Subject
from tui.viewmodels.text import plain
from tui.viewmodels.trial import Trials, trial_lines, whose

LATER_S = 330
NODES = [Subject("node", number) for number in range(6)]
RISK = Subject("job", "risk")


def action(session, command, *subjects):
    return next(each for each in actions_for(session, subjects) if each.command == command)


def tried(session, act, choice=0):
    return Trials(session).of(act.commands(choices_of(act)[choice]))


def test_actions_say_what_follows_and_how_it_is_recorded(session_at):
    session = session_at(LATER_S)
    reboot, reimage = actions_for(session, [NODES[1]])[:2]
    assert any("stays barred from risk" in effect for effect in reboot.effects)
    assert any("the bar from risk is cleared" in effect for effect in reimage.effects)
    requeue, terminate = reboot.choices[:2]
    assert reboot.script(330_000, requeue)[0].startswith("at: PT5M30.001S, rebootNode: {")
    assert reboot.commands(terminate)[0].node_reboot_option == "terminate"


@pytest.mark.parametrize("subject", [NODES[0], Subject("task", 3), RISK, Subject("pool", "shared")])
def test_every_choice_of_every_action_is_a_command(session_at, subject):
    for act in actions_for(session_at(LATER_S), [subject]):
        choices = [act.typed("5")] if act.asks else [choice for choice in choices_of(act) if not is_no(choice)]
        assert choices
        for choice in choices:
            assert [act.command] == [command.NAME for command in act.commands(choice)]


def test_what_cannot_be_undone_offers_to_go_back_first(session_at):
    delete = action(session_at(LATER_S), "deleteJob", RISK)
    assert is_no(choices_of(delete)[0])
    assert not is_no(choices_of(delete)[1])


def test_what_is_typed_must_be_a_whole_number(session_at):
    priority = action(session_at(LATER_S), "updateJob", RISK)
    assert priority.prompt == "priority, -1000 to 1000; now 0"
    assert priority.commands(priority.typed("-5"))[0].priority == -5
    with pytest.raises(ValueError, match="high"):
        priority.typed("high")


def test_a_verb_on_several_nodes_is_a_command_for_each(session_at):
    session = session_at(LATER_S)
    reboot = action(session, "rebootNode", *NODES)
    assert reboot.title == "Reboot 5 nodes"  # n5 has left the pool
    assert len(reboot.bodies) == 5
    assert any("(n1)" in effect for effect in reboot.effects)
    assert any("(n0, n2, n4)" in effect for effect in reboot.effects)
    assert reboot.script(0, reboot.choices[0])[-1] == "and 2 more"


def test_nodes_leave_the_pool_together(session_at):
    remove = action(session_at(LATER_S), "removeNodes", *NODES)
    (command,) = remove.commands(remove.choices[0])
    assert command.node_list == (0, 1, 2, 3, 4)


def test_a_verb_that_no_subject_is_in_a_state_for_says_why(session_at):
    session = session_at(LATER_S)
    assert action(session, "enableNodeScheduling", *NODES[:2]).unavailable == "it is enabled already"
    session.simulation.submit(action(session, "disableNodeScheduling", NODES[0]).commands(choices_of_first(session))[0])
    session.noted()
    assert action(session, "enableNodeScheduling", *NODES[:2]).unavailable == ""
    assert actions_for(session, [NODES[5]]) == []


def choices_of_first(session):
    return action(session, "disableNodeScheduling", NODES[0]).choices[0]


def test_a_trial_shows_what_differs_and_leaves_no_trace(session_at):
    session, untouched = session_at(LATER_S), session_at(LATER_S)
    trial = tried(session, action(session, "rebootNode", NODES[0], NODES[1]))
    assert trial.is_end
    found = {measure.value: (before, after) for measure, before, after in trial.differences()}
    assert found["tasks queued again"] == (0, 2)
    assert found["preparation runs"] == (0, 1)  # n1 stays barred
    assert session.now_ms == LATER_S * 1000
    for one in (session, untouched):
        one.simulation.run_until(one.simulation.end_ms)
    assert list(session.simulation.json_lines()) == list(untouched.simulation.json_lines())


def test_a_trial_says_when_a_job_ends_instead(session_at):
    session = session_at(LATER_S)
    lines = [plain(each) for each in trial_lines(session, tried(session, action(session, "terminateJob", RISK)), 80)]
    assert any("risk completed" in each and "08:05:51   without it 08:07:58" in each for each in lines)


def test_a_trial_tells_refusals_with_code_and_reason(session_at):
    session = session_at(LATER_S)
    session.simulation.submit(action(session, "rebootNode", NODES[0]).commands(choices_of_reboot(session))[0])
    session.noted()
    trial = tried(session, action(session, "rebootNode", NODES[0], NODES[4]))
    assert [(whose(command), error.code) for command, error in trial.refused] == [("n0", "NodeBeingRebooted")]
    lines = [plain(each) for each in trial_lines(session, trial, 200)]
    assert lines[0].startswith("✗ n0 refused: 409 NodeBeingRebooted")


def choices_of_reboot(session):
    return action(session, "rebootNode", NODES[0]).choices[0]


def test_nothing_different_is_said_too(session_at):
    session = session_at(LATER_S)
    priority = action(session, "updateJob", RISK)
    trial = Trials(session).of(priority.commands(priority.typed("10")))
    assert [plain(each) for each in trial_lines(session, trial, 80)] == ["  nothing is different"]


def test_marked_rows_are_acted_on_together_and_the_answer_counts(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        *("3", "down", "down", "m", "m", "a"),
        lambda app: seen.append(text_of(app)),
        "enter",
        lambda app: seen.append(text_of(app)),
        "enter",
        lambda app: seen.extend(note.message for note in app._notifications),
    )
    assert contains(seen[0], "Act on 2 marked nodes", "Reboot 2 nodes")
    assert contains(seen[1], "Tried out up to", "tasks queued again", "Recorded as")
    assert seen[2] == "2 × rebootNode accepted. R saves what was done as a scenario."
    assert not app.session.marks
    by_hand = app.session.simulation.journal.by_hand()
    assert len(by_hand) == 2
    assert len({one.when_ms for one in by_hand}) == 1


def test_marks_are_seen_in_list_and_map_and_esc_takes_them_away(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def look(app):
        seen.append((len(app.session.marks), text_of(app)))

    drive(app, "3", "M", look, "1", look, "3", "m", look, "u", look, "m", "escape", look)
    assert [number for number, _ in seen] == [6, 6, 5, 0, 0]
    assert contains(seen[0][1], "›*")
    assert contains(seen[1][1], "n0    *")
    assert not contains(seen[3][1], "*◉")


def test_a_group_that_is_refused_in_part_says_for_which_and_why(dashboard_at):
    app = dashboard_at(LATER_S)
    notes = []
    drive(
        app,
        *("5", "!", "M", "a", "down", "enter", "enter"),  # reactivate every failed task
        *("M", "a", "down", "enter", "enter"),
        lambda app: notes.extend(note.message for note in app._notifications),
    )
    assert any("× reactivateTask accepted" in note for note in notes)


def test_what_cannot_be_marked_says_so(dashboard_at):
    app = dashboard_at(LATER_S)
    notes = []
    drive(app, "9", "m", "1", "M", lambda app: notes.extend(note.message for note in app._notifications))
    assert notes == ["There is nothing here to mark.", "M marks all rows of a list: views 2 to 7."]


def test_pool_22_an_upgrade_is_offered_where_there_is_a_version_to_upgrade(session_at):
    pool = Subject("pool", "classic")
    before, meanwhile = (session_at(seconds, "os-upgrade-by-domains") for seconds in (280, 310))
    assert action(before, "upgradePoolOS", pool).unavailable == ""
    assert action(meanwhile, "upgradePoolOS", pool).unavailable == "another upgrade is under way"
    assert "upgradePoolOS" not in [each.command for each in actions_for(before, [Subject("pool", "modern")])]
