"""Cards and lines of nodes, cells that stand for many, and the ways of the cursor on them."""

from __future__ import annotations

import pytest

from engine.views.diagnosis.nodes import why_node
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, run_to, simulation, some_tasks
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tests.tui.test_node_map import many
from tui.app.dashboard import Dashboard
from tui.viewmodels.lists.pools import node_general, node_tasks
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain, width
from tui.viewmodels.watch.node_cards import Cards, MapLines
from tui.viewmodels.watch.node_map import Form, Layout, Lens, NodeMapModel
from tui.widgets.charts import NodeMap

EACH_SIZE = [(200, 60), (120, 40), (80, 24)]


@pytest.fixture
def working():
    """Two nodes of two slots; on the first a task is over and two run, the second has failed to prepare."""
    prep = a_line(10, simulate={"stdout": "fetched 4 GB\n", "onNode": {1: {"exitCode": 3}}})
    tasks = [a_task(f"t{number}", 30 * number, simulate={"stdout": f"one\nNPV {number}\n"}) for number in (1, 2, 3)]
    job = a_job(tasks=tasks, prep=prep | {"constraints": {"maxTaskRetryCount": 0}})
    sim = simulation(job, pool=a_pool(nodes=2, taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 60)
    return sim


def model_of(sim, **how):
    model = NodeMapModel(Session(sim, **how))
    model.update()
    return model


def card(model, index, cells=60, lines=9, *, is_cursor=False):
    drawn = Cards(model).card(index, cells, lines, is_cursor=is_cursor)
    assert len(drawn) == lines
    assert all(width(each) <= cells for each in drawn)
    return [plain(each) for each in drawn]


def test_a_card_tells_what_a_node_is_and_does(working):
    lines = card(model_of(working), 0)
    assert lines[0].startswith("n0 ◉ running  ██ 2/2 slots  ✓ prepared")
    assert lines[1].split()[:4] == ["◉", "t2", "18", "s"]
    assert lines[1].rstrip().endswith("43 s left")
    assert "◉ t3" in lines[2]
    assert lines[3].startswith("  prep ✓ 11 s")
    assert lines[4].startswith("  t1: one")
    assert lines[5].startswith("    NPV 1")


def test_the_last_output_on_a_node_of_several_jobs_says_whose_it_is():
    said = a_line(10, 7, simulate={"stderr": "no space left\n"}, constraints={"maxTaskRetryCount": 0})
    sim = simulation(a_job("First", prep=said), a_job("next", prep=a_line(10)))
    run_to(sim, seconds=READY_S + 60)
    model = model_of(sim)
    model.session.focus_job("next")
    model.update()
    lines = card(model, 0)
    assert any(each.startswith("  First/jobpreparation: no space left") for each in lines), lines


def test_the_bar_of_a_task_grows_with_its_time(working):
    def done(sim):
        return card(model_of(sim), 0)[2].count("━")

    before = done(working)
    run_to(working, seconds=READY_S + 90)
    assert 0 < before < done(working)


def test_a_task_that_was_requeued_has_not_failed(working):
    do(working, "rebootNode", poolId="p", nodeId=working.world.nodes[0].id, nodeRebootOption="requeue")
    model = model_of(working)
    assert "3 tasks run, 2 interrupted" in card(model, 0)[1]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("taskcompletion", "leaves the pool when its tasks end"),
        ("retaineddata", "leaves the pool when its files are no longer retained"),
    ],
)
def test_a_card_tells_what_will_become_of_a_node(option, words):
    sim = many(2)
    do(sim, "removeNodes", poolId="p", nodeList=[0], nodeDeallocationOption=option)
    run_to(sim, seconds=READY_S + 10)
    model = model_of(sim)
    assert card(model, 0, 90)[0].startswith(f"n0 ◉ running, {words}  █ 1/1 slot")
    assert dict(node_general(model.session, model.page.row(0)).rows)["Next"].text == words
    assert "leaves" not in card(model, 1, 90)[0]


