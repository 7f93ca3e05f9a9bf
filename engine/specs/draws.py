"""Keyed random draws: each is a function of the seed, its purpose and its subject only.

No generator is part of the state. So an added fault does not shift the draws of the rest of a run, and moving back in
time needs no generator state. Rare draws (a boot, an eviction) are single:
``draw_ms(spread, uniform(seed, "boot", node_id, boot))``. Frequent ones (the tasks of a job) are drawn in blocks, one
stream per key.

Every draw maps one uniform number u through the inverse of its cumulative distribution, so the value never falls as u
grows: runs that share a key but differ in a distribution stay comparable. The numbers are the same on every machine
and Python version: BLAKE2b and the Mersenne Twister are defined exactly, and the last bits in which C libraries differ
are lost when rounding to whole milliseconds.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, repeat, starmap
from random import Random  # noqa: TID251  seeded by key below, never shared
from statistics import NormalDist
from typing import TYPE_CHECKING

from engine.base.values import UNLIMITED_FROM_MS

if TYPE_CHECKING:
    from engine.specs.base import Distribution
    from engine.specs.common import ExitCodes

_MANTISSA = 53
_TINY = 2.0**-_MANTISSA
_quantile = NormalDist().inv_cdf


def _digest(size: int, seed: int, key: tuple[str | int, ...]) -> bytes:
    text = "\0".join(map(str, (seed, *key)))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def uniform(seed: int, *key: str | int) -> float:
    """Return the number in [0, 1) of this seed and key. A number and its decimal text are the same key."""
    return (int.from_bytes(_digest(8, seed, key), "big") >> (64 - _MANTISSA)) * _TINY


def uniforms(seed: int, before: tuple[str, ...], names: Iterable[str], after: str | int) -> Iterator[float]:
    """Yield for each name the number of the key ``(*before, name, after)``, in less time than ``uniform`` takes."""
    head = blake2b(("\0".join(map(str, (seed, *before))) + "\0").encode("utf-8", "surrogatepass"), digest_size=8)
    for name in names:
        one = head.copy()
        one.update(f"{name}\0{after}".encode("utf-8", "surrogatepass"))
        yield (int.from_bytes(one.digest(), "big") >> (64 - _MANTISSA)) * _TINY


def draws_ms(distribution: Distribution, numbers: Iterable[float]) -> array[int]:
    """Return the quantiles of the distribution in whole milliseconds."""
    if distribution.kind == "uniform" and distribution.values[1] < UNLIMITED_FROM_MS:  # as ``_inverse``, without calls
        low, width = distribution.values[0], distribution.values[1] - distribution.values[0]
        return array("Q", (round(low + width * u) for u in numbers))
    return array("Q", map(round, map(_inverse(distribution.kind, distribution.values), numbers)))


def draw_ms(distribution: Distribution, u: float) -> int:
    """Return the u-quantile of the distribution in whole milliseconds, at least 0, for u in [0, 1)."""
    if distribution.kind == "constant":  # each task of a cluster's log has a time of its own: no use to keep inverses
        return round(min(distribution.values[0], UNLIMITED_FROM_MS))
    return round(_inverse(distribution.kind, distribution.values)(u))


def pick_code(weights: ExitCodes, u: float) -> int:
    """Return the exit code for u in [0, 1) when the codes divide the interval by weight, in the given order."""
    codes, bounds = _shares(weights)
    return codes[bisect_right(bounds, u * bounds[-1], hi=len(bounds) - 1)]


def block_ms(distribution: Distribution, seed: int, *key: str | int, count: int) -> array[int]:
    """Return the durations in ms of ``count`` subjects in order, from the stream of this key."""
    if distribution.kind == "constant":
        return array("Q", [draw_ms(distribution, 0.0)]) * count
    return draws_ms(distribution, _numbers(count, seed, key))


def block_codes(weights: ExitCodes, seed: int, *key: str | int, count: int) -> array[int]:
    """Return the exit codes of ``count`` subjects in order, from the stream of this key."""
    codes, bounds = _shares(weights)
    if len(codes) == 1:
        return array("i", codes) * count
    numbers = _numbers(count, seed, key)
    falls_on = map(bisect_right, repeat(bounds[:-1]), map(float(bounds[-1]).__mul__, numbers))
    return array("i", map(codes.__getitem__, falls_on))


def hex_digits(n: int, seed: int, *key: str | int) -> str:
    """Return ``n`` lower-case hexadecimal digits, at most 128, of this seed and key."""
    return _digest((n + 1) // 2, seed, key).hex()[:n]


def guid(seed: int, *key: str | int) -> str:
    """Return the GUID of this seed and key in lower case."""
    digits = hex_digits(32, seed, *key)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def node_id(seed: int, pool_id: str, number: int, *, dedicated: bool) -> str:
    """Return the id of the ``number``-th node of a VM pool: ``tvmps_<64 hex>_d``, Spot ``_p`` (NODE-3)."""
    return f"tvmps_{hex_digits(64, seed, 'node id', pool_id, number)}_{'d' if dedicated else 'p'}"


def classic_node_id(seed: int, pool_id: str, number: int, allocated: datetime) -> str:
    """Return the id of a classic pool's node: ``tvm-<10 digits>_<number from 1>-20260105t080045z`` (NODE-3)."""
    digits = int.from_bytes(_digest(64, seed, ("node id", pool_id)), "big") % 10**10
    return f"tvm-{digits:010}_{number}-{allocated:%Y%m%dt%H%M%Sz}"


