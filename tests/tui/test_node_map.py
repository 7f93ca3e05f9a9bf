"""The node map: where each node is, how it is drawn, what can be done there."""

from __future__ import annotations

import re

import pytest

from engine.base.terms import NodeState
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, run_to, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.session import Session
from tui.viewmodels.text import Role, plain, width
from tui.viewmodels.watch import node_map
from tui.viewmodels.watch.node_cards import Cards, MapLines
from tui.viewmodels.watch.node_map import LENSES, Form, Layout, Lens, Needs, NodeMapModel, layout_for
from tui.widgets.charts import NodeMap

LATER_S = 330


def model_of(sim, lens=Lens.STATE, *, with_gone=False, **how):
    """Return the map of a pool; ``with_gone`` as if its nodes were too many for cards."""
    model = NodeMapModel(Session(sim, **how))
    with pytest.MonkeyPatch.context() as patch:
        if with_gone:
            patch.setattr(node_map, "MOST_CARDS", 0)
        model.look_through(lens)
    return model


ONE_CELL = Layout(Form.CELL, 10, 1)
NEEDS = Needs(card=9, card_most=13, name=4)


def cells(model, layout, number=0):
    (drawn,) = MapLines(model).row(number, layout, None)
    return plain(drawn)[layout.label :]


def said(model):
    return {glyph.name: count for glyph, count in model.counts()}


@pytest.fixture
def mixed():
    """Six nodes, of which one has gone, one is Spot, one takes no tasks, and one has failed."""
    pool = a_pool(nodes=5, targetLowPriorityNodes=1, taskSlotsPerNode=4)
    timeline = [
        {"at": READY_S + 60, "disableNodeScheduling": {"poolId": "p", "node": 1}},
        {"at": READY_S + 60, "removeNodes": {"poolId": "p", "nodeList": [2]}},
        {"at": READY_S + 60, "failNode": {"poolId": "p", "node": 4, "state": "unusable"}},
    ]
    prep = a_line(10, simulate={"onNode": {3: {"exitCode": 1}}}, constraints={"maxTaskRetryCount": 0})
    tasks = [{"id": f"t{number}", **a_line(600, int(number < 4))} for number in range(10)]
    sim = simulation(a_job(tasks=tasks, prep=prep), pool=pool, timeline=timeline)
    run_to(sim, seconds=READY_S + 200)
    return sim


def test_marks_beside_a_cell_tell_what_takes_no_tasks_and_what_is_spot(mixed):
    layout = Layout(Form.CELL, 10, 2)
    text = cells(model_of(mixed, with_gone=True), layout)
    assert text[:12] == "◉ ⊖-∅ . ⊗ ◉·"
    assert cells(model_of(mixed, with_gone=True, ascii_only=True), layout).isascii()


def test_beside_phases_a_state_keeps_its_symbol(mixed):
    names = said(model_of(mixed, Lens.PHASE, with_gone=True))
    assert names["failed"] == 1
    assert names["unusable"] == 1
    assert names["left the pool"] == 1
    model = model_of(mixed, Lens.PHASE, with_gone=True)
    symbols = [glyph.symbol for glyph, _ in model.counts()]
    letters = [glyph.letter for glyph, _ in model.counts()]
    assert len(set(symbols)) == len(symbols)
    assert len(set(letters)) == len(letters)


def test_trouble_comes_first_in_the_legend_and_order_does_not_follow_numbers(mixed):
    for lens in LENSES:
        roles = [glyph.role is Role.FAILED for glyph, _ in model_of(mixed, lens).counts()]
        assert roles == sorted(roles, reverse=True)


def test_the_legend_is_laid_out_in_lines_that_fit(mixed):
    model = model_of(mixed, with_gone=True)
    lines = list(map(plain, model.legend(24)))
    assert len(lines) > 1
    assert max(map(len, lines)) <= 24
    assert [each for glyph, _ in model.counts() if (each := glyph.name) not in " ".join(lines)] == []


@pytest.mark.parametrize("cells", [24, 40])
def test_nodes_beyond_the_lines_of_the_legend_are_counted(mixed, cells):
    model = model_of(mixed, with_gone=True)
    (last,) = map(plain, model.legend(cells, 1))
    seen = sum(count for glyph, count in model.counts() if f"{glyph.name} {count}" in last)
    left_out, hidden = map(int, re.findall(r"\d+", last.rpartition("+")[2]))
    assert left_out == sum(f"{glyph.name} {count}" not in last for glyph, count in model.counts())
    assert seen + hidden == len(model.nodes)
    assert len(last) <= cells


