"""The node map: where each node is, how it is drawn, what can be done there."""

from __future__ import annotations

import asyncio

import pytest

from tests.builders import READY_S, a_job, a_line, a_pool, run_to, simulation
from tests.tui.screen_text import contains, text_of
from tests.tui.test_keys import drive
from tui.app.dashboard import Dashboard
from tui.viewmodels.node_map.cells import LABEL_CELLS, Grid, NodeMapModel, grid
from tui.viewmodels.node_map.legend import laid_out
from tui.viewmodels.node_map.lenses import LENSES, Lens
from tui.viewmodels.session.session import Session
from tui.viewmodels.text.glyphs import GlyphSet
from tui.viewmodels.text.styled import ItemRef, Role, plain, width
from tui.widgets.legend import Legend
from tui.widgets.node_map import NodeMap

LATER_S = 330


def model_of(sim, lens=Lens.STATE, **how):
    model = NodeMapModel(Session(sim, **how))
    model.look_through(lens)
    return model


def cells(model, layout, number=0):
    return plain(model.row(number, layout, None))[LABEL_CELLS:]


def said(model):
    return {glyph.name: count for glyph, count in model.counts()}


@pytest.fixture(scope="module")
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
    layout = Grid(10, 2)
    text = cells(model_of(mixed), layout)
    assert text[:12] == "◉ ⊖-∅ . ⊗ ◉·"
    assert cells(model_of(mixed, ascii_only=True), layout).isascii()


def test_beside_phases_a_state_is_told_by_its_letter(mixed):
    names = said(model_of(mixed, Lens.PHASE))
    assert names["failed"] == 1
    assert names["unusable"] == 1
    assert names["left the pool"] == 1
    model = model_of(mixed, Lens.PHASE)
    symbols = [glyph.symbol for glyph, _ in model.counts()]
    letters = [glyph.letter for glyph, _ in model.counts()]
    assert len(set(symbols)) == len(symbols)
    assert len(set(letters)) == len(letters)


def test_the_age_lens_is_stronger_for_what_is_older(mixed):
    assert said(model_of(mixed, Lens.AGE)) == {"1 to 5 minutes": 5, "left the pool": 1}
    run_to(mixed, minutes=70)
    assert "an hour or longer" in said(model_of(mixed, Lens.AGE))


def test_the_failures_lens_counts_tasks_and_hooks(session_at):
    model = NodeMapModel(session_at(LATER_S))
    model.look_through(Lens.FAILURES)
    runs = [model.session.nodes().row(node) for node in model.nodes]
    failed = sum(row.total_run - row.total_succeeded for row in runs if row.state is not None) + 1  # a preparation
    assert failed > 1
    counted = {glyph.name: count for glyph, count in model.counts()}
    assert counted.pop("no failure", 0) + sum(counted.values()) == 6
    assert sum(int(name.split()[0]) * count for name, count in counted.items() if name[0].isdigit()) == failed


def test_trouble_comes_first_in_the_legend_and_order_does_not_follow_numbers(mixed):
    for lens in LENSES:
        roles = [glyph.role is Role.FAILED for glyph, _ in model_of(mixed, lens).counts()]
        assert roles == sorted(roles, reverse=True)


def test_the_legend_is_laid_out_in_lines_that_fit(mixed):
    entries = laid_out(model_of(mixed).counts(), GlyphSet(ascii_only=False), 24)
    assert entries[-1].line > 0
    assert all(entry.first + width(entry.spans) <= 24 for entry in entries)
    assert len({entry.glyph for entry in entries}) == len(entries)


# -- the shape of the map ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "lines", "expected"),
    [(5, 18, (1, 60, 1)), (300, 18, (20, 2, 1)), (900, 18, (50, 1, 1)), (1500, 18, (50, 1, 2)), (9000, 18, (50, 1, 1))],
)
def test_cells_shrink_to_half_a_cell_and_beyond_that_the_map_is_scrolled(nodes, lines, expected):
    assert grid(nodes, 60, lines, has_halves=True) == Grid(*expected)
    assert grid(nodes, 60, lines).rows == 1


def many(count):
    sim = simulation(a_job(tasks=count), pool=a_pool(nodes=count), account={"quotas": {"dedicatedCores": 2 * count}})
    run_to(sim, seconds=READY_S + 5)
    return sim


