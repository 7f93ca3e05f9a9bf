"""``batchdeck autoscale`` as a person and a script meet it."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tui.cli.commands import main

USUAL = {
    "now": "2026-03-11T10:00:00Z",
    "variables": {"$CurrentDedicatedNodes": 4, "$TargetDedicatedNodes": 3},
    "samples": {"$PendingTasks": [[0, 6], [30, 5.5], [60, 4]]},
}


@pytest.fixture
def autoscale(tmp_path, monkeypatch, capsys):
    """Evaluates a formula on a samples file; returns exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(formula, samples=None, *options):
        (tmp_path / "formula.txt").write_bytes(formula.encode() if isinstance(formula, str) else formula)
        if samples is not None:
            (tmp_path / "samples.json").write_text(samples if isinstance(samples, str) else json.dumps(samples))
            options = ("--samples", "samples.json", *options)
        status = main(["autoscale", "formula.txt", *options])
        return status, *capsys.readouterr()

    return run


def values(out):
    """The results as a dict."""
    return dict(item.split("=", 1) for item in out.removesuffix("\n").split(";"))


def test_as_68_the_results_are_one_line(autoscale):
    formula = "cap = 8;\r\n$want = avg($PendingTasks.GetSample(TimeInterval_Minute)); // of the last minute\n"
    status, out, err = autoscale(formula + "$TargetDedicatedNodes = min(cap, $want);\n", USUAL)
    service = "$TargetDedicatedNodes=5;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue"
    assert (status, out, err) == (0, f"{service};$want=5.75;cap=8\n", "")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("$CurrentDedicatedNodes", "4"),
        ("$CurrentLowPriorityNodes", "0"),
        ("$TaskSlotsPerNode", "1"),
        ("$TargetDedicated", "3"),
        ("$PendingTasks.GetSample(9)", "[4,5.5,6]"),
        ("$RunningTasks", "nan"),
        ("time()", "2026-03-11T10:00:00.000Z"),
        ("$PendingTasks.HistoryBeginTime()", "2026-03-11T09:59:00.000Z"),
        ("rand() != rand()", "1"),
    ],
)
def test_as_36_and_as_46_what_the_formula_sees_of_the_file(expression, text, autoscale):
    status, out, _ = autoscale(f"x = {expression}", USUAL)
    assert (status, values(out)["x"]) == (0, text)


@pytest.mark.parametrize(
    ("samples", "options", "now"),
    [
        (USUAL, ["--at", "2025-07-01T12:00:00Z"], "2025-07-01T12:00:00.000Z"),
        (USUAL, ["--at", "PT5M"], "2026-03-11T10:05:00.000Z"),
        (USUAL, ["--at", "90.5"], "2026-03-11T10:01:30.500Z"),
        (None, ["--at", "2025-07-01"], "2025-07-01T00:00:00.000Z"),
        (None, [], "2026-01-05T08:00:00.000Z"),
        ({}, [], "2026-01-05T08:00:00.000Z"),
    ],
)
def test_at_wins_over_now(samples, options, now, autoscale):
    status, out, _ = autoscale("x = time(); n = $PendingTasks.Count()", samples, *options)
    assert (status, values(out)["x"]) == (0, now)
    assert values(out)["n"] == ("3" if samples else "0")


@pytest.mark.parametrize(
    ("formula", "place", "words", "line"),
    [
        ("x = 1;\ny = 2 +;", "Line 2, Col 8", "AutoScalingFormulaSyntaxError", "  y = 2 +;\n         ^\n"),
        ("x = nowhere;\r\n", "Line 1, Col 5", "Unknown variable nowhere", "  x = nowhere;\n      ^\n"),
        ('y = "漢字" + $Y', "Line 1, Col 12", "Unknown variable $Y", f'  y = "漢字" + $Y\n{" " * 15}^\n'),
        ("\tx = $Y", "Line 1, Col 6", "Unknown variable $Y", "   x = $Y\n       ^\n"),
        (
            "v = $ActiveTasks.GetSample(TimeInterval_Hour)",
            "Line 1, Col 27",
            "wanted 70%, received 0%",
            f"\n{' ' * 28}^\n",
        ),
        ("x = (1\n", "Line 1, Col 7", "Unexpected end", "  x = (1\n        ^\n"),
        ("", "Line 1, Col 1", "no statement", "  \n  ^\n"),
        ("x=1;" * 101, "Line 1, Col 401", "AutoScalingFormulaTooLong", "x=1;x=1;"),
    ],
)
def test_as_75_a_formula_that_fails_is_status_1_with_its_place_and_a_caret(formula, place, words, line, autoscale):
    status, out, err = autoscale(formula)
    assert (status, out) == (1, "")
    assert err.startswith(f"{place}: ")
    assert words in err
    assert line in err


