"""Room that says something: no pane keeps lines for what it does not have."""

from __future__ import annotations

import asyncio
import re

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, from_yaml, run_to, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import contains, strips_of, text_of
from tui.app.dashboard import Dashboard
from tui.app.process import Recorder
from tui.panes.watch_panes import NodeMapPane
from tui.saving.targets import NewLines
from tui.viewmodels.detail_pages import detail_model_of
from tui.viewmodels.lists.events import EventsModel, brief_lines
from tui.viewmodels.session import Session
from tui.viewmodels.sheets import EMPTY_TEXT, NEW_EMPTY, offered
from tui.viewmodels.text import ItemRef, plain, width
from tui.viewmodels.watch.curves import CurvesModel
from tui.viewmodels.watch.node_cards import Cards
from tui.viewmodels.watch.node_map import NodeMapModel
from tui.widgets.charts import Curves


@pytest.fixture
def one_task():
    """A node with one slot, on which the only task of its job runs for long."""
    sim = simulation(a_job(tasks=[a_task("the-whole-book", 90_000)]))
    run_to(sim, seconds=READY_S + 30)
    return sim


def test_a_chart_without_any_value_gives_its_room_to_the_others(one_task):
    model = CurvesModel(Session(one_task))
    text = "\n".join(plain(each) for each in model.lines(60, 26))
    assert all(title in text for title in ("Nodes", "Running tasks", "Cost"))
    assert "Tasks done a minute" not in text
    assert len(model.lines(60, 26)) == 26
    assert model.best_rows(60) < 30


def test_the_pane_of_a_single_node_is_as_high_as_what_it_says(one_task):
    async def run():
        async with Dashboard(one_task, plays=False).run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            return pilot.app.query_one(NodeMapPane).wish(60, 30)

    assert asyncio.run(run()).best <= 6


def test_the_whole_name_of_a_task_stands_on_a_narrow_card_in_place_of_its_bar(one_task):
    model = NodeMapModel(Session(one_task))
    model.update()
    narrow, wide = (plain(Cards(model).card(0, cells, 3, is_cursor=False)[1]) for cells in (30, 60))
    assert "the-whole-book" in narrow
    assert "─" not in narrow
    assert "─" in wide


def test_a_list_of_few_rows_has_the_curves_below_its_details():
    sim = simulation(a_job(tasks=30), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 200)

    async def run(size):
        async with Dashboard(sim, plays=False).run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.press("4")
            await pilot.pause()
            return text_of(pilot.app)

    assert contains(asyncio.run(run((200, 60))), "  Details", "Curves", "Running tasks")
    assert not contains(asyncio.run(run((80, 24))), "Curves")


def test_the_first_tab_of_a_node_goes_on_with_the_others_where_there_is_room():
    sim = simulation(a_job(tasks=30), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 200)
    model = detail_model_of(Session(sim), ItemRef("node", 0))

    def text(rows):
        model.rows = rows
        return list(map(plain, model.lines(0, 116)))

    shown = {rows: text(rows) for rows in (10, 33, 80)}
    assert not contains(shown[10], "Recent tasks")
    assert contains(shown[33], "Jobs on this node", "Recent tasks", "and 1 more in this tab")
    assert contains(shown[80], "Recent tasks", "Changes, newest first")
    assert all(len(lines) <= rows for rows, lines in shown.items() if rows > 30)


def test_a_form_is_as_high_as_its_fields_and_its_text_takes_the_screen(one_task):
    async def run():
        found = []
        async with Dashboard(one_task, plays=False).run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            for keys in (("5", "ctrl+n"), ("ctrl+t",), ("ctrl+t", "escape", "4", "ctrl+n")):
                for key in keys:
                    await pilot.press(key)
                    await pilot.pause()
                found.append(pilot.app.screen.query_one("#actions").size.height)
        return found

    of_tasks, of_text, of_a_job = asyncio.run(run())
    assert of_tasks < 24
    assert min(of_text, of_a_job) > 34


