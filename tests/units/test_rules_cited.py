"""The rulebook is complete: each rule is cited where it is decided, and tested under its name.

A rule of engine/RULES.md that names no reason why it needs no code must be cited in engine or tui, and there must be a
test whose name begins ``test_<chapter>_<number>``, or a row of a table that does.
"""

from __future__ import annotations

import re

import pytest

from engine.base import rulebook
from tests.rulebook import ROOT, ids_in

# Rules whose test has the name of another one that it holds too.
TESTED_BY = {
    "GEN-13": "test_task_16_counts_follow_the_states_and_results",
    "NODE-4": "test_node_2_ids_and_addresses_are_unique_and_given_back",
    "NODE-17": "test_node_12_a_known_cause_is_told",
    "NOP-5": "test_rsz_8_options_apply_as_in_a_shrink",
    "FILE-14": "test_file_2_and_3_directories_of_jobs_and_tasks",
    "TIME-13": "test_spot_5_without_capacity_it_is_tried_again_every_five_minutes",
    "TIME-15": "test_pool_9_an_invalid_value_names_its_property",
    "TIME-17": "test_stat_1_all_attempts_count_as_wall_clock_time_the_wait_is_for_the_last",
    "TIME-18": "test_file_7_a_directory_is_deleted_exactly_when_its_retention_is_over",
    "TIME-20": "test_sample_3_tasks_that_take_too_long_are_not_waited_for",
}


def everything_in(*folders: str, suffix: str = ".py") -> str:
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob(f"*{suffix}")))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def ids_in_names(text: str) -> set[str]:
    """Ids in the names of tests: ``test_time_2_to_8_...``, ``test_file_2_and_3_...``, ``test_acc_5_and_vm_4_...``."""
    found = set()
    for name in re.findall(r"def test_(\w+)", text):
        ids = re.findall(r"(?:^|_and_)([a-z]+)_([0-9]+)(?=_|$)", name)
        found |= {f"{chapter.upper()}-{number}" for chapter, number in ids}
        for chapter, first, last in re.findall(r"^([a-z]+)_([0-9]+)_to_([0-9]+)_", name):
            found |= {f"{chapter.upper()}-{number}" for number in range(int(first), int(last) + 1)}
        for chapter, second in re.findall(r"^([a-z]+)_[0-9]+_and_([0-9]+)_", name):
            found.add(f"{chapter.upper()}-{second}")
    return found


CHAPTERS = {chapter.prefix: chapter for chapter in rulebook.chapters()}
RULES = rulebook.rules()
DECIDED = [rule_id for rule_id, rule in RULES.items() if not rule.reason]
CITED = ids_in(
    everything_in("engine", "tui")
    + everything_in("engine", "tui", suffix=".csv")
    + everything_in("scenarios", suffix=".yaml")
)
# The formula language is tested by tables whose rows have the id of their rule.
TESTED = ids_in_names(everything_in("tests")) | set(re.findall(r'(?:"|# )(AS-\d+)\b', everything_in("tests/autoscale")))


@pytest.mark.parametrize("prefix", CHAPTERS)
def test_each_rule_is_cited_where_it_is_decided(prefix):
    assert [rule for rule in DECIDED if rule.startswith(f"{prefix}-") and rule not in CITED] == []


@pytest.mark.parametrize("prefix", CHAPTERS)
def test_each_rule_has_a_test_of_its_name(prefix):
    known = TESTED | set(TESTED_BY)
    assert [rule for rule in DECIDED if rule.startswith(f"{prefix}-") and rule not in known] == []


def test_no_rule_is_cited_that_does_not_exist():
    assert sorted(rule for rule in CITED | TESTED if rule.partition("-")[0] in CHAPTERS and rule not in RULES) == []


def test_a_rule_with_a_reason_needs_no_code():
    assert sorted(rule for rule in set(RULES) - set(DECIDED) if rule in CITED and rule in TESTED) == []


def test_what_is_tested_under_another_name_is_tested_there():
    tests = everything_in("tests")
    assert [rule for rule, name in TESTED_BY.items() if f"def {name}(" not in tests] == []
    assert sorted(set(TESTED_BY) & TESTED) == []
    assert set(TESTED_BY) <= set(DECIDED)
