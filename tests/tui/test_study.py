"""The study in the dashboard: its table and plot, what asks for it, and the processes that play it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from engine import Simulation, load_scenario
from engine.studies.measures import summary
from engine.studies.plan import Run, planned
from engine.studies.playing import Player, failed_line
from engine.studies.results import read
from engine.studies.summary import Spread
from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, text_of
from tests.tui.studying import NODES, night_dashboard, typed
from tui.app.commands import palette_entries
from tui.app.dashboard import Dashboard
from tui.dialogs.study import StudyScreen
from tui.dialogs.study_form import StudyForm
from tui.dialogs.study_runs import VariantRuns
from tui.settings.options import LIGHT, NO_COLOUR
from tui.settings.values import Settings
from tui.viewmodels.study import model
from tui.viewmodels.study.formulas import formula_request
from tui.viewmodels.study.names import ValueNames
from tui.viewmodels.study.request import StudyRequest, parse_request, plan
from tui.viewmodels.study.scatter import Dot, scatter_lines
from tui.viewmodels.text.glyphs import VARIANT_GLYPHS, VARIANT_KEEPS, VARIANT_PARETO, GlyphSet
from tui.viewmodels.text.styled import plain, width
from tui.widgets.lines import LinesView
from tui.widgets.messages import StudyNews
from tui.widgets.table import Table
from tui.workers.background import StudyState


class PlayedHere:
    """A study whose runs are played when it is begun, by no other process. ``HELD`` runs stay open."""

    HELD = 0
    FAILS = frozenset()
    _LINES: ClassVar = {}  # by study: those of the same study are played once

    def __init__(self, study, on_news, *, results=None, after=None, **_):
        runs = list(study.runs())
        key = study.identity, study.seeds
        if key not in self._LINES:
            self._LINES[key] = Player(study).play(runs)
        lines = [
            failed_line(study, run, "ValueError: no such thing") if run in self.FAILS else line
            for run, line in zip(runs, self._LINES[key], strict=True)
        ][: len(runs) - self.HELD]
        self.study, self.results, self.total = study, results, len(runs)
        self.state = StudyState.PLAYING if self.HELD else StudyState.DONE
        self.problems, self.reason = [], ""
        self.after = after
        self._new = [read(line) for line in lines]
        self.done = len(self._new)
        self.pace = self.done, 1.0
        self.is_stopped = False
        self.tell = on_news

    is_under_way = property(lambda self: self.state in (StudyState.CHECKING, StudyState.PLAYING))
    can_go_on = property(lambda self: self.state is StudyState.STOPPED)

    def take(self):
        new, self._new = self._new, []
        return new

    def stop(self):
        if self.is_under_way:
            self.state = StudyState.STOPPED
        self.is_stopped = True

    def go_on(self):
        self.state = StudyState.PLAYING

    def join(self):
        """Be over already."""


@pytest.fixture(autouse=True)
def _played_here(monkeypatch):
    monkeypatch.setattr(model, "BackgroundStudy", PlayedHere)
    monkeypatch.setattr(PlayedHere, "HELD", 0)


@pytest.fixture
def night(tmp_path, monkeypatch):
    """Make a dashboard on the scenario with other lines at its end, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    return night_dashboard


# --- what is shown


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_table_plot_and_recommendation_are_shown_at_every_size(night, size):
    app, seen = night(), []
    drive(app, "V", lambda app: seen.append(text_of(app)), size=size)
    assert contains(seen[0], "Study of night", "16 of 16 runs", "Variants 4", "End against cost", "$")
    assert contains(seen[0], "No variant keeps all expectations", "4 variants, 4 seeds: 16 runs")
    assert contains(seen[0], "targetDedicated", "Pareto")
    assert all(len(each) <= size[0] for each in seen[0])


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
    costs = {one.variant: (one.cost_usd, one.variant) for one in found.variants}
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
        lambda app: app.main_screen.take_study(f"\"pools.desk.autoScaleFormula='{formula}'\""),
        "d",
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "formula 1: $TargetDedicatedNodes = 1;", "whatever there is to do")


def test_a_head_of_a_spread_that_is_cut_says_so_and_does_not_repeat_its_measure():
    app, seen = Dashboard(Simulation(load_scenario("retries-of-flaky-tasks")), Settings(), plays=False), []
    drive(app, "V", lambda app: seen.extend(text_of(app)), size=(120, 40))
    (heads,) = [line for line in seen if "retries" in line and " Met " in line]
    assert heads.count("Failed") == 1
    assert heads.count("p5–p95") == 3


def test_a_wide_table_stands_above_the_plot_with_whole_heads_and_the_cursor_on_the_recommended_variant():
    app, seen = Dashboard(Simulation(load_scenario("which-formula")), Settings(), plays=False), []
    look = lambda app: seen.append((text_of(app), app.screen.query_one(Table).key, app.studies.shown.summary))  # noqa: E731
    drive(app, "V", look, size=(200, 60))
    lines, key, summary = seen[0]
    assert contains(
        lines, "autoScaleEvaluationInterval", " early ends early ends p5–p95 ", " late ends late ends p5–p95 "
    )
    assert not contains(lines, "as in t")
    assert summary.recommended is not None
    assert key == summary.recommended
    assert contains(lines, f"› ★ {key} formula")
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


