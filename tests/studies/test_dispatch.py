"""Tests of how runs get to workers, with workers that die on purpose and without processes."""

from __future__ import annotations

import json
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from math import ceil

import pytest

from engine.studies.runs import Run
from tui.workers.dispatch import Dispatcher, Played


class FakeWorkers:
    """Workers that answer at once, and die when told to. ``deadly`` is asked about each batch with its number."""

    def __init__(self, deadly=lambda _runs, _number: False, *, count=2, seconds=0.01, breaks=True):
        self.count = count
        self.sent = []
        self.together = []  # how many batches were on their way when each was sent
        self.renewals = 0
        self._deadly = deadly
        self._seconds = seconds
        self._breaks = breaks
        self._open = []
        self._is_broken = False

    def submit(self, runs):
        if self._is_broken:
            raise BrokenProcessPool
        self.sent.append(runs)
        self.together.append(sum(not future.done() for future in self._open))
        future = Future()
        self._open.append(future)
        if self._deadly(runs, len(self.sent)):
            if self._breaks:
                self._is_broken = True
                for other in self._open:
                    if not other.done():
                        other.set_exception(BrokenProcessPool())
            else:
                future.set_exception(RuntimeError("worker lost"))
        else:
            lines = [json.dumps({"variant": run.variant, "seed": run.seed, "error": None}) for run in runs]
            future.set_result(Played(lines, self._seconds * len(runs)))
        return future

    def renew(self):
        self.renewals += 1
        self._is_broken = False
        self._open.clear()


def played(study, workers):
    """The results of all runs: each must be there once."""
    results = [json.loads(line) for lines in Dispatcher(study, workers).play(study.runs()) for line in lines]
    assert sorted((one["variant"], one["seed"]) for one in results) == sorted(study.runs())
    return {Run(one["variant"], one["seed"]): one["error"] for one in results}


@pytest.fixture
def study(night):
    return night("jobs.shot-1.priority=1..10", seeds=range(1, 31))


def test_batches_take_about_a_second_and_become_small_at_the_end(study):
    workers = FakeWorkers(seconds=0.02)
    assert set(played(study, workers).values()) == {None}
    sizes = list(map(len, workers.sent))
    assert sizes[0] == 1
    assert max(sizes) == 50
    assert sizes[-1] == 1
    left = study.variants * len(study.seeds)
    for size in sizes:
        assert size <= max(1, ceil(left / (workers.count * 2)))
        left -= size


def test_slow_runs_are_sent_one_by_one(night):
    workers = FakeWorkers(seconds=5)
    played(night(seeds=range(1, 9)), workers)
    assert set(map(len, workers.sent)) == {1}


def test_a_batch_that_was_lost_once_is_sent_again(study):
    workers = FakeWorkers(lambda _runs, number: number == 7)
    assert set(played(study, workers).values()) == {None}
    assert workers.renewals == 1


@pytest.mark.parametrize("breaks", [True, False])
def test_a_run_that_always_ends_its_worker_is_a_result_and_costs_no_other_run(study, breaks):
    deadly = Run(4, 17), Run(9, 2)
    workers = FakeWorkers(lambda runs, _number: any(run in runs for run in deadly), breaks=breaks)
    results = played(study, workers)
    assert {run for run, error in results.items() if error is not None} == set(deadly)
    message = "the process that played this run ended before it, each time" if breaks else "RuntimeError: worker lost"
    assert results[deadly[0]] == message


def test_what_may_end_its_worker_is_sent_alone(study):
    culprit = Run(4, 17)
    workers = FakeWorkers(lambda runs, _number: culprit in runs)
    played(study, workers)
    with_it = [
        (len(runs), others) for runs, others in zip(workers.sent, workers.together, strict=True) if culprit in runs
    ]
    assert [others for _, others in with_it[2:]] == [0] * len(with_it[2:])
    assert with_it[-1] == (1, 0)
    assert len(with_it) < 12  # halves, not one after the other


def test_workers_that_cannot_be_had_end_the_study(study):
    class Stop(Exception):
        pass

    class NoWorkers(FakeWorkers):
        def renew(self):
            raise Stop

    with pytest.raises(Stop):
        played(study, NoWorkers(lambda _runs, _number: True))
