"""Tests of sampled variables and their methods (AS-41 to AS-51). The history is 1 2 - 4 - 5 6."""

from __future__ import annotations

import pytest

from engine.autoscale import parse
from engine.autoscale.values import METRICS, Inputs, SampleSeries
from tests.autoscale.situations import NOW

SITUATIONS = [
    ("AS-44 $PendingTasks.GetSample($PendingTasks.GetSamplePeriod() * 2)", "[5,6]"),
    ("AS-44 -$PendingTasks.Count()", "-5"),
    ("AS-45 $PendingTasks.GetSamplePercent(TimeInterval_Minute * 4, TimeInterval_Minute * 2)", "50"),
    ("AS-45 $PendingTasks.GetSamplePercent(time(), TimeInterval_Minute)", "100"),
    ("AS-47 $PendingTasks.GetSample(-0.9)", "[]"),
    ("AS-47 $PendingTasks.GetSample(1) + 1", "[7]"),
    ("AS-49 $PendingTasks.GetSamplePercent(TimeInterval_Second * 150)", "60"),
    ("AS-49 $PendingTasks.GetSample(TimeInterval_Second * 45)", "[5,6]"),
    ("AS-50 $PendingTasks.GetSample(TimeInterval_Minute * 2, 75)", "[4,5,6]"),
    ("AS-44 $PendingTasks.GetSamplePeriod()", "00:00:30"),
    ("AS-44 $PendingTasks.Count()", "5"),
    ("AS-44 $FailedTasks.Count()", "0"),
    ("AS-44 $PendingTasks.HistoryBeginTime()", "2026-03-11T09:57:00.000Z"),
    ("AS-44 $FailedTasks.HistoryBeginTime() == time()", "1"),
    ("AS-45 $PendingTasks.GetSample(TimeInterval_Minute * 2, TimeInterval_Minute, 50)", "[4]"),
    ("AS-45 $PendingTasks.GetSample(TimeInterval_Minute, TimeInterval_Minute * 2, 50)", "[4]"),
    ('AS-45 $PendingTasks.GetSample(time("2026-03-11T09:58:00Z"), TimeInterval_Minute, 50)', "[4]"),
    ('AS-45 $PendingTasks.GetSample(time("2026-03-11T09:58:00Z"), 50)', "[4,5,6]"),
    ("AS-45 $PendingTasks.GetSamplePercent(TimeInterval_Minute, TimeInterval_Minute * 2)", "50"),
    ('AS-45 $PendingTasks.GetSamplePercent(time("2026-03-11T09:59:00Z"))', "100"),
    ("AS-46 $PendingTasks + 1", "7"),
    ("AS-46 $RunningTasks + 1", "nan"),
    ("AS-46 $CurrentDedicatedNodes * 2", "8"),
    ("AS-46 $CurrentDedicated * 2", "8"),
    ("AS-46 $PendingTasks > 5 ? 1 : 2", "1"),
    ("AS-46 avg($PendingTasks, [2])", "4"),
    ("AS-48 $PendingTasks.GetSample(3)", "[4,5,6]"),
    ("AS-47 $PendingTasks.GetSample([1])", "[6]"),
    ("AS-47 $PendingTasks.GetSample(99)", "[1,2,4,5,6]"),
    ("AS-47 $PendingTasks.GetSample(1/0)", "[1,2,4,5,6]"),
    ("AS-47 $PendingTasks.GetSample(2.9)", "[5,6]"),
    ("AS-47 $PendingTasks.GetSample(0)", "[]"),
    ("AS-47 $PendingTasks.GetSample(-0.5)", "[]"),
    ("AS-47 $RunningTasks.GetSample(1)", "[]"),
    ("AS-47 max(0, $RunningTasks.GetSample(1))", "0"),
    ("AS-49 $PendingTasks.GetSamplePercent(TimeInterval_Minute * 3)", "66.6667"),
    ("AS-49 $PendingTasks.GetSamplePercent(TimeInterval_Minute)", "100"),
    ("AS-49 $PendingTasks.GetSamplePercent(TimeInterval_Second * 10)", "100"),
    ("AS-49 $PendingTasks.GetSamplePercent(TimeInterval_Second * 59)", "100"),
    ("AS-49 $PendingTasks.GetSamplePercent(TimeInterval_Zero)", "0"),
    ("AS-49 $PendingTasks.GetSamplePercent(TimeInterval_Minute, -TimeInterval_Minute)", "50"),
    ("AS-49 $PendingTasks.GetSamplePercent(TimeInterval_Hour)", "4.16667"),
    ("AS-49 $RunningTasks.GetSamplePercent(TimeInterval_Hour)", "0"),
    ("AS-49 $PendingTasks.GetSample(TimeInterval_Second * 10)", "[6]"),
    ("AS-50 $PendingTasks.GetSample(TimeInterval_Minute)", "[5,6]"),
    ("AS-50 $PendingTasks.GetSample(TimeInterval_Minute * 3, 66)", "[2,4,5,6]"),
    ("AS-50 $RunningTasks.GetSample(TimeInterval_Hour, 0)", "[]"),
    ("AS-50 $RunningTasks.GetSamplePercent(TimeInterval_Day) < 1 ? 9 : $RunningTasks.GetSample(TimeInterval_Day)", "9"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "text"), SITUATIONS, ids=[expression for expression, _ in SITUATIONS])