def test_on_a_small_screen_the_recommendation_is_whole_and_the_axis_has_marks():
    app, seen = Dashboard(Simulation(load_scenario("nodes-for-a-deadline")), Settings(), plays=False), []
    drive(app, "V", lambda app: seen.append(text_of(app)), size=(80, 24))
    assert contains(seen[0], "last task ends at +06:52:51, $8.93.", "left out", "as is")
    assert sum(" ┤" in each for each in seen[0]) >= 3
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
        table = app.screen.query_one(Table)
        seen.append((type(app.screen), table.key, [table.model.key(at) for at in range(table.model.count)]))

    def look(app):
        simulation = app.session.simulation
        seen.append((simulation.scenario.variant.number, simulation.seed, type(app.screen).__name__))

    drive(app, "V", "down", "down", "enter", list_runs, "end", "enter", look, "V", look, "escape", "V")
    screen, median, seeds = seen[0]
    ends = {one["seed"]: one["summary"]["makespanSeconds"] for one in app.studies.shown.tally.results_of(3)}
    assert screen is VariantRuns
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


# --- what to study


def test_without_factors_the_form_asks_and_remembers(night):
    app, seen = night(""), []
    drive(
        app,
        "V",
        lambda app: seen.append((type(app.screen), text_of(app))),
        *typed("po"),
        "tab",
        *typed("re"),
        "tab",
        *typed("targetD"),
        "tab",
        lambda app: seen.append(app.screen.focused.value),
        *typed("1,2"),
        lambda app: seen.append(text_of(app)),
        "tab",
        "down",
        "down",
        "down",
        *typed("2"),
        "enter",
        lambda app: seen.append((type(app.screen), text_of(app))),
        "f",
        lambda app: seen.append(text_of(app)),
        size=(120, 40),
    )
    assert seen[0][0] is StudyForm
    assert seen[1] == f"{NODES}="
    assert contains(seen[2], "2 variants, 20 seeds: 40 runs")
    assert seen[3][0] is StudyScreen
    assert contains(seen[3][1], "4 of 4 runs")
    assert contains(seen[4], f"{NODES}=1,2")


def test_mistakes_stand_below_their_lines_until_they_are_right(night):
    app, seen = night(""), []
    drive(
        app,
        "V",
        *typed("pools.rander.vmSize=a"),
        *["down"] * 4,
        *typed("x"),
        "enter",
        lambda app: seen.append((type(app.screen), text_of(app))),
        *["backspace"] * 21,
        lambda app: seen.append(text_of(app)),
    )
    assert seen[0][0] is StudyForm
    assert contains(seen[0][1], "no pool 'rander' in pools: did you mean 'render'?", "'x' must be a number of seeds")
    assert not contains(seen[1], "rander")
    assert contains(seen[1], "'x' must be a number of seeds")


def test_the_go_line_takes_the_options_of_the_command(night):
    app, seen = night(""), []
    line = f":study --vary {NODES}=1,2 --seeds 2 --results r.jsonl"
    drive(app, *typed(line), "enter", lambda app: seen.append((text_of(app), app.studies.shown.background.results)))
    assert contains(seen[0][0], "4 of 4 runs", "in r.jsonl")
    assert seen[0][1] == Path("r.jsonl")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--sedes 3", "'--sedes' is no option of a study: did you mean '--seeds'?"),
        ("--seeds", "--seeds needs a value."),
        ("'a", "cannot be read"),
    ],
)
def test_a_wrong_line_is_explained(line, said):
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        parse_request(line, StudyRequest())


def test_a_line_is_read_as_the_command_reads_it():
    found = parse_request("--vary a.b=1,2 --seeds=3 c.d=x", StudyRequest(results="r"))
    assert found == StudyRequest(("a.b=1,2", "c.d=x"), "3", "r")
    assert parse_request("  ", found) == found


def test_very_large_studies_are_left_to_the_command(night):
    scenario = night().session.simulation.scenario
    with pytest.raises(Exception, match="120,000 runs; here at most 100,000"):
        plan(scenario, StudyRequest((), "30000"))


def test_a_study_of_an_opened_variant_is_the_study_of_its_file(night):
    app, seen = night(), []
    drive(app, "V", "down", "enter", "enter", *typed(":study"), "enter", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "4 variants, 4 seeds: 16 runs")


def test_another_study_is_begun_after_a_question_only_if_much_would_be_lost(night, monkeypatch):
    monkeypatch.setattr(PlayedHere, "HELD", 6)
    app, seen = night(), []

    def took_long(app):
        app.studies.shown.background.pace = 10, 60.0
        seen.append(app.studies.shown)

    again = [*typed(":study --seeds 2"), "enter"]
    drive(
        app,
        "V",
        "escape",
        *again,
        took_long,
        "escape",
        *again,
        lambda app: seen.append(text_of(app)),
        "n",
        lambda app: seen.append(app.studies.shown),
        *again,
        "y",
        lambda app: seen.append(app.studies.shown),
    )
    assert contains(seen[1], "yes, begin another study; 2 of 8 runs are lost")
    assert seen[2] is seen[0]
    assert seen[3] is not seen[0]
    assert seen[3].background.after is seen[0].background
    assert seen[0].background.is_stopped


