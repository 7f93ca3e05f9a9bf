"""Reads of many rows at once say what a loop over them would say."""

from __future__ import annotations

import random
from array import array
from itertools import compress

import pytest

from engine.base.values import count_bits, every_row_in_state, may_exceed, places, rows_in_state, sum_where, tally

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


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 1.0])
@pytest.mark.parametrize("step", [1, 15, 16, 100, 5000])
def test_every_so_many_row_in_a_state_is_found(share, step):
    column = bytearray(7 if _RANDOM.random() < share else 8 for _ in range(9000))
    ranges = [range(10), range(10, 10), range(20, 1044), range(1100, 2200), range(2300, 9000)]
    assert every_row_in_state(column, ranges, 7, step) == rows_in_state(column, ranges, 7)[::step]


@pytest.mark.parametrize("code", ["q", "I"])
@pytest.mark.parametrize("most", [0, 1, 255, 256, 300_000, 1 << 24, (1 << 31) - 1])
def test_numbers_that_exceed_another_are_noticed_and_those_that_are_far_below_are_not(code, most):
    far = 1 << max(0, most.bit_length() - 1) // 8 * 8  # the least with as many bytes
    for above in (most + 1, most + 256, min(most << 8, (1 << 32) - 1)):
        column = array(code, [0, above, most, 0])
        assert may_exceed(column, b"\0\1\0\0", most) == (above > most)
        assert not may_exceed(column, b"\1\0\0\1", most)
    assert not may_exceed(array(code, [far - 1, most + 1] * 9), b"\1\0" * 9, most)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("start", "stop"), [(0, None), (3, 90), (90, 3), (99, None), (100, None)])
def test_the_places_of_a_value_are_found_however_many_there_are(share, start, stop):
    column = bytearray(7 if _RANDOM.random() < share else 8 for _ in range(100))
    assert places(column, 7, start, stop) == [at for at in range(100)[start:stop] if column[at] == 7]
