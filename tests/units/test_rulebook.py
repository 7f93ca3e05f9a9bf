"""engine/RULES.md is read as it is written."""

from __future__ import annotations

import json
import re

import pytest

from engine.base import rulebook
from engine.scenario.schema import schema
from tests.rulebook import RULES, rewritten

CHAPTER = """
# Rules

Some words.

## DEMO: A demonstration

Rules of
no service.

| Rule | What it says | Source | Option | Implemented in |
|---|---|---|---|---|
| DEMO-1 | Either `a \\|\\| b` or c. | documented, decided | `options.demo` | `rules/demo.py`, `tui/demo.py` |
| DEMO-2 | Advice. | recorded | | nothing to decide |
"""


def test_a_chapter_is_a_heading_a_paragraph_and_a_table():
    (chapter,) = rulebook.parse(CHAPTER)
    assert (chapter.prefix, chapter.title, chapter.about) == ("DEMO", "A demonstration", "Rules of no service.")
    first, second = chapter.rules
    assert first == rulebook.Rule(
        id="DEMO-1",
        text="Either `a || b` or c.",
        sources=("documented", "decided"),
        recordings=(),
        reports=(),
        option="`options.demo`",
        modules=("engine/rules/demo.py", "tui/demo.py"),
        reason="",
    )
    assert (second.modules, second.reason, second.option) == ((), "nothing to decide", "")


def test_recordings_and_reports_are_named_beside_the_source():
    text = CHAPTER.replace("documented, decided", "recorded (a/b:c[d].json, a/b#2), reported (a/b#1, C-d/e.f#22)")
    rule = rulebook.parse(text)[0].rules[0]
    assert rule.sources == ("recorded", "reported")
    assert rule.recordings == ("a/b:c[d].json", "a/b#2")
    assert rule.reports == ("a/b#1", "C-d/e.f#22")
    assert rule.is_observed


@pytest.mark.parametrize(
    ("old", "new"),
    [("## DEMO: A", "## A"), ("| Option |", "|"), ("recorded | |", "recorded |"), ("| DEMO-2", "| DEMO-x")],
)
def test_a_mistake_in_the_form_is_an_error(old, new):
    assert old in CHAPTER
    with pytest.raises(ValueError, match="not"):
        rulebook.parse(CHAPTER.replace(old, new))


def test_rules_are_numbered_without_gaps_and_stand_once():
    for chapter in rulebook.chapters():
        assert [rule.id for rule in chapter.rules] == [f"{chapter.prefix}-{n + 1}" for n in range(len(chapter.rules))]
        assert chapter.title
        assert chapter.about.endswith(".")
    assert len(rulebook.rules()) == sum(len(chapter.rules) for chapter in rulebook.chapters()) > 400


def test_each_rule_is_a_sentence_with_known_sources():
    for rule in rulebook.rules().values():
        assert rule.text.rstrip('"').endswith((".", "?")), rule.id
        assert rule.text.count("`") % 2 == 0, rule.id
        assert list(rule.sources) == [source for source in rulebook.SOURCES if source in rule.sources], rule.id
        assert rule.modules or rule.reason, rule.id


def test_each_reported_rule_names_its_reports_and_no_other_does():
    for rule in rulebook.rules().values():
        assert bool(rule.reports) == ("reported" in rule.sources), rule.id
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", report) for report in rule.reports), rule.id
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+(#\d+|:[\w./\[\]-]+)", each) for each in rule.recordings), rule.id


def test_a_quarter_of_the_rules_rests_on_recordings_or_reports():
    assert sum(rule.is_observed for rule in rulebook.rules().values()) >= 120


def test_the_modules_named_are_those_that_cite_the_rule():
    written = RULES.read_text(encoding="utf-8")
    pairs = zip(written.splitlines(), rewritten(written).splitlines(), strict=True)
    assert [line for line, new in pairs if line != new] == [], "run `python -m tests.rulebook`"


def test_each_option_of_a_scenario_stands_beside_its_rule():
    named = {rule.option.strip("`") for rule in rulebook.rules().values()}
    options = {f"options.{key}" for key in schema()["$defs"]["Options"]["properties"]}
    assert {option for option in named if option.startswith("options.")} == options


def test_what_is_named_as_an_option_is_a_key_of_the_scenario_file():
    keys = set(re.findall(r'"(\w+)":', json.dumps(schema())))
    for rule in rulebook.rules().values():
        assert set(rule.option.strip("`").split(".")) <= keys | {""}, rule.id


def test_rules_in_a_text_are_found_in_their_order():
    assert [rule.id for rule in rulebook.rules_in("[PREP-16] and NOP-3 (PREP-16), not UTF-8")] == ["PREP-16", "NOP-3"]
