"""What to study: the form, its fields and mistakes, and formulas of autoscale as a factor."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.studies.runs import planned
from tests.tui.driving import drive, typed
from tests.tui.screen_text import contains, text_of
from tests.tui.studying import NODES, SCALED, PlayedHere, begin
from tui.app.main_screen import palette_entries
from tui.dialogs.study import StudyForm, StudyScreen
from tui.viewmodels.study import StudyRequest, ValueNames, plan

pytestmark = pytest.mark.usefixtures("played_here")


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


def test_the_form_takes_the_options_of_the_command(night):
    app, seen = night(""), []
    drive(
        app,
        *typed(":study"),
        "enter",
        *typed(f"{NODES}=1,2"),
        *["down"] * 4,
        *typed("2"),
        "down",
        *typed("r.jsonl"),
        "enter",
        lambda app: seen.append((text_of(app), app.studies.shown.background.results)),
    )
    assert contains(seen[0][0], "4 of 4 runs", "in r.jsonl")
    assert seen[0][1] == Path("r.jsonl")


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

    again = [begin(seeds="2")]
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
    assert contains(seen[1], "Help: Study", "Pareto", "Everything about the variant")


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
