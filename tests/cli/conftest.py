"""A worker of ``study`` and ``test`` that plays in the process of the test: to start a process takes a second."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import AbstractContextManager

import pytest

from tui.cli import studying, testing
from tui.workers.dispatch import Played
from tui.workers.local import LocalWorkers


class WorkerHere(AbstractContextManager):
    """Play each batch when it is sent."""

    count = 1

    def __init__(self, work):
        self._player = work.player()

    def submit(self, runs):
        future = Future()
        future.set_result(Played(self._player.play(runs), seconds=0))
        return future

    def __exit__(self, *_):
        """Leave nothing: no process was started."""


def put_one_worker_here(monkeypatch):
    """Let ``--workers 1`` start no process; several workers are processes as ever."""
    for module in (studying, testing):
        monkeypatch.setattr(
            module, "LocalWorkers", lambda work, count: WorkerHere(work) if count == 1 else LocalWorkers(work, count)
        )


@pytest.fixture(autouse=True)
def _one_worker_is_here(monkeypatch):
    put_one_worker_here(monkeypatch)
