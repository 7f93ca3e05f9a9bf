"""Tests of values, operators and functions (AS-12 to AS-31, AS-56 to AS-64, AS-69)."""

from __future__ import annotations

import pytest

TABLE = {
    "AS-12": [
        ("5.", "5"), (".5", "0.5"), ("1e3", "1000"), ("1E+2", "100"), ("25e-1", "2.5"), ("007", "7"), ("1e999", "inf"),
    ],
    "AS-13": [('"a;b//c"', "a;b//c"), (r'"a\b"', r"a\b"), ('"漢字"', "漢字"), ('""', "")],
    "AS-16": [
        ("5", "5"), ("[5]", "[5]"), ('"five"', "five"), ("time()", "2026-03-11T10:00:00.000Z"),
        ("TimeInterval_Minute * 5", "00:05:00"),
    ],
    "AS-17": [("!5", "0"), ("!0", "1"), ("!(0/0)", "0"), ("0/0 ? 1 : 2", "1"), ("-1 && 2", "1"), ("0 || 0", "0")],
    "AS-18": [
        ("[]", "[]"), ("[1, [2, 3], []]", "[1,2,3]"), ("vec(1, [2, 3])", "[1,2,3]"), ("vec()", "[]"), ("[1+1]", "[2]"),
    ],
    "AS-19": [
        ("TimeInterval_100ns * 3", "00:00:00.0000003"), ("TimeInterval_Zero - TimeInterval_Day", "-1.00:00:00"),
        ("time() + TimeInterval_100ns > time()", "1"), ("TimeInterval_100ns / 2 * 2 == TimeInterval_100ns", "1"),
    ],
    "AS-20": [
        ("time().year", "2026"), ("time().month", "3"), ("time().day", "11"), ("time().hour", "10"),
        ("time().minute", "0"), ("time().second", "0"), ("time().weekday", "3"),
        ('time("2026-03-14").weekday', "6"), ('time("2026-03-15").weekday', "0"), ('time("2026-03-16").weekday', "1"),
        ("(time() + TimeInterval_Minute * 61).hour", "11"),
    ],
    "AS-22": [
        ("[4] > 3", "1"), ("![0]", "1"), ("[1] ? 2 : 3", "2"), ("[0] || [1]", "1"), ("val([7, 8], [1])", "8"),
        ("-[4]", "-4"), ("[2] * TimeInterval_Second", "00:00:02"), ("[3] == [3]", "1"),
    ],
    "AS-23": [("val(5, 0)", "5"), ("percentile(5, 50)", "5")],
    "AS-24": [
        ("avg([1, 2], 3)", "2"), ("avg(1, 2, 3)", "2"), ("sum([1], [2, 3], 4)", "10"),
        ("len([], 1, [2, 3])", "3"),
    ],
    "AS-26": [
        ("1--1", "2"), ("- -1", "1"), ("!-1", "0"), ("-!0", "-1"), ("-2*3", "-6"), ("2*-3", "-6"), ("3 > 2 > 1", "0"),
        ("2 == 2 == 2", "0"), ("(1 || 1) && 0", "0"), ("10 / (2 / 5)", "25"), ("(1 ? 0 : 1) ? 7 : 8", "8"),
        ("1 > 2 || 2 > 1 ? 3 : 4", "3"), ("-time().year", "-2026"), ("!time().minute", "1"),
        ("2 + 3 * 4", "14"), ("(2 + 3) * 4", "20"), ("8 / 4 / 2", "1"), ("10 - 4 - 3", "3"), ("1 || 0 && 0", "1"),
        ("1 < 2 == 1", "1"), ("2 == 2 > 1", "0"), ("!0 + 1", "2"), ("-2 * -3", "6"), ("- - 2", "2"), ("!!7", "1"),
        ("0 ? 1 : 1 ? 2 : 3", "2"), ("1 ? 0 ? 1 : 2 : 3", "2"), ("0 || 1 ? 5 : 6", "5"), ("1 + 1 == 2 && 3 > 2", "1"),
        ("5 >= 5", "1"), ("5 <= 4", "0"), ("1 != 1", "0"), ("3-2", "1"), ("3 --2", "5"), ("1!=2", "1"), ("!1==0", "1"),
    ],
    "AS-27": [
        ("-TimeInterval_Hour / -2", "00:30:00"), ("TimeInterval_Second / 3", "00:00:00.3333333"),
        ("time() + TimeInterval_Hour - time()", "01:00:00"), ('"" < "a"', "1"), ("[3] + [4]", "[7]"),
        ('time("2026-01-01") - time("2025-01-01")', "365.00:00:00"), ("time() != time()", "0"),
        ("7 / 2", "3.5"), ("[1, 2] + 1", "[2,3]"), ("10 - [1, 2]", "[9,8]"), ("2 * [1, 2]", "[2,4]"),
        ("[2, 4] / 2", "[1,2]"), ("8 / [2, 4]", "[4,2]"), ("[1, 2] + [3, 4]", "[4,6]"), ("[5, 6] * [2, 3]", "[10,18]"),
        ("2 * TimeInterval_Hour", "02:00:00"), ("TimeInterval_Hour * 2", "02:00:00"),
        ("TimeInterval_Hour / 4", "00:15:00"), ("TimeInterval_Hour + TimeInterval_Minute", "01:01:00"),
        ("TimeInterval_Hour - TimeInterval_Day", "-23:00:00"), ("-TimeInterval_Minute", "-00:01:00"),
        ("TimeInterval_Hour + time()", "2026-03-11T11:00:00.000Z"),
        ("time() + TimeInterval_Hour", "2026-03-11T11:00:00.000Z"),
        ("time() + -1 * TimeInterval_Hour", "2026-03-11T09:00:00.000Z"),
        ('time() - time("2026-03-09T08:30:00Z")', "2.01:30:00"), ('"a" < "b"', "1"), ('"B" < "a"', "1"),
        ('"a" == "a"', "1"), ('"a" != "a"', "0"), ('"b" >= "a"', "1"), ('time() > time("2026-03-10")', "1"),
        ('time() == time("2026-03-11T10:00:00Z")', "1"), ("TimeInterval_Second * 60 == TimeInterval_Minute", "1"),
        ("TimeInterval_Hour > TimeInterval_Minute", "1"), ("TimeInterval_Zero <= -TimeInterval_Second", "0"),
    ],
    "AS-28": [
        ("[1, 2, 3] - [1]", "[0,1,2]"), ("[1] + []", "[]"), ("-[2] + [1, 1]", "[-1,-1]"),
        ("[1, 2, 3] + [10]", "[11,12,13]"), ("[10] - [1, 2]", "[9,8]"), ("[] + [1]", "[]"), ("[] * []", "[]"),
        ("[] + 1", "[]"), ("5 / []", "[]"),
    ],
    "AS-29": [
        ("1 / 0", "inf"), ("-1 / 0", "-inf"), ("1 / -0", "-inf"), ("0 / 0", "nan"), ("[1, 0] / 0", "[inf,nan]"),
        ("0/0 == 0/0", "0"), ("0/0 != 0/0", "1"), ("0/0 < 1", "0"), ("0/0 >= 1", "0"), ("1/0 > 5", "1"),
        ("1e308 * 10", "inf"), ("(1/0) / (0/0)", "nan"), ("(1/0) - (1/0)", "nan"),
    ],
    "AS-30": [
        ("1 ? 2 : nowhere", "2"), ("0 ? nowhere : 3", "3"), ("0 && nowhere", "0"), ("1 || nowhere", "1"),
        ("0 ? stop() : 4", "4"), ("0 && nowhere || 1", "1"), ("1 || nowhere ? 5 : nowhere", "5"), ("3 && 4", "1"),
    ],
    "AS-31": [('1 ? "text" : 2', "text"), ('0 ? "text" : 2', "2"), ("1 ? [1, 2] : 3", "[1,2]")],
    "AS-40": [
        ("requeue", "requeue"), ('taskcompletion == "taskcompletion"', "1"),
        ("$NodeDeallocationOption", "requeue"),
    ],
    "AS-43": [
        ("TimeInterval_Zero", "00:00:00"), ("TimeInterval_100ns", "00:00:00.0000001"),
        ("TimeInterval_Microsecond", "00:00:00.0000010"), ("TimeInterval_Millisecond", "00:00:00.0010000"),
        ("TimeInterval_Second", "00:00:01"), ("TimeInterval_Minute", "00:01:00"), ("TimeInterval_Hour", "01:00:00"),
        ("TimeInterval_Day", "1.00:00:00"), ("TimeInterval_Week", "7.00:00:00"), ("TimeInterval_Year", "365.00:00:00"),
    ],
    "AS-56": [
        ("norm(-2)", "2"), ("range(1, 0/0)", "0"), ("std([1, 2, 3, 4])", "1.29099"), ("round(1e20)", "1e+20"),
        ("ln(1/0)", "inf"), ("lg([0, 1, -1])", "[-inf,0,nan]"), ("max(1, 2) + min(3, 4) * 2", "8"),
        ("avg([1, 2, 3], 7)", "3.25"), ("ceil(1.2)", "2"), ("ceil(-1.2)", "-1"), ("ceil(-0.5)", "0"),
        ("floor(1.8)", "1"),
        ("floor(-1.2)", "-2"), ("round(2.5)", "3"), ("round(-2.5)", "-3"), ("round(2.4)", "2"), ("round(-0.4)", "0"),
        ("round(0.49999999999999994)", "0"), ("ceil(1/0)", "inf"), ("round(0/0)", "nan"), ("len(1, 2)", "2"),
        ("lg(8)", "3"), ("ln(1)", "0"), ("log(1000)", "3"), ("max(3, [9, 4])", "9"), ("min(5, [], 9)", "5"),
        ("norm(3, 4)", "5"), ("range([4, 9, 2])", "7"), ("std(2, 4, 4, 4, 5, 5, 7, 9)", "2.13809"), ("sum(1, 2)", "3"),
        ("val([5, 6], 1)", "6"), ("norm(1/0)", "inf"), ("sum(1/0, -1/0)", "nan"),
    ],
    "AS-57": [
        ("lg([1, 2, 4])", "[0,1,2]"), ("round([1.5, 2.4])", "[2,2]"), ("ceil(1.5, 2.5)", "[2,3]"),
        ("floor([7.5])", "[7]"),
        ("ceil([])", "[]"), ("log(10, [100])", "[1,2]"),
    ],
    "AS-58": [
        ("len()", "0"), ("sum([])", "0"), ("norm()", "0"), ("avg()", "nan"), ("max([])", "nan"), ("min()", "nan"),
        ("range([])", "nan"), ("std()", "nan"), ("std(1)", "nan"), ("percentile([], 50)", "nan"),
    ],
    "AS-59": [
        ("max(1, 0/0, 3)", "3"), ("range(0/0)", "nan"), ("avg(1, 0/0)", "nan"),
        ("max(0, 0/0)", "0"), ("max(0/0, 0)", "nan"), ("min(1, 0/0)", "1"), ("min(0/0, 1)", "nan"),
        ("max(0, max())", "0"),
    ],
    "AS-60": [
        ("val([5, 6], 1.9)", "6"), ("val([5], 1)", "nan"), ("val([5], -1)", "nan"), ("val([5], -0.5)", "5"),
        ("val([], 0)", "nan"), ("val([5], 0/0)", "nan"), ("val([5], 1/0)", "nan"),
    ],
    "AS-61": [
        ("percentile([1, 2, 3, 4, 5], 20)", "1"), ("percentile([1, 2, 3, 4, 5], 20.1)", "2"),
        ("percentile([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], 70)", "70"), ("percentile([1, 2], [50])", "1"),
        ("percentile([10, 20, 30, 40], 50)", "20"), ("percentile([40, 10, 30, 20], 51)", "30"),
        ("percentile([10, 20], 0)", "10"), ("percentile([10, 20], 100)", "20"), ("percentile([10], 37)", "10"),
    ],
    "AS-62": [("lg(0)", "-inf"), ("ln(0)", "-inf"), ("log(-1)", "nan"), ("rand()", "0.25"), ("time() == time()", "1")],
    "AS-63": [
        ('time("Wed, 11 Mar 2026 10:00:00 -0500").hour', "15"), ('time("0001").year', "1"),
        ('time("2026-03-11T00:30:00+01:00").day', "10"), ('time("2026-03-11T10:00:00.9999999Z")',
        "2026-03-11T10:00:00.999Z"), ('time("9999-12-31").year', "9999"),
        ('time("")', "2026-03-11T10:00:00.000Z"),
        ('time("Wed, 11 Mar 2026 10:00:00 GMT")', "2026-03-11T10:00:00.000Z"),
        ('time("Sun, 11 Mar 2026 10:00:00 GMT")', "2026-03-11T10:00:00.000Z"),
        ('time("1 Mar 2026 10:00:00 UTC")', "2026-03-01T10:00:00.000Z"),
        ('time("11 Mar 2026 10:00:00 +0130")', "2026-03-11T08:30:00.000Z"),
        ('time("11 Mar 2026 10:00:00 -01:00")', "2026-03-11T11:00:00.000Z"),
        ('time("2026")', "2026-01-01T00:00:00.000Z"), ('time("2026-05")', "2026-05-01T00:00:00.000Z"),
        ('time("2026-05-06")', "2026-05-06T00:00:00.000Z"), ('time("2026-05-06T07:08")', "2026-05-06T07:08:00.000Z"),
        ('time("2026-05-06T07:08:09")', "2026-05-06T07:08:09.000Z"),
        ('time("2026-05-06T07:08:09.25Z")', "2026-05-06T07:08:09.250Z"),
        ('time("2026-05-06T07:08Z")', "2026-05-06T07:08:00.000Z"),
        ('time("2026-03-11T11:00:00+01:00") == time()', "1"),
        ('time("2026-05-06T07:08:09.0000001Z") - time("2026-05-06T07:08:09Z")', "00:00:00.0000001"),
        ('time("2024-02-29").day', "29"),
    ],
    "AS-69": [
        ("999999.4", "999999"), ("999999.5", "1e+06"), ("1234567", "1.23457e+06"), ("0.00012345678", "0.000123457"),
        ("[1/0, 0/0, -1/0]", "[inf,nan,-inf]"), ("0.1 + 0.2", "0.3"), ("-(0/0)", "nan"),
        ("1 / 3", "0.333333"), ("123456.7", "123457"), ("999999", "999999"), ("1000000", "1e+06"), ("0.00001", "1e-05"),
        ("100 * 29 / 30", "96.6667"), ("-0", "0"), ("0 * -1", "0"), ("[1, 2.5, -0]", "[1,2.5,0]"), ("2.50", "2.5"),
        ("TimeInterval_Minute * 1.5", "00:01:30"), ("-1 * TimeInterval_Day * 1.5", "-1.12:00:00"),
        ("TimeInterval_Second * 0.25", "00:00:00.2500000"), ("TimeInterval_100ns * 0.4", "00:00:00"),
        ("TimeInterval_Second / 3 * 3 == TimeInterval_Second", "1"),
    ],
}  # fmt: skip
SITUATIONS = [
    pytest.param(expression, text, id=f"{rule} {expression}")
    for rule, rows in TABLE.items()
    for expression, text in rows
]


