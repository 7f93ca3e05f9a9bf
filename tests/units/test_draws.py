from __future__ import annotations

import statistics
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.values import UNLIMITED_FROM_MS
from engine.specs import draws
from engine.specs.base import Distribution

KINDS = {
    "constant": (5_000,),
    "uniform": (1_000, 9_000),
    "normal": (40_000, 10_000),
    "lognormal": (180_000, 0.4),
    "exponential": (60_000,),
    "triangular": (1_000, 2_000, 9_000),
    "choice": (9_000, 1_000, 5_000),
}
DISTRIBUTIONS = [Distribution(kind=kind, values=values) for kind, values in KINDS.items()]
every_kind = pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=list(KINDS))
units = st.integers(0, 2**53 - 1).map(lambda number: number * 2**-53)
weights = ((0, 0.9), (1, 0.06), (137, 0.04))


def test_the_numbers_are_the_same_everywhere():
    """Compare with literals, so that a machine or Python version that draws differently is found."""
    assert draws.uniform(7, "boot", "tvm-1", 2) == 0.3166002118524598
    assert draws.hex_digits(8, 7, "node id", "shared", 1) == "60038014"
    lognormal = Distribution(kind="lognormal", values=(180_000, 0.4))
    assert list(draws.block_ms(lognormal, 7, "risk", count=4)) == [92964, 145447, 467609, 258906]
    assert list(draws.block_codes(weights, 7, "risk", count=30)).count(0) == 29


def test_a_draw_depends_on_seed_and_key_and_on_nothing_else():
    first = draws.uniform(1, "boot", "a")
    draws.uniform(1, "boot", "b")
    assert draws.uniform(1, "boot", "a") == first
    others = {draws.uniform(2, "boot", "a"), draws.uniform(1, "boota"), draws.uniform(1, "a", "boot")}
    assert first not in others
    assert len(others) == 3


@given(st.integers(), st.lists(st.text() | st.integers(), max_size=4))
def test_a_uniform_number_lies_in_the_unit_interval(seed, key):
    assert 0 <= draws.uniform(seed, *key) < 1


@every_kind
@given(u=units, v=units)
def test_a_duration_never_falls_as_u_grows(distribution, u, v):
    low, high = sorted((u, v))
    assert 0 <= draws.draw_ms(distribution, low) <= draws.draw_ms(distribution, high)


@pytest.mark.parametrize(
    ("kind", "u", "expected_ms"),
    [
        ("constant", 0.3, 5_000),
        ("uniform", 0.25, 3_000),
        ("normal", 0.5, 40_000),
        ("lognormal", 0.5, 180_000),
        ("exponential", 0.5, 41_589),
        ("triangular", 0.125, 2_000),
        ("choice", 0.0, 1_000),
        ("choice", 0.99, 9_000),
    ],
)
def test_known_quantiles(kind, u, expected_ms):
    assert draws.draw_ms(Distribution(kind=kind, values=KINDS[kind]), u) == expected_ms


def test_what_would_be_negative_is_zero_and_halves_round_to_even():
    assert draws.draw_ms(Distribution(kind="normal", values=(1_000, 60_000)), 0.01) == 0
    assert draws.draw_ms(Distribution(kind="uniform", values=(0, 5)), 0.5) == 2
    assert draws.draw_ms(Distribution(kind="triangular", values=(7, 7, 7)), 0.5) == 7


@pytest.mark.parametrize(("kind", "spread"), [("lognormal", (10,)), ("exponential", ()), ("normal", (10**16,))])
def test_no_time_is_longer_than_the_longest_that_has_an_end(kind, spread):
    distribution = Distribution(kind=kind, values=(UNLIMITED_FROM_MS - 1, *spread))
    assert draws.draw_ms(distribution, 1 - 2**-53) == UNLIMITED_FROM_MS
    assert max(draws.block_ms(distribution, 3, "job", count=100)) == UNLIMITED_FROM_MS


@every_kind
def test_a_block_follows_the_distribution(distribution):
    block = draws.block_ms(distribution, 3, "job", count=4_000)
    expected = [draws.draw_ms(distribution, (index + 0.5) / 4_000) for index in range(4_000)]
    assert block.typecode == "Q"
    assert statistics.mean(block) == pytest.approx(statistics.mean(expected), rel=0.05)
    assert statistics.median(block) == pytest.approx(statistics.median(expected), rel=0.05)


def test_a_longer_block_begins_with_the_shorter_one():
    normal = DISTRIBUTIONS[2]
    assert draws.block_ms(normal, 3, "job", count=50)[:20] == draws.block_ms(normal, 3, "job", count=20)
    assert draws.block_ms(normal, 3, "job", count=5) != draws.block_ms(normal, 3, "other", count=5)
    assert list(draws.block_ms(normal, 3, "job", count=0)) == []


def test_codes_share_the_interval_by_weight():
    assert [draws.pick_code(weights, u) for u in (0, 0.89, 0.91, 0.97, 0.999999)] == [0, 0, 1, 137, 137]
    block = draws.block_codes(weights, 3, "job", count=10_000)
    assert block.typecode == "i"
    assert block.count(1) == pytest.approx(600, abs=100)
    assert block.count(137) == pytest.approx(400, abs=100)


def test_retry_8_codes_are_signed_32_bit_numbers():
    assert draws.pick_code(((0xC000013A, 1),), 0.5) == -1_073_741_510
    assert list(draws.block_codes(((3221225786, 1),), 0, count=2)) == [-1_073_741_510] * 2


def test_a_code_without_weight_never_comes_up():
    assert set(draws.block_codes(((1, 0), (0, 5)), 0, "job", count=100)) == {0}
    with pytest.raises(ValueError, match="at least one"):
        draws.pick_code(((1, 0.0),), 0.5)


def test_node_3_ids_of_nodes():
    node_id = draws.node_id(7, "shared", 1, dedicated=True)
    assert len(node_id) == len("tvmps_") + 64 + len("_d")
    assert node_id.startswith("tvmps_")
    assert node_id.endswith("_d")
    assert draws.node_id(7, "shared", 1, dedicated=False).endswith("_p")
    assert draws.node_id(7, "shared", 2, dedicated=True) != node_id


def test_node_3_classic_ids_share_the_digits_of_their_pool():
    allocated = datetime(2026, 1, 5, 8, 0, 45, tzinfo=UTC)
    first, second = (draws.classic_node_id(7, "shared", number, allocated) for number in (1, 2))
    assert first.endswith("_1-20260105t080045z")
    assert second.endswith("_2-20260105t080045z")
    digits = first.removeprefix("tvm-").partition("_")[0]
    assert digits.isdecimal()
    assert len(digits) == 10
    assert second.startswith(f"tvm-{digits}_")
