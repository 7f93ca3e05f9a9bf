"""engine/FIDELITY.md is up to date, and the default timings are within what was observed."""

from __future__ import annotations

import re

from engine.base import rulebook
from tests import fidelity

# Steps whose default is outside what was recorded: two constants that stay (TIME-19, POOL-8).
OUTSIDE = {
    ("job disabling to disabled", "any"),
    ("job terminating to completed with nothing running", "any"),
    ("request to steady without nodes", "any"),
}


def test_the_page_is_current():
    assert fidelity.PAGE.read_text(encoding="utf-8") == fidelity.page(), "run `python -m tests.fidelity`"


def test_each_observation_is_of_a_step_and_names_its_sources():
    steps = {(step.figure, step.system) for step in fidelity.STEPS}
    for seen in fidelity.observations():
        assert (seen.figure, seen.system) in steps
        assert seen.kind in ("recorded", "reported")
        assert seen.least <= seen.median <= seen.most
        form = r"[\w.-]+/[\w.-]+#\d+" if seen.kind == "reported" else r"[\w.-]+/[\w.-]+"
        assert all(re.fullmatch(form, source) for source in seen.sources), seen


def test_each_step_names_rules_that_exist():
    assert [step for step in fidelity.STEPS if not set(step.rules.split(", ")) <= set(rulebook.rules())] == []


def test_each_default_timing_is_within_what_was_recorded():
    recorded = [figure for figure in fidelity.figures() if figure.seen and figure.seen.kind == "recorded"]
    outside = {(figure.step.figure, figure.step.system) for figure in recorded if not figure.is_within}
    assert outside == OUTSIDE


def test_the_worst_figures_come_first_and_those_without_observation_last():
    errors = [figure.error if figure.seen else 0 for figure in fidelity.figures()]
    assert errors == sorted(errors, reverse=True)
