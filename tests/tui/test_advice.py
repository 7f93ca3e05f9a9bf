"""Advice in the menu of actions, which opens on what the list of what needs attention advises."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from tests.builders import run_to
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.viewmodels.actions.menu import grouped_actions
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef


@pytest.mark.parametrize(
    ("name", "seconds", "kind", "command"),
    [
        ("preparation-fails-on-one-node", 330, "node", "removeNodes"),
        ("preparation-fails-everywhere", 230, "job", "resizePool"),
        ("pipeline-with-dependencies", 1_009, "task", "addTasks"),
        ("quota-keeps-the-pool-small", 356, "pool", "resizePool"),
        ("mpi-in-trouble", 1_200, "job", "terminateJob"),
    ],
)
def test_one_action_is_the_one_that_is_advised_and_says_why(name, seconds, kind, command):
    sim = Simulation(load_scenario(name))
    run_to(sim, seconds=seconds)
    session = Session(sim)
    concern = next(one for one in session.concerns() if one.command == command)
    items = concern.items
    key = {"node": items.nodes, "job": items.jobs, "task": items.tasks, "pool": items.pools}[kind][0]
    if items.jobs:
        session.focus_job(items.jobs[0])
    groups = grouped_actions(session, [ItemRef(kind, key)])
    [advised] = [action for group in groups for action in group.actions if action.advice]
    assert advised.command == command
    assert advised.advice.startswith(f"Advised: {concern.remedy}. The reason: {concern.text}")


def test_the_menu_opens_on_the_advised_action(dashboard_at):
    app = dashboard_at(330, "preparation-fails-on-one-node")
    seen = []
    drive(app, *("3", "down", "a"), lambda app: seen.extend(text_of(app)))
    assert contains(seen, "› Remove n1 from the pool", "Advised: remove, then resize the pool for another node.")
