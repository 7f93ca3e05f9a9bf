"""Reads of many rows at once say what a loop over them would say."""

from __future__ import annotations

import random
from array import array
from itertools import compress

import pytest

from engine.base.values import count_bits, places, sum_where, tally

_RANDOM = random.Random(7)


def _flags(count):
    return bytes(_RANDOM.randint(0, 1) for _ in range(count))


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_states_are_counted_in_ascending_order(count):
    states = bytes(_RANDOM.randrange(5) for _ in range(count))
    assert list(tally(states).items()) == [(state, states.count(state)) for state in sorted(set(states))]


@pytest.mark.parametrize("code", ["i", "I", "q", "Q", None])
@pytest.mark.parametrize("most", [1, 16, 17, 256])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_a_sum_is_that_of_the_flagged_values(code, most, count):
    column = [_RANDOM.randint(0, most) for _ in range(count)]
    flags = _flags(count)
    assert sum_where(flags, tuple(column) if code is None else array(code, column), most) == sum(
        compress(column, flags)
    )


@pytest.mark.parametrize("count", [1, 2, 40])
def test_bits_are_counted_where_there_are_flags(count):
    flags, bits, every = _flags(count), _RANDOM.getrandbits(count), (1 << count) - 1
    assert count_bits(flags, bits) == sum(flag and bits >> at & 1 for at, flag in enumerate(flags))
    assert count_bits(flags, every) == flags.count(1)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("start", "stop"), [(0, None), (3, 90), (90, 3), (99, None), (100, None)])
def test_the_places_of_a_value_are_found_however_many_there_are(share, start, stop):
    column = bytearray(7 if _RANDOM.random() < share else 8 for _ in range(100))
    assert places(column, 7, start, stop) == [at for at in range(100)[start:stop] if column[at] == 7]