def test_a_long_line_is_shown_around_its_place(autoscale):
    _, _, err = autoscale("x = " + "1 + " * 1500 + "nowhere" + " + 1" * 100)
    shown, caret = err.splitlines()[1:]
    assert len(shown) <= 102
    assert shown[caret.index("^") :].startswith("nowhere")


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ("{", "samples.json: not valid JSON: EOF while parsing an object at line 1 column 1"),
        ("[]", "a samples file is an object"),
        ("[" * 100_000, "not valid JSON: recursion limit exceeded"),
        ({"sample": {}}, "sample: there is no such key: did you mean 'samples'?"),
        ({"now": "noon"}, "now: 'noon' is not an ISO 8601 time"),
        ({"now": 5}, "now: '5' is not an ISO 8601 time"),
        ({"variables": []}, "variables: must be a mapping, not a list"),
        ({"variables": {"$CurrentDedicatedNode": 1}}, "did you mean '$CurrentDedicatedNodes'?"),
        (
            {"variables": {"$CurrentDedicatedNodes": "4"}},
            "variables.$CurrentDedicatedNodes: must be a number, not '4': leave out the quotes",
        ),
        ({"variables": {"$CurrentDedicatedNodes": True}}, "must be a number, not true"),
        ('{"variables": {"$CurrentDedicatedNodes": NaN}}', "must be a finite number, not nan"),
        ({"variables": {"$CurrentDedicatedNodes": 10**400}}, "must be a finite number"),
        ({"samples": {"$PendingTask": []}}, "did you mean '$PendingTasks'?"),
        ({"samples": {"$TargetDedicatedNodes": []}}, "there is no such variable"),
        ({"samples": {"$PendingTasks": 5}}, "must be a list of [seconds before now, value]"),
        (
            {"samples": {"$PendingTasks": [[0, 1], 5]}},
            "samples.$PendingTasks[1]: must be [seconds before now, value]",
        ),
        ({"samples": {"$PendingTasks": [[0, 1, 2]]}}, "samples.$PendingTasks[0]: must be"),
        ({"samples": {"$PendingTasks": [[-30, 1]]}}, "must be at least 0, not -30: seconds count backwards from now"),
        ({"samples": {"$PendingTasks": [["0", 1]]}}, "must be a number, not '0'"),
    ],
)
def test_a_bad_samples_file_is_status_2(samples, words, autoscale):
    status, out, err = autoscale("x = 1", samples)
    assert (status, out) == (2, "")
    assert words in " ".join(err.split())


@pytest.mark.parametrize("at", ["tomorrow", "-5", "2026-99-01", "PT", "P90000D"])
def test_a_bad_time_is_status_2(at, autoscale):
    status, out, err = autoscale("x = 1", {"now": "9990-01-01T00:00:00Z"}, "--at", at)
    assert (status, out) == (2, "")
    assert "--at" in err


def test_what_cannot_be_read_is_status_2(autoscale, capsys):
    assert autoscale(b"\xff")[0] == 2
    assert main(["autoscale", "nowhere.txt"]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["autoscale", "formula.txt", "--samples", "nowhere.json"]) == 2
    assert main(["autoscale"]) == 2
    assert main(["autoscale", "-", "--samples", "-"]) == 2
    assert "both" in capsys.readouterr().err


def test_a_formula_may_come_from_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x = 1 + 1")))
    assert main(["autoscale", "-"]) == 0
    assert values(capsys.readouterr().out)["x"] == "2"