def newest_events(sim, cells):
    """The lines of all events, none wider than these cells."""
    model = EventsModel(Session(sim))
    model.update()
    lines = list(brief_lines(model, [model.key(at) for at in range(model.count)], cells))
    assert all(width(each) <= cells for each in lines)
    return list(map(plain, lines))


@pytest.mark.parametrize("cells", [40, 52, 90])
def test_the_newest_events_keep_their_ids_where_they_are_cut(cells):
    sim = simulation(
        a_job("night", tasks=[a_task("task-one", 90_000), a_task("task-two", 5)]),
        pool=a_pool(nodes=2, taskSlotsPerNode=1),
    )
    run_to(sim, seconds=READY_S + 90_100)
    lines = newest_events(sim, cells)
    of_tasks = [line for line in lines if " task " in line]
    assert of_tasks
    assert all(re.search(r"task-|tasks", line) for line in of_tasks), of_tasks
    assert any(line.rstrip().endswith((" n0", " n1")) for line in lines)
    starts = {line.index(":") for line in lines}
    assert len(starts) == 1  # times stand below one another, with a date or without


@pytest.mark.parametrize("cells", [56, 90])
def test_the_newest_events_name_their_job_once_there_are_several(cells):
    sim = simulation(
        a_job("night", tasks=[a_task("task-one", 90_000)]),
        a_job("day", tasks=[a_task("task-two", 5)]),
        pool=a_pool(nodes=2, taskSlotsPerNode=1),
    )
    run_to(sim, seconds=READY_S + 90_100)
    lines = newest_events(sim, cells)
    assert all(line.rstrip().endswith(("night", "day")) for line in lines if " task " in line)
    assert any("→ running on n0" in line for line in lines)