def test_a_phase_that_just_fits_is_not_cut(session_at):
    model = NodeMapModel(session_at(1200, "nodes-for-a-deadline"))
    model.update()
    assert "prep ▸ 17:07, 11:14 left" in card(model, 3, 28, 3)[2]
    assert "…" not in "".join(card(model, 3, 28, 3))


def test_a_card_tells_when_a_spot_node_is_evicted(session_at):
    model = NodeMapModel(session_at(3672, "spot-night-run"))
    model.update()
    assert card(model, 1, 90)[0].startswith("n1 ◉ running, evicted at 20:01:30")


def test_a_card_tells_why_a_node_does_nothing(working):
    lines = card(model_of(working), 1)
    assert lines[0].startswith("n1 . idle  ░░ 0/2 slots  ✗ failed")
    assert lines[1].split()[0] == "for"
    assert "prep ✗ 11 s exit 3" in lines[2]


def test_a_low_card_has_no_frame_and_counts_the_tasks_that_it_cannot_name(working):
    lines = card(model_of(working), 0, 30, 3)
    assert lines[0].startswith("n0 ◉ running  ██ 2/2 slots")
    assert lines[1].split() == ["◉", "t2", "18", "s", "━━─────", "+1"]
    assert lines[2].strip() == "prep ✓ 11 s"


def test_cards_and_lines_are_ascii_where_that_is_asked_for(working):
    model = model_of(working, ascii_only=True)
    assert all(line.isascii() for index in (0, 1) for line in card(model, index))
    lines = [plain(Cards(model).line(index, 90, is_cursor=False)) for index in (0, 1)]
    assert all(line.isascii() for line in lines)
    assert lines[0].startswith("n0 # running")
    assert "+ prepared" in lines[0]
    assert "X failed" in lines[1]


def test_a_task_has_its_jobs_name_once_several_jobs_use_the_pool():
    jobs = [a_job(name, tasks=[a_task("t1", 600)]) for name in ("day", "night")]
    sim = simulation(*jobs, pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 60)
    lines = card(model_of(sim), 0)
    assert "◉ day/t1 " in lines[1]
    assert "◉ night/t1 " in lines[2]


# -- cells for many nodes ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hundred():
    """A hundred Spot nodes that work, of which one is unusable and one is preempted."""
    pool = a_pool(nodes=0, targetLowPriorityNodes=100)
    timeline = [
        {"at": READY_S + 2, "failNode": {"poolId": "p", "node": 37, "state": "unusable"}},
        {"at": READY_S + 1, "evictNode": {"poolId": "p", "node": 64}},
    ]
    sim = simulation(
        a_job(tasks=[a_task(f"t{number}", 900) for number in range(120)]),
        pool=pool,
        timeline=timeline,
        account={"quotas": {"dedicatedCores": 900, "lowPriorityCores": 900}},
    )
    run_to(sim, seconds=READY_S + 35)
    return sim


GROUPS = Layout(Form.GROUP, 5, 1, nodes=10, label=4)


def symbols(model, layout=GROUPS, cursor=None):
    rows = range(layout.rows(len(model.nodes)))
    lines = [each for row in rows for each in MapLines(model).row(row, layout, cursor)]
    return "".join(plain(each)[layout.label :] for each in lines)


def test_a_cell_for_many_shows_the_failure_among_them_else_what_most_are(hundred):
    model = model_of(hundred)
    model.look_through(Lens.STATE)
    assert symbols(model) == "◉◉◉⊗◉◉◉◉◉◉"
    assert "10 a cell: any failure, else most" in model.title(100, GROUPS)
    assert "10 a cell, failures first" in model.title(60, GROUPS)
    assert "100 nodes" in model.title(20, GROUPS)


def test_a_cell_of_which_half_has_failed_is_filled(hundred):
    model = model_of(hundred)
    model.look_through(Lens.STATE)

    def fills(nodes):
        layout = GROUPS._replace(nodes=nodes)
        lines = [each for row in range(layout.rows(100)) for each in MapLines(model).row(row, layout, None)]
        return [span.text for line in lines for span in line if span.is_fill]

    assert fills(10) == []
    assert fills(2) == ["⊗"]