def test_as_41_to_51_what_a_sampled_variable_tells(expression, text, value):
    assert value(expression.split(" ", 1)[1]) == text


@pytest.mark.parametrize(
    ("call", "place", "wanted", "received"),
    [
        ("$PendingTasks.GetSample(TimeInterval_Minute, TimeInterval_Minute * 2)", 28, 70, 50),
        ("$PendingTasks.GetSample(TimeInterval_Minute * 3)", 28, 70, 67),
        ("$PendingTasks.GetSample(TimeInterval_Minute * 3, 66.7)", 28, 67, 67),
        ("$PendingTasks.GetSample(TimeInterval_Hour, 12.5)", 28, 13, 4),
        ("$FailedTasks  . GetSample (TimeInterval_Hour)", 31, 70, 0),
        ("$PendingTasks.GetSample(TimeInterval_Hour, 1/0)", 28, "inf", 4),
    ],
)
def test_as_50_and_as_73_too_few_samples_end_the_evaluation_at_the_parenthesis(call, place, wanted, received, evaluate):
    error = evaluate(f"v = {call}; w = 1").error
    metric = call.split(".")[0].strip()
    text = f"Line 1, Col {place}: Insufficient data from data set: {metric} wanted {wanted}%, received {received}%"
    assert error.wire() == {
        "code": "InsufficientSampleData",
        "message": "Autoscale evaluation failed due to insufficient sample data",
        "values": [{"name": "Message", "value": text}],
    }


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        pytest.param("$PendingTasks.GetSampleByRange(1)", 15, id="AS-44 unknown method"),
        pytest.param("$PendingTasks.getSample(1)", 15, id="AS-44 case counts"),
        pytest.param("$PendingTasks.GetSample(1).Sum()", 28, id="AS-44 a result has no methods"),
        pytest.param("$PendingTasks.GetSample()", 15, id="AS-44 no argument"),
        pytest.param("$PendingTasks.Count(1)", 15, id="AS-44 Count takes nothing"),
        pytest.param("$PendingTasks.GetSamplePeriod(1)", 15, id="AS-44 GetSamplePeriod takes nothing"),
        pytest.param("$PendingTasks.HistoryBeginTime(1)", 15, id="AS-44 HistoryBeginTime takes nothing"),
        pytest.param("$PendingTasks.GetSamplePercent(5)", 15, id="AS-44 a percentage of a count"),
        pytest.param("$PendingTasks.GetSample(1).GetSample(1)", 28, id="AS-44 samples have no samples"),
        pytest.param("$PendingTasks.GetSample([1, 2])", 15, id="AS-44 a vector is no count"),
        pytest.param('$PendingTasks.GetSample(TimeInterval_Hour, "70")', 15, id="AS-44 a string is no percentage"),
        pytest.param("$PendingTasks.GetSamplePercent()", 15, id="AS-44 a percentage of nothing"),
        pytest.param("$PendingTasks.Count", 15, id="AS-44 a method is no member"),
        pytest.param("$PendingTasks.GetSample(5, 70)", 15, id="AS-45 a count has no percentage"),
        pytest.param('$PendingTasks.GetSample("5")', 15, id="AS-45 a string"),
        pytest.param("$PendingTasks.GetSample(TimeInterval_Hour, 70, TimeInterval_Hour)", 15, id="AS-45 wrong order"),
        pytest.param("$PendingTasks.GetSample(-1)", 15, id="AS-47 a negative count"),
        pytest.param("$PendingTasks.GetSample(0/0)", 15, id="AS-47 no number"),
        pytest.param("y.GetSample(1)", 1, id="AS-33 a user variable has no methods"),
        pytest.param("($PendingTasks).GetSample(1)", 17, id="AS-33 only the name itself has methods"),
        pytest.param("$Nothing.GetSample(1)", 1, id="AS-34 unknown variable"),
        pytest.param("$TargetDedicatedNodes.GetSample(1)", 1, id="AS-41 a target is not sampled"),
    ],
)
def test_as_44_and_as_45_a_wrong_call_fails_at_its_place(statement, column, fault):
    assert fault(f"y = $PendingTasks;\n{statement}")[:2] == ("AutoScalingFormulaEvaluationError", (2, column))


@pytest.mark.parametrize("name", sorted(METRICS))
def test_as_41_every_metric_is_known_read_only_and_empty_without_samples(name):
    results = parse(f"n = {name}.Count(); v = {name}; {name} = 1").evaluate(Inputs(NOW))
    assert results.text.endswith(";n=0;v=nan")
    assert results.error.reason == f"The variable {name} is read-only"


def test_as_33_assigning_a_metric_stores_its_number(value):
    assert value("$PendingTasks; y = x + 1").startswith("6;y=7")


def test_as_45_times_count_from_the_instant_of_the_evaluation_wherever_the_run_began():
    late = Inputs(NOW, 3_600_000, samples={"$ActiveTasks": SampleSeries([3_540_000, 3_570_000, 3_600_000], [1, 2, 3])})
    formula = parse(
        "t = time(); a = $ActiveTasks.GetSample(TimeInterval_Minute);"
        "b = $ActiveTasks.GetSample(t + -1 * TimeInterval_Minute)"
    )
    assert formula.evaluate(late).text.endswith(";a=[2,3];b=[2,3];t=2026-03-11T11:00:00.000Z")
