"""The timeline: its rows, its cells, its keys."""

from __future__ import annotations

import re

import pytest

from engine.base.terms import TaskState
from engine.specs.commands import RemoveNodes
from engine.views.lanes.lanes import Lanes
from tests.tui.driving import drive
from tui.viewmodels.text.glyphs import TASK, GlyphSet
from tui.viewmodels.text.styled import ItemRef, plain, width
from tui.viewmodels.timeline.bars import Bar, Canvas
from tui.viewmodels.timeline.columns import TimeColumns
from tui.viewmodels.timeline.heights import Height, height_of
from tui.viewmodels.timeline.node_rows import NodeRows
from tui.viewmodels.timeline.timeline import LABEL_CELLS, STEPS_MS, TimelineModel

LATER_S, CELLS = 330, 100


def model_of(session, cells=CELLS, seconds=5):
    """The timeline with columns of so many seconds; None fits them to the run."""
    model = TimelineModel(session)
    if seconds is not None:
        model.recall({"zoom": seconds})
    model.update(cells)
    return model


def five_seconds(app):
    """Let a column of the timeline last five seconds."""
    model = app.screen.query_one("#lanes").model
    model.recall({**model.remembered(), "zoom": 5})
    app.screen.update()


def row(model, index):
    return plain(model.row(index, is_cursor=False))


def test_a_row_tells_a_nodes_story(session_at):
    model = model_of(session_at(LATER_S, ascii_only=True))
    assert model.columns.step_ms == 5_000
    assert row(model, 1) == (
        f"{'n1':<{LABEL_CELLS}}" + "  ccssssss" + "pppppppp" + "PPPPPPPP" + "X" + "%" * 40 + "-" * 29 + " " * 4
    )
    begin = re.escape(f"{'n0':<{LABEL_CELLS}}" + "  ccssssss" + "pppppppp")
    assert re.fullmatch(begin + "#[#=]{48}_" + "-" * 28 + " " * 4, row(model, 0))
    left = f"{'n5':<{LABEL_CELLS}}" + "  ccssssss" + "p" * 8
    assert re.fullmatch(re.escape(left) + "#[#=]{17}llll", row(model, 5).rstrip())


def test_the_cell_under_the_cursor_is_told_and_is_a_moment(session_at):
    model = model_of(session_at(LATER_S))
    assert plain(model.cursor_line(0, CELLS)).startswith("n0  08:05:30  running since 08:01:31")
    model.move(-40)  # the column in which preparation failed on n1
    assert model.cursor_ms == 130_000
    assert model.moment_ms(1) == 132_000
    assert (
        plain(model.cursor_line(1, CELLS)) == "n1  08:02:12  ineligible, nothing runs since 08:02:12, 00:03:18 so far"
    )
    model.move(1_000)
    assert model.moment_ms(1) is None
    assert "is not simulated yet" in plain(model.cursor_line(1, CELLS))


def test_zoom_keeps_the_cursor_where_it_is_on_the_screen(session_at):
    model = model_of(session_at(LATER_S))
    model.move(-10)
    at, when_ms = model.cursor_column, model.cursor_ms
    model.zoom(1)
    assert model.columns.step_ms == 1_000
    assert (model.cursor_column, model.cursor_ms) == (at, when_ms)
    for _ in range(20):
        model.zoom(-1)
    assert model.columns.step_ms == STEPS_MS[-1]
    model.fit()
    model.update(CELLS)
    assert model.columns.step_ms == 4_000
    assert model.cursor_ms is None


def test_only_rows_where_something_has_failed(session_at):
    session = session_at(LATER_S)
    model = model_of(session)
    model.only_failed = True
    shown = []
    for _ in range(5):
        model.update(CELLS)
        shown.append([model.rows.label(key) for key in model.keys])
        model.next_rows()
    assert shown == [["n1"], ["deal-1", "deal-11"], ["risk"], ["n1"], []]
    session.simulation.seek(60_000)
    session.simulation.branch()
    session.update()
    model.update(CELLS)
    assert model.keys == []
    assert model.empty()[0] == "None of the nodes has failed."


