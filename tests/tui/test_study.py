"""The study in the dashboard: its table and plot, what asks for it, and the processes that play it."""

from __future__ import annotations

import re
from itertools import pairwise
from operator import mul, sub

import pytest

from engine.studies.measures import summary
from engine.studies.outcome import Spread, deadline_s
from engine.studies.runs import Run, StudyState
from tests.builders import a_job, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, text_of
from tests.tui.studying import NODES, SCALED, PlayedHere, begin, bundled_dashboard
from tui.dialogs.pickers import NameFinder
from tui.saving.settings import LIGHT, NO_COLOUR
from tui.textual.screens import StudyNews
from tui.textual.views import LinesView
from tui.viewmodels.glyphs import VARIANT_GLYPHS, VARIANT_KEEPS, VARIANT_PARETO, GlyphSet
from tui.viewmodels.study_results import Dot, scatter_lines
from tui.viewmodels.text import plain, width
from tui.widgets.table import Table

pytestmark = pytest.mark.usefixtures("played_here")


# --- what is shown


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_table_plot_and_recommendation_are_shown_at_every_size(night, size):
    app, seen = night(), []
    drive(app, "V", lambda app: seen.append(text_of(app)), size=size)
    assert contains(seen[0], "Study of night", "16 of 16 runs", "Variants 4", "End against cost", "$")
    assert contains(seen[0], "No variant keeps all expectations", "4 variants, 4 seeds: 16 runs")
    assert contains(seen[0], "targetDedicated", "Pareto")
    assert all(len(each) <= size[0] for each in seen[0])


def test_a_table_that_fits_stands_above_a_plot_of_the_whole_width_with_the_clock_of_the_deadline():
    app, seen = bundled_dashboard("nodes-for-a-deadline"), []
    drive(app, "V", lambda app: seen.extend(text_of(app)), size=(200, 60))
    plot = next(at for at, each in enumerate(seen) if "End against cost" in each)
    assert plot == next(at for at, each in enumerate(seen) if "10 10 " in each) + 2
    assert contains(seen, "deadline 01-06 06:00:00 +08:00:00", "─│ p5–p95")
    assert "│ " not in seen[plot + 1][20:-6], "no bar touches the top"


def test_on_a_low_screen_the_table_has_all_the_room(night):
    app, seen = night(), []
    drive(app, "V", lambda app: seen.append(text_of(app)), "f", lambda app: seen.append(text_of(app)), size=(60, 16))
    assert not contains(seen[0], "End against cost")
    assert sum("0/4" in each or "1/4" in each or "2/4" in each for each in seen[0]) == 4
    assert contains(seen[1], "Seeds", "Results file", "tab ")