def test_the_pane_with_the_focus_differs_from_the_others_without_colour(one_task):
    async def run(*, ascii_only):
        app = Dashboard(one_task, plays=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            app.screen.set_class(ascii_only, "-ascii")
            await pilot.pause()
            pane, other = app.query_one("#map-pane").styles, app.query_one("#strip").styles
            return [(each.border_top[0], str(each.border_title_style)) for each in (pane, other)]

    for ascii_only in (False, True):
        focused, other = asyncio.run(run(ascii_only=ascii_only))
        assert focused != other


def test_the_footer_says_what_enter_opens_in_the_pane_with_the_focus(one_task):
    async def run():
        found = {}
        async with Dashboard(one_task, plays=False).run_test(size=(160, 40)) as pilot:
            await pilot.pause()
            for name in ("map", "strip", "job-lists"):
                pilot.app.screen.query_one(f"#{name}").focus()
                await pilot.pause()
                pilot.app.screen.update_header()
                await pilot.pause()
                found[name] = text_of(pilot.app)[-1]
        return found

    found = asyncio.run(run())
    assert "enter open the node" in found["map"]
    assert "enter open the job" in found["strip"]
    assert "enter all tasks" in found["job-lists"]


def test_a_name_stands_whole_in_ascii_as_well(one_task):
    model = NodeMapModel(Session(one_task, ascii_only=True))
    model.update()
    assert "the-whole-book" in plain(Cards(model).card(0, 30, 3, is_cursor=False)[1])


def test_an_empty_scenario_says_how_to_create_something():
    session = Session(from_yaml("scenario: mine"))
    said = " ".join(session.none_yet("job"))
    assert "ctrl+n creates a pool" in said
    assert "over" not in said


def test_a_run_without_a_job_that_is_over_offers_no_more_of_it():
    sim = simulation(pool=a_pool(nodes=1))
    run_to(sim, seconds=READY_S + 600)
    session = Session(sim)
    while session.ahead.advance(4096):
        pass
    session.update()
    assert session.is_over
    assert not sim.finished
    assert session.none_yet("job") == ("There was no job.", "The run is over: nothing more will come.")


def test_in_an_empty_scenario_nothing_can_be_run_or_opened(dashboard_at):
    app, seen = dashboard_at(0, "empty"), []

    def look(app):
        seen.append(text_of(app))

    drive(app, look, "space", look, "2", look, "4", look, "2", "ctrl+n", "ctrl+s", look, size=(80, 24))
    for lines in seen[:4]:
        assert "EMPTY" in lines[0]
        assert lines[-1].split("  ")[0] == " ctrl+n create"
        assert not contains(lines[-1:], "start again")
        assert not contains(lines[-1:], "enter")
        assert sum(each.count("ctrl+n creates") for each in lines) >= 1
    assert contains(seen[1], "There is nothing to run yet. ctrl+n creates a pool or a job.")
    for lines in seen[2:4]:
        assert sum(each.count("ctrl+n") for each in lines[:-1]) == 1
    assert not contains(seen[4], "EMPTY")
    assert contains(seen[4][-1:], "space run", "enter open")


def test_tabs_have_their_whole_titles_also_in_an_empty_scenario_that_is_opened_here(dashboard_at):
    seen = []
    drive(
        dashboard_at(0),
        *("ctrl+o", *"new", "enter"),
        lambda app: seen.extend(text_of(app)),
        size=(80, 24),
    )
    assert contains(seen, "EMPTY", "  Events  ")


def test_the_keys_of_a_map_without_nodes_open_none(dashboard_at):
    seen = []
    drive(dashboard_at(0), lambda app: seen.append(text_of(app)[-1]))
    drive(dashboard_at(330), lambda app: seen.append(text_of(app)[-1]))
    assert ["enter open the node" in each for each in seen] == [False, True]


def test_enter_opens_what_is_called_like_the_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-new-guest.yaml").write_text("scenario: mine\n")
    (tmp_path / "new-session.yaml").write_text("scenario: mine\n")
    assert [each.name for each in offered("new")][:2] == [NEW_EMPTY, "./new-session.yaml"]
    assert offered("new-session")[0].name == "./new-session.yaml"
    assert offered("guest")[0].name == "./a-new-guest.yaml"
    assert offered("")[0].name == NEW_EMPTY


def test_the_picker_shows_its_cursor_while_a_name_is_typed(dashboard_at):
    app, seen = dashboard_at(0), []
    drive(app, "ctrl+o", *"new", lambda app: seen.append(text_of(app)))
    (line,) = [line for line in seen[0] if NEW_EMPTY in line]
    assert f"{app.session.glyphs.cursor} {NEW_EMPTY}" in line


def test_the_picker_of_scenarios_and_the_palette_offer_an_empty_one(dashboard_at):
    assert [each.name for each in offered("new empty")] == [NEW_EMPTY]
    seen = []
    app = dashboard_at(0)
    drive(
        app,
        *("ctrl+o", *"new", "space", *"empty", "enter"),
        lambda app: seen.append((app.session.simulation.scenario.name, text_of(app))),
        *("ctrl+p", *"new", "space", *"scenario"),
        lambda app: seen.append(("", text_of(app))),
    )
    assert seen[0][0] == "new"
    assert contains(seen[0][1], "ctrl+n creates a pool")
    assert contains(seen[1][1], "New empty scenario")


def test_the_curves_have_no_scrollbar_that_would_cut_their_readings(dashboard_at):
    seen = []
    drive(dashboard_at(300), lambda app: seen.append(app.screen.query_one(Curves).styles.scrollbar_size_vertical))
    assert seen == [0]


@pytest.mark.parametrize("size", [(80, 24)])
def test_in_a_low_screen_the_footer_has_the_key_to_act(dashboard_at, size):
    seen = []
    drive(dashboard_at(300), lambda app: seen.append(text_of(app)), size=size)
    assert "a act" in seen[0][-1]


@pytest.mark.parametrize(("cells", "rows"), [(116, 32), (196, 52)])
@pytest.mark.parametrize("tab", ["Statistics", "Critical path"])
def test_statistics_and_critical_path_fill_their_page(session_at, tab, cells, rows):
    model = detail_model_of(session_at(650, "retries-and-exit-conditions"), ItemRef("job", "nightly"))
    model.rows = rows
    lines = [plain(each) for each in model.lines(model.tabs.index(tab), cells)]
    assert rows - 2 <= len(lines) <= rows
    assert sum(not each.strip() for each in lines) < 4
    assert contains(lines, "Curves")


def test_a_critical_path_has_waits_and_runs_as_bars_on_one_scale(session_at):
    model = detail_model_of(session_at(1203, "pipeline-with-dependencies"), ItemRef("job", "study-17"))
    lines = [plain(each) for each in model.lines(model.tabs.index("Critical path"), 116)]
    first, second, third = lines[1:4]
    assert "─━" in first
    assert first.rindex("━") < second.index("━") <= second.rindex("━") < third.index("━")


def test_a_scenario_from_nothing_gets_the_name_of_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sim = Simulation(load_scenario(NEW_EMPTY, text=EMPTY_TEXT))
    recorder = Recorder(sim)
    assert str(recorder.proposal()) == "scenario.yaml"
    do(sim, "createPool", **a_pool("render", nodes=2))
    assert str(recorder.proposal()) == "render.yaml"
    do(sim, "createJob", **{key: value for key, value in a_job("night-shift").items() if key != "tasks"})
    assert str(recorder.proposal()) == "night-shift.yaml"
    recorder.save(NewLines(tmp_path / "mine.yaml"))
    text = (tmp_path / "mine.yaml").read_text(encoding="utf-8")
    assert text.startswith("scenario: mine\n")
    assert max(map(len, text.splitlines())) < 120
    assert load_scenario("mine.yaml").name == "mine"
    assert not recorder.is_unsaved


def test_three_rows_that_no_pane_can_use_show_the_newest_event(dashboard_at):
    seen = []
    drive(dashboard_at(140, "preparation-fails-on-one-node"), lambda app: seen.extend(text_of(app)))
    assert contains(seen, "  Events, newest first", "08:02:01 preparation running attempt 2")
    of_nodes = seen[next(at for at, line in enumerate(seen) if " 2 nodes · " in line) :]
    legend = next(line for line in of_nodes if "✓ prepared 1" in line)
    assert "prep » 19 s" in of_nodes[of_nodes.index(legend) - 2]  # one line is empty below the cards


def is_plain(strip):
    """Whether no bar stands on the line: all of it has the same background."""
    return len({segment.style.bgcolor for segment in strip if segment.style}) == 1


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
def test_a_timeline_of_few_rows_fills_its_pane(dashboard_at, size):
    seen = []
    drive(dashboard_at(360, "mpi-on-four-nodes"), "8", "r", lambda app: seen.extend(strips_of(app)), size=size)
    empty = [strip for strip in seen if strip.text.startswith("│") and not strip.text.strip("│ ") and is_plain(strip)]
    assert len(empty) <= size[1] // 4


def test_the_newest_events_show_state_and_ids_whole_where_kinds_need_not_be_padded():
    def job(job_id, task_id):
        return a_job(job_id, tasks=[a_task(task_id, 30)], prep=a_line(10))

    sim = simulation(job("night-valuation", "price-daily-1"), job("hourly-job-1", "price-hour-0"), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 60)
    lines = newest_events(sim, 66)
    assert any(re.search(r" preparation completed +n0 +night-valuation$", line) for line in lines)
    assert any(re.search(r" task → running on n0 +price-daily-1 +night-valuation$", line) for line in lines)


def test_events_of_nodes_name_their_pool_once_there_are_several():
    more = {"at": 1, "createPool": a_pool("other", nodes=1)}
    sim = simulation(a_job(tasks=1), pool=a_pool("first", nodes=1), timeline=[more])
    run_to(sim, seconds=READY_S + 10)
    lines = newest_events(sim, 90)
    assert any(re.search(r" node +.* first/n0", line) for line in lines)
    assert any(re.search(r" node +.* other/n0", line) for line in lines)


def test_without_a_job_the_strip_of_jobs_offers_no_why(dashboard_at):
    app, seen = dashboard_at(0, "empty"), []
    drive(app, "1", lambda app: seen.append(str(app.screen.query_one("#strip").border_title)))
    assert "no job" in seen[0]
    assert "why" not in seen[0]
