"""The sheet of actions and the forms behind it, by their keys."""

from __future__ import annotations

import asyncio

import pytest

from engine.views.resources.jobs import pool_ids
from tests.tui.acting import action, choose, commands_of, trial_of
from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, text_of
from tui.viewmodels.actions.menu import actions_for
from tui.viewmodels.text import ItemRef
from tui.widgets.texts import PageView

LATER_S = 330
NODES = [ItemRef("node", number) for number in range(6)]
RISK = ItemRef("job", "risk")


def test_a_job_is_deleted_only_after_its_id_was_typed(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        *("A", *choose(app.session, "deleteJob", RISK), "enter", "enter"),
        lambda app: seen.extend((text_of(app), messages_of(app), app.session.simulation.journal.by_hand())),
        *(*"risk", "enter"),
    )
    assert contains(seen[0], "Type risk", "[ Cancel ] [ Delete risk ]")
    assert seen[1:] == [["Type risk to confirm."], []]
    assert [one.command.NAME for one in app.session.simulation.journal.by_hand()] == ["deleteJob"]


def test_several_nodes_are_removed_only_after_their_number_was_typed(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    verb = choose(app.session, "removeNodes", NODES[0])
    drive(
        app,
        *("3", "down", "down", "m", "m", "a", *verb, "enter", "enter"),  # the timeout, and what becomes of tasks
        lambda app: seen.extend((text_of(app), app.session.simulation.journal.by_hand())),
        *("2", "enter"),
    )
    assert contains(seen[0], "Type 2")
    assert seen[1] == []
    assert [one.command.NAME for one in app.session.simulation.journal.by_hand()] == ["removeNodes"]


def test_what_cannot_be_undone_is_not_done_by_enter_alone(dashboard_at):
    app = dashboard_at(LATER_S)
    drive(app, "5", "a", *choose(app.session, "deleteTask", ItemRef("task", 3)), "enter", "enter", "enter")
    assert app.session.simulation.journal.by_hand() == []
    app = dashboard_at(LATER_S)
    drive(app, "5", "a", *choose(app.session, "deleteTask", ItemRef("task", 3)), "right", "enter")
    assert [one.command.NAME for one in app.session.simulation.journal.by_hand()] == ["deleteTask"]


def test_the_verb_that_fits_better_is_said(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    drive(app, *("6", "a", *"reboot", "enter"), lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Better: reimage", "[ Reboot n1 ] [ Cancel ]")


def test_in_the_past_an_action_chosen_twice_branches_and_opens_its_form(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        *("comma", "comma", "3", "a", "enter"),
        lambda app: seen.extend((text_of(app), app.session.is_past)),
        "enter",
        lambda app: seen.extend((text_of(app), app.session.is_past)),
        "enter",
    )
    assert contains(seen[0], "Nothing was done yet. Enter again branches here", "Effects")
    assert seen[1] is True
    assert contains(seen[2], "Recorded as")
    assert seen[3] is False
    assert len(app.session.simulation.journal.by_hand()) == 1


def test_in_the_past_letters_filter_the_actions_and_never_branch(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        *("comma", "comma", "3", "a", *"rebo"),
        lambda app: seen.extend((text_of(app), app.session.is_past)),
    )
    assert contains(seen[0], " rebo ", "Reboot n", "This is the past")
    assert not contains(seen[0], "Reimage n")
    assert seen[1] is True


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16)])
def test_the_buttons_are_seen_at_every_size_and_the_rest_scrolls(dashboard_at, size):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        *("6", "a", *"reboot", "enter"),
        lambda app: seen.append(text_of(app)),
        *("pagedown", "pagedown", "pagedown"),
        lambda app: seen.append(text_of(app)),
        size=size,
    )
    assert contains(seen[0], "[ Reboot n1 ]", "Better:")
    assert contains(seen[1], "[ Reboot n1 ]", "requeue}}")


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
        lambda app: seen.extend(messages_of(app)),
    )
    assert contains(seen[0], "Act on 2 marked nodes", "Reboot 2 nodes")
    assert contains(seen[1], "Simulated until", "tasks requeued", "Recorded as")
    assert seen[2] == "2 × rebootNode accepted. u takes it back, c compares with the run without it, R saves it."
    assert not app.session.marks
    by_hand = app.session.simulation.journal.by_hand()
    assert len(by_hand) == 2
    assert len({one.when_ms for one in by_hand}) == 1


