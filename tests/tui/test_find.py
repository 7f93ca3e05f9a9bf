"""The search for a name everywhere: grouped, counted, a slice at a time, and enter goes there."""

from __future__ import annotations

import asyncio
import json

import pytest

from engine import Simulation, load_scenario
from tests.tui.conftest import simulation_at
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tests.work import steps_of
from tui.viewmodels.items import FileLocation
from tui.viewmodels.search import MOST_HITS, Search, WholeList, search_heading, search_lines
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain, width

LATER_S = 330


def found(session, text):
    """The groups with their numbers, the lines and what they lead to."""
    search = Search(session, text)
    while search.advance(1):
        pass
    lines, targets = search_lines(search, 100)
    assert all(width(spans) <= 100 for _, spans in lines)
    return {group.title: group.count for group in search.groups if group.count}, lines, targets


def test_a_text_is_found_in_every_kind_of_name_with_the_number_of_each(session_at):
    counts, lines, targets = found(session_at(LATER_S), "deal-1")
    assert counts["Tasks"] == 11
    assert counts["Events"] > 11
    assert counts["Files"] == 0 if "Files" in counts else True
    assert targets[0] == ItemRef("task", 0)  # deal-1 itself
    texts = [plain(spans) for _, spans in lines]
    assert texts[0].startswith("Tasks 11")
    assert "  and 3 more: show the list" in texts
    assert WholeList("tasks", "deal-1") in targets


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("shared", ItemRef("pool", "shared")),
        ("RISK", ItemRef("job", "risk")),
        ("n3", ItemRef("node", 3)),
    ],
)
def test_the_first_hit_is_the_item_of_this_name(session_at, text, target):
    assert found(session_at(LATER_S), text)[2][0] == target


def test_files_and_error_codes_are_found(session_at):
    session = session_at(LATER_S)
    assert any(isinstance(each, FileLocation) for each in found(session, "stderr")[2])
    assert found(session, "JobPreparationTaskFailed")[0] == {"Events": 2}


@pytest.mark.parametrize("text", ["evict", "evictNode"])
def test_commands_and_faults_are_found_by_their_names(text):
    session = Session(simulation_at(4 * 3600, "spot-night-run"))
    counts, lines, _ = found(session, text)
    assert counts == {"Events": 7}
    assert any("evictNode" in plain(spans) for _, spans in lines)


def test_command_lines_are_found_of_tasks_and_of_what_surrounds_them():
    session = Session(simulation_at(260, "pool-deleted-with-everything-in-it"))
    counts, lines, targets = found(session, "mount-scratch")
    assert counts["Command lines"] == 1
    assert ItemRef("pool", "genomics") in targets
    assert any("mount-scratch --size" in plain(spans) for _, spans in lines)
    session = Session(simulation_at(LATER_S))
    counts, _, targets = found(session, "price --deal 1")
    assert counts == {"Command lines": 11}
    assert {target.kind for target in targets} == {"task"}
    assert ItemRef("job", "risk") in found(session, "market")[2]


def test_less_than_two_characters_are_not_searched_for(session_at):
    session = session_at(LATER_S)
    assert found(session, "d") == ({}, [], [])
    assert plain(search_heading(Search(session, "d"))) == "Type at least two characters."


def test_what_is_nowhere_is_said(session_at):
    search = Search(session_at(LATER_S), "zebra")
    while search.advance(1):
        pass
    assert plain(search_heading(search)) == "No name, command line or event contains zebra."


def many_tasks(count):
    task = {"id": "t-{0}", "commandLine": "price", "simulate": {"duration": "PT1M"}}
    factory = {"parameterSets": [{"start": 1, "end": count}], "repeatTask": task}
    body = {
        "scenario": "many",
        "pools": [{"id": "p", "vmSize": "standard_f4s_v2", "targetDedicatedNodes": 1}],
        "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "taskFactory": {"type": "parametricSweep", **factory}}],
    }
    simulation = Simulation(load_scenario("many", text=json.dumps(body)))
    simulation.run_until(60_000)
    return Session(simulation)


def test_among_very_many_tasks_no_slice_takes_long_and_few_hits_are_kept():
    session = many_tasks(200_000)
    search, most = Search(session, "t-1"), 0
    is_open = True

    def advance():
        nonlocal is_open
        is_open = search.advance(1e-9)

    while is_open:
        most = max(most, steps_of(advance))
    (tasks,) = (group for group in search.groups if group.title == "Tasks")
    assert tasks.count == 111_111
    assert len(tasks.hits) == MOST_HITS
    assert most < 200_000  # not a step for each task


def with_nodes(count):
    body = {
        "scenario": "nodes",
        "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": count}],
        "account": {"quotas": {"dedicatedCores": 10_000}},
        "jobs": [
            {
                "id": "j",
                "poolInfo": {"poolId": "p"},
                "jobPreparationTask": {"commandLine": "prepare", "simulate": {"duration": "PT1S"}},
                "taskFactory": {
                    "type": "parametricSweep",
                    "parameterSets": [{"start": 1, "end": count}],
                    "repeatTask": {"id": "t-{0}", "commandLine": "work", "simulate": {"duration": "PT1M"}},
                },
            }
        ],
    }
    simulation = Simulation(load_scenario("nodes", text=json.dumps(body)))
    simulation.run_until(600_000)
    return Session(simulation)


def test_the_files_of_more_than_a_hundred_nodes_are_searched():
    session = with_nodes(150)
    search = Search(session, "stdout")
    while search.advance(1):
        pass
    (files,) = (group for group in search.groups if group.title == "Files")
    assert files.count > 250  # of preparation and of the task, on nearly every node
    assert files.note == ""


def test_what_a_long_search_leaves_out_is_said(monkeypatch):
    monkeypatch.setattr("tui.viewmodels.search.BUDGET_S", -1.0)
    search = Search(with_nodes(3), "stdout")
    while search.advance(1):
        pass
    said = [plain(spans) for _, spans in search_lines(search, 100)[0]]
    assert "Files 0  of the first 0 nodes; those of 3 were not searched" in said
    assert any(text.startswith("Events 0  of the newest 0; ") and text.endswith("not searched") for text in said)
    assert plain(search_heading(search)) == "0 found; not everything was searched"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_the_key_opens_it_it_searches_while_typed_and_enter_goes_there(dashboard_at, size):
    seen = []

    async def run():
        app = dashboard_at(LATER_S)
        async with app.run_test(size=size) as pilot:
            await pilot.press("ctrl+f", *"deal-12")
            while not app.screen.is_done:
                await asyncio.sleep(0.01)
            await pilot.pause()
            seen.append(text_of(app))
            await pilot.press("enter")
            await pilot.pause()
            seen.append(app.main_screen.view.subject)

    asyncio.run(run())
    assert contains(seen[0], "Find", "Tasks 1", "deal-12", "job risk", "Events")
    assert seen[1] == ItemRef("task", 11)


def test_the_go_line_searches_too(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), "colon", *"find", "space", *"risk", "enter", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Jobs 1", "risk")