# -- the form of the map -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "size", "form"),
    [
        (1, (54, 16), Form.CARD),
        (2, (62, 40), Form.CARD),
        (9, (54, 16), Form.CARD),
        (16, (96, 30), Form.CARD),
        (16, (54, 8), Form.LINE),
        (17, (54, 17), Form.LINE),
        (10, (44, 9), Form.LINE),
        (40, (54, 8), Form.NAME),
        (200, (120, 14), Form.NAME),
        (200, (54, 12), Form.CELL),
        (1000, (96, 30), Form.CELL),
        (1000, (54, 12), Form.GROUP),
        (10_000, (54, 12), Form.GROUP),
        (10_000, (30, 3), Form.GROUP),
    ],
)
def test_nodes_are_drawn_in_the_richest_form_that_fits(nodes, size, form):
    layout = layout_for(nodes, *size, NEEDS)
    assert layout.form is form
    assert layout.height(nodes) <= size[1]
    assert layout.columns * (layout.cells + layout.gap) - layout.gap + layout.label <= size[0]
    assert layout.units(nodes) * layout.nodes >= nodes


@pytest.mark.parametrize("size", [(54, 12), (96, 40), (42, 4)])
def test_forms_become_poorer_with_the_number_of_nodes_and_never_richer(size):
    order = list(Form)
    counts = [*range(1, 60), *range(60, 1200, 37), 5_000, 10_000]
    forms = [order.index(layout_for(count, *size, NEEDS).form) for count in counts]
    assert forms == sorted(forms)


def test_two_nodes_get_wide_cards_below_one_another_rather_than_narrow_ones():
    layout = layout_for(2, 62, 22, NEEDS)
    assert (layout.columns, layout.cells, layout.lines) == (1, 62, 11)


def many(count):
    sim = simulation(a_job(tasks=count), pool=a_pool(nodes=count), account={"quotas": {"dedicatedCores": 2 * count}})
    run_to(sim, seconds=READY_S + 5)
    return sim


@pytest.fixture(scope="module")
def hundred():
    return many(95)


def test_nodes_that_have_gone_have_no_card_and_the_title_counts_them(mixed):
    model = model_of(mixed)
    assert len(model.nodes) == 5
    assert model.title(90, layout_for(5, 90, 40, NEEDS)).startswith("Nodes · 5 nodes, 1 gone · lens 1 of 2")
    model = model_of(mixed, with_gone=True)
    assert model.title(90, layout_for(6, 90, 40, NEEDS)).startswith("Nodes · 6 nodes · lens 1 of 2")


def test_of_a_pool_whose_nodes_have_all_gone_their_number_is_said():
    sim = simulation(a_job(tasks=1), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "deletePool", poolId="p")
    run_to(sim, minutes=9)
    model = model_of(sim)
    assert model.empty() == ("All its 3 nodes have left the pool.", "View 3 lists them.")


def test_in_a_large_pool_nodes_that_have_gone_keep_their_places():
    sim = many(40)
    do(sim, "removeNodes", poolId="p", nodeList=[7])
    run_to(sim, seconds=READY_S + 200)
    model = model_of(sim)
    assert said(model).get("left the pool") == 1
    assert len(model.nodes) == 40


def test_of_a_large_pool_nodes_that_have_gone_are_left_out_once_fewer_stay():
    sim = many(80)
    do(sim, "removeNodes", poolId="p", nodeList=[*range(40)])
    run_to(sim, seconds=READY_S + 200)
    model = model_of(sim)
    assert len(model.nodes) == 40
    assert said(model).get("left the pool") is None
    assert plain(MapLines(model).row(0, layout_for(900, 54, 18, NEEDS), None)[0]).startswith("  40 ")


def test_the_cursor_stays_on_its_node_when_one_before_it_leaves():
    app, seen = Dashboard(many(4), plays=False), []

    def remove(app):
        shown_map = app.screen.query_one(NodeMap)
        shown_map.move_to(2)
        seen.append(shown_map.subject)
        do(app.session.simulation, "removeNodes", poolId="p", nodeList=[0])
        run_to(app.session.simulation, seconds=READY_S + 200)
        app.session.update()
        app.screen.update()
        seen.append(shown_map.subject)

    drive(app, remove)
    assert seen[0] == seen[1]


