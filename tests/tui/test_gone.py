"""What is said of pools, nodes and jobs that are gone: when they went, and that nothing can be done any more."""

from __future__ import annotations

import pytest

from tests.tui.screen_text import after, contains

AFTER_DELETION_S = 800
SCENARIO = "pool-deleted-with-everything-in-it"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_why_says_of_a_deleted_pool_when_it_was_deleted(dashboard_at, size):
    shown = after(dashboard_at(AFTER_DELETION_S, SCENARIO), "2", "w", size=size)
    assert contains(shown, "It was deleted at 08:05:35", "Nothing can be done with it any more")


def test_acting_on_a_deleted_pool_says_when_it_was_deleted(dashboard_at):
    shown = after(dashboard_at(AFTER_DELETION_S, SCENARIO), "2", "a")
    assert contains(shown, "Pool genomics was deleted at 08:05:35. Nothing can be done with it any more.")


def test_acting_on_a_node_that_has_left_says_when_it_left(dashboard_at):
    shown = after(dashboard_at(AFTER_DELETION_S, SCENARIO), "3", "a")
    assert contains(shown, "left its pool at 08:0", "Nothing can be done with it any more.")


def test_where_all_jobs_were_deleted_no_list_says_that_there_was_none(dashboard_at):
    shown = after(dashboard_at(2000, "terminate-then-delete"), "4")
    assert contains(shown, "All 2 jobs were deleted.")
    assert not contains(shown, "There was no job")


def test_the_details_of_a_wide_screen_are_of_the_job_in_focus_where_its_nodes_are_gone(dashboard_at):
    shown = after(dashboard_at(100_000, "one-pool-per-scheduled-job"), size=(200, 60))
    assert contains(shown, "Its node has left the pool.", "On all tasks complete")
