"""Tests of the syntax of formulas and the messages about it (AS-1 to AS-15, AS-72)."""

from __future__ import annotations

import pytest

from engine.autoscale import parse
from engine.autoscale.values import FormulaError


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a=1;b=2;c=3", id="several statements"),
        pytest.param("a\n=\n1\r\n;\tb\f=2", id="blanks anywhere"),
        pytest.param("a // what\n = // that\n 1", id="comments anywhere"),
        pytest.param("// only then\r\nx = 1 // and last", id="a comment without a line end"),
        pytest.param("x = 1 // ünïcode 漢字", id="any character in a comment"),
    ],
)
def test_as_1_a_formula_is_statements_with_blanks_and_comments(text):
    assert parse(text).statements


@pytest.mark.parametrize(
    ("text", "count"), [(";;x=1;;", 1), ("x=1;", 1), ("x=1", 1), (";x=1;;;y=2;", 2), ("1;2;3;", 3)]
)
def test_as_2_and_as_3_empty_statements_do_not_count_and_the_last_semicolon_is_optional(text, count):
    assert len(parse(text).statements) == count


def test_as_2_the_limits_themselves_are_allowed():
    assert len(parse("x=1;" * 100).statements) == 100
    assert len(parse("x=1;".ljust(8192)).text) == 8192


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        pytest.param("x=1;".ljust(8193), 1, 8193, id="8193 characters"),
        pytest.param("x=1;\n//" + "-" * 8192, 2, 8188, id="comments count"),
        pytest.param("x=1;\n" * 101, 101, 1, id="101 statements"),
    ],
)
def test_as_2_what_is_longer_is_refused(text, line, column):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert caught.value.code == "AutoScalingFormulaTooLong"
    assert caught.value.position == (line, column)


@pytest.mark.parametrize(
    "text", ["round = 1", "interval = 2", "max = 3; x = max(max, 2)", "$round = 1", "_ = 1", "$_a9=1"]
)
def test_as_9_and_as_11_names(text):
    assert parse(text)


def test_as_7_five_characters_are_blank():
    assert parse("x \t\r\n\f= 1")
    for other in "\v\x00\u00a0\u2003\ufeff":
        with pytest.raises(FormulaError, match="Line 1, Col 2: Unexpected character"):
            parse(f"x{other}= 1")


def test_as_10_the_dollar_is_part_of_the_name(evaluate):
    assert evaluate("x = 1; $x = 2; y = x; z = $x").text.endswith(";$x=2;x=1;y=1;z=2")


def test_as_14_the_longest_operator_wins(value):
    assert [value(text) for text in ("1<=1", "1>=2", "1==1", "1!=1", "1&&0", "0||1", "!1!=0", "2--1")] == list(
        "10100103"
    )


@pytest.mark.parametrize(
    "text", ["-" * 8000 + "1", "(" * 4000 + "1" + ")" * 4000, "1+" * 4000 + "1", "0?1:" * 2000 + "1"]
)
def test_as_2_chains_of_operators_and_parentheses_may_be_as_long_as_the_formula(text, value):
    assert value(text) in {"1", "4001"}


def test_as_2_a_hundred_levels_are_evaluated(value):
    assert value("max(" * 98 + "1" + ")" * 98) == "1"
    assert value("-(" * 98 + "1" + ")" * 98) == "1"


@pytest.mark.parametrize(
    ("text", "column"),
    [
        pytest.param("[" * 4000 + "]" * 4000, 101, id="vectors"),
        pytest.param("-(" * 2000 + "1" + ")" * 2000, 201, id="signs"),
        pytest.param("1+(" * 2000 + "1" + ")" * 2000, 298, id="sums"),
        pytest.param("time()" + ".year" * 1000, 1, id="members"),
    ],
)
def test_as_2_what_is_nested_more_deeply_is_refused(text, column):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert (caught.value.code, caught.value.position) == ("AutoScalingFormulaTooLong", (1, column))
    assert caught.value.reason == "The formula is nested more than 100 levels deep"


