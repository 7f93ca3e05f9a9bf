"""Names, times and numbers that say nothing once they are cut: where they have room they are whole."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, run_to, simulation
from tests.tui.screen_text import after
from tui.viewmodels.actions.menu import actions_for, effect_lines
from tui.viewmodels.autoscale import autoscale_lines, numbered
from tui.viewmodels.frame import Transport, breadcrumb
from tui.viewmodels.glyphs import GlyphSet
from tui.viewmodels.go_line import PaletteEntry, entry_line
from tui.viewmodels.lists.columns import Column, layout
from tui.viewmodels.lists.events import EventsModel, brief_lines
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain, width
from tui.viewmodels.timeline.lines import Canvas
from tui.viewmodels.timeline.rows import FAILED, NOTHING, RUNNING, Bar, Height, TimeColumns
from tui.viewmodels.watch import job_strip
from tui.viewmodels.watch.job_strip import JobStripModel
from tui.viewmodels.watch.node_map import Lens, NodeMapModel

DAY_S = 86_400
ENDS = {"onAllTasksComplete": "terminatejob"}


def test_without_preparation_the_map_begins_with_the_states_of_the_nodes():
    for prep, lens in ((None, Lens.STATE), (a_line(10), Lens.PHASE)):
        sim = simulation(a_job(tasks=3, **({"prep": prep} if prep else {})))
        run_to(sim, seconds=READY_S + 5)
        model = NodeMapModel(Session(sim))
        model.update()
        assert model.lens is lens
        other = Lens.PHASE if lens is Lens.STATE else Lens.STATE
        model.look_through(other)
        model.update()
        assert model.lens is other
        assert model.remembered() == {"lens": other}


@pytest.mark.parametrize("cells", [76, 100, 116])
def test_the_end_of_the_job_stands_whole_in_the_strip(cells):
    sim = simulation(a_job(tasks=90, prep=a_line(5), release=a_line(5), **ENDS))
    run_to(sim, seconds=READY_S + 400)
    told = plain(job_strip.rail(Session(sim), cells, 9)[-1])
    assert re.search(r"job (ends )?\d\d:\d\d:\d\d", told)


@pytest.mark.parametrize("cells", [76, 116])
def test_an_end_on_another_day_stands_whole_beside_the_bars(cells):
    sim = simulation(
        a_job("first", tasks=[a_task(seconds=DAY_S)], **ENDS), a_job("second", tasks=[a_task(seconds=9)], **ENDS)
    )
    run_to(sim, seconds=READY_S + DAY_S + 60)
    model = JobStripModel(Session(sim))
    model.update()
    lines = [plain(each) for each in model.lines(cells, 9, 0)][:2]
    assert all(len(each) == cells for each in lines)
    assert all(re.search(r"01-06 \d\d:\d\d:\d\d$", each) for each in lines)


def test_long_names_leave_room_for_the_rest_of_a_title():
    sim = simulation(a_job("j" * 40 + "-1", pool="p" * 40 + "-2"), pool=a_pool("p" * 40 + "-2", nodes=2))
    run_to(sim, seconds=READY_S)
    session = Session(sim)
    title = job_strip.rail_title(session, 70)
    assert len(title) == 70
    assert all(each in title for each in ("-1 · active", "-2 steady 2/2 nodes"))
    path = breadcrumb(session, "Preparation tasks", Transport(False, 1, False), 120)
    assert width(path) == 120
    assert all(each in plain(path) for each in ("-1 › Preparation tasks ", "-2 › "))


def test_a_path_leaves_out_the_pool_before_it_cuts_a_name():
    sim = Simulation(load_scenario("job-prep-release-sample"))
    sim.run_until(600_000)
    path = plain(breadcrumb(Session(sim), "Watch", Transport(False, 1, True), 120))
    assert path.startswith(" job-prep-release-sample › JobPrepReleaseSampleJob › Watch ")


def test_an_id_takes_the_room_that_what_happened_leaves():
    sim = Simulation(load_scenario("job-prep-release-sample"))
    sim.run_until(600_000)
    model = EventsModel(Session(sim))
    model.update()
    lines = [plain(each) for each in brief_lines(model, map(model.key, range(model.count)), 64)]
    assert all(len(each) == 64 for each in lines)
    assert any(re.search(r"0 of 2 dedicated +JobPrepReleaseSamplePool$", each) for each in lines)


def columns(*each):
    return [Column("", 1), Column("Id", 8, stretch=True, is_id=True), *each]


def test_values_stay_whole_while_their_heads_are_cut_to_a_word():
    start, end = (Column(name, 8, is_whole=True) for name in ("Start time", "End time"))
    found = layout(columns(start, end), 26, [1, 4, 6, 8])
    assert [cells for _, cells in found[1:]] == [4, 9, 8]
    found = layout(columns(start, Column("Exit code", 9, from_width=50)), 27, [1, 4, 14, 1])
    assert found[2][1] >= 14
    assert len(found) == 3


def test_the_last_columns_give_way_before_the_heads_of_others_are_cut():
    running = Column("Running tasks", 13, least=6)
    assert layout(columns(running, Column("Address", 11, from_width=116)), 30, [1, 4, 6, 9])[-1] == (2, 16)
    assert len(layout(columns(running, Column("Address", 11, from_width=90)), 30, [1, 4, 6, 9])) == 4


def test_a_pool_without_nodes_has_no_slots():
    sim = simulation(pool=a_pool(nodes=0))
    run_to(sim, seconds=READY_S)
    model = PoolsModel(Session(sim))
    model.update()
    assert "no slots" in [span.text for span in model.cells(model.key(0))]


def test_large_numbers_of_nodes_stand_whole_in_the_list_of_pools():
    sim = simulation(pool=a_pool(nodes=0, targetDedicatedNodes=10_000), account={"quotas": {"dedicatedCores": 90_000}})
    run_to(sim, seconds=READY_S)
    model = PoolsModel(Session(sim))
    model.update()
    texts = [span.text for span in model.cells(model.key(0))]
    assert any("of 10,000" in text for text in texts)
    found = dict(model.layout(100, [len(text) for text in texts]))
    at = [column.name for column in model.columns].index("Dedicated")
    assert texts[at] == "10,000/10,000"
    assert found[at] >= len(texts[at])


def test_no_head_is_cut_in_the_list_of_nodes_at_120_columns(session_at):
    model = NodesModel(session_at(70))
    needs = [1, 3, 22, 8, 6, 14, 2, 8, 9, *[0] * (len(model.columns) - 9)]
    names = {at: len(column.name) for at, column in enumerate(model.columns)}
    found = model.layout(98, needs)
    assert all(cells >= names[at] for at, cells in found)
    assert len(found) >= 7


# --- bars of the timeline


def bars_of(*bars, cells=40):
    canvas, scale = Canvas(GlyphSet(ascii_only=False), [NOTHING] * cells, Height(1, 1, 0)), TimeColumns(0, cells, 1000)
    for bar in bars:
        canvas.draw(bar, scale, 0)
    for bar in bars:
        canvas.end(bar, scale, 0)
    return "".join(span.text for span in canvas.spans(0))


def test_a_bar_that_has_ended_does_not_begin_with_the_symbol_of_what_runs():
    assert bars_of(Bar(0, None, RUNNING, "price-1")).startswith("◉ price-1 ━")
    assert bars_of(Bar(0, 20_000, RUNNING, "price-1")).startswith("▏price-1 ━")
    assert bars_of(Bar(0, 20_000, RUNNING, "price-1", (), FAILED))[19] == "✗"
    assert bars_of(Bar(0, 2_000, RUNNING, "price-1")).startswith("▏━ ")


def test_the_end_of_a_name_is_not_covered_by_the_next_bar():
    first, second = (
        Bar(begin, end, RUNNING, f"nightly-risk:job-{at}", is_id=True)
        for at, (begin, end) in enumerate(((0, 15_500), (15_500, None)))
    )
    assert "job-0" in bars_of(first, second)


def test_a_note_that_has_no_room_in_its_bar_is_left_out():
    bar = Bar(0, 6_000, RUNNING, "preparation", ("2 of 2 nodes",), short="prep")
    canvas = Canvas(GlyphSet(ascii_only=False), [NOTHING] * 20, Height(2, 2, 0))
    canvas.draw(bar, TimeColumns(0, 20, 1000), 0)
    first, second = ("".join(span.text for span in canvas.spans(at)) for at in range(2))
    assert "prep" in first
    assert "…" not in second


def test_the_reason_of_a_failure_is_broken_between_words(dashboard_at):
    lines = after(dashboard_at(90_000, "one-pool-per-scheduled-job"), size=(80, 24))
    assert any("AutoPoolCreationFailed" in line for line in lines)
    assert not any(re.search(r"WithQuot\b|\bithQuota|WithQuotaRea\b", line) for line in lines)


def test_a_line_that_is_longer_than_its_list_ends_with_an_ellipsis(dashboard_at):
    shown = after(dashboard_at(2000, "terminate-then-delete"), "5", "a", size=(90, 24))
    (said,) = [each for each in shown if "Cancel the failed deletion" in each]
    assert "…" in said


@pytest.mark.parametrize(("view", "title"), [("2", "Create a pool"), ("4", "Create a job"), ("0", "Create a job sch")])
def test_hints_in_empty_fields_stand_whole(dashboard_at, view, title):
    lines = after(dashboard_at(5), view, "ctrl+n", size=(120, 40))
    assert any(title in each for each in lines)
    fields = [each[:60] for each in lines if re.search(r"[│┃] [A-Z][\w ]+ \*? +\(", each[:60])]
    assert len(fields) > 4
    assert [each for each in fields if ")" not in each] == []


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_what_a_setting_is_for_is_told_in_whole_parts(dashboard_at, size):
    lines = after(dashboard_at(5), "s", size=size)
    theme = next(each for each in lines if "› theme" in each)
    assert re.search(r"dark +(default +)?colours(; ansi takes the terminal's own sixteen)? *[▁-▇]? *│", theme)
    assert any("(dark, light, high-contrast, ansi" in each or "(dark, light," in each for each in lines)


def test_effects_have_a_heading_only_where_there_are_any(session_at):
    lines = {}
    for action in actions_for(session_at(330), [ItemRef("node", 0)]):
        lines[action.title] = [plain(each) for each in effect_lines(session_at(330), action, 60)]
    assert any("Effects" in each for each in lines.values())
    assert [title for title, each in lines.items() if each and each[-1] == "Effects"] == []


def test_a_key_of_the_palette_stands_apart_from_its_title():
    for key in ("G ctrl+end", "x"):
        told = plain(entry_line(PaletteEntry("Go to the end", "Of the run.", list, key=key), 60))
        assert re.match(rf"{re.escape(key)} +Go to the end", told)


@pytest.mark.parametrize("cells", [30, 44, 60])
def test_a_long_line_of_a_formula_is_broken_between_names(cells):
    text = "waiting = sampled < 70 ? 1 : max($PendingTasks.GetSample(TimeInterval_Minute * 3), $ActiveTasks.Count());"
    lines = [plain(each)[4:] for each in numbered(text, cells)]
    assert "".join(lines) == text
    assert all(len(each) <= cells - 4 for each in lines)
    for before, behind in pairwise(lines):
        assert not re.match(r"\w", behind) or not re.search(r"[\w$]$", before)


def test_the_history_of_evaluations_stands_below_its_heads_also_on_another_day(session_at):
    lines = [plain(each) for each in autoscale_lines(session_at(DAY_S + 3600, "a-day-of-autoscaling"), "elastic", 120)]
    at = next(number for number, each in enumerate(lines) if "dedicated   Spot" in each)
    rows = lines[at + 1 : at + 6]
    assert any(re.match(r"\d\d-\d\d \d\d:\d\d:\d\d ", each) for each in rows)
    assert {each[lines[at].index("dedicated") - 1] for each in rows} == {" "}
    assert all(each[lines[at].index("dedicated")].isdigit() for each in rows)