@pytest.mark.parametrize("options", [{"glyphs": "ascii"}, {"theme": NO_COLOUR}, {"theme": LIGHT}])
def test_it_can_be_read_without_colours_and_in_ascii(night, options):
    app, seen = night(**options), []
    drive(app, "V", lambda app: seen.append(text_of(app)), "enter", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Variants 4", "16 of 16 runs")
    assert contains(seen[1], "Runs of variant 1")
    if "glyphs" in options:
        assert all(each.isascii() for page in seen for each in page)


def test_it_fills_while_runs_are_played_and_says_how_far_it_is(night, monkeypatch):
    monkeypatch.setattr(PlayedHere, "HELD", 6)
    app, seen = night(), []
    drive(
        app,
        "V",
        lambda app: seen.append(text_of(app)),
        "escape",
        lambda app: seen.append(text_of(app)),
        "V",
        "c",
        lambda app: seen.append((text_of(app), app.studies.shown.background.state)),
        "c",
        lambda app: seen.append(app.studies.shown.background.state),
    )
    assert contains(seen[0], "10 of 16 runs   10.0 runs/s  00:00:00 left", "c stop")
    assert not contains(seen[0], "No variant keeps")
    assert contains(seen[1], "V study 62%")
    assert contains(seen[2][0], "Stopped after 10 of 16 runs. c continues.")
    assert seen[2][1] is StudyState.STOPPED
    assert seen[3] is StudyState.PLAYING


def test_the_end_is_said_while_something_else_is_shown(night, monkeypatch):
    monkeypatch.setattr(PlayedHere, "HELD", 6)
    app, seen = night(), []

    def end(app):
        app.studies.shown.background.state = StudyState.DONE
        app.studies.shown.background.tell()

    drive(app, "V", "escape", end, lambda app: seen.append(messages_of(app)[-1]))
    assert seen == ["The study of night is complete, no variant is recommended. V shows it."]


def test_rows_are_sorted_by_their_numbers_and_the_cursor_goes_along_the_costs(night):
    app, seen = night(), []

    def look(app):
        table = app.screen.query_one(Table)
        model = table.model
        seen.append(([model.key(at) for at in range(model.count)], table.key))

    drive(app, "V", *["o"] * 5, look, "O", look, "end", "left", look)
    found = app.studies.shown.summary
    by_end = sorted(range(1, 5), key=lambda number: found.variants[number - 1].end_s)
    assert app.studies.shown.arrangement["sort"] == "Last task"
    assert seen[0][0] == by_end
    assert [found.variants[number - 1].end_s for number in seen[1][0]] == [
        found.variants[number - 1].end_s for number in reversed(by_end)
    ]
    costs = {one.variant: (one.median_cost, one.variant) for one in found.variants}
    assert costs[seen[2][1]] <= costs[seen[1][0][-1]]


def test_details_have_whole_values_and_all_measures(night):
    app, seen = night(), []
    drive(app, "V", "down", "d", lambda app: seen.append(text_of(app)), "escape", "question_mark")
    assert contains(seen[0], "Variant 2", NODES, "jobs.shot-1.priority", "Node hours", "Expectation 2")


def test_details_have_the_whole_formula(night):
    app, seen = night("", text=SCALED), []
    formula = "$TargetDedicatedNodes = 1;  // whatever there is to do"
    drive(
        app,
        begin(f"pools.desk.autoScaleFormula='{formula}'"),
        "d",
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "formula 1: $TargetDedicatedNodes = 1;", "whatever there is to do")


def test_a_head_of_a_spread_that_is_cut_says_so_and_does_not_repeat_its_measure():
    app, seen = bundled_dashboard("retries-of-flaky-tasks"), []
    drive(app, "V", lambda app: seen.extend(text_of(app)), size=(112, 30))
    (heads,) = [line for line in seen if "retries" in line and " Met " in line]
    assert heads.count("Failed") == 1
    assert heads.count("p5–p95") == 3


def test_a_wide_table_stands_above_the_plot_with_whole_heads_and_the_cursor_on_the_recommended_variant():
    app, seen = bundled_dashboard("which-formula"), []
    look = lambda app: seen.append((text_of(app), app.screen.query_one(Table).key, app.studies.shown.summary))  # noqa: E731
    drive(app, "V", look, size=(200, 60))
    lines, key, summary = seen[0]
    assert contains(
        lines, "autoScaleEvaluationInterval", " early ends early ends p5–p95 ", " late ends late ends p5–p95 "
    )
    assert not contains(lines, "as in t")
    assert summary.recommended is not None
    assert key == summary.recommended
    assert any(re.search(rf"› ★ +{key} formula", each) for each in lines)
    assert not contains(lines, "USD")
    plot = next(at for at, each in enumerate(lines) if "End against cost" in each)
    assert plot == len(summary.variants) + 5


def test_news_that_come_while_the_application_ends_are_not_shown(night, monkeypatch):
    app, lines, told = night(), LinesView._message_loop_exit, []

    async def end(view):
        """Take the news once this part of the screen is gone, as they come from other processes at any moment."""
        await lines(view)
        if view.id == "study-progress":
            app.on_study_news(StudyNews())
            told.append(view.id)

    monkeypatch.setattr(LinesView, "_message_loop_exit", end)
    drive(app, "V")
    assert told


def test_on_a_small_screen_the_recommendation_is_whole_and_the_deadline_has_a_row():
    app, seen = bundled_dashboard("nodes-for-a-deadline"), []
    drive(app, "V", lambda app: seen.append(text_of(app)), size=(80, 24))
    assert re.search(r"last task ends at \+\d\d:\d\d:\d\d, \$\d\.\d\d\.", "\n".join(seen[0]))
    assert contains(seen[0], "left out", "as is")
    assert contains(seen[0], "deadline")
    (legend,) = (each for each in seen[0] if "★ best" in each)
    assert all(legend.count(mark) == 1 for mark in "★◆◇●○")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_pictures(snap_compare, night, size):
    assert snap_compare(night(), press=["V", "down", "down"], terminal_size=size)


def test_picture_of_the_form_in_ascii(snap_compare, night):
    assert snap_compare(night(glyphs="ascii"), press=["V", "f"], terminal_size=(80, 24))


# --- runs of a variant


def test_enter_lists_the_runs_and_opens_the_chosen_one(night):
    app, seen = night(), []

    def list_runs(app):
        lines = [each for each in text_of(app) if " seed " in each]
        seeds = [int(re.search(r"seed (\d+)", each)[1]) for each in lines]
        median = next(seed for seed, each in zip(seeds, lines, strict=True) if "median" in each)
        seen.append((type(app.screen), median, seeds))

    def look(app):
        simulation = app.session.simulation
        seen.append((simulation.scenario.variant.number, simulation.seed, type(app.screen).__name__))

    drive(app, "V", "down", "down", "enter", list_runs, *["down"] * 3, "enter", look, "V", look, "escape", "V")
    screen, median, seeds = seen[0]
    ends = {one["seed"]: one["summary"]["makespanSeconds"] for one in app.studies.shown.tally.results_of(3)}
    assert screen is NameFinder
    assert seeds == sorted(ends, key=ends.__getitem__)
    assert median == seeds[1]
    assert seen[1] == (3, seeds[-1], "MainScreen")
    assert seen[2] == (3, seeds[-1], "StudyScreen")
    assert app.studies.shown.cursor == 3
    simulation = app.session.simulation
    simulation.run_until(simulation.end_ms)
    assert summary(simulation)["makespanSeconds"] == ends[seeds[-1]]


def test_a_run_that_failed_inside_is_a_line_with_its_error(night, monkeypatch):
    monkeypatch.setattr(PlayedHere, "FAILS", {Run(2, 3)})
    app, seen = night(), []
    drive(
        app,
        "V",
        "exclamation_mark",
        lambda app: seen.append(text_of(app)),
        "enter",
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "16 of 16 runs   1 failed", "Variants 1", "4, 1 failed")
    assert contains(seen[1], "Runs of variant 2")
    assert any("✗" in each and "ValueError" in each for each in seen[1])


def test_commands_given_by_hand_are_not_lost_without_a_question(night):
    app, seen = night(), []

    def give(app):
        from engine.specs.commands import RebootNode

        app.session.simulation.submit_all([RebootNode.from_wire({"poolId": "render", "nodeId": "x"})])

    drive(app, give, "V", "enter", "enter", lambda app: seen.append(text_of(app)), "escape")
    assert contains(seen[0], "Commands given by hand are not saved")
    assert app.session.simulation.scenario.variant is None
    assert "The study plays the scenario without the commands given by hand." in messages_of(app)


# --- the plot


def spread(low, median, high):
    return Spread(median, low, median, high)


DOTS = [
    Dot(1, spread(1.0, 2.0, 3.0), spread(600.0, 3600.0, 7200.0), VARIANT_PARETO, True),
    Dot(2, spread(4.0, 5.0, 6.0), spread(600.0, 1800.0, 3000.0), VARIANT_PARETO, True),
    Dot(13, spread(4.0, 5.5, 6.0), spread(600.0, 5400.0, 6000.0), VARIANT_KEEPS, False),
]


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize(("cells", "rows"), [(16, 4), (40, 10), (120, 50), (200, 60)])
def test_the_plot_fills_its_room_exactly(cells, rows, ascii_only):
    lines = scatter_lines(DOTS, 2, cells, rows, GlyphSet(ascii_only=ascii_only))
    assert [width(each) for each in lines] == [cells] * rows
    if ascii_only:
        assert all(plain(each).isascii() for each in lines)


def test_costs_grow_to_the_right_and_ends_upwards():
    lines = [plain(each) for each in scatter_lines(DOTS, None, 60, 12, GlyphSet(ascii_only=False))]
    places = {
        number: next((row, each.index(number)) for row, each in enumerate(lines) if number in each[10:] and row < 10)
        for number in ("◆1", "◆2", "●13")
    }
    assert places["●13"][0] < places["◆1"][0] < places["◆2"][0]
    assert places["◆1"][1] < places["◆2"][1] < places["●13"][1]
    assert "$4.00" in lines[-1]


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_deadline_is_a_line_below_which_variants_end_in_time(ascii_only):
    expected = [
        {"jobId": "j", "state": "completed", "within": "PT30M"},
        {"jobId": "other", "state": "completed", "at": "PT1H15M"},
        {"jobId": "j", "tasks": {"failed": 0}},
    ]
    due_s = deadline_s(simulation(a_job("j"), a_job("other"), expect=expected).scenario.expect)
    assert due_s == 4500
    glyphs = GlyphSet(ascii_only=ascii_only)
    lines = [plain(each) for each in scatter_lines(DOTS, None, 60, 22, glyphs, due_s)]
    keeps, pareto = glyphs.of(VARIANT_KEEPS), glyphs.of(VARIANT_PARETO)
    marks = f"{keeps}13", "deadline", f"{pareto}1"
    rows = [next(at for at, each in enumerate(lines) if text in each) for text in marks]
    assert rows == sorted(rows)
    assert ("=" if ascii_only else "╌") * 9 in lines[rows[1]]
    late = [plain(each) for each in scatter_lines(DOTS, None, 60, 22, glyphs, 36_000.0)]
    assert not any(mark in each for each in late[: "".join(late).index("deadline") // 60] for mark in (keeps, pareto))
    expected.append({"makespan": {"atMost": "PT1H"}})
    bound = simulation(a_job("j"), a_job("other"), expect=expected).scenario.expect
    assert deadline_s(bound) == 3600
    assert deadline_s(bound[2:3]) is None


@pytest.mark.parametrize("rows", range(5, 30))
def test_each_variant_is_on_its_side_of_the_deadline_in_however_few_rows(rows):
    ends = {1: 31_380.0, 2: 31_500.0, 3: 27_600.0, 4: 28_799.0, 5: 22_560.0}
    dots = [
        Dot(number, spread(number, number, number), spread(end, end, end), VARIANT_KEEPS, False)
        for number, end in ends.items()
    ]
    for cursor in ends:
        lines = [plain(each) for each in scatter_lines(dots, cursor, 80, rows, GlyphSet(ascii_only=False), 28_800.0)]
        (row,) = [at for at, each in enumerate(lines) if "deadline" in each]
        assert [each.count("●") for each in ("".join(lines[:row]), lines[row])] == [2, 0]
        assert "╌" * 20 in lines[row]


def plotted(ends, rows, due_s=None):
    """The lines of a plot in which each variant is a little dearer than the one before."""
    dots = [
        Dot(at, spread(at, at, at), spread(end, end, end), VARIANT_KEEPS, False) for at, end in enumerate(ends, start=1)
    ]
    return [plain(each) for each in scatter_lines(dots, None, 100, rows, GlyphSet(ascii_only=False), due_s)]


@pytest.mark.parametrize("due_s", [None, 28_800.0, 29_500.0])
@pytest.mark.parametrize("rows", range(9, 30))
def test_variants_stand_at_the_marks_of_the_axis_that_are_nearest_and_within_them(rows, due_s):
    ends = [31_380.0, 31_500.0, 27_593.0, 27_626.0, 24_761.0, 24_761.0, 21_700.0, 35_900.0]
    lines = plotted(ends, rows, due_s)
    marks = [at for at, each in enumerate(lines) if "┤" in each]
    assert max(after - before for before, after in pairwise(marks)) - 2 <= min(map(sub, marks[1:], marks))
    at_s = {at: sum(map(mul, map(int, lines[at].split()[0].split(":")), (3600, 60, 1))) for at in marks}
    for number, end in enumerate(ends, start=1):
        (row,) = [at for at, each in enumerate(lines) if re.search(rf"●{number}\b|\b{number}●", each)]
        assert all(at <= row if end < when else row <= at for at, when in at_s.items())


@pytest.mark.parametrize("rows", [8, 20])
def test_a_few_variants_that_end_far_later_are_above_the_axis_and_do_not_squeeze_the_others(rows):
    lines = plotted([180_000.0, *(20_000.0 + 2_000 * at for at in range(8))], rows, 36_000.0)
    assert re.fullmatch(r" *later ≈ *●1 *", lines[0])
    assert "later" not in "".join(plotted([20_000.0, 180_000.0], rows))


def test_a_number_touches_only_its_own_mark_or_stands_in_its_place():
    close = [Dot(at, spread(*[1 + at / 200] * 3), spread(*[3600.0] * 3), VARIANT_KEEPS, False) for at in range(1, 5)]
    far = Dot(9, spread(2.0, 2.0, 2.0), spread(7200.0, 7200.0, 7200.0), VARIANT_KEEPS, False)
    text = "\n".join(
        plain(each)[11:] for each in scatter_lines([*close, far], None, 80, 12, GlyphSet(ascii_only=False))
    )
    assert {number for number in "12349" if number in text} == set("12349")
    assert not re.search(r"●\d+●", text)


def test_the_variant_under_the_cursor_is_highlighted_and_has_bars():
    lines = scatter_lines(DOTS, 2, 60, 12, GlyphSet(ascii_only=False))
    (span,) = [span for each in lines for span in each if span.is_fill]
    assert span.text == "◆"
    assert any("│" in span.text or "─" in span.text for each in lines[:10] for span in each[2:])


def test_a_plot_without_results_or_with_one_point_is_a_plot():
    glyphs = GlyphSet(ascii_only=False)
    assert plain(scatter_lines([], None, 60, 12, glyphs)[0]) == "No run has ended yet."
    same = Dot(1, spread(0.0, 0.0, 0.0), spread(0.0, 0.0, 0.0), VARIANT_KEEPS, False)
    assert len(scatter_lines([same], 1, 60, 12, glyphs)) == 12
    assert scatter_lines(DOTS, 1, 10, 3, glyphs) == []


def test_marks_of_variants_differ():
    assert len({one.symbol for one in VARIANT_GLYPHS}) == len({one.letter for one in VARIANT_GLYPHS}) == 7