@pytest.mark.parametrize(("expression", "text"), SITUATIONS)
def test_an_expression_has_this_value_by_rule(expression, text, value):
    assert value(expression) == text


FAULTS = {
    "AS-20": [
        ("time().hour()", 8), ('"2026".year', 8), ("time().year.month", 13), ("requeue.year", 9), ("stop", 1),
       ("time().week", 8), ("time().Hour", 8), ("TimeInterval_Hour.hour", 19), ("(5).hour", 5), ("[1].len", 5)],
    "AS-22": [
        ("[1, 2] > 3", 8), ("![]", 1), ("[1, 2] ? 1 : 2", 8), ("[] && 1", 4), ("-[1, 2]", 1),
        ("val([1], [1, 2])", 1),
    ],
    "AS-24": [('avg("a")', 1), ("sum(time())", 1), ("[TimeInterval_Hour]", 1), ('["a", 1]', 1)],
    "AS-25": [
        ("TimeInterval_Second + 1", 21), ('1 + "1"', 3), ('max("1", 2)', 1), ('TimeInterval_Second * "2"', 21),
        ('time() + "PT1H"', 8), ("time() + 3600", 8),
    ],
    "AS-27": [
        ("2 - TimeInterval_Hour", 3), ("time() * 2", 8), ("TimeInterval_Hour > time()", 19), ('1 < "a"', 3),
        ("[1, 2] * TimeInterval_Hour", 8), ("!TimeInterval_Hour", 1), ("0 || time()", 3),
        ("time() - TimeInterval_Hour", 8), ("TimeInterval_Hour / TimeInterval_Minute", 19), ('"a" + "b"', 5),
        ("[1, 2] == [1, 2]", 8), ("1 + TimeInterval_Hour", 3), ("1 / TimeInterval_Hour", 3), ('"1" == 1', 5),
        ("time() + time()", 8), ("time() > 5", 8), ("-time()", 1), ('!"a"', 1), ('"a" && 1', 5), ('1 && "a"', 3),
        ('"a" ? 1 : 2', 5), ("TimeInterval_Hour * TimeInterval_Hour", 19),
    ],
    "AS-28": [("[1, 2] + [1, 2, 3]", 8), ("[] - [1, 2]", 4)],
    "AS-29": [
        ("TimeInterval_Hour / 0", 19), ("TimeInterval_Hour * (1/0)", 19),
        ("time() + TimeInterval_Year * 9000", 8),
    ],
    "AS-34": [("nowhere", 1), ("1 + $Nothing", 5), ("nowhere.year", 1)],
    "AS-56": [
        ("median(1)", 1), ("Max(1)", 1), ("sqrt(4)", 1), ("median(nowhere)", 1), ("rand(1)", 1), ("stop(1)", 1),
        ("val([1])", 1), ("val([1], 1, 2)", 1), ("percentile([1])", 1), ("ceil()", 1), ('lg("a")', 1), ("time(5)", 1),
        ('time("2026", "2027")', 1), ('val("a", 0)', 1), ('val([1], "a")', 1),
    ],
    "AS-61": [("percentile([1], 101)", 1), ("percentile([1], -1)", 1), ("percentile([1], 0/0)", 1)],
    "AS-63": [
        ('time("2026-03-11 10:00")', 1), ('time("2026-03-11T10:00:60Z")', 1), ('time("0000")', 1),
        ('time("2026-03-11T10:00:00.Z")', 1), ('time("2026-03-11T10:00:00z")', 1), ('time("Wed, 11 Mar 2026")', 1),
        ('time("Wed, 11 March 2026 10:00:00 GMT")', 1), ('time("31 Feb 2026 10:00:00 GMT")', 1),
        ('time("tomorrow")', 1), ('time("2026-13-01")', 1), ('time("2026-02-29")', 1), ('time("2026-03-11T24:00Z")', 1),
        ('time("2026-03-11T10:00:00.123456789Z")', 1), ('time("2026-03-11T10Z")', 1), ('time("2026-03-11Z")', 1),
        ('time("11 Foo 2026 10:00:00 GMT")', 1), ('time("11 Mar 2026 10:00:00 CET")', 1), ('time("2026-3-1")', 1),
        ('time("2026-03-11T10:00+24:00")', 1), ('time("0001-01-01T00:00+01:00")', 1), ('time(" 2026")', 1),
    ],
}  # fmt: skip
FAILING = [
    pytest.param(expression, column, id=f"{rule} {expression}")
    for rule, rows in FAULTS.items()
    for expression, column in rows
]


