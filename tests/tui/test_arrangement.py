"""The room of the Watch view is divided by what each pane has to show."""

from __future__ import annotations

import asyncio

import pytest

from engine import Simulation, load_scenario
from engine.base.values import MINUTE_MS
from tests.tui.screen_text import after, contains
from tui.app.dashboard import Dashboard
from tui.viewmodels.watch.arrangement import (
    ATTENTION,
    CURVES,
    EVENTS,
    LISTS,
    MUCH,
    NODES,
    STRIP,
    Wish,
    arrange,
    divide,
)

LATER_S = 330
SIZES = [(80, 20), (80, 60), (120, 36), (200, 56)]


def view(**changed):
    """The wishes of panes in a run with some nodes and many events."""
    wishes = {
        STRIP: Wish(3, 6, 6),
        NODES: Wish(5, 10, 10),
        ATTENTION: Wish(3, 4, 4),
        CURVES: Wish(6, 12, MUCH),
        LISTS: Wish(5, 14, 30),
        EVENTS: Wish(4, 8, 500),
    }
    wishes |= {
        {"nodes": NODES, "lists": LISTS, "events": EVENTS, "strip": STRIP}[name]: changed[name] for name in changed
    }
    return {name: (lambda _width, _height, wish=wish: wish) for name, wish in wishes.items()}


def test_each_pane_gets_its_best_before_any_gets_more():
    assert divide(30, [Wish(2, 10, MUCH), Wish(3, 6, 6)]) == [24, 6]
    assert divide(10, [Wish(2, 10, MUCH), Wish(3, 6, 6)]) == [6, 4]
    assert divide(40, [Wish(2, 10, MUCH), Wish(2, 10, MUCH)]) == [20, 20]


def test_panes_that_fill_the_room_get_their_best_after_the_others():
    assert divide(20, [Wish(4, 30, MUCH), Wish(4, 14, MUCH)], [True, False]) == [6, 14]
    assert divide(20, [Wish(4, 30, MUCH), Wish(4, 14, MUCH)]) == [13, 7]


def test_a_pane_that_grows_in_steps_leaves_the_rest_of_a_step_to_others():
    assert divide(34, [Wish(5, 18, 28, step=5), Wish(4, 8, MUCH)]) == [18, 16]
    assert divide(38, [Wish(5, 18, 28, step=5), Wish(4, 8, MUCH)]) == [23, 15]
    assert [Wish(5, 18, 28, step=5).unused(rows) for rows in (10, 18, 20, 23, 30)] == [0, 0, 2, 0, 2]


def test_where_all_have_enough_the_rest_is_divided_in_proportion():
    assert divide(20, [Wish(2, 4, 4), Wish(2, 6, 6)]) == [8, 12]


@pytest.mark.parametrize("size", SIZES)
def test_every_cell_belongs_to_exactly_one_pane(size):
    regions = arrange(*size, view()).regions.values()
    cells = [
        (x, y)
        for left, top, width, height in regions
        for x in range(left, left + width)
        for y in range(top, top + height)
    ]
    assert len(cells) == len(set(cells)) == size[0] * size[1]


@pytest.mark.parametrize("size", SIZES[2:])
def test_no_pane_is_higher_than_it_can_use_while_another_one_can_use_more(size):
    wishes = view()
    regions = arrange(*size, wishes).regions
    assert all(region.height <= wishes[name](0, 0).most for name, region in regions.items())


def test_curves_move_below_the_nodes_where_these_are_few():
    few = arrange(120, 36, view(nodes=Wish(5, 7, 7), events=Wish(4, 8, 500))).regions
    many = arrange(120, 36, view(nodes=Wish(5, 26, 26), events=Wish(4, 8, 500))).regions
    assert (few[CURVES].x, many[CURVES].x) == (0, 60)


def test_a_hidden_pane_leaves_its_room_to_the_others():
    wishes = view() | {ATTENTION: lambda _width, _height: None}
    regions = arrange(120, 36, wishes).regions
    assert ATTENTION not in regions
    assert regions[NODES].height > 10 or CURVES in regions


def test_panes_stay_where_they_are_while_counts_change_a_little():
    first = arrange(120, 36, view())
    for rows in range(28, 33):
        assert arrange(120, 36, view(lists=Wish(5, 14, rows)), first) is first


def test_panes_move_once_another_arrangement_is_clearly_better():
    first = arrange(120, 36, view(nodes=Wish(5, 26, 26)))
    second = arrange(120, 36, view(nodes=Wish(5, 7, 7)), first)
    assert second.regions != first.regions


