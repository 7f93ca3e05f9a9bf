"""Every run that a test starts is held against the invariants after each instant, and its log when the test is over."""

from __future__ import annotations

import pytest

from engine import Simulation
from tests import builders
from tests.invariants import check


class Watched(Simulation):
    """A run that is looked at whenever an instant is over."""

    def advance(self, until_ms, max_events=1):  # noqa: ARG002  # one at a time, whatever is asked for
        more = super().advance(until_ms, 1)
        if self.world.calendar.instant_is_over():
            check(self.world)
        return more


@pytest.fixture
def start():
    """``builders.simulation``, watched; at teardown the log of each run must be whole."""
    runs = []

    def begin(*jobs, **scenario):
        runs.append(Watched(builders.scenario(*jobs, **scenario)))
        return runs[-1]

    yield begin
    for sim in runs:
        log = builders.events(sim)
        assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
        assert [event["t"] for event in log] == sorted(event["t"] for event in log)