def test_panning_goes_from_the_start_to_the_end_of_the_run(session_at):
    model = model_of(session_at(LATER_S))
    model.move(-10_000)
    assert (model.cursor_ms, model.columns.first) == (0, 0)
    model.zoom(1)
    model.move(500)
    assert model.cursor_ms == 500_000
    assert model.columns.first == 500 - CELLS + 1


def test_tasks_jobs_and_hook_tasks_have_rows_too(session_at):
    model = model_of(session_at(LATER_S, ascii_only=True))
    model.next_rows()
    model.update(CELLS)
    assert "tasks risk" in model.title()
    assert row(model, 0).startswith("deal-1    " + "a" * 18 + "|n0  1:01###X ")
    assert plain(model.cursor_line(0, CELLS)).endswith("added 08:00:00, started 08:01:31, ended 08:02:32, exit 1")
    assert "-" not in row(model, 0)[LABEL_CELLS:]
    model.next_rows()
    model.update(CELLS)
    assert row(model, 0) == "risk      " + "a" * 10 + "pprep x1#tasks  24 of 40" + "#" * 33 + "-" * 29 + " " * 4
    assert plain(model.cursor_line(0, CELLS)) == "risk  08:05:30  active since 08:00:00"
    model.next_rows()
    model.update(CELLS)
    assert model.title().startswith("preparation tasks risk - 6 - by failures")
    assert row(model, 0).rstrip() == f"{'n1':<{LABEL_CELLS}}" + " " * 10 + "p41 spppX41 sPPPX"
    assert row(model, 1).rstrip() == f"{'n3':<{LABEL_CELLS}}" + " " * 10 + "p41 sppp+" + " " * 43 + "p20 s" + "_" * 4
    assert (
        plain(model.cursor_line(0, CELLS))
        == "n1  08:05:30  failed  attempt 2, started 08:01:31, ended 08:02:12 after 00:00:41"
    )
    assert plain(model.cursor_line(1, CELLS)) == "n3  08:05:30  preparing  attempt 2, started 08:05:10"
    model.next_rows()
    model.update(CELLS)
    assert model.empty()[0] == "There is no release task yet."
    model.next_rows()
    assert model.rows.name == "nodes"


def test_what_is_recorded_is_shown_beyond_the_moment_that_is_looked_at(session_at):
    session = session_at(LATER_S, ascii_only=True)
    model = model_of(session)
    whole = row(model, 1)
    session.update()
    session.simulation.seek(100_000)
    session.update()
    model.update(CELLS)
    assert row(model, 1).rstrip("- ") == whole.rstrip("- ")
    assert "=" not in row(model, 1)
    assert plain(model.axis())[LABEL_CELLS + 20] == "^"


@pytest.mark.parametrize("cells", [10, 40, 150])
def test_every_line_fits(session_at, cells):
    model = model_of(session_at(LATER_S), cells)
    for _ in range(5):
        model.update(cells)
        lines = [model.axis(), *model.band(0), *(model.row(at, is_cursor=True) for at in range(len(model.keys)))]
        assert {width(each) for each in lines} == {cells + LABEL_CELLS}
        assert width(model.cursor_line(0, cells)) <= cells
        assert width(model.legend(cells)) <= cells
        model.next_rows()


def test_the_cursor_tells_since_when_a_node_and_the_tasks_on_it_have_been_running_or_nothing_has(session_at):
    model = model_of(session_at(490, "preparation-fails-on-one-node"))
    told = [plain(model.cursor_line(1, CELLS))]
    for columns in (-1, -40):
        model.move(columns)
        told += [plain(model.cursor_line(row, CELLS)) for row in (0, 1)]
    assert told == [
        "n1  08:08:10  nothing runs since 08:04:02, 00:04:08 so far",  # it became eligible again at 08:08:04
        "n0  08:08:05  releasing since 08:08:04, 00:00:06",
        "n1  08:08:05  nothing runs since 08:04:02, 00:04:08 so far",
        "n0  08:04:45  running since 08:02:01, 00:06:03: sample-2, sample-4 since 08:04:02",
        "n1  08:04:45  ineligible, nothing runs since 08:04:02, 00:04:08 so far",
    ]


