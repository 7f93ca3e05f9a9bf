"""Tests of the table of ``python -m tests.bench``."""

from __future__ import annotations

import json

import pytest

from tests.bench.results import Form, Result, Sheet

FAST = Result("run", "bare program", (1.61, 1.5, 1.72), goal=1.8, remark="0.5 over 0.3 s")
SLOW = Result("rate", "one worker", (1.2,), goal=1.8, is_least=True)
LARGE = Result("memory", "", (1234.5,), goal=1200, unit="B/task")


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        (
            Form.MARKDOWN,
            [
                "| measured | beside | median | from, to | goal |",
                "|---|---|---|---|---|",
                "| run | bare program | 1.61 | 1.5 to 1.72 | 1.8 |",
                "| rate | one worker | 1.2 |  | at least 1.8 |",
                "| memory |  | 1,234 B/task |  | 1,200 |",
            ],
        ),
        (Form.LINES, [json.dumps([one.what, one.values]) for one in (FAST, SLOW, LARGE)]),
    ],
)
def test_each_result_is_a_row(capfd, form, rows):
    sheet = Sheet(form)
    for result in (FAST, SLOW, LARGE):
        sheet.add(result)
    assert capfd.readouterr().out.splitlines() == rows


def test_the_text_marks_what_misses_its_goal(capfd):
    sheet = Sheet()
    for result in (FAST, SLOW, LARGE):
        sheet.add(result)
    _, fast, slow, large = capfd.readouterr().out.splitlines()
    assert fast.endswith("1.8  0.5 over 0.3 s")
    assert slow.endswith("at least 1.8  OVER")
    assert large.endswith("1,200  OVER")
