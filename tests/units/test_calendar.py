"""Entries of the calendar that are alike and are taken together."""

from __future__ import annotations

from engine.base.calendar import Calendar, DueKind


def taken(most: int, *entries: tuple[int, DueKind, int]) -> tuple[list[list[int]], int]:
    """Return which entries were taken together, and how many were processed."""
    calendar, found = Calendar(), []
    for entry in entries:
        calendar.at(*entry)
    for kind in DueKind:
        calendar.on(kind, lambda due: found.append([due.key, *calendar.take_alike(due, lambda key: key < 10)]))
    return found, calendar.advance_instant(most)


def test_all_of_the_same_moment_and_kind_are_taken_together():
    kind, other = DueKind.RELEASE_ENDED, DueKind.NODE_STEP
    assert taken(9, (5, kind, 1), (5, other, 2), (6, kind, 3), (5, kind, 4)) == ([[1, 4], [2]], 3)


def test_one_that_does_not_belong_to_the_others_ends_it():
    kind = DueKind.RELEASE_ENDED
    assert taken(9, (5, kind, 1), (5, kind, 11), (5, kind, 2), (5, kind, 3)) == ([[1], [11, 2, 3]], 4)


def test_no_more_are_taken_than_may_be_processed():
    kind = DueKind.RELEASE_ENDED
    assert taken(2, (5, kind, 1), (5, kind, 2), (5, kind, 3)) == ([[1, 2]], 2)


def test_simpy_sees_what_is_pending_and_when_it_is():
    calendar = Calendar()
    calendar.at(7, DueKind.NODE_STEP)
    calendar.at(5, DueKind.RELEASE_ENDED)
    calendar.on(DueKind.RELEASE_ENDED, lambda _: None)
    assert calendar.peek() == 5
    calendar.advance(6, 1)
    assert (calendar.now, calendar.peek()) == (5, 7)
