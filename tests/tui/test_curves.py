"""Curves: what is drawn, in every size and every way of drawing, and what it costs."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec, module_from_spec
from itertools import pairwise, product

import pytest

from engine import Simulation, load_scenario
from engine.base.terms import TaskResult
from engine.base.values import HOUR_MS, MINUTE_MS
from tests.tui.screen_text import contains
from tests.work import steps_of
from tui.textual.views import has_grounds
from tui.viewmodels import format as fmt
from tui.viewmodels.lists.pools import PoolsModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import Role, Span, plain, width
from tui.viewmodels.watch import charts as module
from tui.viewmodels.watch import curves
from tui.viewmodels.watch.charts import Layer, Style, charts_of, compact, nice_top, plot, stretched
from tui.viewmodels.watch.curves import CurvesModel
from tui.widgets.charts import Curves

BLUE, GREY = Role.RUNNING, Role.QUIET


def drawn(layers, top, cells, rows, style=None, over=None):
    return [plain(spans) for spans in plot(layers, over, top, cells, rows, style or Style())]


def text_of(model, cells, rows):
    return [plain(spans) for spans in model.lines(cells, rows)]


def session_of(name, ms, **more):
    simulation = Simulation(load_scenario(name))
    simulation.run_until(ms)
    session = Session(simulation, **more)
    session.update()
    return session


def model_at(name, ms, **more):
    return CurvesModel(session_of(name, ms, **more))


@pytest.mark.parametrize("cells", [30, 40, 56, 70])
def test_times_below_curves_are_round_and_evenly_spread(cells):
    session = session_of("job-prep-release-sample", 187_000)
    times = text_of(CurvesModel(session), cells, 8)[-1].split()
    seconds = [sum(int(part) * 60**at for at, part in enumerate(reversed(each.split(":")))) for each in times]
    steps = {later - earlier for earlier, later in pairwise(seconds)}
    assert len(steps) == 1
    assert all(each % 10 == 0 for each in seconds)
    assert len(times) >= cells // 30


def test_the_title_of_curves_names_job_and_pool_only_where_there_are_others():
    assert CurvesModel(session_of("job-prep-release-sample", 60_000)).title == "Curves"
    assert CurvesModel(session_of("shared-pool-two-jobs", 400_000)).title.startswith("Curves: ")


def test_the_pool_under_the_cursor_of_the_list_is_the_one_whose_curves_are_shown():
    simulation = Simulation(load_scenario("quota-keeps-the-pool-small"))
    simulation.run_until(4 * MINUTE_MS)
    session = Session(simulation)
    pools, curves = PoolsModel(session), CurvesModel(session)
    pools.update()
    for row, name in enumerate(("pricing", "risk")):
        pools.put_in_focus(pools.key(row))
        assert pools.key_in_focus() == row
        assert curves.title == f"Curves: {name}"
        assert text_of(curves, 70, 4)[0].endswith(f"{3 - row} idle  ■ 0 starting  ─ 3 target")


def test_a_curve_is_drawn_in_dots_and_joins_the_values_of_its_columns():
    assert drawn([Layer("a", BLUE, [0, 2, 8, 12, 16])], 16, 5, 2) == ["   ⣠⣾", " ⢀⣼⣿⣿"]


def test_small_layers_take_their_dots_from_the_layer_below_and_add_none_to_the_sum():
    few = [Layer(name, GREY, [2, 2]) for name in "bcd"]
    assert drawn([Layer("a", BLUE, [9_994, 9_994]), *few], 16_000, 2, 4) == drawn(
        [Layer("a", BLUE, [10_000, 10_000])], 16_000, 2, 4
    )
    (ends, _) = module._heights([[9_994, 0], *[[2, 0]] * 3], 16_000, 4, 2)
    assert ends == (7, 8, 9, 10)
    assert module._heights([[1], [1], [1]], 16_000, 4, 1) == [(0, 0, 1)]


def test_the_edge_of_an_area_is_bright_and_what_is_below_it_is_pale():
    rows = plot([Layer("a", BLUE, [6, 6])], None, 9, 2, 3, Style())
    assert [(span.text.strip(), span.role, span.is_pale) for row in rows for span in row] == [
        ("", Role.PLAIN, False),
        ("⣿⣿", BLUE, False),
        ("⣿⣿", BLUE, True),
    ]


@pytest.mark.parametrize("ascii_only", [True, False])
def test_no_curve_is_drawn_with_blocks_which_have_seams_on_many_terminals(ascii_only):
    model = model_at("job-prep-release-sample", 300_000, ascii_only=ascii_only)
    drawn_texts = "".join(text_of(model, 120, 40))
    assert set(drawn_texts).isdisjoint("▁▂▃▄▅▆▇█▒░▓")


def test_the_middle_of_a_scale_has_a_number_only_if_that_is_round():
    model = model_at("priorities-and-fairness", 360_000)
    labels = {each.partition("┤")[0].strip() for each in text_of(model, 58, 30) if "┤" in each}
    assert "$0.025" in labels
    assert labels.isdisjoint({"$0.013", "$0.012", "1.5"})


def test_two_tenths_of_the_height_stay_free_and_a_scale_of_things_has_whole_numbers():
    session = session_of("job-prep-release-sample", 300_000)
    for chart in charts_of(session, session.pool_id, session.job_id, 40):
        top = curves.top_of(chart)
        assert chart.top <= top * 0.8 + 1e-9
        assert top % 1 == 0 or chart.title == "Cost"


def test_what_is_not_zero_is_visible():
    assert drawn([Layer("a", BLUE, [0, 0.001])], 1000, 2, 1) == [" ⢀"]
    assert drawn([Layer("a", BLUE, [1000, 1000]), Layer("b", GREY, [0, 1])], 1001, 2, 2)[0].strip()


@pytest.mark.parametrize(("low", "high", "role"), [(4, 2, BLUE), (2, 4, GREY)])
def test_the_layer_with_most_of_a_cell_has_its_colour(low, high, role):
    (row,) = plot([Layer("a", BLUE, [low]), Layer("b", GREY, [high])], None, 8, 1, 1, Style())
    assert row == (Span("⣶", role),)


def test_layers_of_more_columns_than_cells_stand_on_each_other_as_they_were_at_one_moment():
    layers = [Layer("running", BLUE, [2, 0, 2, 1]), Layer("idle", GREY, [0, 2, 0, 1])]
    assert drawn(layers, 4, 2, 2) == drawn([Layer("both", BLUE, [2, 2])], 4, 2, 2)


def test_areas_with_equal_parts_of_a_cell_are_drawn():
    layers = [Layer("a", BLUE, [2]), Layer("b", GREY, [2]), Layer("c", Role.OFF, [2])]
    assert drawn(layers, 8, 1, 1)[0].strip()


def test_without_colours_and_in_ascii_areas_have_textures():
    layers = [Layer("a", BLUE, [1]), Layer("b", GREY, [1])]
    assert drawn(layers, 2, 1, 2, Style(has_grounds=False)) == ["⢕", "⣿"]
    assert drawn(layers, 2, 1, 2, Style(ascii_only=True)) == [":", "#"]


def test_values_are_repeated_for_more_cells_and_of_too_many_the_highest_counts():
    assert stretched([[1, 2]], 4) == [[1, 1, 2, 2]]
    assert stretched([[1, 9, 2, 0, 0, 3]], 3) == [[9, 2, 3]]
    assert stretched([[]], 3) == [[]]


def test_a_line_stands_at_its_values_where_no_area_hides_it():
    line = Layer("target", Role.STRONG, [1, 1, 3, 3, 2])
    assert drawn([], 3, 5, 3, over=line) == ["  ── ", "    ─", "──   "]
    assert drawn([], 3, 5, 3, Style(ascii_only=True), line) == ["  -- ", "    -", "--   "]
    assert drawn([Layer("a", BLUE, [0, 0, 2, 2, 2])], 3, 5, 3, over=line)[0] == "  ── "


def fresh_module():
    """Return the module as it is before anything was drawn."""
    spec = find_spec(module.__name__)
    fresh = module_from_spec(spec)
    spec.loader.exec_module(fresh)
    return fresh


def test_kept_columns_are_those_of_the_same_height_and_look():
    def drawings(plot):
        found = []
        for role, over, rows, style in product(
            (BLUE, GREY), (None, BLUE, Role.STRONG), (2, 5), (Style(), Style(has_grounds=False), Style(ascii_only=True))
        ):
            layers = [Layer("a", role, [1, 4, 2, 7]), Layer("b", GREY, [0, 2, 3, 3])]
            line = Layer("c", over, [3, 3, 8, 1]) if over else None
            found += [plot(layers[:count], line, 10, 9, rows, style) for count in (1, 2)]
            found.append(plot([*layers[:1], layers[1]._replace(values=[0] * 4)], line, 10, 9, rows, style))
        return found

    kept = drawings(plot) and drawings(plot)
    assert drawings(fresh_module().plot) == kept
    forgetful = fresh_module()
    forgetful.KEPT_COLUMNS = 1  # each is forgotten before the next one
    assert drawings(forgetful.plot) == kept


@pytest.mark.parametrize(
    ("value", "is_count", "top"), [(0, True, 1), (0.3, False, 0.3), (7, True, 8), (11, True, 12), (130, False, 150)]
)
def test_the_top_of_a_scale_is_round(value, is_count, top):
    assert nice_top(value, is_count=is_count) == pytest.approx(top)
    assert nice_top(1.1, is_count=True) == 2


def test_numbers_are_short():
    assert [compact(value) for value in (0, 12, 0.25, 1234, 35_000, 1_200_000)] == [
        "0", "12", "0.25", "1,234", "35k", "1.2M",
    ]  # fmt: skip
    assert [fmt.money(value) for value in (0, 0.016, 0.5, 12, 1234.5)] == [
        "$0.00", "$0.016", "$0.50", "$12.00", "$1,234.50",
    ]  # fmt: skip


@pytest.mark.parametrize("size", [(30, 1), (30, 3), (38, 9), (58, 17), (96, 13), (130, 30), (200, 60)])
@pytest.mark.parametrize("name", ["priorities-and-fairness", "job-prep-release-sample", "a-day-of-autoscaling"])
@pytest.mark.parametrize("style", ["colour", "plain", "ascii"])
def test_the_curves_fill_their_room_exactly(name, size, style):
    model = model_at(name, 400_000, ascii_only=style == "ascii")
    model.has_grounds = style == "colour"
    cells, rows = size
    lines = model.lines(cells, rows)
    assert len(lines) <= rows
    assert len(lines) == rows or rows < 4
    assert all(width(spans) <= cells for spans in lines)
    assert style != "ascii" or all(plain(spans).isascii() for spans in lines)


def test_the_least_important_chart_is_left_out_first():
    model = model_at("job-prep-release-sample", 300_000)
    tall, low = "\n".join(text_of(model, 60, 40)), "\n".join(text_of(model, 60, 9))
    for title in ("Nodes", "Running tasks", "Waiting tasks", "Tasks done a minute", "Preparing nodes", "Cost"):
        assert title in tall
    assert "Nodes" in low
    assert "Cost" not in low


def test_the_scale_of_things_ends_at_one_at_least():
    assert nice_top(0.004, is_count=True) == 1
    assert nice_top(0.004, is_count=False) < 0.01


def test_the_readings_are_the_numbers_of_now():
    session = session_of("priorities-and-fairness", 360_000)
    model = CurvesModel(session)
    session.focus_job("overnight-a")
    text = "\n".join(text_of(model, 70, 30))
    assert "2 running" in text
    assert "─ 2 target" in text
    assert "2 of other jobs" in text
    assert "4 waiting" in text


def test_readings_keep_their_names_in_a_narrow_chart(session_at):
    model = CurvesModel(session_at(1200, "nodes-fail-and-recover"))
    title = " ".join(text_of(model, 56, 30)[0].split())
    assert title == "Nodes ■ 1 running ■ 3 idle ■ 3 starting ■ 7 down"


@pytest.mark.parametrize("name", ["job-prep-release-sample", "preparation-fails-on-one-node"])
def test_the_scale_reaches_the_numbers_of_now(name):
    simulation = Simulation(load_scenario(name))
    session = Session(simulation)
    while not simulation.finished and simulation.step():
        session.update()
        for chart in charts_of(session, session.pool_id, session.job_id, 40):
            numbers = [int(each.text) for each in chart.readings if each.text.isdecimal() and each.layer is not None]
            is_rate = chart.title == "Tasks done a minute"  # at the end of a job with the number of all in its title
            assert not chart.is_count or is_rate or chart.top >= max(numbers, default=0)


def test_a_rate_counts_what_has_just_been_completed():
    simulation = Simulation(load_scenario("job-prep-release-sample"))
    simulation.run_until(simulation.end_ms)
    log, done = simulation.log, []
    for at, shape in enumerate(log.shape_of):
        fields = dict(log.shapes[shape].fields)
        if log.shapes[shape].event == "TaskStateChanged" and fields.get("result") is TaskResult.SUCCESS:
            done.append(log.when[at])
    session = Session(simulation)
    job_id = session.job_id
    for when_ms in {done[0], done[0] + 10, *done[5:9], done[-1], done[-1] + 59_000}:
        simulation.seek(when_ms)
        expected = sum(when_ms - MINUTE_MS < each <= when_ms for each in done)
        assert abs(session.series.succeeded_in_a_minute(job_id) - expected) <= 1
    simulation.seek(done[0])
    session.update()
    text = text_of(CurvesModel(session), 120, 20)
    assert contains(text, "Tasks done a minute")
    assert not contains(text, "0 a minute")


def test_at_the_end_completed_tasks_are_counted_instead_of_a_rate_of_some_stretch():
    simulation = Simulation(load_scenario("nightly-schedule-overruns"))
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    session = Session(simulation)
    charts = charts_of(session, session.pool_id, session.job_id, 40)
    readings = next(chart.readings for chart in charts if chart.title == "Tasks done a minute")
    done = session.job(session.job_id).phases.tasks.succeeded
    assert (readings[0].text, readings[0].name) == (str(done), "succeeded in all")


def test_at_the_start_of_a_run_the_plots_say_why_they_are_empty():
    text = text_of(model_at("job-prep-release-sample", 0), 120, 20)
    assert contains(text, "no time has gone by yet")
    assert text[-1].split() == ["08:00:00"] * 2  # once below each of two charts
    assert not contains(text_of(model_at("job-prep-release-sample", 60_000), 120, 20), "no time has gone by yet")


def test_tasks_that_prepare_are_told_apart_from_those_that_wait():
    session = session_of("preparation-fails-on-one-node", 119_000)
    model = CurvesModel(session)
    progress = session.job(session.job_id).phases.tasks
    assert progress.active > 0
    assert progress.preparing > 0
    text = "\n".join(text_of(model, 70, 30))
    assert f"{progress.active} waiting" in text
    assert f"{progress.preparing} preparing" in text


def test_the_times_of_the_run_stand_below():
    session = session_of("a-day-of-autoscaling", 7 * HOUR_MS)
    model = CurvesModel(session)
    clock = session.clock
    session.series.read_all()
    assert text_of(model, 60, 30)[-1].split()[0] == clock(0)


def test_before_the_first_pool_there_is_a_sentence():
    scenario = load_scenario("one-pool-per-scheduled-job")
    model = CurvesModel(Session(Simulation(scenario)))
    assert text_of(model, 60, 10) == ["There is no pool and no job yet."]


def test_when_all_is_deleted_the_curves_of_the_run_stay():
    model = model_at("six-steps-to-a-result", 600_000)
    text = "\n".join(text_of(model, 60, 24))
    assert "Nodes of all pools" in text
    assert "⣿" in text
    assert not model.is_empty


def test_a_drawing_of_a_large_screen_takes_a_few_steps_for_each_cell():
    session = session_of("a-day-of-autoscaling", 12 * HOUR_MS)
    model = CurvesModel(session)
    costs = []
    for turn in range(3):
        session.simulation.run_until(12 * HOUR_MS + turn * 60_000)
        session.update()
        costs.append(steps_of(lambda: model.lines(130, 40)))
    assert max(costs[1:]) < 6 * 130 * 40


def test_after_a_burst_the_pane_catches_up_while_the_run_is_paused(dashboard_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.session.SERIES_ENTRIES", 20)
    app = dashboard_at(330)
    seen = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            series = app.session.series
            while series.is_behind:
                seen.append(series.until_ms)
                await pilot.pause(0.02)
            await pilot.pause(0.05)
            assert series.until_ms == app.session.now_ms
            whole = CurvesModel(app.session)
            pane = app.screen.query_one(Curves)
            whole.has_grounds = has_grounds(app.theme)
            assert [plain(spans) for spans in pane.lines] == text_of(whole, pane.size.width, pane.size.height)

    asyncio.run(run())
    assert seen == sorted(seen)
    assert seen


def test_curves_behind_the_other_panes_say_up_to_when_they_are_drawn(dashboard_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.session.SERIES_ENTRIES", 20)
    app = dashboard_at(330)
    seen = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            pane = app.screen.query_one(Curves)
            for seconds in (360, 420):
                app.session.simulation.run_until(seconds * 1000)
                app.session.is_playing = True
                app.screen.update()
                app.session.is_playing = False
                seen.append(str(pane.border_subtitle))
                while app.session.series.is_behind:
                    await pilot.pause(0.02)
                await pilot.pause(0.05)
                seen.append(str(pane.border_subtitle))

    asyncio.run(run())
    assert seen[1] == seen[3] == ""
    assert seen[2] == "up to 08:06:00"


def test_after_a_jump_no_curve_of_an_earlier_moment_is_shown(session_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.session.SERIES_ENTRIES", 20)
    session = session_at(330)
    model, seen = CurvesModel(session), set()
    while session.series.is_behind:
        seen |= {plain(spans).partition(" up to ")[0] for spans in model.lines(80, 24)}
        model.go_on()
    assert seen == {" Counting what has happened:"}
    assert any("Running tasks" in plain(spans) for spans in model.lines(80, 24))


def test_after_a_burst_the_pane_is_drawn_only_by_what_reads_it(dashboard_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.session.SERIES_ENTRIES", 20)
    app = dashboard_at(330)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            pane = app.screen.query_one(Curves)
            app.session.simulation.run_until(360_000)
            app.session.is_playing, before = True, pane.lines
            app.main_screen.update()
            assert app.session.series.is_behind
            assert pane.lines == before

    asyncio.run(run())


@pytest.mark.parametrize("cells", [52, 56, 116])
def test_no_line_of_a_chart_is_wider_than_its_room(session_at, cells):
    model = CurvesModel(session_at(400, "quota-keeps-the-pool-small"))  # a scale of $0.10, and $0.050 at its middle
    assert max(width(each) for rows in range(4, 40) for each in model.lines(cells, rows)) <= cells


def test_where_little_happens_flat_curves_share_the_room(session_at):
    session = session_at(720, "a-formula-that-never-grows")
    titles = {"Nodes", "Running tasks", "Waiting tasks"}
    few, many = (CurvesModel(session).lines(60, rows) for rows in (8, 27))
    assert [title for title in titles if contains(list(map(plain, few)), title)] == ["Waiting tasks"]
    assert all(contains(list(map(plain, many)), title) for title in titles)


def test_jobs_on_other_pools_are_no_part_of_the_curve_of_running_tasks(session_at):
    session = session_at(7 * 86_400, "one-pool-per-scheduled-job")
    (running,) = (
        chart for chart in charts_of(session, session.pool_id, session.job_id, 60) if chart.title == "Running tasks"
    )
    assert [reading.name for reading in running.readings] == ["running"]


def test_before_the_first_node_the_price_of_an_hour_is_that_of_nodes_to_come():
    session = session_of("preparation-fails-on-one-node", 10_000)
    (cost,) = (each for each in charts_of(session, session.pool_id, session.job_id, 40) if each.title == "Cost")
    assert [each.name for each in cost.readings if each.name.startswith("an hour")] == ["an hour once nodes start"]