INVALID = [
    # AS-5: no statement
    ("", 1, 1),
    ("   \n ", 1, 1),
    (";;;", 1, 1),
    ("// nothing", 1, 1),
    # AS-4: assignments
    ("1 = x", 1, 3),
    ("x = y = 1", 1, 7),
    ("x = (y = 1)", 1, 8),
    ("x == 1 = 2", 1, 8),
    ("x.y = 1", 1, 5),
    ("x =", 1, 4),
    ("= 1", 1, 1),
    ("x 1", 1, 3),
    # AS-6: what there is not
    ("x += 1", 1, 4),
    ("x++", 1, 3),
    ("x = 5 % 2", 1, 7),
    ("x = 5 ^ 2", 1, 7),
    ("x = 5 ** 2", 1, 8),
    ("x = 1 & 1", 1, 7),
    ("x = 1 | 1", 1, 7),
    ("x = ~1", 1, 5),
    ("x = v[0]", 1, 6),
    ("if (1) { x = 1 }", 1, 8),
    ("if x == 1: y = 2", 1, 4),
    ("for x in y", 1, 5),
    ("x = 1 ? 2", 1, 10),
    ("x = 1 ?? 2", 1, 8),
    ("x = 1 : 2", 1, 7),
    ("x = +1", 1, 5),
    ("x = 1 => 2", 1, 7),
    ("x = 1 <> 2", 1, 8),
    # AS-8: comments
    ("/* block */ x = 1", 1, 1),
    ("# x = 1", 1, 1),
    ("x = 1 / / 2", 1, 9),
    # AS-9: names
    ("$$x = 1", 1, 1),
    ("$ x = 1", 1, 1),
    ("2x = 1", 1, 2),
    ("x-y = 1", 1, 5),
    ("größe = 1", 1, 3),
    ("x@y = 1", 1, 2),
    ("$1 = 2", 1, 1),
    # AS-12: numbers
    ("x = 0x10", 1, 6),
    ("x = 1_000", 1, 6),
    ("x = 1.2.3", 1, 8),
    ("x = .", 1, 5),
    ("x = 1e", 1, 6),
    ("x = 1 2", 1, 7),
    # AS-13: strings
    ("x = 'one'", 1, 5),
    ('x = "one', 1, 5),
    ('x = "one\n"', 1, 5),
    (r"x = \"one\"", 1, 5),
    ('x = "a" "b"', 1, 9),
    # brackets and calls
    ("x = (1", 1, 7),
    ("x = 1)", 1, 6),
    ("x = ()", 1, 6),
    ("x = [1, 2", 1, 10),
    ("x = [1,]", 1, 8),
    ("x = max(1,)", 1, 11),
    ("x = max(,1)", 1, 9),
    ("x = max(1", 1, 10),
    ("x = $PendingTasks.", 1, 19),
    ("x = $PendingTasks.GetSample(1;", 1, 30),
    ("x = $PendingTasks.5", 1, 18),
    ("x = {1, 2}", 1, 5),
    # operators
    ("x = 1 +;", 1, 8),
    ("x = 1 + * 2", 1, 9),
    ("x = 1 &&", 1, 9),
    ("x = !", 1, 6),
    # what other languages have
    ("x = a === b", 1, 9),
    ("x = a => b", 1, 7),
    ("x = not 1", 1, 9),
    ("x = 1 and 2", 1, 7),
    ("return 1", 1, 8),
    ("for (;;) x = 1", 1, 6),
    ("(x) = 1", 1, 5),
    ("f(y = 1)", 1, 5),
    ("f(1)(2)", 1, 5),
    ("(f)(1)", 1, 4),
    ("[1][0]", 1, 4),
    ("x = a ?: b", 1, 8),
    ("x = a ? b : c : d", 1, 15),
    ("x = a..b", 1, 7),
    ("x = a.(b)", 1, 7),
    # what looks like something else
    ("x = 1\u00a0+ 1", 1, 6),
    ("x = 1\x0b+ 1", 1, 6),
    ("x = “one”", 1, 5),
    ("x = 1 \u2212 1", 1, 7),
    ("x = a$b", 1, 6),
    # places in later lines
    ("x = 1;\ny = 2 +\n  * 3;", 3, 3),
    ("x = 1;\r\n  y = 'a'", 2, 7),
    ("x = (1 // a comment\n", 1, 7),
]


@pytest.mark.parametrize(("text", "line", "column"), INVALID, ids=[repr(text) for text, *_ in INVALID])
def test_as_72_a_text_that_is_no_formula_is_refused_with_its_place(text, line, column):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert (caught.value.code, caught.value.position) == ("AutoScalingFormulaSyntaxError", (line, column))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1 +;", "Unexpected ';'; an expression is needed"),
        ("x = (1;", '")" is needed'),
        ("x = (1", 'Unexpected end of the formula; ")" is missing'),
        ("x = 1 = 2", "a comparison is =="),
        ("x = 'a'", "double quotes"),
        ('x = "a', "does not end on its line"),
        ("x = 1 & 2", "and is &&"),
        ("x = 1 | 2", "or is ||"),
        ("x = 1 § 2", "Unexpected character '§'"),
        ("/* what */ x = 1", "a comment begins with //"),
        ("x = 1 /* what */", "a comment begins with //"),
        ("# what", "a comment begins with //"),
        ("x += 1", "there is no +=, only ="),
        ("x /= 2", "there is no /=, only ="),
        ("= 1", "an assignment is a statement by itself"),
        ("x = 1 \u2212 1", "minus is -"),
        ("x = \u201cone\u201d", "straight double quotes"),
    ],
)
def test_as_72_a_refusal_says_what_would_be_right(text, words):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert words in caught.value.reason


def test_as_76_the_text_stays_as_it_is_and_a_formula_is_parsed_once():
    text = " x = 1 ; // and so on\r\n"
    assert parse(text).text == text
    assert parse(text) is parse(text)
