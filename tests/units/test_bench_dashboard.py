"""Tests of ``python -m tests.bench dashboard``."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest

from tests.bench.dashboard import measure
from tests.bench.results import Form, Sheet


@pytest.mark.parametrize(
    ("case", "first"),
    [("speed", "speed with watch open"), ("back", "back to any moment"), ("pages", "all rows drawn again")],
)
def test_a_case_of_a_short_run_ends_with_its_rows(monkeypatch, case, first):
    written = []
    monkeypatch.setattr("tests.bench.results.write", written.append)
    measure(Sheet(Form.LINES), Namespace(nodes=20, tasks=2000, keys=1, rounds=1, cases=[case]), None)
    what, values = json.loads(written[0])
    assert what.startswith(first)
    assert all(value > 0 for value in values)
