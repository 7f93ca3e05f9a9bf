"""The spread of durations, kept and computed anew, is that of the runs that have succeeded."""

from __future__ import annotations

import pytest

from engine.base.values import percentile
from engine.views.diagnosis.estimates import Durations, Spread
from engine.views.hook_status import Hook, HookStatus
from engine.views.resources.instances import InstancePage
from tests.builders import READY_S, a_job, a_line, a_pool, run_to, simulation


def run():
    prep = a_line(0, simulate={"duration": {"normal": [40, 10]}, "onNode": {1: {"exitCode": 1}}})
    prep["constraints"] = {"maxTaskRetryCount": 1}
    release = a_line(0, simulate={"duration": {"uniform": [5, 20]}})
    timeline = [
        {"at": READY_S + 70, "rebootNode": {"poolId": "p", "node": 4}},
        {"at": READY_S + 300, "terminateJob": {"jobId": "j"}},
    ]
    return simulation(a_job(tasks=60, prep=prep, release=release), pool=a_pool(nodes=12), timeline=timeline)


def expected(page):
    """Compute the spread by a loop over all nodes."""
    rows = [page.row(node) for node in page.order()]
    taken = sorted(row.view.end_ms - row.view.start_ms for row in rows if row.status is HookStatus.SUCCEEDED)
    if not taken:
        return None
    return Spread(round(percentile(taken, 0.5)), round(percentile(taken, 0.95)), taken[-1])


@pytest.mark.parametrize("hook", list(Hook))
def test_it_is_the_same_however_often_it_is_looked_at_and_follows_time_back(hook):
    sim = run()
    page, durations = InstancePage(sim, "j", hook), Durations(sim)
    assert durations.spread(page) is None
    seen = set()
    for seconds in (*range(READY_S, READY_S + 400, 7), READY_S + 60, READY_S + 100, READY_S + 399):
        sim.seek(seconds * 1000)
        spread = durations.spread(page)
        assert spread == expected(page) == Durations(sim).spread(page)
        seen.add(spread)
    assert len(seen) > 3


def test_another_job_has_its_own():
    sim = simulation(a_job("a", prep=a_line(10)), a_job("b", prep=a_line(30)), pool=a_pool(nodes=2))
    run_to(sim, minutes=5)
    durations = Durations(sim)
    medians = [durations.spread(InstancePage(sim, job, Hook.PREPARATION)).median_ms for job in ("a", "b", "a")]
    assert medians == [11_000, 31_000, 11_000]