def test_marks_are_seen_in_list_and_map_and_esc_takes_them_away(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def look(app):
        seen.append((len(app.session.marks), text_of(app)))

    drive(app, "3", "M", look, "1", look, "3", "m", look, "escape", look)
    assert [number for number, _ in seen] == [6, 6, 5, 0]
    assert contains(seen[0][1], "›*")
    assert contains(seen[1][1], "*n0 ")
    assert not contains(seen[3][1], "*n0")


def test_a_group_that_is_refused_in_part_says_for_which_and_why(dashboard_at):
    app = dashboard_at(LATER_S)
    notes = []
    drive(
        app,
        *("5", "!", "M", "a", "enter", "enter"),  # reactivate every failed task
        *("M", "a", "enter", "enter"),
        lambda app: notes.extend(messages_of(app)),
    )
    assert any("× reactivateTask accepted" in note for note in notes)


def test_what_cannot_be_marked_says_so(dashboard_at):
    app = dashboard_at(5)
    notes = []
    drive(app, "3", "m", "1", "M", lambda app: notes.extend(messages_of(app)))
    assert notes == ["There is nothing here to mark.", "M marks all rows of a list: views 2 to 7."]


def test_pool_22_an_upgrade_is_offered_where_there_is_a_version_to_upgrade(session_at):
    pool = ItemRef("pool", "classic")
    before, meanwhile = (session_at(seconds, "os-upgrade-by-domains") for seconds in (280, 310))
    assert action(before, "upgradePoolOS", pool).unavailable == ""
    assert action(meanwhile, "upgradePoolOS", pool).unavailable == "another upgrade is under way"
    assert "upgradePoolOS" not in [each.command for each in actions_for(before, [ItemRef("pool", "modern")])]


def test_what_was_done_is_undone_by_a_branch_from_just_before(dashboard_at):
    app = dashboard_at(LATER_S)
    drive(app, *("6", "a", *"reboot", "enter", "enter", "comma", "b"))
    assert app.session.simulation.journal.by_hand() == []
    assert not app.session.is_past


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_forms_reasons_and_events_are_ascii_where_that_is_asked_for(dashboard_at, size):
    lines = []
    keys = [
        "6",
        "a",
        *"reboot",
        "enter",
        "escape",
        "escape",
        "5",
        "w",
        "escape",
        "9",
        "x",
        "X",
        "2",
        "a",
        "enter",
        "tab",
        "tab",
    ]
    steps = [step for key in keys for step in (key, lambda app: lines.extend(text_of(app)))]
    drive(dashboard_at(LATER_S, ascii_only=True), *steps, size=size)
    assert {letter for each in lines for letter in each if not letter.isascii()} == set()


def test_buttons_are_pressed_with_the_mouse(dashboard_at):
    app = dashboard_at(LATER_S)
    titles = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("6", "a", *"reboot", "enter")
            await pilot.pause()
            drawn = "".join(segment.text for segment in app.screen.query_one(PageView).render_line(0))
            await pilot.click(PageView, offset=(drawn.index("Cancel"), 0))
            await pilot.pause()
            titles.extend(str(each.border_title) for each in app.screen.query("#actions"))

    asyncio.run(run())
    assert titles == []  # Cancel leaves form and menu
    assert app.session.simulation.journal.by_hand() == []


def test_a_pool_that_keeps_nodes_because_their_tasks_go_on_does_not_get_too_few(session_at):
    session = session_at(16_114, "nodes-for-a-deadline")
    (pool,) = pool_ids(session.simulation)
    resize = action(session, "resizePool", ItemRef("pool", pool))
    trial = trial_of(session, commands_of(resize, answers={**resize.defaults, "targetDedicatedNodes": "5"}))
    assert trial.short == ()