def _numbers(count: int, seed: int, key: tuple[str | int, ...]) -> Iterator[float]:
    """Return the first numbers of the stream of this key."""
    return starmap(Random(int.from_bytes(_digest(16, seed, key), "big")).random, repeat((), count))


@lru_cache(maxsize=1024)
def _shares(weights: ExitCodes) -> tuple[list[int], list[float]]:
    """Return the codes with a weight, and the running totals of their weights.

    A code is a signed 32-bit number, as the service shows it: 0xC000013A is -1073741510 (RETRY-8).
    """
    heavy = [(code, weight) for code, weight in weights if weight > 0]
    if not heavy:
        raise ValueError("no exit code has a weight above 0; give at least one")
    return [(code + 2**31) % 2**32 - 2**31 for code, _ in heavy], list(accumulate(weight for _, weight in heavy))


@lru_cache(maxsize=1024)
def _inverse(kind: str, values: tuple[float, ...]) -> Callable[[float], float]:
    """Return the inverse of the cumulative distribution, limited to the longest finite time."""
    inverse = _free_inverse(kind, values)
    if inverse(1 - _TINY) < UNLIMITED_FROM_MS:
        return inverse
    return lambda u: min(inverse(u), UNLIMITED_FROM_MS)


def _free_inverse(kind: str, values: tuple[float, ...]) -> Callable[[float], float]:
    """Return the inverse of the cumulative distribution; infinite tails end at the last bit of u."""
    match kind, values:
        case "constant", (value,):
            return lambda _: value
        case "uniform", (low, high):
            return lambda u: low + (high - low) * u
        case "normal", (mean, deviation):
            return lambda u: max(0.0, mean + deviation * _quantile(u or _TINY))
        case "lognormal", (median, sigma):
            return lambda u: median * math.exp(sigma * _quantile(u or _TINY))
        case "lognormal", (median, sigma, most):
            free = _free_inverse(kind, (median, sigma))
            return lambda u: min(max(free(u), median / most), median * most)
        case "exponential", (mean,):
            return lambda u: -mean * math.log1p(-u)
        case "triangular", (low, mode, high):
            return _inverse_triangular(low, mode, high)
        case "choice", _ if values:
            ordered, count = sorted(values), len(values)
            return lambda u: ordered[int(u * count)]
    raise ValueError(f"no distribution {kind!r} of {len(values)} values")


def _inverse_triangular(low: float, mode: float, high: float) -> Callable[[float], float]:
    width = high - low
    if not width:
        return lambda _: low
    bend = (mode - low) / width

    def inverse(u: float) -> float:
        if u < bend:
            return low + math.sqrt(u * width * (mode - low))
        return high - math.sqrt((1 - u) * width * (high - mode))

    return inverse
