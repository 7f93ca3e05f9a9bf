"""The timeline: its rows, its cells, its keys."""

from __future__ import annotations

import re

import pytest

from engine.base.values import DAY_MS
from engine.specs.commands import RemoveNodes
from tests.builders import a_job, a_pool, a_task, simulation
from tests.tui.driving import drive
from tests.tui.timelines import model_of, row
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain, width
from tui.viewmodels.timeline.timeline import LABEL_CELLS, TimelineModel

LATER_S, CELLS = 330, 100


def five_seconds(app):
    """Let a column of the timeline last five seconds."""
    model = app.screen.query_one("#lanes").model
    model.recall({**model.remembered(), "step_ms": 5_000})
    app.screen.update()


def test_a_row_tells_a_nodes_story(session_at):
    model = model_of(session_at(LATER_S, ascii_only=True))
    assert model.columns.step_ms == 5_000
    assert row(model, 1) == (
        f"{'n1':<{LABEL_CELLS}}"
        + "  c=s====="
        + "p======="
        + "P======="
        + "X"
        + "% ineligible ".ljust(40, "=")
        + "_" * 28
        + " " * 5
    )
    begin = re.escape(f"{'n0':<{LABEL_CELLS}}" + "  c=s=====" + "p=======")
    assert re.fullmatch(begin + "# running [+=]{39}~" + "_" * 27 + " " * 5, row(model, 0))
    left = f"{'n5':<{LABEL_CELLS}}" + "  c=s=====" + "p======="
    assert re.fullmatch(re.escape(left) + "# running [+=]{8}l===", row(model, 5).rstrip())


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
    assert model.columns.step_ms == 2_500
    assert (model.cursor_column, model.cursor_ms) == (at, when_ms)
    for _ in range(20):
        model.zoom(-1)
    assert DAY_MS / 2 < model.columns.step_ms <= DAY_MS
    model.fit()
    model.update(CELLS)
    assert model.columns.step_ms == 4_000
    assert model.cursor_ms is None


def test_only_rows_where_something_has_failed(session_at):
    session = session_at(LATER_S)
    model = model_of(session)
    model.only_failed = True
    shown = []
    for _ in range(3):
        model.update(CELLS)
        shown.append([model.rows.label(key) for key in model.keys])
        model.next_rows()
    assert shown == [["n1"], ["deal-1", "deal-11"], ["risk"]]
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
    model.move(200)
    assert model.cursor_ms == 500_000
    assert model.columns.first == 200 - CELLS + 1


def test_tasks_and_jobs_have_rows_too(session_at):
    model = model_of(session_at(LATER_S, ascii_only=True))
    model.next_rows()
    model.update(CELLS)
    assert "tasks risk" in model.title()
    assert row(model, 0).startswith("deal-1    " + "a".ljust(18, ".") + "|n0  1:01 ==X ")
    assert plain(model.cursor_line(0, CELLS)).endswith("added 08:00:00, started 08:01:31, ended 08:02:32, exit 1")
    assert "_" not in row(model, 0)[LABEL_CELLS:]
    model.next_rows()
    model.update(CELLS)
    assert row(model, 0) == f"risk      {'a':.<10}pprep X1{'# tasks  24 of 40 ':=<49}" + "_" * 28 + " " * 5
    assert plain(model.cursor_line(0, CELLS)) == (
        "risk  08:05:30  tasks  24 of 40, since 08:01:31; active since 08:00:00"
    )
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
    assert row(model, 1).rstrip("_ ") == whole.rstrip("_ ")
    assert "~" not in row(model, 1)
    assert plain(model.axis())[LABEL_CELLS + 20] == "^"


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


def labels(model):
    return [model.rows.label(key) for key in model.keys]


def test_a_long_log_is_read_in_pieces(session_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.timeline.timeline.PIECE", 4)
    session = session_at(LATER_S, ascii_only=True)
    model = model_of(session)
    model.update(CELLS)
    assert "% read" in model.title()
    looks = []
    while model.go_on(model.keys):
        model.update(CELLS)
        if model.keys:
            looks.append(row(model, labels(model).index("n1")).rstrip("_= "))
    model.update(CELLS)
    assert len(set(looks)) > 3
    story = row(model, labels(model).index("n1"))
    assert all(story.startswith(look[:-1]) for look in looks)  # what filled the last column may not be known yet
    monkeypatch.undo()
    fresh = model_of(session, CELLS)
    fresh.update(CELLS)
    model.update(CELLS)
    assert labels(model) == labels(fresh)
    assert [row(model, at) for at in range(6)] == [row(fresh, at) for at in range(6)]
    assert "read" not in model.title()


def test_the_cursor_says_how_far_its_row_is_read_and_states_nothing_of_later_moments(session_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.timeline.timeline.PIECE", 1)
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
    monkeypatch.setattr("tui.viewmodels.timeline.timeline.PIECE", 1)
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
            model.move(column - model.cursor_column)
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
    assert "X% ineligible" in row(model, 1)
    session.simulation.seek(100_000)
    session.simulation.branch()
    session.simulation.submit(RemoveNodes(pool_id="shared", node_list=(1,)))
    session.simulation.run_until(LATER_S * 1000)
    session.update()
    model.update(CELLS)
    assert row(model, 1).rstrip().endswith("P=Xl==")
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
    for text in ("task deal-1", "job risk"):
        model.next_rows()
        model.update(CELLS)
        assert [each.text for each in model.openables(0)] == [text]


def test_what_was_chosen_is_remembered(session_at):
    session = session_at(LATER_S)
    model = model_of(session, seconds=None)
    assert model.remembered() == {"rows": 0, "step_ms": None}
    model.next_rows()
    model.only_failed = True
    model.zoom(-1)
    chosen = {"rows": 1, "step_ms": 8_000}
    assert model.remembered() == chosen
    other = TimelineModel(session)
    other.recall(chosen)
    other.update(CELLS)
    assert other.remembered() == chosen
    assert not other.only_failed


def test_the_row_of_a_job_tells_one_story(session_at):
    """Its bar, the words below it and its note name the same phase, with the counts of the strip of jobs."""
    session = session_at(900, "shared-pool-two-jobs")
    model = model_of(session)
    model.next_rows()
    model.next_rows()
    model.update(CELLS)
    for when_s in (60, 100, 115, 160, 250, 800):
        for key in model.keys:
            told = plain(model.rows.description_at(key, when_s * 1000))
            bars = [bar for track in model.rows.tracks(key, model.columns) for bar in track]
            here = [bar for bar in bars if bar.begin_ms <= when_s * 1000 < (bar.end_ms or session.now_ms + 1)]
            assert told.startswith(here[0].name) if here else " since " in told or told == "not added yet"
            assert all(note in told for bar in here for note in bar.notes)
    credit = next(key for key in model.keys if model.rows.label(key) == "credit")
    assert "no task left" in {glyph.name for glyph in model.rows.ground(credit, model.columns)}
    assert (model.rows.note(credit), session.job("credit").state.wire) == ("active", "active")


def test_below_the_nodes_stand_the_jobs_of_their_pool_the_one_in_focus_first():
    jobs = [a_job(name, tasks=[a_task("t", 600)]) for name in ("first", "second", "third")]
    sim = simulation(*jobs, a_job("foreign", pool="other", tasks=[a_task("t", 600)]), pools=[a_pool(), a_pool("other")])
    sim.run_until(60_000)
    session = Session(sim)
    session.focus_job("second")
    found = [plain(each).split()[0] for each in model_of(session).context(12) if plain(each).strip()]
    assert [each for each in found if each in ("first", "second", "third", "foreign")] == ["second", "third", "first"]