def test_the_legend_counts_the_nodes_in_view(hundred):
    model = model_of(hundred)
    model.look_through(Lens.STATE)
    assert sum(count for _, count in model.counts()) == 100


def test_only_changed_rows_are_made_anew(hundred):
    model = model_of(hundred)
    lines = MapLines(model)
    before = [lines.row(row, GROUPS, None)[0] for row in range(2)]
    model.update()
    assert all(lines.row(row, GROUPS, None)[0] is before[row] for row in range(2))
    assert lines.row(0, GROUPS, 10)[0] is not before[0]


# -- the cursor ----------------------------------------------------------------------------------------------------


def cursors_after(app, *keys, size=(120, 40)):
    seen = []

    def note(app):
        seen.append(app.screen.query_one(NodeMap).cursor)

    drive(app, *(step for key in keys for step in (key, note)), size=size)
    return seen


@pytest.mark.parametrize("size", EACH_SIZE)
def test_the_cursor_stays_at_the_edges(size):
    app = Dashboard(many(3), plays=False)
    layouts = []
    keys = ["end", "right", "down", "home", "up", "left"]
    seen = []
    drive(
        app,
        lambda app: layouts.append(app.screen.query_one(NodeMap).layout_now),
        *(step for key in keys for step in (key, lambda app: seen.append(app.screen.query_one(NodeMap).cursor))),
        size=size,
    )
    assert seen == [2, 2, 2, 0, 0, 0]


def test_down_in_a_single_row_stays_where_it_is():
    app = Dashboard(many(5), plays=False)
    seen = []

    def squeeze(app):
        node_map = app.screen.query_one(NodeMap)
        node_map.model.layout = lambda *_: Layout(Form.NAME, 8, 6)
        node_map.move_to(1)

    drive(
        app,
        squeeze,
        *("down", "up", "pagedown", "pageup"),
        lambda app: seen.append(app.screen.query_one(NodeMap).cursor),
    )
    assert seen == [1]


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (Layout(Form.CARD, 8, 10, 4), [1, 9, 17, 16, 94, 6, 94, 86]),
        (Layout(Form.CELL, 10, 2, label=4), [1, 11, 21, 20, 94, 4, 94, 84]),
        (Layout(Form.GROUP, 4, 1, nodes=5, label=4), [5, 25, 45, 40, 90, 10, 90, 70]),
    ],
)
def test_the_cursor_moves_as_in_a_grid_at_every_scale(layout, expected):
    app = Dashboard(many(95), plays=False)
    seen = []

    def choose(app):
        app.screen.query_one(NodeMap).model.layout = lambda *_: layout

    def note(app):
        seen.append(app.screen.query_one(NodeMap).cursor)

    keys = ("right", "down", "down", "left", "end", "pageup", "pagedown", "up")
    drive(app, choose, *(step for key in keys for step in (key, note)), size=(120, 140))
    assert seen == expected


def test_enter_goes_to_the_worst_node_of_a_cell_in_the_list_of_nodes_and_esc_comes_back(hundred):
    app = Dashboard(hundred, plays=False)
    seen = []

    def choose(app):
        node_map = app.screen.query_one(NodeMap)
        node_map.model.look_through(Lens.STATE)
        node_map.model.layout = lambda *_: GROUPS
        node_map.move_to(30)

    def note(app):
        seen.append((app.screen.view.id, app.screen.under_cursor))

    drive(app, choose, "enter", note, "escape", note)
    assert seen == [("nodes", ItemRef("node", 37)), ("watch", ItemRef("node", 37))]


def test_a_cell_for_many_stands_for_its_worst_node_and_all_are_acted_on(hundred):
    app = Dashboard(hundred, plays=False)
    seen = []

    def choose(app):
        node_map = app.screen.query_one(NodeMap)
        node_map.model.look_through(Lens.STATE)
        node_map.model.layout = lambda *_: GROUPS
        node_map.move_to(30)
        seen.append((node_map.subject, len(node_map.subjects)))

    drive(app, choose, "a", lambda app: seen.append(text_of(app)))
    assert seen[0] == (ItemRef("node", 37), 10)
    assert contains(seen[1], "Act on 10 nodes")


