"""Rule REL-3 with ``options.releaseAfter: preparation``: release runs wherever preparation was started."""

from __future__ import annotations

import pytest

from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    do,
    events,
    job_state,
    node_rows,
    run,
    run_to,
    run_to_end,
)

AFTER_PREPARATION = {"options": {"releaseAfter": "preparation"}}


def releases(sim):
    """The indexes of the nodes on which release has completed."""
    ids = [sim.world.nodes[row].id for row in node_rows(sim)]
    return sorted(ids.index(event["nodeId"]) for event in events(sim, "JobReleaseTaskStateChanged", to="completed"))


@pytest.mark.parametrize(("options", "released"), [({}, []), (AFTER_PREPARATION, [0])])
def test_rel_3_with_the_option_release_runs_where_preparation_has_failed(start, options, released):
    """The task never ran there; what preparation has left is cleaned up all the same."""
    sim = start(a_job(prep=a_line(5, 1), release=a_line(5)), **options)
    run_to(sim, minutes=3)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (releases(sim), job_state(sim)) == (released, "completed")


@pytest.mark.parametrize(("options", "released"), [({}, []), (AFTER_PREPARATION, [0])])
def test_rel_3_with_the_option_release_runs_where_preparation_was_stopped_with_its_job(start, options, released):
    sim = start(a_job(prep=a_line(500), release=a_line(5)), **options)
    run_to(sim, seconds=READY_S + 20)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (releases(sim), job_state(sim)) == (released, "completed")


def test_rel_3_with_the_option_a_node_without_preparation_releases_nothing(start):
    sim = start(a_job(tasks=1, prep=a_line(5), release=a_line(5)), pool=a_pool(nodes=3), **AFTER_PREPARATION)
    run_to(sim, minutes=4)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert len(releases(sim)) == 1


def test_rel_4_with_the_option_a_new_disk_has_nothing_to_release(start):
    """Preparation was started on the disk before; only one that is started on the new disk counts."""
    sim = start(a_job(prep=a_line(5, 1), release=a_line(5)), **AFTER_PREPARATION)
    run_to(sim, minutes=2)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    do(sim, "reimageNode", poolId="p", node=0)
    run(sim, minutes=10)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (releases(sim), job_state(sim)) == ([], "completed")


def test_rel_10_with_the_option_a_node_that_reboots_during_preparation_releases_when_it_is_up(start):
    sim = start(a_job(prep=a_line(500), release=a_line(5)), **AFTER_PREPARATION)
    run_to(sim, seconds=READY_S + 20)
    do(sim, "rebootNode", poolId="p", node=0)
    run(sim, seconds=5)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert (releases(sim), job_state(sim)) == ([0], "completed")