@pytest.fixture(scope="module")
def hundred():
    return many(95)


def test_in_half_cells_each_node_has_its_own_colour(hundred):
    model = model_of(hundred)
    layout = Grid(10, 1, 2)
    spans = [span for number in range(5) for span in model.row(number, layout, None)[1:]]
    assert sum(len(span.text) * (2 if span.ground is not None else 1) for span in spans) == 95
    model.session.marks[ItemRef("node", 13)] = None
    assert plain(model.row(0, layout, None))[LABEL_CELLS:] == "▀▀▀*▀▀▀▀▀▀"
    with_cursor = model.row(0, layout, 17)
    assert next(span for span in with_cursor if span.is_fill).text == "◉"


def test_nodes_that_have_gone_are_left_out_by_a_key_and_come_back_with_the_past(mixed):
    sim = mixed
    model = model_of(sim)
    before = cells(model, Grid(10, 1))
    assert len(before) == 6
    assert model.compact()
    assert cells(model, Grid(10, 1)) == before.replace("∅", "")
    assert plain(model.row(0, Grid(10, 1), None)).startswith("    0 ")
    assert said(model).get("left the pool") is None
    now_ms = sim.now_ms
    sim.seek((READY_S + 30) * 1000)
    model.session.update()
    model.update()
    assert len(cells(model, Grid(10, 1))) == 6
    sim.seek(now_ms)
    model.session.update()
    model.update()
    assert len(model.nodes) == 5
    assert not model.compact()
    assert len(model.nodes) == 6


# -- on the screen -------------------------------------------------------------------------------------------------


def test_a_lens_is_chosen_by_its_number(dashboard_at):
    seen = []
    drive(
        dashboard_at(LATER_S),
        "L",
        "5",
        lambda app: seen.append(text_of(app)),
        "l",
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "lens 5 of 5: failures so far")
    assert contains(seen[1], "lens 1 of 5: node state")


def test_a_line_of_the_legend_dims_the_others_and_marks_its_nodes(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def roles(app):
        model = app.screen.query_one(NodeMap).model
        rows = [{span.role for span in model.row(at, Grid(1, 60), None)} for at in range(6)]
        seen.append(rows.count({Role.DIM}))

    def note(app):
        seen.append(text_of(app))

    def marks(app):
        seen.append(list(app.session.marks))

    drive(app, "tab", "right", "left", "enter", roles, "m", marks, "a", note, "escape", "escape", roles, "u", marks)
    assert seen[0] == 5
    assert seen[1] == [ItemRef("node", 1)]
    assert contains(seen[2], "Act on this node")
    assert seen[3] == 0
    assert seen[4] == []


def test_all_nodes_of_a_state_are_acted_on_in_four_keys():
    app = Dashboard(many(30), plays=False)
    seen = []
    drive(app, "tab", "m", "a", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Act on 30 marked nodes")


def test_dragging_marks_a_rectangle_of_nodes(hundred):
    app = Dashboard(hundred, plays=False)
    seen = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            node_map = app.screen.query_one(NodeMap)
            columns = node_map._grid.columns
            await pilot.mouse_down(node_map, offset=(LABEL_CELLS + 2, 1))
            await pilot.hover(node_map, offset=(LABEL_CELLS + 8, 3))
            await pilot.hover(node_map, offset=(LABEL_CELLS + 6, 2))
            await pilot.mouse_up(node_map, offset=(LABEL_CELLS + 6, 2))
            await pilot.pause()
            seen.append([subject.key for subject in app.session.marks])
            await pilot.hover(node_map, offset=(LABEL_CELLS + 20, 3))
            await pilot.pause()
            seen.append(len(app.session.marks))
            seen.append(columns)

    asyncio.run(run())
    marked, later, columns = seen
    assert marked == [row * columns + column for row in (1, 2) for column in (1, 2, 3)]
    assert later == 6


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 16)])
def test_the_legend_can_be_reached_at_every_size(dashboard_at, size):
    seen = []
    drive(
        dashboard_at(LATER_S),
        "tab",
        lambda app: seen.append((type(app.screen.focused), app.screen.focused.size.height)),
        size=size,
    )
    assert seen[0][0] is Legend
    assert seen[0][1] >= 1
