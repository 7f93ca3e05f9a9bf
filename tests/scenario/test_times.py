"""Tests of TIME: a duration, seconds, or a moment."""

from __future__ import annotations

import pytest

from engine.scenario.conditions import parse_time
from engine.scenario.model import DEFAULT_START


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("PT5M", 300_000),
        ("pt0.25s", 250),
        ("P7D", 604_800_000),
        ("300", 300_000),
        (300, 300_000),
        (0.1, 100),
        ("1.9999", 1_999),
        (0, 0),
        (1e3, 1_000_000),
        ("2026-01-05T08:00:00Z", 0),
        ("2026-01-05T09:00:00.5", 3_600_500),
        ("2026-01-05T10:00:00+01:00", 3_600_000),
        ("2026-01-06", 16 * 3_600_000),
    ],
)
def test_times(text, ms):
    assert parse_time(text, DEFAULT_START) == ms


@pytest.mark.parametrize("text", ["-PT1S", "-5", "2026-01-05T07:59:59Z", "2025-01-05T08:00:00Z"])
def test_before_the_start(text):
    with pytest.raises(ValueError, match="before the start"):
        parse_time(text, DEFAULT_START)


@pytest.mark.parametrize("text", ["P999999999D", "9999-12-31T00:00:00Z", "99999999999", "P10675199DT2H48M5.4775807S"])
def test_far_too_late(text):
    with pytest.raises(ValueError, match="more than a century"):
        parse_time(text, DEFAULT_START)


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "P1Y", "5M", "soon", "08:30", "1_000", "0x10", "nan", "inf", "1e3", "٣"]
)
def test_no_time(text):
    with pytest.raises(ValueError, match="P"):
        parse_time(text, DEFAULT_START)
