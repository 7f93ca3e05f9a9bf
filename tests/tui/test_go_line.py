"""The go line: how what is typed may go on, and what it does."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.tui.driving import drive, look, typed
from tests.tui.screen_text import contains, messages_of, text_of
from tui.viewmodels.go_line import TABS, completions, find, not_found, written_out

LATER_S = 330
COLUMNS = ("", "Task", "State", "Retry count", "Node")


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("pre", ["preparation", "preparation tasks"]),
        ("ris", ["risk"]),
        ("n1", ["n1"]),
        ("deal-39", ["deal-39"]),
        ("sp", ["speed "]),
        ("speed 6", ["speed 60", "speed 600"]),
        ("time n", []),
        ("time f", ["time failure"]),
        ("find st", ["find state:"]),
        ("nothing", []),
    ],
)
def test_what_is_typed_may_go_on(session_at, text, offered):
    assert completions(session_at(LATER_S), text, COLUMNS) == offered


def test_no_more_than_a_dozen_is_offered(session_at):
    assert len(completions(session_at(LATER_S), "deal")) == 12
    assert len(completions(session_at(LATER_S), "")) == 12


def test_a_node_is_found_by_its_index_and_what_is_exact_comes_first(session_at):
    session = session_at(LATER_S)
    found = find(session, "n2")
    assert (found.view, found.key) == ("nodes", session.nodes().nodes()[2])
    found = find(session, "DEAL-7")
    assert (found.view, found.model.identity_of(found.key)) == ("tasks", "deal-7")
    assert find(session, "risk").view == "jobs"
    assert find(session, "n99") is None


@pytest.mark.parametrize(
    ("text", "near"),
    [("taks", "tasks"), ("rsik", "risk"), ("sped", "speed"), ("dael-7", "deal-7"), ("repotr out.md", "report")],
)
def test_the_nearest_name_is_told(session_at, text, near):
    said = not_found(session_at(LATER_S), text, "ctrl+p")
    assert said == f"No view, command or id is called {text!r}: did you mean {near!r}?"


def test_where_nothing_is_near_it_is_told_where_all_commands_are(session_at):
    said = not_found(session_at(LATER_S), "frobnicate", "ctrl+p")
    assert said.startswith("No view, command or id is called 'frobnicate'. ")
    assert "ctrl+p" in said


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("stat", "statistics"),
        ("crit", "critical path"),
        ("pre", "preparation"),
        ("preparation t", "preparation"),
        ("job", "jobs"),
        ("Expec", "expectations"),
        ("sp 60", "speed 60"),
        ("st", "st"),
        ("risk", "risk"),
        ("deal-7", "deal-7"),
        ("time 1:00", "time 1:00"),
        ("", ""),
    ],
)
def test_the_beginning_of_one_command_stands_for_it(session_at, text, command):
    assert written_out(session_at(LATER_S), text) == command


def test_an_id_is_not_taken_for_the_beginning_of_a_command(session_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.go_line.COMMANDS", ("risky",))
    assert written_out(session_at(LATER_S), "risk") == "risk"


def test_the_beginning_of_several_commands_tells_them(session_at):
    said = not_found(session_at(LATER_S), "st", "ctrl+p")
    assert said == "'st' begins several commands: statistics, storage, study."


def test_the_go_line_opens_tabs_and_settings(dashboard_at):
    shown = {"stat": "Waiting", "critical path": "The chain of tasks that ends last", "theme": "Settings"}
    seen = []
    drive(dashboard_at(LATER_S), *chain.from_iterable((*typed(f":{text}"), "enter", look(seen)) for text in shown))
    for (text, part), lines in zip(shown.items(), seen, strict=True):
        assert contains(lines, part), text


def test_a_time_is_gone_to(dashboard_at):
    moments_s = {"+5s": 335, "end": 478, "-30s": 448, "08:01:20": 80, "PT1M": 60, "1m30": 90}
    seen = {}

    def note(text):
        return lambda app: seen.update({text: (app.session.now_ms, messages_of(app))})

    drive(dashboard_at(LATER_S), *chain.from_iterable((":", *typed(text), "enter", note(text)) for text in moments_s))
    assert seen == {text: (seconds * 1000, []) for text, seconds in moments_s.items()}


def test_a_time_before_the_run_is_told_as_such(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), *typed(":07:00"), "enter", lambda app: seen.extend(messages_of(app)))
    assert seen[0].startswith("07:00 is before the run")


def test_a_number_in_an_id_is_searched_for(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), *typed(":39"), "enter", lambda app: seen.append(app.session.now_ms))
    assert seen == [LATER_S * 1000]


def test_a_text_that_cannot_be_used_stays_to_be_corrected(dashboard_at):
    rows = [
        ("t", "99:99:99x", "'99:99:99x' is not a time", "1m", ("watch", 60_000)),
        ("colon", "speed fast", "'fast' is not a speed", "pools", ("pools", 60_000)),
        ("colon", "seed x", "'x' is not a seed", "jobs", ("jobs", 60_000)),
        ("colon", "nowhere", "No view, command or id is called", "tasks", ("tasks", 60_000)),
    ]
    seen, places = [], []

    def note(app):
        places.append((app.main_screen.view.id, app.session.now_ms))

    steps = ((key, *typed(text), "enter", look(seen), "ctrl+u", *fix, "enter", note) for key, text, _, fix, _ in rows)
    drive(dashboard_at(LATER_S), *chain.from_iterable(steps))
    for (_, text, wrong, _, after), lines, place in zip(rows, seen, places, strict=True):
        assert contains(lines, wrong), text
        assert contains(lines[-1:], text)
        assert place == after, text


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_tab_takes_what_is_offered(dashboard_at, size):
    seen = []
    drive(
        dashboard_at(LATER_S),
        ":",
        *typed("prep"),
        lambda app: seen.append(text_of(app)),
        *("tab", "enter"),
        lambda app: seen.append(app.screen.view.id),
        size=size,
    )
    assert "tab preparation  preparation tasks" in seen[0][-2]
    assert seen[1] == "preparation"


def test_q_leaves_the_blade_of_a_thing(dashboard_at):
    seen = []
    drive(
        dashboard_at(LATER_S),
        *("3", "enter"),
        lambda app: seen.append(app.main_screen.view.id),
        "q",
        lambda app: seen.append((app.main_screen.view.id, len(app.screen_stack))),
        "q",
        lambda app: seen.append(len(app.screen_stack)),
    )
    assert seen == ["detail", ("nodes", 1), 2]


def test_statistics_are_a_word_of_the_go_line(dashboard_at):
    seen = []
    drive(dashboard_at(330), "colon", *"statistics", "enter", lambda app: seen.append(text_of(app)))
    assert any("[Statistics]" in each for each in seen[0])
    assert any("Run times" in each for each in seen[0])


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.name)
def test_another_seed_is_shown_from_each_view_though_the_view_that_goes_waited_to_be_drawn(dashboard_at, tab):
    app, seeds = dashboard_at(LATER_S), []
    drive(app, tab.key, "colon", *typed("seed 5"), "enter", lambda app: seeds.append(app.session.simulation.seed))
    assert seeds == [5]
