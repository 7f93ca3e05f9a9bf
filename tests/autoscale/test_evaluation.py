"""Tests of assignments, failures, targets and the results string (AS-32 to AS-40, AS-65 to AS-70, AS-77)."""

from __future__ import annotations

import pytest

from engine.autoscale import parse
from tests.autoscale.situations import EMPTY


@pytest.mark.parametrize(
    ("formula", "dedicated", "spot", "option"),
    [
        pytest.param("x = 1", 7, 3, "requeue", id="AS-38 nothing assigned"),
        pytest.param("$TargetDedicatedNodes = 5", 5, 3, "requeue", id="AS-38 one assigned"),
        pytest.param("$TargetLowPriorityNodes = 5", 7, 5, "requeue", id="AS-35 low priority"),
        pytest.param("$TargetDedicated = 5; $TargetLowPriority = 6", 5, 6, "requeue", id="AS-35 aliases"),
        pytest.param("$TargetDedicated = 5; $TargetDedicatedNodes = 2", 2, 3, "requeue", id="AS-37 the full name wins"),
        pytest.param("$TargetDedicatedNodes = 2; $TargetDedicated = 5", 2, 3, "requeue", id="AS-37 whatever the order"),
        pytest.param("$TargetDedicated=0/0; $TargetDedicatedNodes=1", 1, 3, "requeue", id="AS-37 the alias is nothing"),
        pytest.param("$TargetDedicatedNodes = $TargetDedicatedNodes + 1", 8, 3, "requeue", id="AS-36 from itself"),
        pytest.param("$TargetDedicatedNodes = $TargetDedicated + 1", 8, 3, "requeue", id="AS-36 from its alias"),
        pytest.param(
            "$TargetDedicatedNodes = 2.6; $TargetLowPriorityNodes = $TargetDedicatedNodes * 2",
            2, 5, "requeue", id="AS-36 an assigned target is not cut",
        ),
        pytest.param(
            "$TargetDedicated = 2; $TargetLowPriorityNodes = $TargetDedicatedNodes",
            2, 2, "requeue", id="AS-37 the full name reads the alias",
        ),
        pytest.param("$TargetDedicatedNodes = [4]", 4, 3, "requeue", id="AS-39 a vector of one"),
        pytest.param("$TargetDedicatedNodes = 2.99", 2, 3, "requeue", id="AS-77 cut"),
        pytest.param("$TargetDedicatedNodes = -3", 0, 3, "requeue", id="AS-77 negative"),
        pytest.param("$TargetDedicatedNodes = -0.5", 0, 3, "requeue", id="AS-77 cut toward zero"),
        pytest.param("$TargetDedicatedNodes = 1e300", 2147483647, 3, "requeue", id="AS-77 the most"),
        pytest.param("$NodeDeallocationOption = terminate", 7, 3, "terminate", id="AS-40 terminate"),
        pytest.param('$NodeDeallocationOption = "retaineddata"', 7, 3, "retaineddata", id="AS-40 a string"),
        pytest.param("o = taskcompletion; $NodeDeallocationOption = o", 7, 3, "taskcompletion", id="AS-40 a variable"),
        pytest.param("$TargetDedicatedNodes = 1; stop(); $TargetDedicatedNodes = 2", 1, 3, "requeue", id="AS-62 stop"),
        pytest.param("x = stop()", 7, 3, "requeue", id="AS-62 stop in an expression"),
    ],
)  # fmt: skip
def test_as_35_to_40_and_as_77_targets_and_option(formula, dedicated, spot, option, evaluate):
    results = evaluate(formula)
    assert results.error is None
    assert (results.target_dedicated, results.target_low_priority, results.deallocation_option) == (
        dedicated,
        spot,
        option,
    )


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        pytest.param("$CurrentDedicatedNodes = 1", "read-only", id="AS-41 a metric"),
        pytest.param("$PendingTasks = 1", "read-only", id="AS-41 a sampled metric"),
        pytest.param("TimeInterval_Hour = 1", "read-only", id="AS-43 a constant"),
        pytest.param("requeue = 1", "read-only", id="AS-43 a keyword"),
        pytest.param('$NodeDeallocationOption = "wait"', "Bad deallocation option wait", id="AS-40 no option"),
        pytest.param("$NodeDeallocationOption = 1", "Bad deallocation option 1", id="AS-40 a number"),
        pytest.param('$NodeDeallocationOption = "Requeue"', "Bad deallocation option", id="AS-40 case counts"),
        pytest.param('$TargetDedicatedNodes = "1"', "A string cannot be used", id="AS-39 a string"),
        pytest.param("$TargetDedicatedNodes = [1, 2]", "A doubleVec of 2 elements", id="AS-39 a vector"),
        pytest.param("$TargetDedicatedNodes = time()", "A timestamp cannot be used", id="AS-39 a timestamp"),
        pytest.param("$TargetDedicatedNodes = 5 / 0", "is not finite: inf", id="AS-77 infinity"),
        pytest.param("$TargetLowPriority = 0 / 0", "is not finite: nan", id="AS-77 NaN"),
    ],
)
def test_as_39_and_as_74_a_wrong_assignment_fails_at_the_name(statement, words, fault):
    code, position, reason = fault(f"a = 1;\n  {statement};\nb = 2;")
    assert (code, position) == ("AutoScalingFormulaEvaluationError", (2, 3))
    assert words in reason