def test_a_problem_that_is_added_gets_its_rows_at_once():
    first = arrange(120, 36, view())
    more = view() | {ATTENTION: lambda _width, _height: Wish(3, 6, 6)}
    assert first.regions[ATTENTION].height < arrange(120, 36, more, first).regions[ATTENTION].height == 6


def test_a_pane_that_appears_is_shown_at_once():
    hidden = view() | {ATTENTION: lambda _width, _height: None}
    first = arrange(120, 36, hidden)
    assert ATTENTION in arrange(120, 36, view(), first).regions


def test_the_strip_has_at_most_a_quarter_of_the_rows():
    assert arrange(120, 36, view(strip=Wish(3, 32, 32))).regions[STRIP].height == 9


def test_on_a_low_screen_nodes_and_attention_remain_longest():
    assert {NODES, ATTENTION} <= set(arrange(80, 14, view()).regions)


def test_in_a_narrow_view_nodes_and_attention_are_asked_for_all_of_the_width_and_for_a_share():
    asked = {}

    def wish(name):
        def of(width, _height):
            asked.setdefault(name, []).append(width)
            return Wish(3, 5, 5)

        return of

    arrange(80, 20, {name: wish(name) for name in (STRIP, NODES, ATTENTION, LISTS)})
    assert asked == {STRIP: [80], NODES: [80, 32], ATTENTION: [80, 48], LISTS: [80, 80]}


def test_in_a_low_narrow_view_problems_have_more_width_than_nodes_and_without_any_the_nodes_have_it():
    problems = view(nodes=Wish(5, 8, 8)) | {ATTENTION: lambda _width, _height: Wish(5, 9, 9)}
    beside = arrange(80, 20, problems).regions
    assert beside[ATTENTION].width == 48
    assert beside[ATTENTION].y == beside[NODES].y
    none = problems | {ATTENTION: lambda _width, _height: Wish(3, 3, 3)}
    calm = arrange(80, 20, none).regions
    assert calm[NODES].width == calm[ATTENTION].width == 80
    after = arrange(80, 20, none, arrange(80, 20, problems)).regions  # nothing moves once they are gone
    assert (after[NODES].width, after[ATTENTION].width) == (32, 48)


def test_panes_keep_their_rows_when_a_problem_goes():
    problem = view() | {ATTENTION: lambda _width, _height: Wish(5, 14, 16)}
    first = arrange(120, 36, problem, arrange(120, 36, view()))
    fewer = view() | {ATTENTION: lambda _width, _height: Wish(5, 13, 13)}
    assert arrange(120, 36, fewer, first) is first


def test_events_stay_where_they_are_when_a_problem_is_added():
    first = arrange(120, 36, view())
    more = view() | {ATTENTION: lambda _width, _height: Wish(5, 14, 16)}
    then = arrange(120, 36, more, first)
    assert then.regions[ATTENTION].height == 14
    assert {name: region[::2] for name, region in then.regions.items()} == {
        name: region[::2] for name, region in first.regions.items()
    }


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
def test_panes_keep_their_columns_while_a_run_goes_on(size):
    sim = Simulation(load_scenario("nodes-fail-and-recover"))
    app = Dashboard(sim, plays=False)
    seen = {}

    async def run():
        async with app.run_test(size=size) as pilot:
            for minute in range(9):
                sim.run_until(minute * MINUTE_MS)
                app.screen.update()
                await pilot.pause()
                for pane in ("map-pane", "job-lists", "curves"):
                    seen.setdefault(pane, set()).add(app.screen.query_one(f"#{pane}").region.x)

    asyncio.run(run())
    assert all(len(columns) == 1 for columns in seen.values()), seen


@pytest.mark.parametrize(("keys", "told"), [((), "State transition time"), (("tab", "tab"), "Preparation task")])
def test_from_160_cells_on_details_fill_the_room_that_the_lists_leave(dashboard_at, keys, told):
    assert contains(after(dashboard_at(LATER_S), *keys, size=(160, 60)), "  Details", told)
    assert not contains(after(dashboard_at(LATER_S), *keys, size=(159, 60)), "  Details")


def test_details_follow_the_cursor_of_the_map(dashboard_at):
    for downs in (0, 2):
        lines = after(dashboard_at(LATER_S), *["down"] * downs, size=(180, 60))
        index = next(each for each in lines if "Index" in each)
        assert index.split("Index")[1].split()[0] == str(downs)
