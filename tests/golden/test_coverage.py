"""What the bundled scenarios show together: each rule of preparation and release, and each legal move."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import engine
from engine.base import lifecycles
from engine.scenario.text import bundled

ROOT = Path(engine.__file__).parent
TESTS = ROOT.parent / "tests"
LISTS = (ROOT.parent / "scenarios" / "README.md").read_text(encoding="utf-8"), (TESTS / "README.md").read_text("utf-8")
RULE = re.compile(r"(PREP|REL)-\d+")
TEST = re.compile(r"^def (test_\w+)\(", re.MULTILINE)
ALL_RULES = [f"PREP-{number}" for number in range(1, 29)] + [f"REL-{number}" for number in range(1, 19)]

TABLES = {
    "NodeStateChanged": lifecycles.NODE,
    "TaskStateChanged": lifecycles.TASK,
    "SubtaskStateChanged": lifecycles.SUBTASK,
    "JobStateChanged": lifecycles.JOB,
    "JobScheduleStateChanged": lifecycles.JOB_SCHEDULE,
    "PoolStateChanged": lifecycles.POOL,
    "PoolAllocationStateChanged": lifecycles.ALLOCATION,
    "CertificateStateChanged": lifecycles.CERTIFICATE,
}

# Legal moves that no scenario can show, with the reason. A move that does occur must not stand here.
NOT_SHOWN = {
    ("NodeStateChanged", "upgradingos -> preempted"): "cloud services, whose nodes are upgraded, have no Spot nodes",
}


def rules_the_engine_can_log():
    """Rule ids that stand alone in a string of the code that logs; in docstrings they stand among words."""
    found = set()
    silent = {*(ROOT / "views").rglob("*.py"), ROOT / "rules" / "reactions.py"}  # they name rules, and log nothing
    for path in sorted(set(ROOT.rglob("*.py")) - silent):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and RULE.fullmatch(node.value):
                found.add(node.value)
    return found


def test_each_rule_of_preparation_and_release_that_a_log_can_name_is_shown(replays):
    shown = {fields.get("rule") for run in replays.values() for _, fields in run.facts}
    can = rules_the_engine_can_log()
    assert len(can) > 15
    assert sorted(can - shown) == []


def wire(state):
    return None if state is None else state.wire


def moves_shown(replays, event):
    return {
        (fields["from"], fields["to"])
        for run in replays.values()
        for name, fields in run.facts
        if name == event and "from" in fields
    }


@pytest.mark.parametrize("event", TABLES)
def test_each_legal_move_is_shown(replays, event):
    missing = {
        f"{wire(old)} -> {wire(new)}" for old, new in TABLES[event] if (old, new) not in moves_shown(replays, event)
    }
    excused = {move for name, move in NOT_SHOWN if name == event}
    assert sorted(missing) == sorted(excused)


# -- scenarios/README.md and tests/README.md -------------------------------------------------------------------------


def rows():
    """The rows of the tables by their first cell."""
    lines = "\n".join(LISTS).splitlines()
    cells = [[cell.strip() for cell in text.strip("|").split("|")] for text in lines if text[:1] == "|"]
    return {row[0].strip("`"): row[1:] for row in cells}


def test_readme_has_a_row_for_each_scenario():
    named = {name for name in rows() if name in bundled()}
    assert named == set(bundled())


@pytest.mark.parametrize("rule", ALL_RULES)
def test_readme_says_where_each_rule_is_shown(rule):
    """By a scenario whose comments name the rule, or by a test that does."""
    places = re.findall(r"`([^`]+)`", rows()[rule][-1])
    assert places
    for place in places:
        if place in bundled():
            text = bundled()[place].read_text(encoding="utf-8")
        else:
            text = (TESTS / place).read_text(encoding="utf-8").lower().replace("_", "-")
        numbers = {name.lower() for name in names_of_rules(text)}
        assert rule.lower() in numbers, f"{place} does not speak of {rule}"


def names_of_rules(text):
    """Rule ids in a text, also those of ``PREP-6 to 8`` and ``PREP-17, 18``."""
    for found in re.finditer(r"(PREP|REL)-(\d+)((?:(?:,| and| to)\s+\d+)*)", text, re.IGNORECASE):
        kind, first, more = found.group(1).upper(), int(found.group(2)), found.group(3)
        yield f"{kind}-{first}"
        last = first
        for word, number in re.findall(r"(,|and|to)\s+(\d+)", more):
            numbers = range(last + 1, int(number) + 1) if word == "to" else [int(number)]
            yield from (f"{kind}-{each}" for each in numbers)
            last = int(number)


# What the service's documents claim: see the table of features.
FEATURES = [f"F-{number:03}" for number in range(1, 167)]


def test_readme_has_each_feature_once_and_in_order():
    assert re.findall(r"^\| (F-\d+) \|", LISTS[1], re.MULTILINE) == FEATURES


def test_each_feature_is_shown_by_scenarios_and_tests_that_exist():
    tests = {name for path in TESTS.rglob("test_*.py") for name in TEST.findall(path.read_text(encoding="utf-8"))}
    places = {feature: re.findall(r"`([^`]+)`", rows()[feature][-1]) for feature in FEATURES}
    assert [feature for feature, named in places.items() if not named] == []
    assert {name for named in places.values() for name in named} - tests - set(bundled()) == set()
