"""Preempted nodes are told from live ones wherever nodes and their slots are counted."""

from __future__ import annotations

import pytest

from tui.viewmodels import properties as words
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.pool_pages import PoolDetailModel
from tui.viewmodels.text import ItemRef, plain
from tui.viewmodels.watch import job_strip

NIGHT_S = 4800  # of nine nodes four are preempted, and a task runs on each of the others


@pytest.fixture
def night(session_at):
    return session_at(NIGHT_S, "spot-night-run")


def test_the_jobs_strip_counts_live_nodes_and_their_slots(night):
    assert "steady 5/9 nodes, 4 preempted" in job_strip.rail_title(night, 120)
    assert "slots 5/5 in use, 100%" in job_strip.rail_subtitle(night, 116, has_pool=False)


def test_the_list_of_pools_has_a_number_for_each_state_and_the_use_of_live_slots(night):
    model = PoolsModel(night)
    model.update()
    cells = {column.name: cell.text for column, cell in zip(model.columns, model.cells(0), strict=True)}
    assert cells["Node counts"] == "◉5 ▾4"
    assert cells["Utilisation"].split() == ["100%", "of", "5"]
    assert cells["Spot"] == "4/8"


def test_the_page_of_a_pool_has_the_same_numbers(night):
    page = PoolDetailModel(night, ItemRef("pool", "farm"))
    head = " ".join(map(plain, page.head(100)))
    assert "5/9 nodes, 4 preempted" in head
    assert "slots 5/5 in use, 100%" in head
    assert dict(words.pool_general(night, night.pool("farm")).rows)["Utilisation"].text == "5 of 5 usable slots"


def test_slots_of_nodes_that_are_starting_cannot_be_used_yet(session_at):
    pool = session_at(60, "spot-night-run").pool("farm")
    assert pool.nodes == 9
    assert pool.usable_slots == 0
    assert words.slot_words(pool) == ""


def test_broken_and_unreachable_nodes_are_counted_beside_the_size_of_the_pool(session_at):
    session = session_at(301, "nodes-fail-and-recover")
    assert "steady 14/14 nodes, 8 unusable, 6 unknown" in job_strip.rail_title(session, 120)


def test_the_phase_of_a_preempted_node_has_room_in_the_list_of_nodes(session_at):
    model = NodesModel(session_at(320, "spot-evictions"))
    model.update()
    column = [column.name for column in model.columns].index("Focus job")
    said = {model.cells(key)[column].text for key in model.order()}
    assert "≃ would rerun" in said
    assert max(map(len, said)) <= 15