def test_nodes_that_have_gone_are_left_out_and_come_back_with_the_past(mixed):
    sim = mixed
    before = cells(model_of(sim, with_gone=True), ONE_CELL)
    assert len(before) == 6
    model = model_of(sim)
    assert cells(model, ONE_CELL) == before.replace("∅", "")
    assert plain(MapLines(model).row(0, layout_for(900, 54, 18, NEEDS), None)[0]).startswith("   0 ")
    assert said(model).get("left the pool") is None
    now_ms = sim.now_ms
    sim.seek((READY_S + 30) * 1000)
    model.session.update()
    model.update()
    assert len(cells(model, ONE_CELL)) == 6
    sim.seek(now_ms)
    model.session.update()
    model.update()
    assert len(model.nodes) == 5


def test_a_pool_whose_target_is_zero_is_not_said_to_have_no_nodes_yet():
    for nodes, said in ((0, "The pool has no nodes: its target is 0."), (2, "Pool p has no nodes yet.")):
        sim = simulation(pool=a_pool(nodes=nodes))
        run_to(sim, seconds=1)
        assert model_of(sim).empty() == (said,)


# -- on the screen -------------------------------------------------------------------------------------------------


def test_room_that_is_left_below_the_nodes_has_what_the_one_under_the_cursor_does(dashboard_at):
    app, seen = dashboard_at(301, "nodes-fail-and-recover"), []

    def read(app):
        pane = app.screen.query_one("#map-pane").content_region
        seen.append([text[pane.x : pane.right].rstrip() for text in text_of(app)[pane.y : pane.bottom]])

    drive(app, read, "right", "right", read, size=(80, 26))
    first, third = seen
    at = next(number for number, text in enumerate(first) if text.startswith("n0  unknown"))
    assert first[at + 1].startswith("◉ book-1")
    assert third[at].startswith("n2  unusable")


def test_a_short_line_of_a_node_has_whole_words(mixed):
    model = model_of(mixed)
    broken = next(at for at, node in enumerate(model.nodes) if model.page.row(node).state is NodeState.UNUSABLE)
    for wide in range(20, 60):
        text = plain(Cards(model).line(broken, wide, is_cursor=False)).split()
        assert text[:3] == ["n4", "⊗", "unusable"]
        assert text[3:4] in ([], ["for"])
        assert "…" not in "".join(text)


def test_l_goes_from_lens_to_lens_and_round(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), *[step for _ in range(2) for step in ("l", lambda app: seen.append(text_of(app)))])
    assert contains(seen[0], "lens 1 of 2: node state")
    assert contains(seen[1], "lens 2 of 2: job phase")


def test_going_back_to_before_there_were_nodes_reads_nothing_of_nodes_that_are_no_more():
    app, seen = Dashboard(many(3), plays=False), []

    def go_back(app):
        app.session.simulation.seek(0)
        app.session.update()
        app.screen.view.update()
        seen.append(len(app.screen.query_one(NodeMap).model.nodes))

    drive(app, go_back)
    assert seen == [0]


@pytest.mark.parametrize("size", [(46, 5), (60, 12), (62, 24), (98, 30)])
@pytest.mark.parametrize("count", [300, 3_000, 10_000])
def test_the_cells_of_many_nodes_fill_the_pane(size, count):
    layout = layout_for(count, *size, NEEDS)
    assert layout.height(count) <= size[1]
    if layout.form is Form.GROUP:
        assert layout.height(count) >= (0.75 if layout.nodes > 2 else 0.5) * size[1]
        assert layout.columns * layout.cells + layout.label > size[0] - 5


def test_few_nodes_have_a_line_of_words_each_in_a_low_view():
    sim = simulation(a_job(tasks=[a_task(f"book-{at}", 900) for at in range(9)], prep=a_line(5)), pool=a_pool(nodes=7))
    run_to(sim, seconds=READY_S + 60)
    seen = []
    drive(Dashboard(sim, plays=False), lambda app: seen.extend(text_of(app)), size=(80, 24))
    for node in range(7):
        assert contains(seen, f"n{node} ◉ ✓  book-{node}"), node


def test_a_legend_that_is_cut_to_any_width_can_be_drawn(mixed):
    model = model_of(mixed)
    for number in range(60):
        assert all(width(line) <= max(number, 1) for line in model.legend(number, 2))
