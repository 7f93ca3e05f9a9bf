"""What the dashboard says of REL-3 and PREP-17 follows the options of the scenario."""

from __future__ import annotations

import pytest

from tests.builders import a_job, a_line, a_pool, a_task, node_row, run_to, simulation
from tests.tui.test_things import page
from tui.viewmodels.actions.menu import actions_for
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain

RETRIES = {"options": {"rebootRetriesFailedPreparation": True}}
AFTER_PREPARATION = {"options": {"releaseAfter": "preparation"}}


def session_with(**options):
    """Two nodes; preparation has failed on the first."""
    job = a_job(tasks=[a_task("t1", 900)], prep=a_line(5, simulate={"onNode": {0: {"exitCode": 1}}}), release=a_line(5))
    sim = simulation(job, pool=a_pool(nodes=2), **options)
    run_to(sim, minutes=2)
    return Session(sim)


@pytest.mark.parametrize(("options", "until"), [({}, "its disk is new"), (RETRIES, "it reboots")])
def test_prep_17_pages_say_until_when_a_node_is_ineligible(options, until):
    session = session_with(**options)
    first = ItemRef("node", node_row(session.simulation))
    overview = " ".join(page(session, first, "Overview"))
    short = "until new disk" if not options else "until reboot"
    assert short in " ".join(page(session, first, "Jobs on this node"))
    model = PreparationModel(session)
    model.update()
    failed = next(key for key in map(model.key, range(model.count)) if model.is_failed(key))
    assert plain(model.sentence(failed)).endswith(f"ineligible for this job until {until}")
    assert until in model.help_text
    assert f"ineligible until {until}" in overview or "Jobs on this node" not in overview


@pytest.mark.parametrize(
    ("options", "effect"),
    [({}, "stays ineligible for j until its disk is new (PREP-9)"), (RETRIES, "eligible again for j (PREP-17)")],
)
def test_prep_17_a_reboot_says_what_it_changes(options, effect):
    session = session_with(**options)
    session.update()
    reboot = actions_for(session, [ItemRef("node", node_row(session.simulation))])[0]
    assert effect in reboot.effects
    assert (reboot.better == ()) is bool(options)


@pytest.mark.parametrize(
    ("options", "where"), [({}, "a task ran after preparation"), (AFTER_PREPARATION, "preparation was started")]
)
def test_rel_3_the_list_of_release_tasks_and_the_sheet_of_the_job_say_where_release_runs(options, where):
    session = session_with(**options)
    session.update()
    overview = " ".join(page(session, ItemRef("job", "j"), "Overview"))
    assert ("releaseAfter preparation" in overview) is bool(options)
    assert ("Options in force" in overview) is bool(options)
    model = ReleaseModel(session)
    model.update()
    assert f"runs where {where} (REL-3, REL-4)" in plain(model.footer()[1])
    assert f"on nodes where {where} (REL-3)" in model.help_text
