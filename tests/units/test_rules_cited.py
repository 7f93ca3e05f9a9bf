"""Every rule of the chapters that are simulated is cited where it is decided, and tested under its name.

The chapters are known here by how many rules they have. A rule that stands in neither table below must be cited in the
code, and there must be a test whose name begins ``test_<chapter>_<number>``, or a row of a table that does.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHAPTERS = {
    "GEN": 18,
    "ACC": 10,
    "POOL": 25,
    "AS": 90,
    "RSZ": 15,
    "NODE": 17,
    "NOP": 14,
    "SPOT": 9,
    "START": 12,
    "JOB": 26,
    "JM": 10,
    "PREP": 28,
    "REL": 18,
    "TASK": 17,
    "RETRY": 12,
    "EXIT": 5,
    "DEP": 7,
    "MI": 9,
    "SCHED": 17,
    "JS": 14,
    "AUTO": 7,
    "FILE": 14,
    "ENV": 3,
    "APP": 7,
    "CERT": 5,
    "USER": 3,
    "CONT": 2,
    "NET": 8,
    "ERR": 3,
    "TIME": 21,
    "VM": 5,
    "STAT": 1,
    "EVT": 4,
    "MET": 1,
    "SAMPLE": 8,
}

HTTP = "about requests over HTTP: the engine takes commands and answers with bodies"
ADVICE = "advice to users, or a word on what things are good for"
DEFINITION = "a definition, or what follows from other rules"

NOTHING_TO_DECIDE = {
    "GEN-7": HTTP,
    "GEN-8": HTTP,
    "GEN-11": HTTP,
    "GEN-16": ADVICE,
    "GEN-17": DEFINITION,
    "GEN-18": HTTP,
    "ACC-1": DEFINITION,
    "ACC-3": "storage accounts are not simulated; containers are known by whether they are there",
    "POOL-13": ADVICE,
    "AS-15": "how the parser keeps places",
    "AS-21": DEFINITION,
    "AS-64": DEFINITION,
    "AS-71": "old versions of the service's interface are not spoken",
    "NODE-1": DEFINITION,
    "START-10": ADVICE,
    "JOB-23": ADVICE,
    "PREP-20": ADVICE,
    "PREP-28": ADVICE,
    "REL-16": ADVICE,
    "SCHED-12": "an example of SCHED-10",
    "SCHED-17": ADVICE,
    "AUTO-6": DEFINITION,
    "AUTO-7": DEFINITION,
    "FILE-11": "no command deletes a file",
    "NET-6": DEFINITION,
    "CERT-5": ADVICE,
    "ERR-3": ADVICE,
    "VM-3": ADVICE,
    "MET-1": "counts are taken at any moment; nobody collects them by the minute",
    "SAMPLE-8": "the sample is the console program; its Python variant is not played",
}

# Rules whose test has the name of another one that it holds too.
TESTED_BY = {
    "GEN-13": "test_task_16_counts_follow_the_states_and_results",
    "NODE-4": "test_node_2_ids_and_addresses_are_unique_and_given_back",
    "NODE-17": "test_node_12_a_known_cause_is_told",
    "NOP-5": "test_rsz_8_options_apply_as_in_a_shrink",
    "FILE-14": "test_file_2_and_3_directories_of_jobs_and_tasks",
    "TIME-13": "test_spot_5_without_capacity_it_is_tried_again_every_five_minutes",
    "TIME-14": "test_node_14_recovers_after_twenty_minutes_as_if_rebooted",
    "TIME-15": "test_pool_9_an_invalid_value_names_its_property",
    "TIME-17": "test_stat_1_all_attempts_count_as_wall_clock_time_the_wait_is_for_the_last",
    "TIME-18": "test_file_7_a_directory_is_deleted_exactly_when_its_retention_is_over",
    "TIME-20": "test_sample_3_tasks_that_take_too_long_are_not_waited_for",
}


def everything_in(*folders: str, suffix: str = ".py") -> str:
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob(f"*{suffix}")))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def ids_in(text: str) -> set[str]:
    """Ids in prose: ``PREP-24 to PREP-26`` means the one between too."""
    found = {f"{chapter}-{number}" for chapter, number in re.findall(r"\b([A-Z]+)-([1-9][0-9]*)\b", text)}
    for chapter, first, last in re.findall(r"\b([A-Z]+)-([0-9]+) to \1-([0-9]+)\b", text):
        found |= {f"{chapter}-{number}" for number in range(int(first), int(last) + 1)}
    return found


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


RULES = [f"{chapter}-{number}" for chapter, count in CHAPTERS.items() for number in range(1, count + 1)]
CITED = ids_in(everything_in("engine", "tui") + everything_in("scenarios", suffix=".yaml"))
# The formula language is tested by tables whose rows have the id of their rule.
TESTED = ids_in_names(everything_in("tests")) | set(re.findall(r'(?:"|# )(AS-\d+)\b', everything_in("tests/autoscale")))
DECIDED = [rule for rule in RULES if rule not in NOTHING_TO_DECIDE]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_rule_is_cited_where_it_is_decided(chapter):
    assert [rule for rule in DECIDED if rule.startswith(f"{chapter}-") and rule not in CITED] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_rule_has_a_test_of_its_name(chapter):
    known = TESTED | set(TESTED_BY)
    assert [rule for rule in DECIDED if rule.startswith(f"{chapter}-") and rule not in known] == []


def test_no_rule_is_cited_that_does_not_exist():
    exist = set(RULES)
    assert sorted(rule for rule in CITED | TESTED if rule.partition("-")[0] in CHAPTERS and rule not in exist) == []


def test_what_is_said_to_need_no_decision_exists_and_has_none():
    assert set(NOTHING_TO_DECIDE) <= set(RULES)
    assert sorted(rule for rule in NOTHING_TO_DECIDE if rule in CITED and rule in TESTED) == []


def test_what_is_tested_under_another_name_is_tested_there():
    tests = everything_in("tests")
    assert [rule for rule, name in TESTED_BY.items() if f"def {name}(" not in tests] == []
    assert sorted(set(TESTED_BY) & (TESTED | set(NOTHING_TO_DECIDE))) == []
