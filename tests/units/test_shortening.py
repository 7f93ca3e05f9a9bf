"""Tests of shortened values."""

import pytest

from engine.base.values import LONGEST, called, quoted, shortened, with_short_words


def test_a_text_of_eighty_characters_stays_and_a_longer_one_keeps_both_ends():
    assert shortened("x" * LONGEST) == "x" * LONGEST
    assert shortened("a" * 100_000 + "b" * 100_000) == "a" * 39 + "..." + "b" * 38
    assert len(shortened("x" * (LONGEST + 1))) == LONGEST


@pytest.mark.parametrize("length", [0, 1, 76, 77, 78, 79, 80, 81, 159, 160, 161, 5_000])
@pytest.mark.parametrize("character", ["a", "'", "\\", "\u0300", "\U0001f600"])
def test_a_quoted_text_takes_eighty_characters_with_its_quotes(length, character):
    text = quoted(character * length)
    assert len(text) <= LONGEST
    assert text[0] == text[-1]
    assert text[0] in "'\""
    if length <= 38:
        assert text == repr(character * length)


def test_other_values_are_quoted_as_a_scenario_or_python_writes_them():
    assert quoted(12) == "12"
    assert (quoted(None), quoted(True), quoted(False)) == ("null", "true", "false")
    assert len(quoted(10**200)) == LONGEST
    assert quoted("x" * 200, 20) == "'" + "x" * 8 + "..." + "x" * 7 + "'"


def test_only_long_words_of_a_message_are_cut():
    path = "/home/" + "d" * 70 + "/" + "e" * 70 + "/scenario.yaml: no such file"
    assert with_short_words(path) == path
    assert with_short_words(f"No such option: --{'z' * 500}.") == f"No such option: --{'z' * 37}...{'z' * 37}."


@pytest.mark.parametrize(
    ("noun", "identity", "said"),
    [
        ("job", "risk", "job risk"),
        ("job", "job-19", "job-19"),
        ("Pool", "pool1", "pool1"),
        ("job schedule", "schedule-a", "schedule-a"),
        ("job", "job", "job job"),
    ],
)
def test_an_id_that_begins_with_its_kind_stands_alone(noun, identity, said):
    assert called(noun, identity) == said