@pytest.mark.parametrize("size", EACH_SIZE)
def test_the_pane_wishes_for_no_more_rows_than_its_nodes_can_fill(size):
    app = Dashboard(many(40), plays=False)
    wishes = []
    drive(app, lambda app: wishes.append(app.screen.query_one("#map-pane").wish(size[0] // 2, size[1])), size=size)
    (wish,) = wishes
    assert wish.least <= wish.best <= wish.most <= size[1] // 2 + 1


def test_a_time_that_has_no_room_in_a_line_is_left_out(working):
    model = model_of(working)
    wide, narrow = (plain(Cards(model).line(1, cells, is_cursor=False)) for cells in (60, 34))
    assert ", since 08:0" in wide
    assert "for " in narrow
    assert "since" not in narrow
    assert "…" not in narrow


@pytest.mark.parametrize("size", EACH_SIZE)
def test_cards_with_output_fill_their_pane(size, session_at):
    app = Dashboard(session_at(200, "output-to-read").simulation, plays=False)
    empty = []

    def note(app):
        node_map = app.screen.query_one(NodeMap)
        layout = node_map.layout_now
        assert layout.form is not Form.CARD or layout.height(2) > size[1] // 4
        empty.append(node_map.size.height - layout.height(2))

    drive(app, note, size=size)
    assert empty[0] < 3 or size == (80, 24)


def test_a_card_is_no_higher_than_its_output(session_at):
    session = session_at(200, "output-to-read")
    model = NodeMapModel(session)
    model.update()
    assert model.needs().card_most - model.needs().card == 3
    assert card(model, 0, lines=model.needs().card_most)[-2].strip() != ""


def test_the_cursor_on_a_card_is_seen_without_colour(working):
    model = model_of(working)
    head = Cards(model).card(0, 60, 9, is_cursor=True)[0]
    assert [span.text for span in head if span.is_fill] == ["n0"]


def test_cards_are_as_high_as_what_their_nodes_have_to_say():
    sim = simulation(
        a_job(tasks=[a_task(f"t{at}", 300) for at in range(8)], prep=a_line(20)),
        pool=a_pool(nodes=2, taskSlotsPerNode=4),
    )
    run_to(sim, seconds=READY_S - 5)
    model = model_of(sim)
    assert model.needs().card == 3  # name, time, and a line between cards
    run_to(sim, seconds=READY_S + 30)
    model.session.update()
    model.update()
    assert model.needs().card == 1 + 4 + 1 + 1  # four tasks and preparation
    assert [each for each in map(str.strip, card(model, 0, lines=model.needs().card)) if not each] == [""]  # space


def test_a_card_shows_what_a_failed_preparation_has_written(session_at):
    model = model_of(session_at(200, "output-to-read").simulation)
    lines = card(model, 1, lines=model.needs().card_most)
    assert [each.strip() for each in lines[3:6]] == [
        "jobpreparation: fetch: source reachable",
        "unpack: no space left on device",
        "exit 5",
    ]


def test_preparation_and_release_stand_closer_where_that_keeps_the_duration_of_the_release():
    job = a_job(prep=a_line(10), release=a_line(21), onAllTasksComplete="terminatejob")
    sim = simulation(job, pool=a_pool(nodes=1))
    run_to(sim, minutes=10)
    model = model_of(sim)
    assert "  prep ✓ 11 s   release ∎ 22 s" in card(model, 0, 32)
    assert "  prep ✓ 11 s release ∎ 22 s" in card(model, 0, 29)


def test_a_node_that_prepares_lists_its_task_as_preparing_and_says_who_takes_the_slot():
    sim = simulation(a_job(tasks=some_tasks(1, 60), prep=a_line(60)))
    run_to(sim, seconds=READY_S + 30)
    session = Session(sim)
    [block] = node_tasks(session, session.nodes().row(0))
    assert (block.title, [(label, span.text) for label, span in block.rows]) == (
        "Tasks on this node",
        [("j", "t1, preparing")],
    )
    said = why_node(sim.world, 0).lines()
    note = "Preparation of job j is running here; it uses no slot; the tasks that wait for it do. [PREP-21]"
    assert note in said
