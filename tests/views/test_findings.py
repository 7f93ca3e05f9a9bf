"""Findings: what keeps something from going on, as data. Texts are tested with the answers and the concerns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import engine
from engine import Simulation, load_scenario
from engine.base import rulebook
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.model import Clause, Condition, Severity, check, concern, helps, note

SCENARIOS = (
    "a-blocked-subnet",
    "a-full-disk",
    "a-day-of-autoscaling",
    "nightly-schedule-overruns",
    "offline-and-unusable-at-the-end",
    "one-pool-per-scheduled-job",
    "spot-night-run",
)
CITED = re.compile(r"\(([A-Z]+-\d+)\)")


def test_each_condition_is_found_somewhere_and_has_its_own_label():
    folder = Path(engine.__file__).parent / "views" / "diagnosis"
    texts = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    assert [each.name for each in Condition if not re.search(rf"Condition\.{each.name}\b", texts)] == []
    assert len({each.label for each in Condition}) == len(Condition)


def test_a_concern_has_the_severity_of_its_condition_but_what_is_coming_is_a_shortage():
    failed = concern(Condition.TASK_FAILED, "task t failed: exit code 1", 5, "", Clause("the job ended", "EXIT-2"))
    assert (failed.about, failed.severity, failed.is_failure) == ("task", Severity.FAILURE, True)
    assert (failed.effect, failed.rules) == ("the job ended (EXIT-2)", ("EXIT-2",))
    coming = failed._replace(is_coming=True)
    assert (coming.severity, coming.is_failure) == (Severity.SHORTAGE, False)
    assert failed.order < coming.order


def test_of_the_jobs_that_stand_still_only_those_whose_preparation_failed_everywhere_have_failed():
    stands_still = [each for each in Condition if each.severity is Severity.STANDSTILL]
    assert [each for each in stands_still if concern(each, "", 0).is_failure] == [Condition.INELIGIBLE]


def test_a_check_has_the_label_of_its_condition_or_words_of_its_own():
    assert check(Condition.SIZE, False, "too large", "SCHED-10").label == "size"
    assert check(Condition.ROOM, False, "none", "SCHED-8", "an empty node").label == "an empty node"
    fact = check("exit code", False, "7", "RETRY-2")
    assert (fact.condition, fact.label, fact.rules) == (Condition.FACT, "exit code", ("RETRY-2",))
    assert (note("It ran.", "TASK-7").label, helps("Reboot it.", "NODE-11").remedy) == ("", "Reboot it.")


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_rules_of_a_concern_are_those_that_its_effect_cites(name):
    simulation = Simulation(load_scenario(name))
    attention, rules = Attention(simulation), rulebook.rules()
    for part in (0.2, 0.6, 1):
        simulation.run_until(round(part * simulation.end_ms))
        for found in attention.concerns():
            assert found.rules == tuple(dict.fromkeys(CITED.findall(found.effect))), found
            assert set(found.rules) <= rules.keys()