def test_as_65_and_as_66_and_as_70_a_failure_leaves_the_targets_and_shows_what_was_assigned(evaluate):
    results = evaluate("a = 1; $TargetDedicatedNodes = 9; $NodeDeallocationOption = terminate; b = nowhere; c = 2")
    assert results.text == ("$TargetDedicatedNodes=7;$TargetLowPriorityNodes=3;$NodeDeallocationOption=requeue;a=1")
    assert results.error.wire() == {
        "code": "AutoScalingFormulaEvaluationError",
        "message": "Autoscale evaluation failed due to formula evaluation error",
        "values": [{"name": "Message", "value": "Line 1, Col 76: Unknown variable nowhere"}],
    }


@pytest.mark.parametrize(
    ("formula", "items"),
    [
        ("b = 1; $a = 2; B = 3; a = 4", ["$a=2", "B=3", "a=4", "b=1"]),
        ("x = 1; $x = 2", ["$x=2", "x=1"]),
        ("x = 1; X = 2", ["X=2", "x=1"]),
        ("x = 1; x = [x, 2]; x = len(x)", ["x=2"]),
        ('x = 1; x = "one"', ["x=one"]),
        ("$taskSlotsPerNode = 3", ["$taskSlotsPerNode=3"]),
        ("stop(); x = 1", []),
        ("5; max(1, 2); x = 1", ["x=1"]),
        ("cap = 8; $want = 2.5", ["$want=2.5", "cap=8"]),
        ("_b = 1; Z = 2; _a = 3", ["Z=2", "_a=3", "_b=1"]),
    ],
)
def test_as_32_and_as_68_user_variables_follow_in_ordinal_order(formula, items, evaluate):
    service = ["$TargetDedicatedNodes=7", "$TargetLowPriorityNodes=3", "$NodeDeallocationOption=requeue"]
    assert evaluate(formula).text.split(";") == service + items


def test_as_32_variables_are_forgotten_after_the_evaluation():
    formula = parse("x = y; y = 1")
    assert formula.evaluate(EMPTY).error is not None
    assert formula.evaluate(EMPTY).error is not None


def test_as_36_without_a_pool_the_targets_are_0():
    assert parse("x = $TargetDedicatedNodes").evaluate(EMPTY).text.endswith("x=0")


def test_as_30_the_usual_guard_of_a_new_pool():
    formula = parse("""
        startingNumberOfVMs = 1;
        maxNumberOfVMs = 25;
        percent = $PendingTasks.GetSamplePercent(180 * TimeInterval_Second);
        pending = percent < 70 ? startingNumberOfVMs : avg($PendingTasks.GetSample(180 * TimeInterval_Second));
        $TargetDedicatedNodes = min(maxNumberOfVMs, pending);
        $NodeDeallocationOption = taskcompletion;
    """)
    results = formula.evaluate(EMPTY)
    assert (results.target_dedicated, results.deallocation_option, results.error) == (1, "taskcompletion", None)
