"""Every run that a test starts is looked at once more when the test is over."""

from __future__ import annotations

import pytest

from tests import builders


@pytest.fixture
def start():
    """``builders.simulation``; at teardown the log of each run must be whole."""
    runs = []

    def begin(*jobs, **scenario):
        runs.append(builders.simulation(*jobs, **scenario))
        return runs[-1]

    yield begin
    for sim in runs:
        log = builders.events(sim)
        assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
        assert [event["t"] for event in log] == sorted(event["t"] for event in log)
