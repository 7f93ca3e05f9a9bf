"""Tests of the comparison of expected with actual values."""

from __future__ import annotations

import pytest

from engine.specs.conditions import Bounds, Verbatim, matches

HELD = [
    ("completed", "Completed"),
    (3, 3),
    (3, 3.0),
    (0.3, 0.1 + 0.2),
    (None, None),
    (True, True),
    (Bounds(at_least=2), 2),
    (Bounds(at_most=2), 2),
    (Bounds(at_most=0.3), 0.1 + 0.2),
    (Bounds(1, 3), 2),
    (("A", "B"), ["a", "b"]),
    ((), []),
    ({"count": 4, "failed": Bounds(at_most=1)}, {"count": 4, "failed": 0, "running": 2}),
    ({"gone": None}, {}),
    (Verbatim("a\nb"), "a\r\nb\r\n"),
    ({"shared/a": Verbatim("x")}, {"shared/a": "x\n"}),
]
BROKEN = [
    ("completed", "active"),
    ("completed", None),
    (3, 4),
    (-1073741510, -1073741509),
    (1, True),
    (3, "3"),
    (3, None),
    (None, 0),
    (True, 1),
    (Bounds(at_least=2), 1),
    (Bounds(at_most=2), 2.1),
    (Bounds(), "1"),
    (Bounds(), True),
    (Bounds(1, 3), None),
    (("A",), ["A", "B"]),
    (("A", "B"), ["B", "A"]),
    (("A",), "A"),
    ({"count": 4}, {"failed": 4}),
    ({"count": 4}, 4),
    (Verbatim("a"), "A"),
    (Verbatim("a"), "a\n\n"),
    (Verbatim(""), None),
]


@pytest.mark.parametrize(("wanted", "seen"), HELD)
def test_holds(wanted, seen):
    assert matches(wanted, seen)


@pytest.mark.parametrize(("wanted", "seen"), BROKEN)
def test_does_not_hold(wanted, seen):
    assert not matches(wanted, seen)
