"""Values that are kept as long as their sources stay the same."""

import pytest

from engine.views.log.reader import Kept, KeptByKey


def test_a_value_is_made_once_for_the_same_sources():
    made, kept = [], Kept()

    def make():
        made.append(len(made))
        return made[-1]

    assert [kept.get(sources, make) for sources in (None, None, (1, 2), (1, 2), None)] == [0, 0, 1, 1, 2]


def test_a_failure_keeps_nothing():
    kept = Kept()
    with pytest.raises(ZeroDivisionError):
        kept.get(1, lambda: 1 // 0)
    assert kept.get(1, lambda: "made") == "made"


def test_values_by_key_are_forgotten_together():
    kept = KeptByKey()
    assert [kept.get(1, key, lambda key=key: key * 10) for key in (1, 2, 1)] == [10, 20, 10]
    assert kept.at(1) == {1: 10, 2: 20}
    assert kept.get(2, 1, lambda: "new") == "new"
    assert kept.at(2) == {1: "new"}
