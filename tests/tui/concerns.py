"""Runs in which something goes wrong, and what the list of what needs attention says of a run."""

from __future__ import annotations

from tests.builders import (
    READY_S,
    a_job,
    a_pool,
    a_task,
    run_to,
    simulation,
)
from tui.viewmodels.session import Session
from tui.viewmodels.text import plain
from tui.viewmodels.watch.attention import AttentionModel

BROKEN_S = 30


def listed(sim, cells=100):
    model = AttentionModel(Session(sim))
    model.update()
    return model, [plain(text) for _, text in model.lines(cells)]


def broken(state, nodes=2):
    """A pool on which a node goes wrong after everything has come up."""
    fault = {"at": READY_S + BROKEN_S, "failNode": {"poolId": "p", "node": 1, "state": state}}
    sim = simulation(a_job(tasks=9), pool=a_pool(nodes=nodes), timeline=[fault])
    run_to(sim, seconds=READY_S + 40)
    return sim


def two_jobs():
    """A run in which a task of the second job fails; the first one, in focus, goes on."""
    second = a_job("other", tasks=[a_task("fails", 5, 7), a_task("works", 600)])
    sim = simulation(jobs=[a_job("j", tasks=[a_task("long", 900)]), second], pool=a_pool(nodes=4))
    run_to(sim, seconds=READY_S + 60)
    return sim