def test_leaving_says_if_the_runs_of_a_study_are_lost(night):
    app, seen = night(), []

    def took_long(app):
        app.studies.shown.background.pace = 10, 60.0

    drive(app, "V", took_long, "escape", "q", lambda app: seen.append(text_of(app)), "n")
    assert contains(seen[0], "the runs of the study are lost")


def test_the_palette_and_the_help_know_the_study(night):
    app, seen = night(), []

    def find(app):
        seen.append({entry.title: entry.key for entry in palette_entries(app, app.main_screen, app.choose)})

    drive(app, find, "V", "question_mark", lambda app: seen.append(text_of(app)), size=(120, 60))
    assert seen[0]["Run a study of this scenario, or show it"] == "V"
    assert contains(seen[1], "Help: Study", "Pareto", "The next cheaper variant")


# --- formulas

SCALED = """\
scenario: scaled
until: PT30M
study: {seeds: 2}
pools:
  - id: desk
    vmSize: standard_d2s_v3
    enableAutoScale: true
    autoScaleFormula: $TargetDedicatedNodes = 2;
  - {id: fixed, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}
jobs:
  - id: risk
    poolInfo: {poolId: desk}
    onAllTasksComplete: terminatejob
    tasks: [{id: a, commandLine: x}, {id: b, commandLine: x}, {id: c, commandLine: x}]
expect: [{jobId: risk, state: completed, within: PT1H}]
"""


def test_the_editor_studies_its_formula_against_the_present_one(night):
    app, seen = night("", text=SCALED), []

    def to_desk(app):
        app.session.simulation.run_until(60_000)
        app.session.focus_pool("desk")

    def write(text):
        return lambda app: setattr(app.screen.query_one("#formula"), "text", text)

    drive(
        app,
        to_desk,
        "S",
        "e",
        "ctrl+r",
        lambda app: seen.append(messages_of(app)[-1]),
        write("$TargetDedicatedNodes ="),
        "ctrl+r",
        lambda app: seen.append(messages_of(app)[-1]),
        write("$TargetDedicatedNodes = 1;"),
        "ctrl+r",
        lambda app: seen.append(text_of(app)),
        "escape",
        write("$TargetDedicatedNodes = 3;  // as many as there are tasks"),
        "ctrl+r",
        lambda app: seen.append((text_of(app), app.studies.shown.study.factors[0])),
        size=(160, 40),
    )
    assert seen[0] == "The formula is the one of the scenario: change it, then study it against that one."
    assert seen[1] == "The service would refuse it."
    assert contains(seen[2], "2 variants, 2 seeds: 4 runs", "autoScaleFormula", "formula 1", "formula 2")
    page, factor = seen[3]
    assert contains(page, "3 variants, 2 seeds", "formula 3")
    assert factor.path == "pools.desk.autoScaleFormula"
    assert [one.value.plain for one in factor.values][1:] == [
        "$TargetDedicatedNodes = 1;",
        "$TargetDedicatedNodes = 3;  // as many as there are tasks",
    ]


def test_a_pool_of_a_fixed_size_is_studied_as_it_is_and_with_the_formula(night):
    simulation = night("", text=SCALED).session.simulation
    option = formula_request(simulation.scenario, simulation, "fixed", "$TargetDedicatedNodes = 2;", [])
    study = planned(simulation.scenario, [option])
    assert study.factors[0].path == "pools.fixed"
    assert [one.value.plain.get("autoScaleFormula") for one in study.factors[0].values] == [
        None,
        "$TargetDedicatedNodes = 2;",
    ]
    assert ValueNames(study).of(study.values(2)) == ["formula 2"]
    assert {read(line)["error"] for line in Player(study).play([Run(1, 1), Run(2, 1)])} == {None}


def test_a_pool_that_the_scenario_does_not_have_is_not_studied(night):
    simulation = night("", text=SCALED).session.simulation
    with pytest.raises(ValueError, match="Pool other is not among the pools of the scenario"):
        formula_request(simulation.scenario, simulation, "other", "$TargetDedicatedNodes = 2;", [])


def test_values_have_short_names(night):
    app = night("", text=SCALED)
    options = [
        "pools.desk.autoScaleFormula=$TargetDedicatedNodes = 2;,$TargetDedicatedNodes = 30000;",
        "jobs.risk.priority=1,2",
    ]
    study = planned(app.session.simulation.scenario, options)
    names = ValueNames(study)
    assert names.of(study.values(1)) == ["formula 1", "1"]
    assert names.of(study.values(4)) == ["formula 2", "2"]
    assert names.heads == ["autoScaleFormula", "priority"]


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
