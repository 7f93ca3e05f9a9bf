"""Tasks counted in keys, and the mouse: a double click opens what Enter opens, the wheel scrolls."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import Input

from engine.specs.commands import COMMANDS
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.item_keys import asked_item, subjects_of_act
from tui.viewmodels.actions.menu import actions_for, grouped_actions
from tui.viewmodels.go_line import PaletteEntry, fitting
from tui.viewmodels.text import ItemRef
from tui.widgets.rows import Choices

LATER_S = 330


def test_stderr_cause_and_reimage_of_a_failing_node_take_ten_keys(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    look = lambda app: seen.append(text_of(app))  # noqa: E731
    keys = ["down", "f", look, "escape", "w", look, "b", "r", "e", "i", "enter", "enter"]
    drive(app, *keys)
    assert len([key for key in keys if isinstance(key, str)]) == 10
    assert contains(seen[0], "jobpreparation/stderr.txt")
    assert contains(seen[1], "failed with exit code 3")
    assert [one.command.NAME for one in app.session.simulation.by_hand] == ["reimageNode"]


def test_a_resize_is_taken_back_by_two_keys(dashboard_at):
    app = dashboard_at(LATER_S)
    given = lambda app: len(app.session.simulation.by_hand)  # noqa: E731
    counts = []
    note = lambda app: counts.append(given(app))  # noqa: E731
    drive(app, "2", "a", "enter", "9", "ctrl+s", note, "t", *"+60", "enter", "u", "u", note)
    assert counts == [1, 0]


def test_question_mark_shows_the_symbols_on_the_screen_at_once(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), "question_mark", lambda app: seen.extend(text_of(app)))
    assert contains(seen, "On the screen now", "✗")


def test_the_focus_stays_where_it_was_on_opening_while_others_need_attention(dashboard_at):
    app, seen = dashboard_at(0, "mpi-on-four-nodes"), []
    note = lambda app: seen.append((app.session.job_id, text_of(app)))  # noqa: E731
    drive(app, note, "G", note, "t", *"60", "enter", note)
    assert [job for job, _ in seen] == ["wing", "wing", "wing"]
    assert contains(seen[1][1], "phase of job wing")


def test_a_focus_that_nobody_has_chosen_leaves_a_deleted_job(session_at):
    session = session_at(60)
    first, job = session.job_id, {"id": "second", "poolInfo": {"poolId": session.pool_id}}
    session.simulation.submit(COMMANDS["createJob"].from_wire(job))
    session.simulation.submit(COMMANDS["deleteJob"].from_wire({"jobId": first, "force": True}))
    session.simulation.run_until(600_000)
    session.update()
    assert (first, session.job_id) == ("risk", "second")


def has_one_subject(app):
    """Check that w and a are about one item."""
    asked = asked_item(app.main_screen)
    assert asked is not None
    assert list(subjects_of_act(app.main_screen)) == [asked]


def test_on_opening_with_no_node_w_and_a_are_about_the_same(dashboard_at):
    drive(dashboard_at(0, "one-node-fails"), has_one_subject, "3", has_one_subject)
    drive(dashboard_at(0, "one-node-fails"), "5", has_one_subject)


@pytest.mark.parametrize(("kind", "key"), [("job", "risk"), ("task", 0), ("pool", "shared"), ("node", 0)])
def test_no_menu_begins_with_an_action_that_ends_its_item(session_at, kind, key):
    titles = [each.title for each in actions_for(session_at(LATER_S), [ItemRef(kind, key)])]
    assert not titles[0].startswith(("Terminate", "Delete", "Remove"))
    assert titles[-1].startswith(("Delete", "Fault"))


@pytest.mark.parametrize(
    ("typed", "first", "also"),
    [("i", "Reimage", "Create a job in"), ("re", "Reboot", "Create a job"), ("d", "Disable", "Add")],
)
def test_letters_in_the_menu_find_verbs_first_and_then_anything(session_at, typed, first, also):
    session = session_at(LATER_S)
    groups = grouped_actions(session, [ItemRef("node", 0)])
    entries = [PaletteEntry(each.title, each.command, list) for group in groups for each in group.actions]
    found = [each.title for each in fitting(entries, typed)]
    assert found[0].startswith(first)
    assert any(title.startswith(also) for title in found)


@pytest.mark.parametrize(
    ("keys", "closes"),
    [
        ((*["comma"] * 3, "down", "w"), "esc close ─╯"),
        (("S", "S", "e"), "esc leave ─╯"),
        (("3", "a", "enter"), "esc to the menu ─╯"),
    ],
)
def test_on_a_small_screen_the_key_that_closes_stands_whole(dashboard_at, keys, closes):
    app, seen = dashboard_at(160, "preparation-fails-on-one-node"), []
    drive(app, *keys, lambda app: seen.extend(text_of(app)), size=(80, 24))
    assert contains(seen, closes)


# By the keys that lead there, the widget with the focus and the line of it that is clicked.
PLACES = {
    "pools": (("2",), 1),
    "nodes": (("3",), 2),
    "jobs": (("4",), 1),
    "tasks": (("5",), 3),
    "preparation": (("6",), 2),
    "events": (("9",), 2),
    "job": (("shift+tab",), 1),
    "node": ((), 0),
    "list": (("tab", "tab"), 2),
    "attention": (("tab",), 0),
    "palette": (("ctrl+p", *"help"), 1),
    "scenario": (("ctrl+o", *"reboot"), 0),
    "actions": (("3", "a"), 4),
    "settings": (("s",), 2),
    "jobs to choose": (("J",), 0),
    "files": (("3", "f"), 2),
    "columns": (("5", "C"), 1),
    "search": (("ctrl+f", *"deal"), 2),
}


def there(app):
    """What is shown: the screen, its title, the view, and the item that it is about."""
    titles = [str(each.border_title) for each in app.screen.query("*") if each.border_title]
    main = app.main_screen
    page = main.detail_page
    return (
        type(app.screen).__name__,
        titles[:1],
        main.view.id,
        page and page.subject,
        app.session.simulation.scenario.name,
    )


async def clicks(app, places, *, opens):
    """Return what each of these places opens. The way to each begins where that of an application does."""
    seen = {}
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        first = app.focused
        for place in places:
            keys, y = PLACES[place]
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            before = text_of(app)
            drives_a_list = isinstance(app.screen.focused, Input)
            widget = next(iter(app.screen.query(Choices))) if drives_a_list else app.screen.focused
            await pilot.click(widget, offset=(6, y + widget.gutter.top), times=1 if opens == "enter" else 2)
            if opens == "enter":
                await pilot.press("enter")
            await pilot.pause()
            seen[place] = there(app), text_of(app) != before
            while len(app.screen_stack) > 1:
                await pilot.press("escape")
                await pilot.pause()
            await pilot.press("1")
            first.focus()
            await pilot.pause()
    return seen


# All in one application each; the last place of a row leads to another moment or scenario.
TOGETHER = [
    ("node", "list", "attention", "job", "jobs to choose", "palette", "settings", "scenario"),
    ("pools", "nodes", "jobs", "tasks", "preparation", "files", "columns", "actions", "search", "events"),
]


@pytest.mark.parametrize("places", TOGETHER)
def test_a_double_click_opens_what_enter_opens(dashboard_at, places):
    by_key = asyncio.run(clicks(dashboard_at(LATER_S), places, opens="enter"))
    by_mouse = asyncio.run(clicks(dashboard_at(LATER_S), places, opens="clicks"))
    assert {place: (by_key[place], by_mouse[place]) for place in places if by_mouse[place] != by_key[place]} == {}
    assert [place for place, (_, has_changed) in by_mouse.items() if not has_changed] == []


def test_a_click_in_a_list_leaves_the_input_the_focus(dashboard_at):
    texts = []

    async def run(app):
        async with app.run_test(size=(80, 24)) as pilot:
            for key in ("ctrl+p", "ctrl+f", "ctrl+o"):
                await pilot.press(key)
                await pilot.pause()
                await pilot.click(next(iter(app.screen.query(Choices))), offset=(5, 1))
                await pilot.press("x", "pagedown")
                await pilot.pause()
                texts.append(app.screen.query_one(Input).value)
                await pilot.press("escape")

    asyncio.run(run(dashboard_at(LATER_S)))
    assert texts == ["x", "x", "x"]


def test_page_keys_move_the_cursor_of_a_list(dashboard_at):
    app, numbers = dashboard_at(LATER_S), []
    note = lambda app: numbers.append(next(iter(app.screen.query(Choices))).number)  # noqa: E731
    drive(app, "2", "a", "pagedown", note, "pageup", note, "escape", "ctrl+o", "pagedown", note, size=(80, 24))
    assert numbers == [10, 0, 10]
