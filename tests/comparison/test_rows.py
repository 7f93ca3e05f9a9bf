"""Rows of a comparison: differences, percent, jobs of one side, and which differences are the largest."""

from __future__ import annotations

import json

import pytest

from engine.studies.measures import MEASURES, Figures, Row, as_json, compared, largest


def some(ends, **given):
    return Figures(dict.fromkeys(MEASURES, 0.0) | given, ends)


@pytest.mark.parametrize(
    ("a", "b", "difference", "percent"),
    [
        (100, 150, 50, 50.0),
        (0.1, 0.3, 0.2, 200.0),
        (8, 2, -6, -75.0),
        (0, 5, 5, None),
        (0, 0, 0, None),
        (3, 3, 0, 0.0),
        (None, 3, None, None),
        (3, None, None, None),
        (None, None, None, None),
    ],
)
def test_the_difference_is_b_minus_a_and_percent_are_of_a(a, b, difference, percent):
    row = Row("", a, b)
    assert (row.difference, row.percent) == (difference, percent)


def test_jobs_of_one_side_have_null_on_the_other():
    rows = compared(some({"x": 10.0, "Both": 20.0}), some({"both": 25.0, "y": None, "z": 5.0}))
    assert [row.what for row in rows[: len(MEASURES)]] == list(MEASURES)
    assert [(*row[:3], row.difference, row.percent) for row in rows[len(MEASURES) :]] == [
        ("jobs.x.endSeconds", 10.0, None, None, None),
        ("jobs.Both.endSeconds", 20.0, 25.0, 5.0, 25.0),
        ("jobs.y.endSeconds", None, None, None, None),
        ("jobs.z.endSeconds", None, 5.0, None, None),
    ]


def test_a_job_of_a_schedule_is_compared_with_its_import_unless_there_is_one_of_the_same_id():
    run = some({"hourly:job-1": 10.0, "hourly:job-2": 20.0, "a:b": 1.0, "a-b": 2.0})
    rows = compared(run, some({"a-b": 3.0, "Hourly-job-1": 12.0}))[len(MEASURES) :]
    assert [(row.job_id, row.a, row.b) for row in rows] == [
        ("hourly:job-1", 10.0, 12.0),
        ("hourly:job-2", 20.0, None),
        ("a:b", 1.0, None),
        ("a-b", 2.0, 3.0),
    ]


def test_the_largest_differences_are_shares_of_the_larger_value():
    a = some({}, costUsd=1.0, nodeHours=10.0, failedTasks=0, waitSecondsMedian=100.0, makespanSeconds=1000.0)
    b = some({}, costUsd=1.5, nodeHours=1.0, failedTasks=2, waitSecondsMedian=100.0, makespanSeconds=1010.0)
    found = [row.what for row in largest(compared(a, b), 3)]
    assert found == ["failedTasks", "nodeHours", "costUsd"]
    assert [row.what for row in largest(compared(a, b), 9)][3:] == ["makespanSeconds"]


def test_json_has_the_names_of_the_contract():
    rows = compared(some({"j": 1.0}, costUsd=None), some({"j": 2.0}))
    found = json.loads(json.dumps(as_json("one", "two", rows)))
    assert list(found) == ["a", "b", "rows"]
    assert (found["a"], found["b"]) == ("one", "two")
    assert all(list(row) == ["what", "a", "b", "difference", "percent"] for row in found["rows"])
    assert {"what": "costUsd", "a": None, "b": 0.0, "difference": None, "percent": None} in found["rows"]
    assert found["rows"][-1] == {
        "what": "jobs.j.endSeconds", "a": 1.0, "b": 2.0, "difference": 1.0, "percent": 100.0,
    }  # fmt: skip