@pytest.mark.parametrize(("name", "is_named"), [("spot-night-run", True), ("one-node-fails", False)])
def test_the_legend_has_preempted_where_nodes_can_be_preempted(session_at, name, is_named):
    model = model_of(session_at(4800, name))
    assert ("preempted" in plain(model.legend(CELLS))) is is_named


def test_the_legend_names_trouble_first_where_there_is_little_room(session_at):
    model = model_of(session_at(900, "nodes-fail-and-recover"), 100)
    model.update(100)
    drawn = [model.row(at, is_cursor=False) for at in range(len(model.keys))]
    assert plain(model.legend(60, drawn)).startswith("⊠ start task failed  ⊗ unusable")


def labels(model):
    return [model.rows.label(key) for key in model.keys]


def test_rows_stand_in_the_order_that_is_asked_for(session_at):
    model = model_of(session_at(LATER_S))
    assert "by number" in model.title()
    orders, told = {}, {}
    for _ in range(4):
        model.update(CELLS)
        orders[model.order.sort.value] = labels(model)
        told[model.order.sort.value] = plain(model.cursor_line(0, CELLS)).rpartition("  ")[2]
        model.order.next_sort()
    assert orders["number"] == ["n0", "n1", "n2", "n3", "n4", "n5"]
    assert orders["first start"][-1] == "n1"  # no task has ever begun there
    assert orders["busy share"][:2] == ["n0", "n4"]
    assert orders["busy share"][-1] == "n1"
    assert orders["failures"][:2] == ["n1", "n2"]
    assert told["busy share"] == "busy 75%"
    assert told["failures"] == "1 failed, 1 retried"
    assert model.order.sort.value == "number"
    model.order.is_turned = True
    model.update(CELLS)
    assert labels(model) == orders["number"][::-1]
    assert "by number ▼" in model.title()


def test_rows_of_tasks_jobs_and_hook_tasks_have_orders_of_their_own(session_at):
    model = model_of(session_at(LATER_S))
    model.next_rows()
    model.order.next_sort()
    model.update(CELLS)
    assert labels(model)[:3] == ["deal-1", "deal-2", "deal-3"]
    model.order.next_sort()
    model.update(CELLS)
    starts = [model.session.tasks("risk").brief(key).start_ms for key in model.keys]
    begun = [start for start in starts if start is not None]
    assert begun == sorted(begun) == starts[: len(begun)]
    model.next_rows()
    model.next_rows()
    model.order.next_sort()
    model.update(CELLS)
    assert labels(model) == ["n0", "n1", "n2", "n3", "n4", "n5"]


