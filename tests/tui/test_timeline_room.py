"""The timeline in the room that it has: its axis, the heights and tracks of rows, and the legend."""

from __future__ import annotations

import re

import pytest

from engine.base.terms import TaskState
from engine.views.log.lanes import Lanes
from tests.tui.timelines import model_of, row
from tui.viewmodels.glyphs import TASK, GlyphSet
from tui.viewmodels.text import plain, width
from tui.viewmodels.timeline.kinds import NodeRows
from tui.viewmodels.timeline.lines import Canvas
from tui.viewmodels.timeline.rows import Bar, Height, TimeColumns, height_of
from tui.viewmodels.timeline.timeline import LABEL_CELLS, TimelineModel

LATER_S, CELLS = 330, 100


@pytest.mark.parametrize("cells", [10, 40, 150])
def test_every_line_fits(session_at, cells):
    model = model_of(session_at(LATER_S), cells)
    for _ in range(5):
        model.update(cells)
        lines = [
            model.axis(),
            *model.band(0),
            *(model.row_lines(at, is_cursor=True)[0] for at in range(len(model.keys))),
        ]
        assert {width(each) for each in lines} == {cells + LABEL_CELLS}
        assert width(model.cursor_line(0, cells)) <= cells
        assert width(model.legend(cells, range(len(model.keys)))) <= cells
        model.next_rows()


def test_a_release_of_two_seconds_leaves_a_mark_and_a_state_below_a_name_is_whole(session_at):
    model = model_of(session_at(902, "release-after-preparation"), CELLS)
    shown = range(len(model.keys))
    lines = [plain(each) for each in model.lines(shown, 0)]
    assert sum("◂" in each for each in lines) == 3
    assert "◂ releasing" in plain(model.legend(300, shown))
    model.update(CELLS, 30)
    assert model.label_cells > len("left the pool")


def test_a_node_that_works_without_a_break_is_one_line(session_at):
    model = model_of(session_at(530, "forty-nodes"), CELLS)
    assert re.search(r"◉ running ━{20}", "".join(plain(each) for each in model.lines(range(len(model.keys)), 0)))


@pytest.mark.parametrize(("name", "is_named"), [("spot-night-run", True), ("one-node-fails", False)])
def test_the_legend_has_preempted_where_nodes_were_preempted(session_at, name, is_named):
    model = model_of(session_at(4800, name))
    model.lines(range(len(model.keys)), 0)
    assert ("preempted" in plain(model.legend(300, range(len(model.keys))))) is is_named


def test_the_legend_names_trouble_first_where_there_is_little_room(session_at):
    model = model_of(session_at(900, "nodes-fail-and-recover"), 100)
    model.update(100)
    model.lines(range(len(model.keys)), 0)
    assert plain(model.legend(60, range(len(model.keys)))).startswith("⊠ start task failed  ⊗ unusable")
    for cells in range(10, 200, 7):
        named, _, left_out = plain(model.legend(cells, range(len(model.keys)))).partition("+")
        assert len(named.split("  ")) - 1 + int(left_out.split()[0] if left_out else 1) >= 8


def test_the_present_moment_stays_in_view_with_room_for_what_comes(session_at):
    session = session_at(60)
    model = TimelineModel(session)
    model.recall({"step_ms": 1000})
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
    assert "━" in row(model, 0)
    session.glyphs = GlyphSet(ascii_only=True)
    assert row(model, 0).isascii()
    assert "# running =" in row(model, 0)


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
            ["▸ preparing", "◉ running", "⊟ ineligible", "◔ starting"],
            ["releasing", "enabling", "upgrading OS"],
        ),
        (True, ["p preparing", "# running", "% ineligible", "s starting"], ["releasing", "upgrading OS"]),
    ],
)
def test_the_legend_explains_what_stands_in_the_rows_and_their_bars(session_at, ascii_only, named, is_not_named):
    model = model_of(session_at(LATER_S, ascii_only=ascii_only))
    model.lines(range(len(model.keys)), 0)
    legend = plain(model.legend(200, range(len(model.keys))))
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


@pytest.mark.parametrize("lines", [1, 26])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_cursor_reverses_its_cell_and_hides_nothing(session_at, lines, ascii_only):
    session = session_at(LATER_S, ascii_only=ascii_only)
    model = TimelineModel(session)
    model.update(100, lines)
    for column in range(0, 100, 3):
        model.move(column - model.cursor_column)
        model.update(100, lines)
        with_cursor, without = model.row_lines(1, is_cursor=True), model.row_lines(1, is_cursor=False)
        assert list(map(plain, with_cursor)) == list(map(plain, without))
        fills = [[span.is_fill for span in each for _ in span.text] for each in (with_cursor[0], without[0])]
        changed = [at for at, (one, other) in enumerate(zip(*fills, strict=True)) if one != other]
        assert changed == [model.label_cells + model.cursor_column]


def test_two_lines_of_a_bar_are_one_block():
    canvas = Canvas(GlyphSet(ascii_only=False), [TASK[TaskState.ACTIVE]] * 20, Height(2, 2, 1))
    bar = Bar(2_000, 12_000, TASK[TaskState.RUNNING], "frame-12", ("4:15",), TASK[TaskState.COMPLETED])
    canvas.draw(bar, TimeColumns(0, 20, 1_000), 0)
    canvas.end(bar, TimeColumns(0, 20, 1_000), 0)
    blocks = [[span.is_fill for span in canvas.spans(at) for _ in span.text] for at in range(2)]
    assert blocks[0] == blocks[1] == [False] * 2 + [True] * 10 + [False] * 8
    assert "█" not in plain(canvas.spans(0)) + plain(canvas.spans(1))


@pytest.mark.parametrize(("ascii_only", "sign"), [(False, "▏"), (True, "|")])
def test_the_legend_has_the_sign_with_which_a_block_of_a_task_that_has_ended_begins(session_at, ascii_only, sign):
    model = model_of(session_at(902, "release-after-preparation", ascii_only=ascii_only), CELLS, None)
    shown = range(len(model.keys))
    assert sign in "".join(plain(each) for each in model.lines(shown, 0))
    assert f"{sign} task that has ended" in plain(model.legend(300, shown))