@pytest.mark.parametrize(("expression", "column"), FAILING)
def test_as_74_and_as_75_an_expression_fails_at_its_place(expression, column, fault):
    code, position, _ = fault(f"y = 1;\n{expression};")
    assert (code, position) == ("AutoScalingFormulaEvaluationError", (2, column))


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("$PendingTask", "Unknown variable $PendingTask; did you mean $PendingTasks?"),
        ("$Nothing", "Unknown variable $Nothing"),
        ("rond(1)", "Unknown function rond; did you mean round?"),
        ("$PendingTasks.GetSamples(1)", "Unknown method GetSamples; did you mean GetSample?"),
        ("time().weekDay", "Unknown member weekDay"),
        ("rand(1)", "Wrong arguments of rand: (double)"),
        ('1 + "a"', "Wrong types: double + string"),
        ("!time()", "A timestamp cannot be used where a double is needed"),
        ("[1, 2] && 1", "A doubleVec of 2 elements cannot be used where a double is needed"),
        ("[1, 2] + [1, 2, 3]", "Vectors of different length: 2 and 3 elements"),
        ('time("x")', '"x" is no time'),
        ('time("2026-02-30")', '"2026-02-30" names a time that does not exist'),
    ],
)
def test_as_74_the_reason_says_what_is_wrong(expression, words, fault):
    assert words in fault(expression)[2]
