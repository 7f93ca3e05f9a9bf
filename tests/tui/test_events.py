"""The blade Events: what was done by hand, and each line a way to its moment."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain

import pytest

from engine import load_scenario
from engine.specs import commands as c
from tests.tui.driving import drive, typed
from tests.tui.screen_text import after, contains, text_of
from tui.viewmodels.format import what
from tui.viewmodels.lists import events
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.filters import field_name, matcher, parse_filter
from tui.viewmodels.text import ItemRef, plain

LATER_S = 330


def model_at(session, **modes):
    model = EventsModel(session)
    for name, value in modes.items():
        setattr(model, name, value)
    model.update()
    return model


def texts(model, key):
    return [span.text for span in model.cells(key)]


def test_fields_that_are_true_or_false_are_written_as_json(session_at):
    model = model_at(session_at(10, "a-day-of-autoscaling"))
    blocks = [block for at in range(model.count) for block in model.details(model.key(at))]
    values = {row[1].text for block in blocks for row in block.rows if row[0] == "enableAutoScale"}
    assert values == {"true"}


def test_a_command_that_a_process_gives_is_named_and_is_no_chance(session_at):
    session = session_at(500, "job-manager-adds-tasks")
    rows = [row for row in map(session.events.row, range(session.events.count)) if row.task_id == "manager"]
    said = {row.event: what(row) for row in rows if row.event.startswith("Command")}
    assert said["CommandAccepted"].startswith("addTasks jobId book tasks [2]")
    assert said["CommandRefused"].startswith("addTasks TaskExists: ")


def test_a_resize_names_the_nodes_of_both_kinds(session_at):
    events = session_at(60, "spot-night-run").events
    sizes = [what(events.row(at)) for at in range(events.count) if "Resize" in events.row(at).event]
    assert sizes == ["0 of 1 dedicated, 0 of 8 Spot", "1 of 1 dedicated, 8 of 8 Spot"]


def test_packages_and_refusals_name_what_they_are_about_first(session_at):
    session = session_at(1600, "a-new-version-of-the-pricer")
    rows = list(map(session.events.row, range(session.events.count)))
    said = [what(row) for row in rows if "Application" in str(row.fields.get("command"))]
    assert said[:3] == ["pricer 2.0 size 1.0 GB", "pricer defaultVersion 2.0", "pricer 2.0 size 3.0 GB"]
    refused = next(row for row in rows if row.event == "CommandRefused")
    assert what(refused).startswith("OperationInvalidForCurrentState: pricer has allowUpdates: false")


def test_on_a_narrow_screen_the_reason_of_a_refusal_is_whole(dashboard_at):
    lines = after(dashboard_at(400, "what-a-pool-is-refused-for"), "9", "exclamation_mark", "home", size=(80, 24))
    assert contains(lines, "InvalidPropertyValue: nodeAgentSKUId is", "image Canonical ubuntu-24_04-lts")


def test_what_was_done_by_hand_is_listed_in_script_form(session_at, tmp_path):
    session = session_at(LATER_S)
    simulation = session.simulation
    simulation.submit(c.DisableJob.from_wire({"jobId": "risk", "disableTasks": "requeue"}))
    with pytest.raises(Exception, match="JobNotFound"):
        simulation.submit(c.EnableJob.from_wire({"jobId": "risk2"}))
    session.update()
    model = model_at(session, is_by_hand=True)
    lines = [texts(model, model.key(at))[2] for at in range(model.count)]
    assert lines == [
        "- {at: PT5M30.001S, disableJob: {jobId: risk, disableTasks: requeue}}",
        "- {at: PT5M30.002S, enableJob: {jobId: risk2}, refused: JobNotFound}",
    ]
    path = tmp_path / "again.yaml"
    body = {
        "scenario": "again",
        "pools": [{"id": "shared", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}],
        "jobs": [{"id": "risk", "poolInfo": {"poolId": "shared"}}],
    }
    timeline = "\ntimeline:\n  " + "\n  ".join(lines) + "\n"
    path.write_text(
        "\n".join(f"{key}: {json.dumps(value)}" for key, value in body.items()) + timeline, encoding="utf-8"
    )
    assert [entry.at_ms for entry in load_scenario(str(path)).timeline] == [330_001, 330_002]


def test_a_key_shows_what_was_done(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def look(app):
        seen.append(text_of(app))

    drive(app, *("3", "a", "enter", "enter", "X"), look, "X", "home", look)
    assert contains(seen[0], "- {at: PT5M30.001S, rebo", "R saves them as a scenario", "Events 1")
    assert not contains(seen[1], "R saves them as a scenario")


ABOUT = {
    "kind:task deal-7": ("task", "deal-7"),
    "kind:preparation": ("node", "preparation"),
    "kind:node": ("node", "n0"),
    "kind:job": ("job", "risk"),
    "kind:allocation": ("pool", "shared"),
}


def test_enter_opens_what_an_event_is_about_at_its_moment(dashboard_at):
    app = dashboard_at(LATER_S)
    keys, seen = [], []

    def note(app):
        session, screen = app.session, app.screen
        is_there = session.is_past and session.now_ms == session.events.when_ms(keys[-1])
        seen.append((is_there, screen.subject, screen.view.id, text_of(app)))

    to_present = ("t", *f"{LATER_S}", "enter", "9", "slash", "ctrl+u")
    key_of = lambda app: keys.append(app.screen.view.table.key)  # noqa: E731
    ways = ((*to_present, *typed(text), "enter", "home", key_of, "enter", note) for text in ABOUT)
    drive(app, *chain.from_iterable(ways))
    assert len({*keys}) == len(ABOUT)
    for (text, (kind, there)), (is_there, subject, view, lines) in zip(ABOUT.items(), seen, strict=True):
        assert is_there, text
        assert subject.kind == kind, text
        assert view == ("preparation" if there == "preparation" else "detail"), text
        assert contains(lines, there.capitalize() if there == "preparation" else there), text


def test_events_begin_at_the_present_and_follow_it_until_the_cursor_moves(dashboard_at):
    app, seen = dashboard_at(LATER_S), []

    def note(app):
        table = app.screen.list_page.table
        seen.append((table.cursor_row == table.row_count - 1, table.follows))

    drive(app, "9", note, "full_stop", note, "up", note, "1", "9", note)
    assert seen == [(True, True), (True, True), (False, False), (False, False)]


def test_what_stands_around_the_list_is_of_that_moment_too(dashboard_at):
    seen = []
    line = lambda app: seen.append(text_of(app)[3])  # noqa: E731
    drive(dashboard_at(LATER_S), "6", line, "9", "slash", *typed("kind:preparation"), "enter", "home", "enter", line)
    assert "3 prepared" in seen[0]
    assert "prepared" not in seen[1]


def test_a_command_leads_to_what_it_names(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(app, *("A", "down", "enter", "enter", "X", "enter"), lambda app: seen.append(app.screen.subject))
    assert seen == [ItemRef("job", "risk")]
    assert app.session.job_id == "risk"


def test_a_script_of_several_lines_takes_one_line_of_the_footer(dashboard_at):
    lines = after(dashboard_at(400, "shell-in-preparation"), "6")
    at = next(number for number, each in enumerate(lines) if "command line  /bin/sh" in each)
    assert "set -eu data=" in lines[at]
    assert "wait for success" in lines[at + 1]
    assert lines[-1].lstrip().startswith("space")


def test_the_words_of_a_creation_begin_with_what_the_entity_does_not_say(session_at):
    model = model_at(session_at(600, "priorities-and-fairness"))
    made = [texts(model, key) for key in (model.key(at) for at in range(model.count))]
    (urgent,) = [row for row in made if row[2].startswith("createJob") and row[3] == "urgent"]
    assert urgent[2].startswith("createJob priority 500")


def test_a_run_without_failures_says_so_when_only_failures_are_shown(session_at):
    model = EventsModel(session_at(30, "shared-pool-two-jobs"))
    model.only_failed = True
    model.update()
    assert model.nothing_shown() == ("No event tells of a failure.", "! shows all.")


def test_a_filter_of_a_long_log_says_how_far_it_has_come(session_at, monkeypatch):
    monkeypatch.setattr(EventsModel, "at_once", 5)
    monkeypatch.setattr(events, "PIECE", 7)
    session = session_at(LATER_S)
    model = model_at(session, filter_text="kind:node")
    total, seen = session.events.count, []
    assert "0% searched" in plain(model.arrangement())
    while model.sort_some():
        searched = min(total, len(seen) * 7 + 7)
        assert f"{searched / total:.0%} searched" in plain(model.arrangement())
        seen.append([model.key(at) for at in range(model.count)])
        assert seen[-1] == [at for at in range(searched) if texts(model, at)[1] == "node"]
        assert all(model.index_of(key) == at for at, key in enumerate(seen[-1]))
    assert len(seen) == -(-total // 7)
    assert [model.key(at) for at in range(model.count)] == [at for at in range(total) if texts(model, at)[1] == "node"]
    assert "searched" not in plain(model.arrangement())
    assert f"{total - model.count:,} hidden" in plain(model.arrangement())


@pytest.mark.parametrize("time_format", ["clock", "utc", "elapsed"])
@pytest.mark.parametrize(
    "name",
    ["mpi-in-trouble", "job-manager-adds-tasks", "spot-night-run", "what-a-pool-is-refused-for", "one-node-fails"],
)
def test_a_filter_finds_the_same_events_as_their_texts_do(session_at, name, time_format):
    session = session_at(LATER_S, name)
    session.time_format = time_format
    model = model_at(session)
    shown = [texts(model, at) for at in range(session.events.count)]
    names = [session.events.row(at).event.lower() for at in range(session.events.count)]
    words = Counter(word for cells in shown for word in " ".join(cells[1:]).lower().split())
    rare = sorted((word for word in words if ":" not in word and "*" not in word), key=lambda word: (words[word], word))
    for word in {*rare[:: len(rare) // 20 + 1], "task", "n1", "j", "→", "1", "none", "gone"}:
        for text, holds in (
            (word, lambda cells, word=word: any(word in cell.lower() for cell in cells[1:])),
            (f"!{word}", lambda cells, word=word: not any(word in cell.lower() for cell in cells[1:])),
        ):
            model.filter_text = text
            found = [
                at
                for at, (cells, name) in enumerate(zip(shown, names, strict=True))
                if (text == word if name.startswith(word) else holds(cells))
            ]
            assert rows_of(model) == found, text
    for column, name_of in enumerate(EventsModel(session).columns):
        for text in {shown[0][column], shown[-1][column], "n1", "1"} - {""}:
            value = text.split()[-1].lower()
            field = field_name(name_of.name)
            for filter_text in (f"{field}:{value}", f"{field}:!<{value}"):
                (term,) = parse_filter(filter_text)
                model.filter_text = filter_text
                holds, begun = matcher(term), value if column == 2 and not term.operator else " "
                found = [
                    at
                    for at, (cells, name) in enumerate(zip(shown, names, strict=True))
                    if holds(cells[column]) or name.startswith(begun)
                ]
                assert rows_of(model) == found, filter_text


@pytest.mark.parametrize("is_by_hand", [False, True])
def test_events_are_found_by_their_names_in_the_log(session_at, is_by_hand):
    session = session_at(LATER_S)
    session.simulation.submit(c.DisableJob.from_wire({"jobId": "risk", "disableTasks": "requeue"}))
    session.update()
    events = [session.events.row(at).event for at in range(session.events.count)]
    model = model_at(session, is_by_hand=is_by_hand)
    there = rows_of(model)
    for name in ("CommandAccepted", "TaskStateChanged", "JobPreparationTaskStateChanged"):
        found = [at for at in there if events[at] == name]
        assert found or is_by_hand
        for text in (name, f"event:{name}", f"event:{name.lower()[:-2]}", f"event:{name[:-3]}*", f'"{name}"'):
            model.filter_text = text
            assert rows_of(model) == found, text
            model.filter_text = f"!{text}"
            assert rows_of(model) == [at for at in there if at not in found], text


def test_events_are_found_by_an_exit_code_and_not_by_ids_that_contain_it(session_at):
    session = session_at(2000, "retries-and-exit-conditions")
    rows = list(map(session.events.row, range(session.events.count)))
    codes = {row.fields["exitCode"] for row in rows if "exitCode" in row.fields}
    model = EventsModel(session)
    assert len(codes) > 1
    for code in codes:
        model.filter_text = f"exit:{code}"
        assert rows_of(model) == [at for at, row in enumerate(rows) if row.fields.get("exitCode") == code]


def rows_of(model):
    model.update()
    return [model.key(at) for at in range(model.count)]


def test_events_say_that_they_stand_in_the_order_of_time_instead_of_being_sorted(dashboard_at):
    seen = after(dashboard_at(LATER_S), "9", "o")
    assert contains(seen, "Events stand in the order of time.")
    assert not contains(seen, "Time▲")
