"""How many tests run at a time, how seldom garbage is collected, and that interrupts are heard."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest

from tui import interrupts


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is not installed tests run one by one
def pytest_xdist_auto_num_workers() -> int:
    """Run one worker more than there are processors with ``-n auto``: tests of the dashboard wait now and then."""
    return (os.cpu_count() or 1) + 1


def pytest_configure() -> None:
    """Tune this process, and what its children inherit."""
    # Where batchdeck is installed from a wheel, processes that a test starts in another folder find no `tui` otherwise.
    places = str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    # Few collections of garbage save a fifth of the time of tests of the dashboard and cost some ten megabytes.
    gc.set_threshold(100_000, 10, 10)
    # A shell ignores interrupts for what it runs in the background; programs that a test interrupts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave the tests themselves, which stay to the end, out of every later collection."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _heard_signals_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget a signal that came in a test once that has ended: what a later one starts would end as interrupted."""
    monkeypatch.setattr(interrupts._state, "number", 0)
