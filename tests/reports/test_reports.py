"""Public reports about Azure Batch, played; README.md beside this file lists them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from engine import Simulation, load_scenario
from engine.base import rulebook
from engine.views.diagnosis.concerns import Attention

HERE = Path(__file__).parent
OUTCOMES = ("as reported", "contested", "differs")
SCENARIOS = sorted(path.stem for path in HERE.glob("*.yaml"))


class Row(NamedTuple):
    report: str
    scenario: str
    rules: tuple[str, ...]
    outcome: str


def table() -> list[Row]:
    lines = (HERE / "README.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    return [Row(report, scenario, tuple(rules.split(", ")), outcome) for report, scenario, rules, outcome in cells[1:]]


ROWS = table()
ATTENTION: dict[str, list[str]] = yaml.safe_load((HERE / "attention.txt").read_text(encoding="utf-8"))


@cache
def played(name):
    """The finished run of a report's scenario, which no test changes."""
    text = (HERE / f"{name}.yaml").read_text(encoding="utf-8")
    sim = Simulation(load_scenario(f"{name}.yaml", text=text))
    sim.run_until(sim.end_ms)
    sim.finish()
    return sim


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_report_ends_as_its_scenario_says(name):
    sim = played(name)
    assert sim.scenario.name == name
    assert sim.expectations
    assert [(outcome.written, outcome.seen) for outcome in sim.expectations if not outcome.met] == []
    assert [refusal for refusal in sim.refusals if not refusal.announced] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_needs_attention_at_the_end_of_a_report(name):
    sim = played(name)
    found = [f"{item.severity} {item.kind}" for item in Attention(sim).items()]
    assert found == ATTENTION.get(name, [])


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_begins_with_its_reports(name):
    comment = "".join(re.findall(r"^# .*\n", (HERE / f"{name}.yaml").read_text(encoding="utf-8"), re.MULTILINE))
    named = re.findall(r"[\w.-]+/[\w.-]+#\d+", comment)
    assert sorted(named) == sorted(row.report for row in ROWS if row.scenario == name)


def test_the_table_lists_each_scenario_with_rules_that_exist():
    assert sorted({row.scenario for row in ROWS}) == SCENARIOS
    assert [row for row in ROWS if row.outcome not in OUTCOMES] == []
    assert [row for row in ROWS if not set(row.rules) <= set(rulebook.rules())] == []


def test_a_rule_rests_on_reports_that_are_in_the_table_with_it():
    listed = {(row.report, rule) for row in ROWS for rule in row.rules}
    cited = {(report, rule.id) for rule in rulebook.rules().values() for report in rule.reports}
    assert sorted(cited - listed) == []
    silent = {(row.report, rule) for row in ROWS for rule in row.rules if row.outcome == "as reported"} - cited
    assert sorted(silent) == []
