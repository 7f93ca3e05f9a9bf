"""The bundled scenarios, each replayed once for all tests here, and the option that rewrites logs and messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from engine import Simulation, load_scenario
from engine.scenario.text import bundled
from tests.golden.text import Labels, line


@dataclass(frozen=True)
class Replay:
    """What one scenario has come to; ``facts`` are the fields of its events, with the event's name."""

    lines: tuple[str, ...]
    facts: tuple[tuple[str, dict], ...]
    expectations: tuple
    refusals: tuple


@cache
def replay(name):
    sim = Simulation(load_scenario(name))
    sim.run_until(sim.end_ms)
    sim.finish()
    entries, labels = list(sim.log.entries()), Labels(sim)
    return Replay(
        tuple(line(labels, entry) for entry in entries),
        tuple((entry.shape.event, dict(entry.shape.fields)) for entry in entries),
        tuple(sim.expectations),
        tuple(sim.refusals),
    )


@pytest.fixture(scope="session")
def replays():
    """All bundled scenarios by name."""
    return {name: replay(name) for name in bundled()}


def pytest_generate_tests(metafunc):
    if "scenario" in metafunc.fixturenames:
        metafunc.parametrize("scenario", list(bundled()))


def pytest_addoption(parser):
    parser.addoption("--rewrite-golden", action="store_true", help="write logs and messages anew; read the difference")


@pytest.fixture
def rewrites(request):
    """Whether logs and messages are to be written; the option is unknown where a run begins outside this directory."""
    return request.config.getoption("--rewrite-golden", default=False)
