"""Explanations, pages and drawings under the options that change REL-3 and PREP-17."""

from __future__ import annotations

import pytest

from engine.base.terms import NodeState
from engine.run.agenda import Agenda
from engine.views.diagnosis.candidates import candidates
from engine.views.diagnosis.concerns import Attention
from engine.views.hook_status import Hook, HookStatus, eligible_again
from engine.views.log.lanes import Lanes
from engine.views.log.node_lane import Activity
from engine.views.resources.instances import pages_of
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, node_row, run, run_to, simulation
from tests.views.explaining import why_node_says, why_preparation_says

RETRIES = {"options": {"rebootRetriesFailedPreparation": True}}
AFTER_PREPARATION = {"options": {"releaseAfter": "preparation"}}
FAILS = {"onNode": {0: {"exitCode": 1}}}


def failed(*, simulate_preparation=FAILS, **options):
    """Two nodes; preparation has failed on the first, and a task runs on the second."""
    job = a_job(tasks=[a_task("t1", 900)], prep=a_line(5, simulate=simulate_preparation), release=a_line(5))
    sim = simulation(job, pool=a_pool(nodes=2), **options)
    run_to(sim, minutes=2)
    return sim


def says(lines, part):
    return any(part in line for line in lines)


@pytest.mark.parametrize(("options", "until"), [({}, "its disk is new"), (RETRIES, "it reboots")])
def test_prep_17_a_node_says_until_when_it_is_ineligible(options, until):
    sim = failed(**options)
    assert says(why_node_says(sim, 0), f"ineligible until {until}: preparation failed here [PREP-9]")


@pytest.mark.parametrize(
    ("options", "until", "remedy"),
    [
        ({}, "until the node has a new disk", "A reboot does not make it run again; a reimage does. [PREP-17]"),
        (RETRIES, "until the node reboots", "A reboot lets it run again (rebootRetriesFailedPreparation). [PREP-17]"),
    ],
)
def test_prep_17_a_preparation_says_what_helps(options, until, remedy):
    lines = why_preparation_says(failed(**options))
    assert says(lines, until)
    assert remedy in lines


def test_prep_17_a_preparation_that_was_tried_again_says_why():
    job = a_job(tasks=1, prep=a_line(50, simulate={"attempts": [{"exitCode": 1}]}))
    sim = simulation(job, **RETRIES)
    run_to(sim, minutes=3)
    do(sim, "rebootNode", poolId="p", node=0)
    run(sim, seconds=90)
    assert says(why_preparation_says(sim), "which is tried again (rebootRetriesFailedPreparation). [PREP-17]")


@pytest.mark.parametrize(("options", "text"), [({}, "until the disk is new"), (RETRIES, "until a reboot")])
def test_prep_17_a_task_that_finds_no_node_says_until_when(options, text):
    sim = failed(**options)
    job = sim.world.jobs.find("j")
    profile = sim.world.tasks.profile_of(sim.world.tasks.blocks[job.blocks[0]].first)
    fit = candidates(sim.world, Agenda(sim.world), sim.world.pools.find("p"), job, profile)
    assert any(f"ineligible {text}: preparation failed there" in reason.text for reason in fit.reasons)


@pytest.mark.parametrize(
    ("options", "helps"),
    [({}, "reimage"), (RETRIES, "reboot"), (AFTER_PREPARATION, "reimage")],
)
def test_prep_17_attention_names_the_remedy(options, helps):
    sim = failed(**options, simulate_preparation={"onNode": {0: {"attempts": [{"exitCode": 1}]}}})
    assert [concern.remedy for concern in Attention(sim).concerns()] == [f"{helps} to try preparation again"]


@pytest.mark.parametrize(("options", "is_eligible"), [({}, False), (RETRIES, True)])
def test_prep_17_the_timeline_shows_an_ineligible_node_until_it_is_eligible(options, is_eligible):
    sim = failed(**options)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    do(sim, "rebootNode", poolId="p", node=0)
    run(sim, minutes=3)
    lanes = Lanes(sim)
    lanes.update()
    lane = lanes.lane(node_row(sim))
    assert lane.at(100_000).activity is Activity.INELIGIBLE
    assert (lane.at(sim.now_ms).activity is Activity.IDLE) is is_eligible


def test_prep_17_lost_contact_makes_no_node_eligible_again():
    states = set(eligible_again(simulation(**RETRIES).scenario.options).states)
    assert {NodeState.REBOOTING, NodeState.UNUSABLE, NodeState.REIMAGING, NodeState.UPGRADING_OS} <= states
    assert NodeState.UNKNOWN not in states


@pytest.mark.parametrize(("options", "status"), [({}, HookStatus.NOT_NEEDED), (AFTER_PREPARATION, HookStatus.WILL_RUN)])
def test_rel_3_the_pages_say_where_release_will_run(options, status):
    sim = failed(**options)
    _, release = pages_of(sim, "j")
    assert release.hook is Hook.RELEASE
    assert release.status_of(node_row(sim)) is status
    assert release.counts().get(HookStatus.WILL_RUN, 0) == (2 if options else 1)


@pytest.mark.parametrize(("options", "status"), [({}, HookStatus.NOT_NEEDED), (AFTER_PREPARATION, HookStatus.WILL_RUN)])
def test_rel_3_a_preparation_that_runs_is_enough_with_the_option(options, status):
    sim = simulation(a_job(prep=a_line(500), release=a_line(5)), **options)
    run_to(sim, seconds=READY_S + 20)
    assert pages_of(sim, "j")[1].status_of(node_row(sim)) is status