def test_many_rows_are_sorted_in_pieces_and_a_long_log_is_read_in_pieces(session_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.timeline.timeline._PIECE", 4)
    monkeypatch.setattr("tui.viewmodels.timeline.timeline._AT_ONCE", 3)
    session = session_at(LATER_S, ascii_only=True)
    model = model_of(session)
    model.order.next_sort()
    model.order.next_sort()
    model.update(CELLS)
    assert "% read" in model.title()
    assert list(model.keys) == []
    assert model.empty() == ("Sorting ...",)
    looks = []
    while model.go_on(model.keys):
        model.update(CELLS)
        if model.keys:
            looks.append(row(model, labels(model).index("n1")).rstrip("-= "))
    model.update(CELLS)
    assert len(set(looks)) > 3
    story = row(model, labels(model).index("n1"))
    assert all(story.startswith(look[:-1]) for look in looks)  # what filled the last column may not be known yet
    monkeypatch.undo()
    fresh = model_of(session, CELLS)
    fresh.order.sort = model.order.sort
    fresh.update(CELLS)
    model.update(CELLS)
    assert labels(model) == labels(fresh)
    assert [row(model, at) for at in range(6)] == [row(fresh, at) for at in range(6)]
    assert "read" not in model.title()


def test_the_cursor_says_how_far_its_row_is_read_and_states_nothing_of_later_moments(session_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.timeline.timeline._PIECE", 1)
    model = model_of(session_at(LATER_S))
    told = []
    while model.go_on(model.keys):
        unread_ms = model.rows.unread_from_ms(0)
        told.append((model.cursor_line(0, CELLS), unread_ms))
    for said, unread_ms in told:
        if unread_ms is not None:
            assert plain(said) == f"n0  08:05:30  read up to {model.session.clock(unread_ms)}"
    assert len(told) > 20
    assert plain(model.cursor_line(0, CELLS)).startswith("n0  08:05:30  running since 08:01:31")


def test_what_lasts_at_an_earlier_moment_may_have_ended_in_what_is_not_read(session_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.timeline.timeline._PIECE", 1)
    model = model_of(session_at(LATER_S))
    model.cursor_ms = 65_000
    said = ""
    while "preparing" not in said:
        assert model.go_on(model.keys)
        said = plain(model.cursor_line(0, CELLS))
    assert "so far" not in said
    assert f"read up to {model.session.clock(model.rows.unread_from_ms(0))}" in said


def test_a_node_without_work_is_not_said_to_be_idle_since_its_release_ended(session_at):
    model = model_of(session_at(1000))
    assert plain(model.cursor_line(0, CELLS)).startswith("n0  08:16:40  nothing runs since 08:07:")


def test_the_band_tells_of_the_pool_what_the_tables_tell(session_at):
    session = session_at(LATER_S, ascii_only=True)
    model = model_of(session)
    simulation = session.simulation
    for column in range(67):
        model.cursor_ms = column * 5_000
        nodes, running, preparing = (int(plain(each).split()[-1]) for each in model.band(99))
        with session.at(LATER_S * 1000 if model.moment_ms(99) is None else model.moment_ms(99)):
            assert nodes == sum(state is not None for state in map(session.nodes().state_of, session.nodes().nodes()))
            assert running == simulation.world.jobs.rows[0].counts[2]
        assert preparing <= nodes
    lines = [plain(each) for each in model.band(0)]
    assert [each[:10].strip() for each in lines] == ["nodes", "running", "preparing"]
    assert lines[2][LABEL_CELLS:].startswith(" " * 10 + "#" * 9)


IN_THE_PAST = ["repairing-nodes", "job-manager-is-restarted", "mpi-in-trouble"]


@pytest.mark.parametrize("name", IN_THE_PAST)
def test_all_that_is_recorded_can_be_told_in_the_past(session_at, name):
    session = session_at(20_000, name)
    session.update()
    session.simulation.seek(30_000)
    session.update()
    model = model_of(session, 40)
    told = set()
    for _ in range(5):
        model.update(40)
        for column in range(40):
            model.move_to_column(column)
            for at in range(len(model.keys)):
                assert width(model.cursor_line(at, 200)) <= 200
                assert model.item_to_explain(at) is not None
                told.add(plain(model.cursor_line(at, 200)).split("  ")[-1])
            assert len(model.band(0)) == 3
        model.fit()
        model.next_rows()
    assert len(told) > 3


def test_tasks_that_are_added_later_are_told_of_without_their_ids(session_at):
    session = session_at(2_000, "job-manager-is-restarted")
    session.update()
    model = model_of(session)

    def told():
        moments = [(node, each.begin_ms) for node in model.keys for each in model.lanes.lane(node).stretches]
        return {plain(model.rows.description_at(node, when_ms)) for node, when_ms in moments}

    assert not any("added later" in each for each in told())
    session.simulation.seek(30_000)
    session.update()
    model.update(CELLS)
    assert any(each.endswith("added later") for each in told())


def test_after_a_branch_everything_is_that_of_the_new_run(session_at):
    session = session_at(LATER_S, ascii_only=True)
    model = model_of(session)
    assert "X%%%" in row(model, 1)
    session.simulation.seek(100_000)
    session.simulation.branch()
    session.simulation.submit(RemoveNodes(pool_id="shared", node_list=(1,)))
    session.simulation.run_until(LATER_S * 1000)
    session.update()
    model.update(CELLS)
    assert row(model, 1).rstrip().endswith("PPXlll")
    fresh = model_of(session)
    for _ in range(5):
        model.update(CELLS)
        fresh.update(CELLS)
        assert [row(model, at) for at in range(len(model.keys))] == [row(fresh, at) for at in range(len(fresh.keys))]
        assert model.band(0) == fresh.band(0)
        model.next_rows()
        fresh.next_rows()


def test_the_cursor_comes_along_when_somebody_goes_to_another_moment(dashboard_at):
    seen = []

    def note(app):
        model = app.screen_stack[0].query_one("#lanes").model
        seen.append((model.cursor_ms, model.cursor_column))

    away = ["left"] * 10
    drive(
        dashboard_at(LATER_S),
        "8",
        five_seconds,
        *away,
        "w",
        note,
        "escape",
        note,
        "t",
        *"-4m",
        "enter",
        note,
        *away,
        "comma",
        note,
    )
    assert seen == [(280_000, 54), (280_000, 54), (None, 16), (None, 8)]


def test_what_is_asked_about_where_nothing_was_yet(session_at):
    model = model_of(session_at(LATER_S))
    assert model.item_to_explain(0) == ItemRef("node", 0)
    model.cursor_ms = 0
    assert model.item_to_explain(0) == ItemRef("pool", "shared")
    model.cursor_ms = 200_000
    assert model.item_to_explain(5) == ItemRef("node", 5)


def test_what_was_there_can_be_opened(session_at):
    model = model_of(session_at(LATER_S))
    assert [each.text for each in model.openables(0)] == ["task deal-25", "task deal-26", "node n0"]
    assert [(each.view, each.subject.key) for each in model.openables(3)] == [("preparation", 3), ("", 3)]
    assert [each.text for each in model.openables(1)] == ["node n1"]
    for text in ("task deal-1", "job risk", "preparation on n1"):
        model.next_rows()
        model.update(CELLS)
        assert [each.text for each in model.openables(0)] == [text]


def test_what_was_chosen_is_remembered(session_at):
    session = session_at(LATER_S)
    model = model_of(session, seconds=None)
    assert model.remembered() == {}
    model.next_rows()
    model.order.next_sort()
    model.order.is_turned = model.only_failed = True
    model.zoom(-1)
    chosen = {"rows": "tasks", "zoom": 5.0, "sort": "number", "descending": True}
    assert model.remembered() == chosen
    other = TimelineModel(session)
    other.recall(chosen)
    other.update(CELLS)
    assert other.remembered() == chosen
    assert not other.only_failed


def test_the_present_moment_stays_in_view_with_room_for_what_comes(session_at):
    session = session_at(60)
    model = TimelineModel(session)
    model.recall({"zoom": 1.0})
    model.update(1)  # before there is room for more
    model.update(80)
    assert (model.columns.first, model.cursor_column) == (0, 60)
    session.simulation.run_until(85_000)
    session.update()
    model.update(80)
    assert (model.columns.first, model.cursor_column) == (25, 60)
    model.update(100)
    assert (model.columns.first, model.cursor_column) == (5, 80)


def test_times_of_another_day_have_room_on_the_axis(session_at):
    model = model_of(session_at(27_000, "spot-night-run"), seconds=None)
    assert "…" not in plain(model.axis())
    assert " 23:00:00 " in plain(model.axis())
    assert " 01-06 0" in plain(model.axis())


def test_another_set_of_glyphs_is_drawn_at_once(session_at):
    session = session_at(LATER_S)
    model = model_of(session)
    assert "█" in row(model, 0)
    session.glyphs = GlyphSet(ascii_only=True)
    assert row(model, 0).isascii()
    assert "#" in row(model, 0)


MOMENTS = [("one-node-fails", each) for each in (15, 40, 130, 330, 900)]
MOMENTS += [("spot-night-run", each) for each in (300, 4_800, 40_000)]
MOMENTS += [("priorities-and-fairness", each) for each in (100, 360, 2_000)]


@pytest.mark.parametrize(("name", "seconds"), MOMENTS)
@pytest.mark.parametrize("cells", [60, 100, 180])
def test_the_run_takes_most_of_the_width_at_every_moment(session_at, name, seconds, cells):
    model = model_of(session_at(seconds, name), cells, seconds=None)
    for _ in range(4):
        model.update(cells)
        extent, columns = model.rows.extent(), model.columns
        if model.keys and extent.end_ms - extent.begin_ms >= 10_000:
            room = 0 if extent.is_over else (extent.end_ms - extent.begin_ms) / 10
            assert columns.column_at(extent.begin_ms) >= 0
            assert columns.column_at(extent.end_ms) < columns.number
            assert columns.column_at(round(extent.end_ms + room)) + 1 >= 0.8 * columns.number
        model.next_rows()


def test_few_rows_have_several_lines_with_the_names_of_the_tasks(session_at):
    session = session_at(660, "priorities-and-fairness")
    model = TimelineModel(session)
    model.update(100, 26)
    lines = [plain(each) for each in model.row_lines(0, is_cursor=False)]
    assert len(lines) == 4
    assert "book-1" in lines[0]
    assert "margin-call" in lines[0]
    assert "2:00" in lines[1]
    assert "overnight-b" in lines[2] + plain(model.row_lines(1, is_cursor=False)[2])
    model.update(100, 3)
    assert len(model.row_lines(0, is_cursor=False)) == 1
    assert "book-1" in row(model, 0)


def test_slots_of_a_node_have_tracks_where_there_is_room(session_at):
    model = TimelineModel(session_at(LATER_S))
    model.update(100, 26)
    lines = [plain(each) for each in model.row_lines(0, is_cursor=False)]
    assert "deal-1" in lines[0]
    assert "deal-2" in lines[1]
    model.update(100, 8)
    assert "deal" not in row(model, 0)


def test_many_rows_take_a_line_each():
    assert height_of(1_000, 26, 1) == Height(1, 1, 0)
    assert height_of(1_000, 26, 4) == Height(0, 1, 0)
    assert height_of(10, 26, 1) == Height(1, 1, 0)
    assert height_of(2, 26, 1) == Height(3, 3, 1)
    assert height_of(6, 26, 4) == Height(1, 4, 0)
    for rows in range(1, 60):
        for tracks in (1, 2, 4, 8):
            height = height_of(rows, 26, tracks)
            assert height.lines == 1 or rows * height.lines <= 26


def test_jobs_are_bars_of_their_phases(session_at):
    model = TimelineModel(session_at(900))
    model.next_rows()
    model.next_rows()
    model.update(100, 20)
    first, second, *_ = (plain(each) for each in model.row_lines(0, is_cursor=False))
    assert first.index("pre") < first.index("tasks")
    assert "of 40" in second


def test_tasks_after_one_another_have_an_edge_between_them_and_end_with_what_tells_them_apart():
    columns = TimeColumns(0, 12, 1_000)
    glyphs = GlyphSet(ascii_only=False)
    canvas = Canvas(glyphs, [TASK[TaskState.ACTIVE]] * 12, Height(1, 1, 0))
    for begin_ms, name in ((0, "frame-12"), (4_000, "frame-13"), (8_000, "frame-14")):
        canvas.draw(Bar(begin_ms, begin_ms + 4_000, TASK[TaskState.RUNNING], name, ("4:15",), is_id=True), columns, 0)
    assert plain(canvas.spans(0)) == "▏…12▏…13▏…14"


@pytest.mark.parametrize(
    ("ascii_only", "named", "is_not_named"),
    [
        (
            False,
            ["▸▒ preparing", "◉█ running", "⊟ ineligible", "◔ starting"],
            ["releasing", "enabling", "upgrading OS"],
        ),
        (True, ["p preparing", "# running", "% ineligible", "s starting"], ["releasing", "upgrading OS"]),
    ],
)
def test_the_legend_explains_what_stands_in_the_rows_and_their_bars(session_at, ascii_only, named, is_not_named):
    model = model_of(session_at(LATER_S, ascii_only=ascii_only))
    drawn = [each for at in range(len(model.keys)) for each in model.row_lines(at, is_cursor=False)]
    legend = plain(model.legend(200, drawn))
    assert [each for each in named if each not in legend] == []
    assert [each for each in is_not_named if each in legend] == []


def test_in_the_past_a_stretch_lasts_up_to_the_moment_that_is_shown(session_at):
    session = session_at(3600, "spot-night-run")
    session.simulation.seek(1_260_000)
    session.update()
    lanes = Lanes(session.simulation)
    lanes.update()
    said = plain(NodeRows(session, lanes).description_at(0, 1_260_000))
    assert "00:17:59 so far" in said
